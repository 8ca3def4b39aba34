"""What a price risks, in words: how often the best attacker would be right."""

from rashomon_explorer.explorer.html import fact
from rashomon_explorer.explorer.price import NextDraw
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.plots.text import percent
from rashomon_explorer.privacy import approximate, best_attack

FALSE_ALARMS = 0.05
"""Share of people who are no members and are taken for some by the attacker of the page."""

_NOTHING = 0.99


def risk_fact(state: ExplorerState) -> str:
    """Say what the planned draw leaves to the best attacker; empty where nothing is guaranteed.

    >>> risk_fact(ExplorerState())
    ''
    """
    plan = state.plan
    if plan is None or state.uncharged or not plan.guarantee.holds:
        return ""
    alone = percent(best_attack(plan.guarantee, FALSE_ALARMS), "up")
    accepted = percent(FALSE_ALARMS)
    told = (
        f"the best attacker who accepts {accepted} false alarms finds a member at most {alone} of "
        f"the time; guessing finds {accepted}{_with_the_rest(state)}"
    )
    return fact("What ε risks", f"≤ {alone}", told)


def _with_the_rest(state: ExplorerState) -> str:
    offer = NextDraw.of(state)
    if offer is None or state.spent or not offer.account.spent > 0:
        return ""
    after = offer.account.after(offer.plan.guarantee)
    together = best_attack(approximate(after, offer.account.delta), FALSE_ALARMS)
    if together > _NOTHING:
        return f"; with all that was charged before, nothing below {percent(_NOTHING)} is proved"
    return f"; with all that was charged before, at most {percent(together, 'up')}"
