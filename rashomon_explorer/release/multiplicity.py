"""Queries on the multiplicity of the draws: means over rows, and extremes of such means."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.multiplicity.table import MEASURES, refuse_options
from rashomon_explorer.release import query

Range = Callable[[query.PublicShape], tuple[float, float]]

_PUBLIC_BASELINE = (
    "the baseline's coefficients are public: not the minimiser, or anything else from these rows"
)


@dataclass(frozen=True)
class MultiplicityQuery(query.Query):
    """Measure in ``MEASURES`` that is a mean over rows, or an extreme of such means."""

    measure: str
    baseline: query.Baseline = 0
    tolerance: float | None = None
    kappa: float = 0.75

    def __post_init__(self) -> None:
        if np.ndim(self.baseline) == 1:
            object.__setattr__(self, "baseline", tuple(np.asarray(self.baseline, dtype=float)))
        elif not isinstance(self.baseline, int | np.integer) or isinstance(self.baseline, bool):
            raise TypeError(
                f"baseline must be the index of a draw or a model's coefficients, got "
                f"{self.baseline!r}"
            )

    @property
    def name(self) -> str:
        return self.measure

    @property
    def definition(self) -> str:
        to = "a public model" if isinstance(self.baseline, tuple) else f"draw {self.baseline}"
        return RELEASABLE[self.measure].words.format(
            baseline=to, tolerance=self.tolerance, kappa=self.kappa
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        coefficients = isinstance(self.baseline, tuple) and "baseline" in self._options
        return (_PUBLIC_BASELINE,) if coefficients else ()

    def check(self, public: query.PublicShape) -> None:
        super().check(public)
        if self.measure not in RELEASABLE:
            raise ValueError(f"measure must be one of {sorted(RELEASABLE)}, got {self.measure!r}")
        refuse_options(self.measure, self._options)
        if MEASURES[self.measure].of != "scores":
            self.check_task(public, "classification")
        if self.measure == "rashomon_capacity" and public.link == "sign":
            raise ValueError("rashomon_capacity needs probabilities: a sign link has labels only")
        has_baseline = "baseline" in self._options
        self.check_draws(public, 1 if isinstance(self.baseline, tuple) and has_baseline else 2)
        if isinstance(self.baseline, tuple):
            query.one_model(public.linear, self.baseline)
        elif not 0 <= self.baseline < public.n_draws:
            raise ValueError(
                f"baseline must be a draw from 0 to {public.n_draws - 1}, got {self.baseline}"
            )

    def widths(self, public: query.PublicShape) -> FloatArray:
        low, high = RELEASABLE[self.measure].range(public)
        return np.array([(high - low) / public.n_rows])

    def compute(self, rows: query.Rows) -> FloatArray:
        measure = MEASURES[self.measure]
        values = rows.labels if measure.of == "labels" else rows.scores
        options = self._options
        if "baseline" in options:
            options["baseline"] = self._reference(rows, measure.of)
        return np.array([measure(values, **options)])

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        kind = RELEASABLE[self.measure]
        n_mean = 0 if kind.extreme else public.n_rows
        return query.Coordinates([self.name], *kind.range(public), n_mean)

    @property
    def _options(self) -> dict[str, Any]:
        every = {"baseline": self.baseline, "tolerance": self.tolerance, "kappa": self.kappa}
        return {
            key: value
            for key, value in MEASURES[self.measure].own_options(every).items()
            if value is not None
        }

    def _reference(self, rows: query.Rows, of: str) -> Any:
        if isinstance(self.baseline, tuple) and of == "scores":
            return query.one_model(rows.public.linear, self.baseline).scores(rows.X)[0]
        return rows.reference(self.baseline)


@dataclass(frozen=True)
class Releasable:
    """Range of a measure's terms, from public numbers, and its definition."""

    range: Range
    words: str
    extreme: bool = False


def _share(_: query.PublicShape) -> tuple[float, float]:
    return 0.0, 1.0


def largest_disagreement(n_draws: int, n_classes: int) -> float:
    """Disagreement of a row with votes that are split as evenly as possible."""
    votes, extra = divmod(n_draws, n_classes)
    agreeing = extra * (votes + 1) * votes + (n_classes - extra) * votes * (votes - 1)
    return 1 - agreeing / (n_draws * (n_draws - 1))


def _disagreement(public: query.PublicShape) -> tuple[float, float]:
    return 0.0, largest_disagreement(public.n_draws, public.models.n_classes)


def score_width(public: query.PublicShape) -> float:
    """Largest difference between the draws' predictions of one row."""
    if public.link == "logistic":
        return math.tanh(public.largest_pairwise_difference() / 4)
    if public.models.task == "classification":
        return 1.0
    low, high = public.models.target_bounds
    if public.link == query.NETWORK:
        return float(high - low)
    return public.largest_pairwise_difference() * (high - low) / 2


def _width(public: query.PublicShape) -> tuple[float, float]:
    return 0.0, score_width(public)


def _variance(public: query.PublicShape) -> tuple[float, float]:
    # For several classes Σ_c var_c is a mean of ‖p − p'‖²/2 over pairs. It is convex in the point
    # of each model, so it is largest at vertices, where it equals the disagreement.
    if public.models.n_classes > 2:
        return _disagreement(public)
    return 0.0, score_width(public) ** 2 * largest_disagreement(public.n_draws, 2) / 2


RELEASABLE: dict[str, Releasable] = {
    "ambiguity": Releasable(
        _share, "share of rows that at least one draw labels differently from {baseline}"
    ),
    "obscurity": Releasable(
        _share, "mean over rows of the share of draws that label it differently from {baseline}"
    ),
    "discrepancy": Releasable(
        _share, "largest share of rows that one draw labels differently from {baseline}", True
    ),
    "any_pair_discrepancy": Releasable(
        _share, "largest share of rows on which two draws give different labels", True
    ),
    "disagreement": Releasable(
        _disagreement, "probability that two draws label a random row differently"
    ),
    "self_consistency": Releasable(
        lambda public: (1 - _disagreement(public)[1], 1.0),
        "probability that two draws label a random row the same",
    ),
    "abstention": Releasable(_share, "share of rows with self-consistency below {kappa:g}"),
    "delta_ambiguity": Releasable(
        _share, "share of rows that some draw scores {tolerance} or more from {baseline}"
    ),
    "delta_obscurity": Releasable(
        _share, "mean over rows of the share of draws {tolerance} or more from {baseline}'s score"
    ),
    "delta_discrepancy": Releasable(
        _share, "largest share of rows one draw scores {tolerance} or more off {baseline}", True
    ),
    "range_width": Releasable(
        _width, "mean over rows of the width of the range of the draws' predictions"
    ),
    "score_variance": Releasable(_variance, "mean over rows of the draws' score variance"),
    "score_std": Releasable(
        lambda public: (0.0, math.sqrt(_variance(public)[1])),
        "mean over rows of the draws' score standard deviation",
    ),
    "rashomon_capacity": Releasable(
        lambda public: (0.0, math.log2(min(public.models.n_classes, public.n_draws))),
        "mean over rows of the Rashomon capacity in bits",
    ),
}
