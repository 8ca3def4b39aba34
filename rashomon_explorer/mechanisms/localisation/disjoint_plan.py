"""Exponential mechanisms on disjoint batches of the rows, each near the last one's draw."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from scipy.special import gammainccinv

from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz, local_constants
from rashomon_explorer.mechanisms.localisation.plan import Stage
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain

_MOST_STAGES = 8
_FAILURES = (1e-3, 1e-5, 1e-8, 1e-12)


@dataclass(frozen=True)
class DisjointPlan:
    """What a budget buys of draws on batches that share no row; public."""

    sizes: tuple[int, ...]
    stages: tuple[Stage, ...]
    p: int
    fitted: float
    stable: float
    reach: float


def plan_disjoint(
    constants: Constants, domain: Domain, *, epsilon: float, n_stages: int | None = None
) -> DisjointPlan:
    """Plan of the iterated exponential mechanism on disjoint batches; reads no row."""
    check_positive(epsilon=epsilon)
    if not constants.m > 0:
        raise ValueError("batches need a strongly convex loss: give the problem a ridge > 0")
    most = max(1, min(_MOST_STAGES, int(math.log2(constants.n)) + 1))
    counts = range(1, most + 1) if n_stages is None else [n_stages]
    tried = (_tried(constants, domain, epsilon, k, zeta) for k in counts for zeta in _FAILURES)
    return min(tried, key=lambda one: one.fitted + one.stable)


def batch_sizes(n: int, n_stages: int) -> tuple[int, ...]:
    """Rows of each batch: the last has half, the one before a quarter, the first the rest."""
    later = [n // 2**place for place in range(n_stages - 1, 0, -1)]
    return (n - sum(later), *later)


def of_fewer(constants: Constants, n: int) -> Constants:
    """Constants of so many of the rows: one of them counts for more."""
    return replace(constants, n=n, osc=constants.osc * constants.n / n)


def _tried(
    constants: Constants, domain: Domain, epsilon: float, n_stages: int, failure: float
) -> DisjointPlan:
    quantile, slope = _gamma_quantile(constants.p, failure), data_lipschitz(constants, domain)
    distance, stages, sizes = math.inf, [], batch_sizes(constants.n, n_stages)
    for size in sizes:
        part = of_fewer(constants, size)
        near = min(distance, domain.diameter)
        local = local_constants(part, domain, min(domain.diameter, 2 * near))
        beta = epsilon / local.priced_osc
        kept = distance if 2 * distance < domain.diameter else math.inf
        stages.append(Stage(epsilon, beta, kept))
        drawn = math.sqrt(2 * (quantile / beta + local.gap_tolerance) / part.m)
        strays = slope / (part.m * math.sqrt(size)) * (1 + math.sqrt(-2 * math.log(failure)))
        distance = drawn + strays
    lost = 2 * (n_stages - 1) * failure * constants.L * domain.diameter
    return DisjointPlan(
        sizes,
        tuple(stages),
        constants.p,
        constants.p / beta + local.gap_tolerance + lost,
        2 * slope**2 / (constants.m * sizes[-1]),
        min(domain.radius_bound, stages[-1].distance),
    )


@lru_cache(maxsize=256)
def _gamma_quantile(p: int, failure: float) -> float:
    return float(gammainccinv(p, failure))
