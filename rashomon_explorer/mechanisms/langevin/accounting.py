"""Privacy of noisy gradient paths."""

import math
from dataclasses import replace

import numpy as np

from rashomon_explorer._utils.validation import (
    check_count,
    check_nonnegative_or_infinite,
    check_positive,
)
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.planning.centres import Centre, by_gradients, furthest_start
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import gdp
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball


def path_guarantee(
    *, beta: float, sensitivity: float, step_size: float, n_steps: int, n_chains: int = 1
) -> Guarantee:
    """Guarantee of all iterates of noisy gradient chains θ ← Π(θ − hβg(θ) + √(2h) ξ).

    A step is a Gaussian mechanism with shift hβΔ and deviation √(2h), so N steps of k chains are
    exactly μ-GDP with μ² = kNhβ²Δ²/2 (Lemma 2.2 of Ganesh et al. 2023, for the chain that runs;
    Theorem 4.1 of Bok, Su and Altschuler 2024). Convexity and convergence are not needed, the
    gradient may be taken at any model that the states so far determine, and every prefix is
    covered. Lemma 3.1 of the former prints a larger β, which is not private.

    ``sensitivity`` is Δ of g, for steps of different Δ their root mean square; ``step_size`` is h,
    for steps of different sizes their mean, as a step's share of μ² is proportional to it.

    >>> path_guarantee(beta=100.0, sensitivity=1e-2, step_size=1e-2, n_steps=200).mu
    1.0
    """
    check_nonnegative_or_infinite(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        n_chains=n_chains,
    )
    time = n_steps * step_size
    return replace(
        gdp(mu=beta * sensitivity * math.sqrt(n_chains * time / 2)),
        theorem=f"path of {n_steps} noisy gradient steps (Lemma 2.2 of Ganesh et al. 2023)",
    )


def last_iterate_guarantee(
    *,
    beta: float,
    sensitivity: float,
    step_size: float,
    n_steps: int,
    contraction: float,
    diameter: float = math.inf,
    n_chains: int = 1,
) -> Guarantee:
    """Guarantee of the last iterate of each chain, when nothing else of them is ever shown.

    Let a step without its noise bring any two models closer by a factor c ≤ 1, and two neighbours'
    steps differ by s = hβΔ; the noise has deviation σ = √(2h). Then N steps are μ-GDP with

        (μσ/s)² = (1 − c^N)/(1 + c^N) · (1 + c)/(1 − c),  N for c = 1

    (Theorem 4.2 of Bok, Su and Altschuler 2024), and on a domain of diameter D with, for any
    number τ ≤ N of last steps,

        (μσ)² = (D + τs)²/τ

    (the proof of their Theorem 4.3: τ steps that each move by (D + τs)/τ make up for a start that
    is D away and for s in each step; c ≤ 1 is all it needs). The least is taken. The number of
    steps must be settled beforehand: a stop that depends on what the chain shows is not covered.

    ``contraction`` is c in [0, 1]: max{|1 − hβm|, |1 − hβM|} for an m-strongly convex, M-smooth
    energy and h ≤ 2/(βM). The hard threshold has none: its gradient jumps.

    >>> settings = {"beta": 100.0, "sensitivity": 1e-2, "step_size": 1e-2, "n_steps": 200}
    >>> round(last_iterate_guarantee(**settings, contraction=0.9).mu, 3)
    0.308
    >>> round(last_iterate_guarantee(**settings, contraction=1.0, diameter=0.1).mu, 3)
    0.447
    """
    check_nonnegative_or_infinite(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        contraction=contraction,
        diameter=diameter,
        n_chains=n_chains,
    )
    if contraction > 1:
        raise ValueError(f"contraction must be at most 1, got {contraction!r}")
    shift = step_size * beta * sensitivity
    squares = [shift**2 * _contracted_steps(contraction, n_steps)]
    if math.isfinite(diameter) and shift > 0:
        best = diameter / shift  # the τ at which (D + τs)²/τ is least
        for steps in (math.floor(best), math.ceil(best)):
            steps = min(max(steps, 1), n_steps)
            squares.append((diameter + steps * shift) ** 2 / steps)
    return replace(
        gdp(mu=math.sqrt(n_chains * min(squares) / (2 * step_size))),
        theorem=f"last of {n_steps} noisy gradient steps (Bok, Su and Altschuler 2024)",
    )


def affordable_time(
    *, epsilon: float, delta: float, beta: float, sensitivity: float, n_chains: int = 1
) -> float:
    """Longest time t = Nh that ``n_chains`` paths may run for (ε, δ).

    ``sensitivity`` is Δ of the gradient; δ > 0.

    >>> t = affordable_time(epsilon=1.0, delta=1e-6, beta=100.0, sensitivity=1e-3)
    >>> paid = path_guarantee(beta=100.0, sensitivity=1e-3, step_size=t, n_steps=1)
    >>> round(t, 3), paid.epsilon(1e-6) <= 1.0
    (11.206, True)
    """
    check_positive(beta=beta, sensitivity=sensitivity, n_chains=n_chains)
    # A hair less, so that what is charged for this time does not pass the budget by an ulp.
    return 2 * gdp_mu(epsilon, delta) ** 2 / (n_chains * (beta * sensitivity) ** 2) * (1 - 1e-12)


def _contracted_steps(contraction: float, n_steps: int) -> float:
    """(1 − c^N)/(1 + c^N) · (1 + c)/(1 − c), by hyperbolic tangents so that c → 1 gives N."""
    if contraction == 0 or n_steps == 0:
        return float(min(n_steps, 1))
    half = -math.log(contraction) / 2
    if half * n_steps < 1e-9:  # tanh(x) is x to more than a double's digits
        return float(n_steps)
    return float(np.tanh(half * n_steps) / np.tanh(half))


_FLAT = -1e-300  # l·log c above it: c is 1 for every purpose


def earlier_epochs(c: float, l: int, epochs: int) -> float:  # noqa: E741
    """c^(2l−2) (1 − c²)/(1 − c^l)² · tanh(l(E − 1)|log c|/2); for c → 1 its limit (E − 1)/l.

    What a record's visits before the last leave behind, in squares of one visit.

    Examples
    --------
    >>> round(earlier_epochs(0.9, 10, 5), 4), earlier_epochs(1.0, 10, 5)
    (0.0653, 0.4)
    """
    if epochs == 1 or c == 0:
        return float(epochs > 1 and l == 1)
    log = math.log(c)
    if log > _FLAT / l:
        return (epochs - 1) / l
    # By expm1 of log c, so that c → 1 gives no 0.
    weight = math.exp((2 * l - 2) * log) * math.expm1(2 * log) / -(math.expm1(l * log) ** 2)
    return weight * math.tanh(-l * (epochs - 1) * log / 2)


def last_of_batches_guarantee(
    *,
    beta: float,
    sensitivity: float,
    step_size: float,
    n_steps: int,
    n_batches: int,
    contraction: float,
    diameter: float = math.inf,
    n_chains: int = 1,
) -> Guarantee:
    """Guarantee of the last state of each chain of N steps over l batches in turn.

    As :func:`~rashomon_explorer.mechanisms.langevin.accounting.last_iterate_guarantee`, but two
    neighbours' steps
    differ by s = hβΔ only when the record's own batch comes, every l steps. A record whose batch
    comes last of all pays for that visit, s², and for what E − 1 = ⌈N/l⌉ − 1 earlier ones left
    behind at a factor c ≤ 1 a step; every other place pays less, for noise follows its last visit
    and its visits are no more:

        (μσ)² = s² + s²·c^(2l−2)(1 − c²)/(1 − c^l)²·(1 − c^(l(E−1)))/(1 + c^(l(E−1))),

    (E − 1)/l for c = 1 (Theorem 4.5 of Bok, Su and Altschuler 2024, for any N and c = 1 too); and
    on a domain of diameter D, for any k < E of last visits before the last,

        (μσ)² = s² + (D + ks)²/(kl)

    (as their Theorem 4.6: kl steps that each move by (D + ks)/(kl) make up for a start D away and
    for s at each visit, and never have more to make up for than there is). The least is taken.

    Parameters
    ----------
    beta, sensitivity, step_size, n_steps, contraction, diameter, n_chains
        As there; ``sensitivity`` is Δ of the gradient over the record's own batch.
    n_batches : int
        l, ≥ 1.

    Examples
    --------
    >>> settings = {"beta": 100.0, "sensitivity": 1e-1, "step_size": 1e-2, "n_batches": 10}
    >>> round(last_of_batches_guarantee(**settings, n_steps=600, contraction=0.9).mu, 3)
    0.73
    >>> round(last_of_batches_guarantee(**settings, n_steps=600, contraction=1.0).mu, 3)
    1.857
    """
    check_nonnegative_or_infinite(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        contraction=contraction,
        diameter=diameter,
        n_chains=n_chains,
    )
    check_count(n_batches=n_batches)
    if contraction > 1:
        raise ValueError(f"contraction must be at most 1, got {contraction!r}")
    shift, visits = step_size * beta * sensitivity, math.ceil(n_steps / n_batches)
    if visits == 0:
        return replace(gdp(0.0), theorem="no noisy gradient step")
    earlier = [shift**2 * earlier_epochs(contraction, n_batches, visits)]
    if math.isfinite(diameter) and shift > 0 and visits > 1:
        best = diameter / shift  # the k at which (D + ks)²/k is least
        for count in (math.floor(best), math.ceil(best)):
            k = min(max(count, 1), visits - 1)
            earlier.append((diameter + k * shift) ** 2 / (k * n_batches))
    return replace(
        gdp(mu=math.sqrt(n_chains * (shift**2 + min(earlier)) / (2 * step_size))),
        theorem=f"last of {n_steps} noisy gradient steps over {n_batches} batches in turn (Bok, Su "
        "and Altschuler 2024)",
    )


_MOST_STEPS = 2_000
_SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # ηM
_WORTHWHILE = 1.05  # of a share's least bound, for which no further step is taken


def plan_weighted_path(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Noisy gradient descent of small steps, planned as a path at one temperature; reads no row.

    Steps θ_j = Π(θ_{j−1} − η(∇L + σξ)) from 0, η = hβ and σ² = 2/(ηβ), all of which are paid for:
    μ = √N·Δ/σ. With weights w_j = c^{−j}, c = 1 − ηm, W their sum, the average has an expected
    excess of at most

        D²/(2ηW) + p/(β(1 − ηM)),   D² = min{R², 2·zero_loss/m},

    half of what steps of η = 1/M add by their noise, once they are small (docs/theory.md §21).
    With m > 0 the first term falls as e^{−mβT}: Theorem F.2 of "On the universality of Langevin
    diffusion" promises as much of temperatures that change on the way, whose printed form has no
    drift left.

    Parameters
    ----------
    constants : Constants
        Of a smooth loss on the ball.
    radius : float
        R of the ball.
    mu : float
        Gaussian DP that it may cost.
    zero_loss : float
        What the loss of the model of zeros is at most.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 92, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.1}
    >>> known = Constants.of("logistic", **rows), 4.0, 0.17, 0.7
    >>> path = plan_weighted_path(*known)
    >>> path.n_steps, round(path.excess, 5), round(by_gradients(*known).excess, 5)
    (1629, 0.00056, 0.00109)
    """
    moved = data_slope(constants, Ball(radius))
    far = furthest_start(constants, radius, zero_loss)
    steps = np.arange(1.0, _MOST_STEPS + 1)
    noise = moved * np.sqrt(steps) / mu
    best = by_gradients(constants, radius, mu, zero_loss)
    for share in _SHARES:
        pace = share / constants.M
        with np.errstate(over="ignore"):
            weights = np.cumsum(np.minimum((1 - pace * constants.m) ** -steps, 1e200))
        added = pace * constants.p * noise**2 / (2 * (1 - share))
        bounds = far**2 / (2 * pace * weights) + added
        enough = int(np.argmax(bounds <= _WORTHWHILE * bounds.min()))
        if bounds[enough] < best.excess:
            best = replace(
                best,
                noise=float(noise[enough]),
                excess=float(bounds[enough]),
                step_size=pace,
                n_steps=enough + 1,
            )
    return best
