"""Columns whose values are a few declared words."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from rashomon_explorer.array_types import Mask
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.cells import as_text, cell_text
from rashomon_explorer.schema.checks import Level, check_among
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.reading import Reading
from rashomon_explorer.schema.words import quoted

_MOST_SHOWN = 6


@dataclass(frozen=True)
class Levelled(Column):
    """What the kinds with levels share: a value is compared with a level by its text.

    Parameters
    ----------
    name : str
    levels : sequence of str, number or bool
        Every value that is declared, two or more.
    unknown : str, default="zero"
        What becomes of a value that is not among them: ``"zero"`` makes it 0 in every column, the
        middle of all levels; ``"refuse"`` raises an error, which tells something of the rows.
    fill : level, optional
        What a missing value is read as; by default the middle.
    """

    unknown_rules: ClassVar[tuple[str, ...]] = ("zero", "refuse")

    levels: Sequence[Level]
    _: KW_ONLY
    unknown: str = "zero"
    fill: Level | None = None

    def _check(self) -> None:
        object.__setattr__(self, "levels", self._listed("levels"))
        texts = self.texts
        if len(texts) < 2:
            raise DataError(
                f"levels of {self._called} must be a list of at least 2, got {list(self.levels)}"
            )
        for level, text in zip(self.levels, texts, strict=True):
            if not isinstance(level, str | int | float):
                raise DataError(
                    f"levels of {self._called} must be text, numbers or true and false, got "
                    f"{level!r}"
                )
            if texts.count(text) > 1:
                raise DataError(f"levels of {self._called} name {text!r} twice: keep one")
        check_among(self.unknown, self.unknown_rules, f"unknown of {self._called}")
        if self.fill is not None and cell_text(self.fill) not in texts:
            raise DataError(
                f"fill of {self._called} must be one of its levels {quoted(self.levels)}, got "
                f"{self.fill!r}"
            )

    @property
    def texts(self) -> list[str]:
        """Levels as they are compared."""
        return [cell_text(level) for level in self.levels]

    @property
    def tokens(self) -> frozenset[str]:
        """Texts that stand for a missing value; a word that is a level is none."""
        return super().tokens - set(self.texts)

    @property
    def refuses(self) -> bool:
        """Whether a row's cell may raise an error."""
        return "refuse" in (self.missing, self.unknown)

    def _values_in_words(self) -> str:
        return quoted(self.levels, limit=_MOST_SHOWN)

    def read(self, cells: pd.Series) -> Reading:
        """Read places among the levels; NaN where the value is none of them, or missing."""
        text = as_text(cells)
        codes, words = pd.factorize(text)
        place = {level: float(code) for code, level in enumerate(self.texts)}
        absent = np.array([word in self.tokens for word in words], dtype=bool)[codes]
        values = np.array([place.get(word, np.nan) for word in words], dtype=float)[codes]
        unknown = np.isnan(values) & ~absent
        if self.fill is not None:
            values[absent] = place[cell_text(self.fill)]
        undeclared = unknown | absent if self.missing == "unexpected" else unknown
        return Reading(values, absent, np.zeros(len(values), dtype=bool), undeclared)

    def refused(self, reading: Reading) -> bool:
        """Whether a cell is one that the declaration refuses."""
        return super().refused(reading) or (
            self.unknown == "refuse" and bool(self.unknown_in(reading).any())
        )

    def unknown_in(self, reading: Reading) -> Mask:
        """Where a value is that is not among the levels."""
        return reading.undeclared & ~reading.missing
