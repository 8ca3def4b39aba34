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
    """What a budget buys of draws on batches that share no row; public.

    Parameters
    ----------
    sizes : tuple of int
        Rows of each batch, the last one's half of all.
    stages : tuple of Stage
        One a batch, each at the whole price ε.
    p : int
        Number of parameters.
    fitted : float
        Expected excess on the last batch over the best model of all rows, or of the law they come
        from, is at most this.
    stable : float
        Expected difference of the last batch's mean loss and the risk is at most this, for rows
        drawn independently from one law, but for what
        :mod:`rashomon_explorer.mechanisms.one_model.base` knows of any model.
    reach : float
        Radius of the part of the domain that the last stage draws from.
    """

    sizes: tuple[int, ...]
    stages: tuple[Stage, ...]
    p: int
    fitted: float
    stable: float
    reach: float


def plan_disjoint(
    constants: Constants, domain: Domain, *, epsilon: float, n_stages: int | None = None
) -> DisjointPlan:
    """Plan of the iterated exponential mechanism on disjoint batches; reads no row.

    Theorem E.6 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023) draws every stage from all rows, so that the part C_i
    that a stage draws from depends on the rows it draws by. Here batch i has n_i rows of its own,
    n/2, n/4, … from the last to the second, and the first the others. A record is in one batch, so
    that the price is the largest of all stages', ε, and not their sum (docs/theory.md §20). With

        β_i = ε/osc_i,   r_i = √(2(q/β_i + τ_i)/m) + (L₀/(m√n_i))(1 + √(2 log(1/ζ))),

    osc_i the oscillation of n_i rows on C_i = C ∩ B(θ_{i−1}, r_{i−1}) and q the 1 − ζ quantile of
    a Gamma(p) variable, the minimiser of the risk is in every C_i but for probability 2(k − 1)ζ.

    Parameters
    ----------
    constants : Constants
        Of all rows; m > 0.
    domain : Domain
    epsilon : float
    n_stages : int, optional
        By default, as ζ, that of the least ``fitted`` + ``stable``.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> ball = Ball(4.0)
    >>> known = Constants.of("logistic", n=10**6, p=5, domain=ball, row_bound=1.0, ridge=0.5)
    >>> plan = plan_disjoint(known, ball, epsilon=1.0, n_stages=3)
    >>> plan.sizes, [round(stage.distance, 2) for stage in plan.stages]
    ((250000, 250000, 500000), [inf, 0.1, 0.05])
    """
    check_positive(epsilon=epsilon)
    if not constants.m > 0:
        raise ValueError("batches need a strongly convex loss: give the problem a ridge > 0")
    most = max(1, min(_MOST_STAGES, int(math.log2(constants.n)) + 1))
    counts = range(1, most + 1) if n_stages is None else [n_stages]
    tried = (_tried(constants, domain, epsilon, k, zeta) for k in counts for zeta in _FAILURES)
    return min(tried, key=lambda one: one.fitted + one.stable)


def batch_sizes(n: int, n_stages: int) -> tuple[int, ...]:
    """Rows of the batches: the last takes half, the one before a quarter, the first what is left.

    Examples
    --------
    >>> batch_sizes(1_001, 3)
    (251, 250, 500)
    """
    later = [n // 2**place for place in range(n_stages - 1, 0, -1)]
    return (n - sum(later), *later)


def of_fewer(constants: Constants, n: int) -> Constants:
    """Constants of so many of the rows: one of them counts for more.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> whole = Constants.of("logistic", n=100, p=3, domain=Ball(2.0), row_bound=1.0)
    >>> whole.osc, of_fewer(whole, 50).osc
    (0.04, 0.08)
    """
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
