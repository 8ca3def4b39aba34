"""Arguments of figures of trees: one function a figure."""

from collections.abc import Callable
from typing import Any

from rashomon_explorer.explorer.cards.base import NEEDS, FigureCard, Inputs
from rashomon_explorer.explorer.family import trees_in, with_class_labels, with_readable_names
from rashomon_explorer.explorer.widgets.basic import display
from rashomon_explorer.plots.registry import Argument, FigureCall
from rashomon_explorer.plots.trees import MOST_TREES


def exact_answer(argument: str, line: str, find: Callable[[Any], Any]) -> Inputs:
    """Return the inputs of a figure of one table of exact results on trees."""

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
    display(card.controls["rate of"], len(classes) > 2)
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
    display(card.controls["question"], does in (_ASKS, _LACKS))
    display(card.by, does == _EQUAL)
    if does == _EQUAL:
        return NEEDS["groups"].why_not(card.session) or _best(card, "fairest", card.column, "")
    if does != _PERSON:
        method = "asking" if does == _ASKS else "without"
        return _best(card, method, question, f"that {does} “{question}”")
    if not card.state.people:
        return "Select a person under <b>People &amp; groups</b>,<br>or choose a question here."
    person = int(card.state.people[-1])
    return _best(card, "flipping", person, f"that flips person {person}")


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
