"""Arguments of figures beyond those that every figure gets: one function a figure."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from rashomon_explorer.data import IgnoredColumn
from rashomon_explorer.explorer import family, messages
from rashomon_explorer.explorer.account import draw_cost
from rashomon_explorer.explorer.cards.base import CURATOR_FIGURE, NO_DATA, NO_PLAN, FigureCard
from rashomon_explorer.explorer.selection import most_different_models, taken
from rashomon_explorer.measures.inputs import COLUMNS, feature_groups
from rashomon_explorer.measures.reliance.class_reliance import takes_seconds
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.networks.models import Additive
from rashomon_explorer.networks.path import NetworkPlan
from rashomon_explorer.networks.sets import NetworkSet
from rashomon_explorer.plots import coefficients, guarantees, importance, prices
from rashomon_explorer.plots.budget import HEIGHT
from rashomon_explorer.plots.dots import MOST_PEOPLE
from rashomon_explorer.plots.path import plot_path
from rashomon_explorer.plots.ranges import plot_exact_ranges
from rashomon_explorer.plots.registry import Argument, FigureCall, Plot
from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.tree_answers import plot_tree_guarantee, tree_guarantee_table
from rashomon_explorer.privacy.ledger.totals import counted_guarantees
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.linear import groups_by_name


def ranges(card: FigureCard) -> FigureCall:
    if card.state.view == "release":
        code = coefficients.plot_coefficient_spread
        return card.build(tabulate=coefficients.spread_table, code=code)
    answers, models, audit = card.session.exact, card.state.rashomon_set, card.state.exact_audit
    line = "explorer.exact.coefficient_ranges()"
    exact = Argument(line, lambda: answers.coefficient_ranges() if answers.matched else None)
    centred = audit is not None and audit.problem.loss.outputs > 1  # unlike those of the draws
    if models is not None and models.hit_rate > 0 and not centred:
        return card.build({"exact": exact})
    return card.build({"exact": exact, "models": None}, code=plot_exact_ranges, marks=("exact",))


def budget(card: FigureCard) -> FigureCall:
    account, plan, state = card.state.account, card.state.plan, card.state
    if account is None:
        return card.message(NO_DATA, HEIGHT)
    charged = plan is not None and state.data is not None and not state.uncharged
    charges = [entry for entry in account.charges if entry.counts]
    arguments = {
        "ledger": Argument.known(None, "explorer.ledger"),
        "planned": Argument.known(
            plan.guarantee if charged and not state.spent else None, "explorer.plan"
        ),
        "charges": counted_guarantees(charges),
        "budget": account.budget,
        "delta": account.delta,
        "rule": account.totals,
        "divergences": [entry.divergence for entry in charges],
        "notes": [f"{charge.note}<br>{charge.day}, {charge.standing}" for charge in charges],
        "entries": account.charges,
    }
    changes = {} if account.charges else {"tabulate": None}
    return card.build(arguments, is_message=not account.exists, **changes)


def tradeoff(card: FigureCard) -> FigureCall | str:
    state, models = card.state, card.state.rashomon_set
    if models is not None and models.n_draws and models.guarantee.holds:
        guarantee, of, line = models.guarantee, "these models", "explorer.guarantee"
    elif state.plan is not None and not state.uncharged:
        guarantee, of, line = state.plan.guarantee, "the plan", "explorer.plan.guarantee"
    else:
        return "There is no released result and no plan." if state.data else NO_DATA
    return card.build({"guarantee": Argument.known(guarantee, line), "of": of})


def aggregates(card: FigureCard) -> FigureCall | str:
    if not card.state.releases:
        return (
            "No aggregates were released for these models.<br>"
            "Fill the basket and press <b>Release</b>."
        )
    last = card.state.releases[-1].released
    return card.build({"released": Argument.known(last, "explorer.state.releases[-1].released")})


_OF_DRAWS = (
    "An audited model is not refitted to other samples.<br>"
    "Press <b>Draw</b> under a data set: its models are<br>measured on resampled tables."
)


def distribution(card: FigureCard) -> FigureCall | str:
    session, models = card.session, card.state.rashomon_set
    if card.state.exact_audit is not None:
        return _OF_DRAWS
    if family.trees_in(models) is None and session.exact.why_not:
        return session.exact.why_not
    planned: Any = getattr(models, "planned", None)
    if family.trees_in(models) is not None and not (planned and planned.request.questions):
        return "The class of these imported trees is unknown."
    rows = min(importance.RESAMPLED_ROWS, len(session.picked.people))
    words = f"{rows:,} rows each, {importance.MODELS_OF_A_TABLE} models within ψ of each"
    return card.build(subtitle=words)


def pair(card: FigureCard) -> FigureCall | str:
    models, draws = card.state.rashomon_set, list(card.state.selection[:2])
    released, chosen = card.state.view == "release", ""
    if not draws or max(draws) >= models.n_draws:
        draws, chosen = most_different_models(card.session), "the two most different models"
    elif released and len(draws) < 2:  # a release has no best model
        away = np.linalg.norm(models.coef - models.coef[draws[0]], axis=1)
        draws, chosen = [draws[0], int(away.argmax())], "and the most different model"
    if not draws or (released and draws[0] == draws[-1]):
        return "Two models are needed:<br>draw more of them."
    arguments: dict[str, Any] = {"first": draws[0], "second": draws[1] if len(draws) > 1 else None}
    if not released:
        arguments["y"] = Argument("explorer.targets", lambda: card.session.targets)
    return card.build(arguments, subtitle=chosen)


def losses(card: FigureCard) -> FigureCall | str:
    if math.isnan(card.state.rashomon_set.least):
        return "The losses of these models are unknown:<br>build the set with losses or with y."
    return card.build()


def chains(card: FigureCard) -> FigureCall:
    looks = Argument.known(card.state.chains, "explorer.state.chains")
    return card.build({"chains": looks, "psi": float(card.state.psi)})


MAIN = "main direction"


def model_map(card: FigureCard) -> FigureCall:
    """Map the models on screen, or the released states of a path that runs."""
    state, exact, runs = card.state, card.session.exact, card.shows_run
    models = state.path if runs else state.rashomon_set
    if models is None and len(state.data.classes or ()) > 2:
        return card.waiting()  # several scores have no exact outline
    names = () if models is None else models.names if runs else models.parameter_names
    names = names or (*card.session.rows.columns, "intercept")
    axes = [card.offer(label, (MAIN, *names), MAIN) for label in ("across", "up")]
    x, y = (None if axis == MAIN else axis for axis in axes)
    arguments: dict[str, Any] = {"x": x, "y": y, "inside_only": state.inside_only}
    if runs:
        arguments["path"] = Argument.known(models, "explorer.state.path")
        return card.build(arguments, plot=plot_path, tabulate=None, marks=("paid",))
    # The outline takes some passes over the rows, and needs two different directions.
    hidden = state.view == "release" or state.busy or card.session.is_chunked
    if not (hidden or exact.why_not or (x and x == y)):
        line = f"explorer.exact.outline({x!r}, {y!r})"
        arguments["outline"] = Argument(line, lambda: exact.outline(x, y))
    if models is None and "outline" not in arguments:
        return card.message("Choose two different directions.") if x and x == y else card.waiting()
    return card.build(arguments if models is not None else {**arguments, "models": None})


def dots(card: FigureCard) -> FigureCall | str:
    """Compare the labels of some people, exactly or by the models on screen."""
    session, models, data = card.session, card.state.rashomon_set, card.state.data
    if "regression" in (getattr(models, "task", ""), getattr(data, "task", "")):
        return "The models predict numbers,<br>so there are no labels that differ."
    names = models.class_names if data is None else [str(name) for name in data.classes]
    n_rows, exact, psi = session.shape[0], session.exact, card.state.psi
    trees = family.draws_trees(card.state) and (not models or family.trees_in(models) is not None)
    table = Argument("explorer.tree_answers.one_by_one()", session.tree_answers.one_by_one)
    if not trees:
        table, psi = Argument("explorer.exact.one_by_one()", exact.one_by_one), exact.psi
    note = f"{MOST_PEOPLE} of {n_rows:,} people, at random" if n_rows > MOST_PEOPLE else ""
    arguments = {
        "table": table,
        "psi": float(psi),
        "labels": (names[0] if len(names) == 2 else "another", names[-1]),
        "note": Argument.unwritten(note),
        "highlight": tuple(card.state.people),
    }
    return card.build(arguments)


_PRIVATE_IMPORTANCE = (
    "Importance reads private rows.<br>Show <b>coefficients</b>, or switch to <b>Curator</b>."
)
IMPORTANCE = (("importance", "importance"), ("coefficients", "coef"))
"""What the figure of importance shows."""


def coefficients_instead(card: FigureCard) -> FigureCall | None:
    """Call of the figure of coefficients, which needs no rows, where it is chosen."""
    models = card.state.rashomon_set
    trees, released = family.trees_in(models) is not None, card.state.view == "release"
    if card.is_without_models or not (trees or isinstance(models, RashomonSet)):
        return None
    groups = groups_by_name(models.models.feature_names) if trees else models.feature_groups
    columns = [("importance of single columns", COLUMNS)] if groups else []
    coefficient_choice = [] if trees else [IMPORTANCE[1]]
    if card.offer("show", (IMPORTANCE[0], *columns, *coefficient_choice), "importance") == "coef":
        spec = coefficients.SPREAD
        plot = (released and spec.release_plot) or spec.plot
        table = spec.table if released or models.hit_rate > 0 else None
        return card.build(plot=plot, tabulate=table, measure=None, code=None, of_people=False)
    if released:
        return card.message(CURATOR_FIGURE if trees else _PRIVATE_IMPORTANCE)
    return None


def importances(card: FigureCard) -> FigureCall:
    return card.build({"features": COLUMNS if card.controls["show"].value == COLUMNS else None})


MEASURES = (("mean |SHAP|", "shap"), ("switching", "reliance"), ("shuffling", "permutation"))
_WIDEST = "widest"
_MOST_ANSWERS = 1_500_000
"""Limit on models times rows for switching and shuffling, to keep them fast."""


def importance_cloud(card: FigureCard) -> FigureCall:
    """Chosen features and measure, for some measures on fewer people."""
    models, selection, measure = card.state.rashomon_set, card.session.picked, card.controls["by"]
    groups = feature_groups(None, models.feature_names[:-1], models.feature_groups)
    features = {
        "x": card.offer("across", (_WIDEST, *groups)),
        "y": card.offer("up", (_WIDEST, *groups)),
    }
    arguments: dict[str, Any] = {
        name: None if feature == _WIDEST else feature for name, feature in features.items()
    }
    arguments["measure"] = measure.value
    people = selection.people
    row_limit = len(people) if measure.value == "shap" else max(50, _MOST_ANSWERS // models.n_draws)
    if row_limit < len(people):
        few, rows, targets = people[:row_limit], card.session.rows, card.session.targets
        key = (rows, few.tobytes())
        lines = [f"{line}.iloc[:{row_limit}]" for line in selection.names]
        arguments["X"] = Argument(lines[1], lambda: taken(rows, few), key)
        arguments["targets"] = Argument(lines[2], lambda: taken(targets, few), key)
    return card.build(arguments)


def feature_profile(card: FigureCard) -> FigureCall:
    selection, encoder = card.session.picked, card.session.encoder
    table = selection.table
    most_important = next(iter(card.session.ranked_features), None)
    feature = card.offer("feature", selection.features, most_important)
    key = (card.session.rows, selection.people.tobytes())
    arguments: dict[str, Any] = {
        "X": Argument("explorer.selected.table", lambda: table, key),
        "feature": next(name for name in table.columns if str(name) == feature),
        "answer": Argument.known(selection.answer, "explorer.selected.answer"),
    }
    if encoder is not None:
        encode = selection.encode
        arguments["transform"] = Argument("explorer.selected.encode", lambda: encode, encoder)
    return card.build(arguments)


def shapes(card: FigureCard) -> FigureCall | str:
    if (audit := card.state.exact_audit) is None:
        models = card.state.rashomon_set
        if not (isinstance(models, NetworkSet) and isinstance(models.models.model, Additive)):
            return "Additive models and audited linear models<br>have such functions."
        names = models.feature_names[:-1]
        of_set = Argument("explorer.rashomon_set", lambda: models)
        return card.build({"feature": card.offer("feature", names, names[0]), "shapes": of_set})
    model, answers = audit.inputs.model, card.session.exact
    separate, mixing = model.separate_columns
    if not separate:
        return escape(next(iter(mixing.values()), "The model uses no column."))
    first = max(separate, key=lambda name: len(separate[name]))
    arguments: dict[str, Any] = {"feature": card.offer("feature", tuple(separate), first)}
    arguments["shapes"] = Argument("explorer.exact.shapes()", answers.shapes)
    line = "explorer.state.audit.inputs.model.table.rename(columns=str)"
    arguments["rows"] = Argument(line, lambda: model.table.rename(columns=str))
    return card.build(arguments)


def class_reliance(card: FigureCard) -> FigureCall | str:
    models, exact = card.state.rashomon_set, card.session.exact
    if models.link not in ("logistic", "identity"):
        return "Class reliance is available for squared loss and for two classes."
    if (audit := card.state.exact_audit) is not None and not audit.answers.has_exact_reliance:
        return (
            "Of audited models, least squares and logistic regressions<br>without an L1 penalty "
            "have exact reliance.<br>The range over a sample of this set is under<br>"
            "<b>Importance</b>, and "
            "in <b>audit.reliance</b>."
        )
    features = tuple(feature_groups(None, models.feature_names[:-1], models.feature_groups))
    if not takes_seconds(models.link, len(card.session.rows), len(models.best), len(features)):
        return "The ranges of all features take minutes here.<br>See <b>audit.reliance</b>."
    line = f"explorer.exact.class_reliance({features!r})"
    table = Argument(line, lambda: exact.class_reliance(features))
    return card.build({"table": table})


def columns(card: FigureCard) -> FigureCall | str:
    data = card.state.data
    declared = [each.name for each in data.schema.columns if not isinstance(each, IgnoredColumn)]
    name = card.offer("column", declared)
    if name is None:
        return "No column has declared bounds or levels."
    cells, column = f"explorer.data.frame[{name!r}]", f"explorer.data.schema[{name!r}]"
    return card.build(
        {
            "cells": Argument.known(data.frame[name], cells),
            "column": Argument.known(data.schema[name], column),
        }
    )


_COMPARE = "compare with"


def offer_sets(card: FigureCard) -> None:
    sets_to_offer = [s for s in reversed(card.state.saved_sets) if s.number != card.state.in_view]
    card.offer(_COMPARE, [(s.label, s.number) for s in sets_to_offer])


def sets(card: FigureCard) -> FigureCall | str:
    state, store, draw = card.state, card.session.set_store, card.controls[_COMPARE].value
    if store is None or draw is None:
        return (
            "All sets drawn from this table are saved.<br>With two sets, this figure compares them."
        )
    names = (f"draw {state.in_view}" if state.in_view else "the set in view", f"draw {draw}")
    first, second, end = state.rashomon_set, store.open(draw), ""
    if state.view == "release":
        first, second, end = first.release(), second.release(), ".release()"
    line = f"explorer.session.set_store.open({draw}){end}"
    return card.build(
        {
            "first": Argument.known(first, f"explorer.rashomon_set{end}"),
            "second": Argument.known(second, line),
            "names": names,
        }
    )


_GTU = guarantees.GTU.removeprefix("GTU: ")


def bounds(card: FigureCard) -> FigureCall | str:
    state, models = card.state, card.state.rashomon_set
    if "drawn" not in card.spec.needs or models is None or not models.n_draws:
        models = None
    planned = state.plan if models is None else getattr(models, "plan", state.plan)
    where = "explorer.plan" if models is None else "explorer.rashomon_set.plan"
    card.facts.value = ""
    if planned is None:
        return NO_DATA if state.data is None else NO_PLAN
    plan = Argument.known(planned, where)
    if isinstance(planned, NetworkPlan):
        return "No closeness of these models is promised:<br>their released losses measure it."
    if planned.of_trees:
        changes = {"plot": plot_tree_guarantee, "tabulate": tree_guarantee_table}
        return card.build({"planned": plan}, **changes)
    if models is not None and not models.as_drawn and state.view != "release":
        return "Guarantees are for all draws,<br>and some of them were selected."
    if math.isnan(planned.beta):
        return "These models were not drawn privately:<br>no bound is guaranteed."
    if not planned.has_gibbs_law:
        return (
            "This bound holds for exact draws only.<br>The guarantee of this mechanism is under "
            "<b>Plan</b>."
        )
    plot: Plot = guarantees.plot_guarantee
    source = plan
    if models is not None and state.view != "release":
        plot, source = guarantees.plot_bounds, Argument.known(models, "explorer.rashomon_set")
    listed = guarantees.list_guarantees(source.find(), card.session.constants)
    card.facts.value = _guarantees_html(source.find(), listed)
    before = (
        "from rashomon_explorer.plots import list_guarantees",
        f"list_guarantees({source.line}, explorer.constants)",
    )
    arguments = {"planned": source, "models": source, "source": source}
    return card.build(arguments, plot=plot, before=before)


def _guarantees_html(source: Plan | RashomonSet, rows: Sequence[guarantees.GuaranteeRow]) -> str:
    """Fold-out list of guarantees, the strongest first; the papers' bounds are folded away."""
    measured = isinstance(source, RashomonSet)
    head = '<th scope="col">guaranteed</th>'
    if measured:
        head += '<th scope="col">measured<br><span class="rx-amber">not private</span></th>'
    first = sorted((row for row in rows if not row.is_weaker), key=lambda row: bool(row.missing))
    papers = [row for row in rows if row.is_weaker]
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
    summary = "<summary>Guarantees and theorems</summary>"
    return f"<details>{summary}<div>{listed}{note}</div></details>"


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


def plan(card: FigureCard) -> FigureCall:
    planned = card.state.plan
    if planned is None:
        return card.message(NO_DATA if card.state.data is None else NO_PLAN, HEIGHT)
    if isinstance(planned, NetworkPlan):
        return card.message("No closeness is promised,<br>whatever the ε and number.", HEIGHT)
    if mechanism_traits(planned.mechanism).curator_only:
        return card.message("A free look costs nothing and guarantees nothing.", HEIGHT)
    offer = draw_cost(card.state)
    cost = {} if offer is None else {"cost": offer.adds}
    return card.build({"planned": Argument.known(planned, "explorer.plan"), **cost})


def path_width(card: FigureCard) -> FigureCall | str:
    planned = card.state.plan
    if planned is None:
        return NO_DATA if card.state.data is None else NO_PLAN
    if not isinstance(getattr(planned, "details", None), StatesDetails):
        return "Only one Langevin path has a share to choose:<br>choose it as the mechanism."
    return card.build({"planned": Argument.known(planned, "explorer.plan")})


def follow_handle(card: FigureCard) -> None:
    state, view = card.state, card.view

    def set_plan(epsilon: float, draws: int) -> None:
        if state.busy:
            return
        with state.hold_trait_notifications():
            state.epsilon = float(number(epsilon).replace(",", ""))
            if draws != state.requested_draws:
                state.n_draws = draws

    def clicked(change: dict[str, Any]) -> None:
        point = change["new"]
        draws = view.figure.get("layout", {}).get("meta", {}).get("draws", [])
        curve, epsilon = point.get("trace", -1), point.get("x")
        if 0 <= curve < len(draws) and isinstance(epsilon, int | float):
            set_plan(epsilon, draws[curve])

    def dragged(change: dict[str, Any]) -> None:
        point, planned = change["new"], state.plan
        epsilon, bound, curve = point.get("x"), point.get("y"), point.get("curve")
        if planned is None or not isinstance(epsilon, int | float):
            return
        epsilon = min(max(epsilon, prices.LEAST_PRICE), prices.MOST_PRICE)
        set_plan(epsilon, prices.draws_at(planned, epsilon, bound) if curve is None else curve)

    for name, follow in (("clicked", clicked), ("dragged", dragged)):
        view.observe(messages.error_boundary(state, "Setting the plan", follow), name)


def price(card: FigureCard) -> FigureCall | str:
    """Price curve of the preference of the page."""
    table, state = card.state.prices, card.state
    choices = [choice for choice in (state.choice, *state.choices.values()) if choice is not None]
    if not choices:
        return "No such model was found at any ψ."
    line = f"explorer.state.audit.price({choices[0].code.partition('(')[2]}"
    psi = state.audit_psi if state.choice is None else state.choice.psi
    return card.build({"prices": Argument.known(table, line), "psi": psi})


def follow_price(card: FigureCard) -> None:
    """Take the model at the point that is clicked."""
    state = card.state

    def clicked(change: dict[str, Any]) -> None:
        psi = change["new"].get("x")
        if isinstance(psi, int | float) and psi > 0 and state.choices:
            state.choice = state.choices[min(state.choices, key=lambda at: abs(at - psi))]

    card.view.observe(messages.error_boundary(state, "Choosing", clicked), "clicked")
