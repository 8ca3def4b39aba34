"""The sidebar: data, model and plan in one line each, and Draw always visible."""

from html import escape

from rashomon_explorer.explorer.panels.card import column
from rashomon_explorer.explorer.panels.draw import GoalPanel
from rashomon_explorer.explorer.panels.settings import ModelPanel
from rashomon_explorer.explorer.selection import predicted
from rashomon_explorer.explorer.state import SETTINGS, TREES, ExplorerState
from rashomon_explorer.explorer.streamed_table import table_shape
from rashomon_explorer.explorer.widgets.basic import display
from rashomon_explorer.explorer.widgets.controls import Step
from rashomon_explorer.mechanisms.planning import options, weakness
from rashomon_explorer.plots.text import at_most, cost_text, guaranteed_hits, number, plural


class Rail:
    """Summary of data, model and plan; each line unfolds or opens its view."""

    def __init__(self, state: ExplorerState, model: ModelPanel, draw: GoalPanel) -> None:
        self.state = state
        self.data = Step(title="Data", opens=False)
        self.model = Step(title="Model")
        self.plan = Step(title="Plan", opens=False)
        self.data.observe(lambda _: setattr(state, "page", "data"), "pressed")
        self.plan.observe(lambda _: setattr(state, "page", "plan"), "pressed")
        self._settings = model.widget
        self.model.observe(lambda _: self._open(), "unfolded")
        self._open()
        steps = column([self.data, self.model, self._settings, self.plan], "rx-steps")
        self.widget = column([steps, draw.widget], "rx-rail")
        state.observe(lambda _: self.refresh(), ["data", "plan", "no_plan", "view", *SETTINGS])
        self.refresh()

    def _open(self) -> None:
        display(self._settings, self.model.unfolded)

    def refresh(self) -> None:
        """Update the lines."""
        self.data.summary = _data_line(self.state)
        self.model.summary = _model_line(self.state)
        self.plan.summary = _plan_line(self.state)


def _data_line(state: ExplorerState) -> str:
    data = state.data
    if data is None:
        return "Choose a data set."
    n, columns = table_shape(data)
    if state.unconfirmed_reason:
        return escape(plural(n, "row"))
    facts = [plural(n, "row"), plural(columns, "feature")]
    facts.append(f"predicts {predicted(data)}")
    if len(data.sensitive.columns):
        facts.append(f"sensitive: {', '.join(map(str, data.sensitive.columns))}")
    return escape(" · ".join(facts))


def _model_line(state: ExplorerState) -> str:
    draws = [
        f"ψ = {number(state.psi)}",
        cost_text(state.epsilon),
        plural(state.requested_draws, "draw"),
    ]
    if state.family == TREES:
        leaves = "leaf" if state.max_leaves == 1 else "leaves"
        return escape(" · ".join([f"trees of at most {state.max_leaves} {leaves}", *draws]))
    values = {name: getattr(state, name) for name in ("radius", "ridge")}
    regularised = [
        f"{name} {value if value == options.AUTO else number(value)}"
        for name, value in values.items()
        if value != 0.0
    ]
    mechanism = state.mechanism.replace("_", " ")
    return escape(" · ".join([state.loss, mechanism, *draws, *regularised]))


def _plan_line(state: ExplorerState) -> str:
    if state.unconfirmed_reason:
        return "not shown in the release"
    if state.no_plan:
        return escape(f"Unavailable: {state.no_plan}")
    if state.plan is None:
        return "Needs a data set."
    if state.uncharged:
        return "nothing is charged, nothing can be released"
    mechanism = (state.plan.mechanism or state.mechanism).replace("_", " ")
    if not weakness.has_hit_rate(state.plan):
        excess = at_most(getattr(state.plan, "weighed_excess", state.plan.excess_bound))
        return f"{escape(mechanism)} · excess loss <b>{escape(excess)}</b>"
    return f"{escape(mechanism)} · hit rate <b>{escape(guaranteed_hits(state.plan))}</b>"
