"""Saved sets, in a folder next to their ledger."""

import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sklearn.utils import Bunch
from traitlets import TraitError

from rashomon_explorer._utils import files
from rashomon_explorer.data import TableSchema
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import family, messages
from rashomon_explorer.explorer.background import batch_updates
from rashomon_explorer.explorer.dataset import DatasetController, linear_estimator, public_constants
from rashomon_explorer.explorer.state import SETTINGS, ExplorerState, Favourites
from rashomon_explorer.explorer.table_rows import table_shape, tree_rows
from rashomon_explorer.plots.text import cost_text, plural
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.sets import CuratorSet, RashomonSet
from rashomon_explorer.sets.files import load, write

T = TypeVar("T")
Failed = Callable[[OSError], object]

_NO_TEXT = (json.JSONDecodeError, UnicodeDecodeError)
_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def log_unread(error: OSError) -> None:
    messages.LOGGER.error("a file of saved results cannot be read", exc_info=error)


def file_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


class NumberedFiles:
    """Files ``0001.model``, ``0002.model``, …, one per result; concurrent writes are safe."""

    def __init__(self, folder: Path, before: str, after: str) -> None:
        self.folder = folder
        self._before, self._after = before, after

    def paths(self) -> list[Path]:
        """Files that are not quarantined, oldest first."""
        numbers = sorted(number for number, quarantined in self._numbered() if not quarantined)
        return [self.folder / self._name(number) for number in numbers]

    def add(self, text: str) -> None:
        files.make_folder(self.folder)
        content = text.encode()
        # The number of a quarantined file is not reused.
        first = 1 + max((number for number, _ in self._numbered()), default=0)
        files.write_new_file(self.folder, self._name, first, lambda file: file.write(content))

    def _name(self, number: int) -> str:
        return f"{self._before}{number:04d}{self._after}"

    def _numbered(self) -> list[tuple[int, str]]:
        before, after = re.escape(self._before), re.escape(self._after)
        ours = re.compile(rf"{before}(\d{{4,}}){after}(\.\d+\.damaged)?")
        matches = map(ours.fullmatch, file_names(self.folder))
        return [(int(match[1]), match[2] or "") for match in matches if match]


def read_file(
    path: Path, parse: Callable[[str], T], failed: Failed = log_unread, *, quarantine: bool = True
) -> T | None:
    """Parse a JSON file; return None if it is missing or unusable."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        failed(error)
        return None
    try:
        return parse(content.decode())
    except _NOT_OURS as error:
        level = logging.ERROR if quarantine else logging.INFO
        messages.LOGGER.log(level, "%s could not be read", path, exc_info=error)
        if quarantine and isinstance(error, _NO_TEXT):
            try:
                renamed = files.quarantine_file(path)
                messages.LOGGER.error("%s is damaged; it is now called %s", path, renamed)
            except OSError as cause:  # another page renamed it first, or the folder is read-only
                message = "%s is damaged and could not be renamed"
                messages.LOGGER.error(message, path, exc_info=cause)
        return None


_SETS, _MODELS, _GONE = ".sets", ".npz", ".deleted"

# Files of a set: models, note, stars and aggregates; older versions also wrote `.new` and
# `.damaged`. Numbered files of other results, such as `.model`, do not match.
_OF_A_SET = re.compile(r"(\d+)(-\d+)?\.(npz|json|stars|paid|new|damaged|deleted)(\.\d+\.damaged)?")


@dataclass(frozen=True)
class StoredSet:
    """Public description of a saved set."""

    number: int
    at: datetime
    n_draws: int
    epsilon: float
    settings: dict[str, Any]
    adds: float | None = None  # what the ledger was charged; None in notes of older versions

    @property
    def cost(self) -> str:
        """Privacy cost as text: what the ledger was charged, or else the ε of the set alone."""
        return cost_text(self.epsilon if self.adds is None else self.adds)

    @property
    def label(self) -> str:
        return f"Draw {self.number} · {plural(self.n_draws, 'model')} · {self.cost}"


class SetStore:
    """Folder with the saved sets of one ledger."""

    def __init__(self, ledger: Path) -> None:
        self.folder = ledger.with_suffix(_SETS)

    def all(self, failed: Failed = log_unread) -> tuple[StoredSet, ...]:
        files.tighten(self.folder)
        try:
            numbers = self.numbers()
        except OSError as error:
            failed(error)
            return ()
        described = (self._described(number, failed) for number in numbers)
        return tuple(stored for stored in described if stored is not None)

    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(n for n, name in self._files() if name == self._models(n).name))

    def keep(
        self, models: CuratorSet, settings: dict[str, Any], adds: float | None = None
    ) -> StoredSet:
        files.make_folder(self.folder)
        # The number of a deleted set is not reused: another page may still refer to it.
        first = 1 + max((number for number, _ in self._files()), default=0)
        number = files.write_new_file(
            self.folder, lambda n: self._models(n).name, first, partial(write, models)
        )
        at = datetime.now().replace(microsecond=0)
        entry = replace(_stored_set(number, at, models, settings), adds=adds)
        fields = {**vars(entry), "at": entry.at.isoformat(timespec="seconds")}
        content = json.dumps(fields, ensure_ascii=False, indent=1).encode()
        try:
            files.replace_file(self._note(number), lambda file: file.write(content))
        except OSError as error:
            messages.LOGGER.error(
                "the note of %s was not written", self._models(number), exc_info=error
            )
        return entry

    def open(self, number: int) -> Any:
        try:
            return load(self._models(number), CuratorSet)
        except FileNotFoundError as error:
            raise DataError(
                f"draw {number} is missing from {self.folder}: it was deleted, here or on "
                f"another page. Its privacy cost stays spent"
            ) from error

    def purchases_path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.paid"

    def delete(self, number: int) -> None:
        """Delete a set and its aggregates permanently; their privacy cost stays spent."""
        deleted = self.folder / f"{number:04d}{_GONE}"
        with suppress(OSError):  # first, to keep the number taken; may fail on a full disk
            deleted.touch(mode=0o600)
        self._models(number).unlink(missing_ok=True)
        for owner, name in self._files():
            if owner == number and name != deleted.name:
                (self.folder / name).unlink(missing_ok=True)
        if self.folder.exists():
            deleted.touch(mode=0o600)

    def favourites(self, number: int) -> Favourites:
        return read_file(self._favourites(number), Favourites.from_text) or Favourites()

    def keep_favourites(self, number: int, favourites: Favourites) -> None:
        favourites.write(self._favourites(number))

    def _described(self, number: int, failed: Failed) -> StoredSet | None:
        """Read the public description of a set from its note, or else from its models."""
        # Older versions write a note in place, so a half-written note is not quarantined.
        noted = read_file(self._note(number), _read, failed, quarantine=False)
        if noted is not None:
            return replace(noted, number=number)
        path = self._models(number)
        try:
            at = datetime.fromtimestamp(path.stat().st_mtime)
            return _stored_set(number, at, load(path, CuratorSet), {})
        except FileNotFoundError:  # deleted on another page in the meantime
            return None
        except OSError as error:
            failed(error)
            return None
        except DataError as error:
            messages.LOGGER.error("%s could not be read", path, exc_info=error)
            return None

    def _files(self) -> list[tuple[int, str]]:
        """All files of sets, including deleted ones, with the number of the set."""
        matches = map(_OF_A_SET.fullmatch, file_names(self.folder))
        return [(int(match[1]), match[0]) for match in matches if match]

    def _models(self, number: int) -> Path:
        return self.folder / f"{number:04d}{_MODELS}"

    def _favourites(self, number: int) -> Path:
        return self.folder / f"{number:04d}.stars"

    def _note(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"


def _stored_set(
    number: int, at: datetime, models: CuratorSet, settings: dict[str, Any]
) -> StoredSet:
    epsilon = models.guarantee.epsilon(family.spent_delta(models.guarantee))
    return StoredSet(number, at, models.n_draws, epsilon, dict(settings))


def _read(text: str) -> StoredSet:
    fields = json.loads(text)
    return StoredSet(**{**fields, "at": datetime.fromisoformat(fields["at"])})


class SavedSets(DatasetController):
    """A data set and the sets that were drawn from it."""

    def __init__(self, state: ExplorerState, home: Path) -> None:
        super().__init__(state, home)
        self._drawn: Constants | None = None
        self._seen: tuple[Path, frozenset[int]] | None = None

    @batch_updates
    def choose(self, data: Bunch) -> None:
        super().choose(data)
        self.state.saved_sets, errors = self._listed()
        self._show_last(errors)

    def _show_last(self, errors: Sequence[OSError] = ()) -> None:
        """Show the newest set; report file-system errors, which may be temporary."""
        state, failed = self.state, list(errors)
        try:
            if state.saved_sets and not state.unconfirmed:
                self.open_saved(state.saved_sets[-1].number)
        except DataError as error:
            messages.LOGGER.info("the newest set was not shown", exc_info=error)
        except OSError as error:
            failed.append(error)
        if failed:
            messages.report(state, messages.PAID_READ, failed[0], messages.STILL_THERE)

    @batch_updates
    def confirm(self, schema: TableSchema) -> None:
        waiting = self.state.unconfirmed
        self.redeclare(schema)
        if waiting and not self.state.unconfirmed and self.state.rashomon_set is None:
            self._show_last()

    @property
    def set_store(self) -> SetStore | None:
        return None if self._ledger_path is None else SetStore(self._ledger_path)

    @batch_updates
    def open_saved(self, number: int) -> None:
        self.check_ready()
        state = self.state
        entry = {saved.number: saved for saved in state.saved_sets}.get(number)
        if entry is None or self.set_store is None:
            raise DataError(f"there is no draw {number} of this table in {self.home}")
        try:
            models = self.set_store.open(number)
        except DataError:
            self._reload()
            raise
        linear = isinstance(models, RashomonSet)
        rows = self._encoded if linear else tree_rows(state.data)
        names = models.feature_names if linear else models.models.feature_names
        columns = tuple(map(str, rows.columns))
        if names[: len(columns)] != columns:
            raise DataError(
                f"draw {number} uses other columns than the current table: load the table with "
                f"the schema of that draw"
            )
        self._drawn = self._constants_with(entry.settings, models) if linear else None
        self.rows, self.estimator, self._chunk_encoder = rows, None, None
        with state.hold_trait_notifications():
            state.set_number += 1
            state.selection = ()
            state.audit = None
            state.rashomon_set = models
            state.n_drawn = models.n_draws
            state.drawn_settings = dict(entry.settings)
            state.charged = entry.adds
            if entry.adds is None and state.account is not None:
                state.charged = state.account.charged(models.guarantee)
            state.in_view = number
            state.phase = "done"
            for name in set(entry.settings) & set(SETTINGS):
                with suppress(TraitError):  # a note of an older version may name another mechanism
                    setattr(state, name, entry.settings[name])
        self.set_status(f"Opened {entry.label}; nothing was charged.")

    def _constants_with(self, settings: dict[str, Any], models: RashomonSet) -> Constants | None:
        if not settings:  # without a note, only the constants of the plan are known
            law = None if models.plan is None else models.plan.law
            return None if law is None else law.constants
        estimator = linear_estimator(self.state)
        parameters = {k: v for k, v in settings.items() if k in estimator.get_params()}
        return public_constants(estimator.set_params(**parameters), *table_shape(self.state.data))

    @batch_updates
    def delete_saved(self, number: int) -> None:
        """Delete a set permanently; its privacy cost stays spent."""
        if store := self.set_store:
            store.delete(number)
            left = tuple(saved for saved in self.state.saved_sets if saved.number != number)
            self.state.saved_sets, _ = self._listed(left)
            if self.state.in_view == number:
                self._clear()
                self.replan()
            self.set_status(f"Draw {number} was deleted; its privacy cost stays spent.")

    def catch_up(self) -> None:
        """Add sets drawn on another page; show the newest one if no set is on screen."""
        state = self.state
        if state.busy or state.data is None or self.set_store is None:
            return
        new = frozenset(self.set_store.numbers()) - {saved.number for saved in state.saved_sets}
        if not new or self._seen == (self.set_store.folder, new):  # damaged files are read once
            return
        errors = self._reload()
        if errors:  # may be temporary: try again next time
            raise errors[0]
        unread = new - {saved.number for saved in state.saved_sets}
        self._seen = (self.set_store.folder, unread)
        on_screen = state.rashomon_set is not None or state.audit is not None
        if not on_screen:
            self._show_last()

    def _reload(self) -> list[OSError]:
        """Read the folder again, because another page may have deleted the set on screen."""
        state = self.state
        there, errors = self._listed(state.saved_sets)
        with state.hold_trait_notifications():
            state.saved_sets = there
            if state.in_view not in [entry.number for entry in there]:
                state.in_view = 0
        return errors

    def _listed(
        self, listed_before: tuple[StoredSet, ...] = ()
    ) -> tuple[tuple[StoredSet, ...], list[OSError]]:
        """List the sets and file-system errors; after an error, keep those listed before."""
        errors: list[OSError] = []
        if self.set_store is None:
            return (), errors
        there = {stored.number: stored for stored in self.set_store.all(errors.append)}
        if errors:
            there |= {stored.number: stored for stored in listed_before}
        return tuple(there[number] for number in sorted(there)), errors

    def _keep(self) -> None:
        """Save a set next to its ledger; if that fails, report it and continue."""
        state = self.state
        if self.set_store is None or state.uncharged or not state.rashomon_set.guarantee.holds:
            return
        try:
            entry = self.set_store.keep(state.rashomon_set, state.drawn_settings, state.charged)
        except Exception as error:  # the cost is spent: the draws stay on screen after any error
            messages.report(state, "Saving the draws", error, messages.ON_SCREEN_ONLY)
            return
        try:
            if state.favourites != Favourites():  # set while the draw was running
                self.set_store.keep_favourites(entry.number, state.favourites)
        except OSError as error:
            messages.report(state, "Saving stars and notes", error)
        there, _ = self._listed((*state.saved_sets, entry))
        with state.hold_trait_notifications():
            state.saved_sets = there
            state.in_view = entry.number
