"""Exact draws from a thresholded Gibbs law by certified rejection."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.cores import pause
from rashomon_explorer.exceptions import EnvelopeError, SamplerError
from rashomon_explorer.privacy import Guarantee, Plan
from rashomon_explorer.samplers.base import Batch
from rashomon_explorer.samplers.rejection.candidates import Candidates, accepted
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]

_CELLS_AT_ONCE = 2**22  # rows × models evaluated between two looks at the Stop button
_FEWEST, _MOST = 16, 1024
_MOST_WORK, _LEAST_PATIENCE = 2 * 10**10, 50_000


@dataclass(frozen=True)
class ExactSampler:
    """Rejection from a certified radial envelope: every draw has exactly the target's law.

    A radius is drawn exactly from r^{p−1} exp(−β max{envelope(r), ψ}), a direction uniformly;
    the model is thinned first by what is known without the rows (the domain, and the depth below
    its boundary when the minimiser lies on it), then by the loss itself. Theorem 2.1 of Ganesh,
    Thakurta and Upadhyay (2023) then holds for the code that runs, with no error of a chain, on
    every convex domain.

    Parameters
    ----------
    patience : int, default=5_000_000
        Proposals without one accepted draw after which the sampler gives up; fewer, 2·10¹⁰/p²,
        beyond 64 parameters, where each costs p² operations and hope is small.

    Notes
    -----
    The running time and the acceptance rate depend on the rows: curator information.
    """

    patience: int = 5_000_000
    name: str = "exact"

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's own, by whichever certificate of exact draws pays for it."""
        return plan.guarantee

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Endless batches of independent exact draws.

        Raises
        ------
        SamplerError
            If ``patience`` proposals in a row were refused, which depends on the rows; the
            message says what to change.
        EnvelopeError
            If a loss is found below its certified bound, which would make draws inexact.
        """
        candidates = Candidates(target)
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, _FEWEST, _MOST))
        work = max(_LEAST_PATIENCE, _MOST_WORK // target.problem.p**2)
        refused, patience = 0, min(self.patience, work)
        while True:
            theta, floor, proposed = candidates.take(size, rng)
            losses = target.problem.value(theta)
            keep = _thin(target, losses, floor, rng)
            refused = 0 if keep.any() else refused + proposed
            if refused > patience:
                raise SamplerError(_hopeless(target, patience))
            yield Batch(theta[:, keep], losses[keep], evaluated=len(losses))
            pause()  # or a dashboard's event loop starves


def _thin(
    target: GibbsTarget, losses: FloatArray, floor: FloatArray, rng: np.random.Generator
) -> NDArray[np.bool_]:
    # A model may lie below the numerical minimum, by no more than its certified gap.
    excess = np.maximum(losses - target.problem.minimum.value, 0.0)
    if (floor > excess).any():
        raise EnvelopeError(
            "a loss lies below its certified bound: the draws would not be exact; please report "
            "the problem's n, p and settings"
        )
    return accepted(target.energy(floor) - target.energy(excess), rng)


def _hopeless(target: GibbsTarget, patience: int) -> str:
    return (
        f"none of {patience:,} proposals was accepted (n={target.problem.n}, p={target.problem.p}, "
        f"β={target.beta:.3g}, ψ={target.psi:.3g}): exact rejection is hopeless here. Use fewer "
        f"columns, more ridge (now {target.problem.ridge:g}), or a smaller radius (now "
        f"{math.floor(target.problem.domain.radius * 1000) / 1000:g}). The price of this run "
        "stays spent."
    )
