"""Arguments of figures of people, groups and trees: one function a figure."""

from collections.abc import Callable, Mapping
from typing import Any

from rashomon_explorer.explorer.cards.base import NEEDS, FigureCard, Inputs
from rashomon_explorer.explorer.family import trees_in, with_class_labels, with_readable_names
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.plots.person import plot_what_if, what_if_table
from rashomon_explorer.plots.registry import Argument, FigureCall
from rashomon_explorer.plots.text import models_within_psi, plural
from rashomon_explorer.plots.trees import MOST_TREES
from rashomon_explorer.sets import PredictorSet

_EVERYONE = "everyone"


def people(card: FigureCard) -> FigureCall:
    table, selection, by = card.session.group_table, card.session.picked, card.controls["by"]
    columns = (_EVERYONE, *selection.columns)
    if tuple(by.options) != columns:
        sensitive = () if table is None else map(str, table.sensitive.columns)
        first = next((name for name in sensitive if name in columns), _EVERYONE)
        with card.silent():
            by.options, by.value, by.disabled = columns, first, False
    column = by.value
    arguments: dict[str, Any] = {
        "models": Argument.known(selection.models, selection.names[0]),
        "group_name": "group" if column == _EVERYONE else column,
    }
    if column != _EVERYONE:
        line = f"explorer.selected.groups({column!r})"
        arguments["groups"] = Argument.known(selection.groups(column), line)
    return card.build(arguments)


def people_ranges(card: FigureCard) -> FigureCall:
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
            "of": selection.population,
            "note": Argument.unwritten(" · ".join(filter(None, [words, unproved]))),
        },
        marks=(*proved, *(() if models is None else ("sampled",))),
    )


def person(card: FigureCard) -> FigureCall | str:
    session, models, what_if = card.session, card.state.rashomon_set, card.session.what_if
    if why := what_if.why_not:
        return why
    position = what_if.person
    arguments: dict[str, Any] = {"person": position}
    arguments["answer"] = Argument.known(session.picked.answer, "explorer.selected.answer")
    if position is None or card.state.edits:
        for name in ("before", "after"):
            row = getattr(what_if, name)
            arguments[name] = Argument(f"explorer.session.what_if.{name}", lambda row=row: row)  # type: ignore[misc]
        kind = {} if position is None else {"marks": ("sampled",)}
        return card.build(arguments, plot=plot_what_if, tabulate=what_if_table, **kind)
    arguments["X"] = Argument("explorer.rows", lambda: session.rows)  # a person of all rows
    proved = not session.exact.why_not
    if proved:
        for name in ("exact", "flip"):
            line = f"explorer.exact.person({position})[{name!r}]"
            arguments[name] = Argument(
                line,
                lambda name=name: session.exact.person(position)[name],  # type: ignore[misc]
            )
    empty = {"tabulate": None} if models_within_psi(models).is_empty else {}
    return card.build(arguments, marks=("exact", "sampled") if proved else ("sampled",), **empty)


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


def gaps(card: FigureCard) -> FigureCall:
    return _with_label(card, {})


def frontier(card: FigureCard) -> FigureCall:
    gap = card.offer("gap", _GAPS[card.state.rashomon_set.task])
    return _with_label(card, {"gap": f"{gap}_difference"})


def _with_label(card: FigureCard, arguments: dict[str, Any]) -> FigureCall:
    models = card.state.rashomon_set
    if models.n_classes <= 2:
        return card.build(arguments)
    label = (models.classes or range(models.n_classes))[-1]
    words = f"rates of the label {models.class_names[-1]}"
    return card.build({**arguments, "positive": label}, subtitle=words)


_BURDENS: Mapping[str, tuple[str, ...]] = {
    "classification": ("ambiguity", "disagreement", "obscurity", "discrepancy", "range_width"),
    "regression": ("range_width", "score_std"),
}


def burden(card: FigureCard) -> FigureCall:
    session, column, models = card.session, card.column, card.state.rashomon_set
    named = [(measure.replace("_", " "), measure) for measure in _BURDENS[models.task]]
    measure = card.offer("of", named)
    everyone = session.picked.everyone
    arguments: dict[str, Any] = {
        "models": Argument.known(session.picked.models, session.picked.names[0]),
        "measure": measure,
        "highlight": tuple(level for by, level in card.state.groups if by == column),
        "guaranteed": models.guarantee.holds,
    }
    proved = measure == "ambiguity" and not session.exact.why_not
    few = f"exact of {len(everyone.few):,} people" if proved else ""
    arguments["note"] = Argument.unwritten(
        " · ".join(filter(None, [f"by {column}", everyone.words, few]))
    )
    if proved:
        line = f"explorer.exact.ambiguity_by(explorer.selected.everyone, {column!r})"
        exact = session.exact
        arguments["exact"] = Argument(line, lambda: exact.ambiguity_by(everyone, column))
    marks = ("exact", "sampled") if proved else ("sampled",)
    return card.build(arguments, marks=marks)


_OTHER_DRAWS = "The decomposition into set width and mechanism noise<br>needs draws made here."
_FREE_LOOKS = "Not for free looks: their models depend on each other."


def decomposition(card: FigureCard) -> FigureCall | str:
    """Draws split by the groups of a column."""
    models = card.state.rashomon_set
    imported = isinstance(models, PredictorSet) and not models.independent
    if imported or card.state.audit is not None:
        return _OTHER_DRAWS
    if mechanism_traits(getattr(models, "mechanism", "")).curator_only:
        return _FREE_LOOKS
    return card.build({})


def exact_answer(argument: str, line: str, find: Callable[[Any], Any]) -> Inputs:
    def inputs(card: FigureCard) -> FigureCall:
        answers, state = card.session.tree_answers, card.state
        table = Argument(f"explorer.tree_answers.{line}", lambda: find(answers))
        people = tuple(map(int, state.people))[-9:]
        return card.build({argument: table, "psi": float(state.psi), "people": people})

    return inputs


def drawn_trees(card: FigureCard) -> FigureCall | str:
    draws = [d for d in card.state.selection if d < card.state.rashomon_set.n_draws][:MOST_TREES]
    trees = _readable_trees(card)
    return (
        trees if isinstance(trees, str) else card.build({"models": trees, "draws": draws or None})
    )


def _readable_trees(card: FigureCard) -> Argument | str:
    """Return the trees on screen or released, with readable names; or why there are none."""
    models, data, end = card.state.rashomon_set, card.state.data, ""
    if card.state.view == "release":
        if not models.guarantee.holds:
            return "These trees have no privacy guarantee and cannot be released."
        models, end = models.release(), ".release()"
    named = with_readable_names(
        with_class_labels(models, data), None if data is None else data.schema
    )
    return Argument.known(named, f"explorer.rashomon_set{end}")


def rules(card: FigureCard) -> FigureCall | str:
    trees, draws = _readable_trees(card), tuple(card.state.selection)
    if isinstance(trees, str):
        return trees
    if card.controls["starred only"].value and card.state.view != "release":
        draws = tuple(card.state.favourites.starred)
        if not draws:
            return "No tree has a star.<br>Star trees in the table of models, or untick this."
    search = card.controls["search"].value
    return card.build({"models": trees, "search": search, "highlight": Argument.known(draws)})


def parity(card: FigureCard) -> FigureCall | str:
    state, answers, column = card.state, card.session.tree_answers, card.column
    classes = tuple(map(str, state.data.classes))
    class_name = card.offer("rate of", classes, classes[-1])
    ui.display(card.controls["rate of"], len(classes) > 2)
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
    return card.build(arguments, marks=lambda: ("exact",) if is_exact() else ("sampled",))


_PERSON = "flips the label of the selected person"
_ASKS, _LACKS = "asks", "does not ask"
_EQUAL = "differs least between groups"
PROPERTIES = (_LACKS, _ASKS, _PERSON, _EQUAL)  # properties of the example tree


def example(card: FigureCard) -> FigureCall | str:
    answers, does = card.session.tree_answers, card.controls["the best that"].value
    question = card.offer("question", answers.questions)
    ui.display(card.controls["question"], does in (_ASKS, _LACKS))
    if does == _EQUAL:
        return NEEDS["groups"].why_not(card.session) or _best(card, "fairest", card.column, "")
    if does != _PERSON:
        method = "asking" if does == _ASKS else "without"
        return _best(card, method, question, f"that {does} “{question}”")
    if not card.state.people:
        return "Select a person under <b>People &amp; groups</b>,<br>or choose a question here."
    person = int(card.state.people[-1])
    return _best(card, "flipping", person, f"that flips person {person}")


def tree_list(card: FigureCard) -> FigureCall:
    answers, controls = card.session.tree_answers, card.controls
    leaves = card.offer("leaves", ("any", *range(1, card.state.max_leaves + 1)), "any")
    question, does = card.offer("question", answers.questions), controls["trees that"].value
    ui.display(controls["question"], does in (_ASKS, _LACKS))
    filters: dict[str, Any] = {"leaves": 0 if leaves == "any" else int(leaves)}
    filters |= {name: question for name, of in (("asks", _ASKS), ("avoids", _LACKS)) if of == does}
    written = ", ".join(f"{name}={value!r}" for name, value in filters.items() if value)

    def find() -> Any:
        return with_readable_names(answers.listed(**filters), card.state.data.schema)

    def count() -> int:
        return int(answers.counted.size(float(card.state.psi)))

    models = Argument(f"explorer.tree_answers.listed({written})", find)
    return card.build(
        {"models": models, "n_trees": Argument("", count), "columns": 2},
        marks=lambda: ("exact",) if answers.listed().complete else ("sampled",),
    )


def _best(card: FigureCard, method: str, argument: Any, words: str) -> FigureCall:
    answers, schema, column = card.session.tree_answers, card.state.data.schema, card.column

    def is_exact() -> bool:
        return bool(words) or bool(answers.parity(column).attrs["exact"])

    def what() -> str:
        origin = "" if is_exact() else " of 2,000 draws"
        of_sample = f", {sample}" if (sample := card.session.sample_words) else ""
        return words or f"with the least gap{origin} by {column}{of_sample}"

    def find() -> Any:
        return with_readable_names(getattr(answers, method)(argument), schema)

    line = f"explorer.tree_answers.{method}({argument!r})"
    return card.build(
        {"models": Argument(line, find), "what": Argument("", what), "draws": [0, 1], "columns": 1},
        marks=lambda: ("exact",) if is_exact() else ("sampled",),
    )
