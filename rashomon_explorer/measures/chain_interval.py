"""An asymptotic interval for the mean of terms along chains, which depend on each other."""

import math

from scipy.special import stdtrit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.diagnostics import effective_size
from rashomon_explorer.validation import check_inner_share

_FEWEST = 4  # states of a chain, below which ArviZ has no answer


def chain_interval(
    terms: FloatArray,
    n_chains: int,
    models_a_term: int,
    confidence: float,
    bounds: tuple[float, float],
) -> tuple[float, float, float, float]:
    """Mean, low and high end, and effective size of terms of states of chains in turn.

    A term of two models is of two chains, which are independent, so that its expectation is the
    measure's. mean ± t·sd/√ESS, with ESS the effective sample size and Student's t of ESS − 1
    degrees: right in the limit of long chains, for one look and not for many.

    ``terms`` (n,) are of models 0, 1, … or of pairs (0, 1), (2, 3), …, with one state of each chain
    in turn. Where all are alike nothing is known of their spread, and the ``bounds`` of a term are
    the interval.

    >>> import numpy as np
    >>> terms = np.random.default_rng(0).random(4000)
    >>> mean, low, high, effective = chain_interval(terms, 4, 1, 0.95, (0.0, 1.0))
    >>> low < 0.5 < high
    True
    """
    check_inner_share(confidence=confidence)
    if n_chains < models_a_term or n_chains % models_a_term:
        raise ValueError(
            f"n_chains must be an even number for a measure of pairs, got {n_chains}: the models "
            "of a pair must be of two chains"
        )
    columns = n_chains // models_a_term
    length = len(terms) // columns
    if length < _FEWEST * (1 + (columns == 1)):
        raise ValueError(
            f"{len(terms) * models_a_term} states of {n_chains} chains are too few to tell how "
            f"they depend on each other: at least {_FEWEST} of each chain are needed; draw more, "
            "or say n_chains= if there were fewer chains"
        )
    kept = terms[: length * columns]
    effective = effective_size(kept.reshape(length, columns).T)
    mean = float(kept.mean())
    if not effective > 1:
        return mean, *bounds, effective
    reach = float(stdtrit(effective - 1, (1 + confidence) / 2)) * float(kept.std(ddof=1))
    half = reach / math.sqrt(effective)
    return mean, max(bounds[0], mean - half), min(bounds[1], mean + half), effective
