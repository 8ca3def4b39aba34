"""The exact split of a pairwise measure by how many of the two models missed."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.decomposition.units import PairSums

PAIRS = ("both inside", "one outside", "both outside")


@dataclass(frozen=True)
class Mixture:
    """A pairwise measure of draws as a mixture over pairs, with each unit left out in turn.

    With h the hit rate, U the law inside and Q the law outside, independent draws f, f' of
    P = hU + (1 − h)Q have E k(f, f') = h²·k(U, U) + 2h(1 − h)·k(U, Q) + (1 − h)²·k(Q, Q), and so
    have the pairs of different draws: exactly, since they are counted.
    """

    # (3, 1 + n_units, …): share of the pairs with none, one and two models outside; m(m − 1), 2m(k
    # − m) and (k − m)(k − m − 1) over k(k − 1) for m of k draws inside. Their sum is 1.
    pairs: FloatArray
    # (3, 1 + n_units, …): the measure among these pairs; NaN where there are none
    values: FloatArray
    width: FloatArray  # (1 + n_units, …): the measure of the uniform law on the Rashomon set

    @classmethod
    def of(
        cls, units: PairSums, uniform: bool, exact: FloatArray | float | None = None
    ) -> "Mixture":
        """Split draws; reference models join the hits where those are ``uniform`` too.

        Where the width is known, ``exact``, it is taken as it is, whichever unit is left out.
        """
        layout = units.layout
        hit, reference = layout.hit.astype(float), (~layout.drawn).astype(float)
        missed = layout.missed * layout.weights
        inside = hit + reference if uniform else hit
        counts = (units.pairs(hit, hit), 2 * units.pairs(hit, missed), units.pairs(missed, missed))
        sides = ((inside, inside), (inside, missed), (missed, missed))
        values = np.stack([_mean(units, *side) for side in sides])
        if exact is not None:
            width = np.broadcast_to(np.asarray(exact, dtype=float), values[0].shape)
            values = np.stack([width, *values[1:]]) if uniform else values
        else:
            width = values[0] if uniform else _mean(units, reference, reference)
        return cls(
            pairs=_ratio(np.stack(counts), np.sum(counts, axis=0)), values=values, width=width
        )

    @property
    def total(self) -> FloatArray:
        """The measure of the draws' law, (1 + n_units,)."""
        return np.asarray(self.terms.sum(axis=0))

    @property
    def terms(self) -> FloatArray:
        """What each kind of pair adds to the total, (3, 1 + n_units)."""
        return _product(self.pairs, self.values)

    @property
    def noise_terms(self) -> FloatArray:
        """What each kind of pair adds to total − width, (3, 1 + n_units)."""
        return _product(self.pairs, self.values - self.width)


def _mean(units: PairSums, first: FloatArray, second: FloatArray) -> FloatArray:
    return _ratio(units.total(first, second), units.pairs(first, second))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    result = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    return np.divide(above, below, out=result, where=below > 0)


def _product(pairs: FloatArray, values: FloatArray) -> FloatArray:
    # No pair of a kind adds nothing, however unknown its value.
    return np.where(pairs > 0, pairs * np.where(pairs > 0, values, 0.0), 0.0)
