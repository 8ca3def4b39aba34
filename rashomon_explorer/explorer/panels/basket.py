"""The basket: aggregates to release with the models, and their privacy cost."""

from functools import partial
from html import escape
from typing import Any

import ipywidgets

from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer.export.basket import AGGREGATES, Basket
from rashomon_explorer.explorer.export.purchases import ReleaseController
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.panels.card import AsyncCharge, CodeToggle, card, hide_when_empty
from rashomon_explorer.explorer.widgets.controls import ChoiceTable, Slider
from rashomon_explorer.plots.text import cost_text, number, percent, plural, what_is_left

_ALL, _SELECTED = "all", "selected"
_NO_GROUPS = "no groups"
_HEADINGS = [
    ["Aggregate of the private rows", "Noisy statistics to release with the models"],
    ["± noise", "Standard deviation of the noise added before release"],
    ["share", "Weight of the aggregate, and its share of the privacy cost"],
]
_UNSTATED = (
    "models selected by private figures cannot be released: confirm that they were not, or take "
    "all models"
)
_PAYING = "Paying for aggregates"


class BasketPanel:
    """Panel that chooses aggregates, shows their privacy cost and releases them.

    Parameters
    ----------
    shop : ReleaseController
        Plans the aggregates and charges the ledger.

    Attributes
    ----------
    which : ipywidgets.ToggleButtons
        All models of the set, or the selected ones.
    stated : ipywidgets.Checkbox
        Statement that the models were selected without looking at private figures.
    group : ipywidgets.Dropdown
        Column that defines groups.
    table : ChoiceTable
        The aggregates.
    epsilon : Slider
        Privacy cost of all aggregates together, if it were the only charge.
    pay, yes, no : ipywidgets.Button
        `pay` asks for confirmation, `yes` releases and charges, `no` cancels.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "Basket"

    def __init__(self, shop: ReleaseController) -> None:
        self.shop = shop
        self.state = shop.state
        self.paying = AsyncCharge(shop.session, _PAYING, self._paid)
        self.which = ipywidgets.ToggleButtons(options=[("All models", _ALL)])
        self.which.add_class("rx-which")
        self.stated = ipywidgets.Checkbox(
            description="I selected them without looking at figures marked “not private”",
            indent=False,
        )
        self.group = ipywidgets.Dropdown(description="Groups", options=[_NO_GROUPS])
        self.table = ChoiceTable(label="Aggregates", headings=_HEADINGS)
        self.epsilon = Slider(
            label="Cost ε of the aggregates",
            unit="as the only charge",
            help="A larger ε means less noise. The button shows what the ledger charges.",
            low=0.01,
            high=10.0,
            log=True,
            value=0.5,
        )
        self.words = ipywidgets.HTML()
        self.words.add_class("rx-note")
        self.pay = ipywidgets.Button(button_style="primary")
        self.pay.add_class("rx-draw")
        self.yes = ipywidgets.Button(button_style="primary")
        self.no = ipywidgets.Button(description="Cancel")
        self._code = CodeToggle(self.lines, "Basket")
        self.widget = self._framed()
        self._connect()
        self._offer()

    def _framed(self) -> ipywidgets.Widget:
        asked = ipywidgets.HBox([self.yes, self.no])
        buttons = ipywidgets.HBox([self.pay, asked])
        for box in (asked, buttons):
            box.add_class("rx-buttons")
        self._asked = asked
        choose = ipywidgets.HBox([self.which, self.group])
        choose.add_class("rx-basket-of")
        hide_when_empty(self.words)
        parts = [choose, self.stated, self.table, self.epsilon, self.words, buttons]
        framed = card("", self.title, parts, self._code)
        framed.add_class("rx-basket")
        return framed

    def _connect(self) -> None:
        watched = ["rashomon_set", "selection", "phase", "data"]
        self.state.observe(lambda _: self._offer(), watched)
        self.state.observe(lambda _: self.refresh(), "account")
        for control in (self.which, self.stated, self.group, self.epsilon):
            control.observe(lambda _: self.refresh(), "value")
        self.table.observe(lambda _: self.refresh(), "ticked")
        self.pay.on_click(lambda _: self._ask(True))
        self.no.on_click(lambda _: self._ask(False))
        self.yes.on_click(error_boundary(self.state, _PAYING, lambda _: self.buy()))

    @property
    def draws(self) -> tuple[int, ...] | None:
        """Models whose aggregates are released; None for all."""
        return self.state.selection if self.which.value == _SELECTED else None

    @property
    def group_column(self) -> str:
        """Column that defines groups; empty if there is none."""
        return "" if self.group.value == _NO_GROUPS else str(self.group.value)

    def lines(self) -> tuple[str, ...]:
        """Python code for the same release; showing it charges nothing."""
        return (
            "from rashomon_explorer.release import release",
            "basket = explorer.basket_panel.basket()",
            "basket.plan.table()",
            "# release(basket.models, explorer.rows, explorer.targets, ledger=explorer.ledger, "
            "**basket.budget)",
            "explorer.ledger.epsilon_after(basket.plan.guarantee) - explorer.ledger.spent()",
        )

    def basket(self) -> Basket:
        """Return the basket of the ticked aggregates; reads no row.

        Raises
        ------
        DataError, CuratorOnlyError
            If no aggregate can be released; the message states the reason.
        """
        draws = self.taken()
        ticked = dict(self.table.ticked)
        return self.shop.basket(
            tuple(name for name in AGGREGATES if name in ticked),
            self.epsilon.value,
            weights=ticked,
            draws=draws,
            group=self.group_column,
        )

    def taken(self) -> tuple[int, ...] | None:
        """Models to release; None for all.

        Raises
        ------
        CuratorOnlyError
            If models are selected and the statement about private figures is not ticked.
        """
        if self.draws is not None and not self.stated.value:
            raise CuratorOnlyError(_UNSTATED)
        return self.draws

    def buy(self) -> None:
        """Release the basket's aggregates, in a worker thread if there is an event loop.

        Raises
        ------
        BudgetExceededError
            If the budget does not suffice; nothing is read and nothing is spent.
        """
        if self.paying.under_way:
            return
        basket = self.basket()
        order = self.shop.order(basket, draws=self.draws, group=self.group_column)
        self._ask(False)
        self.paying.start(order.pay, partial(self.shop.received, order))

    def _paid(self) -> None:
        """Update the panel when a release starts or ends; clear the ticks at the end."""
        if not self.paying.under_way:
            self.table.ticked = {}
        self.refresh()

    def _ask(self, asking: bool) -> None:
        self._asked.layout.display = None if asking else "none"
        self.pay.layout.display = "none" if asking else None

    def _offer(self) -> None:
        """Update the choices of models and groups."""
        chosen = len(self.state.selection)
        several = [(f"The {plural(chosen, 'selected one')}", _SELECTED)] if chosen else []
        options = [("All models", _ALL), *several]
        if list(self.which.options) != options:
            was = self.which.value
            self.which.options = options
            self.which.value = was if was in dict(options).values() else _ALL
        groups = [_NO_GROUPS, *self.shop.groups]
        if list(self.group.options) != groups:
            self.group.options = groups
            self.group.value = groups[-1]
        self.refresh()

    def refresh(self) -> None:
        """Update the aggregates and their privacy cost."""
        several = len(self.which.options) > 1
        self.which.layout.display = None if several else "none"
        self.group.layout.display = None if len(self.group.options) > 1 else "none"
        self.stated.layout.display = None if self.draws is not None else "none"
        self._code.refresh()
        self._ask(False)
        try:
            basket = self.basket()
        except (DataError, CuratorOnlyError, ValueError) as error:
            self._refuse(str(error))
            return
        kept = [name for name in self.table.ticked if not basket.why_not(name)]
        if len(kept) < len(self.table.ticked):
            self.table.ticked = {name: self.table.ticked[name] for name in kept}
            return  # the change of `ticked` refreshes the panel
        self.table.rows = _rows(basket)
        self._price(basket)

    def _refuse(self, why: str) -> None:
        self.table.rows = [] if self.state.rashomon_set is None else self.table.rows
        self.words.value = f"<p>{escape(why[:1].upper() + why[1:])}.</p>"
        self.pay.description, self.pay.disabled = "Pay", True

    def _price(self, basket: Basket) -> None:
        account = self.state.account
        self.table.disabled = self.epsilon.disabled = self.paying.under_way or self.state.busy
        if account is None or basket.plan is None:
            self.words.value = (
                "<p>The models can be exported at no further cost. Tick statistics of the "
                "private rows to release with them.</p>"
            )
            self.pay.description, self.pay.disabled = "Nothing to pay", True
            return
        asked, left = basket.cost_text(account), what_is_left(account.left)
        affordable = basket.affordable(account)
        self.pay.disabled = not affordable or self.paying.under_way or self.state.busy
        self.pay.description = "Paying…" if self.paying.under_way else f"Pay {asked}"
        self.yes.description = f"Spend {asked} permanently"
        alone = cost_text(basket.plan.guarantee.epsilon(account.delta))
        told = f"{alone} if it were the only charge; after the draws it adds {asked} to the ledger."
        if not affordable:
            told = f"<b>Over the budget</b>: this adds {asked}, and ε = {left} remains."
        self.words.value = f"<p>{told} Released aggregates are saved with the set.</p>"


def _rows(basket: Basket) -> list[dict[str, Any]]:
    plan = basket.plan
    priced = {} if plan is None else dict(zip(basket.names, plan.costs, strict=True))
    rows = []
    for name, one in AGGREGATES.items():
        why = basket.why_not(name)
        bought = priced.get(name)
        rows.append(
            {
                "name": name,
                "group": one.group,
                "title": one.title,
                "definition": why or one.query(basket.models).definition,
                "why": why,
                "noise": "" if bought is None else _noise(name, bought.noise.deviation),
                "share": "" if bought is None else percent(bought.share),
            }
        )
    return rows


def _noise(name: str, deviation: float) -> str:
    """Noise as text; in rows for gaps, whose noise is added to sums over rows."""
    told = f"± {number(deviation, 2, 'up')}"
    return f"{told} rows" if AGGREGATES[name].in_rows else told
