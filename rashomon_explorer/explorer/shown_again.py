"""Sets of the table on screen that were paid for: kept, shown again, and deleted on purpose."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from rashomon_explorer.constants import Constants
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.chosen import ChosenData, constants_of, linear_estimator
from rashomon_explorer.explorer.family import tree_rows
from rashomon_explorer.explorer.favourites import Favourites
from rashomon_explorer.explorer.guard import (
    LOGGER,
    ON_SCREEN_ONLY,
    PAID_READ,
    STILL_THERE,
    report,
)
from rashomon_explorer.explorer.kept import KeptSet, KeptSets
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.together import shown_together
from rashomon_explorer.explorer.whole import shape_of
from rashomon_explorer.planning.public_law import PublicLaw
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.schema import TableSchema


class SetsShownAgain(ChosenData):
    """A data set, and the sets that were drawn from it before."""

    def __init__(self, state: ExplorerState, home: Path) -> None:
        super().__init__(state, home)
        self._drawn: Constants | None = None
        self._seen: tuple[Path, frozenset[int]] | None = None

    @shown_together
    def choose(self, data: Bunch) -> None:
        """Take a data set, and show again what was drawn from it last."""
        super().choose(data)
        self.state.kept, errors = self._listed()
        self._show_last(errors)

    def _show_last(self, errors: Sequence[OSError] = ()) -> None:
        """Show the newest set; errors of the file system, which may pass, are reported."""
        state, failed = self.state, list(errors)
        try:
            if state.kept and not state.unconfirmed:
                self.open_kept(state.kept[-1].number)
        except DataError as error:
            LOGGER.info("the last set was not shown again", exc_info=error)
        except OSError as error:
            failed.append(error)
        if failed:
            report(state, PAID_READ, failed[0], STILL_THERE)

    @shown_together
    def confirm(self, schema: TableSchema) -> None:
        """Take the schema of the table on screen with fewer marks; its rows stay as they are."""
        waiting = self.state.unconfirmed
        self.redeclare(schema)
        if waiting and not self.state.unconfirmed and self.state.rashomon_set is None:
            self._show_last()

    @property
    def kept_sets(self) -> KeptSets | None:
        """Where the sets of this table lie; None without a table."""
        return None if self._ledger_path is None else KeptSets(self._ledger_path)

    @shown_together
    def open_kept(self, number: int) -> None:
        """Show a set again that was paid for; nothing is charged, and no slider moves."""
        self._check_ready()
        state = self.state
        kept = next((one for one in state.kept if one.number == number), None)
        if kept is None or self.kept_sets is None:
            raise DataError(f"there is no draw {number} of this table in {self.home}")
        try:
            models = self.kept_sets.open(number)
        except DataError:
            self._look_for_kept()
            raise
        linear = isinstance(models, RashomonSet)
        rows = self._encoded if linear else tree_rows(state.data)
        names = models.feature_names if linear else models.models.feature_names
        columns = tuple(map(str, rows.columns))
        if names[: len(columns)] != columns:
            raise DataError(
                f"draw {number} was made of other columns than the table has now: load the table "
                "as it was declared then"
            )
        self._drawn = self._constants_with(kept.settings, models) if linear else None
        self.rows, self.estimator, self._behind = rows, None, None
        with state.hold_trait_notifications():
            state.selection = ()
            state.rashomon_set = models
            state.n_drawn = models.n_draws
            state.drawn_settings = dict(kept.settings)
            state.in_view = number
            state.phase = "done"
        self.say(f"{kept.label} is shown again; nothing was charged.")

    def _constants_with(self, settings: dict[str, Any], models: RashomonSet) -> Constants | None:
        if not settings:  # its note is lost: what the plan says of itself is left
            law = None if models.plan is None else PublicLaw.of(models.plan)
            return None if law is None else law.constants
        known = linear_estimator(self.state)
        own = {k: v for k, v in settings.items() if k in known.get_params()}
        return constants_of(known.set_params(**own), *shape_of(self.state.data))

    @shown_together
    def delete_kept(self, number: int) -> None:
        """Take a set away for good; what it cost stays spent."""
        if kept := self.kept_sets:
            kept.delete(number)
            left = tuple(one for one in self.state.kept if one.number != number)
            self.state.kept, _ = self._listed(left)
            if self.state.in_view == number:
                self._clear()
                self.replan()
            self.say(f"Draw {number} was deleted; what it cost stays spent.")

    def catch_up(self) -> None:
        """Offer what another page has drawn meanwhile, and show it where this one shows nothing.

        A program that was started ahead of its page knows only what was there then.
        """
        state = self.state
        if state.busy or state.data is None or self.kept_sets is None:
            return
        new = frozenset(self.kept_sets.numbers()) - {one.number for one in state.kept}
        if not new or self._seen == (self.kept_sets.folder, new):  # what is damaged is read once
            return
        errors = self._look_for_kept()
        if errors:  # they may pass: look again next time
            raise errors[0]
        self._seen = self.kept_sets.folder, new - {one.number for one in state.kept}
        on_screen = state.rashomon_set is not None or state.outside is not None
        if state.kept and not on_screen and not state.unconfirmed:
            try:
                self.open_kept(state.kept[-1].number)
            except DataError as error:
                LOGGER.info("the newest set was not shown", exc_info=error)
            except OSError as error:
                report(state, PAID_READ, error, STILL_THERE)

    def _look_for_kept(self) -> list[OSError]:
        """Read the folder again: another page may have deleted what this one shows."""
        state = self.state
        there, errors = self._listed(state.kept)
        with state.hold_trait_notifications():
            state.kept = there
            if state.in_view not in [kept.number for kept in there]:
                state.in_view = 0
        return errors

    def _listed(self, known: tuple[KeptSet, ...] = ()) -> tuple[tuple[KeptSet, ...], list[OSError]]:
        """List the sets, with errors that may pass: then those that were known stay."""
        errors: list[OSError] = []
        if self.kept_sets is None:
            return (), errors
        there = {one.number: one for one in self.kept_sets.all(errors.append)}
        if errors:
            there |= {one.number: one for one in known}
        return tuple(there[number] for number in sorted(there)), errors

    def _keep(self) -> None:
        """Write what was paid for beside its ledger; the page goes on where it cannot."""
        state = self.state
        if self.kept_sets is None or state.uncharged or not state.rashomon_set.guarantee.holds:
            return
        try:
            kept = self.kept_sets.keep(state.rashomon_set, state.drawn_settings)
        except Exception as error:  # whatever it is, the draws were paid for and stay
            report(state, "Keeping the draws beside their ledger", error, ON_SCREEN_ONLY)
            return
        try:
            if state.favourites != Favourites():  # given while the draws came
                self.kept_sets.keep_favourites(kept.number, state.favourites)
        except OSError as error:
            report(state, "Keeping stars and notes", error)
        there, _ = self._listed((*state.kept, kept))
        with state.hold_trait_notifications():
            state.kept = there
            state.in_view = kept.number
