"""Pair measures, laws of draws, and sums over pairs of models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.inputs import Predictions, as_scores

if TYPE_CHECKING:
    from rashomon_explorer.sets import PredictorSet, RashomonSet

_ROWS = 2**16  # rows per product: sums of ±1 in single precision are exact up to 2²⁴


class Disagreement:
    """k = 1 if the two models label the row differently; E k is Pr[f(x) ≠ f'(x)]."""

    of = "labels"
    in_words = "disagreement"

    def most(self, values: ArrayLike) -> float:
        """Return 1, the largest value of the indicator k."""
        return 1.0

    def prepare(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Code the labels."""
        return Predictions.from_labels(values).values

    def pair_sums(self, values: NDArray[np.uint8]) -> FloatArray:
        """Count the rows on which each pair agrees."""
        n_classes = int(values.max()) + 1
        agree = np.zeros((len(values), len(values)))
        for start in range(0, values.shape[1], _ROWS):
            block = values[:, start : start + _ROWS]
            if n_classes <= 2:  # a product of ±1 is agreement minus disagreement
                signs = 2 * block.astype(np.float32) - 1
                agree += (block.shape[1] + (signs @ signs.T).astype(float)) / 2
            else:
                for code in range(n_classes):
                    gives = (block == code).astype(np.float32)
                    agree += gives @ gives.T
        return agree

    def mean(self, sums: FloatArray, n_rows: int) -> FloatArray:
        """Share of rows on which each pair differs."""
        return np.asarray(1 - sums / n_rows)

    def towards(self, values: NDArray[np.uint8], weights: FloatArray) -> FloatArray:
        """Total weight of the models that label each row differently from each model."""
        result = np.full(values.shape, float(weights.sum()))
        for code in range(int(values.max()) + 1):
            gives = values == code
            np.subtract(result, weights @ gives, out=result, where=gives)
        return result


class ScoreVariance:
    """k = ½(s − s')²: E k is the variance of the score, summed over several classes."""

    of = "scores"
    in_words = "score variance"

    def most(self, values: ArrayLike) -> float:
        """½ for probabilities of one class, 1 for several classes; infinite for other numbers."""
        scores = np.asarray(values, dtype=float)
        if scores.min() < 0 or scores.max() > 1:
            return float("inf")
        return 0.5 if scores.ndim == 2 else 1.0

    def prepare(self, values: ArrayLike) -> FloatArray:
        """Scores centred per row: only differences matter, and centring reduces cancellation."""
        scores = as_scores(values)
        return scores - scores.mean(axis=0)

    def pair_sums(self, values: FloatArray) -> FloatArray:
        """Sum the squared differences of each pair."""
        flat = values.reshape(len(values), -1)
        products = flat @ flat.T
        squares = np.diag(products)
        return np.asarray(np.maximum(squares[:, None] + squares - 2 * products, 0))

    def mean(self, sums: FloatArray, n_rows: int) -> FloatArray:
        """Half the mean squared difference of each pair."""
        return np.asarray(sums / (2 * n_rows))

    def towards(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Half the weighted squared differences."""
        mean = np.tensordot(weights, values, axes=1)
        square = np.tensordot(weights, values**2, axes=1)
        each = (weights.sum() * values**2 - 2 * values * mean + square) / 2
        return np.asarray(np.maximum(each.sum(axis=2) if each.ndim == 3 else each, 0))


PairMeasure = Disagreement | ScoreVariance
"""A measure E k(f, f') of two independent models, with k their difference on a row."""

PAIR_MEASURES: dict[str, PairMeasure] = {
    "disagreement": Disagreement(),
    "score_variance": ScoreVariance(),
}


def get_pair_measure(name: str) -> PairMeasure:
    """Pair measure by its name."""
    if name not in PAIR_MEASURES:
        raise ValueError(
            f"measure must be one of {sorted(PAIR_MEASURES)}, since only means over pairs of "
            f"models can be decomposed; got {name!r}"
        )
    return PAIR_MEASURES[name]


TREES = "trees"


@dataclass(frozen=True)
class Law:
    """The law of a set's draws."""

    name: str
    independent: bool = False
    uniform_on: str = ""
    stays_inside: bool = False
    least_hit_rate: float = 0.0
    n_chains: int = 0
    remedy: str = "pass reference=, models uniform on the same set, or raise epsilon or psi"
    why: str = "draws of this sampler are not proved to be uniform inside"


def draw_law(models: object) -> Law:
    """Law of a set's draws; an unknown law for anything else."""
    from rashomon_explorer.sets import PredictorSet, RashomonSet

    if isinstance(models, RashomonSet):
        return _linear(models)
    if isinstance(models, PredictorSet):
        return _others(models)
    return Law(getattr(models, "mechanism", type(models).__name__))


def _linear(models: RashomonSet) -> Law:
    from rashomon_explorer.mechanisms.planning.registry import mechanism_traits

    known = mechanism_traits(models.mechanism)
    return Law(
        name=models.mechanism,
        independent=known.independent,
        uniform_on=known.uniform_on,
        stays_inside=known.stays_inside,
        least_hit_rate=models.plan.hit_rate_bound if known.planned_law else 0.0,
        n_chains=known.n_chains,
        remedy=(
            "pass reference=, draws with mechanism='hit_and_run', "
            f"radius={models.plan.radius!r} and ridge={models.plan.ridge!r} of the same rows, "
            "row_norm and psi, draw with mechanism='exact', or raise epsilon or psi"
        ),
    )


def _others(models: PredictorSet) -> Law:
    from rashomon_explorer.sets.models.trees import DecisionTrees

    if not isinstance(models.models, DecisionTrees) or not models.independent:
        return Law(models.models.kind)
    if models.uniform:
        return Law("uniform trees", True, TREES, stays_inside=True, least_hit_rate=1.0)
    planned: Any = models.planned
    if planned is None:
        return Law("trees of an unknown law", True, why=_UNKNOWN, remedy=_REFERENCE)
    # The law is constant up to its threshold; beyond it a better tree is more probable.
    flat = models.psi <= planned.law_psi
    why = (
        f"drawn trees are equally likely only up to an excess loss of s = {planned.law_psi:.4g}, "
        f"and the set extends to ψ = {models.psi:.4g}"
    )
    return Law(
        name="private trees",
        independent=True,
        uniform_on=TREES if flat else "",
        least_hit_rate=planned.hit_rate(models.psi),
        why=why,
        remedy=f"{_REFERENCE}; or decompose for the trees up to s, models.rethreshold("
        f"{planned.law_psi!r})",
    )


_UNKNOWN = "the law of these trees is unknown"
_REFERENCE = (
    "pass reference=, all trees of the same rows and class, "
    "RashomonTreeClassifier(...).counted(X, y), or uniform draws of them, counted.draw(2000, psi)"
)


@dataclass(frozen=True)
class Layout:
    """Units that the models form: each draw, each reference model, or each reference chain."""

    unit: NDArray[np.int_]  # (n_models,): unit of each model; draws come first
    sizes: FloatArray  # (n_units,): models of each unit
    # hit, missed: (n_units,): draws inside and outside the Rashomon set; all other units are
    # reference models
    hit: Mask
    missed: Mask
    # (n_units,): for draws outside, the ratio in [0, 1] of the density at a lower temperature to
    # that of the draws; 1 for all others
    weights: FloatArray

    @classmethod
    def from_hits(cls, inside: Mask, chains: NDArray[np.int_]) -> Layout:
        """Layout from the hits of the draws and the chain 0, 1, … of each reference model."""
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
        """Count the ordered pairs of models of different units, (1 + n_units,)."""
        return without_each(np.outer(self.sizes, self.sizes), first, second)


@dataclass(frozen=True)
class Units:
    """Pair sums of a measure that is averaged over rows."""

    # (n_units, n_units): Σ k(f, f') over the models of two units. Pairs within a unit are
    # excluded: models of one chain are dependent.
    sums: FloatArray
    layout: Layout

    @classmethod
    def from_matrix(cls, matrix: FloatArray, layout: Layout) -> Units:
        """Pair sums from the differences k of all pairs of models, (n_models, n_models)."""
        member = np.zeros((len(layout.sizes), len(matrix)))
        member[layout.unit, np.arange(len(matrix))] = 1
        single = len(layout.sizes) == len(matrix)
        return cls(matrix if single else member @ matrix @ member.T, layout)

    def only(self, of: Mask) -> Units:
        """Keep some units; the numbering of models is dropped."""
        old, unit = self.layout, np.arange(int(of.sum()))
        layout = Layout(unit, old.sizes[of], old.hit[of], old.missed[of], old.weights[of])
        return Units(self.sums[np.ix_(of, of)], layout)

    def reweighted(self, weights: FloatArray) -> Units:
        """Replace the weights (n_units,) of the draws outside."""
        old = self.layout
        new = np.where(old.missed, weights, 1.0)
        return replace(self, layout=replace(old, weights=new))

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the pairs, (1 + n_units,)."""
        return self.layout.pairs(first, second)

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Σ of k over pairs, for all units and then without each unit, (1 + n_units,)."""
        return without_each(self.sums, first, second)


@dataclass(frozen=True)
class RowUnits:
    """Pair sums of each row separately; otherwise as :class:`Units`."""

    values: Any  # (n_models, n_rows[, n_classes])
    measure: PairMeasure
    layout: Layout
    # cached sums, by the bytes of the weights: each is needed several times
    known: dict[bytes, FloatArray] = field(default_factory=dict)

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the pairs, (1 + n_units, 1)."""
        return self.layout.pairs(first, second)[:, None]

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Σ of k over pairs, for all units and without each, (1 + n_units, n_rows)."""
        to_first, to_second = (self._known(weights) for weights in (first, second))
        total = first @ to_second
        without = total - first[:, None] * to_second - second[:, None] * to_first
        return np.concatenate([total[None], without])

    def _known(self, weights: FloatArray) -> FloatArray:
        key = weights.tobytes()
        if key not in self.known:
            self.known[key] = self._towards(weights)
        return self.known[key]

    def _towards(self, weights: FloatArray) -> FloatArray:
        """Σ of k from the models of each unit to those of others, (n_units, n_rows)."""
        layout = self.layout
        each = self.measure.towards(self.values, weights[layout.unit])
        if len(each) == len(layout.sizes):
            return each
        result = np.zeros((len(layout.sizes), each.shape[1]))
        for model, unit in enumerate(layout.unit):
            result[unit] += each[model]
        for chain in np.flatnonzero(layout.sizes > 1):
            own = self.values[layout.unit == chain]
            result[chain] -= self.measure.towards(own, np.full(len(own), weights[chain])).sum(
                axis=0
            )
        return result


PairSums = Units | RowUnits
"""Sums over pairs of models, for all units and without each."""


def without_each(matrix: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Σ_{u≠v} first_u matrix_uv second_v for all units, then without each, (1 + n_units,)."""
    own = np.diag(matrix)
    to_first, to_second = matrix @ first - own * first, matrix @ second - own * second
    total = first @ to_second
    return np.concatenate([[total], total - first * to_second - second * to_first])
