"""Changes of a plan that reach its next better guarantee."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rashomon_explorer._utils.formatting import rounded_down, rounded_up
from rashomon_explorer.mechanisms import costs
from rashomon_explorer.mechanisms.bounds import beta_for_hit_rate, beta_for_unthresholded_hit_rate
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy.conversions import gdp_epsilon

# A larger factor on the inverse temperature needs unrealistically many rows or a huge budget.
_MAX_FACTOR = 1e12
_HIT_RATES = (0.5, 0.8, 0.9, 0.95, 0.99)
_RIDGES = (1.0, 0.1, 0.01)
_MAX_SHRINKAGE = 4  # largest factor by which a suggested radius is smaller; less leaves few models
_MAX_SEARCH_FACTOR = 2.0**40
_SEARCH_TOLERANCE = 1e-4
_LOWER = "lower the bound on the excess loss"


@dataclass(frozen=True)
class Suggestion:
    """One change of a plan that reaches its next better guarantee."""

    words: str
    setting: str
    value: float


@dataclass(frozen=True)
class Improvement:
    """The next better guarantee of a plan, and the single changes that reach it; or advice."""

    goal: str
    changes: tuple[Suggestion, ...] = ()
    approximate: bool = False

    def __str__(self) -> str:
        if not self.changes:
            return self.goal
        *first, last = (change.words for change in self.changes)
        takes = "takes about" if self.approximate else "takes"
        comma = "" if self.approximate else ","
        listed = f"{', '.join(first)}{comma} or {last}" if first else last
        return f"For {self.goal} it {takes} {listed}."


CENTRE = Improvement(f"More rows, a larger ε, more ridge or a smaller radius {_LOWER}.")
"""Advice on draws around a centre."""

_NEARLY = Improvement(f"More rows, a larger ε or a smaller radius {_LOWER}.")
_PATH = Improvement(f"More rows, a larger ε, fewer chains, a smaller radius or ψ = 0 {_LOWER}.")


def law_improvements(plan: Plan, *, ridge: bool = False) -> list[Improvement]:
    """List what the next hit rate of exact draws needs; ``ridge`` suggests ridges, too."""
    target = _next_target(plan) if plan.columns is None else None
    if target is None or not 0 < plan.beta < math.inf or not target[1] < _MAX_FACTOR * plan.beta:
        return []
    goal, beta = target
    law = plan.law
    if plan.certified_by_bounded_range:
        changes = _changes_by_range(plan, beta, law)
    elif law is not None:
        changes = _changes_by_search(plan, beta, law)
    else:
        return [Improvement(f"For {goal} it takes a β of {beta:,.0f}.")]
    if ridge and law is not None:
        changes += _ridge_suggestions(plan, beta, law)
    return [Improvement(goal, tuple(changes))]


def excess_improvements(plan: Plan) -> list[Improvement]:
    """List what lowers the excess bound of a plan without a hit rate."""
    return [] if plan.hit_rate is not None else [_NEARLY]


def path_improvements(plan: Plan) -> list[Improvement]:
    """List what makes the excess bound of a path less than the loss of a model of zeros."""
    shortfall = _path_shortfall(plan)
    if shortfall is None:
        return [_PATH]
    if plan.radius is None or not 1 < shortfall < _MAX_FACTOR:
        return [_NEARLY]
    cost = rounded_up(gdp_epsilon(plan.guarantee.mu * shortfall, plan.delta))
    changes = [Suggestion(f"ε = {cost}", "epsilon", float(cost)), _rows(plan.n * shortfall)]
    if shortfall < _MAX_SHRINKAGE:
        changes.append(_radius(plan.radius / shortfall))
    return [Improvement("less than that", tuple(changes), approximate=True)]


def _path_shortfall(plan: Plan) -> float | None:
    """Ratio of the guaranteed excess to the loss of a model of zeros; None if not known."""
    nothing, mu = plan.zero_loss, plan.guarantee.mu
    if plan.law_threshold > 0 or nothing is None or plan.radius is None or mu is None:
        return None
    return plan.comparison_excess / nothing


def _rows(count: float) -> Suggestion:
    return Suggestion(f"{math.ceil(count):,} rows", "n", float(math.ceil(count)))


def _radius(radius: float) -> Suggestion:
    text = rounded_down(radius)
    return Suggestion(f"radius = {text}", "radius", float(text))


def _next_target(plan: Plan) -> tuple[str, float] | None:
    """Next better guarantee in words, and the inverse temperature that it needs."""
    if plan.psi == 0:
        if plan.zero_loss is None or plan.excess_bound <= plan.zero_loss / 2:
            return None
        half = plan.zero_loss / 2
        return f"an excess of {rounded_up(half)}", plan.p / half
    rate = next((rate for rate in _HIT_RATES if rate > plan.hit_rate_bound), None)
    if rate is None:
        return None
    cold_enough = beta_for_unthresholded_hit_rate if plan.law_psi == 0 else beta_for_hit_rate
    return f"{100 * rate:.0f} %", cold_enough(plan.p, plan.psi, rate)


def _changes_by_range(plan: Plan, beta: float, law: Request | None) -> list[Suggestion]:
    colder, least = beta / plan.beta, plan.eta / beta
    eta = plan.eta * colder
    cost = costs.draws_guarantee(eta, plan.n_draws, ledger=plan.ledger).epsilon(plan.delta)
    fewer = costs.affordable_draws(plan.epsilon, plan.delta, eta, ledger=plan.ledger)
    suggestions = [*_cost_suggestions(plan, cost, fewer), _rows(plan.n * colder)]
    suggestions += _threshold_suggestions(plan, colder)
    if law is not None:
        suggestions += _radius_suggestions(
            law, lambda k: _scaled(law, 1 / k, "radius").constants.charged_oscillation <= least
        )
    return suggestions


def _changes_by_search(plan: Plan, beta: float, law: Request) -> list[Suggestion]:
    def affords(changed: Request) -> bool:
        colder = beta * law.psi / changed.psi if law.psi else beta
        guarantee = _cost_table(changed).guarantee(colder, plan.n_draws)[1]
        return guarantee.epsilon(plan.delta) <= plan.epsilon

    prices = _cost_table(law)
    cost = prices.guarantee(beta, plan.n_draws)[1].epsilon(plan.delta)
    suggestions = _cost_suggestions(plan, cost, prices.most_draws(plan.epsilon, beta))
    rows = least_factor(lambda k: affords(_scaled(law, k, "n")))
    suggestions += [] if rows is None else [_rows(law.n * rows)]
    width = least_factor(lambda k: affords(_scaled(law, k, "psi"))) if law.psi else None
    if plan.law_psi == 0:  # its privacy cost does not depend on the threshold of the set
        width = beta / plan.beta
    suggestions += [] if width is None else _threshold_suggestions(plan, width)
    return suggestions + _radius_suggestions(law, lambda k: affords(_scaled(law, 1 / k, "radius")))


def _cost_table(law: Request) -> costs.CostTable:
    """Privacy costs of exact draws by the best certificate."""
    return costs.CostTable(
        law.constants, law.domain, law.psi, law.delta, law.composition, best=True
    )


def _scaled(law: Request, factor: float, name: str) -> Request:
    """Multiply one number of a law by a factor; ``n`` is rounded up."""
    value = factor * getattr(law, name)
    return replace(law, **{name: math.ceil(value) if name == "n" else value})


def _ridge_suggestions(plan: Plan, beta: float, law: Request) -> list[Suggestion]:
    """Find the smallest round ridge that suffices, from the largest downwards."""
    if plan.ledger or plan.delta == 0:
        return []
    found = None
    for ridge in _RIDGES:
        prices = _cost_table(replace(law, ridge=ridge))
        guarantee = prices.guarantee(beta, plan.n_draws)[1]
        if ridge <= law.ridge or guarantee.epsilon(plan.delta) > plan.epsilon:
            break
        found = ridge
    if found is None:
        return []
    return [Suggestion(f"ridge = {found:g} with exact draws", "ridge", found)]


def _cost_suggestions(plan: Plan, cost: float, fewer: int) -> list[Suggestion]:
    many = "as many draws" if plan.n_draws > 1 else "the draw"
    text = rounded_up(cost)
    suggestions = [Suggestion(f"ε = {text} for {many}", "epsilon", float(text))]
    if 0 < fewer < plan.n_draws:
        words = f"{fewer:,} draw{'s' if fewer > 1 else ''} for the same ε"
        suggestions.append(Suggestion(words, "n_draws", float(fewer)))
    return suggestions


def _threshold_suggestions(plan: Plan, factor: float) -> list[Suggestion]:
    """Suggest a threshold that suffices, unless the model of zeros is within it."""
    psi = plan.psi * factor
    useful = 0 < psi < (plan.zero_loss or math.inf)
    text = rounded_up(psi)
    return [Suggestion(f"ψ = {text}", "psi", float(text))] if useful else []


def _radius_suggestions(law: Request, affords: Callable[[float], bool]) -> list[Suggestion]:
    """Suggest a radius that suffices, unless the ball becomes too small."""
    factor = least_factor(affords, _MAX_SHRINKAGE)
    return [] if factor is None else [_radius(law.radius / factor)]


def least_factor(
    affords: Callable[[float], bool], most: float = _MAX_SEARCH_FACTOR
) -> float | None:
    """Least affordable factor above 1, rounded up slightly; None if ``most`` is not affordable."""
    if not affords(most):
        return None
    low, high = 1.0, 2.0
    while high < most and not affords(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high / low > 1 + _SEARCH_TOLERANCE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if affords(middle) else (middle, high)
    return high
