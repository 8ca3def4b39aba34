"""Rashomon importance distribution from rows to curves: resample, draw, measure."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.features import Features, feature_groups
from rashomon_explorer.measures.importance.distribution import (
    ImportanceDistribution,
    importance_distribution,
)
from rashomon_explorer.measures.reliance.model_reliance import reliance_table, tree_table
from rashomon_explorer.measures.reliance.problem_task import problem_task
from rashomon_explorer.problem import Problem
from rashomon_explorer.progress import progress
from rashomon_explorer.samplers import HitAndRunSampler, Sampler
from rashomon_explorer.samplers.collect import collect
from rashomon_explorer.target import GibbsTarget
from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.validation import check_count, check_positive

MakeProblem = Callable[[FloatArray, NDArray[Any]], Problem | CountedTrees]


def rid(
    make_problem: MakeProblem,
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
        and classes must not be learnt from the rows.
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    psi : float
        Rashomon threshold, > 0.
    features : sequence, mapping or "columns", optional
        Features or groups of them, see :func:`feature_groups`; by default each feature once,
        the columns of one category together.
    feature_names : sequence of str, optional
        By default the columns of a DataFrame, or x0, x1, ….
    form : {"difference", "ratio"}, default="difference"
    n_bootstraps : int, default=20
    n_models : int, default=128
        Draws for each bootstrap.
    sampler : Sampler, optional
        Of linear models, by default :class:`HitAndRunSampler`. Draws outside the set are left
        out.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Threads; the result is the same for any number.

    Raises
    ------
    ValueError
        If a shape, a count, a feature or the form is wrong, a bootstrap has no draw in its set, or
        a sampler is given for trees.

    Examples
    --------
    >>> X, y = [[0.9, 0.1], [0.6, 0.2], [-0.7, 0.1], [-0.5, 0.2]] * 20, [1, 1, -1, -1] * 20
    >>> found = rid(Problem, X, y, psi=0.02, n_bootstraps=2, n_models=16, random_state=0)
    >>> bool(found.mean()["x0"] > found.mean()["x1"])
    True

    Of all sparse trees within ψ of each resampled table:

    >>> from rashomon_explorer.trees import CountedTrees
    >>> answers = np.asarray(X) > [0, 0.15]
    >>> count = lambda rows, labels: CountedTrees(rows, labels, max_leaves=3, classes=[-1, 1])
    >>> found = rid(count, answers, y, psi=0.02, n_bootstraps=2, n_models=16, random_state=0)
    >>> found.mean().round(1).tolist()
    [0.5, 0.0]
    """
    check_count(n_bootstraps=n_bootstraps, n_models=n_models)
    check_positive(psi=psi)
    names = list(getattr(X, "columns", [])) if feature_names is None else list(feature_names)
    rows, targets = np.asarray(X, dtype=float), np.asarray(y)
    if rows.ndim != 2 or targets.shape != (len(rows),) or len(rows) < 2:
        raise ValueError(
            "X must be a table of two rows or more and y hold one target a row, got shapes "
            f"{rows.shape}, {targets.shape}"
        )
    names = [str(name) for name in names] or [f"x{j}" for j in range(rows.shape[1])]
    groups = feature_groups(features, names)
    seed = check_random_state(random_state).randint(2**31, size=4).tolist()

    def one(stream: np.random.SeedSequence) -> pd.DataFrame:
        rng = np.random.default_rng(stream)
        drawn = rng.integers(len(rows), size=len(rows))
        resampled = rows[drawn], targets[drawn]
        made = make_problem(*resampled)
        if not isinstance(made, CountedTrees):
            chosen = HitAndRunSampler() if sampler is None else sampler
            coef = _inside(made, psi, chosen, n_models, rng)
            return reliance_table(problem_task(made, coef), groups, form)
        if sampler is not None:
            raise ValueError("sampler is for linear models: trees within ψ are drawn as counted")
        models = made.draw(n_models, psi, random_state=rng.integers(2**31, size=4).tolist())
        return tree_table(models, *resampled, groups, form)

    streams = np.random.SeedSequence(seed).spawn(n_bootstraps)
    work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    tables = progress(work(delayed(one)(each) for each in streams), "RID", total=n_bootstraps)
    return importance_distribution([table.to_numpy() for table in tables], list(groups))


def _inside(
    problem: Problem, psi: float, sampler: Sampler, n_models: int, rng: np.random.Generator
) -> FloatArray:
    """Draws (k, p) in the Rashomon set."""
    # The temperature only orders draws outside the set; where no law of one is drawn it pads the
    # metric of a flat loss, and p/ψ is the scale at which draws are mostly inside.
    target = GibbsTarget(problem, problem.p / psi, psi)
    coef = collect(sampler, target, n_models, rng).coef
    inside = target.excess(coef.T) <= psi
    if not inside.any():
        raise ValueError(
            f"none of {n_models} draws lies in the Rashomon set of a bootstrap: raise n_models "
            "or psi, or use a sampler of uniform draws"
        )
    return coef[inside]
