"""Aggregates that were paid for, each in a file beside the set that they are of."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.explorer.kept_files import Failed, NumberedFiles, log_unread, read_file
from rashomon_explorer.plots.text import price
from rashomon_explorer.release import Released
from rashomon_explorer.release.files import released_of, released_values


@dataclass(frozen=True)
class Purchase:
    """What was bought, when, and what it added to what was spent.

    Attributes
    ----------
    released : Released
        The numbers; public.
    at : datetime.datetime
        When.
    adds : float
        What it added to the ledger's total.
    draws : tuple of int or None
        Which models of the set they are of; None for all.
    group : str
        Column by which groups are told apart; empty without.
    """

    released: Released
    at: datetime
    adds: float
    draws: tuple[int, ...] | None = None
    group: str = ""

    @property
    def what(self) -> str:
        """What was bought."""
        names = ", ".join(answer.query.replace("_", " ") for answer in self.released.answers)
        of = "" if self.draws is None else f" of {len(self.draws)} chosen models"
        return f"{names}{of}"

    @property
    def label(self) -> str:
        """The purchase in a line."""
        return f"{self.what} · {price(self.adds)} · {self.at:%d %b %H:%M}"

    def to_values(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {
            "at": self.at.isoformat(timespec="seconds"),
            "adds": self.adds,
            "draws": None if self.draws is None else list(self.draws),
            "group": self.group,
            "released": released_values(self.released),
        }

    @classmethod
    def of_values(cls, values: dict[str, Any]) -> "Purchase":
        """Inverse of `to_values`."""
        draws = values["draws"]
        return cls(
            released_of(values["released"]),
            datetime.fromisoformat(values["at"]),
            values["adds"],
            None if draws is None else tuple(draws),
            values["group"],
        )


class Purchases:
    """The purchases of one kept set, each in a file of its own beside it.

    Parameters
    ----------
    path : pathlib.Path
        ``loans.sets/0003.paid`` for draw 3 of loans, of which ``0003-0001.paid`` is the first
        purchase. Older versions wrote all purchases into the former.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = NumberedFiles(path.parent, f"{path.stem}-", path.suffix)

    def all(self, failed: Failed = log_unread) -> tuple[Purchase, ...]:
        """Read them, oldest first; a file that is damaged is put aside and logged.

        Parameters
        ----------
        failed : callable, default=log_unread
            Called with every error of the file system, which may pass: the file stays as it is.
        """
        try:
            paths = self._files.paths()
        except OSError as error:
            failed(error)
            return ()
        own = (read_file(path, _read, failed) for path in paths)
        return tuple(one for one in (*self._of_older_versions(failed), *own) if one is not None)

    def add(self, bought: Purchase) -> None:
        """Write one more.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        self._files.add(json.dumps(bought.to_values(), ensure_ascii=False, indent=1))

    def _of_older_versions(self, failed: Failed) -> list[Purchase | None]:
        """Purchases in one file, and in what was left of it by a crash or an error of the disk."""
        known: list[Any] = []
        for suffix in (".damaged", self.path.suffix, ".new"):
            path = self.path.with_suffix(suffix)
            listed = read_file(path, _listed, failed, aside=path == self.path) or []
            known += [values for values in listed if values not in known]
        return [_usable(values, self.path) for values in known]


def _read(text: str) -> Purchase:
    return Purchase.of_values(json.loads(text))


def _listed(text: str) -> list[Any]:
    return list(json.loads(text))


def _usable(values: Any, path: Path) -> Purchase | None:
    try:
        return Purchase.of_values(values)
    except (ValueError, KeyError, TypeError) as error:
        LOGGER.error("a purchase in %s could not be read", path, exc_info=error)
        return None
