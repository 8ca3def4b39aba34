"""Card of the choice of a penalty: its private landscape, and what ordinary tuning tells."""

import warnings
from functools import cached_property
from html import escape

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.estimators.tuning_audit import TuningAudit, audit_tuning
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.explorer.cards.base import NO_DATA, FigureCard, Recipe, empty
from rashomon_explorer.explorer.marks import PAID
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.penalties import (
    drawn_table,
    penalties_table,
    plot_drawn_penalties,
    plot_penalties,
)

_NONE_PAID = "No penalty was drawn yet:<br>see <b>A penalty, privately</b>."


class PenaltiesCard(FigureCard):
    """Validation loss of every penalty, its Rashomon set, the law of a draw, and RidgeCV beside it.

    In the release it shows what was drawn and paid for, and nothing else.
    """

    name = "penalties"
    title = "Which penalty"
    label = "Validation loss and probability of a private draw, for every penalty"
    needs = ("tuning", "tuned", "data", "view", "phase")
    slow = True
    asked = True
    definition = (
        "The loss on held-out rows of the fit with each penalty λ; green dots are within ψ of the "
        "least. A private draw takes λ with probability ∝ exp(−β·max(Φ − min Φ − ψ, 0)). Ordinary "
        "tuning names the least: rows that move it, each changed alone, are told by it."
    )

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state, offer = self.state, self.state.tuning
        if state.data is None:
            return empty(self.title, NO_DATA)
        if state.view == "release":
            return self._released()
        if offer is None or offer.search is None:
            return empty(self.title, escape("" if offer is None else offer.why_not))
        if state.busy:
            return self.later()
        look = _Look(offer.search, self.session.rows, state.data.y, state.tuned)
        return Recipe(
            look.figure,
            look.table,
            (
                "from rashomon_explorer.estimators import audit_tuning",
                "from rashomon_explorer.plots import plot_penalties",
                "found = audit_tuning(explorer.tuner.make_search(), explorer.rows, "
                "explorer.data.y)",
                "plot_penalties(found)  # for the curator",
            ),
        )

    def _released(self) -> Recipe:
        made = self.state.tuned
        if made is None:
            return empty(self.title, _NONE_PAID)

        def figure() -> go.Figure:
            return plot_drawn_penalties(made.penalties, made.bounds, made.promised)

        return Recipe(figure, lambda: drawn_table(made.penalties), (), (PAID,))


class _Look:
    """One look at the rows, for figure and table."""

    def __init__(self, search: object, rows: object, targets: object, tuned: object) -> None:
        self._asked = (search, rows, targets)
        self._drawn = () if tuned is None else tuned.penalties  # type: ignore[attr-defined]

    @cached_property
    def found(self) -> TuningAudit:
        with warnings.catch_warnings(), said_elsewhere():
            warnings.simplefilter("ignore", PrivacyLeakWarning)  # the band says so
            return audit_tuning(*self._asked)  # type: ignore[arg-type]

    def figure(self) -> go.Figure:
        return plot_penalties(self.found, self._drawn)

    def table(self) -> pd.DataFrame:
        return penalties_table(self.found)
