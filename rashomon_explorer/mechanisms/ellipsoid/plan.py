"""Plan of draws from a private ellipsoid."""

import math
from dataclasses import dataclass, replace

from scipy.optimize import minimize_scalar

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer._utils.validation import check_share
from rashomon_explorer.mechanisms import centres
from rashomon_explorer.mechanisms.bounds.one_model import generalisation_gap
from rashomon_explorer.mechanisms.plans import Details, Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.losses import Loss

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

    def bounds(self, plan: Plan) -> list[Fact]:
        """State the bound of the centre's loss."""
        excess = f"exceeds the least by ≤ {rounded_up(self.centre.excess)} on average"
        return [("centre's loss", excess)]

    def facts(self, plan: Plan) -> list[Fact]:
        """List how the centre is found, and the size."""
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
    size = _margin(psi, centre, proved) if margin is None else float(margin)
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
    """Bound √2·b/n on the Frobenius distance of the Hessians of neighbours at one model.

    b bounds the Frobenius norm of one row's Hessian f''(s)·zzᵀ or, for several classes,
    (diag π − ππᵀ) ⊗ zzᵀ. The bound M − m on its largest eigenvalue is sufficient: sup f''·B², and
    ½B² for three and more classes, as ‖diag π − ππᵀ‖²_F ≤ Σπ² − (Σπ²)² ≤ ¼ (docs/theory.md §13).
    """
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
    """Largest proved margin; 0 if there is none."""
    constants = request.constants
    bend = third_derivative_bound(request.loss_function, request.row_norm)
    inside = centres.surely_inside(constants, request.radius, request.zero_loss)
    if bend is None or request.psi == 0 or not inside:
        return 0.0
    excess = centres.excess_quantile(centre, constants, (1 - WANTED) / 2)
    return proved_margin(psi=request.psi, ridge=constants.m, bend=bend, excess=excess)


def _margin(psi: float, centre: centres.Centre, proved: float) -> float:
    if psi == 0 or proved >= _WORTH_PROVING:
        return proved
    return min(_MOST, max(_LEAST, 1 - centre.excess / (_LOOSE * psi)))
