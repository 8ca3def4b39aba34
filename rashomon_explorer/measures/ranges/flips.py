"""Labels that can flip, and the least excess loss at which they do."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.measures.ranges import level_set
from rashomon_explorer.measures.ranges.brackets import SECONDS, affordable, bracketed
from rashomon_explorer.measures.ranges.exact import row_index, scored_rows
from rashomon_explorer.measures.ranges.penalised import ConvexProblem, PenalisedProblem
from rashomon_explorer.measures.ranges.search import Metric, axes

LEAST = 1e-7
"""Excess loss that counts as none, as a share of the zero model's."""

_ROUNDS = 40
_NUDGE = 0.01  # distance beyond the hyperplane, as a share of the tolerance
_ROUNDING = 1e-14  # relative to the loss, as for level sets


@one_blas_thread()
def least_crossings(
    problem: ConvexProblem,
    directions: FloatArray,
    zero: float,
    tolerance: float,
    beyond: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Bracket (K,) of min {L(θ) − L(θ*) : d·θ ≥ b} for columns d of (p, K)."""
    search = _Search(problem, directions, zero, tolerance, beyond)
    if isinstance(problem, PenalisedProblem):  # along the flat, the loss of the minimum suffices
        search.upper[~problem.row_space.contains(directions)] = 0.0
    hessian, l1 = problem.hessian(search.best), getattr(problem, "l1", None)
    metric: Metric = axes(hessian, search.least_curvature)
    if l1 is not None:
        metric = level_set.FaceMetric.from_hessian(hessian, l1)
    for _ in range(_ROUNDS):
        active = np.flatnonzero(search.open)
        if not len(active):
            break
        search.advance(active, metric)
    return search.lower, search.upper


class _Search:
    """Current point and bracket of each column's minimum over the hyperplane d·θ = b."""

    def __init__(
        self,
        problem: ConvexProblem,
        directions: FloatArray,
        zero: float,
        tolerance: float,
        beyond: FloatArray | float,
    ) -> None:
        count = directions.shape[1]
        self._beyond = np.broadcast_to(np.asarray(beyond, dtype=float), (count,))
        self._problem, self._directions, self._zero = problem, directions, zero
        self._tolerance, self.best = tolerance, problem.minimum.theta
        self._radius = float(getattr(problem.domain, "radius", np.inf))
        self._needed = self._beyond - self.best @ directions
        # Slightly beyond the hyperplane d·θ = b, so that labels do change.
        self._level = self._beyond + _NUDGE * tolerance * self._needed
        self._level += 1e-9 * np.abs(directions).sum(axis=0) * (1 + np.abs(self.best).max())
        self.theta = np.repeat(self.best[:, None], count, axis=1)
        self._value = np.full(count, np.inf)
        _, gradient = problem.value_and_gradient(self.best[:, None])
        self._gradient = np.repeat(gradient, count, axis=1)
        self._stiff = np.ones(count)
        self.lower, self.upper = np.zeros(count), np.full(count, np.inf)
        self._reaches: dict[int, level_set.EllipsoidReach] = {}

    @property
    def least_curvature(self) -> float:
        """Smallest curvature of a quadratic model."""
        return 1e-6 * self._zero / self._radius**2

    @property
    def open(self) -> Mask:
        """Columns whose bracket is still wide."""
        wide = self.upper > (1 + self._tolerance) * self.lower
        return np.asarray(wide & (self.upper > LEAST * self._zero) & self._directions.any(axis=0))

    def advance(self, active: NDArray[np.intp], metric: Metric) -> None:
        """Evaluate the minimisers of quadratic models, and accept those of lower loss."""
        d = self._directions[:, active]
        at = d, self.theta[:, active], self._gradient[:, active]
        level, stiff = self._level[active], self._stiff[active]
        theta = metric.least_on_hyperplanes(at, level, stiff, self._radius)
        theta = self._problem.domain.project(theta)
        value, gradient = self._problem.value_and_gradient(theta)
        flips = np.einsum("ij,ij->j", d, theta) > self._beyond[active]
        excess = np.where(flips, np.maximum(value - self._problem.minimum.value, 0.0), np.inf)
        self.upper[active] = np.minimum(self.upper[active], excess)
        lower = np.minimum(self._bound(active, theta, value, gradient), self.upper[active])
        self.lower[active] = np.maximum(self.lower[active], lower)
        better = value < self._value[active]
        moved = active[better]
        self.theta[:, moved], self._value[moved] = theta[:, better], value[better]
        self._gradient[:, moved] = gradient[:, better]
        factor = np.where(better, 0.5, 4.0)
        self._stiff[active] = np.maximum(1.0, self._stiff[active] * factor)

    def _bound(
        self, active: NDArray[np.intp], theta: FloatArray, value: FloatArray, slope: FloatArray
    ) -> FloatArray:
        """Lower bound (K,) on the excess by tangents: min of (g − μd)·ϑ + μb for every μ ≥ 0."""
        problem, d = self._problem, self._directions[:, active]
        error = _ROUNDING * (1 + np.abs(value)) * np.sqrt(len(theta))
        excess = value - problem.minimum.value - error - np.einsum("ij,ij->j", slope, theta)
        if not isinstance(problem, PenalisedProblem):
            away = level_set.least_shifted_norm(-slope, -d, -self._beyond[active], self._radius)
            return np.asarray(excess - away)
        around = [self._reach(psi) for psi in np.minimum(self.upper[active], self._zero)]
        if problem.l1 is not None:
            slope = level_set.matched_subgradient(slope, theta, problem.l1, d, around[0].weight)
        away = np.empty(len(active))
        for reach in {id(each): each for each in around}.values():
            some = np.array([each is reach for each in around])
            pull, across = reach.whiten.T @ slope[:, some], reach.whiten.T @ d[:, some]
            needed = -self._needed[active][some]
            away[some] = level_set.least_shifted_norm(-pull, -across, needed, reach.extent)
        return np.asarray(excess + self.best @ slope - away)

    def _reach(self, psi: float) -> level_set.EllipsoidReach:
        """Ellipsoid around all models with excess loss up to ``psi``, or more."""
        power = int(np.ceil(np.log2(max(psi, LEAST * self._zero))))
        if power not in self._reaches:
            problem: Any = self._problem
            self._reaches[power] = problem.reach(2.0**power)
        return self._reaches[power]


_TOLERANCE = 1e-6
_CROSSING = 4.0  # of a least crossing, in searches


class ExactAmbiguity(NamedTuple):
    """Share of people whose label can flip, between two proved bounds.

    Parameters
    ----------
    lower : float
        Share whose label is proved to flip for some model of the set.
    upper : float
        1 minus the share whose label is proved not to flip; equal to ``lower`` unless
        some person's extreme score is 0 within the tolerance.
    """

    lower: float
    upper: float


def exact_flips(
    problem: ConvexProblem,
    psi: float,
    X: ArrayLike,
    *,
    threshold: float = 0.0,
    tolerance: float = _TOLERANCE,
    seconds: float | None = SECONDS,
) -> pd.DataFrame:
    """Whether some model of the Rashomon set flips a person's label against the best model.

    The label is 1 if the score is above the threshold, or the class with the largest score. A
    person is decided once a model flips the label, or a tangent proves that none does. For most
    people this takes one pass over the rows.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem : Problem or PenalisedProblem
        Of a classification loss.
    psi : float
        Rashomon threshold > 0.
    X : array-like of shape (n_rows, n_features)
    threshold : float, default=0.0
        Score above which the label is 1: log(t/(1 − t)) for a probability t of a logistic loss.
    tolerance : float, default=1e-6
        Where the search for undecided people ends, as a share of the largest score change.
    seconds : float or None, default=10
        Nominal seconds for searches of single people; their number follows from the size of the
        table, so that results do not depend on the machine. Others stay undecided. None searches
        all.

    Returns
    -------
    pandas.DataFrame
        One row per person: ``label`` of the best model (0, 1, …), ``flips`` (True if proved by
        some model of the set) and ``decided`` (whether ``flips`` is proved, True or False).

    Raises
    ------
    ValueError
        If a parameter is out of range or a shape is wrong.
    TypeError
        For a regression loss, which has no labels.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 9)
    >>> exact_flips(problem, 0.05, [[0.05], [0.9]])["flips"].tolist()
    [True, False]
    """
    _check_classes(problem)
    rows, best = scored_rows(problem, X), problem.minimum.theta
    directions, label, thresholds = _problem_directions(problem, rows, threshold)
    needed = thresholds[:, None] - np.einsum("nkj,j->nk", directions, best)
    n, n_rivals = needed.shape
    need = needed.ravel()

    columns = directions.reshape(n * n_rivals, -1).T
    extents = bracketed(problem, psi, columns, tolerance, need, seconds=seconds)
    flips = (extents.inner > need).reshape(n, n_rivals).any(axis=1)
    # Scores that are the same for all models, as for a row of zeros, never cross.
    fixed = ~directions.any(axis=2)
    stays = (fixed | (extents.outer < need).reshape(n, n_rivals)).all(axis=1)
    index = row_index(X)
    table = pd.DataFrame({"label": label, "flips": flips, "decided": flips | stays}, index=index)
    table.attrs.update(view="curator: not private", psi=float(psi))
    return table


def exact_ambiguity(
    problem: ConvexProblem,
    psi: float,
    X: ArrayLike,
    *,
    threshold: float = 0.0,
    tolerance: float = _TOLERANCE,
    seconds: float | None = SECONDS,
) -> ExactAmbiguity:
    """Share of people whose label some model of the Rashomon set flips.

    The ambiguity (1/n) #{i : ∃ θ ∈ G, f_θ(x_i) ≠ f_θ*(x_i)} of Marx, Calmon and Ustun (2020) over
    the whole set; draws give a lower bound.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem, psi, X, threshold, tolerance, seconds
        As for :func:`exact_flips`.

    Returns
    -------
    ExactAmbiguity
        Lower and upper bound.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 9)
    >>> exact_ambiguity(problem, 0.05, [[0.05], [0.9]])
    ExactAmbiguity(lower=0.5, upper=0.5)
    """
    table = exact_flips(problem, psi, X, threshold=threshold, tolerance=tolerance, seconds=seconds)
    possible = table["flips"] | ~table["decided"]
    return ExactAmbiguity(float(table["flips"].mean()), float(possible.mean()))


def _check_classes(problem: ConvexProblem) -> None:
    level_set.check_problem(problem)
    if problem.loss.task == "regression":
        raise TypeError("labels need a classification loss; use exact_score_ranges for regression")


def flip_directions(
    rows: FloatArray, best: FloatArray, outputs: int, reference: bool = True, threshold: float = 0.0
) -> tuple[FloatArray, NDArray[np.int_]]:
    """Directions (n, other labels, p) that rise towards a flip, and the best labels (n,)."""
    scores = rows @ best.reshape(outputs, -1).T
    if outputs == 1:
        label = (scores[:, 0] > threshold).astype(int)
        return (rows * np.where(label == 1, -1.0, 1.0)[:, None])[:, None, :], label
    each = np.eye(outputs)
    if reference:
        each = np.vstack([np.zeros(outputs), each])
    label, count = (scores @ each.T).argmax(axis=1), len(each)
    rivals = np.array([[c for c in range(count) if c != winner] for winner in range(count)])
    differences = each[rivals[label]] - each[label][:, None, :]
    directions = np.einsum("nkc,nj->nkcj", differences, rows)
    return directions.reshape(len(rows), count - 1, best.size), label


def _problem_directions(
    problem: ConvexProblem, rows: FloatArray, threshold: float
) -> tuple[FloatArray, NDArray[np.int_], FloatArray]:
    """Directions, labels (n,) at a problem's best model, and the value (n,) that flips exceed."""
    outputs, reference = problem.loss.outputs, not isinstance(problem, PenalisedProblem)
    if threshold and outputs > 1:
        raise ValueError(f"a threshold needs two classes, got {outputs + reference}")
    best = problem.minimum.theta
    directions, label = flip_directions(rows, best, outputs, reference, threshold)
    return directions, label, np.where(label == 1, -threshold, threshold)


def _largest_crossing(
    problem: ConvexProblem, directions: FloatArray, beyond: FloatArray, threshold: float
) -> float:
    """Excess loss of models that reach the thresholds, which no least crossing exceeds."""
    best = problem.minimum.theta
    reached = np.zeros((problem.p, 1))
    if threshold and problem.intercept:
        reached[-1] = threshold
    elif threshold:
        size = np.maximum(np.einsum("ij,ij->j", directions, directions), 1e-300)
        reached = best[:, None] + (beyond - best @ directions) / size * directions
    return 1.01 * max(float(problem.value(reached).max()) - problem.minimum.value, 1e-12)


def in_last_class(problem: ConvexProblem, X: ArrayLike) -> Mask:
    """Whether the best model gives each row (n,) the last label."""
    directions, label, _ = _problem_directions(problem, scored_rows(problem, X), 0.0)
    return np.asarray(label == directions.shape[1])


class FlipPsi(NamedTuple):
    """Smallest ψ at which a label flips, between two proved bounds; one number a person.

    Parameters
    ----------
    lower : float or ndarray of shape (n_rows,)
        No model with excess loss up to this flips the label; 0 if the smallest ψ tried flips it.
    upper : float or ndarray of shape (n_rows,)
        Some model with excess loss up to this flips the label; infinite if none does.
    """

    lower: Any
    upper: Any


def flip_psi(
    problem: ConvexProblem,
    x: ArrayLike,
    *,
    threshold: float = 0.0,
    tolerance: float = 0.01,
    seconds: float | None = SECONDS,
) -> FlipPsi:
    """Smallest ψ at which some model of the Rashomon set gives a person another label.

    ψ* = min {L(θ) − L(θ*) : f_θ(x) ≠ f_θ*(x)}, a convex programme: the least loss on the far side
    of the hyperplane on which the score is the threshold. A model attains the upper bound, and a
    tangent proves the lower one. It is a person's distance to the decision boundary in units of the
    loss: ψ < ψ* leaves the label unique. A model with the same score for every row flips it, too,
    so that ψ* is at most its excess loss.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem : Problem or PenalisedProblem
        Of a classification loss.
    x : array-like of shape (n_features,) or (n_rows, n_features)
        One person, or several, which take less time together.
    threshold : float, default=0.0
        Score above which the label is 1, as in :func:`exact_flips`.
    tolerance : float, default=0.01
        Where the search ends: upper ≤ (1 + tolerance)·lower.
    seconds : float or None, default=10
        Nominal seconds for searches, as in :func:`exact_flips`: people nearest to the boundary are
        searched. The others get 0 and the excess loss of a model that flips them.

    Returns
    -------
    FlipPsi
        Lower and upper end, numbers for one person and arrays (n_rows,) for several.

    Raises
    ------
    ValueError
        If ``x`` is not one row or a table of rows, or the tolerance is not in (0, 1).
    TypeError
        For a regression loss.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 9)
    >>> near, far = flip_psi(problem, [0.01]), flip_psi(problem, [0.9])
    >>> near.upper < far.lower
    True
    """
    _check_classes(problem)
    check_inner_share(tolerance=tolerance)
    is_single = np.ndim(x) == 1
    if is_single:
        x = x.to_frame().T if isinstance(x, pd.Series) else np.asarray(x)[None]
    rows = scored_rows(problem, x)
    rows, index = np.unique(rows, axis=0, return_inverse=True)
    directions, _, thresholds = _problem_directions(problem, rows, threshold)
    n, n_rivals, p = directions.shape
    columns, each = directions.reshape(-1, p).T, np.repeat(thresholds, n_rivals)
    zero = _largest_crossing(problem, columns, each, threshold)
    ends = np.column_stack([np.zeros(n), np.where(directions.any(axis=(1, 2)), zero, np.inf)])
    needed = (each - problem.minimum.theta @ columns).reshape(n, n_rivals).min(axis=1)
    share = None if seconds is None else seconds / _CROSSING
    searched = np.argsort(needed, kind="stable")[: affordable(problem, share)]
    parts = (searched[:, None] * n_rivals + np.arange(n_rivals)).ravel()
    crossings = least_crossings(problem, columns[:, parts], zero, tolerance, each[parts])
    ends[searched] = np.stack(crossings).reshape(2, len(searched), n_rivals).min(axis=2).T
    for row in progress(searched.tolist(), "least ψ of flips", total=len(searched)):
        lower, upper = ends[row]
        if upper <= LEAST * zero:
            ends[row] = 0.0, LEAST * zero
        elif upper > (1 + tolerance) * lower:
            start = max(lower, LEAST * zero)
            ends[row] = _bisected(problem, directions[row], thresholds[row], start, zero, tolerance)
    lower, upper = ends[index.ravel()].T
    return FlipPsi(float(lower[0]), float(upper[0])) if is_single else FlipPsi(lower, upper)


def _bisected(
    problem: ConvexProblem,
    directions: FloatArray,
    beyond: float,
    lower: float,
    zero: float,
    tolerance: float,
) -> tuple[float, float]:
    """Bounds on the least ψ of a flip, by bisection over proved ranges."""
    need = beyond - directions @ problem.minimum.theta

    def proved(psi: float) -> tuple[bool, bool]:
        """Whether a model is proved to flip the label, and whether none is."""
        extents = bracketed(problem, psi, directions.T, _TOLERANCE, need)
        return bool((extents.inner > need).any()), bool((extents.outer < need).all())

    upper = zero
    if proved(lower)[0]:
        return 0.0, lower
    if not proved(upper)[0]:  # a row with the same score for all models
        return upper, float("inf")
    while upper > (1 + tolerance) * lower:
        middle = float(np.sqrt(lower * upper))
        flips, stays = proved(middle)
        if not flips | stays:
            break
        lower, upper = (lower, middle) if flips else (middle, upper)
    return lower, upper
