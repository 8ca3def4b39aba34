"""Queries on the whole Rashomon set: the least ψ at which it contains a model with a property."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.inputs import Columns, feature_groups
from rashomon_explorer.problem.losses import LOSSES
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.release import query, statistic
from rashomon_explorer.release.losses import UNCERTIFIED, posed_constants, posed_problem
from rashomon_explorer.release.statistic import Noise
from rashomon_explorer.sets import ReleasedTrees
from rashomon_explorer.trees.answers import losses_predicting
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.private import counted_like, planned_class
from rashomon_explorer.trees.tree_class import EXACT, largest_cost

_PUBLIC_PEOPLE = "the people whose labels are asked for are public: not taken from these rows"
_SIGNED = ("sign", "label_of")
_MIN_EFFECT_SHARE = 0.1  # least share of the largest gap that an effect must have to be looked for


@dataclass(frozen=True, kw_only=True, eq=False)
class LeastPsi(query.Query):
    """Least ψ at which the Rashomon set contains a model with a property, over **all** models.

    Each number is a gap min_A L − min_C L between two optima, over the class C of the draws and a
    part A of it that depends on no row. Let L and L' belong to neighbours, and h = L − L'. Either
    minimum moves by an amount between min h and max h over C, so their difference moves by at most
    the **oscillation** max h − min h: 2s/n for log loss with scores up to s, 2/n for trees. Least
    losses of several parts in order, such as that of the K-th tree, move alike. The solver adds at
    most twice its certified gap to either optimum, and four gaps to the sensitivity
    (docs/theory/whole-set.md §27).

    Pass one property. No draw is used: the answer is about the class, loss, ball and ridge of
    the draws' plan.

    Parameters
    ----------
    avoiding : sequence, optional
        Features as in ``feature_groups``; each entry may list several to avoid together. One
        number each: the least ψ at which a model uses none of them. ``()`` means each feature.
    sign : sequence, optional
        Single features of linear models with one score; ``()`` means each. One number each: +ψ
        if the best model's coefficient is positive and one within ψ is not, −ψ the other way.
    label_of : array-like of shape (n_people, n_features), optional
        **Public** people in the models' columns, which ``models.encode(table)`` returns. One
        number each: +ψ if the best model gives the second class and one within ψ the first, −ψ
        the other way; for three or more classes of trees ψ without a sign.
    n_trees : sequence of int, optional
        Counts K of trees. One number each: the least ψ at which the set has K trees.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.release import release
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (20_000, 2))
    >>> y = (X[:, 0] + 0.3 * rng.normal(size=20_000) > 0).astype(int)
    >>> every = RashomonClassifier(psi=0.02, radius=4.0, classes=(0, 1))  # nothing is drawn
    >>> found = release(
    ...     every, X, y, queries=["psi_avoiding"], epsilon=0.5, ledger=None, random_state=0
    ... )
    >>> print(found["psi without x0"].note)
    within ψ = 0.02 every model uses it (95 % confidence, all together)
    >>> print(found["psi without x1"].note)
    within ψ = 0.02 some model does without (95 % confidence, all together)
    """

    avoiding: Sequence[Any] | None = None
    sign: Sequence[Any] | None = None
    label_of: ArrayLike | None = None
    n_trees: Sequence[int] | None = None
    needs: ClassVar[tuple[str, ...]] = ("y",)
    fewest_draws: ClassVar[int] = 0

    def __post_init__(self) -> None:
        passed = [name for name in _DEFINITIONS if getattr(self, name) is not None]
        if len(passed) != 1:
            raise ValueError(f"give exactly one of {list(_DEFINITIONS)}, got {passed or 'none'}")

    @property
    def _kind(self) -> str:
        return next(name for name in _DEFINITIONS if getattr(self, name) is not None)

    @property
    def name(self) -> str:
        """``"psi_"`` and the property."""
        return f"psi_{self._kind}"

    @property
    def definition(self) -> str:
        return _DEFINITIONS[self._kind]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions on the minimum of linear models, and that the people are public."""
        return (UNCERTIFIED, *([_PUBLIC_PEOPLE] if self._kind == "label_of" else []))

    def check(self, public: query.PublicShape) -> None:
        """Raise an error for models without this property, or entries that do not fit."""
        super().check(public)
        check = _check_trees if isinstance(public.models, ReleasedTrees) else _check_linear
        check(self, public)
        self._entries(public)

    def widths(self, public: query.PublicShape) -> FloatArray:
        """Oscillation of the loss, and four gaps of the solver, per number."""
        return np.full(len(self._entries(public)), oscillation(public))

    def compute(self, rows: query.Rows) -> FloatArray:
        optima = _TreeOptima(rows) if isinstance(rows.models, ReleasedTrees) else _BallOptima(rows)
        find: Callable[[Any], float] = getattr(optima, self._kind)
        return np.array([find(entry) for entry in self._entries(rows.public).values()])

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        """One number per entry, at least 0 if it has no sign."""
        low = -math.inf if self._signed(public) else 0.0
        return query.Coordinates(list(self._entries(public)), low, math.inf)

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: query.PublicShape
    ) -> tuple[statistic.Statistic, ...]:
        """Numbers with a note on what holds for every model within the draws' ψ."""
        numbers = super().statistics(noisy, noise, public)
        together = 1 - 0.05 / len(numbers)
        return tuple(
            replace(number, note=self._note(*number.interval(together), public))
            for number in numbers
            if isinstance(number, statistic.Measured)
        )

    def hidden(self, public: query.PublicShape, noise: Noise) -> str:
        """Noise above ψ and above a tenth of the largest gap shows neither side of ψ.

        The largest gap between optima is the loss of the model 0, which every part contains.
        """
        names, psi = list(self._entries(public)), public.models.psi
        half = noise.quantile(1 - (1 - query.CONFIDENCE) / len(names))
        gap_bound = largest_gap(public)
        times = half / max(psi, gap_bound * _MIN_EFFECT_SHARE)
        if times <= 1:
            return ""
        fewer = int(len(names) / times)
        return (
            f"{len(names)} of {len(names)} answers at ψ = {psi:.3g}: together the noise is ± "
            f"{half:.2g}, and no answer exceeds {gap_bound:.2g}. Ask about "
            f"{f'{fewer} of them' if fewer else 'trees, whose noise is smaller'}, or use "
            f"{times:.2g} times as many rows or as much budget"
        )

    def _signed(self, public: query.PublicShape) -> bool:
        return self._kind in _SIGNED and public.models.n_classes <= 2

    def _entries(self, public: query.PublicShape) -> dict[str, Any]:
        """Entries by the names of their numbers."""
        if self._kind == "n_trees":
            return {f"psi of {count:,} trees": count for count in _counts(self.n_trees)}
        if self._kind == "label_of":
            people = _people(self.label_of, len(public.columns))
            return {f"psi of person {i}": person for i, person in enumerate(people)}
        words = {"avoiding": "psi without {}", "sign": "psi of the sign of {}"}[self._kind]
        features = getattr(self, self._kind)
        groups = _features(public, features)
        if self._kind == "sign" and not len(features):  # each level of a category has its own sign
            groups = {name: np.array([j]) for j, name in enumerate(public.columns)}
        return {words.format(name): columns for name, columns in groups.items()}

    def _note(self, low: float, high: float, public: query.PublicShape) -> str:
        psi, classes = public.models.psi, public.models.classes or (0, 1)
        positive, negative, mixed = _NOTES[self._kind]
        if self._kind == "label_of" and not self._signed(public):
            positive = "every model gives the same label"
        texts = {positive: low > psi, negative: high < -psi, mixed: -psi <= low and high <= psi}
        text = next((text.format(*classes) for text, holds in texts.items() if holds), "")
        if not text:
            return f"the noise hides it at ψ = {psi:g}"
        return f"within ψ = {psi:g} {text} (95 % confidence, all together)"


_DEFINITIONS = {
    "avoiding": "least excess loss of a model that does not use the features",
    "sign": "least excess loss of a model whose coefficient is not positive, minus that of one "
    "whose coefficient is not negative",
    "label_of": "least excess loss of a model that gives a public person another label than the "
    "best model; with two classes negative if the best label is the first",
    "n_trees": "least excess loss at which the set has so many trees",
}
# What an interval above ψ, below −ψ, or between them means for the models within ψ.
_NOTES: Mapping[str, tuple[str, str, str]] = {
    "avoiding": ("every model uses it", "", "some model does without"),
    "sign": ("positive in every model", "negative in every model", "models disagree on the sign"),
    "label_of": ("every model says {1}", "every model says {0}", "models disagree on the label"),
    "n_trees": ("the set is smaller", "", "the set has as many"),
}


def oscillation(public: query.PublicShape) -> float:
    """Bound on the change of a computed gap between optima when one record is replaced."""
    if isinstance(public.models, ReleasedTrees):
        return 2 / public.n_rows  # optima of trees are exact
    constants = posed_constants(public, _radius(public), public.linear.plan.ridge)
    return constants.osc + 4 * constants.gap_tolerance


def largest_gap(public: query.PublicShape) -> float:
    """Bound on a gap between optima: the largest loss of the model 0, or 1 for shares of errors."""
    if isinstance(public.models, ReleasedTrees):
        return 1.0
    models = replace(public.linear, schema=None)
    public = replace(public, models=models, n_rows=1, has_targets=True, has_groups=False)
    rows = query.Rows.zeros(public)
    problem = posed_problem(rows, _radius(public), public.linear.plan.ridge)
    return float(problem.value(np.zeros((problem.p, 1)))[0])


@dataclass(frozen=True, eq=False)
class _BallOptima:
    """Gaps between optima of linear models in the ball of their plan.  Curator: not private."""

    rows: query.Rows

    @cached_property
    def _best(self) -> Any:
        return self._minimum(None)

    def avoiding(self, columns: Columns) -> float:
        """Least excess of a model without these columns."""
        return self._excess(np.eye(self._width)[columns])

    def sign(self, columns: Columns) -> float:
        """Signed least excess of a model in which a coefficient is 0."""
        return self._signed(np.eye(self._width)[columns[0]])

    def label_of(self, person: FloatArray) -> float:
        """Signed least excess of a model that scores a person 0."""
        (row,) = add_intercept(self.rows.public.linear.rows(person[None]))
        return self._signed(row / np.linalg.norm(row))

    def _signed(self, direction: FloatArray) -> float:
        # A line from the best model to any of the other sign passes 0, where its loss is at most
        # that of the other: no other model of the other sign needs to be looked at.
        excess = self._excess(direction[None])
        return excess if direction @ self._best.theta >= 0 else -excess

    def _excess(self, without: FloatArray) -> float:
        return float(self._minimum(without).value - self._best.value)

    def _minimum(self, without: FloatArray | None) -> Any:
        public = self.rows.public
        return posed_problem(self.rows, _radius(public), public.linear.plan.ridge, without).minimum

    @property
    def _width(self) -> int:
        return len(self.rows.public.columns) + 1


@dataclass(frozen=True, eq=False)
class _TreeOptima:
    """Gaps between optima of all trees of the plan's class.  Curator: not private."""

    rows: query.Rows

    @cached_property
    def _counted(self) -> CountedTrees:
        return self._without(())

    def avoiding(self, columns: Columns) -> float:
        """Least excess of a tree without questions about these columns."""
        return self._without(columns.tolist()).least - self._counted.least

    def label_of(self, person: FloatArray) -> float:
        """Least excess of a tree that gives another label; signed for two classes."""
        losses = losses_predicting(self._counted, self._binary_cells(person[None]))[0]
        if len(losses) == 2:
            return float(losses[0] - losses[1])
        best, second = np.sort(losses)[:2]
        return float(second - best)

    def n_trees(self, count: int) -> float:
        """Least ψ at which the set has so many trees."""
        return self._counted.psi_of_size(count)

    def _without(self, columns: Sequence[int]) -> CountedTrees:
        assert self.rows.y is not None  # `LeastPsi.needs`
        return counted_like(self.rows.models, self._binary_cells(self.rows.X), self.rows.y, columns)

    def _binary_cells(self, X: FloatArray) -> FloatArray:
        """Rows with 0 or 1 in each yes-or-no column, so that no other value makes it fail."""
        questions = self.rows.models.plan.request.questions
        yes_or_no = {name for name, threshold in questions if threshold is None}
        is_binary = [name in yes_or_no for name in self.rows.public.columns]
        return np.where(is_binary, X > 0.5, X)


def _radius(public: query.PublicShape) -> float:
    radius = public.linear.plan.radius
    assert radius is not None  # `_check_linear`
    return radius


def _check_linear(psi_query: LeastPsi, public: query.PublicShape) -> None:
    models = public.linear
    if models.plan.radius is None:
        raise ValueError(
            f"{psi_query.name} needs draws from a ball of models, whose radius is declared"
        )
    if models.plan.loss not in LOSSES:
        raise ValueError(
            f"{psi_query.name} supports the losses {sorted(LOSSES)}, but the draws use "
            f"{models.plan.loss!r}"
        )
    if psi_query.n_trees is not None:
        raise ValueError(
            "psi_n_trees needs trees: a set of linear models is infinite, or one model"
        )
    if psi_query.sign is not None:
        if models.outputs > 1:
            raise ValueError("psi_sign needs models with one score, got one for each class")
        for name, columns in _features(public, psi_query.sign).items():
            if len(psi_query.sign) and len(columns) > 1:
                raise ValueError(f"psi_sign needs single columns, got {name} with {len(columns)}")
    if psi_query.label_of is not None:
        psi_query.check_task(public, "classification")
        if models.outputs > 1:
            raise ValueError(
                "psi_label_of of linear models needs two classes: with more, the models of one "
                "label are no half of the ball; ask for 'psi_avoiding', or draw trees"
            )


def _check_trees(psi_query: LeastPsi, public: query.PublicShape) -> None:
    planned = getattr(public.models, "planned", None)
    if planned is None or not planned.request.questions:
        raise ValueError(
            f"{psi_query.name} needs trees with a plan that lists their questions, as "
            "RashomonTreeClassifier draws them"
        )
    trees = planned_class(planned)
    try:
        trees.check_memory(public.n_rows, dearest=largest_cost(planned.request.costs or None))
    except DataError as error:
        raise ValueError(f"{psi_query.name}: {error}") from None
    if psi_query.sign is not None:
        raise ValueError("psi_sign needs linear models: trees have no coefficients")
    for count in [] if psi_query.n_trees is None else _counts(psi_query.n_trees):
        if not count <= trees.size <= EXACT:
            raise ValueError(
                f"n_trees must be at most {trees.size:,}, the trees of the class, got {count:,}"
                if count > trees.size
                else f"psi_n_trees needs a class of at most 2⁵³ trees, whose counts are exact, got "
                f"{trees.size:.3g}: no sensitivity is proved for rounded counts"
            )
    if psi_query.avoiding is not None:
        about = {name for name, _ in planned.request.questions}
        for name, columns in _features(public, psi_query.avoiding).items():
            if about <= {public.columns[column] for column in columns}:
                raise ValueError(f"every question is about {name}: no tree of the class avoids it")


def _features(public: query.PublicShape, features: Sequence[Any]) -> dict[str, Columns]:
    """Columns by feature; each feature if none is named."""
    if isinstance(features, str):
        raise ValueError(f"features must be a list of features: write [{features!r}]")
    trees = isinstance(public.models, ReleasedTrees)
    groups = None if trees else public.linear.feature_groups
    return feature_groups(list(features) or None, public.columns, groups)


def _counts(counts: Any) -> list[int]:
    if isinstance(counts, int | str) or not counts:
        raise ValueError(f"n_trees must list counts of trees, such as [10, 1_000], got {counts!r}")
    for count in counts:
        check_count(n_trees=count)
    return list(dict.fromkeys(counts))


def _people(people: Any, width: int) -> FloatArray:
    rows = np.asarray(people, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows) or not np.isfinite(rows).all():
        raise ValueError(
            f"label_of must hold finite rows, shape (n_people, {width}), got shape {rows.shape}"
        )
    return rows
