"""A penalty chosen privately: its plan, its price, and what was drawn; no widgets here."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rashomon_explorer.estimators import DPBilevelSearch
from rashomon_explorer.exceptions import BudgetExceededError, DataError, LedgerError, SamplerError
from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.text import at_most, price, what_is_left
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.tuning import TuningPlan

BOUNDS = {"0.1 to 10": (0.1, 10.0), "0.01 to 1": (0.01, 1.0), "0.001 to 10": (0.001, 10.0)}
"""Public ranges that are offered; scikit-learn's alpha is n times such a penalty."""

MANY = (1, 5, 20)
"""Numbers of draws that are offered."""

_ENDING = ".penalties"


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


class Tuner:
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

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.bounds, self.n_draws = next(iter(BOUNDS)), MANY[0]
        self.state.observe(lambda _: self.replan(), ["data", "account", "epsilon", "delta", "psi"])
        self.state.observe(lambda _: self._last(), "data")

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

    def order(self) -> Callable[[], Tuned]:
        """Take an order; carrying it out charges the ledger and reads the rows, perhaps aside."""
        session, state, offer = self.session, self.state, self.state.tuning
        if state.busy:
            raise DataError("a draw is under way: wait for it or press Stop")
        if state.data is not None and state.data.bounds_learnt:
            raise LedgerError("bounds were learnt from the rows: nothing of this table may leave")
        account = session.refresh_account()
        if offer is None or offer.plan is None or account is None:
            raise SamplerError("there is no plan of a penalty: see what is said above the button")
        adds = account.adds(offer.plan.guarantee)
        if not account.affords(offer.plan.guarantee):
            raise BudgetExceededError(
                f"This choice would add {price(adds)}, and ε = {what_is_left(account.left)} is "
                "left: set ε lower. Nothing was drawn and nothing was spent."
            )
        ledger = session.ledger_to_charge()
        search, rows, targets = self.make_search(ledger=ledger), session.rows, state.data.y
        kept = None if ledger is None else ledger.with_suffix(".sets")

        def pay() -> Tuned:
            with said_elsewhere():
                fitted = search.fit(rows, targets)
            made = Tuned(
                tuple(fitted.rashomon_set_.penalties[:, 0].tolist()),
                BOUNDS[self.bounds],
                fitted.plan_.mechanism,
                promised(fitted.plan_),
                fitted.guarantee_,
                search.delta,
                adds,
            )
            if kept is not None:
                _keep(kept, made)
            return made

        return pay

    def received(self, made: Tuned) -> None:
        """Put it on screen, and say what is left."""
        self.state.tuned = made
        account = self.session.refresh_account()
        left = "" if account is None else f" Left: ε = {what_is_left(account.left)}."
        self.session.say(f"Drew {len(made.penalties)} of a penalty for {price(made.adds)}.{left}")

    def _last(self) -> None:
        """Show the last penalties that were paid for from this table."""
        account, found = self.state.account, None
        if self.state.data is not None and account is not None:
            folder = account.path.with_suffix(".sets")
            for path in sorted(folder.glob(f"*{_ENDING}"))[-1:]:
                try:
                    found = Tuned.of_text(path.read_text(encoding="utf-8"))
                except (OSError, ValueError, KeyError, TypeError) as error:
                    LOGGER.error("%s could not be read", path, exc_info=error)
        self.state.tuned = found


def promised(plan: TuningPlan) -> str:
    """Say what is promised of a draw's validation loss.

    >>> from rashomon_explorer.tuning import PenaltyConstants, plan_tuning
    >>> known = PenaltyConstants("logistic", 1.5, 0.1, 10.0, 20_000, 10_000, margin_bound=4.0)
    >>> promised(plan_tuning(known, 1, epsilon=1.0))
    '≤ 0.0172 above the least validation loss on average'
    """
    return f"{at_most(plan.excess_bound)} above the least validation loss on average"


def _keep(folder: Path, made: Tuned) -> None:
    folder.mkdir(exist_ok=True)
    number = 1 + len(list(folder.glob(f"*{_ENDING}")))
    while (path := folder / f"{number:04d}{_ENDING}").exists():
        number += 1
    beside = path.with_suffix(".making")
    beside.write_text(made.to_text(), encoding="utf-8")
    beside.replace(path)
