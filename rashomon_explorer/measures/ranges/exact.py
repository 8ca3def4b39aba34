"""Exact ranges of coefficients and scores."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, as_numbers
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.measures.inputs import by_index
from rashomon_explorer.measures.ranges.brackets import SECONDS, bracketed
from rashomon_explorer.measures.ranges.level_set import check_problem
from rashomon_explorer.measures.ranges.penalised import ConvexProblem, PenalisedProblem
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.rows.chunked import read_column
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked
from rashomon_explorer.sets.scores import finite_rows, model_rows, rows_by_name


def parameter_names(
    problem: ConvexProblem, feature_names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Names of a problem's parameters: features, then the intercept, for each score."""
    outputs = problem.loss.outputs
    width = problem.p // outputs - problem.intercept
    if feature_names is None:
        feature_names = getattr(problem, "feature_names", [f"x{j}" for j in range(width)])
    if len(feature_names) != width:
        raise ValueError(f"feature_names must hold {width} names, got {len(feature_names)}")
    names = (*map(str, feature_names), *(["intercept"] if problem.intercept else []))
    if outputs == 1:
        return names
    classes = getattr(problem, "classes", ()) or [f"class {c}" for c in range(1, outputs + 1)]
    return tuple(f"{label}: {name}" for label in classes for name in names)


def as_directions(problem: ConvexProblem, directions: ArrayLike | None) -> FloatArray:
    """Directions (k, p), by default one for each parameter."""
    if directions is None:
        return np.asarray(getattr(problem, "parameter_directions", np.eye(problem.p)))
    array = as_numbers(directions, "directions must be numbers")
    if array.ndim != 2 or array.shape[1] != problem.p or not len(array):
        raise ValueError(
            f"directions must have one per row, shape (k, {problem.p}), got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError("directions must be finite")
    return array


def scored_rows(problem: ConvexProblem, X: ArrayLike) -> FloatArray:
    """Rows (n_rows, width) as the models score them: clipped, with a constant if needed."""
    return _clipped_rows(problem, problem_rows(problem, X))


def _clipped_rows(problem: ConvexProblem, X: ArrayLike) -> FloatArray:
    """Rows as the models score them, from encoded rows."""
    rows = finite_rows(X, problem.p // problem.loss.outputs - problem.intercept)
    if not len(rows):
        raise ValueError(f"X must have shape (n_rows, {rows.shape[1]}) with at least one row")
    # A problem of mapped columns, created from an estimator, stores the map.
    clipped = model_rows(rows, problem.row_norm, getattr(problem, "scale", None))
    return add_intercept(clipped) if problem.intercept else clipped


def problem_rows(problem: ConvexProblem, X: Any) -> Any:
    """Rows of the table that the problem's model took, in the problem's columns, by name."""
    encode, names = getattr(problem, "encode", None), getattr(problem, "feature_names", ())
    if encode is not None:
        X = encode(X)
    return rows_by_name(X, names) if len(names) else X


def score_directions(problem: ConvexProblem, X: ArrayLike) -> tuple[FloatArray, pd.Index]:
    """Directions of every row's score, or of its classes' (all but the first, or centred)."""
    rows, index, outputs = scored_rows(problem, X), row_index(X), problem.loss.outputs
    if outputs > 1 and isinstance(problem, PenalisedProblem):
        return row_directions(rows, index, outputs, problem.class_scores, problem.classes)
    return row_directions(rows, index, outputs)


def row_directions(
    rows: FloatArray,
    index: pd.Index,
    outputs: int,
    scores: FloatArray | None = None,
    classes: Sequence[Any] | None = None,
) -> tuple[FloatArray, pd.Index]:
    """Directions of rows' scores; ``scores`` (k, outputs) maps outputs to those of classes."""
    if outputs == 1:
        return rows, index
    scores = np.eye(outputs) if scores is None else scores
    classes = range(1, outputs + 1) if classes is None else classes
    directions = np.einsum("nj,kc->nkcj", rows, scores)
    labels = pd.Index(list(classes) * len(rows), name="class")
    names = pd.MultiIndex.from_arrays(
        [index.repeat(len(scores)), labels], names=[index.name, "class"]
    )
    return directions.reshape(len(names), outputs * rows.shape[1]), names


def row_index(X: ArrayLike) -> pd.Index:
    """Index of the rows: a DataFrame's own, which may repeat, or their positions."""
    names: Any = X.index if isinstance(X, pd.DataFrame) else range(len(np.asarray(X)))
    return pd.Index(names, name="row")


def gap_directions(
    problem: ConvexProblem, X: ArrayLike, groups: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, pd.Index]:
    """Directions of the difference in (weighted) mean score for every pair of groups."""
    outputs = problem.loss.outputs
    if outputs > 1 and not isinstance(problem, PenalisedProblem):
        raise ValueError("a group gap needs one score per row: pass your own directions instead")
    table = as_chunked_rows(problem_rows(problem, X)) if is_chunked(X) else None
    rows = scored_rows(problem, X) if table is None else np.empty(0)
    n_rows = len(rows) if table is None else table.n
    if isinstance(groups, str) and table is not None:
        groups = read_column(table, groups)
    codes, names = pd.factorize(np.asarray(groups), sort=True)
    if codes.shape != (n_rows,):
        raise ValueError(f"groups must hold one per row, got {codes.shape} for {n_rows} rows")
    if (codes < 0).any():
        raise ValueError(f"groups holds a missing value at row {int(np.argmin(codes))}")
    if len(names) < 2:
        raise ValueError(f"groups must hold at least two groups, got {list(names)}")
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != codes.shape or not (np.bincount(codes, np.maximum(weight, 0)) > 0).all():
        raise ValueError("sample_weight must hold one number per row, of a sum > 0 in each group")
    if table is None:  # one chunk
        sums = _group_sums(rows * weight[:, None], codes, len(names))
    else:
        work = partial(_chunk_sums, problem, len(names))
        (sums,) = table.with_targets(group=codes, weight=weight).reduce(work)
    means = sums / np.bincount(codes, weight)[:, None]
    first, second = np.triu_indices(len(names), k=1)
    labels = [f"{names[i]} - {names[j]}" for i, j in zip(first, second, strict=True)]
    gaps, index = means[first] - means[second], pd.Index(labels, name="groups")
    if outputs == 1 or not isinstance(problem, PenalisedProblem):
        return gaps, index
    return row_directions(gaps, index, outputs, problem.class_scores, problem.classes)


def _group_sums(rows: FloatArray, codes: NDArray[np.intp], n_groups: int) -> FloatArray:
    sums = np.zeros((n_groups, rows.shape[1]))
    np.add.at(sums, codes, rows)
    return sums


def _chunk_sums(
    problem: ConvexProblem, n_groups: int, rows: FloatArray, fields: Any
) -> tuple[FloatArray]:
    """Sum each group's rows (n_groups, width) of a chunk as the models score them."""
    weighted = _clipped_rows(problem, rows) * np.asarray(fields["weight"])[:, None]
    return (_group_sums(weighted, fields["group"], n_groups),)


_GAP_SECONDS = 0.5
COLUMNS = ("low_outer", "low", "best", "high", "high_outer")


def exact_ranges(
    problem: ConvexProblem,
    psi: float,
    directions: ArrayLike | None = None,
    *,
    names: Sequence[str] | pd.Index | None = None,
    tolerance: float = 1e-6,
) -> pd.DataFrame:
    """Minimum and maximum of a·θ over the Rashomon set, each between two proved bounds.

    G = {θ ∈ C : L(θ) ≤ L(θ*) + ψ} with the certified minimum θ* and the problem's domain C. Both
    programmes of a direction a are convex: every tangent of L proves an outer bound, and every
    model of G attains an inner one. The search runs until they meet
    (docs/measures-proofs.md).

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem : Problem or PenalisedProblem
        :func:`penalised_problem` creates the latter from a fitted scikit-learn model.
    psi : float
        Rashomon threshold > 0, in units of the problem's objective; see :func:`relative_psi`.
    directions : array-like of shape (k, p), optional
        One per row; by default every parameter of the model.
    names : sequence of length k, optional
        Labels of the result's rows.
    tolerance : float, default=1e-6
        Target distance of inner and outer end, as a share of the outer end's distance from the
        best model's value. Losses with kinks may end with a larger distance, seen in the columns.

    Returns
    -------
    pandas.DataFrame
        One row per direction: low_outer ≤ low ≤ best ≤ high ≤ high_outer. Models of G attain
        ``low`` and ``high``, and no model of G is below ``low_outer`` or above ``high_outer``;
        ``best`` is the value at θ*.

    Raises
    ------
    TypeError
        If ``problem`` is not a problem, but for instance a fitted model.
    ValueError
        If a parameter is out of range or a shape is wrong.
    DataError
        If a penalised problem has no minimum, or no bounded outer set is known.

    Notes
    -----
    A penalised problem may be flat in some direction. A range along it is (−∞, ∞).

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5], [0.2]], [0.5, -0.5, 0.0], loss="squared", ridge=0.1)
    >>> exact_ranges(problem, 0.01).round(4).loc["x0", ["low", "best", "high"]].tolist()
    [0.3347, 0.604, 0.8732]
    """
    check_problem(problem)
    array = as_directions(problem, directions)
    if names is None and directions is None:
        names = parameter_names(problem)
    if names is not None and len(names) != len(array):
        raise ValueError(f"names must have one per direction, got {len(names)} for {len(array)}")
    index = pd.RangeIndex(len(array)) if names is None else pd.Index(names)
    return _table(problem, psi, array, index, tolerance)


def exact_coefficient_ranges(
    problem: ConvexProblem,
    psi: float,
    *,
    feature_names: Sequence[str] | None = None,
    tolerance: float = 1e-6,
) -> pd.DataFrame:
    """Exact range of every coefficient over the Rashomon set.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem, psi, tolerance
        As for :func:`exact_ranges`.
    feature_names : sequence of str, optional
        Without the intercept; by default x0, x1, … or those of the scikit-learn model.

    Returns
    -------
    pandas.DataFrame
        As in :func:`exact_ranges`, one row per parameter, and a column ``sign``: "+" or "-" if all
        models of the set have that sign, "can be zero" if a model has the coefficient 0, "not
        identified" if collinear columns without a penalty leave the range infinite, and
        "undecided" if 0 lies between two bounds.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5], [0.2]], [0.5, -0.5, 0.0], loss="squared", ridge=0.1)
    >>> exact_coefficient_ranges(problem, 0.01)["sign"].to_dict()
    {'x0': '+', 'intercept': 'can be zero'}
    """
    check_problem(problem)
    index = pd.Index(parameter_names(problem, feature_names), name="parameter")
    table = _table(problem, psi, as_directions(problem, None), index, tolerance)
    unbounded = np.isinf(table["low_outer"]) | np.isinf(table["high_outer"])
    zero = (table["low"] <= 0) & (table["high"] >= 0)
    conditions = [unbounded, zero, table["low_outer"] > 0, table["high_outer"] < 0]
    signs = np.select(conditions, ["not identified", "can be zero", "+", "-"], "undecided")
    return table.assign(sign=signs)


def exact_score_ranges(
    problem: ConvexProblem,
    psi: float,
    X: ArrayLike,
    *,
    tolerance: float = 1e-6,
    seconds: float | None = SECONDS,
) -> pd.DataFrame:
    """Exact range of every person's linear score (margin) over the Rashomon set.

    The logistic link is increasing and maps them to ranges of probabilities. In a large table the
    widest ranges are searched; the others have proved ends further apart.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem, psi, tolerance
        As for :func:`exact_ranges`.
    X : array-like of shape (n_rows, n_features)
        Clipped to the problem's ``row_norm`` like its own rows.
    seconds : float or None, default=10
        Nominal seconds for searches, as in :func:`exact_flips`.

    Returns
    -------
    pandas.DataFrame
        As in :func:`exact_ranges`, one row per person. With several classes one per person and
        class: of a scikit-learn model every class, with softmax scores minus their mean; else
        every class but class 0, whose score is 0.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from rashomon_explorer.measures import penalised_problem
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0]
    >>> problem = penalised_problem(Ridge(alpha=3.0).fit(X, y), X, y)
    >>> exact_score_ranges(problem, 0.01, [[1.0]])[["low", "best", "high"]].round(3).values.tolist()
    [[0.525, 0.667, 0.808]]
    """
    check_problem(problem)
    directions, index = score_directions(problem, X)
    return _table(problem, psi, directions, index, tolerance, seconds=seconds)


@by_index
def exact_group_gap(
    problem: ConvexProblem,
    psi: float,
    X: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    tolerance: float = 1e-6,
    seconds: float | None = _GAP_SECONDS,
) -> pd.DataFrame:
    """Exact range of the difference in mean linear score for every pair of groups.

    Of thousands of pairs the widest ranges are searched; the others have proved ends further apart.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem, psi, tolerance
        As for :func:`exact_ranges`.
    X : array-like of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows in the means.
    seconds : float or None, default=0.5
        Nominal seconds for searches, as in :func:`exact_flips`.

    Returns
    -------
    pandas.DataFrame
        As in :func:`exact_ranges`, rows named ``"a - b"``.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or the models have several scores per row.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from rashomon_explorer.measures import penalised_problem
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0]
    >>> problem = penalised_problem(Ridge(alpha=3.0).fit(X, y), X, y)
    >>> gap = exact_group_gap(problem, 0.01, X, ["a", "a", "b"])
    >>> gap[["low", "best", "high"]].round(3).loc["a - b"].tolist()
    [-0.464, -0.3, -0.136]
    """
    check_problem(problem)
    directions, index = gap_directions(problem, X, groups, sample_weight)
    return _table(problem, psi, directions, index, tolerance, seconds=seconds)


_TANGENTS = 24  # pairs of parallel ones
_OUTLINE_TOLERANCE = 1e-4


def set_outline(problem: ConvexProblem, psi: float, plane: FloatArray) -> FloatArray:
    """Vertices (k, 2) of a polygon of tangents around the Rashomon set, seen in a plane (2, p).

    No model of the set lies outside the polygon, and every edge touches the set. It is empty if the
    set is unbounded in the plane. Curator: computed from private rows, not private.
    """
    check_problem(problem)
    spread = plane @ np.linalg.pinv(problem.hessian(problem.minimum.theta)) @ plane.T
    sizes, axes = np.linalg.eigh(spread)
    axes[:, 0] *= np.sign(np.linalg.det(axes))  # so that the vertices go round to the left
    # Tangents at even distances on the ellipse that a quadratic loss would have.
    angles = np.pi * np.arange(_TANGENTS) / _TANGENTS
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    normals = circle / np.sqrt(np.maximum(sizes, 1e-12 * sizes[-1])) @ axes.T
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    ends = exact_ranges(problem, psi, normals @ plane, tolerance=_OUTLINE_TOLERANCE)
    distance = np.concatenate([ends["high_outer"], -ends["low_outer"]])
    if not np.isfinite(distance).all():
        return np.empty((0, 2))
    sides = np.vstack([normals, -normals])
    pairs = np.stack([sides, np.roll(sides, -1, axis=0)], axis=1)
    levels = np.stack([distance, np.roll(distance, -1)], axis=1)
    return np.asarray(np.linalg.solve(pairs, levels[..., None])[..., 0])


def relative_psi(problem: ConvexProblem, slack: float) -> float:
    """Threshold ψ = slack·min L, for sets stated as L(θ) ≤ (1 + slack)·min L.

    **Curator: computed from private rows, not private.**

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> round(relative_psi(Problem([[0.0], [0.0]], [1, -1]), 0.01), 6)
    0.006931
    """
    check_problem(problem)
    check_positive(slack=slack)
    return slack * problem.minimum.value


def _table(
    problem: ConvexProblem,
    psi: float,
    directions: FloatArray,
    index: pd.Index,
    tolerance: float,
    seconds: float | None = None,
) -> pd.DataFrame:
    check_positive(tolerance=tolerance)
    both = np.vstack([directions, -directions]).T
    extents = bracketed(problem, psi, both, tolerance, seconds=seconds)
    best = directions @ problem.minimum.theta
    (up, down), (up_outer, down_outer) = np.split(extents.inner, 2), np.split(extents.outer, 2)
    ends = (best - down_outer, best - down, best, best + up, best + up_outer)
    table = pd.DataFrame(dict(zip(COLUMNS, ends, strict=True)), index=index)
    table.attrs.update(view="curator: not private", psi=float(psi))
    return table
