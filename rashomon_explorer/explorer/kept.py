"""Sets that were paid for, kept beside the ledger that they were charged to."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.family import paid_delta
from rashomon_explorer.explorer.favourites import Favourites
from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.plots.text import plural, price
from rashomon_explorer.private_files import private_folder, tighten, write_private
from rashomon_explorer.rashomon_set.curator import CuratorSet
from rashomon_explorer.rashomon_set.files import load

_SETS, _MODELS, _GONE = ".sets", ".npz", ".deleted"


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

    def all(self) -> tuple[KeptSet, ...]:
        """Read what is there, oldest first; a note that cannot be read is left out and logged."""
        found = []
        tighten(self.folder)
        for note in sorted(self.folder.glob("*.json")):
            try:
                found.append(_read(note))
            except (OSError, ValueError, KeyError, TypeError) as error:
                LOGGER.error("%s could not be read", note, exc_info=error)
        return tuple(sorted(found, key=lambda kept: kept.number))

    def newest(self) -> int:
        """Return the number of the last set by the names of the files alone; 0 without one."""
        stems = [note.stem for note in self.folder.glob("*.json")]
        return max((int(stem) for stem in stems if stem.isdigit()), default=0)

    def keep(self, models: CuratorSet, settings: dict[str, Any]) -> KeptSet:
        """Write a set; its file is the curator's alone, its note holds public numbers."""
        private_folder(self.folder)
        # A number that was deleted is not given again: another page may still show what it meant.
        number = 1 + max((_number(file) for file in self.folder.iterdir()), default=0)
        while self._models(number).exists():  # another page was as fast
            number += 1
        kept = KeptSet(
            number,
            datetime.now(),
            models.n_draws,
            models.guarantee.epsilon(paid_delta(models.guarantee)),
            dict(settings),
        )
        models.save(self._models(number))
        write_private(self._note(number), _written(kept))
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
        """Say where the aggregates lie that were paid for of a set."""
        return self.folder / f"{number:04d}.paid"

    def delete(self, number: int) -> None:
        """Take a set away for good, with its aggregates; what they cost stays spent."""
        self.paid(number).unlink(missing_ok=True)
        self._note(number).unlink(missing_ok=True)
        self._models(number).unlink(missing_ok=True)
        self._favourites(number).unlink(missing_ok=True)
        if self.folder.exists():
            (self.folder / f"{number:04d}{_GONE}").touch(mode=0o600)

    def favourites(self, number: int) -> Favourites:
        """Read the stars and notes on a set's models; none where the file is damaged."""
        try:
            return Favourites.read(self._favourites(number))
        except (OSError, ValueError, TypeError, AttributeError) as error:
            LOGGER.error("%s could not be read", self._favourites(number), exc_info=error)
            return Favourites()

    def keep_favourites(self, number: int, favourites: Favourites) -> None:
        """Write the stars and notes on a set's models."""
        favourites.write(self._favourites(number))

    def _models(self, number: int) -> Path:
        return self.folder / f"{number:04d}{_MODELS}"

    def _favourites(self, number: int) -> Path:
        return self.folder / f"{number:04d}.stars"

    def _note(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"


def _number(file: Path) -> int:
    return int(file.stem) if file.suffix in (_MODELS, _GONE) and file.stem.isdigit() else 0


def _written(kept: KeptSet) -> str:
    said = {**vars(kept), "at": kept.at.isoformat(timespec="seconds")}
    return json.dumps(said, ensure_ascii=False, indent=1)


def _read(note: Path) -> KeptSet:
    said = json.loads(note.read_text(encoding="utf-8"))
    return KeptSet(**{**said, "at": datetime.fromisoformat(said["at"])})
