"""Cards of two beside each other: two models, and two sets."""

from functools import partial
from typing import Any, ClassVar

import ipywidgets

from rashomon_explorer.explorer.cards.base import FigureCard, Recipe, empty
from rashomon_explorer.explorer.marks import PAID, SAMPLED
from rashomon_explorer.plots import plot_pair, plot_two_sets
from rashomon_explorer.plots.pair import pair_table
from rashomon_explorer.plots.two_sets import two_sets_table

_PICK = "Pick one or two models:<br>tick them in the table, or click their dots."
_PICK_TWO = "Pick two models:<br>in the release there is no best one to compare with."
_ONE_SET = (
    "Every set that was paid for from this table is kept.<br>"
    "Once there are two, they are compared here."
)


class PairCard(FigureCard):
    """Two picked models, or one and the best."""

    name = "pair"
    title = "Two models side by side"
    label = "Coefficients of two models side by side, those that part most above"
    linear = True
    slow = True
    asked = True
    definition: ClassVar[str] = (
        "The two models that were picked first, or one and the best. <b>Answer differently</b>: "
        "share of the rows that they label otherwise, #{i : ŷ<sub>a</sub>(x<sub>i</sub>) ≠ "
        "ŷ<sub>b</sub>(x<sub>i</sub>)}/n."
    )

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        models, chosen = self.state.rashomon_set, self.state.selection[:2]
        if models is None or not models.n_draws:
            return self.waiting()
        released = self.state.view == "release"
        if not chosen or max(chosen) >= models.n_draws or (released and len(chosen) < 2):
            return empty(self.title, _PICK_TWO if released else _PICK)
        line = "from rashomon_explorer.plots import plot_pair"
        first, second = chosen[0], (chosen[1] if len(chosen) > 1 else None)
        if released:
            paid = models.release()
            return Recipe(
                partial(plot_pair, paid, first, second),
                partial(pair_table, paid, first, second),
                (line, f"plot_pair(explorer.rashomon_set.release(), {first}, {second})"),
                (PAID,),
            )
        rows = self.session.rows
        return Recipe(
            partial(plot_pair, models, first, second, rows, self.session.targets),
            partial(pair_table, models, first, second),
            (
                line,
                f"plot_pair(explorer.rashomon_set, {first}, {second}, explorer.rows, "
                "explorer.targets)",
            ),
            (SAMPLED,),
            of_people=True,
        )


class SetsCard(FigureCard):
    """The set in view beside another that was paid for from the same table."""

    name = "sets"
    title = "Two sets compared"
    label = "Range and mean of every coefficient over two sets"
    linear = True
    slow = True
    asked = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "kept", "in_view")
    definition: ClassVar[str] = (
        "Ranges of the draws inside ψ (of a release: of all draws). <b>Wide</b>: mean length of "
        "the coefficients' ranges. <b>Overlap</b>: length of what both ranges share over that of "
        "what either covers, on average over the coefficients. A set with more draws reaches "
        "further by chance alone."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._other = ipywidgets.Dropdown(description="beside", options=[], disabled=True)
        self._offering = False
        self._other.observe(lambda _: None if self._offering else self.changed(), "value")
        return [self._other]

    def _offer(self) -> None:
        others = [k for k in reversed(self.state.kept) if k.number != self.state.in_view]
        options = [(kept.label, kept.number) for kept in others]
        if tuple(self._other.options) == tuple(options):
            return
        chosen = self._other.value
        self._offering = True
        self._other.options = options
        numbers = [number for _, number in options]
        self._other.value = chosen if chosen in numbers else (numbers[0] if numbers else None)
        self._other.disabled = not options
        self._offering = False

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state, models = self.state, self.state.rashomon_set
        self._offer()
        if models is None or not models.n_draws:
            return self.waiting()
        sets, number = self.session.kept_sets, self._other.value
        if sets is None or number is None:
            return empty(self.title, _ONE_SET)
        names = (f"draw {state.in_view}" if state.in_view else "the set in view", f"draw {number}")
        other: Any = sets.open(number)
        released = state.view == "release"
        if released:
            models, other = models.release(), other.release()
        end = ".release()" if released else ""
        return Recipe(
            partial(plot_two_sets, models, other, names),
            partial(two_sets_table, models, other, names),
            (
                "from rashomon_explorer.plots import plot_two_sets",
                f"other = explorer.session.kept_sets.open({number}){end}",
                f"plot_two_sets(explorer.rashomon_set{end}, other, {names!r})",
            ),
            (PAID,) if released else (SAMPLED,),
        )
