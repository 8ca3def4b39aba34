"""Which sampler carries out a request: the best that public numbers let one hope for."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from rashomon_explorer.estimators.beforehand import foretold, is_hopeless, is_likely
from rashomon_explorer.estimators.made_once import made_once
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.planning import MECHANISMS, Plan, Request
from rashomon_explorer.planning.offers import Offer
from rashomon_explorer.planning.rule import AUTO, completed, cost
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.planning.weakness import WEAK_HIT_RATE
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.samplers import SAMPLERS

_MANY = 0.5
"""Guaranteed hit rate from which draws that are uniform on the set are worth more than more hits"""

_LONGEST_COEFFICIENT = 32.0  # of draws without privacy, in units of rows scaled to row_norm

_ANY = {"radius": 1.0, "ridge": 0.0, "n_draws": 1}
_SMALLER = (16.0, 8.0, 4.0, 2.0, 1.0)


@dataclass(frozen=True)
class Way:
    """A sampler, and what its mechanism offers for a request.

    Parameters
    ----------
    sampler : str
        Key in ``SAMPLERS``.
    offer : Offer
        Of its mechanism.
    cost : float
        What the rule expects of a draw's loss.
    """

    sampler: str
    offer: Offer
    cost: float

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
    def hopeless(self) -> bool:
        """Whether its draws are not to be expected, tried on simulated rows."""
        return self.may_give_up and is_hopeless(self.offer.plan)

    @property
    def why_not(self) -> str:
        """Why it is not taken."""
        return foretold(self.offer.plan) if self.offer.applies else self.offer.why


@lru_cache(maxsize=64, typed=True)
def chosen(**asked: Any) -> Plan:
    """Choose the way to draw from public numbers, and plan it; reads no row, charges nothing.

    What is left open (``"auto"``) is settled for each way by itself, by the rule of
    :func:`~rashomon_explorer.planning.rule.completed`, and then the ways are compared.

    One draw, or ψ = 0, asks for one good model: the way of which the rule expects the least loss.
    Several draws ask for the set: the way that is uniform on it, if at least half of its draws are
    promised to lie in it; else the way of most promised hits; else, where no way promises a fifth,
    one whose draws lie around a model that is promised to be in the set; else that of which the
    rule expects the least loss. Where their number is left open, only ways for which the rule
    settles on several draws are asked for the set, and if there is none, one good model is.
    Draws that may not come are chosen only if they do on simulated rows, and of two ways that
    promise the same, the one that always answers.

    Parameters
    ----------
    **asked
        As :func:`~rashomon_explorer.planning.rule.completed` takes them.

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
    ('langevin_average', 'exact')
    >>> print(chosen(**rows, **budget, n_draws=3).why.split(";")[0])
    at least 90% of the draws lie in the set, uniformly
    """
    with said_elsewhere():  # whoever asks for a plan warns of it
        ways = [_way(name, asked) for name, kind in SAMPLERS.items() if kind.traits.weighed]
        ways.sort(key=_rank)
        for way in chain(ways, _in_smaller_balls(ways, asked)):
            if way.offer.applies and not way.hopeless:
                return _taken(way, ways)
        told = "; ".join(f"{way.sampler}: {way.why_not}" for way in ways)
    raise SamplerError(
        f"no way to draw is to be expected to answer, so that nothing was charged. {told}. "
        'To try one all the same, name it: sampler="exact", patience=5_000_000'
    )


def named(sampler: str, **asked: Any) -> Plan:
    """Plan a way that was named, in the largest ball of a few in which its draws are likely.

    The rule's own ball comes first; smaller ones are tried where that is left open and exact draws
    do not come in it on simulated rows. If they come in none, the rule's ball stays.

    A named sampler gets no ridge unless one is given: a ridge changes the Rashomon set. The ball of
    uniform draws without privacy is 32·√p: it depends on no budget and on no number of draws.

    Parameters
    ----------
    sampler : str
        Key in ``SAMPLERS``.
    **asked
        As :func:`chosen` takes them.

    Examples
    --------
    >>> rows = {"n": 48_842, "p": 91, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
    >>> budget = {"row_norm": 2.2, "epsilon": 1.0, "delta": 0.0, "n_draws": 1}
    >>> planned = named("exact", **rows, **budget, radius="auto")
    >>> planned.radius, planned.why.split(": ")[0]
    (2.0, "in the rule's ball, of radius 22.63, draws are not to be expected")
    >>> named("hit_and_run", **rows, **budget, radius="auto").radius == 32 * 91**0.5
    True
    """
    traits = SAMPLERS[sampler].traits
    asked = {**asked, **_open(asked, {"ridge": 0.0})}
    if traits.curator_only and traits.stays_inside:
        asked = {**asked, **_open(asked, {"radius": _LONGEST_COEFFICIENT * asked["p"] ** 0.5})}
    planned = made_once(traits.mechanism, **asked)
    assert planned.radius is not None  # every mechanism says for which ball it planned
    if asked["radius"] != AUTO or not traits.may_give_up or is_likely(planned):
        return planned
    for radius in (R for R in _SMALLER if R < planned.radius):
        smaller = made_once(traits.mechanism, **{**asked, "radius": radius})
        if is_likely(smaller):
            why = (
                f"in the rule's ball, of radius {planned.radius:.4g}, draws are not to be "
                "expected: this is the largest of a few smaller ones in which they are"
            )
            return replace(smaller, sampler=sampler, why=why)
    return planned


def is_about_one(planned: Plan) -> bool:
    """Whether one good model is planned for, and not the set.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> is_about_one(plan(50_000, 11, 0.02, radius=4, row_norm=1.5, epsilon=1))
    True
    """
    return planned.n_draws == 1 or planned.psi == 0


def _taken(way: Way, ways: list[Way]) -> Plan:
    offers = tuple(one.offer for one in ways)
    planned: Plan = replace(way.offer.plan, sampler=way.sampler, why=_why(way), options=offers)
    return planned


def _way(sampler: str, asked: dict[str, Any]) -> Way:
    """Complete the request for a sampler by the rule, and have its mechanism offer."""
    traits = SAMPLERS[sampler].traits
    mechanism = traits.mechanism
    probe = MECHANISMS[mechanism].offer(Request(**{**asked, **_open(asked, _ANY)}))
    if not probe.applies and not MECHANISMS[mechanism].instead:
        return Way(sampler, probe, math.inf)
    if not probe.applies:
        mechanism = MECHANISMS[mechanism].instead
    if traits.may_give_up:  # a ridge changes the set: it is for whoever asks for one
        asked = {**asked, **_open(asked, {"ridge": 0.0})}
    request = completed(mechanism, **asked) if AUTO in asked.values() else Request(**asked)
    offer = MECHANISMS[mechanism].offer(request)
    return Way(sampler, offer, cost(mechanism, offer.plan))


def _open(asked: dict[str, Any], taken: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in taken.items() if asked[name] == AUTO}


def _in_smaller_balls(ways: list[Way], asked: dict[str, Any]) -> Iterator[Way]:
    """Exact draws that are hopeless where the rule would have them, where more of them come."""
    if asked["radius"] == AUTO:
        found = (way for way in ways if way.may_give_up and way.offer.applies)
        for way in islice(found, 1):
            largest = way.offer.plan.radius
            for radius in (R for R in _SMALLER if R < largest):
                yield _way(way.sampler, {**asked, "radius": radius})


def _rank(way: Way) -> tuple[Any, ...]:
    offer = way.offer
    if not offer.applies:
        return (4,)
    if not is_about_one(offer.plan):
        if offer.uniform and offer.hit_rate >= _MANY:
            return (0, way.may_give_up, -offer.hit_rate)
        if offer.hit_rate >= WEAK_HIT_RATE:
            return (1, -_shown(offer.hit_rate), way.may_give_up)
        if way.around_the_set:
            return (2, offer.plan.centre_excess)
    return (3, way.may_give_up, way.cost)


def _shown(value: float) -> float:
    """Two digits: nobody chooses by the third."""
    return float(f"{value:.2g}") if math.isfinite(value) else value


def _why(way: Way) -> str:
    offer = way.offer
    comes = "they are to be expected, though rows may be unusual"
    comes = comes if way.may_give_up else "it always answers"
    if not is_about_one(offer.plan) and offer.hit_rate >= WEAK_HIT_RATE:
        around = offer.plan.centre_excess is not None
        crowded = "on a released ellipsoid" if around else "crowded near the best model"
        where = "uniformly" if offer.uniform else crowded
        hits = f"at least {hit_rate_text(offer.hit_rate)} of the draws lie in the set, {where}"
        return f"{hits}; {comes}"
    if not is_about_one(offer.plan) and way.around_the_set:
        near = rounded_up(offer.plan.centre_excess)
        return (
            f"the draws lie around a model whose excess is promised to be at most {near}, within "
            f"ψ; no share of hits is proved; {comes}"
        )
    if is_about_one(offer.plan):
        return f"one model, the least loss is to be expected of this way; {comes}"
    return f"no way can promise the set, and the least loss is to be expected of this one; {comes}"
