"""Suggestions that improve a plan, and warnings about weak plans."""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from rashomon_explorer._utils.formatting import rounded_down, rounded_up
from rashomon_explorer.exceptions import LargeDeltaWarning, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.bounds.hit_rate import (
    beta_for_hit_rate,
    beta_for_unthresholded_hit_rate,
)
from rashomon_explorer.mechanisms.planning import pricing
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.trees import TreePlan, tree_improvement_messages
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy.conversions import gdp_epsilon

# A larger factor on the inverse temperature needs unrealistically many rows or a huge budget.
_BEYOND = 1e12
_WORTH_WANTING = (0.5, 0.8, 0.9, 0.95, 0.99)
_RIDGES = (1.0, 0.1, 0.01)
_SMALLER = 4  # largest factor by which a suggested radius is smaller; less leaves few models
_MOST = 2.0**40
_FINE = 1e-4
_LOWER = "lower the bound on the excess loss"
_CENTRE = f"More rows, a larger ε, more ridge or a smaller radius {_LOWER}."
_NEARLY = f"More rows, a larger ε or a smaller radius {_LOWER}."
_PATH = f"More rows, a larger ε, fewer chains, a smaller radius or ψ = 0 {_LOWER}."


@dataclass(frozen=True)
class Suggestion:
    """One change of a plan that reaches its next better guarantee."""

    words: str
    setting: str
    value: float


@dataclass(frozen=True)
class Improvement:
    """The next better guarantee of a plan, and the single changes that reach it."""

    goal: str
    remedies: tuple[Suggestion, ...]
    about: bool = False

    def __str__(self) -> str:
        *first, last = (remedy.words for remedy in self.remedies)
        takes = "takes about" if self.about else "takes"
        comma = "" if self.about else ","
        listed = f"{', '.join(first)}{comma} or {last}" if first else last
        return f"For {self.goal} it {takes} {listed}."


def improvement_messages(planned: Plan | TreePlan, *, ridge: bool = False) -> list[str]:
    """Describe what the next better guarantee needs; empty if none is better."""
    if isinstance(planned, TreePlan):
        return tree_improvement_messages(planned)
    if planned.expected is not None and planned.expected.is_weak:
        return ["More rows, a larger ε or fewer columns are expected to help."]
    found = next_improvement(planned, ridge=ridge)
    if found is not None:
        return [str(found)]
    if planned.along_path:
        return [_PATH if _path_shortfall(planned) is None else _NEARLY]
    if planned.centre_excess is not None:
        return [_CENTRE]
    if planned.by_excess:
        return [_NEARLY]
    target = _next_target(planned) if planned.columns is None else None
    if target is None or not 0 < planned.beta < math.inf:
        return []
    if not target[1] < _BEYOND * planned.beta:
        return []
    return [f"For {target[0]} it takes a β of {target[1]:,.0f}."]


def next_improvement(planned: Plan | TreePlan, *, ridge: bool = False) -> Improvement | None:
    """Find what the next better guarantee needs; None if none is better or known."""
    if isinstance(planned, TreePlan):
        return None
    if planned.along_path:
        return _of_a_path(planned)
    if planned.centre_excess is not None:
        return None
    target = _next_target(planned) if planned.columns is None else None
    if target is None or not 0 < planned.beta < math.inf:
        return None
    guarantee, beta = target
    law = planned.law
    if not beta < _BEYOND * planned.beta:
        return None
    if planned.by_bounded_range:
        suggestions = _by_range(planned, beta, law)
    elif law is not None:
        suggestions = _by_search(planned, beta, law)
    else:
        return None
    if ridge and law is not None:
        suggestions += _by_ridge(planned, beta, law)
    return Improvement(guarantee, tuple(suggestions))


def _of_a_path(planned: Plan) -> Improvement | None:
    """Find what makes the guaranteed excess less than the loss of a model of zeros, roughly."""
    short = _path_shortfall(planned)
    if short is None or planned.radius is None or not 1 < short < _BEYOND:
        return None
    cost = rounded_up(gdp_epsilon(planned.guarantee.mu * short, planned.delta))
    suggestions = [Suggestion(f"ε = {cost}", "epsilon", float(cost)), _rows(planned.n * short)]
    if short < _SMALLER:
        suggestions.append(_radius(planned.radius / short))
    return Improvement("less than that", tuple(suggestions), about=True)


def _path_shortfall(planned: Plan) -> float | None:
    """Ratio of the guaranteed excess to the loss of a model of zeros; None if not known."""
    nothing, mu = planned.zero_loss, planned.guarantee.mu
    if planned.drawn_psi > 0 or nothing is None or planned.radius is None or mu is None:
        return None
    return planned.weighed_excess / nothing


def _rows(count: float) -> Suggestion:
    return Suggestion(f"{math.ceil(count):,} rows", "n", float(math.ceil(count)))


def _radius(radius: float) -> Suggestion:
    text = rounded_down(radius)
    return Suggestion(f"radius = {text}", "radius", float(text))


def _next_target(planned: Plan) -> tuple[str, float] | None:
    """Next better guarantee in words, and the inverse temperature that it needs."""
    if planned.psi == 0:
        if planned.zero_loss is None or planned.excess_bound <= planned.zero_loss / 2:
            return None
        half = planned.zero_loss / 2
        return f"an excess of {rounded_up(half)}", planned.p / half
    rate = next((rate for rate in _WORTH_WANTING if rate > planned.hit_rate_bound), None)
    if rate is None:
        return None
    cold_enough = beta_for_unthresholded_hit_rate if planned.law_psi == 0 else beta_for_hit_rate
    return f"{100 * rate:.0f} %", cold_enough(planned.p, planned.psi, rate)


def _by_range(planned: Plan, beta: float, law: Request | None) -> list[Suggestion]:
    colder, least = beta / planned.beta, planned.eta / beta
    eta = planned.eta * colder
    cost = pricing.draws_guarantee(eta, planned.n_draws, ledger=planned.ledger).epsilon(
        planned.delta
    )
    fewer = pricing.affordable_draws(planned.epsilon, planned.delta, eta, ledger=planned.ledger)
    suggestions = [*_costs(planned, cost, fewer), _rows(planned.n * colder)]
    suggestions += _wider(planned, colder)
    if law is not None:
        suggestions += _smaller(
            law, lambda k: _scaled(law, 1 / k, "radius").constants.charged_oscillation <= least
        )
    return suggestions


def _by_search(planned: Plan, beta: float, law: Request) -> list[Suggestion]:
    def affords(changed: Request) -> bool:
        colder = beta * law.psi / changed.psi if law.psi else beta
        guarantee = _cost_table(changed).guarantee(colder, planned.n_draws)[1]
        return guarantee.epsilon(planned.delta) <= planned.epsilon

    prices = _cost_table(law)
    cost = prices.guarantee(beta, planned.n_draws)[1].epsilon(planned.delta)
    suggestions = _costs(planned, cost, prices.most_draws(planned.epsilon, beta))
    rows = _least_factor(lambda k: affords(_scaled(law, k, "n")))
    suggestions += [] if rows is None else [_rows(law.n * rows)]
    width = _least_factor(lambda k: affords(_scaled(law, k, "psi"))) if law.psi else None
    if planned.law_psi == 0:  # its privacy cost does not depend on the threshold of the set
        width = beta / planned.beta
    suggestions += [] if width is None else _wider(planned, width)
    return suggestions + _smaller(law, lambda k: affords(_scaled(law, 1 / k, "radius")))


def _cost_table(law: Request) -> pricing.CostTable:
    """Privacy costs of exact draws by the best certificate."""
    return pricing.CostTable(
        law.constants, law.domain, law.psi, law.delta, bool(law.ledger), best=True
    )


def _scaled(law: Request, factor: float, name: str) -> Request:
    """Multiply one number of a law by a factor; ``n`` is rounded up."""
    value = factor * getattr(law, name)
    return replace(law, **{name: math.ceil(value) if name == "n" else value})


def _by_ridge(planned: Plan, beta: float, law: Request) -> list[Suggestion]:
    """Find the smallest round ridge that suffices, from the largest downwards."""
    if planned.ledger or planned.delta == 0:
        return []
    found = None
    for ridge in _RIDGES:
        prices = _cost_table(replace(law, ridge=ridge))
        guarantee = prices.guarantee(beta, planned.n_draws)[1]
        if ridge <= law.ridge or guarantee.epsilon(planned.delta) > planned.epsilon:
            break
        found = ridge
    if found is None:
        return []
    return [Suggestion(f"ridge = {found:g} with exact draws", "ridge", found)]


def _costs(planned: Plan, cost: float, fewer: int) -> list[Suggestion]:
    many = "as many draws" if planned.n_draws > 1 else "the draw"
    text = rounded_up(cost)
    suggestions = [Suggestion(f"ε = {text} for {many}", "epsilon", float(text))]
    if 0 < fewer < planned.n_draws:
        words = f"{fewer:,} draw{'s' if fewer > 1 else ''} for the same ε"
        suggestions.append(Suggestion(words, "n_draws", float(fewer)))
    return suggestions


def _wider(planned: Plan, factor: float) -> list[Suggestion]:
    """Suggest a threshold that suffices, unless the model of zeros is within it."""
    psi = planned.psi * factor
    useful = 0 < psi < (planned.zero_loss or math.inf)
    text = rounded_up(psi)
    return [Suggestion(f"ψ = {text}", "psi", float(text))] if useful else []


def _smaller(law: Request, affords: Callable[[float], bool]) -> list[Suggestion]:
    """Suggest a radius that suffices, unless the ball becomes too small."""
    factor = _least_factor(affords, _SMALLER)
    return [] if factor is None else [_radius(law.radius / factor)]


def _least_factor(affords: Callable[[float], bool], most: float = _MOST) -> float | None:
    """Least affordable factor above 1, rounded up slightly; None if ``most`` is not affordable."""
    if not affords(most):
        return None
    low, high = 1.0, 2.0
    while high < most and not affords(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high / low > 1 + _FINE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if affords(middle) else (middle, high)
    return high


# A context variable, because warning filters are shared by all threads.
_SAID: ContextVar[bool] = ContextVar("_SAID", default=False)


def warn_if_weak(planned: Plan | TreePlan, what: str) -> None:
    """Warn if a plan has a weak guarantee, and suggest what improves it."""
    why = "" if weak_warnings_suppressed() else weak_guarantee_reason(planned)
    if why and not _warned_in_this_search(WeakGuaranteeWarning):
        weak = "has a weak guarantee" if planned.expected is None else "is weak"
        message = " ".join([f"{what} {weak}: {why}.", *improvement_messages(planned)])
        warnings.warn(message, WeakGuaranteeWarning, stacklevel=warn_stacklevel())


def warn_large_delta(delta: float, n: int) -> None:
    """Warn if delta >= 1/n, unless weak-plan warnings are suppressed."""
    silent = delta * n < 1 or weak_warnings_suppressed()
    if not silent and not _warned_in_this_search(LargeDeltaWarning):
        warnings.warn(
            f"delta={delta:g} is at least 1/n={1 / n:.2g}: it allows a mechanism to publish the "
            f"record of one person in {n:,}. Choose delta far below 1/n, such as "
            f"{min(1e-6, 0.01 / n):.0e}, or 0",
            LargeDeltaWarning,
            stacklevel=warn_stacklevel(),
        )


_SEARCHES: WeakKeyDictionary[Any, set[type[Warning]]] = WeakKeyDictionary()


def _warned_in_this_search(category: type[Warning]) -> bool:
    """Whether scikit-learn's search or cross-validation that calls has warned already."""
    search, frame = None, inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection"):
            search = frame.f_locals.get("parallel", search)  # the outermost one's runs its fits
        frame = frame.f_back
    if search is None:
        return False
    warned = _SEARCHES.setdefault(search, set())
    before = category in warned
    warned.add(category)
    return before


@contextmanager
def suppress_weak_warnings() -> Iterator[None]:
    """Suppress warnings about weak plans in this thread, not :func:`weak_guarantee_reason`."""
    before = _SAID.set(True)
    try:
        yield
    finally:
        _SAID.reset(before)


def weak_warnings_suppressed() -> bool:
    """Whether :func:`suppress_weak_warnings` is in force."""
    return _SAID.get()
