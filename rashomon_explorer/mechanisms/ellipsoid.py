"""Draws around a private centre, within a private ellipsoid: plan, release and mechanism."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer._utils.threads import pause
from rashomon_explorer._utils.validation import check_share
from rashomon_explorer.mechanisms import base, centres
from rashomon_explorer.mechanisms import noisy_descent as descent
from rashomon_explorer.mechanisms.bounds import generalisation_gap
from rashomon_explorer.mechanisms.improvements import CENTRE, Improvement
from rashomon_explorer.mechanisms.plans import Details, Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.problem import minimisation
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.problem import Problem

_WIDEST = 1.0


def third_derivative_bound(loss: Loss, row_bound: float) -> float | None:
    """Constant b with |φ'''(t)| ≤ b·‖w‖·φ''(t) for a row's loss φ(t) = ℓ(θ + tw), or None."""
    bound = getattr(loss, "third_derivative", None)
    return None if bound is None else float(bound) * row_bound


def proved_margin(*, psi: float, ridge: float, bend: float, excess: float) -> float:
    """Largest a ≤ 1 with {½wᵀAw ≤ aψ} around the centre in the set (docs/theory.md §13)."""
    if not (excess < psi and (ridge > 0 or bend == 0)):
        return 0.0
    curve = bend / math.sqrt(ridge) if bend else 0.0
    slope = _steepest(curve, excess)

    def inside(margin: float) -> bool:
        reach = math.sqrt(2 * margin * psi)
        return excess + slope * reach + _bent(curve, reach) <= psi

    if inside(_WIDEST):
        return _WIDEST
    return bisect(inside, 0.0, _WIDEST, halvings=60)


def _steepest(curve: float, excess: float) -> float:
    """Bound ν on the gradient's dual norm; every step length gives a bound."""
    if excess == 0:
        return 0.0
    if curve == 0:
        return math.sqrt(2 * excess)

    def bound(log_reach: float) -> float:
        reach = math.exp(log_reach)
        return (excess + _bent(curve, reach)) / reach

    # Search below the best step length at curve = 0: a larger curve favours shorter steps.
    high = math.log(math.sqrt(2 * excess))
    found = minimize_scalar(bound, bounds=(high - 10, high), method="bounded")
    return min(float(found.fun), bound(high))


def _bent(curve: float, reach: float) -> float:
    """h(reach) ≥ reach²/2, which bounds the growth of the loss beyond its gradient."""
    bend = curve * reach
    if bend < 1e-3:  # (e^k − 1 − k)/k² ≤ ½ + k/6 + k²/24·e^k; the difference loses its digits
        return reach**2 * (0.5 + bend / 6 + bend**2 / 20)
    if bend > 500:
        return math.inf
    return reach**2 * (math.expm1(bend) - bend) / bend**2


WANTED = 0.9
"""Hit rate for which the size of an ellipsoid is chosen, if it can be proved."""

_SHARES = [k / 20 for k in range(1, 20)]
_SAFE = 1 - 1e-9  # of μ: keeps the charge within the budget despite rounding
_WORTH_PROVING = 0.25  # a smaller share of ψ would show too little of the set
_MOST, _LEAST = 0.9, 0.5  # of ψ, if nothing is proved
# On simulated tables the bound was 1.3 to 2.4 times the excess with the best model on the sphere,
# and 12 to 18 times with it inside.
_LOOSE = 2.0
_GRID = 2.0**-16  # of σ: unit to which the Hessian is rounded


@dataclass(frozen=True)
class EllipsoidDetails(Details):
    """Centre, noise and size of a private ellipsoid, in public numbers."""

    centre: centres.Centre
    hessian_mu: float
    hessian_noise: float
    regularisation: float
    """Added to the noisy Hessian, so that it is positive definite."""
    margin: float

    @property
    def grid(self) -> float:
        """Unit to which the noisy Hessian is rounded."""
        return 2.0 ** math.floor(math.log2(self.hessian_noise * _GRID))

    def expected_width(self, plan: Plan) -> float:
        """Return √a of the level aψ of the quadratic excess; the noisy Hessian narrows it."""
        return math.sqrt(self.margin)

    def bounds(self, plan: Plan) -> list[Fact]:
        excess = f"exceeds the least by ≤ {rounded_up(self.centre.excess)} on average"
        return [("centre's loss", excess)]

    def facts(self, plan: Plan) -> list[Fact]:
        steps = f"mean of {self.centre.n_steps} noisy gradient steps"
        how = {"gradients": steps, "accelerated": f"{steps}, accelerated"}
        return [
            ("centre", how.get(self.centre.name, "noisy minimiser")),
            ("size", f"quadratic excess ≤ {self.margin * plan.psi:.3g}"),
        ]


def plan_ellipsoid(request: Request, margin: float | None = None) -> Plan:
    """Plan centre, noise and size of a private ellipsoid; reads no row (docs/theory.md §13)."""
    request.check()
    if margin is not None:
        check_share(margin=margin)
    if not math.isfinite(request.constants.M):
        raise ValueError(f"{request.loss_name} loss has kinks, and no Hessian: smooth it")
    constants, psi = request.constants, request.psi
    mu = _SAFE * request.gaussian_mu
    centre, hessian_mu = _shared(constants, psi, request.radius, mu, request.zero_loss)
    proved = _proved(request, centre)
    size = proved if margin is None else float(margin)
    if margin is None and psi > 0 and proved < _WORTH_PROVING:
        size = min(_MOST, max(_LEAST, 1 - centre.excess / (_LOOSE * psi)))
    guarantee = ellipsoid_guarantee(centre, hessian_mu)
    return Plan(
        request=request,
        mechanism="ellipsoid",
        guarantee=replace(guarantee, requested=(request.epsilon, request.delta)),
        hit_rate=WANTED if 0 < size <= proved else None,
        certificate="ellipsoid",
        centre_excess=centre.excess,
        generalisation_gap=generalisation_gap(request),
        steps=float(centre.n_steps),
        details=EllipsoidDetails(
            centre=centre,
            hessian_mu=hessian_mu,
            hessian_noise=hessian_sensitivity(constants) / hessian_mu,
            regularisation=_regularisation(constants, hessian_mu),
            margin=size,
        ),
    )


def ellipsoid_guarantee(centre: centres.Centre, hessian_mu: float) -> Guarantee:
    """Gaussian DP of a centre, and of the noisy Hessian at it."""
    return replace(
        gdp(math.hypot(centre.mu, hessian_mu)),
        theorem="Gaussian DP of a centre and of its Hessian; draws depend on these two only",
    )


def hessian_sensitivity(constants: Constants) -> float:
    """√2(M − m)/n ≥ Frobenius distance of neighbours' Hessians at a model (docs/theory.md §13)."""
    # Rounded up by more than the error of the difference.
    largest = constants.M - constants.m + 1e-12 * constants.M
    return math.sqrt(2) * largest / constants.n


def _regularisation(constants: Constants, mu: float) -> float:
    """Bound on the noise's largest eigenvalue, except for half of the hit rate's failures."""
    sigma = hessian_sensitivity(constants) / mu
    beyond = math.sqrt(-2 * math.log((1 - WANTED) / 2))
    return sigma * (math.sqrt(2 * constants.p) + beyond + constants.p * _GRID)


def _shared(
    constants: Constants, psi: float, radius: float, mu: float, zero_loss: float
) -> tuple[centres.Centre, float]:
    """Centre, and μ of the Hessian, for the shares of μ² with the least sum of errors."""

    def doubt(share: float) -> tuple[float, centres.Centre, float]:
        centre = centres.best_centre(constants, radius, mu * math.sqrt(share), zero_loss)
        rest = mu * math.sqrt(1 - share)
        lift = _regularisation(constants, rest)
        flattest = min(2 * lift * radius**2, psi * lift / (lift + constants.m))
        return centre.excess + flattest, centre, rest

    _, centre, rest = min((doubt(share) for share in _SHARES), key=lambda tried: tried[0])
    return centre, rest


def _proved(request: Request, centre: centres.Centre) -> float:
    constants = request.constants
    bend = third_derivative_bound(request.loss_function, request.row_norm)
    inside = centres.surely_inside(constants, request.radius, request.zero_loss)
    if bend is None or request.psi == 0 or not inside:
        return 0.0
    excess = centres.excess_quantile(centre, constants, (1 - WANTED) / 2)
    return proved_margin(psi=request.psi, ridge=constants.m, bend=bend, excess=excess)


@dataclass(frozen=True)
class ReleasedCentre:
    """A private centre (p,) in the ball, and an estimate of λ ≥ 0 with ∇L(θ) ≈ −λθ."""

    theta: FloatArray
    multiplier: float


def released_centre(
    problem: Problem, centre: centres.Centre, rng: np.random.Generator
) -> Iterator[ReleasedCentre | None]:
    """Yield None while running, and the private centre at the end."""
    if centre.name == "output":
        noise = centre.noise * rng.standard_normal(problem.p)
        model = _in_domain(problem, certified_minimiser(problem, centre.solver) + noise)
        yield ReleasedCentre(model, 0.0)
        return
    schedule, slope, cut = centre_schedule(centre, problem.constants), np.zeros((problem.p, 1)), 0.0
    assert schedule.shares is not None
    for share, step in zip(schedule.shares, centre_descent(problem, centre, rng), strict=True):
        slope = slope + share * (step.gradient - slope)
        cut += share * (float(np.linalg.norm(step.ahead - step.state)) - cut)
        yield None
    model = _in_domain(problem, step.average[:, 0])
    square = float(model @ model)
    if not schedule.momentum:
        multiplier = cut / centre.step_size / float(problem.domain.radius)
    elif cut > 0 and square > 0:
        multiplier = max(0.0, -float(slope[:, 0] @ model) / square)
    else:
        multiplier = 0.0
    yield ReleasedCentre(model, multiplier)


def _in_domain(problem: Problem, theta: FloatArray) -> FloatArray:
    """Model (p,) of the domain on the public grid, off which the projection may move it."""
    return problem.domain.project(base.to_public_grid(theta)[:, None])[:, 0]


def centre_schedule(centre: centres.Centre, constants: Constants) -> descent.Schedule:
    """Schedule of a centre's descent."""
    steps = centre.step_size, centre.noise, centre.n_steps
    if centre.name == "accelerated":
        return descent.Schedule.accelerated(*steps)
    return descent.Schedule.constant(
        *steps, descent.newest_shares(centres.average_weights(centre, constants))
    )


def centre_descent(
    problem: Problem,
    centre: centres.Centre,
    rng: np.random.Generator,
    start: FloatArray | None = None,
) -> Iterator[descent.DescentStep]:
    """Yield a centre's descent from a model (p,), 0 by default, in one column."""
    schedule = centre_schedule(centre, problem.constants)
    first = np.zeros(problem.p) if start is None else start
    steps = descent.noisy_descent(
        problem.objective.gradient, problem.domain.project, first[:, None], schedule, rng
    )
    return descent.watched(steps, problem, schedule)


def certified_minimiser(problem: Problem, distance: float) -> FloatArray:
    """Minimiser (p,) over the ball, certified to a distance under the problem's ridge."""
    return refined(problem, problem.minimum, problem.m * distance**2 / 2).theta


def refined(
    problem: Problem, known: minimisation.Minimum, tolerance: float
) -> minimisation.Minimum:
    """Minimum certified to ``tolerance``: the known one, or one found from there."""
    if known.gap <= tolerance:
        return known
    return minimisation.minimise(problem.objective, problem.domain, tolerance, known.theta)


def released_hessian(
    problem: Problem, theta: FloatArray, planned: EllipsoidDetails, rng: np.random.Generator
) -> FloatArray:
    """Hessian (p, p) of the rows' mean loss at a released model, with symmetric Gaussian noise."""
    exact = problem.hessian(theta) - problem.ridge * np.eye(problem.p)
    noise = rng.standard_normal(exact.shape)
    noisy = (exact + exact.T) / 2 + planned.hessian_noise * (noise + noise.T) / 2
    return np.asarray(np.round(noisy / planned.grid) * planned.grid + 0.0)


def regularise_hessian(noisy: FloatArray, planned: EllipsoidDetails, ridge: float) -> FloatArray:
    """Matrix A = H̃ + sI + mI, with the eigenvalues of H̃ + sI raised to at least s/1000."""
    values, vectors = np.linalg.eigh(noisy)
    added = planned.regularisation
    eigenvalues = np.maximum(values + added, added / 1000) + ridge
    matrix = (vectors * eigenvalues) @ vectors.T
    return np.asarray((matrix + matrix.T) / 2)


_CELLS_AT_ONCE = 2**24  # rows × models evaluated between two checks of the Stop button
CERTIFIED = (
    "the minimum was certified to the accuracy that the noise covers: if it is not, an error "
    "reveals information about the rows"
)
"""Assumption of a guarantee that depends on a solver."""

ROUNDING = "the Gaussian noise is that of doubles, rounded to public grids (docs/floating-point.md)"
"""Assumption of a guarantee with Gaussian noise."""


class PrivateEllipsoid(base.Mechanism):
    """Models near a private centre, in the metric of a private Hessian."""

    name: ClassVar[str] = "ellipsoid"
    summary: ClassVar[str] = (
        "a uniform model of a private ellipsoid, one privacy cost for any number"
    )
    traits: ClassVar[base.Traits] = base.Traits(
        independent=True,
        unplanned="uniform models of a released ellipsoid, which have no temperature",
        compared=True,
        around_centre=True,
        bound_slack=30.0,
    )

    def why_unsupported(self, request: Request) -> str:
        if not request.delta > 0:
            return "needs delta > 0"
        return "" if math.isfinite(request.constants.M) else "the loss has kinks, and no Hessian"

    def plan_supported(self, request: Request) -> Plan:
        planned = plan_ellipsoid(request)
        solved = planned.details.centre.name == "output"
        stated = (ROUNDING, CERTIFIED) if solved else (ROUNDING,)
        assumptions = (*planned.guarantee.assumptions, *stated)
        return replace(planned, guarantee=replace(planned.guarantee, assumptions=assumptions))

    def explain(self, plan: Plan) -> list[str]:
        rule = ", by the ledger's composition rule" if plan.ledger else ""
        total = rounded_up(plan.guarantee.epsilon(plan.delta))
        margin = plan.details.margin
        reach = f"Models are uniform where the quadratic excess is at most {margin:.2f}·ψ"
        hits = (
            f"{reach}. No hit rate is guaranteed; a private query estimates it at a privacy cost."
        )
        if plan.hit_rate is not None:
            hits = f"{reach}. {base.hits_sentence(plan)}"
        return [
            f"A centre and its curvature cost ε = {total} once, at δ = {plan.delta:g}{rule}: "
            f"{plan.n_draws:,} models of the ellipsoid around it, or any other number, cost no "
            "more.",
            _centre_sentence(plan),
            hits,
        ]

    def improvements(self, plan: Plan, *, ridge: bool = False) -> list[Improvement]:
        return [CENTRE]

    def batches(
        self, target: GibbsTarget, plan: Plan, rng: np.random.Generator
    ) -> Iterator[base.Batch]:
        none = np.empty((target.problem.p, 0))
        region = None
        for region in released_region(target.problem, plan, rng):
            yield base.Batch(none, np.empty(0), evaluated=int(region is None), region=region)
            pause()  # lets a dashboard's event loop run
        assert region is not None
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, 16, 1024))
        for theta in region.batches(min(size, plan.n_draws), rng):
            losses = target.problem.value(theta) if theta.shape[1] else np.empty(0)
            yield base.Batch(theta, losses, evaluated=theta.shape[1], region=region)
            pause()


def released_region(
    problem: Problem, plan: Plan, rng: np.random.Generator
) -> Iterator[CutEllipsoid | None]:
    """Yield None while running, and the released ellipsoid at the end."""
    details = plan.details
    centre: ReleasedCentre | None = None
    for released in released_centre(problem, details.centre, rng):
        centre = released
        yield None
    assert centre is not None
    noisy = released_hessian(problem, centre.theta, details, rng)
    matrix, level = regularise_hessian(noisy, details, plan.ridge), details.margin * plan.psi
    radius = float(problem.domain.radius)
    yield CutEllipsoid.under(centre.theta, centre.multiplier, matrix, level, radius)


def _centre_sentence(plan: Plan) -> str:
    centre = plan.details.centre
    descriptions = {
        "gradients": f"the weighted mean of {centre.n_steps:,} noisy gradient steps",
        "accelerated": f"the weighted mean of {centre.n_steps:,} accelerated noisy gradient steps",
        "output": "the minimiser with noise",
    }
    return (
        f"The centre is {descriptions[centre.name]}; its loss exceeds the least by at most "
        f"{rounded_up(centre.excess)} on average."
    )
