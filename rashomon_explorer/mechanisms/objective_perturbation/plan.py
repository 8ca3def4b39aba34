"""Plans of objective perturbation, from public numbers only."""

import math
from dataclasses import dataclass, field, replace

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer.mechanisms.objective_perturbation import accounting
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.suggestions import warn_if_weak, warn_large_delta
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee, approximate
from rashomon_explorer.problem.losses import MOST_PULL, clipped

_RIDGES = tuple(2.0 ** (k / 2) for k in range(-4, 25, 2))  # times a reference ridge
_SAFE = 1 - 1e-9  # of ε: keeps the cost of all draws within the budget despite rounding
# Bias of clipping in units of an excess bound: .0015 times 30 (`planning.options.cost`).
_WORTH_FOLLOWING = 0.045


@dataclass(frozen=True, repr=False)
class ObjectivePerturbationPlan(Plan):
    """Plan of minimisers of a perturbed objective, from public numbers."""

    most: float = field(default=math.inf, kw_only=True)
    tilt_ridge: float = field(default=0.0, kw_only=True)
    gaussian: bool = field(default=False, kw_only=True)
    tilt: float = field(default=0.0, kw_only=True)
    solver: float = field(default=0.0, kw_only=True)
    blur: float = field(default=0.0, kw_only=True)
    followed_excess: float = field(default=math.inf, kw_only=True)
    mechanism: str = field(default="objective_perturbation", kw_only=True, compare=False)

    @property
    def weighed_excess(self) -> float:
        """Excess bound of the loss that is minimised, clipped or not."""
        return self.followed_excess

    @property
    def repeats(self) -> int:
        """A minimum for each draw."""
        return self.n_draws

    @property
    def _stability(self) -> tuple[float, float]:
        return self.tilt_ridge, 2 * self.solver

    @property
    def by_excess(self) -> bool:
        """Whether no hit rate is guaranteed: the excess is too large, or slopes are clipped."""
        return self.hit_rate_bound == 0

    def _guaranteed(self) -> list[Fact]:
        clipped = f"exceeds its least by ≤ {rounded_up(self.followed_excess)} on average"
        return [
            *super()._guaranteed(),
            *([] if math.isinf(self.most) else [("clipped loss", clipped)]),
        ]

    def _technical(self) -> list[Fact]:
        noise = f"linear term of scale {self.tilt:.3g}, ridge of {self.tilt_ridge:.3g}"
        return [*super()._technical(), ("perturbation", noise)]


def plan_objective_perturbation(
    request: Request, *, most: float | None = None, gaussian: bool | None = None
) -> ObjectivePerturbationPlan:
    """Plan draws that are each the minimiser of a perturbed objective; reads no row.

    The ridge minimises the bound for models of length ρ = min(R, √(2L(0)/E‖b‖)), at which the
    noise and the length have equal costs; this rule was chosen on simulated tables
    (benchmarks/README.md).
    """
    request.check()
    epsilon, delta, psi, n_draws = request.epsilon, request.delta, request.psi, request.n_draws
    validation.check_epsilon(epsilon)
    validation.check_delta(delta)
    share = epsilon / n_draws * _SAFE if n_draws > 1 else epsilon
    slope, strength, how = _best(request, _candidate_costs(request, share, gaussian), most)
    hits = max(0.0, 1 - how.excess / psi) if psi > 0 and math.isinf(slope) else 0.0
    planned = ObjectivePerturbationPlan(
        **request.plan_fields,
        eta=share,
        beta=math.inf,
        hit_rate_bound=hits,
        excess_bound=how.excess if math.isinf(slope) else math.inf,
        guarantee=_total_guarantee(how, share, delta, n_draws, (epsilon, delta)),
        certificate="objective perturbation",
        law_psi=0.0,
        most=slope,
        tilt_ridge=strength,
        gaussian=how.gaussian,
        tilt=how.scale,
        solver=how.solver,
        blur=how.blur,
        followed_excess=how.excess,
    )
    warn_if_weak(planned, "this plan")
    warn_large_delta(delta, request.n)
    return planned


@dataclass(frozen=True)
class _DrawCost:
    """Privacy cost of a draw: pure at δ = 0, (ε, δ), or a Rényi divergence at an order."""

    epsilon: float
    delta: float = 0.0
    order: float | None = None


def _candidate_costs(
    request: Request, share: float, gaussian: bool | None
) -> tuple[_DrawCost, ...]:
    """List the privacy costs of a draw to try."""
    pure, counted, n_draws = _DrawCost(share), request.cost_at_order, request.n_draws
    found: _DrawCost | None = None
    # With several scores, for one draw.
    gaussian_proved = request.loss_function.outputs == 1 or n_draws == 1
    if counted is not None and gaussian_proved:
        order, most = counted
        found = _DrawCost(most / n_draws * _SAFE, order=order)
    elif request.delta > 0 and gaussian_proved and not request.ledger:
        found = _DrawCost(share, request.delta / n_draws)
    if gaussian and found is None:
        raise ValueError(
            "Gaussian objective perturbation needs delta > 0, one score per row or one draw, and "
            "no ledger or one that composes Rényi divergences: omit gaussian=True"
        )
    if found is None or gaussian is False:
        return (pure,)
    # Composed with others in a ledger, a pure cost exceeds its nominal value.
    return (found,) if gaussian or found.order is not None else (pure, found)


def _total_guarantee(
    how: accounting.PerturbedObjective,
    share: float,
    delta: float,
    n_draws: int,
    budget: tuple[float, float],
) -> Guarantee:
    """Guarantee of all draws."""
    if how.curve is None:
        guarantee = approximate(share * n_draws, delta if how.gaussian else 0.0)
        return replace(guarantee, theorem=accounting.THEOREM)
    return accounting.by_divergences(how.curve.repeated(n_draws), budget)


_Found = tuple[float, float, accounting.PerturbedObjective]


def _best(request: Request, prices: tuple[_DrawCost, ...], most: float | None) -> _Found:
    """Slope, ridge, noise and bound of the best candidate; clipped slopes count as a bias."""
    unclipped = request.loss_function
    slopes = (MOST_PULL, math.inf) if most is None else (most,)
    candidates = []
    for slope in slopes:
        followed = unclipped if math.isinf(slope) else clipped(unclipped, slope)
        if followed is None and most is not None:
            raise ValueError(f"{unclipped.name} loss has no form with a clipped slope")
        if followed is None:
            continue
        found = (
            _ridged(replace(request, loss=followed), request.zero_loss, price) for price in prices
        )
        candidates += [(slope, *one) for one in found if one is not None]
    if not candidates:
        raise ValueError(
            f"no ridge makes a draw affordable at epsilon={rounded_up(prices[0].epsilon)} each: "
            "use a larger epsilon, fewer draws or more rows"
        )
    return min(candidates, key=lambda one: one[2].excess + _WORTH_FOLLOWING * math.isfinite(one[0]))


def _ridged(
    request: Request, zero_loss: float, price: _DrawCost
) -> tuple[float, accounting.PerturbedObjective] | None:
    """Ridge of the least bound for models of length ρ, and the noise and bound for the ball."""
    followed, ridge, radius = request.loss_function, request.ridge, request.radius
    slope = accounting.row_slope(followed, request.domain, request.row_norm)
    monotone = followed.task == "classification"
    least = (
        2
        * slope
        / request.n
        * accounting.least_length(
            request.p, price.epsilon, price.delta, monotone=monotone, order=price.order
        )
    )
    length = min(radius, math.sqrt(2 * zero_loss / least))

    def plan_at(own: float, length: float) -> accounting.PerturbedObjective | None:
        return accounting.plan_perturbed_objective(
            replace(request, ridge=ridge + own).constants,
            length,
            slope,
            own=own,
            monotone=monotone,
            epsilon=price.epsilon,
            delta=price.delta,
            order=price.order,
            outputs=followed.outputs,
        )

    ridges = {own for own in (0.0, *(least / length * k for k in _RIDGES)) if ridge + own > 0}
    tried = [(own, plan_at(own, length)) for own in sorted(ridges)]
    good = [(how.excess, own) for own, how in tried if how is not None]
    if not good:
        return None
    own = min(good)[1]
    how = plan_at(own, radius)
    assert how is not None  # the privacy cost is that of the shorter length
    steepest = replace(request, ridge=ridge + own).constants.L
    blur_excess = steepest * _beyond(request.p, how.blur, radius, gaussian=how.gaussian)
    return ridge + own, replace(how, excess=how.excess + blur_excess)


def _beyond(p: int, blur: float, radius: float, *, gaussian: bool = False) -> float:
    """Bound E dist(θ + ξ, ball) ≤ E(u·ξ)₊ + E‖ξ‖²/(2R), for θ in the ball and u = θ/‖θ‖."""
    if gaussian:
        return blur / math.sqrt(2 * math.pi) + p * blur**2 / (2 * radius)
    return math.sqrt(p) / 2 * blur + p * (p + 1) * blur**2 / (2 * radius)
