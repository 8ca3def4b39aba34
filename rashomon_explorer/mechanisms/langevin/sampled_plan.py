"""Plans of noisy gradient descent on sampled rows."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from rashomon_explorer.mechanisms.centres import Centre, by_gradients, furthest_start
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.request import ALLOCATED, POISSON, SAMPLED
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.privacy.tradeoff import (
    AllocatedBatches,
    Gaussian,
    PoissonSampled,
    Subsampled,
    TradeOff,
    compose_tradeoffs,
)
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

_ALL = (1.0, 2_000)  # share of the rows in a step, and number of steps
_SAMPLED = (1 / 16, 8_000)  # a quarter of the passes, and half of the excess from kinks
_WORTHWHILE = 1.1
_SAFE = 1 + 1e-9


@dataclass(frozen=True)
class SampledDescent:
    """Steps θ ← Π(θ − (g + ∇ridge)/u_t), u_t = 1/pace + m(t − 1)/2 (docs/theory.md §18)."""

    rate: float
    n_steps: int
    pace: float
    slope: float
    noise: float
    excess: float
    guarantee: Guarantee
    m: float = 0.0
    smooth: bool = False


def plan_sampled_descent(
    constants: Constants,
    radius: float,
    zero_loss: float,
    *,
    epsilon: float,
    delta: float,
    mu: float,
    sampling: bool,
    orders: tuple[tuple[float, float], ...] = (),
) -> SampledDescent:
    """Descent on all or, if allowed, sampled rows (docs/theory.md §18); reads no row."""
    start = furthest_start(constants, radius, zero_loss)
    slope = sensitivity.data_lipschitz(constants, Ball(radius))
    full_batch = _on_all_rows(constants, slope, start, mu)
    if not sampling:
        return full_batch
    limit = 2 * _SAMPLED[0] * math.sqrt(_SAMPLED[1]) / mu
    hoped = _promised(constants, slope, start, _SAMPLED, limit, full_batch.guarantee)
    if not hoped.smooth and hoped.excess * _WORTHWHILE > full_batch.excess:
        return full_batch  # the accounting of sampled steps is slow
    return _promised(constants, slope, start, _SAMPLED, *least_noise(epsilon, delta, orders))


def _on_all_rows(constants: Constants, slope: float, start: float, mu: float) -> SampledDescent:
    noise = 2 * math.sqrt(_ALL[1]) / mu * _SAFE
    return _promised(constants, slope, start, _ALL, noise, gdp(2 * math.sqrt(_ALL[1]) / noise))


@lru_cache(maxsize=64)
def least_noise(
    epsilon: float,
    delta: float,
    orders: tuple[tuple[float, float], ...] = (),
    walk: tuple[float, int] = _SAMPLED,
    batch_order: str = POISSON,
) -> tuple[float, Guarantee]:
    """Least σ, to a thousandth, at which sampled steps cost (ε, δ), and their guarantee."""
    rate, steps = walk
    noise = 2 * rate * math.sqrt(steps) / gdp_mu(epsilon, delta)
    while True:  # more noise always costs less
        curve = _curve(noise, walk, batch_order)
        if orders:
            ratio = max(curve.renyi(order) / most for order, most in orders) * _SAFE
        else:
            ratio = curve.epsilon(delta) / epsilon
        if ratio <= 1:
            break
        noise *= ratio ** (0.5 if orders else 1.0) * 1.001
    guarantee = sampled_guarantee(noise, walk, batch_order, by_order=bool(orders))
    return noise, replace(guarantee, requested=(epsilon, delta) if orders else None)


def sampled_guarantee(
    noise: float, walk: tuple[float, int], batch_order: str = POISSON, *, by_order: bool = False
) -> Guarantee:
    """Guarantee of noisy sums over sampled rows: σ, the share of the rows, and the steps."""
    rate, steps = walk
    curve = _curve(noise, walk, batch_order)
    plain = gdp(math.sqrt(2 * curve.rho))  # if it were known which rows are in a batch
    proof = "Rényi divergences" if by_order else "loss distributions composed"
    rows = {
        POISSON: f"rows that are each sampled with probability {rate:.4g} (Poisson sampling, ",
        SAMPLED: f"batches of {rate:.4g} of the rows, drawn anew in each step (Theorem 4.8 of Bok, "
        "Su and Altschuler 2024, ",
        ALLOCATED: f"{round(1 / rate)} batches, each row in one of them in each epoch (random "
        "allocation, the worst pair of an epoch, ",
    }[batch_order]
    drawn = "epoch" if batch_order == ALLOCATED else "step"
    hidden = f"which rows are in a batch is drawn anew in each {drawn}, and never shown"
    return Guarantee(
        "tradeoff",
        f"{steps} noisy sums over {rows}{proof})",
        assumptions=(*plain.assumptions, hidden),
        rho=plain.rho,
        mu=plain.mu,
        curve=curve,
    )


def _curve(noise: float, walk: tuple[float, int], batch_order: str) -> TradeOff:
    rate, steps = walk
    if batch_order == POISSON:
        return PoissonSampled(noise, rate, steps)
    if batch_order == ALLOCATED:
        epoch = AllocatedBatches(noise, round(1 / rate))  # an incomplete one counts whole
        return compose_tradeoffs([(epoch, math.ceil(steps / epoch.batches))])
    return compose_tradeoffs([(Subsampled(Gaussian(2 / noise), rate), steps)])


def _promised(
    constants: Constants,
    slope: float,
    far: float,
    walk: tuple[float, int],
    noise: float,
    guarantee: Guarantee,
) -> SampledDescent:
    rate, steps = walk
    batch_size = rate * constants.n
    variance = constants.p * (slope * noise / batch_size) ** 2 + (1 - rate) * slope**2 / batch_size
    pace, excess = best_steps(constants, variance, far, steps)
    smooth = math.isfinite(constants.M)
    return SampledDescent(rate, steps, pace, slope, noise, excess, guarantee, constants.m, smooth)


_PACES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # largest ηM; less of it adds less noise


def best_steps(
    constants: Constants, variance: float, far: float, n_steps: int
) -> tuple[float, float]:
    """First step, and bound on the average's excess after T steps (docs/theory.md §18)."""
    m, slower = constants.m, constants.m * (n_steps - 1) / 4

    def bounded(added: float, least: float) -> tuple[float, float]:
        rise = m * slower / 2 + 2 * added / far**2
        v = max(rise / (slower + math.sqrt(slower**2 + rise)), m / 2, least - m / 2)
        start = far**2 * v * (v - m / 2) / 2
        return (start + added) / (n_steps * (v + slower)), 1 / (v + m / 2)

    if math.isfinite(constants.M):
        tries = [bounded(n_steps * variance / (2 - 2 * s), constants.M / s) for s in _PACES]
    else:
        tries = [bounded(n_steps * (constants.L**2 + variance) / 2, 0.0)]
    excess, pace = min(tries)
    return pace, excess


_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)  # of μ², for the start
_LOCALISED_DESCENT_SAFE = 1 - 1e-12


@dataclass(frozen=True)
class LocalisedDescent:
    """Plan of descent from the noisy minimiser, in public numbers."""

    scale: float
    solver: float
    start: float
    then: Centre | SampledDescent
    mu: float
    excess: float


def plan_localised_descent(
    constants: Constants, radius: float, mu: float, zero_loss: float
) -> LocalisedDescent:
    """Plan both phases for μ-Gaussian DP; reads no row."""
    candidates = (_tried(constants, radius, mu, zero_loss, share) for share in _SHARES)
    return min(candidates, key=lambda one: one.excess)


def _tried(
    constants: Constants, radius: float, mu: float, zero_loss: float, share: float
) -> LocalisedDescent:
    ball, whole = Ball(radius), mu * _LOCALISED_DESCENT_SAFE
    first, second = math.sqrt(share) * whole, math.sqrt(1 - share) * whole
    off = sensitivity.solver_distance(constants, ball)
    scale = (sensitivity.data_slope(constants, ball) / constants.m + 2 * off) / first
    start = min(math.sqrt(constants.p * scale**2 + off**2), 2 * radius)
    then: Centre | SampledDescent
    if math.isfinite(constants.M):
        then = by_gradients(constants, radius, second, zero_loss, start)
    else:
        slope = sensitivity.data_lipschitz(constants, ball)
        then = _on_all_rows(constants, slope, start, second)
    return LocalisedDescent(scale, off, start, then, mu, then.excess)
