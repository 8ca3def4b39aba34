"""Model class reliance: range of the reliance on a feature over all good models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.measures import inputs
from rashomon_explorer.measures.ranges.level_set import check_problem
from rashomon_explorer.measures.reliance import level_set, set_reliance
from rashomon_explorer.measures.reliance.logistic import LogisticClass, nominal_seconds, row_weights
from rashomon_explorer.problem.problem import Problem

_ROUNDING = 1e-12  # relative to the zero model's loss: sums of n terms are exact to about 1e-15
_CLOSED = 1e-8
_HALVINGS = 200  # enough for any interval of doubles
_STEPS = 40


@dataclass(frozen=True)
class SquareClass:
    """Squared-loss models within ``level``, and their reliance on some columns."""

    problem: Problem  # of squared loss
    level: float  # largest loss of the set
    ratio: bool
    moments: level_set.SquareMoments
    # rise, original: e_switch − e_orig and e_orig
    rise: level_set.Quadratic
    original: level_set.Quadratic
    # smooth, within, ball: the set's constraints, ≤ 0; the first without an L1 penalty
    smooth: level_set.Quadratic
    within: level_set.Quadratic
    ball: level_set.Quadratic
    floor: float  # smallest e_orig of any linear model
    quick: bool = False  # ranges are closed forms, and always quick

    @classmethod
    def from_problem(
        cls, problem: Problem, psi: float, columns: inputs.Columns, *, ratio: bool
    ) -> SquareClass:
        """Reliance on ``columns`` over {L ≤ min L + ψ}."""
        best = problem.minimum.theta
        task = set_reliance.problem_task(problem, best[None])
        moments = level_set.SquareMoments.from_rows(task.rows, task.targets)
        original, eye = moments.original(), np.eye(problem.p)
        level, root = problem.minimum.value + psi, np.sqrt(row_weights(problem))
        weighted = level_set.SquareMoments.from_rows(root[:, None] * task.rows, root * task.targets)
        ridge = level_set.Quadratic(eye * problem.ridge / 2, np.zeros(problem.p), -level)
        fit, *_ = np.linalg.lstsq(moments.gram, moments.cross, rcond=None)
        floor = float(original(np.asarray(fit, dtype=float)[:, None])[0])
        if ratio and floor <= _ROUNDING * moments.energy:
            raise ValueError(
                "some model fits these rows with zero loss, so a ratio to its loss does not "
                "exist: use form='difference'"
            )
        within = (1 / psi) * (weighted.original() + ridge)
        models = cls(
            problem=problem,
            level=level,
            ratio=ratio,
            moments=moments,
            rise=moments.rise(columns),
            original=original,
            smooth=within,
            within=within,
            ball=level_set.Quadratic(eye / problem.domain.radius**2, np.zeros(problem.p), -1.0),
            floor=floor,
        )
        return models._around(best, np.zeros(problem.p))

    def _around(self, theta: FloatArray, rise: FloatArray) -> SquareClass:
        """Models whose loss, by a subgradient of an L1 penalty at a model (p,), is within."""
        psi = self.level - self.problem.minimum.value
        slope = level_set.l1_slope(self.problem, psi, theta, rise) / (2 * psi)
        linear = level_set.Quadratic(np.zeros((len(slope), len(slope))), slope, 0.0)
        return replace(self, within=self.smooth + linear)

    def on(self, columns: inputs.Columns) -> SquareClass:
        """Reliance of the same models on other columns."""
        return replace(self, rise=self.moments.rise(columns))

    def extreme(self, sign: int) -> level_set.Extreme:
        """Greatest sign·(e_switch − e_orig), or sign·(e_switch/e_orig − 1), over the set."""
        theta, attained, bound = self._bracket(sign, self.problem.minimum.theta)
        if bound - attained > _CLOSED * (1 + abs(attained)):
            value = partial(self._value_and_gradient, sign)
            theta = level_set.ascend_in_level_set(self.problem, self.level, theta, value)
            attained, rise = self._value_and_gradient(sign, theta)
            if getattr(self.problem, "l1", None) is not None:
                bound = min(bound, self._around(theta, rise)._bracket(sign, theta).bound)
        return level_set.Extreme(theta, attained, max(attained, bound))

    def _bracket(self, sign: int, theta: FloatArray) -> level_set.Extreme:
        if not self.ratio:
            minimum = self._least(sign, 0.0)
            theta = self._best(sign, minimum, theta)
            return level_set.Extreme(theta, self._value(sign, theta), -minimum.bound + self._pad)
        for _ in range(_STEPS):
            share = self._value(sign, theta)
            theta = self._best(sign, self._least(sign, share), theta)
            attained = self._value(sign, theta)
            if attained <= share + 1e-14 * (1 + abs(share)):
                break
        return level_set.Extreme(theta, attained, self._ratio_bound(sign, attained))

    @property
    def _pad(self) -> float:
        return _ROUNDING * (self.original.constant + self.level)

    def _least(self, sign: int, share: float) -> level_set.CertifiedMinimum:
        objective = share * self.original - float(sign) * self.rise
        return level_set.least_on_intersection(objective, self.within, self.ball)

    def _best(
        self, sign: int, minimum: level_set.CertifiedMinimum, theta: FloatArray
    ) -> FloatArray:
        """Best of a model and the candidates, each projected into the set."""
        inside = level_set.project_to_level_set(self.problem, self.level, minimum.points)
        every = np.column_stack([theta, inside])
        return every[:, int(np.argmax([self._value(sign, model) for model in every.T]))]

    def _value(self, sign: int, theta: FloatArray) -> float:
        rise = sign * float(self.rise(theta[:, None])[0])
        return rise / float(self.original(theta[:, None])[0]) if self.ratio else rise

    def _value_and_gradient(self, sign: int, theta: FloatArray) -> tuple[float, FloatArray]:
        value = self._value(sign, theta)
        slope = 2 * sign * (self.rise.matrix @ theta + self.rise.vector)
        if not self.ratio:
            return value, slope
        below = 2 * (self.original.matrix @ theta + self.original.vector)
        return value, (slope - value * below) / float(self.original(theta[:, None])[0])

    def _ratio_bound(self, sign: int, attained: float) -> float:
        """Smallest t found with a certified max (sign·rise − t·e_orig) ≤ 0."""
        over = -self._least(sign, attained).bound + self._pad
        # e_orig ≥ floor: raising t by over/floor lowers the maximum by at least ``over``.
        high = attained + max(0.0, over) / self.floor

        def closed(t: float) -> bool:
            return -self._least(sign, t).bound + self._pad <= 0

        near = _CLOSED * (1 + abs(attained))
        return bisect(closed, high, attained, halvings=_HALVINGS, width=near)


_CLASSES: dict[str, Callable[..., SquareClass | LogisticClass]] = {
    "squared": SquareClass.from_problem,
    "logistic": LogisticClass.from_problem,
}


_MOST_SECONDS = 12.0


def takes_seconds(link: str, n: int, p: int, n_features: int) -> bool:
    """Whether reliance on all features is bounded in seconds, by the size of the table alone."""
    each = nominal_seconds(n, p, quick=True) if link == "logistic" else 0.0
    return n_features * each <= _MOST_SECONDS


@inputs.by_index
def model_class_reliance(
    models_or_problem: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    psi: float | None = None,
    features: inputs.Features = None,
    feature_names: Sequence[str] | None = None,
    form: set_reliance.Form = "difference",
    draws: ArrayLike | None = None,
    seconds: float | None = 5.0,
) -> pd.DataFrame:
    """Smallest and largest model reliance over the whole Rashomon set {L ≤ min L + ψ}.

    MCR of Fisher, Rudin and Dominici (2019, §4). Each end is a bracket: a value attained by a model
    of the set, and a bound that no model exceeds. For squared loss both agree to rounding unless
    the ball of models cuts the loss's ellipsoid. For logistic loss a local search attains one end
    and a Lagrangian proves the other (docs/measures-proofs.md). They mostly agree for single
    columns, and may stay apart for groups of columns. The sampled range lies within the
    attained one and is an inner bound. An L1 penalty is bounded by one of its subgradients: the
    proved ends stay proved, and may be far from the attained ones if there are many columns.
    Weights of the fit decide which models are in the set; every row counts once in reliance.
    Curator: computed from private rows, not private.

    Parameters
    ----------
    models_or_problem : Problem, PenalisedProblem, or fitted Rashomon estimator
        With squared or logistic loss; for a PenalisedProblem pass ψ. Reliance is on its rows, in
        the problem's units (half the squared error in the problem's target units, or nats).
    X, y : array-like, optional
        Rows that the estimator was fitted to; a problem has its own.
    psi : float, optional
        Rashomon threshold, > 0; by default the estimator's.
    features : sequence, mapping or "columns", optional
        By default each feature once; see :func:`feature_groups`.
    feature_names : sequence of str, optional
        By default the estimator's, or x0, x1, ….
    form : {"difference", "ratio"}, default="difference"
        e_switch − e_orig or e_switch/e_orig.
    draws : array-like of shape (n_draws, p), optional
        Models such as ``rashomon_set.coef``, to compare with the range; those outside the set are
        excluded.
    seconds : float or None, default=5
        Nominal seconds for ranges under logistic loss, by the size of the table alone, so that
        results do not depend on the machine. In what all features leave of them, those of most
        reliance of the best model are searched; the ends of others are further apart, still
        attained and proved. None searches all.

    Returns
    -------
    pandas.DataFrame
        One row per group: ``lower`` ≤ ``lower_attained`` ≤ ``best`` (of the best model) ≤
        ``upper_attained`` ≤ ``upper``; with draws ``n_inside``, ``drawn_lower``, ``drawn_upper``
        and ``shortfall``, the share of the attained width not covered by the draws.

    Raises
    ------
    TypeError
        If the model or problem is of another kind; the message names an alternative.
    ValueError
        If rows, the loss, ψ, a feature, the form or a shape is wrong.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (200, 2))
    >>> problem = Problem(X, X[:, 0] + 0.2 * rng.normal(size=200), loss="squared")
    >>> table = model_class_reliance(problem, psi=0.005)
    >>> bool((table["upper"] - table["upper_attained"] < 1e-9).all())
    True
    >>> bool(table.loc["x0", "lower"] > table.loc["x1", "upper"])
    True
    """
    problem, psi, own_names, own_groups = set_reliance.class_problem(models_or_problem, X, y, psi)
    own_groups = own_groups if feature_names is None else None
    feature_names = own_names if feature_names is None else feature_names
    check_problem(problem)
    if problem.loss.name not in _CLASSES:
        raise ValueError(
            f"model class reliance needs {list(_CLASSES)} loss, got {problem.loss.name!r}; "
            "for any loss the range of model_reliance over draws is an inner bound"
        )
    if form not in set_reliance.FORMS:
        raise ValueError(f"form must be one of {list(set_reliance.FORMS)}, got {form!r}")
    check_positive(psi=psi)
    inputs.check_two_rows(problem.n)
    groups = inputs.feature_groups(features, _names(problem, feature_names), own_groups)
    best = set_reliance.reliance_table(
        set_reliance.problem_task(problem, problem.minimum.theta[None]), groups, form
    )
    with one_blas_thread():
        make, columns = _CLASSES[problem.loss.name], next(iter(groups.values()))
        models = make(problem, psi, columns, ratio=form == "ratio")
        order = best.iloc[0].abs().sort_values(ascending=False, kind="stable").index
        first, searched = (
            nominal_seconds(problem.n, problem.p, quick=quick) for quick in (True, False)
        )
        spare = math.inf if seconds is None else max(0.0, seconds - first * len(order))
        quick = set(order[int(min(spare / (searched - first), len(order))) :])
        ranges = {
            name: _range(replace(models.on(columns), quick=name in quick), form)
            for name, columns in progress(groups.items(), "class reliance")
        }
    table = pd.DataFrame(ranges).T.rename_axis(index="feature")
    table.insert(2, "best", best.iloc[0])
    if draws is None:
        return table
    return _with_draws(table, problem, psi, np.asarray(draws, dtype=float), groups, form)


def _names(problem: Problem, feature_names: Sequence[str] | None) -> list[str]:
    usual = set_reliance.default_names(problem)
    names = usual if feature_names is None else [str(name) for name in feature_names]
    if len(names) != len(usual):
        raise ValueError(f"feature_names must hold {len(usual)} names, got {len(names)}")
    return names


def _range(models: SquareClass | LogisticClass, form: str) -> dict[str, float]:
    none = 1.0 if form == "ratio" else 0.0
    lowest, greatest = models.extreme(-1), models.extreme(1)
    return {
        "lower": none - lowest.bound,
        "lower_attained": none - lowest.attained,
        "upper_attained": none + greatest.attained,
        "upper": none + greatest.bound,
    }


def _with_draws(
    table: pd.DataFrame,
    problem: Problem,
    psi: float,
    draws: FloatArray,
    groups: dict[str, inputs.Columns],
    form: str,
) -> pd.DataFrame:
    """Ranges compared with the reliance of the draws in the set, which may exceed the search's."""
    set_reliance.problem_task(problem, draws)  # raises for a wrong shape
    inside = problem.value(draws.T) <= problem.minimum.value + psi
    inside &= problem.domain.contains(draws.T)
    if not inside.any():
        raise ValueError(f"none of the {len(draws)} draws lies in the Rashomon set at psi = {psi}")
    task = set_reliance.problem_task(problem, draws[inside])
    values = set_reliance.reliance_table(task, groups, form)
    low, high = values.min(), values.max()
    lowest = table["lower_attained"].where(table["lower_attained"] <= low, low)
    highest = table["upper_attained"].where(table["upper_attained"] >= high, high)
    width = highest - lowest
    return table.assign(
        lower_attained=lowest,
        upper_attained=highest,
        n_inside=len(values),
        drawn_lower=low,
        drawn_upper=high,
        shortfall=1 - (high - low) / width.where(width > 0),
    )
