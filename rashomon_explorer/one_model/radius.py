"""The ball for one model, from public numbers."""

import math
from dataclasses import replace

from rashomon_explorer.losses import get_loss, loss_of_zeros
from rashomon_explorer.one_model.objective_perturbation import ObjectivePerturbation
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.rule import LEAST_RADIUS, RADII

_WORTH = 1.5
_WORTH_OF_LENGTH = 0.5  # of a regression, which needs a model's length and not its direction alone


def settled_radius(request: Request, worth: float | None = None) -> float:
    """Radius of a request that leaves it open, whatever its own; reads no row.

    A larger ball holds better models, and whatever finds one in it is noisier. The radius is the R
    in :data:`~rashomon_explorer.planning.rule.RADII` of least

        promised(R) + worth·L(0)/R,

    promised(R) what :class:`ObjectivePerturbation` promises, or, where it does not apply, p·osc/ε
    of an exact draw. Of a loss with kinks exact draws are mostly the only way, and come in balls
    up to 4. ``worth`` is a public constant, chosen once.

    Examples
    --------
    >>> rows = {"p": 31, "psi": 0.0, "loss": "logistic", "radius": 1.0, "row_norm": 1.5}
    >>> budget = {"ridge": 0.0, "epsilon": 1.0, "delta": 1e-6, "n_draws": 1}
    >>> [round(settled_radius(Request(n=n, **rows, **budget)), 1) for n in (400, 4_000, 40_000)]
    [2.8, 11.3, 22.6]
    """
    loss = get_loss(request.loss)
    if worth is None:
        worth = _WORTH_OF_LENGTH if loss.link == "identity" else _WORTH
    zeros = loss_of_zeros(loss)
    most = RADII[-1] if math.isfinite(request.constants.M) else LEAST_RADIUS
    balls = (replace(request, radius=radius) for radius in RADII if radius <= most)
    return min(balls, key=lambda one: _promised(one) + worth * zeros / one.radius).radius


def _promised(request: Request) -> float:
    offer = ObjectivePerturbation().offer(request)
    if offer.applies:
        return offer.excess
    return request.p * request.constants.priced_osc / request.epsilon
