"""A penalty chosen privately: its plan, its price, and what was drawn; no widgets here."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rashomon_explorer.estimators import DPBilevelSearch
from rashomon_explorer.exceptions import DataError, SamplerError
from rashomon_explorer.explorer.seller import Seller
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.whole import whole_of
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.text import at_most, price
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.tuning import TuningPlan

_HELD = (
    "Penalties are chosen on rows that are held, and these come in blocks: draw one from a sample "
    "that you name as one, explorer.blocks.sample(50_000).held(), with DPBilevelSearch."
)

BOUNDS = {"0.1 to 10": (0.1, 10.0), "0.01 to 1": (0.01, 1.0), "0.001 to 10": (0.001, 10.0)}
"""Public ranges that are offered; scikit-learn's alpha is n times such a penalty."""

MANY = (1, 5, 20)
"""Numbers of draws that are offered."""


@dataclass(frozen=True)
class TuningOffer:
    """What would be drawn: an unfitted search and its plan, or why there is none; all public."""

    search: DPBilevelSearch | None
    plan: TuningPlan | None
    why_not: str = ""


@dataclass(frozen=True)
class Tuned:
    """Penalties that were drawn and paid for, and what was promised of them; all of it is public.

    Attributes
    ----------
    penalties : tuple of float
    bounds : tuple of float
        Their public range.
    mechanism, promised : str
    guarantee : Guarantee
    delta, adds : float
        δ of the price, and what it added to what was spent.
    """

    penalties: tuple[float, ...]
    bounds: tuple[float, float]
    mechanism: str
    promised: str
    guarantee: Guarantee
    delta: float
    adds: float

    def to_text(self) -> str:
        """Write it as JSON."""
        return json.dumps({**vars(self), "guarantee": self.guarantee.to_dict()}, indent=1)

    @classmethod
    def of_text(cls, text: str) -> "Tuned":
        """Inverse of `to_text`."""
        told = json.loads(text)
        told["guarantee"] = Guarantee.from_dict(told["guarantee"])
        for name in ("penalties", "bounds"):
            told[name] = tuple(told[name])
        return cls(**told)


class Tuner(Seller[Tuned]):
    """Plans, pays for and keeps private draws of a penalty for the table on screen.

    Parameters
    ----------
    session : Session
        Its data set, price and ledger.

    Attributes
    ----------
    bounds : str
        A key of `BOUNDS`.
    n_draws : int
    """

    kind = Tuned
    trait, ending = "tuned", ".penalties"
    called, name, done = "a penalty", "This choice", "drawn"

    def __init__(self, session: Session) -> None:
        self.bounds, self.n_draws = next(iter(BOUNDS)), MANY[0]
        planned_by = ["data", "view", "account", "epsilon", "delta", "psi"]
        session.state.observe(lambda _: self.replan(), planned_by)
        super().__init__(session)

    def make_search(self, *, ledger: Path | None = None) -> DPBilevelSearch:
        """Return an unfitted search with the settings of the page."""
        state = self.state
        if state.data is None:
            raise DataError("there is no data set yet: choose one under Data")
        named: dict[str, Any] = {name: getattr(state, name) for name in ("epsilon", "delta", "psi")}
        if state.data.task == "regression":
            kind, named["target_bounds"] = "ridge", state.data.target_bounds
        else:
            kind, named["classes"] = "logistic", tuple(range(len(state.data.classes)))
        return DPBilevelSearch(
            kind,
            bounds=BOUNDS[self.bounds],
            n_draws=self.n_draws,
            refit=None,
            ledger=None if ledger is None else str(ledger),
            **named,
        )

    def replan(self) -> None:
        """Plan what the price would buy; reads no row."""
        self.state.tuning = self._offered()

    def _offered(self) -> TuningOffer:
        data, account = self.state.data, self.state.account
        if data is None or account is None or self.session.rows is None:
            return TuningOffer(None, None, "Choose a data set first.")
        if self.state.withheld:
            return TuningOffer(None, None, self.state.withheld)
        if whole_of(data) is not None:
            return TuningOffer(None, None, _HELD)
        if data.classes is not None and len(data.classes) > 2:
            return TuningOffer(None, None, "Penalties are chosen for two classes or a number.")
        try:
            with said_elsewhere():
                search = self.make_search(ledger=account.path)
                planned = search._planned(*self.session.rows.shape)
        except (SamplerError, ValueError) as error:
            return TuningOffer(None, None, str(error))
        assert isinstance(planned, TuningPlan)  # one penalty is drawn from a grid
        return TuningOffer(self.make_search(), planned)

    def _planned(self) -> Guarantee | None:
        offer = self.state.tuning
        return None if offer is None or offer.plan is None else offer.plan.guarantee

    def _maker(self, ledger: Path | None, adds: float) -> Callable[[], Tuned]:
        search, rows, targets = (
            self.make_search(ledger=ledger),
            self.session.rows,
            self.state.data.y,
        )
        bounds = BOUNDS[self.bounds]

        def make() -> Tuned:
            fitted = search.fit(rows, targets)
            return Tuned(
                tuple(fitted.rashomon_set_.penalties[:, 0].tolist()),
                bounds,
                fitted.plan_.mechanism,
                promised(fitted.plan_),
                fitted.guarantee_,
                search.delta,
                adds,
            )

        return make

    def _receipt(self, made: Tuned) -> str:
        return f"Drew {len(made.penalties)} of a penalty for {price(made.adds)}"


def promised(plan: TuningPlan) -> str:
    """Say what is promised of a draw's validation loss.

    >>> from rashomon_explorer.tuning import PenaltyConstants, plan_tuning
    >>> known = PenaltyConstants("logistic", 1.5, 0.1, 10.0, 20_000, 10_000, margin_bound=4.0)
    >>> promised(plan_tuning(known, 1, epsilon=1.0))
    '≤ 0.0172 above the least validation loss on average'
    """
    return f"{at_most(plan.excess_bound)} above the least validation loss on average"
