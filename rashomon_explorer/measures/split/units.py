"""Independent units of models, and sums over pairs of them with each unit left out in turn."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Units:
    """Draws and reference models as independent units: each draw, each model or chain.

    Parameters
    ----------
    sums : ndarray of shape (n_units, n_units)
        Σ k(f, f') over the models of two units, 0 within a unit: a chain's own pairs are not
        independent and never count.
    sizes : ndarray of shape (n_units,)
        Models of each unit.
    hit, missed : ndarray of bool, shape (n_units,)
        Draws inside and outside the Rashomon set; the others are reference models.
    weights : ndarray of shape (n_units,)
        Of draws outside, in [0, 1]: their density at a lower temperature over that of the draws;
        1 for all others.
    """

    sums: FloatArray
    sizes: FloatArray
    hit: Mask
    missed: Mask
    weights: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, inside: Mask, chains: NDArray[np.int_]) -> "Units":
        """Units of pair differences among draws, the first models, and chains of a reference.

        Parameters
        ----------
        matrix : ndarray of shape (n_models, n_models)
        inside : ndarray of bool, shape (n_draws,)
        chains : ndarray of int, shape (n_models − n_draws,)
            Chain 0, 1, … of each reference model.
        """
        n_draws = len(inside)
        unit = np.concatenate([np.arange(n_draws), n_draws + chains])
        count = n_draws + (int(chains.max()) + 1 if len(chains) else 0)
        member = np.zeros((count, len(matrix)))
        member[unit, np.arange(len(matrix))] = 1
        sums = member @ matrix @ member.T if len(chains) else matrix.copy()
        np.fill_diagonal(sums, 0)
        drawn = np.arange(count) < n_draws
        hit = np.pad(inside, (0, count - n_draws))
        return cls(sums, member.sum(axis=1), hit, drawn & ~hit, np.ones(count))

    @property
    def drawn(self) -> Mask:
        """Units that are draws."""
        return self.hit | self.missed

    def only(self, of: Mask) -> "Units":
        """Keep some units."""
        each = (self.sizes, self.hit, self.missed, self.weights)
        return Units(self.sums[np.ix_(of, of)], *(values[of] for values in each))

    def reweighted(self, weights: FloatArray) -> "Units":
        """Give the draws outside other weights, (n_units,)."""
        return replace(self, weights=np.where(self.missed, weights, 1.0))

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Number of ordered pairs of models of different units, (1 + n_units,) as in ``total``."""
        counts = np.outer(self.sizes, self.sizes)
        np.fill_diagonal(counts, 0)
        return _without_each(counts, first, second)

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Σ of k over such pairs, of all units and then without each unit, (1 + n_units,).

        Parameters
        ----------
        first, second : ndarray of shape (n_units,)
            Weights of the units that the two models of a pair come from.
        """
        return _without_each(self.sums, first, second)


def _without_each(matrix: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    to_first, to_second = matrix @ first, matrix @ second
    whole = first @ to_second
    # Nothing stands on the diagonal, so that no pair is taken away twice.
    return np.concatenate([[whole], whole - first * to_second - second * to_first])
