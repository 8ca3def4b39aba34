"""Sets of linear models: draws of a problem from any sampler, and fitted estimators."""

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
from rashomon_explorer.sets.models.fitted import FittedModels

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.base import Draws
    from rashomon_explorer.mechanisms.plans import Plan
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
    guarantee : Guarantee, optional
        The sampler's own guarantee for these draws. Without it there is none: the distribution of
        the draws is unknown.

    Raises
    ------
    ValueError
        If a shape does not match, a model is not finite, ψ is negative.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
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

    if not psi >= 0:
        raise ValueError(f"psi must be >= 0, got {psi!r}")
    drawn = draws if isinstance(draws, Draws) else None
    theta = np.asarray(draws if drawn is None else drawn.coef, dtype=float)
    if theta.ndim != 2 or theta.shape[1] != problem.p or not np.isfinite(theta).all():
        raise ValueError(
            f"draws must be finite, of shape (n_draws, {problem.p}), got shape {theta.shape}"
        )
    best = _with_intercepts(problem.minimum.theta[None], problem)[0]
    n_features = problem.p // problem.loss.outputs - problem.intercept
    oscillation = math.inf  # without a declared bound on the rows
    if math.isfinite(problem.row_norm):
        oscillation = problem.constants.charged_oscillation
    return RashomonSet(
        coef=_with_intercepts(theta, problem),
        feature_names=(*_names(feature_names, n_features), "intercept"),
        feature_groups=feature_groups,
        classes=tuple(np.asarray(classes).tolist()),
        link=problem.loss.link,
        row_norm=problem.row_norm,
        target_bounds=target_bounds,
        plan=plan_without_budget(theta.shape, psi, problem.loss.name, problem.n, oscillation),
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
        return tuple(f"x{j}" for j in range(n_features))
    if isinstance(names, str) or len(names) != n_features:
        raise ValueError(f"feature_names must hold {n_features} names, got {names!r}")
    return tuple(str(name) for name in names)


def plan_without_budget(
    shape: tuple[int, ...], psi: float, loss: str, n: int = 1, oscillation: float = math.inf
) -> Plan:
    """Plan that states that there is no budget and no guarantee, for (n_draws, p) parameters."""
    from rashomon_explorer.mechanisms.plans import unplanned

    return unplanned(shape, psi, loss, _UNKNOWN, n, oscillation)


def linear_set(models: Any) -> RashomonSet:
    """See :attr:`PredictorSet.linear`."""
    # Local import: minimisers are slow to import.
    from rashomon_explorer.problem.minimisation import Minimum

    fitted = models.models
    if not isinstance(fitted, FittedModels) or not len(fitted):
        raise TypeError(f"{fitted.kind} have no coefficients: linear models are needed")
    try:
        link, coef = _linear_models(fitted)
    except AttributeError as error:  # which would hide the attribute itself
        raise TypeError(str(error)) from error
    best = int(np.argmin(np.nan_to_num(models.losses)))
    reference = models.reference
    if isinstance(reference, FittedModels) and hasattr(reference.estimators[0], "coef_"):
        theta = _linear_models(reference)[1][0]
    else:
        theta = coef[best]
    outputs = len(fitted.classes) - 1 if link == "softmax" else 1
    default_names = [f"x{j}" for j in range(coef.shape[1] // outputs - 1)]
    names = map(str, getattr(fitted.estimators[0], "feature_names_in_", default_names))
    linear = RashomonSet(
        coef=coef,
        feature_names=(*names, "intercept"),
        link=link,
        row_norm=math.inf,
        classes=models.classes,
        plan=plan_without_budget(coef.shape, models.psi, models.loss),
        guarantee=models.guarantee,
        steps=models.steps,
        losses=models.losses,
        minimum=Minimum(theta, models.least, math.nan, 0.0, math.nan),
        clipped_share=0.0,
        acceptance=math.nan,
        mechanism="unknown",
    )
    _check_linear_predictions(fitted, linear)
    return linear


def _linear_models(fitted: FittedModels) -> tuple[str, FloatArray]:
    """Link and parameters of linear models; a softmax has no parameters for its first class."""
    classes, coef = fitted.classes, fitted.coef
    if not classes:
        return "identity", coef
    if fitted.certain:
        return "sign", coef
    if len(classes) == 2:
        return "logistic", coef
    blocks = coef.reshape(len(coef), len(classes), -1)
    return "softmax", (blocks[:, 1:] - blocks[:, :1]).reshape(len(coef), -1)


def _check_linear_predictions(fitted: FittedModels, linear: RashomonSet) -> None:
    """Raise unless the linear scores give the predictions of the models on some rows."""
    rows: Any = np.random.default_rng(0).standard_normal((8, len(linear.feature_names) - 1))
    if hasattr(fitted.estimators[0], "feature_names_in_"):
        import pandas as pd  # slow to import

        rows = pd.DataFrame(rows, columns=list(linear.feature_names[:-1]))
    if not np.allclose(fitted.scores(rows), linear.scores(rows), rtol=1e-6, atol=1e-9):
        raise TypeError(
            "these models are not linear in their rows: their coefficients do not give their "
            "predictions"
        )
