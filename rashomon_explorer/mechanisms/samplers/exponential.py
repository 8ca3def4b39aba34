"""Exact draws from the exponential mechanism by rejection."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import EnvelopeError, SamplerError
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits
from rashomon_explorer.mechanisms.bounds import hit_rate
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.rejection.candidates import MOST_AHEAD, Candidates, accept
from rashomon_explorer.mechanisms.request import GDP, ZCDP, Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee

_CELLS_AT_ONCE = 2**22  # rows × models evaluated between two checks of the Stop button
_FEWEST, _MOST = 16, 1024
_MOST_WORK, _LEAST_PATIENCE = 2 * 10**10, 50_000
USUAL_PATIENCE = 5_000_000
"""Rejected proposals in a row after which the sampler gives up by default."""

_WORTH_SAYING = 1e-6  # larger bounds on the probability of giving up are not reported


class GibbsMechanism(Mechanism):
    """Base of mechanisms whose draws have, or approach, the law of exact draws."""

    @classmethod
    def plan_for(cls, request: Request) -> Plan:
        """Plan exact draws by bounded range."""
        return plan(**request.numbers)

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Create the mechanism with default settings; it never gives up."""
        return cls()


@dataclass(frozen=True)
class ExactSampler(Mechanism):
    """Rejection sampler with certified envelopes: every draw has exactly the target's law.

    A model is proposed under a plane, a bowl or a radial envelope below the loss, whichever has
    the least mass, from a one-dimensional table above its density or in closed form. It is thinned
    first by tests that read no rows (the domain, the other bounds, and the depth below the boundary
    when the minimiser lies on it), then by the loss itself. Theorem 2.1 of Ganesh, Thakurta and
    Upadhyay (2023) then holds for the code that runs, without the error of a chain, on every
    convex domain.

    Parameters
    ----------
    patience : int or None, default=5_000_000
        Rejected proposals in a row after which the sampler gives up. Beyond 64 parameters it is
        2·10¹⁰/p², but at least 50,000, because a proposal costs p² operations. With None the
        sampler never gives up, and may never end.
    spread : float, optional
        Public upper bound on max − min of the loss over the domain, a ball. With it the guarantee
        states a bound on the probability of giving up, for all rows.

    Notes
    -----
    The running time and the acceptance rate depend on the rows: curator information. So does
    giving up, which others see as an error. If its probability is at most ζ for every table, the
    draws, with the error as one more outcome, are (ε, δ + (1 + e^ε)·ζ)-DP (docs/theory.md §3).
    """

    name: ClassVar[str] = "exact"
    summary: ClassVar[str] = "an exact draw from the thresholded law"
    traits: ClassVar[Traits] = Traits(
        independent=True, planned_law=True, uniform_on="ball", may_give_up=True, compared=True
    )

    patience: int | None = USUAL_PATIENCE
    spread: float | None = None

    def __post_init__(self) -> None:
        """Check the patience."""
        if self.patience is not None and not self.patience >= 1:
            raise ValueError(f"patience must be at least 1, or None, got {self.patience!r}")

    @classmethod
    def plan_for(cls, request: Request) -> Plan:
        """Plan by the best certificate that applies, or by bounded range."""
        # A certificate improves only with a ridge and δ; a ledger without an order leaves no δ.
        gains = request.ridge > 0 and request.delta > 0 and request.ledger not in (ZCDP, GDP)
        return plan(**request.numbers, certificate="best" if gains else "oscillation")

    @classmethod
    def narrowed(cls, probe: Plan) -> type[Mechanism]:
        """Plan by bounded range, if no certificate is better in the unit ball."""
        return _ByBoundedRange if probe.by_bounded_range else cls

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Create the sampler with the caller's patience and the known range of the loss."""
        return cls(patience, spread)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's guarantee, which its certificate of exact draws proves.

        It assumes that no draw gives up.
        """
        guarantee = plan.guarantee
        return replace(guarantee, assumptions=(*guarantee.assumptions, self._giving_up(plan)))

    def giving_up(self, plan: Plan) -> float:
        """Upper bound on the probability of giving up on a plan's draws, for all rows.

        It is 0 for infinite patience, and 1 if ``spread`` is not known.
        """
        if self.patience is None:
            return 0.0
        if self.spread is None:
            return 1.0
        acceptance = hit_rate.least_acceptance(plan.p, plan.beta, plan.drawn_psi, self.spread)
        judged = self._patience(plan.p) - MOST_AHEAD
        return hit_rate.giving_up_probability(acceptance, max(0, judged), plan.n_draws)

    def _patience(self, p: int) -> int:
        """Rejected proposals in a row that are allowed; only for a sampler that gives up."""
        return patience_for(p, 2**62 if self.patience is None else self.patience)

    def _giving_up(self, plan: Plan) -> str:
        if self.patience is None:
            return "exact draws never give up; their running time has no bound"
        after = f"exact draws did not give up (after {self._patience(plan.p):,} proposals; "
        bound = self.giving_up(plan)
        if bound > _WORTH_SAYING:
            return after + "no useful bound on the probability is known)"
        power = math.ceil(math.log10(bound)) if bound > 0 else -300
        return after + f"probability at most 1e{max(power, -300)}, for all rows)"

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of independent exact draws without end.

        Raises
        ------
        SamplerError
            If ``patience`` proposals in a row are rejected, which depends on the rows; the
            message suggests changes.
        EnvelopeError
            If a loss is found below its certified bound, which would make draws inexact.
        """
        candidates = Candidates(target)
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, _FEWEST, _MOST))
        refused, patience = 0, self._patience(target.problem.p)
        while True:
            theta, floor, proposed = candidates.take(size, rng)
            losses = target.problem.value(theta)
            keep = _thin(target, losses, floor, rng)
            refused = 0 if keep.any() else refused + proposed
            if self.patience is not None and refused > patience:
                raise SamplerError(_hopeless(target, patience))
            yield Batch(theta[:, keep], losses[keep], evaluated=len(losses))
            pause()  # lets a dashboard's event loop run


def patience_for(p: int, most: int = USUAL_PATIENCE) -> int:
    """Rejected proposals in a row after which the sampler gives up, from public numbers."""
    return min(most, max(_LEAST_PATIENCE, _MOST_WORK // p**2))


def _thin(
    target: GibbsTarget, losses: FloatArray, floor: FloatArray, rng: np.random.Generator
) -> Mask:
    # A model may lie below the numerical minimum, by no more than its certified gap.
    excess = np.maximum(losses - target.problem.minimum.value, 0.0)
    if (floor > excess).any():
        raise EnvelopeError(
            "a loss lies below its certified bound: the draws would not be exact; please report "
            "the problem's n, p and settings"
        )
    return accept(target.energy(floor) - target.energy(excess), rng)


def _hopeless(target: GibbsTarget, patience: int) -> str:
    return (
        f"none of {patience:,} proposals was accepted (n={target.problem.n}, p={target.problem.p}, "
        f"β={target.beta:.3g}, ψ={target.psi:.3g}): exact rejection is infeasible here. Use fewer "
        f"columns, more ridge (now {target.problem.ridge:g}), or a smaller radius (now "
        f"{math.floor(target.problem.domain.radius * 1000) / 1000:g}). The privacy cost of this "
        f"run stays spent."
    )


class _ByBoundedRange(ExactSampler):
    @classmethod
    def plan_for(cls, request: Request) -> Plan:
        return plan(**request.numbers)


@dataclass(frozen=True)
class UnthresholdedSampler(ExactSampler):
    """Exact draws from exp(−βL), the exponential mechanism, for any ψ (docs/theory.md §2)."""

    name: ClassVar[str] = "unthresholded"
    summary: ClassVar[str] = "an exact draw at ψ = 0"
    traits: ClassVar[Traits] = Traits(
        independent=True, planned_law=True, may_give_up=True, compared=True
    )

    @classmethod
    def plan_for(cls, request: Request) -> Plan:
        """Plan at ψ = 0, with the hit rate in the set at ψ."""
        planned = super().plan_for(replace(request, psi=0.0))
        within = hit_rate.unthresholded_hit_rate(request.p, planned.beta, request.psi)
        return replace(planned, psi=request.psi, law_psi=0.0, hit_rate_bound=within)

    @classmethod
    def narrowed(cls, probe: Plan) -> type[Mechanism]:
        """Plan by the best certificate that applies."""
        return cls
