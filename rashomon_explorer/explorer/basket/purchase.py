"""Aggregates that were paid for, kept beside the set that they are of."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.plots.text import price
from rashomon_explorer.private_files import private_folder, write_private
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
    """The purchases of one kept set, in one file beside it.

    Parameters
    ----------
    path : pathlib.Path
        ``loans.sets/0003.paid`` for draw 3 of loans.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> tuple[Purchase, ...]:
        """Read them, oldest first; a file that cannot be read is put aside and logged."""
        if not self.path.exists():
            return ()
        try:
            values = json.loads(self.path.read_text(encoding="utf-8"))
            return tuple(map(Purchase.of_values, values))
        except (OSError, ValueError, KeyError, TypeError) as error:
            LOGGER.error("%s could not be read", self.path, exc_info=error)
            self.path.replace(self.path.with_suffix(".damaged"))
            return ()

    def add(self, bought: Purchase) -> None:
        """Write one more, beside its place and then there: no half of a file is ever found."""
        private_folder(self.path.parent)
        written = [one.to_values() for one in (*self.all(), bought)]
        beside = self.path.with_suffix(".new")
        write_private(beside, json.dumps(written, ensure_ascii=False, indent=1))
        beside.replace(self.path)
