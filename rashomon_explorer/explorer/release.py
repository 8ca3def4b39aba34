"""Aggregates that can be released, those that were, and their files."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rashomon_explorer import release as aggregates
from rashomon_explorer.data import Categorical, Ordered, TableSchema, YesNo
from rashomon_explorer.data.schema import public_part
from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer import family, messages, paid, set_store
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.networks.sets import AnyRelease, NetworkSet
from rashomon_explorer.plots.text import cost_text, plural
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.composition import adaptive_epsilon, ledger_order
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.release.catalogue import get_query
from rashomon_explorer.release.plan import ReleasePlan
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.sets import RashomonSet, ReleasedSet, ReleasedTrees
from rashomon_explorer.trees.private import planned_class

Paid = AnyRelease


def _excess(models: Paid, over: str) -> aggregates.Query:
    return aggregates.Excess(over=over, **_ball(models))  # type: ignore[arg-type]


def _ball(models: Paid) -> dict[str, float]:
    """Radius of the ball of linear models, and their ridge."""
    if not isinstance(models, ReleasedSet):
        raise ValueError("this aggregate needs linear models: use the mean loss")
    if models.plan.radius is None:
        raise ValueError("this aggregate needs draws from a ball of models: use the mean loss")
    return {"radius": models.plan.radius, "ridge": models.plan.ridge}


def _counts(models: Paid) -> aggregates.Query:
    planned = models.planned if isinstance(models, ReleasedTrees) else None
    n_trees = 10 if planned is None else planned_class(planned).size
    return aggregates.LeastPsi(n_trees=[10**k for k in range(1, len(str(n_trees)))])


_OF_MODELS: Mapping[str, Callable[[Paid], aggregates.Query]] = {
    "soft_hits": lambda models: aggregates.SoftHits(width=models.psi or 0.01, **_ball(models)),
    "mean_excess": partial(_excess, over="mean"),
    "largest_excess": partial(_excess, over="largest"),
    "psi_n_trees": _counts,
}

_SET, _GOOD, _LABELS, _SCORES = "The set", "How good", "Conflicting predictions", "Scores"
_EVERY, _FEATURES, _COUNTS, _GROUPS = "Every model of the set", "Features", "Counts", "Groups"


class Aggregate(NamedTuple):
    """One aggregate that can be released: its name, its group on the page, and its title."""

    name: str
    group: str
    title: str

    @property
    def in_rows(self) -> bool:
        """Whether the noise is on counts of rows in groups."""
        return self.group == _GROUPS

    @property
    def unitless(self) -> bool:
        """Whether the noise is in units of the sensitivity, not of the released numbers."""
        return self.name == "coefficients"

    def query(self, models: Paid) -> aggregates.Query:
        find = _OF_MODELS.get(self.name)
        return get_query(self.name) if find is None else find(models)


_AGGREGATES = (
    ("ambiguity", _LABELS, "ambiguity: share of people with a conflicting prediction"),
    ("discrepancy", _LABELS, "discrepancy: largest share of labels that one model changes"),
    ("disagreement", _LABELS, "disagreement: probability that two models differ on a person"),
    ("abstention", _LABELS, "abstention: share of people without a stable decision"),
    ("mean_accuracy", _GOOD, "accuracy, mean over the models"),
    ("least_accuracy", _GOOD, "accuracy of the worst model"),
    ("mean_loss", _GOOD, "loss, mean over the models"),
    ("accuracies", _GOOD, "accuracy of each model"),
    ("soft_hits", _SET, "hit rate, lower and upper bound"),
    ("mean_excess", _SET, "mean excess loss"),
    ("largest_excess", _SET, "largest excess loss"),
    ("psi_avoiding", _EVERY, "least ψ at which a model does without a feature"),
    ("psi_sign", _EVERY, "ψ up to which a coefficient keeps its sign"),
    ("coefficients", _EVERY, "coefficients of the population's best model, with error bars"),
    ("psi_n_trees", _EVERY, "ψ at which the set has 10, 100, … trees"),
    ("range_width", _SCORES, "mean range of a person's scores"),
    ("score_std", _SCORES, "standard deviation of a person's scores"),
    ("reliance", _FEATURES, "feature importance"),
    ("base_rates", _COUNTS, "share of people of each class"),
    ("group_sizes", _GROUPS, "people in each group"),
    ("base_gap", _GROUPS, "gap in the outcome between groups"),
    ("mean_selection_gap", _GROUPS, "gap in positive predictions between groups"),
    ("mean_true_positive_gap", _GROUPS, "gap in true-positive rates between groups"),
)
AGGREGATES: Mapping[str, Aggregate] = {row[0]: Aggregate(*row) for row in _AGGREGATES}
"""Aggregates by the names of their queries, in the order of the page."""


@dataclass(frozen=True)
class Basket:
    """Aggregates of models on the rows, with their planned privacy cost."""

    models: Paid
    n_rows: int
    names: tuple[str, ...] = ()
    epsilon: float = 0.5
    delta: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    categories: tuple[Any, ...] = ()
    draws: tuple[int, ...] | None = None
    group: str = ""
    by_zcdp: bool = True  # whether the ledger counts zCDP, as all but those of Gaussian DP do
    reasons: dict[str, str] = field(default_factory=dict, compare=False)  # of `why_not`

    @cached_property
    def queries(self) -> tuple[aggregates.Query, ...]:
        return tuple(AGGREGATES[name].query(self.models) for name in self.names)

    @cached_property
    def budget(self) -> dict[str, Any]:
        """Arguments of both `plan_release` and `release`."""
        shares = {name: float(self.weights.get(name, 1.0)) for name in self.names}
        parameters = {"epsilon": self.epsilon, "delta": self.delta, "categories": self.categories}
        return {**parameters, "queries": list(self.queries), "weights": shares}

    @cached_property
    def plan(self) -> ReleasePlan | None:
        """Noise and privacy cost under the ledger's rule; None for an empty basket."""
        settings = {**self.budget, "ledger": self.by_zcdp}
        return aggregates.plan_release(self.models, self.n_rows, **settings) if self.names else None

    def cost_text(self, account: Account) -> str:
        return cost_text(0.0 if self.plan is None else account.adds(self.plan.guarantee))

    def why_not(self, name: str) -> str:
        """Explain why an aggregate is unavailable for these models; empty if it is available."""
        if name not in self.reasons:
            self.reasons[name] = self._why_not(name)
        return self.reasons[name]

    def _why_not(self, name: str) -> str:
        if AGGREGATES[name].in_rows and not self.categories:
            return (
                "needs groups: choose a column under Groups, or mark one as sensitive under Data "
                "and declare its levels"
            )
        try:
            query = AGGREGATES[name].query(self.models)
            # A large budget: whether the noise hides the answer is asked of the whole basket.
            settings = {**self.budget, "queries": [query], "weights": None, "epsilon": 100.0}
            aggregates.plan_release(self.models, self.n_rows, **settings, ledger=self.by_zcdp)
        except ValueError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Purchase:
    """One release of aggregates: contents, time and privacy cost."""

    released: aggregates.ReleasedAggregates
    at: datetime
    adds: float
    draws: tuple[int, ...] | None = None
    group: str = ""

    @property
    def what(self) -> str:
        queries = (answer.query for answer in self.released.answers)
        names = "; ".join(
            AGGREGATES[query].title.partition(":")[0] if query in AGGREGATES else query
            for query in queries
        )
        of = "" if self.draws is None else f" of {len(self.draws)} chosen models"
        return f"{names}{of}"

    @property
    def label(self) -> str:
        return f"{self.what} · {cost_text(self.adds)} · {self.at:%d %b %H:%M}"

    def to_text(self) -> str:
        values = {**vars(self), "at": self.at.isoformat(timespec="seconds")}
        values["released"] = released_values(self.released)
        return json.dumps(values, ensure_ascii=False, indent=1)

    @classmethod
    def from_text(cls, text: str) -> "Purchase":
        values = json.loads(text)
        draws = None if values["draws"] is None else tuple(values["draws"])
        released = from_released_values(values["released"])
        at = datetime.fromisoformat(values["at"])
        return cls(released, at, values["adds"], draws, values["group"])


class Purchases:
    """Released aggregates of one saved set, each release in its own file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = set_store.NumberedFiles(path.parent, f"{path.stem}-", path.suffix)

    def all(self, failed: set_store.Failed = set_store.log_unread) -> tuple[Purchase, ...]:
        try:
            paths = self._files.paths()
        except OSError as error:
            failed(error)
            return ()
        purchases = (set_store.read_file(path, Purchase.from_text, failed) for path in paths)
        return tuple(purchase for purchase in purchases if purchase is not None)

    def add(self, purchase: Purchase) -> None:
        self._files.add(purchase.to_text())


@dataclass(frozen=True)
class Contents:
    """Contents of a bundle; it holds no row and no loss."""

    table: str
    models: AnyRelease
    n_rows: int | None
    purchases: tuple[Purchase, ...] = ()
    schema: TableSchema | None = None
    constants: Constants | None = None
    account: Account | None = None
    charged: float | None = None
    author: str = ""

    @property
    def has_trees(self) -> bool:
        return isinstance(self.models, ReleasedTrees)

    @property
    def linear(self) -> ReleasedSet:
        if not isinstance(self.models, ReleasedSet):
            raise TypeError("these models have no coefficients")
        return self.models

    @property
    def trees(self) -> ReleasedTrees:
        if not isinstance(self.models, ReleasedTrees):
            raise TypeError("a bundle of trees needs ReleasedTrees, got other models")
        return self.models

    @property
    def delta(self) -> float:
        return family.spent_delta(self.models.guarantee)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        return (self.models.guarantee, *(p.released.guarantee for p in self.purchases))

    @property
    def total(self) -> float:
        """Total ε of the models and aggregates at the models' δ."""
        every = self.guarantees
        return adaptive_epsilon(every, self.delta, order=ledger_order(every))


_IN_CHUNKS = (
    "aggregates need rows in memory, got chunked rows: save the bundle with the models only, or "
    "release aggregates of a declared sample, release(models, "
    "*explorer.chunks.sample(50_000).to_memory(), ...)"
)
_LEVELLED = (Categorical, Ordered, YesNo)


class _Released(NamedTuple):
    """Release of some draws of a set, and why aggregates of it are unavailable."""

    drawn: Any
    draws: tuple[int, ...] | None
    models: Paid
    reasons: dict[tuple[Any, ...], dict[str, str]]


class AggregateRelease(paid.PaidAction[Purchase]):
    """Release of aggregates of the set on screen, and the contents of its bundle."""

    name, verb, doing = "aggregates", "Release", "Releasing aggregates"
    remedy = "Lower their cost ε."
    follows = ("set_number",)
    always_asks = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.selected: Basket | None = None
        self.why_not, self.author = "", ""
        self._released: _Released | None = None
        self._set_on_screen: Any = None
        self._set_of_order: Any = None
        self._unsaved: list[tuple[Purchases, Purchase]] = []
        self.state.observe(lambda _: self._follow(), ["in_view", "rashomon_set"])
        self._follow()

    def planned(self) -> paid.Quote:
        if self.selected is None or self.selected.plan is None:
            return paid.Quote(unavailable=self.why_not, label="Release aggregates")
        label = f"Release {plural(len(self.selected.names), 'aggregate')}"
        return paid.Quote(self.selected.plan, label=label)

    @property
    def requested(self) -> float:
        return 0.0 if self.selected is None else self.selected.epsilon

    def settings(self) -> tuple[object, ...]:
        basket = self.selected
        if basket is None:
            return (self.state.set_number,)
        selected = (basket.names, basket.epsilon, tuple(basket.weights.items()))
        return (self.state.set_number, *selected, basket.draws, basket.group)

    def models(self, draws: tuple[int, ...] | None = None) -> Paid:
        drawn = self.state.rashomon_set
        if drawn is None or not drawn.n_draws or self.state.spent:
            raise DataError("there are no models to release yet: press Draw")
        if not family.may_be_released(drawn):
            raise CuratorOnlyError("only models with a privacy guarantee can be released")
        if not drawn.guarantee.holds:
            raise CuratorOnlyError(f"these models cannot be released: {drawn.guarantee.theorem}")
        last = self._released
        if last is not None and last.drawn is drawn and last.draws == draws:
            return last.models
        released: Paid = drawn.release(warn=False)
        if draws is not None:
            mask = np.isin(np.arange(released.n_draws), draws)
            released = released.filter(mask, reads_rows=False)
        self._released = _Released(drawn, draws, released, {})
        return released

    @property
    def groups(self) -> Mapping[str, tuple[Any, ...]]:
        """Sensitive columns with declared or confirmed levels, and these levels."""
        data = self.state.data
        if data is None:
            return {}
        columns = [c for c in data.schema.columns if c.role == "sensitive" and not c.learnt]
        return {c.name: tuple(c.texts) for c in columns if isinstance(c, _LEVELLED)}

    def basket(
        self,
        names: tuple[str, ...],
        epsilon: float,
        *,
        weights: Mapping[str, float] | None = None,
        draws: tuple[int, ...] | None = None,
        group: str = "",
    ) -> Basket:
        state, models = self.state, self.models(draws)
        if state.data is None or self.session.rows is None:
            raise DataError("aggregates need the rows: choose the data set under Data")
        if self.session.is_chunked:
            raise DataError(_IN_CHUNKS)
        if state.unconfirmed:
            raise CuratorOnlyError(f"nothing of this table can be released: {state.unconfirmed}")
        n_rows, categories = len(self.session.rows), self.groups.get(group, ())
        delta = 0.0 if state.account is None else state.account.delta
        by_zcdp = state.account is None or state.account.totals.accounting != "gdp"
        assert self._released is not None  # of these models
        reasons = self._released.reasons.setdefault((n_rows, delta, categories, by_zcdp), {})
        return Basket(
            models,
            n_rows,
            names,
            epsilon,
            delta,
            weights or {},
            categories,
            draws,
            group,
            by_zcdp,
            reasons,
        )

    def contents(self, draws: tuple[int, ...] | None = None) -> Contents:
        state = self.state
        data = state.data
        usable = data is not None and not data.bounds_learnt
        return Contents(
            "a table" if data is None else str(data.name),
            family.with_class_labels(self.models(draws), None if state.unconfirmed else data),
            self._n_rows,
            tuple(p for p in state.releases if p.draws == draws),
            public_part(data.schema) if usable else None,
            self.session.constants,
            self.session.refresh_account(),
            state.charged,
            self.author,
        )

    @property
    def _n_rows(self) -> int | None:
        """Number of rows of the table; None for imported trees, which do not store it."""
        if self.session.rows is not None:
            return self.session.shape[0]
        drawn = self.state.rashomon_set
        return int(drawn.plan.n) if isinstance(drawn, RashomonSet) else None

    def work(self, ledger: Path | None, adds: float) -> Callable[[], Purchase]:
        session, basket, files = self.session, self.selected, self._purchases()
        assert basket is not None  # it has a plan
        rows, targets, at = session.rows, session.targets, datetime.now().replace(microsecond=0)
        by = self.state.data.sensitive[basket.group] if basket.categories else None
        self._set_of_order = self.state.rashomon_set

        def pay() -> Purchase:
            released = aggregates.release(
                basket.models, rows, targets, by, ledger=ledger, warn=False, **basket.budget
            )
            purchase = Purchase(released, at, adds, basket.draws, basket.group)
            if files is not None:
                try:
                    files.add(purchase)
                except Exception as error:  # the cost is spent: keep and report the result
                    self.saving_error = error
                    self._unsaved.append((files, purchase))
            return purchase

        return pay

    def show(self, result: Purchase) -> str:
        state = self.state
        charges = [p.released.charge for p in state.releases]  # may be read from its file already
        on_screen = _same(state.rashomon_set, self._set_of_order)
        if on_screen and result.released.charge not in charges:
            state.releases = (*state.releases, result)
        return f"Released {plural(len(result.released.statistics), 'number')}"

    def _purchases(self) -> Purchases | None:
        store, number = self.session.set_store, self.state.in_view
        return None if store is None or not number else Purchases(store.purchases_path(number))

    def _follow(self) -> None:
        """Show the purchases of the set on screen, and no others."""
        drawn = self.state.rashomon_set
        is_unchanged = _same(drawn, self._set_on_screen)
        self._set_on_screen = drawn
        if self._released is not None and self._released.drawn is not drawn:
            self._released = None
        files = self._purchases()
        if files is not None:
            errors: list[OSError] = []
            written = files.all(errors.append)
            self.state.releases = (*written, *self._save_again(files))
            if errors:
                messages.report(self.state, messages.PAID_READ, errors[0], messages.STILL_THERE)
        elif not is_unchanged:
            self.state.releases = ()

    def _save_again(self, files: Purchases) -> tuple[Purchase, ...]:
        """Return the unsaved purchases of a set, after trying again to save each."""
        again = [entry for entry in self._unsaved if entry[0].path == files.path]
        for entry in again:
            with suppress(Exception):
                files.add(entry[1])
                self._unsaved.remove(entry)
        return tuple(purchase for _, purchase in again)


def _same(models: Any, compared: Any) -> bool:
    """Whether two sets have the same draws, for any ψ."""
    if isinstance(models, RashomonSet) and isinstance(compared, RashomonSet):
        return np.array_equal(models.coef, compared.coef)
    if isinstance(models, NetworkSet) and isinstance(compared, NetworkSet):
        return np.array_equal(models.parameters, compared.parameters)
    trees = family.trees_in(models)
    return trees is not None and trees == family.trees_in(compared)
