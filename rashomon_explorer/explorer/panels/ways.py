"""Other ways: what the same budget would buy from every mechanism that the planner knows."""

from collections.abc import Callable

import ipywidgets
import pandas as pd

from rashomon_explorer.explorer.html import fact
from rashomon_explorer.explorer.panels.card import hide_when_empty
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.plots.tables import options_table


class OtherWays:
    """A button that lists the planner's offers for the plan on the page, the best first."""

    def __init__(self, plan: Callable[[], Plan | None]) -> None:
        self.plan = plan
        self.button = ipywidgets.ToggleButton(
            description="Other ways",
            tooltip="What the same budget buys from every mechanism, or why it does not apply",
        )
        self.button.add_class("rx-quiet")
        self.offers = ipywidgets.HTML()
        self.offers.add_class("rx-ways")
        hide_when_empty(self.offers)
        self.button.observe(lambda _: self.refresh(), "value")

    def refresh(self) -> None:
        """Write the offers again if they are shown."""
        plan = self.plan() if self.button.value else None
        if isinstance(plan, TreePlan):
            self.offers.value = f'<p class="rx-note">{_TREES}</p>'
            return
        self.offers.value = "" if plan is None else _listed(options_table(plan))


def _listed(offers: pd.DataFrame) -> str:
    if offers.empty:
        return '<p class="rx-note">This plan does not say what it was made from.</p>'
    rows = [fact(str(way), offer["within ψ"], _small(offer)) for way, offer in offers.iterrows()]
    return f'<p class="rx-note">{_WHAT}</p><dl class="rx-facts">{"".join(rows)}</dl>'


def _small(offer: "pd.Series[str]") -> str:
    bought = [offer[name] for name in ("those within", "price") if offer["price"] != "–"]
    return "; ".join([offer["a draw is"], *bought, offer["why, or why not"]])


_TREES = "Trees are counted and drawn exactly: there is no other way to weigh it against."
_WHAT = "Promised share of draws within ψ for this budget, and how those within lie."
