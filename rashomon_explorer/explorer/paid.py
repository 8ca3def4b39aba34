"""Actions of the page that charge the ledger: price, charge, result, saved file and receipt."""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from rashomon_explorer._utils.progress import watch_chains
from rashomon_explorer.estimators import DPClassifier, DPRegressor
from rashomon_explorer.estimators.base import quiet
from rashomon_explorer.exceptions import BudgetExceededError, LedgerError, SamplerError
from rashomon_explorer.explorer import messages, set_store, table_rows
from rashomon_explorer.explorer.account import Account, Cost, to_charge
from rashomon_explorer.explorer.background import BackgroundTask, chain_observer
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import BUDGET, SETTINGS
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.plots.text import at_most, cost_text, number
from rashomon_explorer.privacy import Guarantee

T = TypeVar("T")  # result of a paid action; `adds` is what the ledger was charged for it


@dataclass(frozen=True)
class Quote:
    """What an action would do now: its plan with guarantee and cost, or why it is unavailable."""

    plan: Any = None
    account: Account | None = None
    label: str = ""
    unavailable: str = ""
    free: str = ""  # why nothing is charged and there is no guarantee
    weakness: str = ""
    promise: str = ""
    brief: str = ""  # guarantee as HTML: in a sentence, and briefly for phones

    @property
    def cost(self) -> Cost | None:
        """Privacy cost of the plan; None without a plan or if nothing is charged."""
        if self.plan is None or self.account is None or self.free:
            return None
        return Cost(self.plan, self.account)


class PaidAction(ABC, Generic[T]):
    """One action that charges the ledger: a press sells the `offer` that its button showed."""

    name: ClassVar[str]  # result of the action in messages: "there is no plan for *one model*"
    verb: ClassVar[str]  # label of its button without the cost
    doing: ClassVar[str]  # label of its button and name of the action while it is running
    remedy: ClassVar[str] = "Set ε to {most} or less."  # what to do if the budget does not suffice
    follows: ClassVar[tuple[str, ...]] = SETTINGS
    """Traits of the state on which its plan or its offer depends."""

    always_asks: ClassVar[bool] = False
    """Whether a confirmation is needed even if the guarantee is not weak."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.shown: Callable[[], object] = lambda: None
        self.sales = 0
        self.observers: list[Callable[[], object]] = []
        self.saving_error: Exception | None = None  # of the last result, until it is reported
        self.task = BackgroundTask(
            self.doing, partial(messages.report, self.state, self.doing), self._started_or_ended
        )

    @abstractmethod
    def planned(self) -> Quote:
        """Quote of the current settings, for a table whose plan may be shown."""

    @abstractmethod
    def work(self, ledger: Path | None, adds: float) -> Callable[[], T]:
        """Return a function that charges the ledger, computes the result, and saves it."""

    @abstractmethod
    def show(self, result: T) -> str:
        """Show the result; return its description for the receipt."""

    def quote(self) -> Quote:
        """Plan, cost and guarantee of the current settings, or why the action is unavailable."""
        state = self.state
        reason = "Choose a data set first." if state.data is None else state.unconfirmed_reason
        quote = Quote(unavailable=reason) if reason else self.planned()
        return replace(quote, account=state.account, label=quote.label or self.verb)

    @property
    def requested(self) -> float:
        return float(self.state.epsilon)

    def settings(self) -> tuple[object, ...]:
        return (self.state.draw_settings(),)

    @property
    def offer(self) -> str:
        """What a press buys now: the table, the plan and its cost; every sale makes another one."""
        quote = self.quote()
        account, cost = self.state.account, "" if quote.cost is None else quote.cost.text
        budget = None if account is None else (account.path.name, account.budget, account.delta)
        table, terms = (self.state.table_number, budget), (quote.label, quote.free, quote.plan)
        content = repr((self.name, table, terms, cost, self.settings())).encode()
        return f"{self.sales}:{hashlib.sha256(content).hexdigest()[:20]}"

    def is_sold(self, offer: str) -> bool:
        """Whether an offer is older than the last sale: its press is a repeated one."""
        sales = offer.partition(":")[0]
        return sales.isdigit() and int(sales) < self.sales

    def check(self, offer: str | None) -> None:
        """Raise an OfferChangedError if a button showed another table, plan or cost than now."""
        if offer is None or offer == self.offer:
            return
        quote, data = self.quote(), self.state.data
        price = quote.cost.text if quote.cost is not None else "nothing, without a guarantee"
        table = "no table" if data is None else str(data.name)
        raise messages.OfferChangedError(
            f"The price is now {price}: press again. Nothing was charged. "
            f"On screen: {table}, {quote.label}."
        )

    def start(self, offer: str | None = None) -> None:
        if not self.task.running:
            work = self.order(offer)
            self.state.alert = None
            self.task.start(work, self.receive)

    def order(self, offer: str | None = None) -> Callable[[], T]:
        """Check the offer and the budget, and return the work; charge nothing yet."""
        cost = self.affordable_cost(offer)
        self.sales += 1
        return self.work(self.session.ledger_to_charge(), cost.adds)

    def affordable_cost(self, offer: str | None = None) -> Cost:
        """Return the cost by the ledger as it is now; raise an error if it cannot be charged."""
        self.session.check_ready()
        if self.state.unconfirmed:
            raise LedgerError(f"nothing of this table can be released: {self.state.unconfirmed}")
        self.session.refresh_account()
        quote = self.quote()
        cost = quote.cost
        if cost is None:
            raise SamplerError(f"there is no plan for {self.name}: {quote.unavailable}")
        if not cost.affordable:
            budget, delta = cost_text(cost.account.budget), number(cost.account.delta)
            raise BudgetExceededError(
                f"The privacy budget is {budget} at δ = {delta}. {cost.shortage(self.remedy)} "
                "Nothing was read and nothing was spent."
            )
        self.check(offer)
        return cost

    def receive(self, result: T) -> None:
        """Show the result with a receipt, and report a failure to save it."""
        description = self.show(result)
        try:
            account = self.session.refresh_account()
            if account is not None:
                adds: float = result.adds  # type: ignore[attr-defined]
                self.session.set_status(messages.receipt(description, adds, account))
        finally:
            error, self.saving_error = self.saving_error, None
            if error is not None:
                messages.report(self.state, f"Saving {self.name}", error, messages.ON_SCREEN_ONLY)
        self.shown()

    def _started_or_ended(self) -> None:
        for notify in self.observers:
            notify()
        if not self.task.running:
            refresh = self.session.refresh_account
            messages.error_boundary(self.state, messages.LEDGER_READ, refresh)()


_FILE_KEYS = {"mechanism": "method"}  # keys in files that differ from the names of the fields


@dataclass(frozen=True, kw_only=True)
class PaidModel:
    """Private model that may be published, with its guarantee and what it added to the ledger."""

    guarantee: Guarantee
    delta: float
    adds: float
    model: dict[str, Any]
    mechanism: str
    why: str
    others: tuple[tuple[str, str], ...]
    excess: str
    unseen: str

    @property
    def spent(self) -> str:
        return cost_text(self.adds)

    def to_text(self) -> str:
        values = {**vars(self), "guarantee": self.guarantee.to_dict()}
        written = {_FILE_KEYS.get(name, name): value for name, value in values.items()}
        return json.dumps(written, ensure_ascii=False, indent=1)

    @classmethod
    def from_text(cls, text: str) -> Self:
        names = {key: name for name, key in _FILE_KEYS.items()}
        values = {names.get(key, key): value for key, value in json.loads(text).items()}
        values["guarantee"] = Guarantee.from_dict(values["guarantee"])
        values["others"] = tuple(tuple(candidate) for candidate in values["others"])
        return cls(**values)


_ESTIMATORS: dict[str, Any] = {"classification": DPClassifier, "regression": DPRegressor}


class SingleModel(PaidAction[PaidModel]):
    """One private model of the table on screen, saved beside the sets; the last one is shown."""

    name, verb, doing = "one model", "Make one model", "Making one model"
    follows = ("goal", "data", "view", *SETTINGS, *BUDGET)

    def __init__(self, session: Session) -> None:
        session.state.observe(lambda _: self.replan(), [*self.follows])
        super().__init__(session)
        self.state.observe(lambda _: self._show_last(), "data")

    def make_estimator(self, *, ledger: Path | None = None) -> Any:
        state, data = self.state, self.session.data_or_error()
        named = {name: getattr(state, name) for name in ("epsilon", "delta", "radius", "loss")}
        if data.task == "regression":
            named["target_bounds"] = data.target_bounds
        else:
            named["classes"] = tuple(range(len(data.classes)))
        named |= {"ridge": state.ridge, "standardize": None}
        return quiet(
            _ESTIMATORS[data.task](**named, ledger=to_charge(ledger, state.planned_budget))
        )

    def replan(self) -> None:
        """Store the plan of the current settings, or why there is none; reads no row."""
        try:
            self.state.one_plan = self._plan()
        except (SamplerError, ValueError) as error:
            self.state.one_plan = str(error)

    def _plan(self) -> Plan | str | None:
        state = self.state
        if state.goal != "one" or state.data is None:
            return None
        if state.unconfirmed_reason:
            return state.unconfirmed_reason
        path = None if state.account is None else state.account.path
        return cast(Plan, self.make_estimator(ledger=path).plan(*self.session.shape))

    def planned(self) -> Quote:
        plan = self.state.one_plan
        if plan is None or isinstance(plan, str):
            return Quote(unavailable=plan or "")
        excess, mechanism = escape(excess_text(plan)), escape(plan.mechanism.replace("_", " "))
        gain = f" To be expected: {plan.expected}." if plan.expected is not None else ""
        return Quote(
            plan,
            weakness=plan.weakness,
            promise=f"One model by {mechanism}: expected excess loss <b>{excess}</b>.{gain}",
            brief=f"excess {excess}",
        )

    def work(self, ledger: Path | None, adds: float) -> Callable[[], PaidModel]:
        estimator, data = self.make_estimator(ledger=ledger), self.state.data
        rows, table = self.session.rows, table_rows.table_rows(data)
        columns = list(map(str, rows.columns))
        observer = chain_observer(self.state)
        files = None if ledger is None else _model_files(ledger)

        def make() -> PaidModel:
            inputs = table.fit_inputs(rows)
            with watch_chains(observer):
                fitted = estimator.fit(*inputs)
            result = paid_model(fitted, data, columns, adds)
            try:
                if files is not None:
                    files.add(result.to_text())
            except Exception as error:  # the cost is spent: keep and report the result
                self.saving_error = error
            return result

        return make

    def show(self, result: PaidModel) -> str:
        self.state.one_model = result
        return f"Made one model by {result.mechanism}"

    def _show_last(self) -> None:
        account, result, errors = self.state.account, None, list[OSError]()
        if self.state.data is not None and account is not None:
            try:
                paths = _model_files(account.path).paths()
            except OSError as error:
                paths = []
                errors.append(error)
            while paths and result is None and not errors:
                result = set_store.read_file(paths.pop(), PaidModel.from_text, errors.append)
        self.state.one_model = result
        if errors:
            messages.report(self.state, messages.PAID_READ, errors[0], messages.STILL_THERE)


def _model_files(ledger: Path) -> set_store.NumberedFiles:
    return set_store.NumberedFiles(ledger.with_suffix(".sets"), "", ".model")


def excess_text(plan: Plan) -> str:
    """Bound on the excess loss; only the clipped loss has one if slopes are clipped."""
    if math.isfinite(plan.excess_bound):
        return at_most(plan.excess_bound)
    return f"{at_most(plan.stated_excess)} of the clipped loss"


def paid_model(fitted: Any, data: Any, columns: list[str], adds: float) -> PaidModel:
    plan: Plan = fitted.plan_
    outputs = np.atleast_2d(fitted.encoded_coef_)
    model = {
        "format": "rashomon-explorer models",
        "version": 1,
        "columns": columns,
        "link": _link(fitted, len(outputs)),
        "row_norm": fitted._row_norm,
        "target_bounds": [-1.0, 1.0],  # coefficients are in units of the target
        "classes": [] if data.classes is None else list(data.classes),
        "coefficients": [_relative_scores(outputs).tolist()],
        "intercepts": [_relative_scores(np.atleast_1d(fitted.encoded_intercept_)).tolist()],
    }
    alternatives = tuple(
        (
            option.mechanism,
            option.reason if isinstance(option, Rejected) else f"excess loss {excess_text(option)}",
        )
        for option in plan.candidates
        if option.mechanism != plan.mechanism
    )
    return PaidModel(
        model=model,
        mechanism=plan.mechanism,
        why=plan.reason,
        others=alternatives,
        excess=excess_text(plan),
        unseen=at_most(plan.population_bound) if math.isfinite(plan.excess_bound) else "unknown",
        guarantee=fitted.guarantee_,
        delta=plan.delta,
        adds=adds,
    )


def _relative_scores(each: Any) -> Any:
    """Scores relative to the first class, as in released models."""
    return each if len(each) == 1 else each[1:] - each[:1]


def _link(fitted: Any, outputs: int) -> str:
    if not hasattr(fitted, "classes_"):
        return "identity"
    if fitted.loss != "logistic":
        return "sign"
    return "logistic" if outputs == 1 else "softmax"
