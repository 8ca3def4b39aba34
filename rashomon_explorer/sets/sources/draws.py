"""Set of linear draws of a problem, from any sampler."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets.linear import RashomonSet

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.base import Draws
    from rashomon_explorer.mechanisms.planning.plan import Plan
    from rashomon_explorer.privacy.guarantee import Guarantee
    from rashomon_explorer.problem.problem import Problem

_UNKNOWN = no_guarantee("it is not known how these models were drawn")


def from_draws(
    problem: Problem,
    draws: Draws | ArrayLike,
    psi: float,
    *,
    feature_names: Sequence[str] | None = None,
    feature_groups: Mapping[str, Sequence[str]] | None = None,
    classes: Sequence[Any] = (),
    target_bounds: tuple[float, float] = (-1.0, 1.0),
    mechanism: str = "unknown",
    plan: Plan | None = None,
    guarantee: Guarantee | None = None,
) -> RashomonSet:
    """Create a set from linear models of a problem, for samplers that no estimator runs.

    Parameters
    ----------
    problem : Problem
        Rows, loss and domain, which determine losses and the certified minimum.
    draws : Draws, or array-like of shape (n_draws, p)
        Models; losses of a ``Draws`` are used unchanged.
    psi : float
        Rashomon threshold.
    feature_names : sequence of str, optional
        Names without the intercept; by default ``x0``, ``x1``, ….
    feature_groups : mapping of str to sequence of str, optional
        Columns that are one feature; by default the ``"name=level"`` of each name.
    classes : sequence, default=()
        Labels of the classes 0, 1, ….
    target_bounds : tuple of float, default=(-1.0, 1.0)
        Range of the targets of a regression.
    mechanism : str, default="unknown"
        Name of the mechanism.
    plan : Plan, optional
        Plan of the draws; by default a plan without a budget, and no temperature.
    guarantee : Guarantee, optional
        The sampler's own guarantee for these draws. Without it there is none: the distribution of
        the draws is unknown.

    Raises
    ------
    ValueError
        If a shape does not match, a model is not finite, ψ is negative or differs from the plan's.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
    >>> from rashomon_explorer.mechanisms.base import collect
    >>> from rashomon_explorer.mechanisms.target import GibbsTarget
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.9], [0.6], [-0.7], [-0.5]], [1, 1, -1, -1])
    >>> target = GibbsTarget(problem, beta=10.0, psi=0.1)
    >>> drawn = collect(HitAndRunSampler(), target, 6, np.random.default_rng(0))
    >>> models = from_draws(problem, drawn, 0.1, mechanism="hit_and_run")
    >>> models.coef.shape, models.hit_rate, models.guarantee.holds
    ((6, 2), 1.0, False)
    """
    # Local import: samplers are slow to import.
    from rashomon_explorer.mechanisms.base import Draws

    if not psi >= 0 or (plan is not None and plan.psi != psi):
        planned = "" if plan is None else f" and the plan's {plan.psi:g}"
        raise ValueError(f"psi must be >= 0{planned}, got {psi!r}")
    drawn = draws if isinstance(draws, Draws) else None
    theta = np.asarray(draws if drawn is None else drawn.coef, dtype=float)
    if theta.ndim != 2 or theta.shape[1] != problem.p or not np.isfinite(theta).all():
        raise ValueError(
            f"draws must be finite, of shape (n_draws, {problem.p}), got shape {theta.shape}"
        )
    best = _with_intercepts(problem.minimum.theta[None], problem)[0]
    n_features = problem.p // problem.loss.outputs - problem.intercept
    return RashomonSet(
        coef=_with_intercepts(theta, problem),
        feature_names=(*_names(feature_names, n_features), "intercept"),
        feature_groups=feature_groups,
        classes=tuple(np.asarray(classes).tolist()),
        link=problem.loss.link,
        row_norm=problem.row_norm,
        target_bounds=target_bounds,
        plan=_plan_without_budget(problem, len(theta), psi) if plan is None else plan,
        guarantee=_UNKNOWN if guarantee is None else guarantee,
        losses=problem.value(theta.T) if drawn is None else drawn.losses,
        minimum=replace(problem.minimum, theta=best),
        clipped_share=getattr(problem, "clipped_share", 0.0),
        acceptance=math.nan if drawn is None else drawn.acceptance,
        mechanism=mechanism,
    )


def _with_intercepts(theta: FloatArray, problem: Problem) -> FloatArray:
    """Add an intercept of 0 if the problem has none: models in sets always have one."""
    if problem.intercept:
        return theta
    each = theta.reshape(len(theta), problem.loss.outputs, -1)
    return np.pad(each, [(0, 0), (0, 0), (0, 1)]).reshape(len(theta), -1)


def _names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{place}" for place in range(n_features))
    if isinstance(names, str) or len(names) != n_features:
        raise ValueError(f"feature_names must hold {n_features} names, got {names!r}")
    return tuple(str(name) for name in names)


def _plan_without_budget(problem: Problem, n_draws: int, psi: float) -> Plan:
    """Plan that states that there is no budget and no guarantee."""
    from rashomon_explorer.mechanisms.planning.plan import Plan

    return Plan(
        n=problem.n,
        p=problem.p,
        psi=psi,
        loss=problem.loss.name,
        epsilon=math.inf,
        delta=0.0,
        n_draws=n_draws,
        eta=math.inf,
        beta=math.nan,
        oscillation=_oscillation(problem),
        hit_rate_bound=0.0,
        excess_bound=math.inf,
        guarantee=_UNKNOWN,
    )


def _oscillation(problem: Problem) -> float:
    """Oscillation of a problem's loss; infinite if its rows have no declared bound."""
    return problem.constants.charged_oscillation if math.isfinite(problem.row_norm) else math.inf
