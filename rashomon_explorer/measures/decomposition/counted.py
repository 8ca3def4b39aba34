"""The width of a set of trees by counting all of them: no draw stands for it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.decomposition.kernels import PairMeasure
from rashomon_explorer.rashomon_set import PredictorSet
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.trees import CountedTrees, label_shares
from rashomon_explorer.trees.like import planned_class

_SAME = 1e-9  # of a loss


def counted_width(
    counted: CountedTrees, drawn: Any, X: ArrayLike, measure: PairMeasure
) -> FloatArray:
    """Measure of two trees drawn at random from all within ψ, row by row.

    1 − Σ over labels of the squared share of all trees that say it, which is what two independent
    uniform trees differ by; half of it for the variance of one score of 0 and 1.

    Parameters
    ----------
    counted : CountedTrees
    drawn : PredictorSet
        Drawn trees of that class on that table.
    X : array-like of shape (n_rows, n_features)
        Some of the table's rows.
    measure : PairMeasure

    Raises
    ------
    ValueError
        If the draws are of another class or table, or a row is none of the table's.
    """
    if not isinstance(drawn, PredictorSet) or not isinstance(drawn.models, DecisionTrees):
        raise ValueError(
            "reference must be uniform on the set of the draws, and counted trees are for drawn "
            "trees"
        )
    _refuse_others(counted, drawn)
    rows = np.asarray(drawn.models.rows(X))
    shares = label_shares(counted, float(drawn.psi), rows)
    apart = 1 - (shares**2).sum(axis=1)
    one_score = measure.of == "scores" and shares.shape[1] == 2
    return np.asarray(apart / 2 if one_score else apart)


def _refuse_others(counted: CountedTrees, drawn: PredictorSet) -> None:
    planned: Any = drawn.planned
    apart: list[str] = []
    if planned is None or not planned.questions:
        if drawn.complexity().max(initial=0) > counted.trees.most_leaves:
            apart.append(f"it has at most {counted.trees.most_leaves} leaves, and some draws more")
    else:
        if planned_class(planned).sizes != counted.trees.sizes:
            apart.append("it has other leaves, depth or questions")
        if planned.leaf_penalty != counted.leaf_penalty:
            own, other = planned.leaf_penalty, counted.leaf_penalty
            apart.append(f"its leaf_penalty is {other:g}, the draws' {own:g}")
        if _costs(planned.costs) != _costs(counted.rows.costs):
            apart.append("it has other costs")
    if abs(drawn.least - counted.least) > _SAME:
        apart.append(f"its least is {counted.least!r}, the draws' {drawn.least!r}")
    if apart:
        raise ValueError(
            f"reference must describe the same Rashomon set: {'; '.join(apart)}. "
            "RashomonTreeClassifier(...).counted(X, y) with the settings, rows and targets of the "
            "draws is of the same"
        )


def _costs(given: ArrayLike | None) -> list[Any]:
    return [] if given is None else np.asarray(given).tolist()
