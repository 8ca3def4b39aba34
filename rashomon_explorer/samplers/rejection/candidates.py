"""Models that passed everything that costs no look at the rows, kept until they are needed."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.losses.shifted_bound import Expandable, Minimised, ShiftedBound
from rashomon_explorer.samplers.rejection.envelope import Envelope
from rashomon_explorer.samplers.rejection.proposals import RadialProposal, tightest_proposal
from rashomon_explorer.samplers.rejection.tangent import Tangent
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]

_PROPOSAL_CELLS = 2**17  # proposals × parameters made at once
_ROUNDING = 1e-6
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
        self._shifted = _shifted(target, self._envelope)
        if self._shifted is not None:
            other = RadialProposal(target, self._shifted, self._shifted.least_pad)
            self._proposal = min(self._proposal, other, key=lambda one: one.log_mass)
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
        if self._shifted is not None:
            floor = np.maximum(floor, self._shifted.floor(theta, self._shifted.least_pad))
        _check_above(energy, target.energy(floor))
        keep = accepted(energy - target.energy(floor), rng)
        theta, floor = theta[:, keep], floor[keep]
        sharper = np.maximum((self._shifted or self._envelope).sharper_floor(theta), floor)
        keep = accepted(target.energy(floor) - target.energy(sharper), rng)
        self._theta = np.hstack([self._theta, theta[:, keep]])
        self._floor = np.concatenate([self._floor, sharper[keep]])


def _shifted(target: GibbsTarget, envelope: Envelope) -> Envelope | None:
    """Envelope around the middle of the models that are drawn, where the loss has one."""
    bound, problem = envelope.bound, target.problem
    if not isinstance(bound, Expandable) or bound.expansion is None:
        return None
    pad, middle = envelope.least_pad, envelope.centre
    whiten = envelope.vectors / np.sqrt(envelope.curvature + pad)
    known = Minimised(middle, problem.minimum.value, problem.ridge, envelope.tangent, pad, whiten)
    shifted = ShiftedBound.of(bound.expansion, known, target.psi + problem.p / (2 * target.beta))
    zero = np.zeros(problem.p)
    return replace(
        envelope,
        centre=shifted.centre,
        vectors=shifted.vectors,
        curvature=shifted.curvature,
        bound=shifted,
        tangent=Tangent(0.0, zero, 0.0, zero, 0.0, 0.0),
        longest_step=envelope.longest_step + float(np.linalg.norm(shifted.centre - middle)),
    )


def accepted(log_ratio: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether each of K independent coins with log probability ``log_ratio`` (K,) ≤ 0 comes up.

    Examples
    --------
    >>> accepted(np.array([0.0, -np.inf]), np.random.default_rng(0)).tolist()
    [True, False]
    """
    return np.asarray(np.log1p(-rng.random(len(log_ratio))) <= log_ratio)


def _check_above(proposed: FloatArray, certified: FloatArray) -> None:
    """Refuse a proposal that lies below the law it is thinned to, by more than rounding."""
    if (proposed > certified + _ROUNDING * (1 + certified)).any():
        worst = float((proposed - certified).max())
        raise EnvelopeError(
            f"a proposal's energy lies {worst:.2e} above the certified one: the draws would not "
            "be exact; please report the problem's n, p, domain and settings"
        )
