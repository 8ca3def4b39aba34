"""Panels of the paid actions: a set, and one model."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, ClassVar

import ipywidgets
import pandas as pd
import traitlets

from rashomon_explorer.data.schema import public_part
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import family, html, messages, paid
from rashomon_explorer.explorer.drawing import SetDraw
from rashomon_explorer.explorer.panels import card
from rashomon_explorer.explorer.state import LINEAR, SETTINGS, SIMULATING, ExplorerState
from rashomon_explorer.explorer.table_rows import table_rows
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, Making
from rashomon_explorer.mechanisms.improvements import Improvement, Suggestion
from rashomon_explorer.mechanisms.planner import next_improvements
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.plots.text import cost_text, sentence

_OF_A_PATH = "For less loss than the zero model"


class SuggestionButtons:
    """One button a suggestion; text for what no slider can change, such as more rows."""

    def __init__(self, state: ExplorerState, dials: Mapping[str, ui.Slider]) -> None:
        self.state = state
        self._dials = dials
        self._before = card.styled(ui.HTML(), "rx-note")
        self._after = card.region("rx-note")
        self._row = card.row([], "rx-remedies")
        self.buttons: tuple[ipywidgets.Button, ...] = ()
        self.widget = card.column([self._before, self._row, self._after], "rx-wish")
        state.observe(lambda _: self.refresh(), ["plan", "phase", "mechanism", "data"])
        self.refresh()

    @property
    def words(self) -> str:
        return f"{self._before.value} {self._after.value}"

    def refresh(self) -> None:
        state = self.state
        silent = state.plan is None or state.busy or bool(state.uncharged)
        listed = [] if silent else next_improvements(state.plan)
        improvement = next((candidate for candidate in listed if candidate.changes), None)
        ui.display(self.widget, bool(listed))
        fixed = [str(candidate) for candidate in listed if not candidate.changes]
        self._before.value = escape("".join(fixed))
        self._after.value, self.buttons = "", ()
        if improvement is not None:
            self._show(improvement)
        self._row.children = self.buttons
        ui.display(self._row, bool(self.buttons))

    def _show(self, improvement: Improvement) -> None:
        settable = [
            change
            for change in improvement.changes
            if (dial := self._dials.get(change.setting)) is not None
            and change.setting in SETTINGS
            and dial.low <= change.value <= dial.high
        ]
        more = [change.words for change in improvement.changes if change not in settable]
        alternative = " or ".join(more)
        goal = f"For {improvement.goal} it takes"
        if improvement.approximate:
            goal = f"{_OF_A_PATH} it takes about"
        self._before.value = escape(f"{goal}:" if settable else f"{goal} {alternative}.")
        self._after.value = escape(f"or {alternative}") if settable and alternative else ""
        self.buttons = tuple(self._button(change, improvement) for change in settable)

    def _button(self, suggestion: Suggestion, improvement: Improvement) -> ipywidgets.Button:
        goal = "" if improvement.approximate else f" for {improvement.goal}"
        button = ui.Button(
            description=suggestion.words.split(" for ")[0].split(" with ")[0],
            tooltip=f"Set {suggestion.words}{goal}",
        )
        integer = self._dials[suggestion.setting].integer
        value = int(suggestion.value) if integer else suggestion.value

        def press(_click: object) -> None:
            setattr(self.state, suggestion.setting, value)

        button.on_click(messages.error_boundary(self.state, "Setting it", press))
        return card.styled(button, "rx-remedy")


_KEEP = "Keep the draws so far; the whole privacy cost stays spent"
_KEEP_PATH = "Keep the models so far; parts of the path that did not begin are not charged"
_NOTHING_CHARGED = "Do not draw; nothing is charged yet"


class PaidPanel(card.Panel):
    """Button of a paid action with its privacy cost, and a confirmation where it is needed."""

    needs: ClassVar[tuple[str, ...]] = (
        *("phase", "plan", "no_plan", "data"),
        *("account", "view", "loading", "table_number"),
    )

    def __init__(
        self,
        action: paid.PaidAction[Any],
        *,
        before: Sequence[ipywidgets.Widget] = (),
        between: Sequence[ipywidgets.Widget] = (),
        beside: Sequence[ipywidgets.Widget] = (),
        after: Sequence[ipywidgets.Widget] = (),
        kind: str = "rx-draw-card",
    ) -> None:
        self.action, self.state = action, action.state
        self.price = card.styled(ui.HTML(), "rx-price")
        press = messages.error_boundary(self.state, action.doing, self._pressed)
        self.button = ui.OfferButton(partial(press, self.confirm_or_start), kind="rx-draw")
        self.question = card.Question(partial(press, action.start))
        buttons = card.row([self.button, *beside], "rx-buttons")
        parts = [*before, self.price, *between, buttons, self.question.widget, *after]
        super().__init__(action.state, *parts, kind=kind)
        action.observers.append(self.update)
        more_traits = [name for name in action.follows if name not in self.needs]
        self.state.observe(lambda _: self.update(), more_traits)

    def refresh(self) -> None:
        quote, running = self.action.quote(), self.action.task.running
        cost = quote.cost
        self.question.close()
        over = cost is not None and not cost.affordable
        unplanned = bool(quote.unavailable) or (cost is None and not quote.free)
        locked = running or self.state.busy or self.state.loading
        self.button.disabled = locked or over or unplanned
        # Highlight the button only if the action is affordable and its guarantee is not weak.
        self.button.button_style = "" if over or quote.weakness else "primary"
        priced = f"{quote.label} ({cost.text})" if cost and not quote.unavailable else quote.label
        with self.button.hold_sync():  # a label and its offer arrive together
            self.button.description = f"{self.action.doing}…" if running else priced
            self.button.offer = self.action.offer
        brief, sentence = self.price_texts(quote)
        note, short = f'<p class="rx-note">{sentence}</p>', f'<p class="rx-brief">{brief}</p>'
        self.price.value = f"{note}{short}" if sentence else ""

    def confirm_or_start(self, offer: str) -> None:
        """Start the action as the button showed it, or ask for confirmation if one is needed."""
        action = self.action
        if self.state.busy or action.task.running or action.is_sold(offer):
            return
        quote = action.quote()
        cost, needs_confirmation = quote.cost, action.always_asks or bool(quote.weakness)
        if cost is None or not cost.affordable or not needs_confirmation:
            self.question.close()
            action.start(offer)
            return
        action.check(offer)
        why = f"Spend {cost.text} nevertheless? " if quote.weakness else ""
        label = f"{action.verb} anyway" if quote.weakness else f"Spend {cost.text} permanently"
        self.question.ask(f"{why}This cannot be undone.{self.alternatives()}", label, offer)

    def _pressed(self, act: Callable[[str], object], offer: str) -> None:
        """Act on an offer; where it is no longer what is on screen, state the price of now."""
        try:
            act(offer)
        except messages.OfferChangedError as change:
            messages.report(self.state, self.action.doing, change)
            self.update()
            note = f'<p class="rx-note"><b>{escape(str(change))}</b></p>'
            self.price.value = f"{note}{self.price.value}"

    def alternatives(self) -> str:
        return ""

    def price_texts(self, quote: paid.Quote) -> tuple[str, str]:
        cost = quote.cost
        if self.state.unconfirmed_reason:
            return "Not shown in the release", f"{escape(self.state.unconfirmed_reason)}."
        if self.state.data is None:
            return "Choose a data set first", "Choose a data set first."
        if quote.unavailable:
            return "<b>Unavailable</b>", f"<b>Unavailable</b>: {escape(quote.unavailable)}"
        if quote.free:
            why = f"<b>No guarantee</b>, and nothing is charged: {escape(quote.free)}."
            return "<b>No guarantee</b>, no charge", why
        if cost is None:
            return "", ""
        if not cost.affordable:
            brief = f"<b>Over the budget</b> by {cost_text(-cost.left_after)}"
            shortage = escape(cost.shortage(self.action.remedy))
            return brief, f"<b>Over the budget</b>: {shortage}"
        spends = f"This will spend <b>{cost.text}</b>"
        if differs := escape(cost.explained(self.action.requested).removesuffix(".")):
            spends = differs if differs.startswith("This adds") else f"{spends}. {differs}"
        if quote.weakness:
            why = f"{spends}. {escape(sentence(quote.weakness))}"
            return f"<b>{cost.text}</b> · weak", why
        brief = f"<b>{cost.text}</b> · {quote.brief}" if quote.brief else f"<b>{cost.text}</b>"
        return brief, f"{spends}. {quote.promise}"


_LOOKED_AT = 100  # models of a free look, which depend on each other and take time
_LOOK = "Look for free (not private)"
_FREE = "Draws without noise, for your eyes only: nothing is charged, nothing can be released"


class DrawPanel(PaidPanel):
    """Draw and Stop buttons, with the privacy cost before and the receipt after."""

    title = "Draw"
    needs = (*PaidPanel.needs, "n_drawn", "path")

    action: SetDraw

    def __init__(self, action: SetDraw, dials: Mapping[str, ui.Slider] | None = None) -> None:
        self.stop = card.styled(ui.Button(description="Stop", disabled=True), "rx-stop")
        self.progress = card.region("rx-progress")
        self.status = ui.LiveText(role="status", kind="rx-status")
        self.phone_status = card.region("rx-said")  # for phones, above the view
        self.suggestions = SuggestionButtons(action.state, dials or {})
        look = messages.error_boundary(action.state, "Drawing without a charge", self._look)
        self.look = ui.OfferButton(look, tooltip=_FREE, kind="rx-quiet")
        self.first_look = ui.OfferButton(look, description=_LOOK, tooltip=_FREE)
        super().__init__(
            action,
            between=[self.suggestions.widget, self.look],
            beside=[self.stop],
            after=[self.progress, self.status],
        )
        self.stop.on_click(self.on("Stopping", action.stop))
        self.state.observe(self._show_message, ["message", "detail", "view"])

    def lines(self) -> tuple[str, ...]:
        return (
            "explorer.draw()  # charges explorer.ledger",
            "explorer.estimator  # the fitted pipeline",
            "explorer.rashomon_set.coef",
            "explorer.guarantee",
        )

    def refresh(self) -> None:
        super().refresh()
        state = self.state
        free = self._looks_for_free()
        self.look.description = "Back to private draws" if free else _LOOK
        self.look.offer = self.first_look.offer = self._look_offer()
        self.first_look.disabled = state.busy or state.data is None
        weak = bool(self.action.quote().weakness) and state.family == LINEAR
        seen = free or (weak and state.rashomon_set is not None)  # else the start offers it
        ui.display(self.look, seen and not state.busy and state.view == "curator")
        self.stop.disabled = not state.busy
        of_path = self.action.follows_path and state.busy
        keep = _KEEP_PATH if of_path else _KEEP
        self.stop.tooltip = keep if state.phase != SIMULATING else _NOTHING_CHARGED
        drawn, requested = state.n_drawn, state.requested_draws
        if of_path:
            drawn = 0 if state.path is None else len(state.path.states)
        bar = f'<progress max="{requested}" value="{drawn}" aria-label="Draws made"></progress>'
        self.progress.value = f"{bar}<span>{drawn} of {requested}</span>" if state.spent else ""

    def alternatives(self) -> str:
        suggested = bool(self.suggestions.buttons)
        return " The suggestions above improve the guarantee." if suggested else ""

    def price_texts(self, quote: paid.Quote) -> tuple[str, str]:
        if not self.state.spent or self.state.uncharged:
            return super().price_texts(quote)
        checks = self.state.phase == "reserved" and table_rows(self.state.data).is_chunked
        when = " once all rows are checked" if checks else ""
        return "", f"The privacy cost is reserved in the ledger{when}."

    def _looks_for_free(self) -> bool:
        linear = self.state.family == LINEAR
        return linear and mechanism_traits(self.state.mechanism).curator_only

    def _look_offer(self) -> str:
        return f"{self.state.table_number}:{self._looks_for_free()}:{self.state.family}"

    def _look(self, offer: str) -> None:
        """Draw without noise and without a charge; pressed again, return to private draws."""
        if offer != self._look_offer() or self.state.busy or self.state.family != LINEAR:
            return
        first, few = family.DRAWS[LINEAR], _LOOKED_AT
        if self._looks_for_free():
            self.state.mechanism = AUTO
            self.state.n_draws = first if self.state.n_draws == few else self.state.n_draws
            return
        self.state.mechanism = "hit_and_run"
        self.state.n_draws = few if self.state.n_draws == first else self.state.n_draws
        self.confirm_or_start(self.action.offer)

    def _show_message(self, _change: object) -> None:
        detail = self.state.detail if self.state.view == "curator" else ""
        self.status.html = self.phone_status.value = escape(
            f"{self.state.message} {detail}".strip()
        )


_EXACT = (
    "<h3>Look</h3><p>Good models without noise, for your eyes only. Nothing is charged, and "
    "nothing can be released.</p>"
)


class StartPanel(card.Panel):
    """Before there are models: look for free, or draw private ones; two equal ways."""

    title, short = "See the good models", "Start"
    of_models = False
    needs = (*PaidPanel.needs, "family", "n_draws", "psi", "epsilon")

    def __init__(self, draw: DrawPanel) -> None:
        self.draw, self.private = draw, ui.HTML()
        self.free = card.column([ui.HTML(_EXACT), draw.first_look], "rx-way")
        private = [self.private, draw.suggestions.widget, draw.button]
        ways = [self.free, card.column(private, "rx-way")]
        super().__init__(draw.state, card.row(ways, "rx-both-ways"))

    def refresh(self) -> None:
        state, quote = self.state, self.draw.action.quote()
        ui.display(self.free, state.family == LINEAR and state.view == "curator")
        words = f"Private models, which may be shown to others. {self.draw.price_texts(quote)[1]}"
        self.private.value = f"<h3>Release</h3><p>{words}</p>"


_GOALS = [("The set", "set"), ("One model", "one")]


class OneModelButton(PaidPanel):
    """Privacy cost, guarantee and button of one private model."""

    title = "One model"
    needs = (*PaidPanel.needs, "goal", "one_plan")

    def lines(self) -> tuple[str, ...]:
        return (
            "estimator = explorer.single.make_estimator()  # ledger=explorer.ledger.path charges",
            "estimator.plan(*explorer.session.shape)",
        )


class GoalPanel:
    """Goal of the draw: a set of models, or one model."""

    def __init__(self, single: paid.SingleModel, draw: DrawPanel) -> None:
        self.state = single.state
        self.draw, self.one = draw, OneModelButton(single)
        self.goal = card.styled(
            ui.ToggleButtons(
                options=_GOALS,
                tooltips=[
                    "Models that are almost as good as the best one",
                    "One good model, private",
                ],
            ),
            "rx-goal",
        )
        traitlets.link((self.state, "goal"), (self.goal, "value"))
        more = ui.Fold(label="Cost, guarantee and goal", of=".rx-goal-panel", marks=["▴", "▾"])
        parts = [self.goal, self.one.widget, draw.widget, more]
        self.widget = card.column(parts, "rx-goal-panel")
        single.observers.append(self.refresh)
        self.state.observe(lambda _: self.refresh(), ["goal", "phase", "family"])
        self.refresh()

    def refresh(self) -> None:
        linear = self.state.family == LINEAR
        is_one_model = linear and self.state.goal == "one"
        ui.display(self.goal, linear)
        ui.display(self.one.widget, is_one_model)
        ui.display(self.draw.widget, not is_one_model)
        self.goal.disabled = self.state.busy or self.one.action.task.running


class OneModelPanel(card.Panel):
    """The private model: coefficients, guarantee, reason, and the other candidates."""

    title = "One model"
    needs = ("one_model", "data")

    def __init__(self, state: ExplorerState) -> None:
        self.result = ui.HTML()
        self.bundle = Download(
            "Save the model",
            "Model, guarantee, schema and a prediction script, in one zip file",
            self._bundle,
            partial(messages.report, state, "“Save the model”"),
            primary=True,
        )
        super().__init__(state, card.row([self.bundle], "rx-take"), self.result)

    def lines(self) -> tuple[str, ...]:
        if self.state.one_model is None:
            return ("explorer.state.one_model  # None before one was made",)
        return (
            "explorer.state.one_model.why, explorer.state.one_model.excess",
            "explorer.state.one_model.guarantee",
            "explorer.state.one_model.model['coefficients']",
        )

    def refresh(self) -> None:
        result = self.state.one_model
        self.bundle.disabled = result is None
        none = "No private model of this table yet: choose One model above Draw."
        self.result.value = (
            f'<p class="rx-note">{none}</p>' if result is None else _one_model_html(result)
        )

    def _bundle(self) -> Making:
        result, data = self.state.one_model, self.state.data
        if result is None or data is None:
            raise DataError("there is no private model of this table yet")
        schema = public_part(data.schema).to_toml()

        def make() -> FileInTransit:
            from rashomon_explorer.explorer.bundle import one_model_bundle

            content = one_model_bundle(result, str(data.name), schema)
            return FileInTransit(f"{data.name}-one-model.zip", content, "application/zip")

        return make


def _one_model_html(result: paid.PaidModel) -> str:
    alternatives = pd.DataFrame(result.others, columns=["other mechanism", "guarantee, or why not"])
    return (
        released_html(
            html.fact("Spent", result.spent, kind="rx-paid"),
            html.fact("Expected excess loss", result.excess, "on these rows"),
            html.fact("On new rows", result.unseen),
            html.fact("Made by", result.mechanism.replace("_", " "), result.why),
        )
        + html.table_html(_coefficients(result.model), "Coefficients, per unit of encoded feature")
        + html.table_html(alternatives.set_index("other mechanism"), "Other mechanisms")
    )


def released_html(*facts: str) -> str:
    band = '<span class="rx-band rx-paid-band">released</span>'
    return f'{band}<dl class="rx-facts">{"".join(facts)}</dl>'


def _coefficients(model: Mapping[str, Any]) -> pd.DataFrame:
    (rows,), (ends,) = model["coefficients"], model["intercepts"]
    names = [str(name) for name in model["classes"][1:]] if len(rows) > 1 else ["coefficient"]
    index = pd.Index([*model["columns"], "intercept"], name="column")
    every = {name: [*row, end] for name, row, end in zip(names, rows, ends, strict=True)}
    return pd.DataFrame(every, index=index)
