"""Plan of exact draws within a private ellipsoid."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact
from rashomon_explorer.mechanisms.bounds.hit_rate import guaranteed_hit_rate
from rashomon_explorer.mechanisms.ellipsoid import plan
from rashomon_explorer.mechanisms.planning.centres import excess_at_most
from rashomon_explorer.mechanisms.planning.suggestions import warn_if_weak
from rashomon_explorer.mechanisms.planning.weakness import WEAK_HIT_RATE
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee, compose, zcdp
from rashomon_explorer.privacy.conversions import zcdp_rho
from rashomon_explorer.problem.constants import Constants

WIDEST = 4.0
"""Largest margin a, for an ellipsoid with twice the axes of the Rashomon set."""

_HITS, _KEPT = 0.9, 0.05
_CELLS = 400
_LEAST_SAID = 0.01  # smaller hit rates count as no guarantee
_FAILURES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


def expected_margin(p: int, steepness: float, share: float) -> float:
    """Largest a at which, for a quadratic loss, 90 % of draws hit and 5 % of models are drawn."""
    top = 1 - share
    if top <= 0:
        return 0.0

    def good(margin: float) -> bool:
        hits, coverage = _shares(p, steepness * top, margin / top)
        return hits >= _HITS and coverage >= _KEPT

    return WIDEST if good(WIDEST) else bisect(good, top, WIDEST, halvings=30)


def ellipsoid_hit_rate(p: int, beta: float, psi: float, excess: Callable[[float], float]) -> float:
    """Lower bound on the hit rate: that at ψ less the centre's excess (docs/theory.md §13)."""
    found = max((1 - q) * guaranteed_hit_rate(p, beta, psi - excess(q)) for q in _FAILURES)
    return found if found >= _LEAST_SAID else 0.0


def _shares(p: int, steepness: float, reach: float) -> tuple[float, float]:
    """Share of hits among draws, and of draws among uniform models; heights in units of t₀."""
    if reach <= 1:
        return 1.0, 1.0
    ends = np.linspace(1.0, reach, _CELLS + 1)
    middle = (ends[1:] + ends[:-1]) / 2
    # t^{p/2−1}, relative to its value at the surface, to avoid overflow.
    dense = np.exp((p / 2 - 1) * np.log(middle / reach))
    beyond = dense * np.exp(-steepness * (middle - 1)) * np.diff(ends) / reach
    inside = math.exp(-p / 2 * math.log(reach)) * 2 / p
    total = inside + float(beyond.sum())
    return inside / total, total * p / 2


_SHARES = (0.05, 0.15, 0.35, 0.6, 0.8)  # of ρ, for the draws
_SAFE = 1 - 1e-9  # of ρ: keeps the charge within the budget despite rounding
_LIKELY = 2.0  # on simulated tables, the centre's bound is more than twice its excess
_LEAST = 0.5  # of ψ, if nothing is proved


@dataclass(frozen=True, repr=False)
class EllipsoidExactPlan(plan.EllipsoidPlan):
    """Plan of exact draws on a private ellipsoid, from public numbers."""

    draw_eta: float
    mechanism: str = field(default="ellipsoid_exact", kw_only=True, compare=False)

    @property
    def of_exact_draws(self) -> bool:
        """False: theorems on draws from the ball do not apply to exact draws on the ellipsoid."""
        return False

    @property
    def first_rho(self) -> float:
        """Part of ρ of zCDP that is charged for the ellipsoid; the draws have the rest."""
        return (self.centre.mu**2 + self.hessian_mu**2) / 2

    def _technical(self) -> list[Fact]:
        share = self.first_rho / self.guarantee.rho
        law = f"β = {self.beta:,.0f} on the ellipsoid, {share:.0%} of the privacy cost for it"
        return [*super()._technical(), ("law", law)]


def plan_ellipsoid_exact(
    request: Request, *, margin: float | None = None, share: float | None = None
) -> EllipsoidExactPlan:
    """Plan an ellipsoid and the temperature of draws on it, by ρ of zCDP (docs/theory.md §13)."""
    request.check()
    if margin is not None:
        validation.check_positive(margin=margin)
    if share is not None:
        validation.check_inner_share(share=share)
    plan.check_has_hessian(request)
    rho = _SAFE * zcdp_rho(request.epsilon, request.delta)

    def plan_at(part: float) -> EllipsoidExactPlan:
        first = plan.ellipsoid_for(request, math.sqrt(2 * (1 - part) * rho), margin=None)
        draw_eta = math.sqrt(8 * part * rho / request.n_draws)
        return _with_draws(first, draw_eta, request.constants, margin)

    planned = max(map(plan_at, _SHARES if share is None else (share,)), key=_ranking)
    warn_if_weak(planned, "this plan")
    return planned


def two_stages(first: Guarantee, draw_eta: float, n_draws: int) -> Guarantee:
    """Guarantee of an ellipsoid that is released first, and of exact draws on it."""
    draws = zcdp(n_draws * draw_eta**2 / 8)
    return replace(
        compose([first, draws]),
        theorem="Gaussian DP of a centre and of its Hessian, and bounded range of exact draws on "
        "the resulting ellipsoid, composed by zCDP",
    )


def _with_draws(
    first: plan.EllipsoidPlan, draw_eta: float, constants: Constants, margin: float | None
) -> EllipsoidExactPlan:
    """Plan of draws on an ellipsoid, with a new size, because few draws lie beyond the set."""
    beta = draw_eta / first.oscillation
    assert first.radius is not None and first.zero_loss is not None
    known = partial(excess_at_most, first.centre, constants, first.radius, first.zero_loss)
    tail = ellipsoid_hit_rate(first.p, beta, first.psi, known) if first.psi > 0 else 0.0
    proved = first.margin if first.has_hit_rate else 0.0
    sure = proved > 0 and first.hit_rate_bound > tail
    size = margin if margin is not None else _size(first, beta, proved if sure else 0.0)
    bound = max(tail, first.hit_rate_bound if size <= proved else 0.0)
    total = replace(
        two_stages(first.guarantee, draw_eta, first.n_draws), requested=(first.epsilon, first.delta)
    )
    settings = {name: getattr(first, name) for name in first.__dataclass_fields__}
    changed = {"beta": beta, "margin": size, "hit_rate_bound": bound, "guarantee": total}
    changed |= {"certificate": "two stages", "mechanism": "ellipsoid_exact", "draw_eta": draw_eta}
    return EllipsoidExactPlan(**{**settings, **changed})


def _size(first: plan.EllipsoidPlan, beta: float, proved: float) -> float:
    if first.psi == 0 or proved:
        return first.margin
    share = first.centre.excess / (_LIKELY * first.psi)
    return max(_LEAST, expected_margin(first.p, beta * first.psi, share))


def _ranking(planned: EllipsoidExactPlan) -> tuple[float, float, float]:
    """Rank by the guaranteed hit rate, then the size, then the centre's excess."""
    useful = planned.hit_rate_bound if planned.hit_rate_bound >= WEAK_HIT_RATE else 0.0
    return round(useful, 2), planned.margin, -planned.centre.excess
