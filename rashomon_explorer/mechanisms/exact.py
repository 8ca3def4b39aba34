"""Exact draws from the exponential mechanism by rejection."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms import base, bounds
from rashomon_explorer.mechanisms.costs import CostTable
from rashomon_explorer.mechanisms.improvements import Improvement, law_improvements
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.rejection.candidates import MOST_AHEAD, Candidates
from rashomon_explorer.mechanisms.request import GDP, USUAL_PATIENCE, ZCDP, Request
from rashomon_explorer.mechanisms.target import GibbsTarget

_CELLS_AT_ONCE = 2**22  # rows × models evaluated between two checks of the Stop button
_FEWEST, _MOST = 16, 1024
_BLOCK_MODELS = 4  # times as many models later, of which each block of rows rejects some
_MOST_WORK, _LEAST_PATIENCE = 2 * 10**10, 50_000
_WORTH_SAYING = 1e-6  # larger bounds on the probability of giving up are not reported


@dataclass(frozen=True)
class ExactSampler:
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

    Examples
    --------
    >>> ExactSampler(patience=10_000).name, ExactSampler().patience
    ('exact', 5000000)
    """

    name: ClassVar[str] = "exact"

    patience: int | None = USUAL_PATIENCE
    spread: float | None = None

    def __post_init__(self) -> None:
        """Check the patience."""
        if self.patience is not None and not self.patience >= 1:
            raise ValueError(f"patience must be at least 1, or None, got {self.patience!r}")

    def giving_up(self, p: int, beta: float, psi: float, n_draws: int) -> float:
        """Upper bound on the probability of giving up on draws of a law, for all rows.

        It is 0 for infinite patience, and 1 if ``spread`` is not known.
        """
        if self.patience is None:
            return 0.0
        if self.spread is None:
            return 1.0
        acceptance = bounds.least_acceptance(p, beta, psi, self.spread)
        judged = self.rejections(p) - MOST_AHEAD
        return bounds.giving_up_probability(acceptance, max(0, judged), n_draws)

    def rejections(self, p: int) -> int:
        """Rejected proposals in a row that are allowed; only for a sampler that gives up."""
        return patience_for(p, 2**62 if self.patience is None else self.patience)

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[base.Batch]:
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
        refused, patience = 0, self.rejections(target.problem.p)
        is_first = True
        while True:
            theta, floor, proposed = candidates.take(size, rng)
            # All losses of the first batch are compared with their bounds.
            accepted, losses = candidates.judge(theta, floor, rng, whole=is_first)
            refused = 0 if len(losses) else refused + proposed
            if self.patience is not None and refused > patience:
                raise SamplerError(_hopeless(target, patience))
            yield base.Batch(accepted, losses, evaluated=len(floor))
            if is_first:
                size, is_first = min(_BLOCK_MODELS * size, _MOST), False
            pause()  # lets a dashboard's event loop run


def patience_for(p: int, most: int = USUAL_PATIENCE) -> int:
    """Rejected proposals in a row after which the sampler gives up, from public numbers."""
    return min(most, max(_LEAST_PATIENCE, _MOST_WORK // p**2))


def _hopeless(target: GibbsTarget, patience: int) -> str:
    return (
        f"none of {patience:,} proposals was accepted (n={target.problem.n}, p={target.problem.p}, "
        f"β={target.beta:.3g}, ψ={target.psi:.3g}): exact rejection is infeasible here. Use fewer "
        f"columns, more ridge (now {target.problem.ridge:g}), or a smaller radius (now "
        f"{math.floor(target.problem.domain.radius * 1000) / 1000:g}). The privacy cost of this "
        f"run stays spent."
    )


def plan_law(
    request: Request, *, certificate: str = "oscillation", beta: float | None = None
) -> Plan:
    """Plan exact draws at the lowest temperature that the budget allows, or at ``beta``."""
    table = CostTable(
        request.constants,
        request.domain,
        request.psi,
        request.delta,
        request.composition,
        certificate == "best",
    )
    if beta is None:
        beta = table.coldest(request.epsilon, request.n_draws)
    name, guarantee = table.guarantee(beta, request.n_draws)
    law = bounds.convex_law(p=request.p, beta=beta, psi=request.psi)
    # Draws at ψ = 0 under a ridge are stable.
    gap = bounds.stable_gap(request, 0.0 if request.psi else request.ridge)
    return Plan(
        request=request,
        mechanism="exact",
        guarantee=replace(guarantee, requested=(request.epsilon, request.delta)),
        excess_bound=law.mean,
        hit_rate=law.hit_rate if request.psi > 0 else None,
        certificate=name,
        eta=beta * request.oscillation,
        beta=beta,
        generalisation_gap=gap,
    )


class Exact(base.Mechanism):
    """Exact draws from the thresholded Gibbs law on the ball, by rejection (docs/theory.md §2)."""

    name: ClassVar[str] = "exact"
    summary: ClassVar[str] = "an exact draw from the thresholded law"
    traits: ClassVar[base.Traits] = base.Traits(
        independent=True, planned_law=True, uniform_on="ball", may_give_up=True, compared=True
    )

    def plan_supported(self, request: Request) -> Plan:
        # A certificate improves only with a ridge and δ; a ledger without an order leaves no δ.
        gains = request.ridge > 0 and request.delta > 0 and request.ledger not in (ZCDP, GDP)
        return assuming_draws(plan_law(request, certificate="best" if gains else "oscillation"))

    def batches(
        self, target: GibbsTarget, plan: Plan, rng: np.random.Generator
    ) -> Iterator[base.Batch]:
        return _sampler(plan).batches(target, rng)

    def explain(self, plan: Plan) -> list[str]:
        hits = "No hit rate can be guaranteed: the set has no width because ψ = 0."
        if plan.psi > 0:
            hits = (
                f"{base.hits_sentence(plan)[:-1]}, for any {plan.n:,} rows: "
                f"the bound depends on p = {plan.p} and βψ only."
            )
        return [
            base.cost_sentence(plan, "exact draw"),
            _temperature_sentence(plan),
            hits,
            base.excess_sentence(plan),
        ]

    def improvements(self, plan: Plan, *, ridge: bool = False) -> list[Improvement]:
        return law_improvements(plan, ridge=ridge)


class Unthresholded(Exact):
    """Exact draws from exp(−βL), the exponential mechanism, for any ψ (docs/theory.md §2)."""

    name: ClassVar[str] = "unthresholded"
    summary: ClassVar[str] = "an exact draw at ψ = 0"
    traits: ClassVar[base.Traits] = base.Traits(
        independent=True, planned_law=True, may_give_up=True, compared=True
    )

    def plan_supported(self, request: Request) -> Plan:
        planned = super().plan_supported(replace(request, psi=0.0))
        within = bounds.unthresholded_hit_rate(request.p, planned.beta, request.psi)
        return replace(
            planned,
            request=request,
            mechanism=self.name,
            law_psi=0.0,
            hit_rate=within if request.psi > 0 else None,
        )


def _sampler(plan: Plan) -> ExactSampler:
    """Sampler with the plan's patience; the loss varies by at most L times the diameter."""
    request = plan.request
    return ExactSampler(request.patience, request.constants.L * 2 * request.radius)


def assuming_draws(plan: Plan) -> Plan:
    """Plan whose guarantee states how likely its draws may give up."""
    sampler, stated = _sampler(plan), "exact draws never give up; their running time has no bound"
    if sampler.patience is not None:
        bound = sampler.giving_up(plan.p, plan.beta, plan.law_threshold, plan.n_draws)
        power = math.ceil(math.log10(bound)) if bound > 0 else -300
        chance = f"probability at most 1e{max(power, -300)}, for all rows)"
        if bound > _WORTH_SAYING:
            chance = "no useful bound on the probability is known)"
        after = sampler.rejections(plan.p)
        stated = f"exact draws did not give up (after {after:,} proposals; {chance}"
    assumptions = (*plan.guarantee.assumptions, stated)
    return replace(plan, guarantee=replace(plan.guarantee, assumptions=assumptions))


def _temperature_sentence(plan: Plan) -> str:
    eta, moved = rounded_up(plan.eta), rounded_up(plan.oscillation)
    start = f"One record moves the difference of two models' losses by at most {moved}"
    if plan.certified_by_bounded_range:
        return f"{start}, so that β = {plan.beta:,.0f} makes a draw {eta}-bounded-range."
    return (
        f"{start}, which makes a draw {eta}-bounded-range at β = {plan.beta:,.0f}; "
        f"the certificate “{plan.certificate}” proves a lower cost."
    )


def hit_rate_at(plan: Plan, eta: float) -> float:
    """Guaranteed hit rate of a draw at another bounded range."""
    unthresholded = plan.law_psi == 0
    bound = bounds.unthresholded_hit_rate if unthresholded else bounds.guaranteed_hit_rate
    return bound(plan.p, eta / plan.oscillation, plan.psi)
