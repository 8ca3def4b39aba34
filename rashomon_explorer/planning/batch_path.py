"""What the last state of a path over batches in turn reveals."""

import math
from dataclasses import replace

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import gdp
from rashomon_explorer.validation import check_count, check_nonnegative_or_infinite

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

    As :func:`~rashomon_explorer.planning.path.last_iterate_guarantee`, but two neighbours' steps
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
