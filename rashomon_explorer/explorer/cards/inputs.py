"""Arguments of figures beyond those that every figure gets: one function a figure."""

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from html import escape
from typing import Any

from rashomon_explorer.estimators.tuning_audit import audit_tuning
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.explorer.cards import base
from rashomon_explorer.explorer.family import in_words, reads_well, trees_in
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.model_inputs import group_labels
from rashomon_explorer.explorer.selection import taken
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots.budget import HEIGHT
from rashomon_explorer.plots.coefficients import spread_table
from rashomon_explorer.plots.importance import MODELS_OF_A_TABLE, RESAMPLED_ROWS
from rashomon_explorer.plots.penalties import drawn_table, plot_drawn_penalties
from rashomon_explorer.plots.ranges import plot_exact_ranges
from rashomon_explorer.plots.registry import Argument, FigureCall
from rashomon_explorer.plots.text import plural
from rashomon_explorer.plots.trees import MOST_TREES
from rashomon_explorer.sets import PredictorSet, RashomonSet


def exact_ranges(card: base.FigureCard) -> FigureCall:
    """Pass exact coefficient ranges, with the draws if there are any."""
    find = card.session.exact.coefficient_ranges
    exact = {"exact": Argument("explorer.exact.coefficient_ranges()", find)}
    if _has_draws(card):
        return card.build(exact)
    return card.build(exact, plot=plot_exact_ranges, marks=("exact",))


def ranges(card: base.FigureCard) -> FigureCall | str:
    """Pass exact coefficient ranges, or the ranges over released draws."""
    if card.state.view == "release":
        return card.build(tabulate=spread_table, code=None)

    def find() -> Any:
        try:
            return card.session.exact.coefficient_ranges()
        except ValueError as error:  # the draws were made from other rows
            LOGGER.info("no exact ranges for these rows", exc_info=error)
            return None

    exact = {"exact": Argument("explorer.exact.coefficient_ranges()", find)}
    if _has_draws(card):
        return card.build(exact)
    return card.build(exact, code=plot_exact_ranges, marks=("exact",))


def _has_draws(card: base.FigureCard) -> bool:
    models = card.state.rashomon_set
    return models is not None and models.hit_rate > 0


_NO_MODEL = (
    "For a model that you fitted: <b>Explorer(model, data=(X, y))</b><br>"
    "shows the exact range of each coefficient. Nothing is charged."
)


def exact(card: base.FigureCard) -> FigureCall | str:
    """Pass exact coefficient ranges for a model fitted elsewhere."""
    external, psi = card.state.outside, card.state.psi
    if external is None:
        return _NO_MODEL
    of = "explorer.state.outside"
    return card.build(
        {
            "exact": Argument(f"{of}.ranges({psi!r})", lambda: external.ranges(psi)),
            "note": Argument(f"{of}.flip_message({psi!r})", lambda: external.flip_message(psi)),
        }
    )


def budget(card: base.FigureCard) -> FigureCall:
    """Pass charges of the ledger, and the privacy cost of the plan."""
    account, plan, state = card.state.account, card.state.plan, card.state
    if account is None:
        return card.message(base.NO_DATA, HEIGHT)
    charged = plan is not None and state.data is not None and not state.uncharged
    charges = [entry for entry in account.charges if entry.counts]
    arguments = {
        "ledger": Argument.known(None, "explorer.ledger"),
        "planned": Argument.known(
            plan.guarantee if charged and not state.spent else None, "explorer.plan"
        ),
        "charges": account.guarantees,
        "budget": account.budget,
        "delta": account.delta,
        "order": account.totals.order,
        "told": [entry.divergence for entry in charges],
        "notes": [f"{one.note}<br>{one.day}, {one.standing}" for one in charges],
        "entries": account.charges,
    }
    changes = {} if account.charges else {"tabulate": None}
    return card.build(arguments, is_message=not account.exists, **changes)


def tradeoff(card: base.FigureCard) -> FigureCall | str:
    """Pass guarantee of the models on screen, or of the planned draws."""
    state, models = card.state, card.state.rashomon_set
    if models is not None and models.n_draws and models.guarantee.holds:
        guarantee, of, line = models.guarantee, "these models", "explorer.guarantee"
    elif state.plan is not None and not state.uncharged:
        guarantee, of, line = state.plan.guarantee, "the plan", "explorer.plan.guarantee"
    else:
        return "There is no released result and no plan." if state.data else base.NO_DATA
    return card.build({"guarantee": Argument.known(guarantee, line), "of": of})


def aggregates(card: base.FigureCard) -> FigureCall | str:
    """Pass the aggregates that were released last."""
    if not card.state.paid:
        return (
            "No aggregates were released for these models.<br>"
            "Fill the basket and press <b>Release</b>."
        )
    last = card.state.paid[-1].released
    return card.build({"released": Argument.known(last, "explorer.state.paid[-1].released")})


@wraps(audit_tuning)
def _quiet_audit(search: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings(), suppress_weak_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # the page marks it as not private
        return audit_tuning(search, X, y)


def penalties(card: base.FigureCard) -> FigureCall | str:
    """Pass validation loss of every penalty; in a release only the drawn penalties."""
    state, result, offer = card.state, card.state.tuned, card.state.tuning
    if state.view == "release":
        if result is None:
            return "No penalty was drawn yet:<br>see <b>A penalty, privately</b>."
        known = {"drawn": result.penalties, "bounds": result.bounds, "promised": result.promised}
        call = {"plot": plot_drawn_penalties, "tabulate": drawn_table, "measure": None}
        return card.build(known, **call, marks=("paid",), is_message=True)
    if offer is None or offer.search is None:
        return "" if offer is None else escape(offer.why_not)
    rows = card.session.rows
    return card.build(
        {
            "search": Argument("explorer.tuner.make_search()", lambda: offer.search, offer.search),
            "X": Argument("explorer.rows", lambda: rows, rows),
            "y": Argument("explorer.data.y", lambda: state.data.y, state.data),
            "drawn": () if result is None else tuple(result.penalties),
        },
        measure=_quiet_audit,
    )


def distribution(card: base.FigureCard) -> FigureCall | str:
    """Pass importance of each feature on resampled tables."""
    session, models = card.session, card.state.rashomon_set
    if trees_in(models) is None and session.exact.why_not:
        return session.exact.why_not
    planned: Any = getattr(models, "planned", None)
    if trees_in(models) is not None and not (planned and planned.questions):
        return "The class of these imported trees is unknown."
    rows = min(RESAMPLED_ROWS, len(session.picked.people))
    words = f"{rows:,} rows each, {MODELS_OF_A_TABLE} models within ψ of each"
    return base.with_words(card.build(subtitle=words), session.picked.words)


def people_ranges(card: base.FigureCard) -> FigureCall:
    """Pass exact and sampled ranges of a few people."""
    session, models = card.session, card.state.rashomon_set
    exact, selection = session.exact, session.picked
    few = selection.few
    if session.sample_words:
        words = f"of {session.sample_words}"
    else:
        shows_all = len(few) == len(session.rows)
        words = "" if shows_all else f"of {plural(len(session.rows), 'row')}, at random"
    unproved = exact.why_not and "no exact results for these models"
    proved = () if exact.why_not else ("exact",)
    return card.build(
        {
            "table": Argument(
                "explorer.exact.people(explorer.selected.few)", lambda: exact.people(few)
            ),
            "answer": Argument.known(selection.answer, "explorer.selected.answer"),
            "highlight": Argument.known(card.state.people, repr(card.state.people)),
            "guaranteed": models is None or models.guarantee.holds,
            "note": Argument.unwritten(" · ".join(filter(None, [words, unproved]))),
        },
        marks=(*proved, *(() if models is None else ("sampled",))),
    )


def person(card: base.FigureCard) -> FigureCall | str:
    """Pass predictions for the person selected last."""
    if not card.state.people:
        return "Click a person in the table<br>or in the figure of all people."
    session, models, one = card.session, card.state.rashomon_set, int(card.state.people[-1])
    arguments: dict[str, Any] = {
        "person": one,
        "answer": Argument.known(session.picked.answer, "explorer.selected.answer"),
    }
    proved = not session.exact.why_not
    if proved:
        for name in ("exact", "flip"):
            line = f"explorer.exact.person({one})[{name!r}]"
            arguments[name] = Argument(
                line,
                lambda name=name: session.exact.person(one)[name],  # type: ignore[misc]
            )
    linear = isinstance(models, RashomonSet) and models.hit_rate > 0
    marks = ("exact", "sampled") if proved else ("sampled",)
    return card.build(arguments, marks=marks, **({} if linear else {"tabulate": None}))


def pair(card: base.FigureCard) -> FigureCall | str:
    """Pass two selected models, or one and the best."""
    models, draws = card.state.rashomon_set, card.state.selection[:2]
    released = card.state.view == "release"
    if not draws or max(draws) >= models.n_draws or (released and len(draws) < 2):
        if released:
            return "Select two models:<br>the release has no best model to compare with."
        return "Select one or two models:<br>tick them in the table, or click their dots."
    arguments: dict[str, Any] = {
        "first": draws[0],
        "second": draws[1] if len(draws) > 1 else None,
    }
    if not released:
        arguments["y"] = Argument("explorer.targets", lambda: card.session.targets)
    return card.build(arguments)


_OTHER_DRAWS = "The decomposition into set width and mechanism noise<br>needs draws made here."


def decomposition(card: base.FigureCard) -> FigureCall | str:
    """Pass draws split by the groups of a column; for trees all trees are the reference."""
    session, models, column = card.session, card.state.rashomon_set, card.column
    if isinstance(models, PredictorSet) and not models.independent:
        return _OTHER_DRAWS
    arguments: dict[str, Any] = {}
    if trees_in(models) is not None:
        answers, rows, data = session.tree_answers, session.rows, card.state.data
        places = session.picked.everyone.people
        line = "explorer.tree_answers.class_of_draws(explorer.rashomon_set)"
        everyone = "explorer.selected.everyone"
        arguments = {
            "X": Argument(f"{everyone}.rows", lambda: taken(rows, places)),
            "groups": Argument(
                f"{everyone}.groups({column!r})", lambda: group_labels(data, column).iloc[places]
            ),
            "reference": Argument(line, lambda: answers.class_of_draws(models)),
        }
    sampled = bool(arguments) or not session.is_chunked
    return card.build(arguments, of_people=sampled)


def _exact_trees(argument: str, line: str, find: Callable[[Any], Any]) -> base.Inputs:
    """Return the inputs of a figure of one table of exact results on trees."""

    def inputs(card: base.FigureCard) -> FigureCall:
        answers, state = card.session.tree_answers, card.state
        found = Argument(f"explorer.tree_answers.{line}", lambda: find(answers))
        people = tuple(map(int, state.people))[-9:]
        return card.build({argument: found, "psi": float(state.psi), "people": people})

    return inputs


def drawn_trees(card: base.FigureCard) -> FigureCall | str:
    """Pass the trees on screen, with the names of the table's columns and classes."""
    draws = [d for d in card.state.selection if d < card.state.rashomon_set.n_draws][:MOST_TREES]
    found = readable_trees(card)
    return (
        found if isinstance(found, str) else card.build({"models": found, "draws": draws or None})
    )


def readable_trees(card: base.FigureCard) -> Argument | str:
    """Return the trees on screen or released, with readable names; or why there are none."""
    models, data, end = card.state.rashomon_set, card.state.data, ""
    if card.state.view == "release":
        if not models.guarantee.holds:
            return "These trees have no privacy guarantee and cannot be released."
        models, end = models.release(), ".release()"
    named = reads_well(in_words(models, data), None if data is None else data.schema)
    return Argument.known(named, f"explorer.rashomon_set{end}")


INPUTS: Mapping[str, base.Inputs] = {
    "exact_ranges": exact_ranges,
    "ranges": ranges,
    "exact": exact,
    "budget": budget,
    "tradeoff": tradeoff,
    "aggregates": aggregates,
    "penalties": penalties,
    "importance_distribution": distribution,
    "people_ranges": people_ranges,
    "person": person,
    "pair": pair,
    "decomposition": decomposition,
    "trees": drawn_trees,
    "tree_use": drawn_trees,
    "tree_sizes": _exact_trees("sizes", "sizes()", lambda answers: answers.sizes()),
    "tree_flips": _exact_trees("flips", 'flips()["psi"]', lambda answers: answers.flips()["psi"]),
    "tree_questions": _exact_trees("table", "features()", lambda answers: answers.features()),
}
"""Inputs of figures by name; the other figures take what every figure gets."""
