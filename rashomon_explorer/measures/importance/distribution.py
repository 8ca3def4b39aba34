"""Rashomon importance distribution."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.measures.inputs import Features, as_models_by_rows, by_index, feature_groups
from rashomon_explorer.measures.reliance.set_reliance import TreeTask, problem_task, reliance_table
from rashomon_explorer.mechanisms.base import Sampler, collect
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.trees import CountedTrees


@dataclass(frozen=True, eq=False)
class ImportanceDistribution:
    """RID: for each feature, the mean over bootstraps of the share of models with φ_j ≤ k.

    RID_j(k) = E_b[ |{f in R_b : φ_j(f) ≤ k}| / |R_b| ] (Donnelly, Katta, Rudin and Browne, The
    Rashomon importance distribution, NeurIPS 2023, equation 2). Every bootstrap has the same
    weight, regardless of its number of models.

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
        """RID_j(k) at each k; one row per k and one column per feature."""
        points = np.atleast_1d(np.asarray(at, dtype=float))
        shares = [
            np.stack([np.searchsorted(column, points, side="right") for column in table.T], axis=1)
            / len(table)
            for table in (np.sort(sample, axis=0) for sample in self.samples)
        ]
        index = pd.Index(points, name="importance")
        return pd.DataFrame(np.mean(shares, axis=0), index=index, columns=self.features)

    def quantile(self, level: float) -> pd.Series:
        """Smallest k with RID_j(k) ≥ level, for each feature.

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
        index = np.argmax(below >= level - 1e-12, axis=0)
        quantiles = np.take_along_axis(
            values, np.take_along_axis(order, index[None], axis=0), axis=0
        )
        return pd.Series(quantiles[0], index=self.features)

    def mean(self) -> pd.Series:
        """Mean importance of each feature."""
        return pd.Series(self._weights() @ np.concatenate(self.samples), index=self.features)

    def table(self) -> pd.DataFrame:
        """Mean and the quantiles q05, q25, median, q75, q95; one row per feature."""
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
        One table per bootstrap, over the models of that bootstrap's Rashomon set.
    features : sequence of str
        Names of the columns.

    Examples
    --------
    >>> rid = importance_distribution([[[0.1, 0.2], [0.3, 0.4]]], ["age", "debt"])
    >>> rid.quantile(0.5).tolist()
    [0.1, 0.2]
    """
    if len(importances) == 0:
        raise ValueError("importances must hold at least one bootstrap, got none")
    samples = tuple(
        as_models_by_rows(table, f"importances[{b}]") for b, table in enumerate(importances)
    )
    for b, sample in enumerate(samples):
        if sample.shape[1] != len(features):
            raise ValueError(
                f"importances[{b}] has {sample.shape[1]} columns for {len(features)} features"
            )
    return ImportanceDistribution(tuple(str(name) for name in features), samples)


@by_index
def rid(
    make_problem: Callable[[FloatArray, NDArray[Any]], Problem | CountedTrees],
    X: ArrayLike,
    y: ArrayLike,
    *,
    psi: float,
    features: Features = None,
    feature_names: Sequence[str] | None = None,
    form: str = "difference",
    n_bootstraps: int = 20,
    n_models: int = 128,
    sampler: Sampler | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> ImportanceDistribution:
    """Rashomon importance distribution: reliance over the good models of resampled tables.

    For each bootstrap the rows are drawn n times with replacement, models are drawn uniformly
    from {θ : L_b(θ) ≤ min L_b + ψ}, and their model reliance is measured on the same resampled
    rows (Donnelly, Katta, Rudin and Browne 2023, algorithm 1). Draws of hit-and-run chains are
    uniform in the limit; sparse trees are counted, and drawn uniformly and independently. Curator:
    computed from private rows, not private.

    Parameters
    ----------
    make_problem : callable
        (X, y) of one bootstrap → :class:`Problem` or :class:`CountedTrees`; its bounds, thresholds
        and classes must not be computed from the rows.
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    psi : float
        Rashomon threshold, > 0.
    features : sequence, mapping or "columns", optional
        By default each feature once; see :func:`feature_groups`.
    feature_names : sequence of str, optional
        By default the columns of a DataFrame, or x0, x1, ….
    form : {"difference", "ratio"}, default="difference"
    n_bootstraps : int, default=20
    n_models : int, default=128
        Draws per bootstrap.
    sampler : Sampler, optional
        Sampler of linear models, by default :class:`HitAndRunSampler`. Draws outside the set are
        excluded.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Number of threads; it does not affect the result.

    Raises
    ------
    ValueError
        If a shape, a count, a feature or the form is wrong, a bootstrap has no draw in its set, or
        a sampler is given for trees.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> X, y = [[0.9, 0.1], [0.6, 0.2], [-0.7, 0.1], [-0.5, 0.2]] * 20, [1, 1, -1, -1] * 20
    >>> found = rid(Problem, X, y, psi=0.02, n_bootstraps=2, n_models=16, random_state=0)
    >>> bool(found.mean()["x0"] > found.mean()["x1"])
    True
    """
    check_count(n_bootstraps=n_bootstraps, n_models=n_models)
    check_positive(psi=psi)
    names = list(getattr(X, "columns", [])) if feature_names is None else list(feature_names)
    rows, targets = np.asarray(X, dtype=float), np.asarray(y)
    if rows.ndim != 2 or targets.shape != (len(rows),) or len(rows) < 2:
        raise ValueError(
            "X must be a table of at least two rows and y hold one target per row, got shapes "
            f"{rows.shape}, {targets.shape}"
        )
    names = [str(name) for name in names] or [f"x{j}" for j in range(rows.shape[1])]
    groups = feature_groups(features, names)
    seed = check_random_state(random_state).randint(2**31, size=4).tolist()

    def one(stream: np.random.SeedSequence) -> pd.DataFrame:
        rng = np.random.default_rng(stream)
        drawn = rng.integers(len(rows), size=len(rows))
        resampled = rows[drawn], targets[drawn]
        problem = make_problem(*resampled)
        if not isinstance(problem, CountedTrees):
            # β only affects draws outside the set. A sampler without a temperature uses it to
            # regularise the metric of a flat loss; at the scale p/ψ most draws lie inside.
            target = GibbsTarget(problem, problem.p / psi, psi)
            coef = collect(sampler or HitAndRunSampler(), target, n_models, rng).coef
            inside = target.excess(coef.T) <= psi
            if not inside.any():
                raise ValueError(
                    f"none of {n_models} draws lies in the Rashomon set of a bootstrap: raise "
                    "n_models or psi, or use a sampler of uniform draws"
                )
            return reliance_table(problem_task(problem, coef[inside]), groups, form)
        if sampler is not None:
            raise ValueError("sampler is for linear models: omit it for counted trees")
        models = problem.draw(n_models, psi, random_state=rng.integers(2**31, size=4).tolist())
        return reliance_table(TreeTask.from_models(models, *resampled), groups, form)

    streams = np.random.SeedSequence(seed).spawn(n_bootstraps)
    work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    tables = progress(work(delayed(one)(each) for each in streams), "RID", total=n_bootstraps)
    return importance_distribution([table.to_numpy() for table in tables], list(groups))
