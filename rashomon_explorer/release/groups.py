"""Queries about groups: their sizes, and the gaps between their rates."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.release import query
from rashomon_explorer.release.statistic import Gap, Noise, RateStatistic, Statistic

Of = Literal["selection", "true_positive", "false_positive", "accuracy", "base"]


@dataclass(frozen=True)
class GroupSizes(query.Query):
    """Number of rows of each declared group."""

    name: str = "group_sizes"
    definition: str = "for each declared group, its number of rows"
    needs: ClassVar[tuple[str, ...]] = ("groups",)

    def sensitivity(self, public: query.PublicShape) -> query.Sensitivity:
        """√2 in the ℓ₂ norm, 2 in the ℓ₁ norm; the size of each group changes by at most 1."""
        changed = min(2, len(public.categories))
        return query.Sensitivity(float(changed), math.sqrt(changed))

    def compute(self, rows: query.Rows) -> FloatArray:
        return _counts(_group_codes(rows), len(rows.public.categories))

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        return query.Coordinates(
            [f"rows of {name}" for name in public.categories], high=public.n_rows
        )


@dataclass(frozen=True)
class BaseRates(query.Query):
    """Share of rows of each class except the first."""

    name: str = "base_rates"
    definition: str = "for each class but the first, its share of the rows"
    needs: ClassVar[tuple[str, ...]] = ("y",)
    task: ClassVar[str] = "classification"

    def widths(self, public: query.PublicShape) -> FloatArray:
        return np.full(min(2, public.models.n_classes - 1), 1 / public.n_rows)

    def compute(self, rows: query.Rows) -> FloatArray:
        counts = _counts(rows.codes.astype(np.intp), rows.models.n_classes)
        return counts[1:] / len(rows.X)

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        names = [f"share of {name}" for name in public.models.class_names[1:]]
        return query.Coordinates(names, n_mean=public.n_rows)


@dataclass(frozen=True)
class GroupGaps(query.Query):
    """Rates by group of unknown size, and the gap between the largest and the least rate.

    A row of group g adds (w, v − ½) to the entries of g: 1 to the size, in units of 1/w, and its
    k values v in [0, 1] minus ½ to the sums. Centred values have a norm of at most √k/2. With
    w = √k/2 the terms of any two rows are therefore at most √k apart: √(2w² + k/2) between groups,
    √k within one. The sizes add nothing to the sensitivity of the k sums. The variance of the sums
    is half that for uncentred values, which are √(2 + 2k) apart with sizes in whole rows. In the
    ℓ₁ norm the bound is k + 2w. A rate is then ½ + S/N
    (:class:`~rashomon_explorer.release.statistic.RateStatistic`).

    Parameters
    ----------
    of : {"selection", "true_positive", "false_positive", "accuracy", "base"}
        Rate of the positive label among all rows (demographic parity), among positive rows (equal
        opportunity) or among negative ones; share of correct labels; or share of positive rows,
        which does not depend on the draws.
    over : {"each", "mean"}, default="each"
        One gap for each draw, or one for the mean of the draws' rates. The mean is the rate of a
        draw selected at random, with noise smaller by a factor of √k.
    positive : int, default=1
        Index of the positive class.

    Examples
    --------
    >>> GroupGaps("true_positive", over="mean").name
    'mean_true_positive_gap'
    """

    of: Of = "selection"
    over: Literal["each", "mean"] = "each"
    positive: int = 1
    task: ClassVar[str] = "classification"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Groups, and also targets except for selection."""
        return ("groups",) if self.of == "selection" else ("groups", "y")

    @property
    def name(self) -> str:
        mean = "mean_" if self.over == "mean" and self.of != "base" else ""
        return f"{mean}{self.of}_gap"

    @property
    def definition(self) -> str:
        which = "mean over the draws" if self.over == "mean" else "each draw"
        whose = "" if self.of == "base" else f" ({which})"
        return f"largest less least, over the groups, of the {_WORDS[self.of]}{whose}"

    def check(self, public: query.PublicShape) -> None:
        """Raise an error for a single group, an unknown rate, and models without labels."""
        if self.of not in _WORDS:
            raise ValueError(f"of must be one of {sorted(_WORDS)}, got {self.of!r}")
        if self.over not in ("each", "mean"):
            raise ValueError(
                f"over must be 'each' or 'mean', got {self.over!r}: the largest or least gap "
                "is a difference of ratios, which has no small sensitivity"
            )
        super().check(public)
        if len(public.categories) < 2:
            raise ValueError(f"{self.name} needs at least two categories")
        if not 0 <= self.positive < public.models.n_classes:
            raise ValueError(
                f"positive must be a class from 0 to {public.models.n_classes - 1}, got "
                f"{self.positive!r}"
            )

    def sensitivity(self, public: query.PublicShape) -> query.Sensitivity:
        """√k in the ℓ₂ norm, k + 2w in the ℓ₁ norm."""
        k = self._n_values(public)
        return query.Sensitivity(k + 2 * self._weight(public), math.sqrt(k))

    def compute(self, rows: query.Rows) -> FloatArray:
        """Return weighted sizes (n_groups,), then sums (n_groups, k), in one vector."""
        groups = _group_codes(rows).copy()
        if self.of in ("true_positive", "false_positive"):
            is_positive = rows.codes == self.positive
            groups[is_positive != (self.of == "true_positive")] = -1
        n_groups = len(rows.public.categories)
        sums = [_counts(groups, n_groups, value - 0.5) for value in self._row_values(rows)]
        sizes = self._weight(rows.public) * _counts(groups, n_groups)
        return np.concatenate([sizes, np.column_stack(sums).ravel()])

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: query.PublicShape
    ) -> tuple[Statistic, ...]:
        """Gaps, and also the rates if there is one value."""
        n_groups, weight = len(public.categories), self._weight(public)
        sizes, sums = noisy[:n_groups] / weight, noisy[n_groups:].reshape(n_groups, -1)
        size_noise = replace(noise, scale=noise.scale * (1 / weight))
        statistics: list[Statistic] = []
        for value in range(sums.shape[1]):
            draw = f" of draw {value}" if self._by_draw else ""
            rates = tuple(
                RateStatistic(
                    f"{_SHORT[self.of]}{draw} in {name}",
                    float(sums[g, value]),
                    float(sizes[g]),
                    noise,
                    size_noise,
                    public.n_rows,
                )
                for g, name in enumerate(public.categories)
            )
            gap = Gap(f"{_SHORT[self.of]} gap{draw}", rates)
            statistics += [gap] if self._by_draw else [*rates, gap]
        return tuple(statistics)

    def hidden(self, public: query.PublicShape, noise: Noise) -> str:
        """Compare the noise with the smallest group: at most n over the number of groups."""
        rows = noise.quantile(query.CONFIDENCE) / self._weight(public)
        smallest_group = public.n_rows / len(public.categories)
        if rows < smallest_group:
            return ""
        return (
            f"the size of at least one of {len(public.categories)} groups, and with it the gap: "
            f"the noise is ± {rows:.3g} rows, and the smallest group has at most "
            f"{smallest_group:,.0f}. Use more rows or budget, release fewer draws, or merge groups"
        )

    @property
    def _by_draw(self) -> bool:
        return self.over == "each" and self.of != "base"

    def _n_values(self, public: query.PublicShape) -> int:
        return public.n_draws if self._by_draw else 1

    def _weight(self, public: query.PublicShape) -> float:
        return math.sqrt(self._n_values(public)) / 2

    def _row_values(self, rows: query.Rows) -> Iterator[FloatArray]:
        """Values (n_rows,) in [0, 1] of each draw, or their mean."""
        if self.of == "base":
            yield (rows.codes == self.positive).astype(float)
            return
        hits = rows.labels == (rows.codes if self.of == "accuracy" else self.positive)
        yield from hits.astype(float) if self._by_draw else [hits.mean(axis=0)]


def _group_codes(rows: query.Rows) -> NDArray[np.intp]:
    if rows.groups is None:
        raise ValueError("this query needs groups")
    return rows.groups


def _counts(codes: NDArray[np.intp], n_codes: int, weights: FloatArray | None = None) -> FloatArray:
    """Rows (n_codes,) of each code, or the sums of their weights; rows of code −1 are omitted."""
    coded = codes >= 0
    coded_weights = None if weights is None else weights[coded]
    return np.bincount(codes[coded], coded_weights, minlength=n_codes).astype(float)


_WORDS = {
    "selection": "share of rows with a positive prediction",
    "true_positive": "share of positive rows with a positive prediction",
    "false_positive": "share of negative rows with a positive prediction",
    "accuracy": "share of rows labelled correctly",
    "base": "share of rows that are positive",
}
_SHORT = {
    "selection": "selection rate",
    "true_positive": "true positive rate",
    "false_positive": "false positive rate",
    "accuracy": "accuracy",
    "base": "base rate",
}
