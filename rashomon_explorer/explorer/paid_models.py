"""Private single models and privately tuned penalties."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from rashomon_explorer.estimators import DPBilevelSearch, DPClassifier, DPRegressor
from rashomon_explorer.exceptions import BudgetExceededError, DataError, LedgerError, SamplerError
from rashomon_explorer.explorer.account import to_charge
from rashomon_explorer.explorer.messages import ON_SCREEN_ONLY, PAID_READ, STILL_THERE, report
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.set_store import NumberedFiles, read_file
from rashomon_explorer.explorer.state import BUDGET, SETTINGS
from rashomon_explorer.explorer.streamed_table import streamed_table
from rashomon_explorer.mechanisms.one_model.plan import ModelPlan
from rashomon_explorer.mechanisms.penalties.plan import TuningPlan
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots.text import at_most, cost_text, what_is_left
from rashomon_explorer.privacy import Guarantee


class PaidResult(Protocol):
    """Private result that may be published."""

    def to_text(self) -> str:
        """Serialise."""

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Inverse of `to_text`."""


T = TypeVar("T", bound=PaidResult)


class PaidAction(ABC, Generic[T]):
    """Plan, charge and save one kind of private result."""

    kind: ClassVar[type[PaidResult]]
    trait: ClassVar[str]
    """Trait of the state that holds the last result."""

    ending: ClassVar[str]
    """Suffix of the files that store results."""

    called: ClassVar[str]
    name: ClassVar[str]
    done: ClassVar[str]
    """Words for messages: "there is no plan for *one model*", "*This model* adds",
    "Nothing was *made*"."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self._unkept: Exception | None = None
        self.state.observe(lambda _: self._last(), "data")

    @abstractmethod
    def _planned(self) -> Guarantee | None:
        """Guarantee of the current plan; None if there is no valid plan."""

    @abstractmethod
    def _maker(self, ledger: Path | None, adds: float) -> Callable[[], T]:
        """Return a function that computes the result from the current rows and settings."""

    @abstractmethod
    def _receipt(self, made: T) -> str:
        """Describe the result and its privacy cost."""

    def order(self) -> Callable[[], T]:
        """Check the budget and return a function that charges the ledger and reads the rows."""
        session, state = self.session, self.state
        if state.busy:
            raise DataError("a draw is running: wait for it or press Stop")
        if state.unconfirmed:
            raise LedgerError(f"nothing of this table can be released: {state.unconfirmed}")
        account, guarantee = session.refresh_account(), self._planned()
        if guarantee is None or account is None:
            told = f"there is no plan for {self.called}: see the message above the button"
            raise SamplerError(told)
        adds = account.adds(guarantee)
        if not account.affords(guarantee):
            raise BudgetExceededError(
                f"{self.name} adds {cost_text(adds)}; ε = {what_is_left(account.left)} remains. "
                f"Set ε lower. Nothing was {self.done} and nothing was spent."
            )
        ledger = session.ledger_to_charge()
        make = self._maker(ledger, adds)
        kept = None if ledger is None else ledger.with_suffix(".sets")

        def pay() -> T:
            with suppress_weak_warnings():
                made = make()
            try:
                if kept is not None:
                    _keep(kept, made, self.ending)
            except Exception as error:  # the cost is spent: keep and report the result
                self._unkept = error
            return made

        return pay

    def received(self, made: T) -> None:
        """Show the result, report the remaining budget, and report a failure to save it."""
        setattr(self.state, self.trait, made)
        unkept, self._unkept = self._unkept, None
        try:
            account = self.session.refresh_account()
            left = "" if account is None else f" Remaining: ε = {what_is_left(account.left)}."
            self.session.set_status(f"{self._receipt(made)}.{left}")
        finally:
            if unkept is not None:
                report(self.state, f"Saving {self.called}", unkept, ON_SCREEN_ONLY)

    def _last(self) -> None:
        """Show the last saved result of this table."""
        account, found, errors = self.state.account, None, list[OSError]()
        if self.state.data is not None and account is not None:
            try:
                paths = _files(account.path.with_suffix(".sets"), self.ending).paths()
            except OSError as error:
                paths = []
                errors.append(error)
            while paths and found is None and not errors:
                found = read_file(paths.pop(), self.kind.of_text, errors.append)
        setattr(self.state, self.trait, found)
        if errors:
            report(self.state, PAID_READ, errors[0], STILL_THERE)


def _keep(folder: Path, made: PaidResult, ending: str) -> None:
    _files(folder, ending).add(made.to_text())


def _files(folder: Path, ending: str) -> NumberedFiles:
    return NumberedFiles(folder, "", ending)


_ESTIMATORS: dict[str, Any] = {"classification": DPClassifier, "regression": DPRegressor}


@dataclass(frozen=True)
class PaidModel:
    """Private model and its guarantee; may be published."""

    model: dict[str, Any]
    mechanism: str
    why: str
    others: tuple[tuple[str, str], ...]
    excess: str
    unseen: str
    guarantee: Guarantee
    delta: float
    adds: float

    def to_text(self) -> str:
        """Serialise to JSON."""
        told = {**vars(self), "guarantee": self.guarantee.to_dict()}
        told["method"] = told.pop("mechanism")  # the key in files
        return json.dumps(told, ensure_ascii=False, indent=1)

    @classmethod
    def of_text(cls, text: str) -> "PaidModel":
        """Inverse of `to_text`."""
        told = json.loads(text)
        told["mechanism"] = told.pop("method")
        told["guarantee"] = Guarantee.from_dict(told["guarantee"])
        told["others"] = tuple(map(tuple, told["others"]))
        return cls(**told)


class SingleModelController(PaidAction[PaidModel]):
    """Plan, charge and save one private model of the table on screen."""

    kind = PaidModel
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
        """Plan if the goal is one model; reads no row."""
        state = self.state
        if state.goal != "one" or state.data is None:
            state.one_plan = None
            return
        if state.unconfirmed_reason:
            state.one_plan = state.unconfirmed_reason
            return
        path = None if state.account is None else state.account.path
        try:
            with suppress_weak_warnings():
                state.one_plan = self.make_estimator(ledger=path).plan(*self.session.shape)
        except (SamplerError, ValueError) as error:
            state.one_plan = str(error)

    def _planned(self) -> Guarantee | None:
        plan = self.state.one_plan
        return plan.guarantee if isinstance(plan, ModelPlan) else None

    def _maker(self, ledger: Path | None, adds: float) -> Callable[[], PaidModel]:
        estimator, data = self.make_estimator(ledger=ledger), self.state.data
        rows, targets, whole = self.session.rows, data.y, streamed_table(data)
        columns = list(map(str, rows.columns))
        if whole is not None:  # all rows are validated before anything is charged
            return lambda: _paid_model(estimator.fit(whole.encoded()), data, columns, adds)
        return lambda: _paid_model(estimator.fit(rows, targets), data, columns, adds)

    def _receipt(self, made: PaidModel) -> str:
        return f"Made one model by {made.mechanism} for {cost_text(made.adds)}"


def _paid_model(fitted: Any, data: Any, columns: list[str], adds: float) -> PaidModel:
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
        (one.name, f"excess loss {at_most(one.bound(plan.goal))}" if one.applies else one.why)
        for one in plan.options
        if one.name != plan.mechanism
    )
    return PaidModel(
        told,
        plan.mechanism,
        plan.why,
        others,
        at_most(plan.excess_bound),
        at_most(plan.population_bound),
        fitted.guarantee_,
        plan.delta,
        adds,
    )


def _scored(every: Any) -> Any:
    """Scores relative to the first class, as in released models."""
    return every if len(every) == 1 else every[1:] - every[:1]


def _link(fitted: Any, outputs: int) -> str:
    if not hasattr(fitted, "classes_"):
        return "identity"
    if fitted.loss != "logistic":
        return "sign"
    return "logistic" if outputs == 1 else "softmax"


_HELD = (
    "Private tuning needs rows in memory, got chunked rows: use DPBilevelSearch on a declared "
    "sample, explorer.chunks.sample(50_000).to_memory()."
)

BOUNDS = {"0.1 to 10": (0.1, 10.0), "0.01 to 1": (0.01, 1.0), "0.001 to 10": (0.001, 10.0)}
"""Public penalty ranges on the page; scikit-learn's alpha is n times such a penalty."""

MANY = (1, 5, 20)
"""Numbers of draws on the page."""


@dataclass(frozen=True)
class TuningOffer:
    """Unfitted search and its plan, or the reason why there is none; public."""

    search: DPBilevelSearch | None
    plan: TuningPlan | None
    why_not: str = ""


@dataclass(frozen=True)
class Tuned:
    """Privately drawn penalties with their guarantee; may be published."""

    penalties: tuple[float, ...]
    bounds: tuple[float, float]
    mechanism: str
    promised: str
    guarantee: Guarantee
    delta: float
    adds: float

    def to_text(self) -> str:
        """Serialise to JSON."""
        return json.dumps({**vars(self), "guarantee": self.guarantee.to_dict()}, indent=1)

    @classmethod
    def of_text(cls, text: str) -> "Tuned":
        """Inverse of `to_text`."""
        told = json.loads(text)
        told["guarantee"] = Guarantee.from_dict(told["guarantee"])
        for name in ("penalties", "bounds"):
            told[name] = tuple(told[name])
        return cls(**told)


class TuningController(PaidAction[Tuned]):
    """Plan, charge and save private draws of a penalty for the table on screen."""

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
        """Plan the private search; reads no row."""
        self.state.tuning = self._offered()

    def _offered(self) -> TuningOffer:
        data, account = self.state.data, self.state.account
        if data is None or account is None or self.session.rows is None:
            return TuningOffer(None, None, "Choose a data set first.")
        if self.state.unconfirmed_reason:
            return TuningOffer(None, None, self.state.unconfirmed_reason)
        if streamed_table(data) is not None:
            return TuningOffer(None, None, _HELD)
        if data.classes is not None and len(data.classes) > 2:
            return TuningOffer(None, None, "Private tuning needs a binary or numeric target.")
        try:
            with suppress_weak_warnings():
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
                guarantee_text(fitted.plan_),
                fitted.guarantee_,
                search.delta,
                adds,
            )

        return make

    def _receipt(self, made: Tuned) -> str:
        return f"Private draws of a penalty: {len(made.penalties)}, for {cost_text(made.adds)}"


def guarantee_text(plan: TuningPlan) -> str:
    """Describe the bound on a draw's validation loss."""
    return f"{at_most(plan.excess_bound)} above the least validation loss on average"
