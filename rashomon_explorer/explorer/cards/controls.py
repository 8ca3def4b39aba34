"""Figures with controls of their own."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets
import numpy as np

from rashomon_explorer.data import IgnoredColumn
from rashomon_explorer.explorer.cards import base
from rashomon_explorer.explorer.cards.inputs import readable_trees
from rashomon_explorer.explorer.family import reads_well, trees_in
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.panels.models import ThresholdControl, inside_only
from rashomon_explorer.explorer.selection import taken
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures.inputs import COLUMNS, feature_groups
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.registry import mechanism_traits
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.plots import budget, coefficients, guarantees, importance, prices, profile
from rashomon_explorer.plots.registry import Argument, FigureCall, FigureSpec, Plot
from rashomon_explorer.plots.text import number, plural
from rashomon_explorer.plots.tree_answers import plot_tree_guarantee, tree_guarantee_table
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.linear import groups_by_name

_GTU = guarantees.GTU.removeprefix("GTU: ")


class LossesCard(base.FigureCard):
    """Losses of the draws, with a slider of ψ."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the slider."""
        self.threshold = ThresholdControl(self.state)
        return [self.threshold.widget]

    def inputs(self) -> FigureCall | str:
        """Pass draws of known losses."""
        if math.isnan(self.state.rashomon_set.least):
            return "The losses of these models are unknown:<br>build the set with losses or with y."
        return self.build()


class CloudCard(base.FigureCard):
    """Two coefficients of every draw, with lists of the axes."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the axes, and whether draws outside ψ are shown."""
        self._x, self._y = self.dropdown("across"), self.dropdown("up")
        self._enable(False)
        return [self._x, self._y, inside_only(self.state)]

    def _enable(self, known: bool) -> None:
        self._x.disabled = self._y.disabled = not known

    def waiting(self) -> FigureCall:
        """Message without axes to choose."""
        for picker in (self._x, self._y):
            self.offer(picker, ())
        self._enable(False)
        return super().waiting()

    def inputs(self) -> FigureCall:
        """Pass chosen axes; by default the two that vary most."""
        names, models = self.state.rashomon_set.parameter_names, self.state.rashomon_set
        if tuple(self._x.options) != tuple(names):
            axes = coefficients.default_axes(models)
            with self._offered():
                for picker, name in zip((self._x, self._y), axes, strict=True):
                    picker.options, picker.value = names, name
            self._enable(True)
        only = self.state.inside_only
        return self.build({"x": self._x.value, "y": self._y.value, "inside_only": only})


_SHOWN = (("importance", "importance"), ("coefficients", "coef"))
_MOST_CELLS, _FEWEST_ROWS = 1_000_000, 100


class ImportanceCard(base.FigureCard):
    """Importance of every feature, or the coefficients."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of what is shown."""
        self._what = self.dropdown("show", _SHOWN)
        return [self._what]

    def next_call(self) -> FigureCall | None:
        """Coefficients need no rows; importances are for the curator."""
        models = self.state.rashomon_set
        trees = trees_in(models) is not None
        if self.is_without_models or not (trees or isinstance(models, RashomonSet)):
            return super().next_call()
        groups = groups_by_name(models.models.feature_names) if trees else models.feature_groups
        columns = [("importance of single columns", COLUMNS)] if groups else []
        self.offer(self._what, (_SHOWN[0], *columns, *([] if trees else [_SHOWN[1]])), "importance")
        if self._what.value == "coef":
            return self._coefficients()
        if self.state.view == "release":
            others = "" if trees else "<br>Or show <b>coefficients</b>."
            return self.message(f"{base.CURATOR_FIGURE}{others}")
        return super().next_call()

    def inputs(self) -> FigureCall:
        """Pass features or columns, on fewer rows for many models."""
        most = max(_FEWEST_ROWS, _MOST_CELLS // self.state.rashomon_set.n_draws)
        features = COLUMNS if self._what.value == COLUMNS else None
        return self.build({"features": features, "max_rows": min(importance.MOST_ROWS, most)})

    def _coefficients(self) -> FigureCall:
        """Pass the draws to the figure of their coefficients."""
        spec, released = coefficients.SPREAD, self.state.view == "release"
        table = spec.table if released or self.state.rashomon_set.hit_rate > 0 else None
        return self.build(plot=spec.plot, tabulate=table, measure=None, code=None, of_people=False)


_EVERYONE = "everyone"


class PeopleCard(base.FigureCard):
    """Range of predictions for each person, with a list of columns of groups."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of columns."""
        self._group_by = self.dropdown("by", [_EVERYONE])
        return [self._group_by]

    def inputs(self) -> FigureCall:
        """Pass selected people and models, by group."""
        data, selection = self.state.data, self.session.picked
        columns = (_EVERYONE, *selection.columns) if data is not None else (_EVERYONE,)
        if tuple(self._group_by.options) != columns:
            sensitive = () if data is None else map(str, data.sensitive.columns)
            first = next((name for name in sensitive if name in columns), _EVERYONE)
            with self._offered():
                self._group_by.options, self._group_by.value = columns, first
        by = self._group_by.value
        arguments: dict[str, Any] = {
            "models": Argument.known(selection.models, selection.names[0]),
            "group_name": "group" if by == _EVERYONE else by,
        }
        if by != _EVERYONE:
            groups = selection.groups(by)
            arguments["groups"] = Argument.known(groups, f"explorer.selected.groups({by!r})")
        return self.build(arguments)


class BoundsCard(base.FigureCard):
    """Guarantees with their theorems; measurements in the curator view after a draw."""

    def __init__(
        self, session: Session, spec: FigureSpec, inputs: base.Inputs | None = None
    ) -> None:
        self.facts = ipywidgets.HTML()
        self.facts.add_class("rx-promises")
        super().__init__(session, spec, inputs)
        self.widget.children = (self.view, self.facts, *self.widget.children[1:])

    def inputs(self) -> FigureCall | str:
        """Pass plan or draws, and the list of their guarantees below the figure."""
        state, models = self.state, self.state.rashomon_set
        if "drawn" not in self.spec.needs or models is None or not models.n_draws:
            models = None
        planned = state.plan if models is None else getattr(models, "plan", state.plan)
        where = "explorer.plan" if models is None else "explorer.rashomon_set.plan"
        self.facts.value = ""
        if planned is None:
            return base.NO_DATA if state.data is None else base.NO_PLAN
        plan = Argument.known(planned, where)
        if isinstance(planned, TreePlan):
            changes = {"plot": plot_tree_guarantee, "tabulate": tree_guarantee_table}
            return self.build({"planned": plan}, **changes)
        if models is not None and not models.as_drawn and state.view != "release":
            return "Guarantees are for all draws,<br>and some of them were selected."
        if not planned.of_exact_draws:
            return (
                "This bound holds for exact draws only;<br>see <b>Plan</b> for this mechanism's "
                "guarantee."
            )
        plot: Plot = guarantees.plot_guarantee
        source = plan
        if models is not None and state.view != "release":
            plot, source = guarantees.plot_bounds, Argument.known(models, "explorer.rashomon_set")
        listed = guarantees.list_guarantees(source.find(), self.session.constants)
        self.facts.value = _guarantees_html(source.find(), listed)
        before = (
            "from rashomon_explorer.plots import list_guarantees",
            f"list_guarantees({source.line}, explorer.constants)",
        )
        arguments = {"planned": source, "models": source, "given": source}
        return self.build(arguments, plot=plot, before=before)


def _guarantees_html(source: Plan | RashomonSet, rows: Sequence[guarantees.GuaranteeRow]) -> str:
    """Fold-out list of guarantees, the strongest first; the papers' bounds are folded away."""
    measured = isinstance(source, RashomonSet)
    head = '<th scope="col">guaranteed</th>'
    if measured:
        head += '<th scope="col">measured<br><span class="rx-amber">not private</span></th>'
    first = sorted((row for row in rows if not row.of_a_paper), key=lambda row: bool(row.missing))
    papers = [row for row in rows if row.of_a_paper]
    caption = "Bounds for exact draws, from public numbers only; the strongest first"
    listed = _table(first, head, caption, measured=measured)
    if papers:
        weaker = _table(papers, head, f"GTU is short for {_GTU}", measured=measured)
        listed += (
            f"<details><summary>Weaker bounds from the papers ({len(papers)})</summary>"
            f"{weaker}</details>"
        )
    remarks = [f"{guarantees.GTU}."]
    if isinstance(source, RashomonSet):
        remarks.append(
            "A mean over few draws can exceed its bound by chance. –: not measurable on one table."
        )
        if not mechanism_traits(source.mechanism).planned_law:
            remarks.append(f"These are draws of {source.mechanism}, which has no guarantee.")
    note = f'<p class="rx-note">{escape(" ".join(remarks))}</p>'
    return f"<details><summary>Guarantees and theorems</summary>{listed}{note}</details>"


def _table(
    rows: Sequence[guarantees.GuaranteeRow], head: str, caption: str, *, measured: bool
) -> str:
    body = "".join(_row(row, measured=measured) for row in rows)
    return (
        f'<table class="rx-promise-table"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">what</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _row(row: guarantees.GuaranteeRow, *, measured: bool) -> str:
    kind = ' class="rx-note"' if row.missing else ""
    cells = f"<td{kind}>{escape(row.promised)}</td>"
    if measured:
        cells += f'<td class="rx-curator">{escape(row.found)}</td>'
    name = f'{escape(row.name)}<br><span class="rx-note">{escape(row.theorem)}</span>'
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


class PlanCard(base.FigureCard):
    """Guarantee by privacy cost and number of draws; drag the plan or click a point."""

    def __init__(
        self, session: Session, spec: FigureSpec, inputs: base.Inputs | None = None
    ) -> None:
        super().__init__(session, spec, inputs)
        self.view.observe(error_boundary(self.state, "Setting the plan", self._clicked), "clicked")
        self.view.observe(error_boundary(self.state, "Setting the plan", self._dragged), "dragged")

    def inputs(self) -> FigureCall:
        """Pass the current plan."""
        plan = self.state.plan
        if plan is None:
            return self.message(
                base.NO_DATA if self.state.data is None else base.NO_PLAN, budget.HEIGHT
            )
        return self.build({"planned": Argument.known(plan, "explorer.plan")})

    def _clicked(self, change: dict[str, Any]) -> None:
        """Set privacy cost and draws to those of a point on a curve."""
        point = change["new"]
        draws = self.view.figure.get("layout", {}).get("meta", {}).get("draws", [])
        curve, epsilon = point.get("trace", -1), point.get("x")
        if 0 <= curve < len(draws) and isinstance(epsilon, int | float):
            self._plan(epsilon, draws[curve])

    def _dragged(self, change: dict[str, Any]) -> None:
        """Set privacy cost and draws to the position to which the plan was dragged."""
        point, plan = change["new"], self.state.plan
        epsilon, bound, curve = point.get("x"), point.get("y"), point.get("curve")
        if plan is None or not isinstance(epsilon, int | float):
            return
        epsilon = min(max(epsilon, prices.LEAST_PRICE), prices.MOST_PRICE)
        self._plan(epsilon, prices.draws_at(plan, epsilon, bound) if curve is None else curve)

    def _plan(self, epsilon: float, draws: int) -> None:
        state = self.state
        if state.busy:
            return
        with state.hold_trait_notifications():
            state.epsilon = float(number(epsilon).replace(",", ""))
            if draws != state.requested_draws:
                state.n_draws = draws


class ColumnsCard(base.FigureCard):
    """Histogram of one column, with a list of the columns."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of columns."""
        self._column = self.dropdown("column")
        self.state.observe(lambda _: self._offer_columns(), "data")
        self._offer_columns()
        return [self._column]

    def _offer_columns(self) -> None:
        data = self.state.data
        columns = () if data is None else data.schema.columns
        self.offer(self._column, [c.name for c in columns if not isinstance(c, IgnoredColumn)])

    def inputs(self) -> FigureCall | str:
        """Pass cells of the column and its declaration."""
        data, name = self.state.data, self._column.value
        if name is None:
            return "No column has declared bounds or levels."
        cells, column = f"explorer.data.frame[{name!r}]", f"explorer.data.schema[{name!r}]"
        known = {
            "cells": Argument.known(data.frame[name], cells),
            "column": Argument.known(data.schema[name], column),
        }
        return self.build(known)


class SetsCard(base.FigureCard):
    """Comparison with another saved set of the same table."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of the other sets."""
        self._other = self.dropdown("compare with")
        self._other.disabled = True
        return [self._other]

    def next_call(self) -> FigureCall | None:
        """Update the list of sets first."""
        others = [k for k in reversed(self.state.kept) if k.number != self.state.in_view]
        self.offer(self._other, [(entry.label, entry.number) for entry in others])
        self._other.disabled = not others
        return super().next_call()

    def inputs(self) -> FigureCall | str:
        """Pass the set in view and the chosen one, both of curators or both released."""
        state, sets, draw = self.state, self.session.set_store, self._other.value
        if sets is None or draw is None:
            return (
                "All sets drawn from this table are saved.<br>With two sets, this figure compares "
                "them."
            )
        names = (f"draw {state.in_view}" if state.in_view else "the set in view", f"draw {draw}")
        first, second, end = state.rashomon_set, sets.open(draw), ""
        if state.view == "release":
            first, second, end = first.release(), second.release(), ".release()"
        other = f"explorer.session.set_store.open({draw}){end}"
        return self.build(
            {
                "first": Argument.known(first, f"explorer.rashomon_set{end}"),
                "second": Argument.known(second, other),
                "names": names,
            }
        )


_GAPS: Mapping[str, tuple[str, ...]] = {
    "classification": (
        "demographic_parity",
        "equal_opportunity",
        "equalized_odds",
        "accuracy_score",
        "calibration_in_the_large",
    ),
    "regression": ("mean_prediction", "mean_absolute_error", "calibration_in_the_large"),
}


class FrontierCard(base.FigureCard):
    """Accuracy against one gap, with a list of the gaps."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of gaps."""
        self._gap = self.dropdown("gap")
        return [self._gap]

    def inputs(self) -> FigureCall:
        """Pass the chosen gap."""
        gap = self.offer(self._gap, _GAPS[self.state.rashomon_set.task])
        return self.build({"gap": f"{gap}_difference"})


_BURDENS: Mapping[str, tuple[str, ...]] = {
    "classification": ("ambiguity", "disagreement", "obscurity", "discrepancy", "range_width"),
    "regression": ("range_width", "score_std"),
}


class BurdenCard(base.FigureCard):
    """Measure of disagreement for each group, with a list of the measures."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of measures."""
        self._measure = self.dropdown("of")
        return [self._measure]

    def inputs(self) -> FigureCall:
        """Pass selected models on everyone; exact ambiguity of those who are listed."""
        session, column, models = self.session, self.column, self.state.rashomon_set
        measure = self.offer(self._measure, _BURDENS[models.task])
        people = session.picked.everyone
        arguments: dict[str, Any] = {
            "models": Argument.known(session.picked.models, session.picked.names[0]),
            "measure": measure,
            "highlight": tuple(level for own, level in self.state.groups if own == column),
            "guaranteed": models.guarantee.holds,
        }
        words, proved = people.words, measure == "ambiguity" and not session.exact.why_not
        few = f"exact of {len(people.few):,} people" if proved else ""
        if people.sample_words:  # draws cover all rows; exact results cover a sample
            words = f"draws: all {session.shape[0]:,} people"
            few = few and f"{few} of {people.sample_words}"
        arguments["note"] = Argument.unwritten(" · ".join(filter(None, [words, few])))
        if proved:
            line = f"explorer.exact.ambiguity_by(explorer.selected.everyone, {column!r})"
            exact = session.exact
            arguments["exact"] = Argument(line, lambda: exact.ambiguity_by(people, column))
        marks = ("exact", "sampled") if proved else ("sampled",)
        return self.build(arguments, marks=marks)


_MEASURES = (("mean |SHAP|", "shap"), ("switching", "reliance"), ("shuffling", "permutation"))
_WIDEST = "widest"
_MOST_ANSWERS = 400_000
"""Limit on models times rows for switching and shuffling, to keep them fast."""


class ImportancePairCard(base.FigureCard):
    """Importance of two features, with lists of the features and of the measures."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the axes and the measure."""
        self._x, self._y = self.dropdown("across"), self.dropdown("up")
        self._measure = self.dropdown("by", _MEASURES)
        return [self._x, self._y, self._measure]

    def inputs(self) -> FigureCall:
        """Pass chosen features and measure, for some measures on fewer people."""
        models, measure = self.state.rashomon_set, self._measure.value
        selection = self.session.picked
        groups = feature_groups(None, models.feature_names[:-1], models.feature_groups)
        axes = {"x": self._x, "y": self._y}
        for picker in axes.values():
            self.offer(picker, (_WIDEST, *groups))
        arguments: dict[str, Any] = {
            name: None if picker.value == _WIDEST else picker.value for name, picker in axes.items()
        }
        arguments["measure"] = measure
        people = selection.people
        most = len(people) if measure == "shap" else max(50, _MOST_ANSWERS // models.n_draws)
        if most < len(people):
            few, rows, targets = people[:most], self.session.rows, self.session.targets
            key = (rows, few.tobytes())
            lines = [f"{line}.iloc[:{most}]" for line in selection.names]
            arguments["X"] = Argument(lines[1], lambda: taken(rows, few), key)
            arguments["targets"] = Argument(lines[2], lambda: taken(targets, few), key)
        return base.with_words(self.build(arguments), selection.words)


_MOST_PROFILES = 500_000


class ProfileCard(base.FigureCard):
    """Partial dependence on one feature, with a list of the features."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of features."""
        self._feature = self.dropdown("feature")
        return [self._feature]

    def inputs(self) -> FigureCall:
        """Pass the chosen feature of the selected people, in the table's own columns."""
        selection, encoder = self.session.picked, self.session.encoder
        table = selection.table
        feature = self.offer(self._feature, selection.features)
        most = max(_FEWEST_ROWS, _MOST_PROFILES // self.state.rashomon_set.n_draws)
        arguments: dict[str, Any] = {
            "X": Argument(
                "explorer.selected.table",
                lambda: table,
                (self.session.rows, selection.people.tobytes()),
            ),
            "feature": next(name for name in table.columns if str(name) == feature),
            "answer": Argument.known(selection.answer, "explorer.selected.answer"),
            "max_rows": min(profile.MOST_ROWS, most),
        }
        if encoder is not None:
            encode = selection.encode
            arguments["transform"] = Argument("explorer.selected.encode", lambda: encode, encoder)
        return base.with_words(self.build(arguments), selection.words)


_SECONDS_A_ROW = 2e-4
_AT_ONCE = 20.0
"""Time limit in seconds of the first computation."""


class ClassRelianceCard(base.FigureCard):
    """Certified ranges of reliance, with a button for all features."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the button."""
        self._all = ipywidgets.ToggleButton(description="All features", value=False)
        self._all.add_class("rx-quiet")
        self._all.observe(lambda _: self.changed(), "value")
        return [self._all]

    def inputs(self) -> FigureCall | str:
        """Pass features with the largest coefficients within the time limit, or all."""
        models, exact = self.state.rashomon_set, self.session.exact
        if models.link not in ("logistic", "identity"):
            return "Class reliance is available for squared loss and for two classes."
        groups = feature_groups(None, models.feature_names[:-1], models.feature_groups)
        size = {name: float(np.abs(models.best[places]).max()) for name, places in groups.items()}
        ranked = sorted(size, key=lambda name: -size[name])
        each = 0.5 + _SECONDS_A_ROW * len(self.session.rows)
        most = max(1, int(_AT_ONCE / each))
        self._all.layout.display = "none" if most >= len(ranked) else None
        wait = math.ceil(each * len(ranked) / 60)
        self._all.tooltip = f"All {len(ranked)} features: about {plural(wait, 'minute')}"
        features = tuple(ranked if self._all.value else ranked[:most])
        left_out = len(ranked) - len(features)
        more = f"{plural(left_out, 'feature')} of smaller coefficients not measured yet"
        line = f"explorer.exact.class_reliance({features!r})"
        table = Argument(line, lambda: exact.class_reliance(features))
        note = Argument.unwritten(more if left_out else "")
        return self.build({"table": table, "note": note})


class RulesCard(base.FigureCard):
    """Rules of all trees, with a search for words of a question."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the search, and whether only starred trees count."""
        self.search = ipywidgets.Text(
            description="search", placeholder="a question", continuous_update=False
        )
        self.starred = ipywidgets.Checkbox(description="starred only", indent=False)
        self.starred.add_class("rx-tick")
        for control in (self.search, self.starred):
            control.observe(lambda _: self.changed(), "value")
        return [self.search, self.starred]

    def inputs(self) -> FigureCall | str:
        """Pass rules that match the search, of the selected or starred trees."""
        found, draws = readable_trees(self), tuple(self.state.selection)
        if isinstance(found, str):
            return found
        if self.starred.value and self.state.view != "release":
            draws = tuple(self.state.favourites.starred)
            if not draws:
                return "No tree has a star.<br>Star trees in the table of models, or untick this."
        return self.build(
            {"models": found, "search": self.search.value, "highlight": Argument.known(draws)}
        )


class TreeParityCard(base.FigureCard):
    """Least gap between groups against loss, with a list of the labels."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of labels."""
        self.rate = self.dropdown("rate of")
        return [self.rate]

    def inputs(self) -> FigureCall | str:
        """Pass the front of all trees, and the drawn trees."""
        state, answers, column = self.state, self.session.tree_answers, self.column
        classes = tuple(map(str, state.data.classes))
        class_name = self.offer(self.rate, classes, classes[-1])
        self.rate.layout.display = None if len(classes) > 2 else "none"
        label, models = classes.index(class_name), state.rashomon_set

        def is_exact() -> bool:
            return bool(answers.parity(column, label).attrs["exact"])

        line = f"explorer.tree_answers.parity({column!r}, {label})"
        arguments: dict[str, Any] = {
            "front": Argument(line, lambda: answers.parity(column, label)),
            "psi": float(state.psi),
            "label": f"“{class_name}”",
            "column": column,
            "exact": Argument(f"{line}.attrs['exact']", is_exact),
        }
        if trees_in(models):
            drawn = f"explorer.tree_answers.drawn_gaps(explorer.rashomon_set, {column!r}, {label})"
            arguments["drawn"] = Argument(drawn, lambda: answers.drawn_gaps(models, column, label))
        return self.build(arguments, marks=lambda: ("exact",) if is_exact() else ("sampled",))


_PERSON = "flips the label of the selected person"
_ASKS, _LACKS = "asks", "does not ask"
_EQUAL = "differs least between groups"


class ExampleTreeCard(base.FigureCard):
    """The best tree with a property, with lists of the properties."""

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the property and the question."""
        self.does = self.dropdown("the best that", [_LACKS, _ASKS, _PERSON, _EQUAL])
        self.question = self.dropdown("question")
        return [self.does, self.question]

    def inputs(self) -> FigureCall | str:
        """Pass the best tree, and the best one with the property."""
        answers, does = self.session.tree_answers, self.does.value
        question = self.offer(self.question, answers.questions)
        self.question.layout.display = None if does in (_ASKS, _LACKS) else "none"
        self._by.layout.display = None if does == _EQUAL else "none"
        if does == _EQUAL:
            why_not = base.NEEDS["groups"].why_not(self.session)
            return why_not or self._best("fairest", self.column, "")
        if does != _PERSON:
            method = "asking" if does == _ASKS else "without"
            return self._best(method, question, f"that {does} “{question}”")
        if not self.state.people:
            return "Select a person under <b>People &amp; groups</b>,<br>or choose a question here."
        person = int(self.state.people[-1])
        return self._best("flipping", person, f"that flips person {person}")

    def _best(self, method: str, argument: Any, words: str) -> FigureCall:
        """Call with the trees that a method of the exact answers finds."""
        answers, schema, column = self.session.tree_answers, self.state.data.schema, self.column

        def is_exact() -> bool:
            return bool(words) or bool(answers.parity(column).attrs["exact"])

        def what() -> str:
            found = "" if is_exact() else " of 2,000 draws"
            return words or f"with the least gap{found} by {column}"

        return self.build(
            {
                "models": Argument(
                    f"explorer.tree_answers.{method}({argument!r})",
                    lambda: reads_well(getattr(answers, method)(argument), schema),
                ),
                "what": Argument("", what),
                "draws": [0, 1],
                "columns": 1,
            },
            marks=lambda: ("exact",) if is_exact() else ("sampled",),
        )
