"""Which method makes one model: the least excess that public numbers promise."""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rashomon_explorer.estimators.beforehand import (
    ALWAYS_CAME,
    is_tried,
    tried_on_simulated_rows,
)
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import get_loss
from rashomon_explorer.one_model import METHODS, ModelOffer, ModelPlan
from rashomon_explorer.one_model.radius import settled_radius
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.localisation import LocalisationPlan
from rashomon_explorer.planning.public_law import PublicLaw
from rashomon_explorer.planning.rule import AUTO
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.samplers.preflight import comes_nowhere, stays_away

GOALS = {"rows": "on the rows", "population": "on new rows"}
"""On which rows a model is to be good, in words."""

_ALIKE = 1.1  # promises within a tenth of the least: bounds are many times what happens


@lru_cache(maxsize=64, typed=True)
def planned_model(*, method: str, goal: str, radius: float | str, **asked: Any) -> ModelPlan:
    """Plan one model by a method, or by the one that promises most; reads no row.

    The way of least promised excess is taken, as :meth:`ModelOffer.weighed` has it; of ways within
    a tenth of it the first of ``METHODS`` that always answers. Exact draws that are not to be
    expected are not.

    Parameters
    ----------
    method : str
        Key in ``METHODS``, or ``"auto"``.
    goal : {"rows", "population"}
    radius : float or "auto"
        ``"auto"`` is settled by :func:`rashomon_explorer.one_model.radius.settled_radius`.
    **asked
        As :class:`~rashomon_explorer.planning.Request` takes them; ψ is 0, and there is one draw.

    Raises
    ------
    SamplerError
        If no method is to be expected to answer, or the one that was named does not apply; nothing
        is charged.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "loss": "logistic", "row_norm": 1.5, "ridge": 0.0}
    >>> budget = {"epsilon": 1.0, "delta": 0.0, "radius": 4.0, "goal": "rows"}
    >>> planned_model(method="auto", **rows, **budget).method
    'objective_perturbation'
    >>> print(planned_model(method="gibbs", **rows, **budget).why)
    it was asked for
    """
    given = 1.0 if isinstance(radius, str) else float(radius)
    # A bound in single precision would make all that is computed with it as coarse.
    plain: dict[str, Any] = {
        name: float(x) if isinstance(x, np.floating) else x for name, x in asked.items()
    }
    request = Request(**plain, radius=given, psi=0.0, n_draws=1)
    if radius == AUTO:
        request = replace(request, radius=settled_radius(request))
    offers = [one.offer(request) for one in METHODS.values()]
    taken, why = _named(offers, method, request) if method != AUTO else _best(offers, goal)
    first = sorted(offers, key=lambda one: (not one.applies, one.promised(goal)))
    return ModelPlan(request, taken, goal, why, tuple(first))


def _named(offers: list[ModelOffer], method: str, request: Request) -> tuple[ModelOffer, str]:
    (offer,) = (one for one in offers if one.method == method)
    if not offer.applies:
        raise SamplerError(
            f"method={method!r} does not apply: {offer.why}. Nothing was charged; "
            'method="auto" takes one that does'
        )
    if told := _stays_away(offer, request):
        raise SamplerError(
            f"{told}, so that nothing was charged for method={method!r}; "
            'method="auto" takes one that answers'
        )
    return offer, "it was asked for"


def _stays_away(offer: ModelOffer, request: Request) -> str:
    """Say that a model that was named stays away on every kind of simulated rows; empty if not."""
    none = "exact draws came on no kind of simulated rows that was tried"
    if offer.exact is not None:
        away = is_tried(offer.exact) and comes_nowhere(offer.exact)
        return f"{tried_on_simulated_rows(offer.exact)} So {none}" if away else ""
    if not offer.may_give_up or request.p <= ALWAYS_CAME:
        return ""
    planned: LocalisationPlan = offer.settings
    law = PublicLaw(
        get_loss(request.loss),
        *(request.n, request.p, request.psi, request.radius, request.row_norm, offer.ridge),
    )
    whole = (stage.beta for stage in planned.stages if math.isinf(stage.distance))
    return none if any(stays_away(law, float(beta)) for beta in whole) else ""


def _best(offers: list[ModelOffer], goal: str) -> tuple[ModelOffer, str]:
    hopes: dict[str, str] = {one.method: one.why for one in offers if not one.applies}
    good: list[ModelOffer] = []
    for one in sorted(offers, key=lambda one: one.weighed(goal)):
        if not one.applies or (good and one.weighed(goal) > _ALIKE * good[0].weighed(goal)):
            continue
        hopes[one.method] = _hopeless(one)
        if not hopes[one.method]:
            good.append(one)
    if not good:
        told = "; ".join(f"{name}: {why}" for name, why in hopes.items())
        raise SamplerError(
            f"no method is to be expected to answer, so that nothing was charged. {told}"
        )
    order = list(METHODS)
    taken = min(good, key=lambda one: (one.may_give_up, order.index(one.method)))
    alike = "" if taken is good[0] else ", or within a tenth of it"
    comes = "it always answers"
    if taken.may_give_up:
        comes = "it is to be expected, though rows may be unusual"
    least = f"the least excess {GOALS[goal]} that any method promises{alike}"
    if taken.looseness > 1:
        least = f"{least}, where its own bound counts for {1 / taken.looseness:.0%} of itself"
    return taken, f"{least}, {rounded_up(taken.promised(goal))}; {comes}"


def _hopeless(offer: ModelOffer) -> str:
    """Why a model is not to be expected; empty where it is."""
    if not offer.may_give_up:
        return ""
    if offer.exact is not None:
        return tried_on_simulated_rows(offer.exact)
    planned: LocalisationPlan = offer.settings
    if planned.p <= ALWAYS_CAME and math.isfinite(planned.stages[0].distance):
        return ""
    return "exact draws near a release are foretold of few parameters and small parts alone"
