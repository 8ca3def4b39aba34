"""Cards of what is true of all sparse trees, drawn or not.  Curator: from private rows."""

from functools import partial
from typing import Any, ClassVar

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import CURATOR_FIGURE, FigureCard, Recipe, empty
from rashomon_explorer.explorer.cards.study import also_said, keep_choice
from rashomon_explorer.explorer.marks import EXACT
from rashomon_explorer.explorer.tree_answers import TreeAnswers
from rashomon_explorer.plots import (
    plot_tree_flips,
    plot_tree_questions,
    plot_tree_sizes,
    plot_trees,
)
from rashomon_explorer.plots.text import number

_PERSON = "says another label of the picked person"
_ASKS, _LACKS = "asks", "does not ask"
_NOBODY = "Pick somebody under <b>People &amp; groups</b>,<br>or choose a question here."


class _OfAllTrees(FigureCard):
    """A figure of all trees that the sliders allow."""

    of_trees = True
    slow = True
    asked = True
    needs: ClassVar[tuple[str, ...]] = (
        "family",
        "max_leaves",
        "max_depth",
        "leaf_penalty",
        "psi",
        "data",
        "view",
        "people",
        "phase",
    )

    @property
    def answers(self) -> TreeAnswers:
        """Answers of all trees."""
        return self.session.tree_answers

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        if self.state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        if self.answers.why_not:
            return empty(self.title, self.answers.why_not)
        return self.later() if self.state.busy else self.of_all()

    def of_all(self) -> Recipe:
        """Say how it is drawn."""
        raise TypeError(f"{type(self).__name__} must say how it is drawn")

    def exact(self, plot: Any, table: Any, line: str) -> Recipe:
        """Recipe of a plot of a table that is found when the figure is made."""
        name = plot.func.__name__ if isinstance(plot, partial) else plot.__name__
        module = "rashomon_explorer.plots"
        lines = (f"from {module} import {name}", line)
        return Recipe(lambda: plot(table()), lambda: pd.DataFrame(table()), lines, (EXACT,))


class TreeSizesCard(_OfAllTrees):
    """How many trees lie within every ψ."""

    name = "tree_sizes"
    title = "How many trees are good"
    short = "How many"
    label = "Number of sparse trees within psi of the best, by leaves"
    definition = (
        "Every tree of at most so many leaves on the declared questions is counted: |{t : L(t) ≤ "
        "min L + ψ}|, L the share of errors and the price of a leaf for each. Nothing is drawn."
    )

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        psi = float(self.state.psi)
        line = f"plot_tree_sizes(explorer.tree_answers.sizes(), {psi!r})"
        return self.exact(partial(plot_tree_sizes, psi=psi), self.answers.sizes, line)


class TreeFlipsCard(_OfAllTrees):
    """Whose label can be another, and from which ψ on."""

    name = "tree_flips"
    title = "Whose label can a good tree flip?"
    short = "Flips"
    label = "Share of people whose label some tree within psi flips"
    definition = (
        "For each person the least ψ at which some tree says another label than the best one: "
        "exact, over all trees. Picked people are marked."
    )

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        psi, people = float(self.state.psi), tuple(map(int, self.state.people))[-9:]
        line = f'plot_tree_flips(explorer.tree_answers.flips()["psi"], {psi!r}, {people!r})'
        plot = partial(plot_tree_flips, psi=psi, people=people)
        return self.exact(plot, lambda: self.answers.flips()["psi"], line)


class TreeQuestionsCard(_OfAllTrees):
    """What it costs to ask each question, and not to."""

    name = "tree_questions"
    title = "Which questions matter"
    short = "Questions"
    label = "Least loss of trees with and without each question"
    definition = (
        "For each question how much more than the best tree the best one loses that asks it, and "
        "the best one that does not; and, in the table, the share of all trees within ψ that ask."
    )

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        psi = float(self.state.psi)
        line = f"plot_tree_questions(explorer.tree_answers.features(), {psi!r})"
        return self.exact(partial(plot_tree_questions, psi=psi), self.answers.features, line)


class WitnessCard(_OfAllTrees):
    """The best tree that flips somebody, or asks or does not ask a question."""

    name = "witness"
    title = "The best tree that …"
    label = "The best tree, and beside it the best that does what is chosen"
    definition = (
        "To the left the best tree of all; to the right the best one that says another label of "
        "the person picked last, or that asks or does not ask a question. Exact: no tree of the "
        "class that does so loses less."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self.does = ipywidgets.Dropdown(
            description="the best that", options=[_LACKS, _ASKS, _PERSON], value=_LACKS
        )
        self.question = ipywidgets.Dropdown(description="question", options=[])
        for control in (self.does, self.question):
            control.observe(lambda _: self.changed(), "value")
        return [self.does, self.question]

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        keep_choice(self.question, self.answers.questions)
        does, asked = self.does.value, self.question.value
        self.question.disabled = does == _PERSON
        if does != _PERSON:
            way = "asking" if does == _ASKS else "without"
            return self._of(way, asked, f"that {does} “{asked}”")
        if not self.state.people:
            return empty(self.title, _NOBODY)
        person = int(self.state.people[-1])
        return self._of("flipping", person, f"that flips person {person}")

    def _of(self, way: str, of: Any, words: str) -> Recipe:
        def figure() -> go.Figure:
            models = getattr(self.answers, way)(of)
            beyond = float(models.losses[1] - models.losses[0])
            much = f"{number(beyond)} more" if beyond > 0 else "no more"
            told = f"The best tree {words} loses {much}"
            return also_said(plot_trees(models, [0, 1]), "the best to the left", told)

        lines = (
            "from rashomon_explorer.plots import plot_trees",
            f"plot_trees(explorer.tree_answers.{way}({of!r}), [0, 1])",
        )
        return Recipe(figure, None, lines, (EXACT,))
