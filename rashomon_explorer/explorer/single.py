"""One private model instead of a set: its plan, its price, and what was made; no widgets here."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rashomon_explorer.estimators import DPClassifier, DPRegressor
from rashomon_explorer.exceptions import DataError, SamplerError
from rashomon_explorer.explorer.account import to_charge
from rashomon_explorer.explorer.seller import Seller
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import BUDGET, SETTINGS
from rashomon_explorer.explorer.whole import whole_of
from rashomon_explorer.one_model import ModelPlan
from rashomon_explorer.planning.rule import AUTO
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.text import at_most, price
from rashomon_explorer.privacy import Guarantee

_ESTIMATORS: dict[str, Any] = {"classification": DPClassifier, "regression": DPRegressor}


@dataclass(frozen=True)
class OneModel:
    """A private model and what was promised of it; all of it is public.

    Attributes
    ----------
    model : dict
        As ``models.json`` of a bundle holds models; `basket.score` predicts with it.
    method, why : str
        How it was made, and why so.
    others : tuple of (str, str)
        The ways not taken, with what each promised or why it does not apply.
    excess, unseen : str
        Promised bounds of its excess loss, on the rows and on new ones.
    guarantee : Guarantee
    delta, adds : float
        δ of the price, and what it added to what was spent.
    """

    model: dict[str, Any]
    method: str
    why: str
    others: tuple[tuple[str, str], ...]
    excess: str
    unseen: str
    guarantee: Guarantee
    delta: float
    adds: float

    def to_text(self) -> str:
        """Write it as JSON."""
        told = {**vars(self), "guarantee": self.guarantee.to_dict()}
        return json.dumps(told, ensure_ascii=False, indent=1)

    @classmethod
    def of_text(cls, text: str) -> "OneModel":
        """Inverse of `to_text`."""
        told = json.loads(text)
        told["guarantee"] = Guarantee.from_dict(told["guarantee"])
        told["others"] = tuple(map(tuple, told["others"]))
        return cls(**told)


class SingleModel(Seller[OneModel]):
    """Plans, pays for and keeps one private model of the table on screen.

    Parameters
    ----------
    session : Session
        Its data set, settings and ledger.
    """

    kind = OneModel
    trait, ending = "one_model", ".model"
    called, name, done = "one model", "This model", "made"

    def __init__(self, session: Session) -> None:
        session.state.observe(lambda _: self.replan(), ["goal", "data", "view", *SETTINGS, *BUDGET])
        super().__init__(session)

    def make_estimator(self, *, ledger: Path | None = None) -> Any:
        """Return an unfitted estimator with the settings of the sliders."""
        state = self.state
        if state.data is None:
            raise DataError("there is no data set yet: choose one under Data")
        kind = _ESTIMATORS[state.data.task]
        named = {name: getattr(state, name) for name in ("epsilon", "delta", "radius", "loss")}
        ridge = 0.0 if state.ridge == AUTO else state.ridge
        budget = state.budget_epsilon, state.budget_delta
        if state.data.task == "regression":
            named["target_bounds"] = state.data.target_bounds
        else:
            named["classes"] = tuple(range(len(state.data.classes)))
        return kind(**named, ridge=ridge, ledger=to_charge(ledger, budget))

    def replan(self) -> None:
        """Plan, where one model is wanted; reads no row."""
        state = self.state
        if state.goal != "one" or state.data is None:
            state.one_plan = None
            return
        if state.withheld:
            state.one_plan = state.withheld
            return
        path = None if state.account is None else state.account.path
        try:
            with said_elsewhere():
                state.one_plan = self.make_estimator(ledger=path).plan(*self.session.shape)
        except (SamplerError, ValueError) as error:
            state.one_plan = str(error)

    def _planned(self) -> Guarantee | None:
        plan = self.state.one_plan
        return plan.guarantee if isinstance(plan, ModelPlan) else None

    def _maker(self, ledger: Path | None, adds: float) -> Callable[[], OneModel]:
        estimator, data = self.make_estimator(ledger=ledger), self.state.data
        rows, targets, whole = self.session.rows, data.y, whole_of(data)
        columns = list(map(str, rows.columns))
        if whole is not None:  # looked through first: a row that cannot be used costs nothing
            return lambda: _made(estimator.fit(whole.encoded()), data, columns, adds)
        return lambda: _made(estimator.fit(rows, targets), data, columns, adds)

    def _receipt(self, made: OneModel) -> str:
        return f"Made one model by {made.method} for {price(made.adds)}"


def _made(fitted: Any, data: Any, columns: list[str], adds: float) -> OneModel:
    plan: ModelPlan = fitted.plan_
    outputs = np.atleast_2d(fitted.encoded_coef_)
    told = {
        "format": "rashomon-explorer models",
        "version": 1,
        "columns": columns,
        "link": _link(fitted, len(outputs)),
        "row_norm": fitted.row_norm,
        "target_bounds": [-1.0, 1.0],  # coefficients are in units of the target
        "classes": [] if data.classes is None else list(data.classes),
        "coefficients": [_scored(outputs).tolist()],
        "intercepts": [_scored(np.atleast_1d(fitted.encoded_intercept_)).tolist()],
    }
    others = tuple(
        (one.method, f"excess {at_most(one.promised(plan.goal))}" if one.applies else one.why)
        for one in plan.options
        if one.method != plan.method
    )
    return OneModel(
        told,
        plan.method,
        plan.why,
        others,
        at_most(plan.excess_bound),
        at_most(plan.unseen_bound),
        fitted.guarantee_,
        plan.delta,
        adds,
    )


def _scored(every: Any) -> Any:
    """Scores of all classes but the first, as released models have them, counted from it."""
    return every if len(every) == 1 else every[1:] - every[:1]


def _link(fitted: Any, outputs: int) -> str:
    if not hasattr(fitted, "classes_"):
        return "identity"
    if fitted.loss != "logistic":
        return "sign"
    return "logistic" if outputs == 1 else "softmax"
