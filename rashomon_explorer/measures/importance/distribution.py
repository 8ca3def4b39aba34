"""The distribution of an importance over good models and over resampled rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.checks import as_models_by_rows


@dataclass(frozen=True, eq=False)
class ImportanceDistribution:
    """RID: for each feature, the mean over bootstraps of the share of models with φ_j ≤ k.

    RID_j(k) = E_b[ |{f in R_b : φ_j(f) ≤ k}| / |R_b| ] (Donnelly, Katta, Rudin and Browne, The
    Rashomon importance distribution, NeurIPS 2023, equation 2). Every bootstrap counts the same,
    however many models stand for it.

    Parameters
    ----------
    features : tuple of str
    samples : tuple of ndarray of shape (n_models_b, n_features)
        Importances of each bootstrap's models.

    Examples
    --------
    >>> rid = importance_distribution([[[0.1], [0.3]], [[0.2]]], ["age"])
    >>> rid.cdf([0.1, 0.2, 0.3])["age"].tolist()
    [0.25, 0.75, 1.0]
    >>> round(float(rid.mean()["age"]), 9)
    0.2
    """

    features: tuple[str, ...]
    samples: tuple[FloatArray, ...]

    @property
    def n_bootstraps(self) -> int:
        """Number of resampled tables."""
        return len(self.samples)

    def cdf(self, at: ArrayLike) -> pd.DataFrame:
        """RID_j(k) at each k, one row a k and one column a feature."""
        points = np.atleast_1d(np.asarray(at, dtype=float))
        shares = [
            np.stack([np.searchsorted(column, points, side="right") for column in one.T], axis=1)
            / len(one)
            for one in (np.sort(sample, axis=0) for sample in self.samples)
        ]
        index = pd.Index(points, name="importance")
        return pd.DataFrame(np.mean(shares, axis=0), index=index, columns=self.features)

    def quantile(self, level: float) -> pd.Series:
        """Least k with RID_j(k) ≥ level, for each feature.

        Raises
        ------
        ValueError
            If the level is not in (0, 1].
        """
        if not 0 < level <= 1:
            raise ValueError(f"level must lie in (0, 1], got {level!r}")
        values, weights = np.concatenate(self.samples), self._weights()
        order = np.argsort(values, axis=0)
        below = np.cumsum(weights[order], axis=0)
        place = np.argmax(below >= level - 1e-12, axis=0)
        chosen = np.take_along_axis(values, np.take_along_axis(order, place[None], axis=0), axis=0)
        return pd.Series(chosen[0], index=self.features)

    def mean(self) -> pd.Series:
        """Mean importance of each feature."""
        return pd.Series(self._weights() @ np.concatenate(self.samples), index=self.features)

    def table(self) -> pd.DataFrame:
        """One row a feature: mean, and the quantiles q05, q25, median, q75, q95."""
        levels = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
        quantiles = {name: self.quantile(level) for name, level in levels.items()}
        return pd.DataFrame({"mean": self.mean(), **quantiles}).rename_axis(index="feature")

    def _weights(self) -> FloatArray:
        sizes = np.array([len(sample) for sample in self.samples])
        return np.repeat(1.0 / (len(sizes) * sizes), sizes)


def importance_distribution(
    importances: Sequence[ArrayLike], features: Sequence[str]
) -> ImportanceDistribution:
    """Rashomon importance distribution of importances measured per bootstrap.

    Parameters
    ----------
    importances : sequence of array-like of shape (n_models_b, n_features)
        One table a bootstrap, over the models of that bootstrap's Rashomon set.
    features : sequence of str
        Names of the columns.

    Raises
    ------
    ValueError
        If there is no bootstrap, a table is empty or not finite, or the widths differ.

    Examples
    --------
    >>> rid = importance_distribution([[[0.1, 0.2], [0.3, 0.4]]], ["age", "debt"])
    >>> rid.quantile(0.5).tolist()
    [0.1, 0.2]
    """
    if len(importances) == 0:
        raise ValueError("importances must hold at least one bootstrap, got none")
    samples = tuple(
        as_models_by_rows(one, f"importances[{b}]") for b, one in enumerate(importances)
    )
    for b, sample in enumerate(samples):
        if sample.shape[1] != len(features):
            raise ValueError(
                f"importances[{b}] has {sample.shape[1]} columns for {len(features)} features"
            )
    return ImportanceDistribution(tuple(str(name) for name in features), samples)
