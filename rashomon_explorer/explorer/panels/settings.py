"""The sidebar: the estimator, three dials, and the other settings of a draw."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import ipywidgets
import traitlets

from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import selection, table_editor, table_rows
from rashomon_explorer.explorer.family import (
    NETWORK_SETTINGS,
    TREE_SETTINGS,
    class_in_words,
    draws_trees,
)
from rashomon_explorer.explorer.panels import card
from rashomon_explorer.explorer.panels.draw import GoalPanel
from rashomon_explorer.explorer.panels.fitting import FittingPanel
from rashomon_explorer.explorer.panels.plan import attack_text, excess_fact
from rashomon_explorer.explorer.state import (
    FAMILIES,
    LINEAR,
    NETWORKS,
    OPEN,
    SETTINGS,
    TREES,
    ExplorerState,
)
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.networks.path import NetworkPlan
from rashomon_explorer.plots import text


class AutoSlider:
    """A slider with an automatic setting; moving the slider switches to manual."""

    def __init__(self, state: ExplorerState, name: str, dial: ui.Slider) -> None:
        self.state, self.name, self.dial = state, name, dial
        self.auto = ui.Checkbox(
            description=f"{dial.label}: set automatically from public numbers", indent=False
        )
        card.styled(self.auto, "rx-auto")
        self._updating, self._first = False, dial.value
        dial.observe(lambda _: self._set(dial.value), "value")
        self.auto.observe(lambda _: self._set(AUTO if self.auto.value else dial.value), "value")
        state.observe(lambda _: self.update(), [name, "plan"])
        self.widget = ui.VBox([dial, self.auto])
        self.update()

    def update(self) -> None:
        value = getattr(self.state, self.name)
        planned = getattr(self.state.plan, self.name, None) if value == AUTO else value
        if value == AUTO and self.state.unconfirmed_reason:
            planned = self._first
        self._updating = True
        self.auto.value = value == AUTO
        if planned is not None:
            self.dial.value = on_scale(self.dial, float(planned))
        self._updating = False

    def _set(self, value: Any) -> None:
        if not self._updating:
            integer = self.dial.integer and value != AUTO
            setattr(self.state, self.name, int(value) if integer else value)


def on_scale(dial: ui.Slider, value: float) -> float:
    """Clip a number to a slider's scale; zero stays if the scale includes it."""
    if dial.zero and value == 0:
        return value
    return min(max(value, dial.low), dial.high)


MOST_LEAVES = 12
LINEAR_ALONE = ("radius", "ridge")
TREES_ALONE = ("max_leaves", "max_depth", "leaf_penalty")


def dials() -> dict[str, ui.Slider]:
    make, deepest = card.slider, MOST_LEAVES - 1
    leaves = "Trees with at most this many leaves are counted; public."
    depth = "Splits on a path; the right end is as deep as the leaves allow."
    penalty = "In shares of the rows; costs no privacy."
    bound = "Bound on the norm of the coefficients; public."
    shrinks = "Shrinks the coefficients; costs no privacy."
    fails = "Probability that the ε bound fails; 0 is pure differential privacy."
    small = "added to the loss"
    return {
        "max_leaves": make("Leaves", "at most", leaves, (1, MOST_LEAVES), 4, "integer"),
        "max_depth": make("Depth", "at most", depth, (1, deepest), deepest, "integer"),
        "leaf_penalty": make("Leaf penalty", small, penalty, (1e-4, 0.1), 0.005, "log", "zero"),
        "psi": make("How good?", "ψ", "", (0.001, 1.0), 0.02, "log"),
        "epsilon": make("How private?", "ε", "", (0.01, 100.0), 1.0, "log"),
        "n_draws": make("How many?", "models", "", (1, 2000), 400, "log", "integer"),
        "radius": make("Radius", "of the ball of models", bound, (0.25, 32.0), 4.0, "log"),
        "ridge": make("Ridge", small, shrinks, (1e-6, 1.0), 0.0, "log", "zero"),
        "delta": make("Privacy δ", "in total", fails, (1e-12, 1e-3), 1e-6, "log", "zero"),
    }


def follow(dial: ui.Slider, state: ExplorerState, name: str) -> None:
    is_open = bool(state.traits()[name].allow_none)

    def to_dial(value: Any) -> float:
        return dial.high if value is None else on_scale(dial, float(value))

    def to_state(value: float) -> Any:
        number = int(value) if dial.integer else value
        return None if is_open and value == dial.high else number

    traitlets.link((state, name), (dial, "value"), transform=(to_dial, to_state))


MECHANISMS: Mapping[str, str] = {
    AUTO: "",
    "langevin": "Hundreds of models at one cost; always finishes.",
    "exact": "Uniform on the set; may not finish.",
    "unthresholded": "Near the best model; may not finish.",
    "langevin_clipped": "One good model from few rows; always finishes.",
    "objective_perturbation": "One good model; always finishes.",
    "ellipsoid": "One cost for any number of draws; always finishes.",
    "hit_and_run": "",
}
"""What each mechanism draws; the plan adds its guarantee."""

_OPTIONS = {
    AUTO: "auto: from public numbers",
    "langevin": "one Langevin path",
    "hit_and_run": "hit and run (not private)",
}


class MechanismPicker:
    """Chooses the mechanism of the next draws, and shows why."""

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.choice = ui.Dropdown(
            description="Mechanism",
            options=[(_OPTIONS.get(name, name.replace("_", " ")), name) for name in MECHANISMS],
        )
        self.why = card.region("rx-note")
        traitlets.link((self.choice, "value"), (state, "mechanism"))
        state.observe(lambda _: self.update(), ["plan", "no_plan", "mechanism"])
        self.widget = ui.VBox([self.choice, self.why])
        self.update()

    def update(self) -> None:
        words = self._text()
        self.why.value = f"<p>{escape(words)}</p>" if words else ""

    def _text(self) -> str:
        state = self.state
        if state.no_plan:
            return f"This mechanism is unavailable: {state.no_plan}"
        if not isinstance(state.plan, Plan) or state.plan.of_trees:
            return ""
        if state.uncharged:
            return f"Nothing is charged and nothing can be released: {state.uncharged}."
        mechanism, why = state.plan.mechanism or state.mechanism, state.plan.reason
        if state.mechanism == AUTO:
            return f"Selected: {mechanism.replace('_', ' ')}. {text.sentence(why)}"
        if state.plan.hit_rate is not None:
            hits = text.guaranteed_hits(state.plan)
            return f"{MECHANISMS[mechanism]} Guaranteed hit rate: {hits}."
        name, bound = excess_fact(state.plan)
        return f"{MECHANISMS[mechanism]} No guaranteed hit rate. {name}: {bound}."


_HOW = (
    "Numbers separated by commas; an empty box uses the even steps in grey. Use public "
    "knowledge, never the rows."
)


class QuestionsEditor:
    """Editor of thresholds, one box per numeric column, with the size of the class."""

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.redeclare: Callable[[TableSchema], object] = lambda schema: None
        self.boxes: dict[str, ipywidgets.Text] = {}
        self.size = card.region("rx-note", "rx-class-size")
        self.opened = card.quiet_button(
            "Thresholds", "Split thresholds of numeric columns; public", toggles=True
        )
        self._problem = card.region("rx-note", "rx-class-size")
        self._boxes = card.column([], "rx-thresholds")
        how = ui.HTML(f'<p class="rx-note">{_HOW}</p>')
        self._editor = ui.VBox([how, self._problem, self._boxes])
        self.widget = ui.VBox([self.size, self.opened, self._editor])
        self.opened.observe(lambda _: self.refresh(), "value")
        self._updating = False
        watched = ["data", "family", "max_leaves", "max_depth", "phase", "view"]
        state.observe(lambda _: self.refresh(), watched)
        self.refresh()

    def refresh(self) -> None:
        state = self.state
        listed = draws_trees(state) and state.data is not None and state.data.classes is not None
        listed = listed and not state.unconfirmed_reason
        numbers = _numbers(state.data.schema) if listed else ()
        self.size.value = f"<p>{escape(class_in_words(state))}</p>" if listed else ""
        is_open = self.opened.value and bool(numbers)
        ui.display(self.opened, bool(numbers))
        ui.display(self._editor, is_open)
        if is_open or state.unconfirmed_reason:
            self._list(numbers)

    def _list(self, numbers: tuple[Numeric, ...]) -> None:
        if list(self.boxes) != [numeric.name for numeric in numbers]:
            self._problem.value = ""
            self.boxes = {numeric.name: self._box(numeric.name) for numeric in numbers}
            self._boxes.children = tuple(self.boxes.values())
        self._updating = True
        for numeric in numbers:
            box = self.boxes[numeric.name]
            box.placeholder = _listed(numeric.even_cuts)
            box.disabled = self.state.busy
            box.value = _listed(numeric.thresholds)
        self._updating = False

    def _box(self, name: str) -> ipywidgets.Text:
        box = ui.Text(description=name, continuous_update=False)
        box.tooltip = f"Thresholds of {name}"
        box.observe(partial(self._typed, name), "value")
        return box

    def _typed(self, name: str, _change: object) -> None:
        if self._updating:
            return
        self._problem.value = ""
        try:
            table = table_editor.TableEditor.from_dataset(self.state.data)
            self.redeclare(table.edited(name, "thresholds", self.boxes[name].value).schema)
        except DataError as error:
            message = str(error)
            self._problem.value = f"<p>{escape(text.sentence(message))}</p>"


def _numbers(schema: TableSchema) -> tuple[Numeric, ...]:
    return tuple(column for column in schema.features if isinstance(column, Numeric))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{threshold:.6g}" for threshold in numbers)


_MAIN = ("psi", "epsilon", "n_draws")
_MORE = ("radius", "ridge", "delta")
_LOSSES = {"classification": "logistic", "regression": "squared"}


def meanings(state: ExplorerState) -> dict[str, str]:
    """Say what each of the three dials means for the table on screen."""
    psi, plan = text.number(state.psi), state.plan
    good = f"a loss of at most {psi} above the best"
    if state.family == TREES:
        good = f"at most {text.number(100 * state.psi)} more errors in 100 rows than the best"
    elif state.family in NETWORKS:
        good = f"a loss of at most {psi} above that of the best state"
    elif state.loss == "logistic" and state.data is not None and not state.unconfirmed_reason:
        guess = math.log(max(2, len(state.data.classes or ())))
        good = f"{good}; a guess has {text.number(guess)}"
    attack = "" if state.unconfirmed_reason else attack_text(state)
    private = f"an attacker with {attack}" if attack else "the cost of this draw alone"
    many = "all share one cost"
    one_path = isinstance(getattr(plan, "details", None), StatesDetails)
    if not state.unconfirmed_reason and (one_path or isinstance(plan, NetworkPlan)):
        many = "one path: more cost nothing more"
    return {"psi": good, "epsilon": private, "n_draws": many}


def linear_lines(state: ExplorerState) -> tuple[str, ...]:
    regression = state.data is not None and state.data.task == "regression"
    kind = "RashomonRegressor" if regression else "RashomonClassifier"
    names = (*_MAIN, *_MORE, "mechanism")
    settings = ", ".join(f"{name}={getattr(state, name)!r}" for name in names)
    bounds = f", target_bounds={state.data.target_bounds!r}" if regression else ""
    several = (
        state.data is not None
        and len(state.data.classes or ()) > 2
        and not state.unconfirmed_reason
    )
    classes = f", classes=range({len(state.data.classes)})" if several else ""
    return (f"from rashomon_explorer import {kind}", f"{kind}({settings}{bounds}{classes})")


def tree_lines(state: ExplorerState) -> tuple[str, ...]:
    names = (*TREE_SETTINGS, "n_draws")
    settings = ", ".join(f"{name}={getattr(state, name)!r}" for name in names)
    return (
        "from rashomon_explorer import RashomonTreeClassifier",
        f"RashomonTreeClassifier({settings}, schema=explorer.data.schema)",
    )


def network_lines(state: ExplorerState) -> tuple[str, ...]:
    regression = state.data is not None and state.data.task == "regression"
    kind = "RashomonNetworkRegressor" if regression else "RashomonNetworkClassifier"
    names = (*NETWORK_SETTINGS, "n_draws")
    settings = ", ".join(f"{name}={getattr(state, name)!r}" for name in names)
    bounds = f", target_bounds={state.data.target_bounds!r}" if regression else ""
    table = f"schema=explorer.data.schema{bounds}"
    return (
        f"from rashomon_explorer import {kind}",
        f"{kind}(model={state.family!r}, {settings}, {table})",
    )


LINES: Mapping[str, Callable[[ExplorerState], tuple[str, ...]]] = {
    LINEAR: linear_lines,
    TREES: tree_lines,
    **dict.fromkeys(NETWORKS, network_lines),
}


class ModelPanel(card.Panel):
    """Settings of the draws; the estimator and the three dials stand apart, in the rail."""

    title = "More settings"
    needs = ("family", "data", "phase", "plan", *SETTINGS)

    def __init__(self, state: ExplorerState) -> None:
        self.dials = dials()
        self.mechanism = MechanismPicker(state)
        self.questions = QuestionsEditor(state)
        for name, dial in self.dials.items():
            if name not in OPEN:
                follow(dial, state, name)
        self.open = {name: AutoSlider(state, name, self.dials[name]) for name in OPEN}
        widgets = {**self.dials, **{name: slider.widget for name, slider in self.open.items()}}
        self.main = card.column([widgets[name] for name in _MAIN], "rx-card", "rx-dials")
        self._of = {
            LINEAR: (self.mechanism.widget, *(widgets[name] for name in LINEAR_ALONE)),
            TREES: (self.questions.widget, *(widgets[name] for name in TREES_ALONE)),
            **dict.fromkeys(NETWORKS, ()),
        }
        super().__init__(
            state,
            self.mechanism.widget,
            *(widgets[name] for name in TREES_ALONE),
            self.questions.widget,
            *(widgets[name] for name in _MORE),
        )

    def lines(self) -> tuple[str, ...]:
        return LINES[str(self.state.family)](self.state)

    def refresh(self) -> None:
        data, busy = self.state.data, self.state.busy
        for family, controls in self._of.items():
            for control in controls:
                ui.display(control, family == self.state.family)
        if data is not None:
            self.state.loss = _LOSSES[data.task]
        for name, meaning in meanings(self.state).items():
            self.dials[name].help = meaning
        ticks = [slider.auto for slider in self.open.values()]
        for control in (*self.dials.values(), *ticks, self.mechanism.choice):
            control.disabled = busy


class Rail:
    """The estimator, the three dials, the button, and what else can be set, folded."""

    def __init__(
        self, state: ExplorerState, estimator: FittingPanel, model: ModelPanel, draw: GoalPanel
    ) -> None:
        self.state, self._session = state, estimator.session
        self.data = ui.HTML()
        self.more = ui.Step(title="More")
        self.more.observe(lambda _: ui.display(model.widget, self.more.unfolded), "unfolded")
        ui.display(model.widget, self.more.unfolded)
        first = card.column([estimator.widget, self.data], "rx-card", "rx-estimator")
        steps = card.column([first, model.main, self.more, model.widget], "rx-steps")
        self.widget = card.column([steps, draw.widget], "rx-rail")
        self._private = (model.main, self.more, draw.widget)
        self._estimator = estimator.choice
        self._estimator.observe(lambda _: self.refresh(), "value")
        self.score = card.region("rx-score")
        first.children = (*first.children, self.score)
        state.observe(lambda _: self._compare(), ["rashomon_set", "view", "phase", "loading"])
        state.observe(lambda _: self.refresh(), ["data", "plan", "no_plan", "view", *SETTINGS])
        self.refresh()

    def _compare(self) -> None:
        """State the score of the best model beside that of a constant one, for the curator."""
        settled = not (self.state.busy or self.state.loading)
        score = selection.score_beside_constant(self._session) if settled else ""
        self.score.value = score and f'<p class="rx-note">{escape(score)}</p>'

    def refresh(self) -> None:
        for part in self._private:  # an estimator that is fitted here has no ε
            ui.display(part, self._estimator.value in FAMILIES)
        self.data.value = _data_line(self.state)
        self.more.summary = _more_line(self.state)


def _data_line(state: ExplorerState) -> str:
    data = state.data
    if data is None:
        return '<p class="rx-note">Choose a data set.</p>'
    n, columns = table_rows.table_shape(data)
    if state.unconfirmed_reason:
        return f'<p class="rx-note">{text.plural(n, "row")}</p>'
    return f'<p class="rx-note">{escape(selection.predicted(data))} · {n:,} rows × {columns}</p>'


def _more_line(state: ExplorerState) -> str:
    delta = f"δ = {text.number(state.delta, rounding='up')}"
    if state.family == TREES:
        leaves = "leaf" if state.max_leaves == 1 else "leaves"
        return escape(f"trees of at most {state.max_leaves} {leaves} · {delta}")
    if state.family in NETWORKS:
        return escape(f"one path · {delta}")
    values = {name: getattr(state, name) for name in ("radius", "ridge")}
    regularised = [
        f"{name} {value if value == AUTO else text.number(value)}"
        for name, value in values.items()
        if value != 0.0
    ]
    mechanism = state.mechanism
    if mechanism == AUTO and state.plan is not None and not state.unconfirmed_reason:
        mechanism = state.plan.mechanism
    mechanism = {"langevin": "one path"}.get(mechanism, mechanism.replace("_", " "))
    return escape(" · ".join([mechanism, *regularised, delta]))
