"""The basket: aggregates to release with the models, and their privacy cost."""

from typing import Any

from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer.export.basket import AGGREGATES, Aggregate, Basket
from rashomon_explorer.explorer.export.purchases import AggregateRelease
from rashomon_explorer.explorer.paid import Quote
from rashomon_explorer.explorer.panels.card import row, slider, styled
from rashomon_explorer.explorer.panels.draw import PaidPanel
from rashomon_explorer.explorer.widgets import basic
from rashomon_explorer.explorer.widgets.basic import display
from rashomon_explorer.explorer.widgets.controls import ChoiceTable
from rashomon_explorer.plots.text import number, percent, plural

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
_EMPTY = (
    "The models can be exported at no further cost. Tick statistics of the private rows to release "
    "with them."
)


class BasketPanel(PaidPanel):
    """Panel that chooses aggregates, shows their privacy cost and releases them."""

    title = "Basket"
    needs = ("rashomon_set", "selection", "phase", "data", "account")

    def __init__(self, action: AggregateRelease) -> None:
        self.aggregates = action
        self.which = styled(basic.ToggleButtons(options=[("All models", _ALL)]), "rx-which")
        self.stated = basic.Checkbox(
            description="I selected them without looking at figures marked “not private”",
            indent=False,
        )
        self.group = basic.Dropdown(description="Groups", options=[_NO_GROUPS])
        self.table = ChoiceTable(label="Aggregates", headings=_HEADINGS)
        hint = "A larger ε means less noise. The button shows what the ledger is charged."
        label, unit = "ε of the noise", "larger: less noise"
        self.epsilon = slider(label, unit, hint, (0.01, 10.0), 0.5, "log")
        choices = row([self.which, self.group], "rx-basket-of")
        parts = [choices, self.stated, self.table, self.epsilon]
        super().__init__(action, before=parts, kind="rx-basket")
        for control in (self.which, self.stated, self.group, self.epsilon):
            control.observe(lambda _: self.update(), "value")
        self.table.observe(lambda _: self.update(), "ticked")
        action.observers.append(self._clear_at_end)

    @property
    def draws(self) -> tuple[int, ...] | None:
        """Selected models that are to be released; None for all."""
        return tuple(self.state.selection) if self.which.value == _SELECTED else None

    @property
    def group_column(self) -> str:
        """Column that defines the groups; empty for none."""
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
        """Return the basket of the ticked aggregates; raise an error if none can be released."""
        draws, ticked = self.checked_draws(), dict(self.table.ticked)
        return self.aggregates.basket(
            tuple(name for name in AGGREGATES if name in ticked),
            self.epsilon.value,
            weights=ticked,
            draws=draws,
            group=self.group_column,
        )

    def checked_draws(self) -> tuple[int, ...] | None:
        """Return the models to release, None for all; selected ones need the ticked statement."""
        if self.draws is not None and not self.stated.value:
            raise CuratorOnlyError(_UNSTATED)
        return self.draws

    def refresh(self) -> None:
        """Update the choices, the aggregates and their privacy cost."""
        self._offer()
        display(self.which, len(self.which.options) > 1)
        display(self.group, len(self.group.options) > 1)
        display(self.stated, self.draws is not None)
        action = self.aggregates
        try:
            basket, action.why_not = self.basket(), ""
        except (DataError, CuratorOnlyError, ValueError) as error:
            action.selected, action.why_not = None, str(error)
            self.table.rows = [] if self.state.rashomon_set is None else self.table.rows
        else:
            shares = {k: share for k, share in self.table.ticked.items() if not basket.why_not(k)}
            if len(shares) < len(self.table.ticked):
                self.table.ticked = shares
                return  # the change of `ticked` refreshes the panel
            self.table.rows = _rows(basket)
            action.selected = basket
        self.table.disabled = self.epsilon.disabled = action.task.running or self.state.busy
        super().refresh()

    def price_texts(self, quote: Quote) -> tuple[str, str]:
        """See `PaidPanel.price_texts`."""
        empty = quote.cost is None and not quote.unavailable
        return (_EMPTY, _EMPTY) if empty else super().price_texts(quote)

    def _offer(self) -> None:
        """Update the choices of models and groups."""
        count = len(self.state.selection)
        selected = [(f"The {plural(count, 'selected one')}", _SELECTED)] if count else []
        options = [("All models", _ALL), *selected]
        if list(self.which.options) != options:
            was = self.which.value
            self.which.options = options
            self.which.value = was if was in dict(options).values() else _ALL
        groups = [_NO_GROUPS, *self.aggregates.groups]
        if list(self.group.options) != groups:
            self.group.options = groups
            self.group.value = groups[-1]

    def _clear_at_end(self) -> None:
        if not self.action.task.running:
            self.table.ticked = {}


def _rows(basket: Basket) -> list[dict[str, Any]]:
    plan = basket.plan
    priced = {} if plan is None else dict(zip(basket.names, plan.costs, strict=True))

    def listed(name: str, one: Aggregate) -> dict[str, Any]:
        why, cost = basket.why_not(name), priced.get(name)
        return {
            "name": name,
            "group": one.group,
            "title": one.title,
            "definition": why or one.query(basket.models).definition,
            "why": why,
            "noise": "" if cost is None else _noise(name, cost.noise.deviation),
            "share": "" if cost is None else percent(cost.share),
        }

    return [listed(name, one) for name, one in AGGREGATES.items()]


def _noise(name: str, deviation: float) -> str:
    """Noise as text; in rows for gaps, whose noise is added to sums over rows."""
    noise = f"± {number(deviation, 2, 'up')}"
    return f"{noise} rows" if AGGREGATES[name].in_rows else noise
