"""Independent units of models, and sums over pairs of them with each unit left out in turn."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask


@dataclass(frozen=True)
class Layout:
    """Which models are one unit: each draw, each reference model, or each chain of them."""

    unit: NDArray[np.int_]  # (n_models,): unit of each model: draws are the first
    sizes: FloatArray  # (n_units,): models of each unit
    # hit, missed: (n_units,): draws inside and outside the Rashomon set; the others are reference
    # models
    hit: Mask
    missed: Mask
    # (n_units,): of draws outside, in [0, 1]: their density at a lower temperature over that of the
    # draws; 1 for all others
    weights: FloatArray

    @classmethod
    def of(cls, inside: Mask, chains: NDArray[np.int_]) -> "Layout":
        """Draws, and the chain 0, 1, … of each reference model."""
        unit = np.concatenate([np.arange(len(inside)), len(inside) + chains])
        sizes = np.bincount(unit).astype(float)
        hit = np.pad(inside, (0, len(sizes) - len(inside)))
        missed = np.pad(~inside, (0, len(sizes) - len(inside)))
        return cls(unit, sizes, hit, missed, np.ones(len(sizes)))

    @property
    def drawn(self) -> Mask:
        """Units that are draws."""
        return self.hit | self.missed

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the ordered pairs of models of different units, (1 + n_units,).

        Of all units, and then without each; the arguments weigh the units, (n_units,), that the
        two models come from.
        """
        return without_each(np.outer(self.sizes, self.sizes), first, second)


class PairSums(Protocol):
    """Sums over pairs of models, as :class:`Units` has them."""

    @property
    def layout(self) -> Layout:
        """Return which models are one unit."""
        ...

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the pairs, of all units and without each."""
        ...

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Add up k over the pairs."""
        ...


@dataclass(frozen=True)
class Units:
    """Pair sums of a mean over rows."""

    # (n_units, n_units): Σ k(f, f') over the models of two units. Within a unit nothing counts:
    # models of one chain are not independent.
    sums: FloatArray
    layout: Layout

    @classmethod
    def of(cls, matrix: FloatArray, layout: Layout) -> "Units":
        """Pair sums from differences k of every two models, (n_models, n_models)."""
        member = np.zeros((len(layout.sizes), len(matrix)))
        member[layout.unit, np.arange(len(matrix))] = 1
        single = len(layout.sizes) == len(matrix)
        return cls(matrix if single else member @ matrix @ member.T, layout)

    def only(self, of: Mask) -> "Units":
        """Keep some units; their models' numbers go."""
        old, unit = self.layout, np.arange(int(of.sum()))
        layout = Layout(unit, old.sizes[of], old.hit[of], old.missed[of], old.weights[of])
        return Units(self.sums[np.ix_(of, of)], layout)

    def reweighted(self, weights: FloatArray) -> "Units":
        """Give the draws outside other weights, (n_units,)."""
        old = self.layout
        new = np.where(old.missed, weights, 1.0)
        return replace(self, layout=replace(old, weights=new))

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the pairs, (1 + n_units,)."""
        return self.layout.pairs(first, second)

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Σ of k over pairs, of all units and then without each unit, (1 + n_units,)."""
        return without_each(self.sums, first, second)


def without_each(matrix: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Σ_{u≠v} first_u matrix_uv second_v of all units, and then without each, (1 + n_units,).

    Examples
    --------
    >>> ones = np.ones(3)
    >>> without_each(np.array([[9.0, 1, 2], [1, 9, 4], [2, 4, 9]]), ones, ones).tolist()
    [14.0, 8.0, 4.0, 2.0]
    """
    own = np.diag(matrix)
    to_first, to_second = matrix @ first - own * first, matrix @ second - own * second
    whole = first @ to_second
    return np.concatenate([[whole], whole - first * to_second - second * to_first])
