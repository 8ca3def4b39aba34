"""Masses of a privacy loss on a grid: the one place that reads dp-accounting's insides."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray


@dataclass(frozen=True, eq=False)
class LossMasses:
    """Mass of each loss of a grid, as a probability mass function of dp-accounting holds it.

    dp-accounting gives no public way to the masses, which bounds of its rounding need; they are
    read by name, and a version that holds them otherwise is refused.
    """

    pmf: Any

    @classmethod
    def above(cls, delta: FloatArray, spacing: float) -> "LossMasses":
        """Least masses on a grid around 0 whose profile is ``delta`` or more ("connect the dots").

        ``delta`` holds δ(ε), not rising, at the 2k + 1 losses from −k·spacing to k·spacing.
        """
        half = len(delta) // 2
        make = _pmf_module().create_pmf_pessimistic_connect_dots_fixed_gap
        return cls(make(spacing, -half, half, delta).to_dense_pmf())

    @property
    def probs(self) -> FloatArray:
        """Mass of each loss, from the least on."""
        return np.asarray(_inside(self.pmf, "_probs"))

    @property
    def first(self) -> int:
        """Place of the least loss, in spacings."""
        return int(_inside(self.pmf, "_lower_loss"))

    @property
    def infinite(self) -> float:
        """Mass of an infinite loss."""
        return float(_inside(self.pmf, "_infinity_mass"))

    def repeated(self, count: int, tail: float) -> "LossMasses":
        """Masses of the sum of so many independent losses, up to ``tail`` lost on either side."""
        return self if count == 1 else LossMasses(self.pmf.self_compose(count, tail))

    def joined(self, other: "LossMasses", tail: float) -> "LossMasses":
        """Masses of the sum of both losses."""
        return LossMasses(self.pmf.compose(other.pmf, tail))


def _inside(pmf: Any, name: str) -> Any:
    try:
        return getattr(pmf, name)
    except AttributeError:
        raise ImportError(
            f"this version of dp-accounting keeps no {name} in {type(pmf).__name__}: install the "
            'one that is known, pip install "rashomon-explorer[accounting]"'
        ) from None


def _pmf_module() -> ModuleType:
    try:
        from dp_accounting.pld import pld_pmf
    except ImportError as missing:
        raise ImportError(
            "this composition has no closed form and needs dp-accounting: "
            'pip install "rashomon-explorer[accounting]"'
        ) from missing
    return pld_pmf
