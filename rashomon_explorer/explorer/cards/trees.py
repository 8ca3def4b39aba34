"""Cards of sets of trees: single trees, and the sunburst of the rules of all."""

from functools import partial
from typing import Any, ClassVar

import ipywidgets

from rashomon_explorer.explorer.cards.base import FigureCard, Recipe, empty
from rashomon_explorer.explorer.family import in_words, reads_well
from rashomon_explorer.explorer.html import PAID, SAMPLED
from rashomon_explorer.plots import plot_rules, plot_tree_use, plot_trees, rules_table
from rashomon_explorer.plots.trees import MOST_TREES, tree_use_table
from rashomon_explorer.sets.models.trees import DecisionTrees

_NO_TREES = "These models are not trees.<br>Choose <b>sparse trees</b> under Model, and draw."
_NO_STARS = "No tree has a star.<br>Give some in the table of models, or untick this."


class _OfTrees(FigureCard):
    """A figure of the trees on screen; says so where there are none."""

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
        """Say how it is drawn."""
        raise TypeError(f"{type(self).__name__} must say how it is drawn")


class TreesCard(_OfTrees):
    """The picked trees, or the best ones, each in a panel."""

    name = "trees"
    title = "Trees, one by one"
    short = "Trees"
    label = "Up to nine decision trees side by side, with their questions and labels"
    definition = (
        "The picked trees, at most nine; where none is picked the best, and in the release the "
        "first. A question is answered yes to the left and no to the right."
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
        "Share of the trees on screen that ask a question anywhere; dark, of those that ask it "
        "first. Whiskers: 95 % intervals (Clopper and Pearson) for the law that they were drawn "
        "from. Computed from the trees alone: it can be released with them."
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
    """The trie of the rules of all trees, searched by words of a question."""

    name = "rules"
    title = "Rules of the trees"
    short = "Rules"
    label = "Sunburst of the questions that trees ask one after the other"
    definition = (
        "A rule is the questions from a tree's root to a leaf, whatever the answers (TimberTrek, "
        "Wang et al. 2022). A sector is as wide as the number of rules that go on from it, summed "
        "over trees; a click goes into it. <b>Search</b> keeps rules whose questions hold the "
        "words; <b>Starred</b> those of starred trees; picked trees keep their colour."
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
