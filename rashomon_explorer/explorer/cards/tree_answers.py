"""Cards about sparse trees: drawn trees, and all trees of the class (not private)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.answers import TreeAnswers
from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    Recipe,
    add_subtitle,
    empty,
    keep_choice,
    link_selection,
)
from rashomon_explorer.explorer.cards.groups import NO_GROUPS, ByColumn
from rashomon_explorer.explorer.family import in_words, reads_well, trees_in
from rashomon_explorer.explorer.html import EXACT, PAID, SAMPLED
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import (
    plot_rules,
    plot_tree_flips,
    plot_tree_parity,
    plot_tree_questions,
    plot_tree_sizes,
    plot_tree_use,
    plot_trees,
    rules_table,
)
from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.trees import MOST_TREES, tree_use_table
from rashomon_explorer.sets.models.trees import DecisionTrees

_PERSON = "flips the label of the selected person"
_ASKS, _LACKS = "asks", "does not ask"
_EQUAL = "differs least between groups"
_NOBODY = "Select a person under <b>People &amp; groups</b>,<br>or choose a question here."


class _OfAllTrees(FigureCard):
    """Figure of all trees that the sliders allow, computed from private rows."""

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
        return self.deferred_recipe() if self.state.busy else self.of_all()

    def of_all(self) -> Recipe:
        """Recipe of the figure."""
        raise TypeError(f"{type(self).__name__} must define its recipe")

    def exact(self, plot: Any, table: Any, line: str) -> Recipe:
        """Recipe of a plot of a table that is computed together with the figure."""
        name = plot.func.__name__ if isinstance(plot, partial) else plot.__name__
        module = "rashomon_explorer.plots"
        lines = (f"from {module} import {name}", line)
        return Recipe(lambda: plot(table()), lambda: pd.DataFrame(table()), lines, (EXACT,))


class TreeSizesCard(_OfAllTrees):
    """Number of trees within each ψ."""

    name = "tree_sizes"
    title = "How many trees are good"
    short = "How many"
    label = "Number of sparse trees within psi of the best, by leaves"
    definition = (
        "Counts every tree within the leaf limit on the declared questions: |{t : L(t) ≤ min L + "
        "ψ}|, where L is the share of errors plus the penalty of each leaf. Nothing is drawn."
    )

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        psi = float(self.state.psi)
        line = f"plot_tree_sizes(explorer.tree_answers.sizes(), {psi!r})"
        return self.exact(partial(plot_tree_sizes, psi=psi), self.answers.sizes, line)


class TreeFlipsCard(_OfAllTrees):
    """Least ψ at which some tree flips the label of each person."""

    name = "tree_flips"
    title = "Whose label can a good tree flip?"
    short = "Flips"
    label = "Share of people whose label some tree within psi flips"
    definition = (
        "For each person: the least ψ at which some tree predicts another label than the best "
        "one; exact over all trees. Selected people are marked."
    )

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        psi, people = float(self.state.psi), tuple(map(int, self.state.people))[-9:]
        line = f'plot_tree_flips(explorer.tree_answers.flips()["psi"], {psi!r}, {people!r})'
        plot = partial(plot_tree_flips, psi=psi, people=people)
        recipe = self.exact(plot, lambda: self.answers.flips()["psi"], line)
        return replace(recipe, of_people=True)


class TreeQuestionsCard(_OfAllTrees):
    """Least excess loss with and without each question."""

    name = "tree_questions"
    title = "Which questions matter"
    short = "Questions"
    label = "Least loss of trees with and without each question"
    definition = (
        "For each question: excess loss of the best tree that asks it, and of the best tree that "
        "does not. The table adds the share of all trees within ψ that ask it."
    )

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        psi = float(self.state.psi)
        line = f"plot_tree_questions(explorer.tree_answers.features(), {psi!r})"
        return self.exact(partial(plot_tree_questions, psi=psi), self.answers.features, line)


class TreeParityCard(ByColumn, _OfAllTrees):
    """Least gap between groups against loss, over all trees."""

    name = "tree_parity"
    title = "What do equal rates cost?"
    short = "Exact gap against loss"
    label = "Least loss of sparse trees against the gap between groups, and drawn trees"
    selectable = True
    needs: ClassVar[tuple[str, ...]] = (
        *_OfAllTrees.needs,
        "group_column",
        "rashomon_set",
        "selection",
    )
    definition = (
        "The gap is the largest minus the smallest share of a group that gets the label. The line "
        "joins the trees within ψ that no other beats in both loss and gap: exact over all trees, "
        "or, if that is too expensive, over 2,000 uniform draws and marked as sampled. Dots are "
        "drawn trees. The tree with the least gap on these rows looks fairer than it is."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        link_selection(self)

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self.rate = ipywidgets.Dropdown(description="rate of", options=[])
        self.rate.observe(lambda _: self.changed(), "value")
        return [self.pick_column(), self.rate]

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        classes = tuple(map(str, self.state.data.classes))
        keep_choice(self.rate, classes, classes[-1])
        self.rate.layout.display = None if len(classes) > 2 else "none"
        if not self.column:
            return empty(self.title, NO_GROUPS)
        label, column, psi = classes.index(self.rate.value), self.column, float(self.state.psi)
        models, chosen = self.state.rashomon_set, tuple(self.state.selection)
        answers = self.answers

        def figure() -> go.Figure:
            front = answers.parity(column, label)
            drawn = None
            if trees_in(models):
                drawn = answers.drawn_gaps(models, column, label)
            return plot_tree_parity(
                front,
                psi,
                label=f"“{classes[label]}”",
                column=column,
                exact=front.attrs["exact"],
                drawn=drawn,
                highlight=chosen,
            )

        of = f"{column!r}, {label}"
        lines = (
            "from rashomon_explorer.plots import plot_tree_parity",
            f"front = explorer.tree_answers.parity({of})",
            f"plot_tree_parity(front, {psi!r}, column={column!r}, exact=front.attrs['exact'])",
        )
        return Recipe(
            figure,
            lambda: answers.parity(column, label),
            lines,
            lambda: (EXACT,) if answers.parity(column, label).attrs["exact"] else (SAMPLED,),
        )


class ExampleTreeCard(ByColumn, _OfAllTrees):
    """The best tree, and the best tree with a chosen property."""

    name = "witness"
    title = "The best tree that …"
    label = "The best tree, and the best tree with the chosen property"
    needs: ClassVar[tuple[str, ...]] = (*_OfAllTrees.needs, "group_column")
    definition = (
        "Above: the best tree. Below: the best tree that flips the label of the person selected "
        "last, or that asks or does not ask a question; or the tree within ψ whose rates of the "
        "last class differ least between groups. Exact unless marked as sampled: no tree of the "
        "class with this property has a lower loss."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self.does = ipywidgets.Dropdown(
            description="the best that", options=[_LACKS, _ASKS, _PERSON, _EQUAL], value=_LACKS
        )
        self.question = ipywidgets.Dropdown(description="question", options=[])
        for control in (self.does, self.question):
            control.observe(lambda _: self.changed(), "value")
        return [self.does, self.question, self.pick_column()]

    def of_all(self) -> Recipe:
        """See `_OfAllTrees.of_all`."""
        keep_choice(self.question, self.answers.questions)
        does, asked = self.does.value, self.question.value
        self.question.layout.display = None if does in (_ASKS, _LACKS) else "none"
        self._by.layout.display = None if does == _EQUAL else "none"
        if does == _EQUAL:
            if not self.column:
                return empty(self.title, NO_GROUPS)
            return self._of("fairest", self.column, self._least_gap)
        if does != _PERSON:
            way = "asking" if does == _ASKS else "without"
            return self._of(way, asked, f"that {does} “{asked}”")
        if not self.state.people:
            return empty(self.title, _NOBODY)
        person = int(self.state.people[-1])
        return self._of("flipping", person, f"that flips person {person}")

    def _least_gap(self) -> tuple[str, bool]:
        exact = bool(self.answers.parity(self.column).attrs["exact"])
        found = "" if exact else " of 2,000 draws"
        return f"with the least gap{found} by {self.column}", exact

    def _of(self, way: str, of: Any, words: str | Callable[[], tuple[str, bool]]) -> Recipe:
        def message() -> tuple[str, bool]:
            return (words, True) if isinstance(words, str) else words()

        def figure() -> go.Figure:
            models = reads_well(getattr(self.answers, way)(of), self.state.data.schema)
            beyond = float(models.losses[1] - models.losses[0])
            much = f"{number(beyond)} more" if beyond > 0 else "no more"
            told = f"The best tree {message()[0]} loses {much}"
            shown = plot_trees(models, [0, 1], columns=1)  # a phone has no room for two
            return add_subtitle(shown, "the best above", told)

        lines = (
            "from rashomon_explorer.plots import plot_trees",
            f"plot_trees(explorer.tree_answers.{way}({of!r}), [0, 1], columns=1)",
        )
        return Recipe(figure, None, lines, lambda: (EXACT,) if message()[1] else (SAMPLED,))


_NO_TREES = "These models are not trees.<br>Choose <b>sparse trees</b> under Model, and draw."
_NO_STARS = "No tree has a star.<br>Star trees in the table of models, or untick this."


class _OfTrees(FigureCard):
    """Figure of the trees on screen; a message if there are none."""

    of_trees = True
    slow = True
    asked = True
    needs: ClassVar[tuple[str, ...]] = (*FigureCard.needs, "favourites")

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        models = self.state.rashomon_set
        if models is None or not models.n_draws:
            return self.waiting()
        if not isinstance(getattr(models, "models", None), DecisionTrees):
            return empty(self.title, _NO_TREES)
        released = self.state.view == "release"
        if released and not models.guarantee.holds:
            return empty(
                self.title, "These trees have no privacy guarantee and cannot be released."
            )
        data = self.state.data
        shown = in_words(models.release() if released else models, data)
        shown = reads_well(shown, None if data is None else data.schema)
        return self.of(shown, released=released)

    def of(self, models: Any, *, released: bool) -> Recipe:
        """Recipe of the figure."""
        raise TypeError(f"{type(self).__name__} must define its recipe")


class TreesCard(_OfTrees):
    """The selected trees, or the best ones, each in a panel."""

    name = "trees"
    title = "Trees, one by one"
    short = "Trees"
    label = "Up to nine decision trees side by side, with their questions and labels"
    definition = (
        "The selected trees, at most nine; without a selection the best ones, in the release the "
        "first ones. The left branch of a question is yes, the right branch is no."
    )

    def of(self, models: Any, *, released: bool) -> Recipe:
        """See `_OfTrees.of`."""
        chosen = [draw for draw in self.state.selection if draw < models.n_draws][:MOST_TREES]
        draws = chosen or None
        end = ".release()" if released else ""
        line = "from rashomon_explorer.plots import plot_trees"
        return Recipe(
            partial(plot_trees, models, draws),
            None,
            (line, f"plot_trees(explorer.rashomon_set{end}, {draws!r})"),
            (PAID,) if released else (SAMPLED,),
        )


class TreeUseCard(_OfTrees):
    """How many of the trees ask each question."""

    name = "tree_use"
    title = "What the trees ask"
    short = "Asked by drawn trees"
    label = "Share of the trees that ask each question, and of those that ask it first"
    definition = (
        "Share of the trees on screen that ask a question anywhere; dark: share that ask it first. "
        "Whiskers: 95 % intervals (Clopper and Pearson) for the distribution of the draws. "
        "Computed from the trees only: it can be released with them."
    )

    def of(self, models: Any, *, released: bool) -> Recipe:
        """See `_OfTrees.of`."""
        end = ".release()" if released else ""
        return Recipe(
            partial(plot_tree_use, models),
            partial(tree_use_table, models),
            (
                "from rashomon_explorer.plots import plot_tree_use",
                f"plot_tree_use(explorer.rashomon_set{end})",
            ),
            (PAID,) if released else (SAMPLED,),
        )


class RulesCard(_OfTrees):
    """Sunburst of the rules of all trees, with a search for words of a question."""

    name = "rules"
    title = "Rules of the trees"
    short = "Rules"
    label = "Sunburst of the questions that trees ask one after the other"
    definition = (
        "A rule is the sequence of questions from a tree's root to a leaf, without the answers "
        "(TimberTrek, Wang et al. 2022). The width of a sector is the number of rules that "
        "continue from it, summed over trees; click it to zoom in. Rules that do not match the "
        "<b>search</b>, or belong to no selected (or <b>starred</b>) tree, are grey."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self.search = ipywidgets.Text(
            description="search", placeholder="a question", continuous_update=False
        )
        self.starred = ipywidgets.Checkbox(description="starred only", indent=False)
        self.starred.add_class("rx-tick")
        for control in (self.search, self.starred):
            control.observe(lambda _: self.changed(), "value")
        return [self.search, self.starred]

    def of(self, models: Any, *, released: bool) -> Recipe:
        """See `_OfTrees.of`."""
        words, picked = self.search.value, self.state.selection
        if self.starred.value and not released:
            picked = tuple(self.state.favourites.starred)
            if not picked:
                return empty(self.title, _NO_STARS)
        end = ".release()" if released else ""
        asked = f", search={words!r}" if words else ""
        asked += f", highlight={picked!r}" if picked else ""
        return Recipe(
            partial(plot_rules, models, words, picked),
            partial(rules_table, models, words),
            (
                "from rashomon_explorer.plots import plot_rules",
                f"plot_rules(explorer.rashomon_set{end}{asked})",
            ),
            (PAID,) if released else (SAMPLED,),
        )
