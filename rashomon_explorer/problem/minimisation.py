"""Certified minima of a loss over its domain."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from rashomon_explorer._utils import formatting, progress, threads
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.domains import Ball, Domain, inner
from rashomon_explorer.problem.losses.base import EmpiricalLoss
from rashomon_explorer.problem.losses.chunked import ChunkedRisk, is_kinked
from rashomon_explorer.problem.losses.kinked import ClippedSlopeRisk
from rashomon_explorer.problem.losses.logistic import LogisticRisk

__all__ = ["MinimisedObjective", "Minimum", "minimise"]

ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, repr=False)
class Minimum(formatting.ReprMixin):
    """Best model with a certified duality gap, for the curator: computed from private rows."""

    theta: FloatArray
    value: float
    gap: float
    multiplier: float
    slack: float

    @property
    def on_boundary(self) -> bool:
        """Whether the ball's constraint is active at the minimiser."""
        return self.multiplier > 0

    def _title(self) -> str:
        return f"Minimum, certified, of {len(self.theta)} parameters (curator)"

    def _facts(self) -> list[formatting.Fact]:
        where = "on the domain's boundary, which binds" if self.on_boundary else "in the interior"
        return [
            ("loss", f"{self.value:.6g}, at most {self.gap:.2g} above the minimum"),
            ("length", f"{float(np.linalg.norm(self.theta)):.4g}, {where}"),
        ]


class MinimisedObjective:
    """Mean loss plus ½·ridge·‖θ‖² plus tilt·θ, for K models at once."""

    def __init__(self, loss: EmpiricalLoss, ridge: float, tilt: FloatArray | None = None) -> None:
        self.loss = loss
        self.ridge = ridge
        self.tilt = tilt
        self.p = loss.p

    def value(self, theta: FloatArray) -> FloatArray:
        return self._with_penalty(self.loss.value(theta), theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.loss.value_and_gradient(theta)
        return self._with_penalty(value, theta), self._with_pull(gradient, theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        if isinstance(self.loss, LogisticRisk):
            return self._with_pull(self.loss.gradient(theta), theta)
        return self._with_pull(self.loss.value_and_gradient(theta)[1], theta)

    def _with_penalty(self, value: FloatArray, theta: FloatArray) -> FloatArray:
        if self.ridge:
            value = value + self.ridge / 2 * inner(theta, theta)
        return value if self.tilt is None else value + self.tilt @ theta

    def _with_pull(self, gradient: FloatArray, theta: FloatArray) -> FloatArray:
        if self.ridge:
            gradient = gradient + self.ridge * theta
        return gradient if self.tilt is None else gradient + self.tilt[:, None]

    def hessian(self, theta: FloatArray) -> FloatArray:
        return self.loss.hessian(theta) + self.ridge * np.eye(self.p)

    def evaluate(self, theta: FloatArray) -> "Evaluation":
        """Evaluate one model (p,); its Hessian too if rows are chunked, in the same pass."""
        if not isinstance(self.loss, ChunkedRisk):
            value, gradient = self.value_and_gradient(theta[:, None])
            return Evaluation(theta, float(value[0]), gradient[:, 0])
        value, gradient, hessian = self.loss.second_order(theta)
        gradient = self._with_pull(gradient[:, None], theta[:, None])[:, 0]
        value = self._with_penalty(value[None], theta[:, None])[0]
        return Evaluation(theta, float(value), gradient, hessian + self.ridge * np.eye(self.p))


@dataclass(frozen=True)
class Evaluation:
    """A model, its value, its gradient, and its Hessian if it was computed."""

    theta: FloatArray
    value: float
    gradient: FloatArray
    cached_hessian: FloatArray | None = None

    def hessian(self, objective: MinimisedObjective) -> FloatArray:
        """Hessian (p, p), computed unless it is cached."""
        hessian = self.cached_hessian
        return objective.hessian(self.theta) if hessian is None else hessian


_AT_ONCE = 8  # halved steps in one pass over the rows


def step_towards(
    objective: MinimisedObjective, evaluation: Evaluation, target: FloatArray
) -> Evaluation:
    """Step towards ``target``, halved until the objective falls; unchanged if it never does."""
    move = target - evaluation.theta
    slope = float(evaluation.gradient @ move)

    def falls(value: float, step: float) -> bool:
        # Near the minimum the decrease is below rounding: accept steps without a visible increase.
        return value <= evaluation.value + 1e-4 * step * slope + 4e-16 * max(
            1.0, math.fabs(evaluation.value)
        )

    new = objective.evaluate(target)
    if falls(new.value, 1.0):
        return evaluation if np.array_equal(target, evaluation.theta) else new
    for first in range(1, 40, _AT_ONCE):
        steps = 2.0 ** -np.arange(first, first + _AT_ONCE)
        theta = evaluation.theta[:, None] + steps * move[:, None]
        values, gradients = objective.value_and_gradient(theta)
        for k, step in enumerate(steps):
            if falls(float(values[k]), step):
                new = Evaluation(theta[:, k], float(values[k]), gradients[:, k])
                return evaluation if np.array_equal(new.theta, evaluation.theta) else new
    return evaluation


_LEAST_CURVATURE = 1e-100  # far above subnormal numbers, which have too few digits for the root
_ON_SPHERE = 1e-9
_MOST_STEPS = 200
_LEAST_GAP = 1e-300


def minimise_on_ball(
    objective: MinimisedObjective, domain: Ball, tolerance: float, start: FloatArray
) -> Minimum:
    """Best model found, by second-order models on the ball; its gap may exceed the tolerance."""
    evaluation = objective.evaluate(start)
    hessian = evaluation.hessian(objective)
    best = _certify(evaluation, domain.radius)
    first, last = (math.log10(max(gap, _LEAST_GAP)) for gap in (best.gap, tolerance))
    with progress.tally(max(1, round(first - last)), "digits of the minimum") as done:
        for _ in range(_MOST_STEPS):
            target = _model_minimiser(hessian, evaluation.gradient, evaluation.theta, domain.radius)
            if best.gap > tolerance:
                advanced = step_towards(objective, evaluation, target)
            else:  # no shorter step helps where rounding hides what a step gains
                advanced = objective.evaluate(target)
            if advanced is evaluation:
                break
            evaluation = advanced
            candidate = _certify(evaluation, domain.radius)
            if candidate.gap >= best.gap and best.gap <= tolerance:
                break
            best = min(best, candidate, key=lambda minimum: minimum.gap)
            if best.gap > tolerance:  # later steps are so short that the last Hessian serves them
                hessian = evaluation.hessian(objective)
            done(round(first - max(last, math.log10(max(best.gap, _LEAST_GAP)))))
    return best


def _certify(evaluation: Evaluation, radius: float) -> Minimum:
    theta, value, gradient = evaluation.theta, evaluation.value, evaluation.gradient
    norm = float(np.linalg.norm(theta))
    length = radius * float(np.linalg.norm(gradient))
    gap = max(0.0, float(gradient @ theta) + length) + ROUNDING * (length + abs(value))
    multiplier = 0.0
    if norm > radius * (1 - _ON_SPHERE):
        multiplier = max(0.0, -float(gradient @ theta) / norm**2)
    residual = float(np.linalg.norm(gradient + multiplier * theta))
    slack = 2 * radius * residual + multiplier / 2 * max(0.0, radius**2 - norm**2)
    return Minimum(theta, value, gap, multiplier, slack)


def _model_minimiser(
    hessian: FloatArray, gradient: FloatArray, theta: FloatArray, radius: float
) -> FloatArray:
    """Minimiser over the ball of the second-order model at ``theta``."""
    eigenvalues, vectors = np.linalg.eigh(hessian)
    # Without curvature the minimum of the model is far outside the ball, but must be finite.
    pull_out = float(np.linalg.norm(gradient)) / radius
    floor = max(1e-14 * float(eigenvalues[-1]), 1e-12 * pull_out, _LEAST_CURVATURE)
    eigenvalues = np.maximum(eigenvalues, floor)
    pull = eigenvalues * (vectors.T @ theta) - vectors.T @ gradient

    def norm_excess(multiplier: float) -> float:
        return float(np.linalg.norm(pull / (eigenvalues + multiplier))) - radius

    multiplier = 0.0
    if norm_excess(0.0) > 0:
        # Without curvature the root is exactly this quotient, which rounding may exclude.
        high = float(np.linalg.norm(pull)) / radius * (1 + 1e-9)
        multiplier = float(brentq(norm_excess, 0.0, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    point = vectors @ (pull / (eigenvalues + multiplier))
    norm = float(np.linalg.norm(point))
    return point * (radius / norm) if multiplier > 0 or norm > radius else point


_GENERAL_MOST_STEPS = 100
_MOST_INNER = 20_000
_LOOK_EVERY = 20  # a support function may take as long as many projections
_INNER_SHARE = 0.01


def minimise_on(
    objective: MinimisedObjective, domain: Domain, tolerance: float, start: FloatArray
) -> Minimum:
    """Best model found; its gap may exceed the tolerance."""
    evaluation = objective.evaluate(start)
    best = _general_certify(evaluation, domain)
    for _ in range(_GENERAL_MOST_STEPS):
        if best.gap <= tolerance / 10:
            break
        goal = max(_INNER_SHARE * min(best.gap, 1.0), tolerance / 100)
        target = _general_model_minimiser(evaluation.hessian(objective), evaluation, domain, goal)
        advanced = step_towards(objective, evaluation, target)
        if advanced is evaluation:
            break
        evaluation = advanced
        best = min(best, _general_certify(evaluation, domain), key=lambda minimum: minimum.gap)
    return best


def _general_certify(evaluation: Evaluation, domain: Domain) -> Minimum:
    support = float(domain.support(-evaluation.gradient[:, None])[0])
    size = domain.radius * float(np.linalg.norm(evaluation.gradient)) + abs(evaluation.value)
    gap = max(0.0, float(evaluation.gradient @ evaluation.theta) + support) + ROUNDING * size
    return Minimum(evaluation.theta, evaluation.value, gap, multiplier=0.0, slack=gap)


def _general_model_minimiser(
    hessian: FloatArray, evaluation: Evaluation, domain: Domain, goal: float
) -> FloatArray:
    """Minimiser over the domain of the second-order model, to a gap of ``goal``."""
    constant = evaluation.gradient - hessian @ evaluation.theta
    # Without curvature a step is a hundred radii: projections from further lose accuracy.
    flat = 0.01 * float(np.linalg.norm(evaluation.gradient)) / domain.radius
    step = 1 / max(float(np.linalg.eigvalsh(hessian)[-1]), flat, 1e-300)
    smallest = float(np.finfo(float).eps) * domain.radius / 2
    theta = ahead = evaluation.theta
    momentum = 1.0
    for k in range(_MOST_INNER):
        slope = hessian @ ahead + constant
        new = domain.project((ahead - step * slope)[:, None])[:, 0]
        if (ahead - new) @ (new - theta) > 0:
            ahead, momentum = theta, 1.0
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / grown * (new - theta)
        still = bool(np.abs(new - theta).max() <= smallest)
        theta, momentum = new, grown
        if k % _LOOK_EVERY == _LOOK_EVERY - 1 or still:
            slope = hessian @ theta + constant
            if still or slope @ theta + domain.support(-slope[:, None])[0] <= goal:
                break
    return theta


_WIDEST = 0.5
_NARROWER = 0.25
_MOST_WIDTHS = 30


def minimise_kinked(
    loss: ClippedSlopeRisk | ChunkedRisk,
    ridge: float,
    domain: Domain,
    tolerance: float,
    start: FloatArray,
) -> Minimum:
    """Best model found; its gap may exceed the tolerance."""
    best = certify(loss, ridge, domain, start, smoothing=_WIDEST)
    smoothing, theta = _WIDEST, start
    for _ in range(_MOST_WIDTHS):
        if best.gap <= tolerance:
            break
        smooth = MinimisedObjective(loss.smoothed(smoothing), ridge)
        theta = best_found(smooth, domain, tolerance / 4, theta).theta
        candidate = certify(loss, ridge, domain, theta, smoothing)
        best = min(best, candidate, key=lambda minimum: minimum.gap)
        smoothing *= _NARROWER
    return best


def certify(
    loss: ClippedSlopeRisk | ChunkedRisk,
    ridge: float,
    domain: Domain,
    theta: FloatArray,
    smoothing: float,
) -> Minimum:
    """Minimum at ``theta`` (p,), certified by the slopes of the loss with this smoothing."""
    mean, offset, slope = loss.dual(theta, smoothing)
    value = mean + ridge / 2 * float(theta @ theta)
    lower = offset + _linear_minimum(slope, ridge, domain)
    size = abs(value) + domain.radius * float(np.linalg.norm(slope))
    gap = max(0.0, value - lower) + ROUNDING * size
    return Minimum(theta, value, gap, multiplier=0.0, slack=gap)


def _linear_minimum(slope: FloatArray, ridge: float, domain: Domain) -> float:
    """Minimum over the domain of slope·θ + ½·ridge·‖θ‖²."""
    flat = -float(domain.support(-slope[:, None])[0])
    if ridge == 0:
        return flat
    theta = domain.project(-slope[:, None] / ridge)[:, 0]
    gradient = slope + ridge * theta
    value = float(slope @ theta) + ridge / 2 * float(theta @ theta)
    # The projection has rounding errors: subtracting its own gap gives a certain lower bound.
    gap = float(gradient @ theta) + float(domain.support(-gradient[:, None])[0])
    return max(flat, value - max(gap, 0.0))


def minimise(
    objective: MinimisedObjective, domain: Domain, tolerance: float, start: FloatArray | None = None
) -> Minimum:
    """Minimise on the domain from a model (p,), by default 0."""
    best = best_found(objective, domain, tolerance, start)
    if best.gap > tolerance:
        raise SamplerError(
            f"the minimum could not be certified to a duality gap of {tolerance:.2e}: add some "
            "ridge or drop collinear columns"
        )
    return best


@threads.one_blas_thread()
def best_found(
    objective: MinimisedObjective, domain: Domain, tolerance: float, start: FloatArray | None = None
) -> Minimum:
    """Best model found by the algorithm for a loss and domain; its gap may exceed the tolerance."""
    start = np.zeros(objective.p) if start is None else start
    if is_kinked(objective.loss):
        return minimise_kinked(objective.loss, objective.ridge, domain, tolerance, start)
    if isinstance(domain, Ball):
        return minimise_on_ball(objective, domain, tolerance, start)
    return minimise_on(objective, domain, tolerance, start)
