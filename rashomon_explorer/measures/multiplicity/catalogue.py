"""The registry of multiplicity measures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.measures.inputs import (
    Labels,
    MeasureTally,
    as_probabilities,
    as_scores,
    evaluate_nested,
    model_batches,
)
from rashomon_explorer.measures.multiplicity.capacity import capacity_tally
from rashomon_explorer.measures.multiplicity.labels import (
    ambiguity_tally,
    delta_ambiguity_tally,
    delta_discrepancy_tally,
    delta_obscurity_tally,
    disagreement_tally,
    discrepancy_tally,
    obscurity_tally,
)
from rashomon_explorer.measures.multiplicity.pairs import (
    STATISTICS,
    class_counts,
    count_tally,
    distances,
    diversity_tally,
    pair_tally,
)
from rashomon_explorer.measures.multiplicity.spread import (
    Deviations,
    Range,
    RunningMoments,
    abstention_tally,
    consistency_tally,
)

Sizes = NDArray[np.int_]
Part = NDArray[Any]


class Joined(Protocol):
    """Computation of a measure of all rows from sums over chunks of rows."""

    def part(self, values: NDArray[Any], make: Callable[[], MeasureTally], sizes: Sizes) -> Part:
        """Contribution of m rows of all models (n_models, m, …) to the sum; of fixed shape."""
        ...

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Measure of the first ``size`` models for each size, from the sum over all rows."""
        ...


class Means:
    """Measures that are means over the rows."""

    def part(self, values: NDArray[Any], make: Callable[[], MeasureTally], sizes: Sizes) -> Part:
        """Sum (n_sizes,) over the rows."""
        return values.shape[1] * evaluate_nested(values, make, sizes)

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Mean over the rows."""
        return np.asarray(total / rows)


class Largest:
    """Largest share of rows that one model labels differently from the baseline."""

    def part(self, values: NDArray[Any], make: Callable[[], Any], sizes: Sizes) -> Part:
        """Count rows (n_models,) on which each model differs."""
        differs = make().differs
        counted = [np.count_nonzero(differs(block), axis=1) for block in model_batches(values)]
        return np.concatenate(counted)

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Largest share among the first models."""
        return _first(np.maximum.accumulate(total) / rows, sizes)


class OfPairs:
    """Measures computed from the number of rows that each pair of models labels differently."""

    def __init__(self, of: Callable[[IntArray, IntArray, int], FloatArray]) -> None:
        self.of = of

    def part(self, values: NDArray[Any], make: Callable[[], Any], sizes: Sizes) -> Part:
        """Count differing rows (k, k), stacked with rows per class (k, n_classes)."""
        n_classes = make().n_classes
        return np.hstack([distances(values, n_classes), class_counts(values, n_classes)])

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Measure of the first models."""
        k = len(total)
        return _first(self.of(total[:, :k], total[:, k:], rows), sizes)


def of_statistic(name: str) -> OfPairs:
    """Pair statistic by its name, for 1, 2, … models."""

    def of(differ: IntArray, counts: IntArray, rows: int) -> FloatArray:
        statistic, values, shares = STATISTICS[name](), [], counts / rows
        for new in range(len(differ)):
            statistic.add(differ[new, :new] / rows, shares[new], shares[:new])
            values.append(statistic.value())
        return np.array(values)

    return OfPairs(of)


def _news(differ: IntArray) -> NDArray[np.bool_]:
    """Mask of the models whose label vector no earlier model has."""
    return np.array([bool((differ[new, :new] > 0).all()) for new in range(len(differ))])


def _pattern_counts(differ: IntArray, counts: IntArray, rows: int) -> FloatArray:
    return np.cumsum(_news(differ)).astype(float)


def _diversities(differ: IntArray, counts: IntArray, rows: int) -> FloatArray:
    news = _news(differ)
    each = [2 * differ[new, :new][news[:new]].sum() if news[new] else 0 for new in range(len(news))]
    return np.asarray(np.cumsum(each) / (rows * np.cumsum(news) ** 2.0))


def _first(of_so_many: FloatArray, sizes: Sizes) -> FloatArray:
    return np.where(sizes > 0, of_so_many[np.maximum(sizes, 1) - 1], np.nan)


MEANS = Means()
LARGEST = Largest()
PATTERN_COUNT = OfPairs(_pattern_counts)
PATTERN_DIVERSITY = OfPairs(_diversities)


LOWER_BOUND = "lower bound"
ESTIMATE = "estimate"
OF_ALL = "all draws"
EXACT = "exact"


@dataclass(frozen=True)
class Measure:
    """A measure of a set of models on rows.

    Parameters
    ----------
    of : {"labels", "scores", "probabilities"}
        Input of the measure.
    tally : callable
        Makes a tally of models from coded labels or scores and options.
    sampled : {"lower bound", "estimate"}
        Relation of the value over draws to the set's value; extremes only grow with more draws.
    options : tuple of str
        Names of the options that ``tally`` takes.
    joined : Joined
        Computation from chunks of rows.
    """

    of: str
    tally: Callable[..., MeasureTally]
    sampled: str
    options: tuple[str, ...] = ()
    joined: Joined = MEANS

    def prepare(self, values: ArrayLike) -> "Labels | FloatArray":
        """Check labels or scores, and code labels.

        Raises
        ------
        ValueError
            If a shape or value is wrong.
        """
        return _PREPARE[self.of](values)

    def accepted_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Subset of the options that this measure takes."""
        return {name: options[name] for name in self.options if name in options}


_PREPARE: dict[str, Callable[[ArrayLike], Any]] = {
    "labels": Labels.of,
    "scores": as_scores,
    "probabilities": as_probabilities,
}

MEASURES: dict[str, Measure] = {
    "ambiguity": Measure("labels", ambiguity_tally, LOWER_BOUND, ("baseline",)),
    "discrepancy": Measure("labels", discrepancy_tally, LOWER_BOUND, ("baseline",), LARGEST),
    "any_pair_discrepancy": Measure(
        "labels",
        lambda labels: pair_tally(labels, "largest"),
        LOWER_BOUND,
        joined=of_statistic("largest"),
    ),
    "obscurity": Measure("labels", obscurity_tally, ESTIMATE, ("baseline",)),
    "disagreement": Measure("labels", disagreement_tally, ESTIMATE),
    "self_consistency": Measure("labels", consistency_tally, ESTIMATE),
    "abstention": Measure("labels", abstention_tally, ESTIMATE, ("kappa",)),
    "cohen_kappa": Measure(
        "labels",
        lambda labels: pair_tally(labels, "kappa"),
        ESTIMATE,
        joined=of_statistic("kappa"),
    ),
    "pattern_count": Measure("labels", count_tally, LOWER_BOUND, joined=PATTERN_COUNT),
    "pattern_diversity": Measure("labels", diversity_tally, ESTIMATE, joined=PATTERN_DIVERSITY),
    "delta_ambiguity": Measure(
        "scores", delta_ambiguity_tally, LOWER_BOUND, ("tolerance", "baseline")
    ),
    "delta_discrepancy": Measure(
        "scores", delta_discrepancy_tally, LOWER_BOUND, ("tolerance", "baseline"), LARGEST
    ),
    "delta_obscurity": Measure(
        "scores", delta_obscurity_tally, ESTIMATE, ("tolerance", "baseline")
    ),
    "range_width": Measure("scores", lambda scores: Range(), LOWER_BOUND),
    "score_variance": Measure("scores", lambda scores: RunningMoments(), ESTIMATE),
    "score_std": Measure("scores", lambda scores: Deviations(), ESTIMATE),
    "rashomon_capacity": Measure("probabilities", capacity_tally, LOWER_BOUND),
}


def get_measure(name: str) -> Measure:
    """Measure by its name."""
    if name not in MEASURES:
        raise ValueError(f"measure must be one of {sorted(MEASURES)}, got {name!r}")
    return MEASURES[name]


def refuse_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError for options that the measure does not take."""
    allowed = get_measure(name).options
    strange = sorted(set(options) - set(allowed))
    if strange:
        raise TypeError(f"{name} takes the options {list(allowed)}, got {strange}")
    if "tolerance" in allowed and "tolerance" not in options:
        raise TypeError(f"{name} needs tolerance=, the smallest score change that is counted")
