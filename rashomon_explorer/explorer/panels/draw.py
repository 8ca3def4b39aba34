"""Panel that draws models."""

from collections.abc import Callable, Mapping
from html import escape

import ipywidgets

from rashomon_explorer.explorer.account import NextDraw
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.panels.card import CodeToggle, Question, card, hide_when_empty
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import FORETELLING, SETTINGS, ExplorerState
from rashomon_explorer.explorer.streamed_table import streamed_table
from rashomon_explorer.explorer.widgets.controls import LiveText, Slider
from rashomon_explorer.mechanisms.planning.suggestions import (
    Improvement,
    Suggestion,
    improvement_messages,
    next_improvement,
)
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.plots.text import at_most, cost_text, guaranteed_hits, plural

_OF_A_PATH = "For less loss than the zero model"


class SuggestionButtons:
    """One button a suggestion; text for what no slider can change, such as more rows."""

    def __init__(self, state: ExplorerState, dials: Mapping[str, Slider]) -> None:
        self.state = state
        self._dials = dials
        self._words = ipywidgets.HTML()
        self._words.add_class("rx-note")
        self._rest = ipywidgets.HTML()
        self._rest.add_class("rx-note")
        hide_when_empty(self._rest)
        self._row = ipywidgets.HBox([])
        self._row.add_class("rx-remedies")
        self.buttons: tuple[ipywidgets.Button, ...] = ()
        self.widget = ipywidgets.VBox([self._words, self._row, self._rest])
        self.widget.add_class("rx-wish")
        state.observe(lambda _: self.refresh(), ["plan", "phase", "mechanism", "data"])
        self.refresh()

    @property
    def words(self) -> str:
        """Text before and after the buttons."""
        return f"{self._words.value} {self._rest.value}"

    def refresh(self) -> None:
        """Show suggestions for the current plan."""
        state = self.state
        silent = state.plan is None or state.busy or bool(state.uncharged)
        found = None if silent else next_improvement(state.plan)
        plain = [] if silent or found is not None else improvement_messages(state.plan)
        self.widget.layout.display = "none" if found is None and not plain else None
        self._words.value = "".join(escape(words) for words in plain)
        self._rest.value, self.buttons = "", ()
        if found is not None:
            self._offer(found)
        self._row.children = self.buttons
        self._row.layout.display = None if self.buttons else "none"

    def _offer(self, found: Improvement) -> None:
        pressed = [remedy for remedy in found.remedies if self._settable(remedy)]
        others = [remedy.words for remedy in found.remedies if remedy not in pressed]
        goal = f"{_OF_A_PATH} it takes about" if found.about else f"For {found.goal} it takes"
        if not pressed:
            self._words.value = escape(f"{goal} {' or '.join(others)}.")
            return
        self._words.value = escape(f"{goal}:")
        self._rest.value = escape(f"or {' or '.join(others)}") if others else ""
        self.buttons = tuple(self._button(remedy, found) for remedy in pressed)

    def _settable(self, remedy: Suggestion) -> bool:
        dial = self._dials.get(remedy.setting)
        within = dial is not None and dial.low <= remedy.value <= dial.high
        return remedy.setting in SETTINGS and within

    def _button(self, remedy: Suggestion, found: Improvement) -> ipywidgets.Button:
        short = remedy.words.split(" for ")[0].split(" with ")[0]
        button = ipywidgets.Button(
            description=short,
            tooltip=f"Set {remedy.words} {'' if found.about else f'for {found.goal}'}".rstrip(),
        )
        button.add_class("rx-remedy")
        whole = self._dials[remedy.setting].integer
        value = int(remedy.value) if whole else remedy.value
        button.on_click(
            error_boundary(
                self.state,
                "Setting it",
                lambda _, name=remedy.setting, value=value: setattr(self.state, name, value),
            )
        )
        return button


_KEEP = "Keep the draws so far; the whole privacy cost stays spent"
_NOTHING_CHARGED = "Do not draw; nothing is charged yet"


class DrawPanel:
    """Draw and Stop buttons, with the privacy cost before and the receipt after.

    Parameters
    ----------
    session : Session
        Draws the models, and stops.
    start : callable, optional
        Called by Draw; ``session.draw`` by default.
    dials : mapping of str to Slider, optional
        Sliders by setting, which the suggestions move.

    Attributes
    ----------
    draw, stop : ipywidgets.Button
        Enabled while they have an effect.
    remedies : SuggestionButtons
        Settings with a better guarantee, one button each.
    question : Question
        Confirmation before a draw with a weak guarantee.
    progress : ipywidgets.HTML
        Share of the draws made.
    status : LiveText
        The status line.
    said : ipywidgets.HTML
        The status line for phones, above the view.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(
        self,
        session: Session,
        start: Callable[[], object] | None = None,
        dials: Mapping[str, Slider] | None = None,
    ) -> None:
        begin = start or session.draw
        self.state = session.state
        self.draw = ipywidgets.Button(description="Draw", button_style="primary", disabled=True)
        self.draw.add_class("rx-draw")
        self.stop = ipywidgets.Button(description="Stop", disabled=True)
        self.stop.add_class("rx-stop")
        self.price = ipywidgets.HTML()
        self.price.add_class("rx-price")
        self.progress = ipywidgets.HTML()
        self.progress.add_class("rx-progress")
        hide_when_empty(self.progress)
        self.status = LiveText(role="status", kind="rx-status")
        self.said = ipywidgets.HTML()
        self.said.add_class("rx-said")
        hide_when_empty(self.said)
        self._code = CodeToggle(self.lines, "Draw")
        self.remedies = SuggestionButtons(self.state, dials or {})
        self.question = Question("Draw anyway", error_boundary(self.state, "Drawing", begin))
        self.draw.on_click(
            error_boundary(self.state, "Drawing", lambda _: self._confirm_or_draw(begin))
        )
        self.stop.on_click(error_boundary(self.state, "Stopping", lambda _: session.stop()))
        self.state.observe(
            lambda _: self.refresh(), ["phase", "plan", "no_plan", "data", "n_drawn", "account"]
        )
        self.state.observe(self._show_message, "message")
        buttons = ipywidgets.HBox([self.draw, self.stop])
        buttons.add_class("rx-buttons")
        self.widget = card(
            "",
            "Draw",
            [
                self.price,
                self.remedies.widget,
                buttons,
                self.question.widget,
                self.progress,
                self.status,
            ],
            self._code,
        )
        self.widget.add_class("rx-draw-card")
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that makes the same draw."""
        return (
            "explorer.draw()  # charges explorer.ledger",
            "explorer.estimator  # the fitted pipeline",
            "explorer.rashomon_set.coef",
            "explorer.guarantee",
        )

    def refresh(self) -> None:
        """Update the buttons, privacy cost and progress from the state."""
        state = self.state
        self.question.close()
        offer = NextDraw.of(state)
        over = offer is not None and not offer.affordable
        self.draw.disabled = state.data is None or state.busy or over or bool(state.no_plan)
        # Highlight the button only if the draw is affordable and its guarantee is not weak.
        doubtful = offer is not None and bool(offer.doubt)
        self.draw.button_style = "" if over or doubtful else "primary"
        self.stop.disabled = not state.busy
        self.stop.tooltip = _KEEP if state.phase != FORETELLING else _NOTHING_CHARGED
        known = state.data is not None and state.plan is not None
        self.draw.description = (
            f"Draw {plural(state.requested_draws, 'model')}" if known else "Draw"
        )
        self.price.value = self._price()
        self.progress.value = self._bar()

    def _confirm_or_draw(self, begin: Callable[[], object]) -> None:
        """Draw, or ask for confirmation if the guarantee is weak."""
        offer = NextDraw.of(self.state)
        if offer is None or not offer.doubt or not offer.affordable or self.question.open:
            self.question.close()
            begin()
            return
        others = " The suggestions above improve the guarantee." if self.remedies.buttons else ""
        self.question.ask(
            f"Spend {offer.cost_text} on draws with such a weak guarantee? This cannot be "
            f"undone.{others}"
        )

    def _price(self) -> str:
        brief, whole = self._cost_text()
        return f'<p class="rx-note">{whole}</p><p class="rx-brief">{brief}</p>' if whole else ""

    def _cost_text(self) -> tuple[str, str]:
        """Return privacy cost and guarantee: a short text for phones, and a sentence."""
        state = self.state
        if state.unconfirmed_reason:
            return "Not shown in the release", f"{escape(state.unconfirmed_reason)}."
        if state.no_plan:
            return "<b>Unavailable</b>", f"<b>Unavailable</b>: {escape(state.no_plan)}"
        if state.plan is None or state.data is None:
            return "Choose a data set first", "Choose a data set first."
        if state.uncharged:
            why = f"<b>No guarantee</b>, and nothing is charged: {escape(state.uncharged)}."
            return "<b>No guarantee</b>, no charge", why
        offer = NextDraw.of(state)
        if offer is None:
            return "", ""
        if state.spent:
            when = ""
            if state.phase == "reserved" and streamed_table(state.data) is not None:
                when = " once all rows are checked"
            return "", f"The privacy cost is reserved in the ledger{when}."
        if not offer.affordable:
            brief = f"<b>Over the budget</b> by {cost_text(offer.adds - offer.account.left)}"
            return brief, f"<b>Over the budget</b>: {escape(offer.suggestion)}"
        return self._offered(offer)

    def _offered(self, offer: NextDraw) -> tuple[str, str]:
        spends = f"Drawing will spend <b>{offer.cost_text}</b>"
        if offer.doubt:
            why = f"{spends}. The guarantee is weak: {escape(offer.doubt)}."
            return f"<b>{offer.cost_text}</b> · weak guarantee", why
        if not has_hit_rate(offer.plan):
            excess = getattr(offer.plan, "weighed_excess", offer.plan.excess_bound)
            return f"<b>{offer.cost_text}</b> · excess {escape(at_most(excess))}", f"{spends}."
        # The plan may be out of sight while a slider moves, so its guarantee is repeated here.
        promise = guaranteed_hits(offer.plan)
        whole = f"{spends}. Each draw is within ψ with probability <b>{promise}</b>."
        return f"<b>{offer.cost_text}</b> · <b>{promise}</b> within ψ", whole

    def _bar(self) -> str:
        state = self.state
        if not state.spent:
            return ""
        asked = state.requested_draws
        return (
            f'<progress max="{asked}" value="{state.n_drawn}" aria-label="Draws made"></progress>'
            f"<span>{state.n_drawn} of {asked}</span>"
        )

    def _show_message(self, _change: object) -> None:
        self.status.html = self.said.value = escape(self.state.message)
