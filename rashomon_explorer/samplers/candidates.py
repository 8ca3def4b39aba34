"""Models that passed everything that costs no look at the rows, kept until they are needed."""

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.samplers.envelope import Envelope
from rashomon_explorer.samplers.proposals import tightest_proposal
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]

_PROPOSAL_CELLS = 2**17  # proposals × parameters made at once
_MOST_CHUNKS = 16  # so that refusals, too, leave a Stop button alive


class Candidates:
    """A stream of independent models with density exp(−energy of a certified floor).

    Parameters
    ----------
    target : GibbsTarget
    """

    def __init__(self, target: GibbsTarget) -> None:
        self._target = target
        self._envelope = Envelope.of(target)
        self._proposal = tightest_proposal(target, self._envelope)
        self._chunk = int(np.clip(_PROPOSAL_CELLS // target.problem.p, 256, 8192))
        self._theta = np.empty((target.problem.p, 0))
        self._floor = np.empty(0)

    def take(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, int]:
        """Up to ``size`` models (p, k), perhaps none, their floors (k,), and the number proposed.

        Makes a bounded number of proposals, so that it returns soon.
        """
        proposed = 0
        while len(self._floor) < size and proposed < _MOST_CHUNKS * self._chunk:
            self._propose(rng)
            proposed += self._chunk
        taken = self._theta[:, :size], self._floor[:size], proposed
        self._theta, self._floor = self._theta[:, size:], self._floor[size:]
        return taken

    def _propose(self, rng: np.random.Generator) -> None:
        target = self._target
        theta, energy = self._proposal.draw(self._chunk, rng)
        floor = self._envelope.floor(theta, self._proposal.pad)
        keep = accepted(energy - target.energy(floor), rng)
        theta, floor = theta[:, keep], floor[keep]
        sharper = np.maximum(self._envelope.sharper_floor(theta), floor)
        keep = accepted(target.energy(floor) - target.energy(sharper), rng)
        self._theta = np.hstack([self._theta, theta[:, keep]])
        self._floor = np.concatenate([self._floor, sharper[keep]])


def accepted(log_ratio: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether each of K independent coins with log probability ``log_ratio`` (K,) ≤ 0 comes up.

    Examples
    --------
    >>> accepted(np.array([0.0, -np.inf]), np.random.default_rng(0)).tolist()
    [True, False]
    """
    return np.asarray(np.log1p(-rng.random(len(log_ratio))) <= log_ratio)
