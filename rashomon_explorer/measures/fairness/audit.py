"""Fairness over the Rashomon set: evaluated once, judged by every gap."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.opened import as_blocks, is_in_blocks
from rashomon_explorer.measures.fairness.beside import Together, columns_beside
from rashomon_explorer.measures.fairness.blocks import score_blocks
from rashomon_explorer.measures.fairness.groups import GroupsLike
from rashomon_explorer.measures.fairness.result import FairnessAudit
from rashomon_explorer.measures.fairness.streamed import table_of_blocks
from rashomon_explorer.measures.fairness.task import FairnessTask, need_curator
from rashomon_explorer.measures.multiplicity.table import CURATOR
from rashomon_explorer.rashomon_set import CuratorSet


def fairness_audit(
    models: CuratorSet,
    X: Any,
    y: ArrayLike | None,
    groups: GroupsLike | str,
    *,
    metrics: Sequence[str] | None = None,
    psi: float | None = None,
    positive: Any = None,
    agg: str = "difference",
    method: str = "between_groups",
    n_bins: int = 10,
) -> FairnessAudit:
    """Judge every model of the Rashomon set by its group gaps.

    **Curator: computed from private rows, not private.** Only models inside ψ count: a private
    draw outside is the mechanism's, not the set's.

    Parameters
    ----------
    models : RashomonSet or PredictorSet
    X : array-like of shape (n_rows, n_features), RowBlocks or Dask collection
        Rows to judge them on, scaled as they were fitted; None for stored predictions. Rows in
        blocks are read once and never held, but for targets and groups.
    y : array-like of shape (n_rows,)
        Labels or targets as the estimator was given them; None for those of rows in blocks.
    groups : array-like of shape (n_rows,), table of shape (n_rows, n_attributes), or str
        Group of each row; of several attributes every combination that occurs is a group. Of rows
        in blocks the name of a column will do, or a list of names.
    metrics : sequence of str, optional
        Keys of ``LABEL_GAPS`` or ``SCORE_GAPS``. By default demographic parity, equal
        opportunity, equalised odds, accuracy and both calibration gaps; for a regression the gaps
        of mean prediction, mean absolute error and mean residual. What is not defined for some
        group is an error where it was asked for by name, and otherwise in ``left_out``.
    psi : float, optional
        A threshold up to the set's own, by default that.
    positive : label, optional
        The class that rates and scores are of: of two classes the second if left out.
    agg : {"difference", "ratio"}, default="difference"
    method : {"between_groups", "to_overall"}, default="between_groups"
    n_bins : int, default=10
        Of the expected calibration error.

    Raises
    ------
    ValueError
        If a shape, value or name is wrong, a rate is not defined for a group, or no model lies
        inside.
    CuratorOnlyError
        If given a release, which does not know which draws lie inside.
    TypeError
        If given something else.

    Examples
    --------
    >>> from rashomon_explorer.rashomon_set import from_predictions
    >>> chances = [[0.9, 0.2, 0.4, 0.1], [0.8, 0.1, 0.6, 0.2], [0.7, 0.6, 0.4, 0.6]]
    >>> models = from_predictions(chances, [1, 0, 1, 0], psi=1.0)
    >>> audit = fairness_audit(models, None, [1, 0, 1, 0], list("aabb"), metrics=["accuracy_score"])
    >>> audit.ranges()[["best", "low", "high"]].values.tolist()
    [[0.0, 0.0, 0.5]]
    >>> int(audit.least_unfair("accuracy_score_difference").name)
    1
    """
    need_curator(models, "fairness_gaps(released.labels(X), y, groups)")
    blocks = as_blocks(X) if is_in_blocks(X) else None
    if blocks is not None:
        y, groups = columns_beside(blocks, y, groups)
    if y is None:
        raise TypeError("y may be left out only for rows in blocks, which have their own")
    task = FairnessTask.of(
        models, y, groups, metrics, positive, agg=agg, method=method, n_bins=n_bins
    )
    inside = models.inside(psi)
    places = np.flatnonzero(np.asarray(models.losses) <= models.least + inside.psi)
    if not len(places):
        raise ValueError(
            f"none of the {models.n_draws} models lies in the Rashomon set: raise epsilon or psi"
        )
    if blocks is None:
        n_rows = len(task.truth)
        table = pd.concat([task.table(scores) for scores in score_blocks(inside, X, n_rows)])
        best = task.table(_best_scores(models, X)).iloc[0]
    else:
        together = Together(inside, models)
        table = table_of_blocks(task, blocks, together, len(together))
        table, best = table.iloc[:-1], table.iloc[-1]
    table.index = pd.Index(places, name="model")
    losses = np.asarray(inside.losses)
    table.insert(0, "loss", losses)
    table.insert(1, "excess", losses - models.least)
    first = pd.Series({"loss": models.least, "excess": 0.0})
    best = pd.concat([first, best]).rename("best")
    table.attrs.update(view=CURATOR, psi=inside.psi)
    return FairnessAudit(models, X if blocks is None else blocks, task, inside.psi, table, best)


def _best_scores(models: Any, X: Any) -> FloatArray:
    return np.asarray(models.best_scores(X))[None]
