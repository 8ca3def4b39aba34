"""Recourse: the least change of a person after which every model of the Rashomon set accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_inner_share, check_positive
from rashomon_explorer.measures.ranges.brackets import bracketed
from rashomon_explorer.measures.ranges.changes import Changes, Direction, Recourse, snapped
from rashomon_explorer.measures.ranges.exact import problem_rows, row_index
from rashomon_explorer.measures.ranges.level_set import check_problem
from rashomon_explorer.measures.ranges.penalised import ConvexProblem, PenalisedProblem
from rashomon_explorer.sets.scores import finite_rows, rows_by_name

_MOST_ROUNDS = 150
_NEW_CUTS = 3  # cuts that a programme takes from the pool at a time
_COARSE = 1e-2  # relative accuracy of the models that become cuts
_FINE = 1e-9
_RAISE = 0.5  # part of the tolerated extra cost that a raised margin may take
_FINEST = 1e-4  # of the first raise of the margin: the last one
_BETWEEN = 0.65  # way from the cheapest to accepted features where scores are bounded, too
_ROUNDING = 1e-9


def recourse(
    problem: Any,
    psi: float,
    X: Any,
    changeable: Sequence[Any],
    *,
    costs: Mapping[Any, float] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    directions: Mapping[Any, Direction] | None = None,
    integers: Sequence[Any] = (),
    levels: Mapping[str, Sequence[Any]] | None = None,
    design: tuple[ArrayLike, ArrayLike] | None = None,
    feature_names: Sequence[str] | None = None,
    wanted: int = 1,
    margin: float = 0.0,
    tolerance: float = 1e-3,
) -> Recourse:
    """Least change after which every model of the Rashomon set accepts each person.

    The worst score of the set, g(x) = min {θ·x : L(θ) ≤ L(θ*) + ψ}, is concave in x: a model that
    refuses x cuts off a half-space of changes. A linear or mixed-integer programme finds the
    cheapest change that the models found so far accept, and the set is searched for its worst model
    there, until it proves that none refuses. Models found for one person serve all.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem : Problem or PenalisedProblem
        Of a classification, as for :func:`exact_score_ranges`; no change makes a row longer than
        its ``row_norm``.
    psi : float
        Rashomon threshold > 0, in units of the problem's objective.
    X : DataFrame or array-like of shape (n_people, n_features)
        The people, in the features that change: the problem's columns, or those of ``design``.
    changeable : sequence of str or int
        Features that may change, by name or place, and names of groups in ``levels``.
    costs : mapping of feature or group to float, optional
        Cost > 0 of one unit of a feature, or of another level of a group; by default 1.
    bounds : mapping of feature to (float, float), optional
        Least and largest value; by default none. A value outside may stay where it is.
    directions : mapping of feature to "up" or "down", optional
        Features that only rise or only fall.
    integers : sequence of str or int, optional
        Features that change by whole units.
    levels : mapping of group to sequence of str, int or None, optional
        Columns that indicate the levels of one category by 1 and 0: exactly one level is on. None
        is a level without a column, as after ``OneHotEncoder(drop="first")``.
    design : (array of shape (n_columns, n_features), array of shape (n_columns,)), optional
        Affine map from features to the problem's columns, for a model behind scalers and encoders:
        column = matrix @ features + offset.
    feature_names : sequence of str, optional
        By default the columns of a DataFrame, or those of the problem.
    wanted : int, default=1
        Code 0, 1, … of the class that means acceptance.
    margin : float, default=0.0
        Score that every model must give at least, in log-odds for a logistic loss; for several
        classes the lead over every other class.
    tolerance : float, default=0.001
        Relative distance of ``cost`` and ``cost_at_least`` at which the search ends.

    Returns
    -------
    Recourse
        ``people``, ``changes`` and ``rows``.

    Raises
    ------
    TypeError
        If the problem is a regression, or no problem.
    ValueError
        If a feature is unknown or a value is out of range.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 9, ridge=0.01)
    >>> found = recourse(problem, 0.01, [[-0.4]], ["x0"], bounds={"x0": (-1, 1)})
    >>> found.people[["status", "cost", "one_cost"]].round(2).values.tolist()
    [['found', 0.5, 0.4]]
    """
    declared: dict[str, Any] = {
        "costs": costs,
        "bounds": bounds,
        "directions": directions,
        "integers": integers,
        "levels": levels,
    }
    check_problem(problem)
    if problem.loss.task == "regression":
        raise TypeError("recourse needs a classification: a regression accepts nobody")
    check_positive(psi=psi)
    check_inner_share(tolerance=tolerance)
    people, names = _people(problem, X, design, feature_names)
    changes = Changes.declared(names, changeable, **declared)
    model_set = WorstScores.from_problem(problem, float(psi), design, wanted, float(margin))
    _check_norms(model_set, people)
    programmes = [_Programme.for_person(changes, person, model_set) for person in people]
    best = model_set.functionals(problem.minimum.theta[:, None])
    best_answers = _best_changes(programmes, best, model_set.margin)
    every = _Search(model_set, programmes, tolerance, _Pool(best)).run()
    table = pd.DataFrame(
        {
            "status": every.status,
            "cost": every.costs,
            "cost_at_least": every.cost_bound,
            "worst_score": every.worst,
            "one_cost": best_answers.costs,
            "one_worst_score": model_set.worst(best_answers.rows)[1],
        },
        index=row_index(X),
    )
    return Recourse.from_people(table, people, every.rows, best_answers.rows, names, psi)


def _people(
    problem: ConvexProblem, X: Any, design: Any, feature_names: Sequence[str] | None
) -> tuple[FloatArray, list[str]]:
    """Features (n, q) of the people, and their names."""
    labels = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else []
    if design is None:
        rows, width = problem_rows(problem, X), problem.p // problem.loss.outputs
        width -= problem.intercept
        unnamed = [f"x{j}" for j in range(width)]
        names = list(getattr(problem, "feature_names", unnamed))
        names = labels if names == unnamed and len(labels) == width else names
    else:
        width = np.asarray(design[0]).shape[-1]
        names = labels or [f"x{j}" for j in range(width)]
        rows = rows_by_name(X, list(map(str, feature_names or names)))
    people = finite_rows(rows, width)
    names = list(map(str, feature_names or names))
    if len(names) != width:
        raise ValueError(f"feature_names must hold {width} names, got {len(names)}")
    return people, names


def _check_norms(model_set: WorstScores, people: FloatArray) -> None:
    norms = np.linalg.norm(model_set.design(people)[:, : model_set.n_columns], axis=1)
    longer = norms > model_set.problem.row_norm * (1 + _ROUNDING)
    if longer.any():
        raise ValueError(
            f"person {int(longer.argmax())} has a row longer than row_norm="
            f"{model_set.problem.row_norm:g}, which the models clip: declare a larger row_norm"
        )


@dataclass(frozen=True)
class WorstScores:
    """All models within ψ, and their worst score of rows."""

    problem: ConvexProblem
    psi: float
    matrix: FloatArray  # (width, q): from features to the columns that models score
    offset: FloatArray  # (width,)
    leads: FloatArray  # (others, outputs): scores whose leads have to be reached
    margin: float

    @classmethod
    def from_problem(
        cls, problem: ConvexProblem, psi: float, design: Any, wanted: int, margin: float
    ) -> WorstScores:
        """Check the map and the class."""
        if getattr(problem, "scale", None) is not None:
            raise ValueError(
                "recourse needs models of the table's columns, and these use columns that were "
                "mapped by released centres: fit with standardize=None"
            )
        outputs = problem.loss.outputs
        width = problem.p // outputs - problem.intercept
        matrix, offset = (np.eye(width), np.zeros(width)) if design is None else design
        matrix, offset = np.asarray(matrix, dtype=float), np.asarray(offset, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] != width or offset.shape != (width,):
            raise ValueError(
                f"design must be a matrix of {width} rows and as many offsets, got "
                f"{matrix.shape} and {offset.shape}"
            )
        if problem.intercept:
            matrix = np.vstack([matrix, np.zeros(matrix.shape[1])])
            offset = np.append(offset, 1.0)
        # A penalised problem of several classes has a score of each; others have none of the first.
        scores_all = outputs > 1 and isinstance(problem, PenalisedProblem)
        each = np.eye(outputs) if scores_all else np.vstack([np.zeros(outputs), np.eye(outputs)])
        if wanted not in range(len(each)):
            raise ValueError(f"wanted must be the code of a class, got {wanted!r}")
        leads = each[wanted] - np.delete(each, wanted, axis=0)
        return cls(problem, psi, matrix, offset, leads, margin)

    def design(self, rows: FloatArray) -> FloatArray:
        """Columns (n, width) of features (n, q) as the models score them."""
        return np.asarray(rows @ self.matrix.T + self.offset)

    def functionals(self, thetas: FloatArray) -> FloatArray:
        """Leads of models (p, K) as functions of the columns, (K·others, width)."""
        models = thetas.T.reshape(thetas.shape[1], len(self.leads[0]), -1)
        return np.einsum("lo,kow->klw", self.leads, models).reshape(-1, models.shape[2])

    def worst(
        self, rows: FloatArray, need: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Worst score of features (n, q): proved, attained, and the models (p, …)."""
        answered = np.flatnonzero(~np.isnan(rows).any(axis=1))
        proved, attained = np.full((2, len(rows)), np.nan)
        if not len(answered):
            return proved, attained, np.empty((self.problem.p, 0))
        design = self.design(rows[answered])
        directions = -np.einsum("lo,nw->nlow", self.leads, design)
        directions = directions.reshape(len(answered) * len(self.leads), -1).T
        best = -(self.problem.minimum.theta @ directions)
        accuracy, limits = (_COARSE, None) if need is None else (_FINE, best - need)
        extents = bracketed(self.problem, self.psi, directions, accuracy, limits)
        shape = len(answered), len(self.leads)
        proved[answered] = (best - extents.outer).reshape(shape).min(axis=1)
        attained[answered] = (best - extents.inner).reshape(shape).min(axis=1)
        return proved, attained, extents.points

    @property
    def n_columns(self) -> int:
        """Number of columns without the constant."""
        return len(self.offset) - self.problem.intercept

    @cached_property
    def flat(self) -> FloatArray:
        """Directions (f, width) along which the rows of a change must be 0: no bound is known."""
        if not isinstance(self.problem, PenalisedProblem):
            return np.empty((0, len(self.offset)))
        space = self.problem.row_space
        flat = (space.flat / space.scale[:, None]).T
        each = flat.reshape(len(flat), self.leads.shape[1], len(self.offset))
        rows = np.einsum("lo,fow->lfw", self.leads, each).reshape(-1, len(self.offset))
        # The same change of all scores leaves every lead as it is.
        return np.asarray(rows[np.abs(rows).max(axis=1) > _ROUNDING])


@dataclass(eq=False)
class _Pool:
    """Half-spaces t·d ≥ offset of columns d, which every accepted change satisfies."""

    normals: FloatArray  # (K, width)
    norms: FloatArray = field(init=False)  # offsets of bounds on the norm; NaN for models

    def __post_init__(self) -> None:
        self.norms = np.full(len(self.normals), np.nan)

    def add(self, normals: FloatArray, offset: float = np.nan) -> None:
        """Add half-spaces of models, or with an offset of their own."""
        self.normals = np.vstack([self.normals, normals])
        self.norms = np.append(self.norms, np.full(len(normals), offset))

    def add_refusing(self, normals: FloatArray, rows: FloatArray, margin: float) -> None:
        """Add half-spaces of models that refuse some of the rows."""
        refusing = (normals @ rows.T < margin).any(axis=1)
        self.add(normals[refusing])

    def offsets(self, margin: float) -> FloatArray:
        """Offset (K,) of each half-space at a margin."""
        return np.where(np.isnan(self.norms), margin, self.norms)


@dataclass(eq=False)
class _Programme:
    """Cheapest change of one person subject to some half-spaces of the pool."""

    changes: Changes
    person: FloatArray
    model_set: WorstScores
    cost: FloatArray  # (k,)
    start: FloatArray  # (q,): features without the levels of the groups
    steps: FloatArray  # (q, k): change of the features by each variable
    upper: FloatArray
    integral: NDArray[np.int_]
    equal: FloatArray  # (groups, k): one level of each group
    used: list[int] = field(default_factory=list)

    @classmethod
    def for_person(cls, changes: Changes, person: FloatArray, model_set: WorstScores) -> _Programme:
        """Variables: rise and fall of each number, then a 0 or 1 of each level."""
        eye, numbers = np.eye(len(person)), list(changes.numbers)
        up, down = changes.room(person)
        steps = [eye[:, numbers], -eye[:, numbers]]
        cost: list[FloatArray] = [changes.cost[numbers]] * 2
        upper, integral = [up, down], [changes.integral[numbers]] * 2
        start, owner = person.copy(), [-1] * (2 * len(numbers))
        for index, group in enumerate(changes.groups):
            columns_on = [column for column in group.columns if column is not None]
            start[columns_on] = 0.0
            columns = [np.zeros(len(person)) if c is None else eye[:, c] for c in group.columns]
            steps.append(np.column_stack(columns))
            cost.append(np.where(np.arange(len(columns)) == group.now(person), 0.0, group.cost))
            upper.append(np.ones(len(columns)))
            integral.append(np.ones(len(columns), dtype=bool))
            owner += [index] * len(columns)
        equal = np.array(owner) == np.arange(len(changes.groups))[:, None]
        return cls(
            changes=changes,
            person=person,
            model_set=model_set,
            cost=np.concatenate(cost),
            start=start,
            steps=np.hstack(steps),
            upper=np.concatenate(upper),
            integral=np.concatenate(integral).astype(int),
            equal=equal.astype(float),
        )

    def solve(self, pool: _Pool, margin: float) -> tuple[FloatArray | None, float]:
        """Cheapest features that all half-spaces accept or None, and a lower bound of the cost."""
        while True:
            solution = milp(
                self.cost,
                integrality=self.integral,
                bounds=Bounds(0.0, self.upper),
                constraints=self._rules(pool, margin),
            )
            if solution.x is None:
                return None, np.inf
            values = np.where(self.integral, np.rint(solution.x), solution.x)
            features = self.start + self.steps @ np.clip(values, 0.0, self.upper)
            features = snapped(self.person, self.changes.within_reach(self.person, features))
            if not self._add_missing(pool, margin, features):
                mixed = self.integral.any()
                return features, float(solution.mip_dual_bound if mixed else solution.fun)

    def best_reachable(self, pool: _Pool) -> float:
        """Upper bound on the worst score of the models in the pool after any change."""
        self.used = np.flatnonzero(~np.isnan(pool.norms)).tolist()
        rules = [(np.asarray(rule.A), rule.lb, rule.ub) for rule in self._rules(pool, -np.inf)]
        models = pool.normals[np.isnan(pool.norms)]
        self.used += np.flatnonzero(np.isnan(pool.norms)).tolist()
        through, base = self._columns
        none = np.zeros(len(self.cost))
        solution = milp(
            np.append(none, -1.0),
            integrality=np.append(self.integral, 0),
            bounds=Bounds(np.append(none, -np.inf), np.append(self.upper, np.inf)),
            constraints=[
                *(LinearConstraint(np.pad(a, ((0, 0), (0, 1))), low, up) for a, low, up in rules),
                LinearConstraint(
                    np.column_stack([models @ through, -np.ones(len(models))]),
                    -(models @ base),
                    np.inf,
                ),
            ],
        )
        if solution.x is None:
            return np.inf
        return -float(solution.mip_dual_bound if self.integral.any() else solution.fun)

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """Columns that models score, (width, k) by each variable and (width,) without any."""
        matrix = self.model_set.matrix
        return matrix @ self.steps, matrix @ self.start + self.model_set.offset

    def _rules(self, pool: _Pool, margin: float) -> list[LinearConstraint]:
        through, base = self._columns
        rules = [LinearConstraint(self.equal, 1.0, 1.0)] if len(self.equal) else []
        if len(flat := self.model_set.flat):
            rules.append(LinearConstraint(flat @ through, -flat @ base, -flat @ base))
        if self.used:
            normals, offsets = pool.normals[self.used], pool.offsets(margin)[self.used]
            rules.append(LinearConstraint(normals @ through, offsets - normals @ base, np.inf))
        return rules

    def _add_missing(self, pool: _Pool, margin: float, features: FloatArray) -> bool:
        """Use the half-spaces that features violate most; returns whether there were any."""
        row = self.model_set.design(features[None])[0]
        norm = float(np.linalg.norm(row[: self.model_set.n_columns]))
        if norm > self.model_set.problem.row_norm * (1 + _ROUNDING):
            unit = np.where(np.arange(len(row)) < self.model_set.n_columns, -row / norm, 0.0)
            pool.add(unit[None], -self.model_set.problem.row_norm)
        missing = pool.offsets(margin) - pool.normals @ row
        missing -= _ROUNDING * (1 + np.abs(pool.normals) @ np.abs(row))
        missing[self.used] = -np.inf
        worst = np.argsort(-missing)[:_NEW_CUTS]
        self.used += worst[missing[worst] > 0].tolist()
        return bool((missing[worst] > 0).any())


@dataclass(eq=False)
class _Answers:
    """Change of each person that was found so far."""

    rows: FloatArray
    costs: FloatArray
    cost_bound: FloatArray
    worst: FloatArray
    status: NDArray[Any]

    @classmethod
    def none(cls, people: FloatArray) -> _Answers:
        """No change yet."""
        n, nothing = len(people), np.full(len(people), np.nan)
        status = np.full(n, "undecided", dtype=object)
        rows = np.full(people.shape, np.nan)
        return cls(rows, nothing, np.zeros(n), nothing.copy(), status)


def _best_changes(programmes: Sequence[_Programme], best: FloatArray, margin: float) -> _Answers:
    """Change of each person that is enough for the best model."""
    answers = _Answers.none(np.array([programme.person for programme in programmes]))
    for index, programme in enumerate(programmes):
        features, bound = programme.solve(_Pool(best), margin)
        programme.used.clear()
        if features is not None:
            answers.rows[index], answers.cost_bound[index] = features, bound
            answers.costs[index] = programme.changes.price(programme.person, features)
    return answers


@dataclass(eq=False)
class _Search:
    """Cutting planes for all people together."""

    model_set: WorstScores
    programmes: Sequence[_Programme]
    tolerance: float
    pool: _Pool

    def run(self) -> _Answers:
        """Search until every person has a change that is proved, or none."""
        people = np.array([programme.person for programme in self.programmes])
        self.answers = _Answers.none(people)
        margin = self.model_set.margin
        missing = margin - self._ask(people)[1]
        self.raised = _RAISE * self.tolerance * np.maximum(missing, _ROUNDING)
        self.finest = _FINEST * self.raised
        self.inner = np.full(people.shape, np.nan)
        active = list(range(len(people)))
        for _ in progress(range(_MOST_ROUNDS), "recourse"):
            active = self._round(active)
            if not active:
                break
        return self.answers

    def _round(self, active: list[int]) -> list[int]:
        """Ask the set about the cheapest changes; returns the people who are still open."""
        margin, tried, rows = self.model_set.margin, [], []
        for index in active:
            raised = margin + self.raised[index]
            features = self.programmes[index].solve(self.pool, raised)[0]
            if features is not None:
                tried.append(index)
                rows.append(features)
                continue
            best = self.programmes[index].best_reachable(self.pool)
            if best < margin - _ROUNDING:  # models in the pool refuse together after every change
                self.answers.status[index], self.answers.worst[index] = "impossible", best
                self.answers.costs[index] = self.answers.cost_bound[index] = np.inf
            else:
                self.raised[index] /= 4
        if tried:
            cheap, between = np.array(rows), self._between(tried, np.array(rows))
            proved, inner = np.split(self._ask(np.vstack([cheap, between]))[0], 2)
            for index, *ends in zip(tried, rows, proved, between, inner, strict=True):
                self._take(index, *ends)
        is_open = (self.answers.status == "undecided") & (self.raised > self.finest)
        return [index for index in active if is_open[index]]

    def _take(
        self, index: int, cheap: FloatArray, worst: float, between: FloatArray, inner: float
    ) -> None:
        """Keep accepted features, and end the search where they are nearly the cheapest."""
        programme, margin = self.programmes[index], self.model_set.margin
        if worst >= margin:
            self._accept(index, cheap, worst)
        if inner >= margin:
            self.inner[index] = between
            price = programme.changes.price
            near = (1 + self.tolerance) * price(programme.person, cheap)
            if not programme.integral.any() and price(programme.person, between) <= near:
                self._accept(index, between, inner)

    def _between(self, people: list[int], rows: FloatArray) -> FloatArray:
        """Features between the cheapest and accepted ones, where models cut off more."""
        between = []
        for index, cheap in zip(people, rows, strict=True):
            programme, inner = self.programmes[index], self.inner[index]
            if np.isnan(inner).any():
                # A longer row might exceed the norm, and then nothing between is allowed.
                step = np.isinf(self.model_set.problem.row_norm) * (cheap - programme.person)
                inner = programme.changes.within_reach(programme.person, cheap + step)
            between.append(snapped(programme.person, cheap + _BETWEEN * (inner - cheap)))
        return np.array(between)

    def _ask(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Worst scores (proved, attained) of rows; models that refuse become half-spaces."""
        margin = self.model_set.margin
        proved, attained, models = self.model_set.worst(rows)
        near = np.flatnonzero((proved < margin) & (attained >= margin))
        if len(near):
            fine, low, more_models = self.model_set.worst(rows[near], margin)
            proved[near], attained[near] = fine, low
            models = np.hstack([models, more_models])
        self.pool.add_refusing(
            self.model_set.functionals(models), self.model_set.design(rows), margin
        )
        return proved, attained

    def _accept(self, index: int, features: FloatArray, worst: float) -> None:
        """Store a proved change, and end the person's search if it is nearly the cheapest."""
        programme, answers = self.programmes[index], self.answers
        cost = programme.changes.price(programme.person, features)
        bound = min(programme.solve(self.pool, self.model_set.margin)[1], cost)
        answers.cost_bound[index] = max(answers.cost_bound[index], bound)
        if not cost >= answers.costs[index]:
            answers.rows[index], answers.costs[index] = features, cost
            answers.worst[index] = worst
        close = answers.costs[index] <= (1 + self.tolerance) * answers.cost_bound[index] + _ROUNDING
        if close:
            answers.status[index] = "found"
        self.raised[index] /= 4
