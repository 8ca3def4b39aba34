"""What is on screen, for whoever goes on in a cell below the page."""

from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.constants import Constants
from rashomon_explorer.explorer.exact_answers import ExactAnswers
from rashomon_explorer.explorer.picked import Picked
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.tree_answers import TreeAnswers
from rashomon_explorer.planning import Plan
from rashomon_explorer.privacy import Guarantee, Ledger
from rashomon_explorer.rashomon_set import RashomonSet


class OnScreen:
    """The data set, its ledger, the settings' plan and the models that the page shows."""

    state: ExplorerState
    session: Session

    @property
    def estimator(self) -> Any:
        """The fitted estimator whose set is on screen, or None."""
        return self.session.estimator

    @property
    def rashomon_set(self) -> RashomonSet | None:
        """The draws on screen, or None."""
        return self.state.rashomon_set

    @property
    def guarantee(self) -> Guarantee | None:
        """What the draws on screen reveal at most, or None."""
        return self.session.guarantee

    @property
    def plan(self) -> Plan | None:
        """What the sliders' settings buy, or None without data."""
        return self.state.plan

    @property
    def constants(self) -> Constants | None:
        """Public constants of the draws on screen, of the settings before there are any."""
        return self.session.constants

    @property
    def ledger(self) -> Ledger | None:
        """The data set's ledger, or None before its first draw."""
        return self.session.ledger

    @property
    def budget(self) -> tuple[float, float]:
        """Budget (ε, δ) of the data set, which is fixed at its first draw."""
        account = self.state.account
        if account is None:
            return self.state.budget_epsilon, self.state.budget_delta
        return account.budget, account.delta

    @property
    def data(self) -> Bunch | None:
        """The data set, or None."""
        return self.state.data

    @property
    def rows(self) -> pd.DataFrame | None:
        """The data set's features scaled to the unit ball by their public bounds, or None.

        Of rows in blocks those of a fixed random sample; `blocks` are all of them.
        """
        return self.session.rows

    @property
    def blocks(self) -> RowBlocks | None:
        """All rows as the models on screen see them, where they come in blocks; else None."""
        return self.session.blocks

    @property
    def targets(self) -> Any:
        """The data set's targets as the models on screen name them, or None."""
        return self.session.targets

    @property
    def picked(self) -> Picked:
        """What is selected: its ``models``, ``rows`` and ``targets``; all where nothing is."""
        return self.session.picked

    @property
    def exact(self) -> ExactAnswers:
        """What is proved of the whole set on screen (curator)."""
        return self.session.exact

    @property
    def tree_answers(self) -> TreeAnswers:
        """What is true of every sparse tree that the sliders allow (curator)."""
        return self.session.tree_answers
