"""A price that depends on the penalties: pairs that rows can say little about are told apart."""

from dataclasses import dataclass, replace

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.tuning.landscape import PenaltyLandscape
from rashomon_explorer.tuning.margins import widest
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants
from rashomon_explorer.validation import check_nonnegative, check_positive


def pair_sensitivity(known: PenaltyConstants, lowest: FloatArray) -> FloatArray:
    """How far one record moves Φ(x) − Φ(x') at most, for every two points of a grid.

    A training record moves the fit at x by 2·Lg/(λ(x)·n), λ(x) the lowest penalty there, and Φ(x)
    by at most c(x); so Φ(x) − Φ(x') by c(x) + c(x'). A validation record changes two losses, whose
    scores are in the wider of the two intervals. Errors of fits add 2(τ(x) + τ(x')).

    Parameters
    ----------
    known : PenaltyConstants
        For the bounds of the penalties.
    lowest : ndarray of shape (N,)
        Lowest penalty at each point.

    Returns
    -------
    ndarray of shape (N, N)
        Symmetric, above 0, and at most ``known.priced_range``.

    Examples
    --------
    >>> known = PenaltyConstants("ridge", 1.0, 0.1, 10.0, 1000, 1000, margin_bound=1.0)
    >>> pairs = pair_sensitivity(known, np.array([0.1, 10.0]))
    >>> pairs.round(4).tolist()
    [[0.2065, 0.1035], [0.1035, 0.0006]]
    """
    levels, place = np.unique(lowest, return_inverse=True)
    there = [replace(known, low=float(level)) for level in levels]
    pulls = np.array([one.pulled for one in there])
    moved = pulls * np.array([one.moved for one in there])
    width = np.array([widest(one.loss, one.seen_reach) for one in there])
    wider = np.maximum(width[:, None], width)
    training = np.minimum(moved[:, None] + moved, wider)
    slips = 2 * known.tolerance * (pulls[:, None] + pulls)
    pairs = np.maximum(training, wider / known.n_val) + slips
    return np.asarray(pairs[np.ix_(place, place)])


@dataclass(frozen=True)
class GeneralisedTarget:
    """Law ∝ exp(−(η/2)·score), score(x) = max over x' of (Φ(x) − Φ(x') − ψ)₊/Δ(x, x').

    The generalised exponential mechanism (Raskhodnikova and Smith 2016), by pairs: no record moves
    a quotient by more than 1, nor the largest of them, so that score differences of neighbours have
    a range of 2 and the law is η-bounded-range.

    Parameters
    ----------
    problem : PenaltyLandscape
    eta : float
        Bounded range of a draw, > 0.
    pairs : ndarray of shape (N, N)
        Δ, in the order of the grid's points.
    psi : float, default=0.0

    Examples
    --------
    >>> pairs = np.array([[1.0, 0.5], [0.5, 0.1]])
    >>> GeneralisedTarget(None, eta=4.0, pairs=pairs).energy(np.array([0.0, 1.0])).tolist()
    [0.0, 4.0]
    """

    problem: PenaltyLandscape
    eta: float
    pairs: FloatArray
    psi: float = 0.0

    def __post_init__(self) -> None:
        """Refuse parameters that define no law."""
        check_positive(eta=self.eta)
        check_nonnegative(psi=self.psi)

    def energy(self, excess: FloatArray) -> FloatArray:
        """Energies (N,) at the excess of all points of the grid at once, in its order."""
        ahead = excess[:, None] - excess[None, :] - self.psi
        scores = np.maximum((ahead / self.pairs).max(axis=1), 0.0)
        return np.asarray(self.eta / 2 * scores)
