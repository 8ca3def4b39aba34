"""A penalty chosen privately: its range, its price, its promise and its button."""

from collections.abc import Callable
from html import escape

import ipywidgets

from rashomon_explorer.explorer.html import fact
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.paid_models import (
    BOUNDS,
    MANY,
    Tuned,
    TuningController,
    TuningOffer,
    guarantee_text,
)
from rashomon_explorer.explorer.panels.card import AsyncCharge, CodeToggle, card
from rashomon_explorer.plots.text import cost_text, number

_DRAWING = "Drawing a penalty"


class TuningPanel:
    """Declares the range of the penalties, pays for draws of one, and shows what was drawn.

    Parameters
    ----------
    tuner : TuningController
        Plans and pays.

    Attributes
    ----------
    bounds, many : ipywidgets.Dropdown
        The public range of penalties, and how many are drawn.
    draw : ipywidgets.Button
        Pays and draws.
    drawn : callable
        Called when penalties were drawn; who shows them sets it.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "A penalty, privately"

    def __init__(self, tuner: TuningController) -> None:
        self.tuner = tuner
        self.state = tuner.state
        self.drawn: Callable[[], object] = lambda: None
        self.paying = AsyncCharge(tuner.session, _DRAWING, self.refresh)
        self.bounds = ipywidgets.Dropdown(description="Penalties from", options=[*BOUNDS])
        self.many = ipywidgets.Dropdown(description="Draws", options=list(MANY))
        for control in (self.bounds, self.many):
            control.observe(lambda _: self._on_replan(), "value")
        self.words = ipywidgets.HTML()
        self.words.add_class("rx-price")
        self.draw = ipywidgets.Button(description="Draw a penalty", button_style="primary")
        self.draw.on_click(error_boundary(self.state, _DRAWING, lambda _: self.pay()))
        self.told = ipywidgets.HTML()
        self._code = CodeToggle(self.lines, self.title)
        asked = ipywidgets.HBox([self.bounds, self.many])
        asked.add_class("rx-bar")
        row = ipywidgets.HBox([self.draw])
        row.add_class("rx-take")
        self.widget = card("", self.title, [asked, self.words, row, self.told], self._code)
        watched = ["tuning", "tuned", "account", "phase", "data"]
        self.state.observe(lambda _: self.refresh(), watched)
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that draws such penalties; nothing is charged by showing it."""
        return (
            "search = explorer.tuner.make_search()  # ledger=explorer.ledger.path charges",
            "search.plan(*explorer.rows.shape)",
            "search.mechanisms(*explorer.rows.shape)",
        )

    def refresh(self) -> None:
        """Write price, promise and draws again."""
        offer, account = self.state.tuning, self.state.account
        self._code.refresh()
        self.told.value = "" if self.state.tuned is None else _result_html(self.state.tuned)
        if offer is None or offer.plan is None or account is None:
            why = "Choose a data set first." if offer is None else offer.why_not
            self.words.value = f'<p class="rx-note">{escape(why)}</p>'
            self.draw.disabled, self.draw.description = True, "Draw a penalty"
            self.draw.button_style = "primary"
            return
        adds, affordable = (
            cost_text(account.adds(offer.plan.guarantee)),
            account.affords(offer.plan.guarantee),
        )
        self.draw.disabled = self.paying.under_way or self.state.busy or not affordable
        self.draw.description = "Drawing…" if self.paying.under_way else f"Draw a penalty · {adds}"
        self.draw.button_style = "" if offer.plan.weakness or not affordable else "primary"
        over = "" if affordable else " <b>Over the budget</b>: set ε lower."
        self.words.value = _words(offer, adds) + over

    def pay(self) -> None:
        """Draw the penalties; inside an event loop in a worker thread."""
        if not self.paying.under_way:
            self.paying.start(self.tuner.order(), self._received)

    def _received(self, made: Tuned) -> None:
        self.tuner.received(made)
        self.drawn()

    def _on_replan(self) -> None:
        self.tuner.bounds, self.tuner.n_draws = self.bounds.value, self.many.value
        self.tuner.replan()


def _words(offer: TuningOffer, adds: str) -> str:
    plan = offer.plan
    assert plan is not None
    many = "one draw" if plan.n_draws == 1 else f"{plan.n_draws} draws"
    doubt = (
        f" <b>Weak guarantee</b>: {escape(plan.weakness)}. {escape(plan.suggestion)}."
        if plan.weakness
        else ""
    )
    told = (
        f"This will spend <b>{adds}</b> on {many} from {plan.n_points} penalties, by "
        f"the {escape(plan.mechanism)} mechanism: {escape(guarantee_text(plan))}.{doubt}"
    )
    return f'<p class="rx-note">{told}</p>'


def _result_html(made: Tuned) -> str:
    paid = cost_text(made.guarantee.epsilon(made.delta), made.delta)
    drawn = ", ".join(number(one) for one in sorted(made.penalties))
    facts = [
        fact("Drawn", drawn, "penalties of the mean loss"),
        fact("Spent", paid, f"added {cost_text(made.adds)}", kind="rx-paid"),
        fact("Guarantee", made.promised, f"by the {made.mechanism} mechanism"),
    ]
    band = '<span class="rx-band rx-paid-band">released</span>'
    return f'{band}<dl class="rx-facts">{"".join(facts)}</dl>'
