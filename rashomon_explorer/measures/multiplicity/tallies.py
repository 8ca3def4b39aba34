"""Running counts from which the measures of labels and of tolerances follow."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures.encoding import Bytes, Labels
from rashomon_explorer.measures.nested import blocks

Differs = Callable[[NDArray[Any]], Mask]


class AnyDiffers:
    """Share of rows on which some model differs from the baseline.

    ``differs`` takes a block of models (k, n_rows, …) and gives booleans (k, n_rows).
    """

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.ever: Mask | None = None

    def add(self, block: NDArray[Any]) -> None:
        """See more models."""
        now = np.asarray(self.differs(block).any(axis=0))
        self.ever = now if self.ever is None else self.ever | now

    def value(self) -> float:
        """Share of rows."""
        return float("nan") if self.ever is None else float(self.ever.mean())


class MostDiffer:
    """Largest share of rows on which one model differs from the baseline."""

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.share = 0.0

    def add(self, block: NDArray[Any]) -> None:
        """See more models."""
        self.share = max(self.share, float(self.differs(block).mean(axis=1).max()))

    def value(self) -> float:
        """Share of rows."""
        return self.share


class MeanDiffers:
    """Mean share of rows on which a model differs from the baseline."""

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.cells = self.different = 0

    def add(self, block: NDArray[Any]) -> None:
        """See more models."""
        differs = self.differs(block)
        self.different += int(np.count_nonzero(differs))
        self.cells += differs.size

    def value(self) -> float:
        """Share of rows and models."""
        return self.different / self.cells


class Votes:
    """How many models give each row each class."""

    def __init__(self, n_classes: int, n_rows: int) -> None:
        self.models = 0
        self.counts = np.zeros((n_classes, n_rows), dtype=np.int64)

    @classmethod
    def over(cls, labels: Labels) -> "Votes":
        """Count all models at once."""
        votes = cls(labels.n_classes, labels.codes.shape[1])
        for block in blocks(labels.codes):
            votes.add(block)
        return votes

    def add(self, block: Bytes) -> None:
        """See more models, at most 255 at once."""
        self.models += len(block)
        rest = np.full(block.shape[1], len(block))
        for code in range(1, len(self.counts)):
            # Codes of two classes are their own votes; sums of at most 255 stay in a byte.
            votes = block if len(self.counts) == 2 else (block == code).view(np.uint8)
            count = votes.sum(axis=0, dtype=np.uint8)
            self.counts[code] += count
            rest -= count
        self.counts[0] += rest

    def row_agreement(self) -> FloatArray:
        """Chance (n_rows,) that two different models give a row one class; NaN for one model."""
        if self.models < 2:
            return np.full(self.counts.shape[1], np.nan)
        agreeing = (self.counts * (self.counts - 1)).sum(axis=0)
        return np.asarray(agreeing / (self.models * (self.models - 1)))

    def row_disagreement(self) -> FloatArray:
        """Chance (n_rows,) that two different models give a row two classes."""
        return np.asarray(1 - self.row_agreement())

    def value(self) -> float:
        """Mean disagreement."""
        return float(self.row_disagreement().mean())
