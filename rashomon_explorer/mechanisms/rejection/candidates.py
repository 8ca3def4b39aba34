"""Stream of candidates that passed all tests without rows, kept until they are used."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.rejection import proposals
from rashomon_explorer.mechanisms.rejection.envelope import Envelope, Tangent
from rashomon_explorer.mechanisms.rejection.plane import plane_proposals
from rashomon_explorer.mechanisms.rejection.quadratic_minorant import least_bowl
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses.chunked import loss_kind
from rashomon_explorer.problem.lower_bounds import has_envelope
from rashomon_explorer.problem.lower_bounds.quadratic import BOWLS
from rashomon_explorer.problem.lower_bounds.quartic import Minimised, ShiftedBound
from rashomon_explorer.problem.lower_bounds.smooth import LARGEST_SPECTRUM
from rashomon_explorer.problem.problem import SAMPLE

Floor = Callable[[FloatArray], FloatArray]

_PROPOSAL_CELLS = 2**17  # proposals × parameters in a chunk
_ROUNDING = 1e-6
_PILOT = (16, 64)  # fewest and most models on which a share is estimated
_SURE = 4.0  # kept models by which a share is known well enough
_FEW = 20  # draws: the default number of a fit
_SEARCH = 8  # typical number of steps, and of evaluations along a line, to find a bowl
_PARABOLAS, _LAWS = 300, 2 * 10**6  # operations for a row's parabolas, and for a bowl's laws
MOST_AHEAD = 8192  # proposals in a chunk, and so the largest number that is not judged yet
_MOST_CHUNKS = 16  # keeps the Stop button responsive if all proposals are rejected


class Candidates:
    """Stream of independent models with density exp(−energy of a certified floor)."""

    def __init__(self, target: GibbsTarget) -> None:
        self._target = target
        under = plane_proposals(target)
        # With the uniform law among them the mass is at most the domain's volume, for all rows: a
        # public bound on how often a proposal is kept (docs/theory.md §3).
        candidates: list[proposals.Proposal] = [*under, proposals.UniformProposal(target)]
        self._proposal = min(candidates, key=lambda one: one.log_mass)
        self._floors: list[Floor] = [plane.floor for plane in under]
        self._sharper: Floor | None = None
        if bowl_pays(target, self._proposal):
            self._add(bowl := least_bowl(target, under[0].plane), bowl.floor)
        if envelope_pays(target, self._proposal):
            self._add_envelopes(Envelope.of(target))
        self._chunk = int(np.clip(_PROPOSAL_CELLS // target.problem.p, 256, MOST_AHEAD))
        self._theta = np.empty((target.problem.p, 0))
        self._floor = np.empty(0)

    def _add(self, proposal: proposals.Proposal, floor: Floor) -> None:
        """Thin by one more floor, and propose from the law below it if that has less mass."""
        self._floors.append(floor)
        self._proposal = min([self._proposal, proposal], key=lambda one: one.log_mass)

    def _add_envelopes(self, envelope: Envelope) -> None:
        found = proposals.tightest_proposal(self._target, envelope)
        self._add(found, partial(envelope.floor, pad=found.pad))
        self._sharper = envelope.sharper_floor
        shifted = _shifted(self._target, envelope)
        if shifted is not None:
            pad = shifted.least_pad
            radial = proposals.RadialProposal(self._target, shifted, pad)
            self._add(radial, partial(shifted.floor, pad=pad))
            self._sharper = shifted.sharper_floor

    def take(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, int]:
        """Return at most ``size`` models (p, k), lower bounds (k,), and the number proposed."""
        proposed = 0
        while len(self._floor) < size and proposed < _MOST_CHUNKS * self._chunk:
            self._propose(rng)
            proposed += self._chunk
        batch = self._theta[:, :size], self._floor[:size], proposed
        self._theta, self._floor = self._theta[:, size:], self._floor[size:]
        return batch

    def _propose(self, rng: np.random.Generator) -> None:
        target = self._target
        theta, energy = self._proposal.draw(self._chunk, rng)
        floor = np.max([floor(theta) for floor in self._floors], axis=0)
        _check_above(energy, target.energy(floor))
        keep = accept(energy - target.energy(floor), rng)
        theta, floor = theta[:, keep], floor[keep]
        if self._sharper is not None:
            sharper = np.maximum(self._sharper(theta), floor)
            keep = accept(target.energy(floor) - target.energy(sharper), rng)
            theta, floor = theta[:, keep], sharper[keep]
        self._theta = np.hstack([self._theta, theta])
        self._floor = np.concatenate([self._floor, floor])


def bowl_pays(target: GibbsTarget, proposal: proposals.Proposal) -> bool:
    """Whether a bowl costs less than reading the rows for models that the loss rejects."""
    problem = target.problem
    n, p = problem.n, problem.p
    if p < 2 or loss_kind(problem.evaluator().loss) not in BOWLS:
        return False
    passes = n + _SEARCH * min(n, SAMPLE)
    work = passes * (p**2 + _PARABOLAS) + _SEARCH**2 * (p**3 + _LAWS)
    return _accepts_less(target, proposal, _looks(n, p) / work)


def envelope_pays(target: GibbsTarget, proposal: proposals.Proposal) -> bool:
    """Whether an envelope costs less than reading the rows for models that the loss rejects."""
    problem = target.problem
    if not has_envelope(problem.evaluator().loss) or not math.isfinite(problem.constants.M):
        return False
    pairs = min(problem.p, LARGEST_SPECTRUM) * (min(problem.p, LARGEST_SPECTRUM) + 1) / 2
    work = problem.n * pairs**2 + pairs**3
    return _accepts_less(target, proposal, _looks(problem.n, problem.p) / work)


def _accepts_less(target: GibbsTarget, proposal: proposals.Proposal, share: float) -> bool:
    """Whether the loss accepts less than a share of proposals, estimated in one pass."""
    if share > 1:
        return True
    proposed = int(np.clip(_SURE / share, *_PILOT))
    theta, energy = proposal.draw(proposed, generator(0))
    excess = np.maximum(target.excess(theta), 0.0) if len(energy) else energy
    accepted = np.exp(np.minimum(energy - target.energy(excess), 0.0)).sum()
    return bool(accepted < share * proposed)


def _looks(n: int, p: int) -> float:
    """Operations to evaluate the rows for a few models."""
    return float(_FEW * n * p)


def _shifted(target: GibbsTarget, envelope: Envelope) -> Envelope | None:
    """Envelope around the mean of the models that are drawn, if the loss has one."""
    bound, problem = envelope.bound, target.problem
    if bound.expansion is None:
        return None
    pad, middle = envelope.least_pad, envelope.centre
    whiten = envelope.vectors / np.sqrt(envelope.curvature + pad)
    known = Minimised(middle, problem.minimum.value, problem.ridge, envelope.tangent, pad, whiten)
    shifted = ShiftedBound.from_risk(
        bound.expansion, known, target.psi + problem.p / (2 * target.beta)
    )
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


def accept(log_ratio: FloatArray, rng: np.random.Generator) -> Mask:
    """Outcomes (K,) of independent coins with log probabilities ``log_ratio`` (K,) ≤ 0."""
    return np.asarray(np.log1p(-rng.random(len(log_ratio))) <= log_ratio)


def _check_above(proposed: FloatArray, certified: FloatArray) -> None:
    """Raise an error if a proposal lies below the law it is thinned to, by more than rounding."""
    if (proposed > certified + _ROUNDING * (1 + certified)).any():
        raise EnvelopeError(
            "a proposal's energy lies above the certified one: the draws would not be exact; "
            "please report the problem's n, p, domain and settings"
        )
