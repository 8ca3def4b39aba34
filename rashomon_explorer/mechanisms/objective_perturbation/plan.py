"""Plans of objective perturbation, from public numbers only."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer.mechanisms.bounds import stable_gap
from rashomon_explorer.mechanisms.objective_perturbation import accounting
from rashomon_explorer.mechanisms.plans import Details, Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee, approximate
from rashomon_explorer.problem.losses import MOST_PULL, clipped

_RIDGES = tuple(2.0 ** (k / 2) for k in range(-4, 25, 2))  # times a reference ridge
_SAFE = 1 - 1e-9  # of ε: keeps the cost of all draws within the budget despite rounding
# Bias of clipping in units of an excess bound: .0015 times 30 (`select.expected_loss`).
_CLIPPING_PENALTY = 0.045


@dataclass(frozen=True)
class PerturbationDetails(Details):
    """Noise and ridge of a perturbed objective, in public numbers."""

    slope_bound: float = math.inf
    """Largest slope of a row's loss; infinite unless slopes are clipped."""
    added_ridge: float = 0.0
    """Ridge of the perturbed objective."""
    gaussian: bool = False
    linear_noise: float = 0.0
    """Scale of the random linear term."""
    solver: float = 0.0
    """Distance to the exact minimiser that the solver must certify."""
    output_noise: float = 0.0
    """Scale of the noise that hides this distance."""

    def bounds(self, plan: Plan) -> list[Fact]:
        if math.isinf(self.slope_bound):
            return []
        excess = rounded_up(plan.comparison_excess)
        return [("clipped loss", f"exceeds its least by ≤ {excess} on average")]

    def facts(self, plan: Plan) -> list[Fact]:
        noise = f"linear term of scale {self.linear_noise:.3g}, ridge of {self.added_ridge:.3g}"
        return [("perturbation", noise)]


def plan_objective_perturbation(
    request: Request, *, slope_bound: float | None = None, gaussian: bool | None = None
) -> Plan:
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
    slope, ridge, noise = _best(request, _candidate_costs(request, share, gaussian), slope_bound)
    is_clipped = math.isfinite(slope)
    within = 1 - noise.excess / psi if psi > 0 and not is_clipped else 0.0
    return Plan(
        request=request,
        mechanism="objective_perturbation",
        guarantee=_total_guarantee(noise, share, delta, n_draws, (epsilon, delta)),
        excess_bound=math.inf if is_clipped else noise.excess,
        comparison_excess=noise.excess,
        hit_rate=within if within > 0 else None,
        certificate="objective perturbation",
        eta=share,
        law_psi=0.0,
        generalisation_gap=stable_gap(request, ridge, 2 * noise.solver),
        repeats=n_draws,
        details=PerturbationDetails(
            slope, ridge, noise.gaussian, noise.scale, noise.solver, noise.blur
        ),
    )


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
    pure, n_draws = _DrawCost(share), request.n_draws
    gaussian_cost: _DrawCost | None = None
    # With several scores, for one draw.
    gaussian_proved = request.loss_function.outputs == 1 or n_draws == 1
    if request.cost_at_order is not None and gaussian_proved:
        order, divergence = request.cost_at_order
        gaussian_cost = _DrawCost(divergence / n_draws * _SAFE, order=order)
    elif request.delta > 0 and gaussian_proved and not request.ledger:
        gaussian_cost = _DrawCost(share, request.delta / n_draws)
    if gaussian and gaussian_cost is None:
        raise ValueError(
            "Gaussian objective perturbation needs delta > 0, one score per row or one draw, and "
            "no ledger or one that composes Rényi divergences: omit gaussian=True"
        )
    if gaussian_cost is None or gaussian is False:
        return (pure,)
    # Composed with others in a ledger, a pure cost exceeds its nominal value.
    if gaussian or gaussian_cost.order is not None:
        return (gaussian_cost,)
    return (pure, gaussian_cost)


def _total_guarantee(
    how: accounting.PerturbedObjective,
    share: float,
    delta: float,
    n_draws: int,
    budget: tuple[float, float],
) -> Guarantee:
    if how.curve is None:
        guarantee = approximate(share * n_draws, delta if how.gaussian else 0.0)
        return replace(guarantee, theorem=accounting.THEOREM)
    return accounting.by_divergences(how.curve.repeated(n_draws), budget)


def _best(
    request: Request, costs: tuple[_DrawCost, ...], slope_bound: float | None
) -> tuple[float, float, accounting.PerturbedObjective]:
    """Slope, ridge, noise and bound of the best candidate; clipped slopes count as a bias."""
    unclipped = request.loss_function
    slopes = (MOST_PULL, math.inf) if slope_bound is None else (slope_bound,)
    candidates = []
    for slope in slopes:
        surrogate = unclipped if math.isinf(slope) else clipped(unclipped, slope)
        if surrogate is None and slope_bound is not None:
            raise ValueError(f"{unclipped.name} loss has no form with a clipped slope")
        if surrogate is None:
            continue
        for cost in costs:
            planned = _ridged(replace(request, loss=surrogate), request.zero_loss, cost)
            candidates += [] if planned is None else [(slope, *planned)]
    if not candidates:
        raise ValueError(
            f"no ridge makes a draw affordable at epsilon={rounded_up(costs[0].epsilon)} each: "
            "use a larger epsilon, fewer draws or more rows"
        )

    def biased_excess(candidate: tuple[float, float, accounting.PerturbedObjective]) -> float:
        slope, _, planned = candidate
        return planned.excess + _CLIPPING_PENALTY * math.isfinite(slope)

    return min(candidates, key=biased_excess)


def _ridged(
    request: Request, zero_loss: float, cost: _DrawCost
) -> tuple[float, accounting.PerturbedObjective] | None:
    """Ridge of the least bound for models of length ρ, and the noise and bound for the ball."""
    loss, ridge, radius = request.loss_function, request.ridge, request.radius
    data = request.data_constants
    slope = accounting.row_slope(loss, request.domain, request.row_norm)
    monotone = loss.task == "classification"
    noise_length = accounting.least_length(
        request.p, cost.epsilon, cost.delta, monotone=monotone, order=cost.order
    )
    least = 2 * slope / request.n * noise_length  # of the random linear term, at no determinant
    length = min(radius, math.sqrt(2 * zero_loss / least))

    def plan_at(added: float, length: float) -> accounting.PerturbedObjective | None:
        return accounting.plan_perturbed_objective(
            data.with_ridge(ridge + added, radius),
            length,
            slope,
            added_ridge=added,
            monotone=monotone,
            epsilon=cost.epsilon,
            delta=cost.delta,
            order=cost.order,
            outputs=loss.outputs,
        )

    def least_excess(added: float) -> float:
        """Bound without the determinant, which costs privacy: no plan has a smaller one."""
        return (added**2 * length**2 + least**2) / (2 * (ridge + 2 * added))

    ridges = {r for r in (0.0, *(least / length * k for k in _RIDGES)) if ridge + r > 0}
    best: tuple[float, float] | None = None
    for added in sorted(ridges, key=least_excess):
        if best is not None and loss.outputs == 1 and least_excess(added) > best[0]:
            break
        planned = plan_at(added, length)
        if planned is not None:
            best = min(best or (math.inf, 0.0), (planned.excess, added))
    if best is None:
        return None
    added = best[1]
    planned = plan_at(added, radius)
    assert planned is not None  # the privacy cost is that of the shorter length
    steepest = data.with_ridge(ridge + added, radius).L
    blur_excess = steepest * _mean_projection_distance(
        request.p, planned.blur, radius, gaussian=planned.gaussian
    )
    return ridge + added, replace(planned, excess=planned.excess + blur_excess)


def _mean_projection_distance(
    p: int, blur: float, radius: float, *, gaussian: bool = False
) -> float:
    """Bound E dist(θ + ξ, ball) ≤ E(u·ξ)₊ + E‖ξ‖²/(2R), for θ in the ball and u = θ/‖θ‖."""
    if gaussian:
        return blur / math.sqrt(2 * math.pi) + p * blur**2 / (2 * radius)
    return math.sqrt(p) / 2 * blur + p * (p + 1) * blur**2 / (2 * radius)
