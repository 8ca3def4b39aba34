"""Sets that were paid for, kept beside the ledger that they were charged to."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from rashomon_explorer.durable_files import make_folder, replace_file, write_new_file
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.family import paid_delta
from rashomon_explorer.explorer.favourites import Favourites
from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.explorer.kept_files import Failed, file_names, log_unread, read_file
from rashomon_explorer.plots.text import plural, price
from rashomon_explorer.private_files import tighten
from rashomon_explorer.rashomon_set.curator import CuratorSet
from rashomon_explorer.rashomon_set.files import load, write

_SETS, _MODELS, _GONE = ".sets", ".npz", ".deleted"

# Models, note, stars and aggregates: those of one set may be in several files, of which older
# versions wrote `.new` and `.damaged`. What has a number of its own, as one model has, is none.
_OF_A_SET = re.compile(r"(\d+)(-\d+)?\.(npz|json|stars|paid|new|damaged|deleted)(\.\d+\.damaged)?")


@dataclass(frozen=True)
class KeptSet:
    """One set in a folder, by what is public of it.

    Attributes
    ----------
    number : int
        First, second, … of its ledger.
    at : datetime.datetime
        When it was drawn.
    n_draws : int
        Its models.
    epsilon : float
        What they cost by themselves.
    settings : dict
        What they were drawn with.
    """

    number: int
    at: datetime
    n_draws: int
    epsilon: float
    settings: dict[str, Any]

    @property
    def label(self) -> str:
        """The set in a line.

        >>> KeptSet(3, datetime(2026, 11, 22, 23, 41), 20, 1.9, {}).label
        'Draw 3 · 20 models · ε = 1.9 · 22 Nov 23:41'
        """
        models = plural(self.n_draws, "model")
        return f"Draw {self.number} · {models} · {price(self.epsilon)} · {self.at:%d %b %H:%M}"


class KeptSets:
    """The folder of one ledger's sets: what was paid for stays, whatever happens to the page.

    Parameters
    ----------
    ledger : pathlib.Path
        The ledger's file; the sets lie in a folder of its name.

    Attributes
    ----------
    folder : pathlib.Path
        ``loans.sets`` for ``loans.ledger``; it appears with the first set.
    """

    def __init__(self, ledger: Path) -> None:
        self.folder = ledger.with_suffix(_SETS)

    def all(self, failed: Failed = log_unread) -> tuple[KeptSet, ...]:
        """List the sets, oldest first, each by its models, with or without its note.

        Parameters
        ----------
        failed : callable, default=log_unread
            Called with every error of the file system, which may pass: the set stays where it is.
        """
        tighten(self.folder)
        try:
            numbers = self.numbers()
        except OSError as error:
            failed(error)
            return ()
        found = (self._described(number, failed) for number in numbers)
        return tuple(one for one in found if one is not None)

    def numbers(self) -> tuple[int, ...]:
        """Numbers of the sets by the names of the files alone, in order.

        Raises
        ------
        OSError
            If the folder cannot be read at the moment.
        """
        return tuple(sorted(n for n, name in self._files() if name == self._models(n).name))

    def keep(self, models: CuratorSet, settings: dict[str, Any]) -> KeptSet:
        """Write a set; its file is the curator's alone, its note holds public numbers.

        Raises
        ------
        OSError
            If the models cannot be written. Without the note, the set is kept all the same.
        """
        make_folder(self.folder)
        # A number that was deleted is not given again: another page may still show what it meant.
        first = 1 + max((number for number, _ in self._files()), default=0)
        number = write_new_file(
            self.folder, lambda n: self._models(n).name, first, partial(write, models)
        )
        kept = _of_models(number, datetime.now().replace(microsecond=0), models, settings)
        content = _written(kept).encode()
        try:
            replace_file(self._note(number), lambda file: file.write(content))
        except OSError as error:
            LOGGER.error("the note of %s was not written", self._models(number), exc_info=error)
        return kept

    def open(self, number: int) -> Any:
        """Read a set's models.

        Raises
        ------
        DataError
            If it is not there any more.
        """
        try:
            return load(self._models(number), CuratorSet)
        except FileNotFoundError as error:
            raise DataError(
                f"draw {number} is not in {self.folder} any more: it was deleted, here or on "
                "another page. What it cost stays spent"
            ) from error

    def paid(self, number: int) -> Path:
        """Say where the aggregates lie that were paid for of a set: see `Purchases`."""
        return self.folder / f"{number:04d}.paid"

    def delete(self, number: int) -> None:
        """Take a set away for good, with its aggregates; what they cost stays spent."""
        deleted = self.folder / f"{number:04d}{_GONE}"
        with suppress(OSError):  # first, so that the number is never free; a full disk may refuse
            deleted.touch(mode=0o600)
        self._models(number).unlink(missing_ok=True)
        for owner, name in self._files():
            if owner == number and name != deleted.name:
                (self.folder / name).unlink(missing_ok=True)
        if self.folder.exists():
            deleted.touch(mode=0o600)

    def favourites(self, number: int) -> Favourites:
        """Read the stars and notes on a set's models; none where the file is damaged."""
        return read_file(self._favourites(number), Favourites.of_text) or Favourites()

    def keep_favourites(self, number: int, favourites: Favourites) -> None:
        """Write the stars and notes on a set's models."""
        favourites.write(self._favourites(number))

    def _described(self, number: int, failed: Failed) -> KeptSet | None:
        """Read what is public of a set: from its note, and without one from its models."""
        # A page of an older version writes a note in place: one that is half there stays there.
        noted = read_file(self._note(number), _read, failed, aside=False)
        if noted is not None:
            return replace(noted, number=number)
        path = self._models(number)
        try:
            at = datetime.fromtimestamp(path.stat().st_mtime)
            return _of_models(number, at, load(path, CuratorSet), {})
        except FileNotFoundError:  # deleted on another page meanwhile
            return None
        except OSError as error:
            failed(error)
            return None
        except DataError as error:
            LOGGER.error("%s could not be read", path, exc_info=error)
            return None

    def _files(self) -> list[tuple[int, str]]:
        """Every file of a set, or of one that was deleted, with the set's number."""
        found = map(_OF_A_SET.fullmatch, file_names(self.folder))
        return [(int(match[1]), match[0]) for match in found if match]

    def _models(self, number: int) -> Path:
        return self.folder / f"{number:04d}{_MODELS}"

    def _favourites(self, number: int) -> Path:
        return self.folder / f"{number:04d}.stars"

    def _note(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"


def _of_models(number: int, at: datetime, models: CuratorSet, settings: dict[str, Any]) -> KeptSet:
    epsilon = models.guarantee.epsilon(paid_delta(models.guarantee))
    return KeptSet(number, at, models.n_draws, epsilon, dict(settings))


def _written(kept: KeptSet) -> str:
    said = {**vars(kept), "at": kept.at.isoformat(timespec="seconds")}
    return json.dumps(said, ensure_ascii=False, indent=1)


def _read(text: str) -> KeptSet:
    said = json.loads(text)
    return KeptSet(**{**said, "at": datetime.fromisoformat(said["at"])})
