"""Which sampler carries out a request: the best that public numbers let one hope for."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rashomon_explorer.estimators.beforehand import foretold
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.planning import MECHANISMS, Plan, Request
from rashomon_explorer.planning.offers import Offer
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.planning.weakness import WEAK_HIT_RATE
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.samplers import SAMPLERS

_MANY = 0.5
"""Guaranteed hit rate from which draws that are uniform on the set are worth more than more hits"""


@dataclass(frozen=True)
class Way:
    """A sampler, and what its mechanism offers for a request.

    Parameters
    ----------
    sampler : str
        Key in ``SAMPLERS``.
    offer : Offer
        Of its mechanism.
    """

    sampler: str
    offer: Offer

    @property
    def may_give_up(self) -> bool:
        """Whether its draws may not come, however long one waits."""
        return SAMPLERS[self.sampler].traits.may_give_up

    @property
    def around_the_set(self) -> bool:
        """Whether its draws lie around a model that is promised to be in the set, on average."""
        centre = self.offer.plan.centre_excess
        return centre is not None and centre <= self.offer.plan.psi

    @property
    def hopeless(self) -> str:
        """Why its draws are not to be expected, tried on simulated rows; empty where they are."""
        return foretold(self.offer.plan) if self.may_give_up else ""


@lru_cache(maxsize=64, typed=True)
def chosen(**asked: Any) -> Plan:
    """Choose the way to draw from public numbers, and plan it; reads no row, charges nothing.

    One draw, or ψ = 0, asks for one good model: the way of least promised excess. Several draws
    ask for the set: the way that is uniform on it, if at least half of its draws are promised to
    lie in it; else the way of most promised hits; else, where no way promises a fifth, one whose
    draws lie around a model that is promised to be in the set; else that of least promised excess.
    Draws that may not come are chosen only if they do on simulated rows, and of two ways that
    promise the same, the one that always answers.

    Parameters
    ----------
    **asked
        As :class:`~rashomon_explorer.planning.Request` takes them.

    Returns
    -------
    Plan
        With ``sampler``, ``why`` and all ``options``, the best first.

    Raises
    ------
    SamplerError
        If no way applies, or those that do are not to be expected to answer; nothing is charged.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
    >>> budget = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6}
    >>> chosen(**rows, **budget, n_draws=1).sampler, chosen(**rows, **budget, n_draws=3).sampler
    ('unthresholded', 'exact')
    >>> print(chosen(**rows, **budget, n_draws=3).why.split(";")[0])
    at least 90% of the draws lie in the set, uniformly
    """
    request = Request(**asked)
    with said_elsewhere():  # whoever asks for a plan warns of it
        ways = [
            Way(name, _offer(kind.traits.mechanism, request))
            for name, kind in SAMPLERS.items()
            if kind.traits.weighed
        ]
        ways.sort(key=lambda way: _rank(way, request))
        hopes = {}
        for way in ways:
            hopes[way.sampler] = way.offer.why if not way.offer.applies else way.hopeless
            if not hopes[way.sampler]:
                return replace(
                    way.offer.plan,
                    sampler=way.sampler,
                    why=_why(way, request),
                    options=tuple(one.offer for one in ways),
                )
    told = "; ".join(f"{name}: {why}" for name, why in hopes.items())
    raise SamplerError(
        f"no way to draw is to be expected to answer, so that nothing was charged. {told}. "
        'To try one all the same, name it: sampler="exact"'
    )


def is_about_one(request: Request) -> bool:
    """Whether one good model is asked for, and not the set.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
    >>> budget = {"radius": 4, "row_norm": 1.5, "epsilon": 1, "delta": 0}
    >>> is_about_one(Request(**rows, **budget, n_draws=1))
    True
    """
    return request.n_draws == 1 or request.psi == 0


def _offer(mechanism: str, request: Request) -> Offer:
    offer = MECHANISMS[mechanism].offer(request)
    instead = MECHANISMS[mechanism].instead
    return offer if offer.applies or not instead else MECHANISMS[instead].offer(request)


def _rank(way: Way, request: Request) -> tuple[Any, ...]:
    offer = way.offer
    if not offer.applies:
        return (4,)
    if not is_about_one(request):
        if offer.uniform and offer.hit_rate >= _MANY:
            return (0, way.may_give_up, -offer.hit_rate)
        if offer.hit_rate >= WEAK_HIT_RATE:
            return (1, -_shown(offer.hit_rate), way.may_give_up)
        if way.around_the_set:
            return (2, offer.plan.centre_excess)
    return (3, _shown(offer.excess), way.may_give_up)


def _shown(value: float) -> float:
    """Two digits: nobody chooses by the third."""
    return float(f"{value:.2g}") if math.isfinite(value) else value


def _why(way: Way, request: Request) -> str:
    offer = way.offer
    comes = "they are to be expected, though rows may be unusual"
    comes = comes if way.may_give_up else "it always answers"
    if not is_about_one(request) and offer.hit_rate >= WEAK_HIT_RATE:
        around = offer.plan.centre_excess is not None
        crowded = "on a released ellipsoid" if around else "crowded near the best model"
        where = "uniformly" if offer.uniform else crowded
        hits = f"at least {hit_rate_text(offer.hit_rate)} of the draws lie in the set, {where}"
        return f"{hits}; {comes}"
    if not is_about_one(request) and way.around_the_set:
        near = rounded_up(offer.plan.centre_excess)
        return (
            f"the draws lie around a model whose excess is promised to be at most {near}, within "
            f"ψ; no share of hits is proved; {comes}"
        )
    return f"the least excess that any way promises, {rounded_up(offer.excess)}; {comes}"
