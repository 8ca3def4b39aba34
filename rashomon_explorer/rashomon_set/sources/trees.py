"""What the readers of decision trees share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.models.trees import Node
from rashomon_explorer.rashomon_set.predictor import PredictorSet
from rashomon_explorer.rashomon_set.sources.given import threshold
from rashomon_explorer.rashomon_set.sources.losses import losses_of


def errors_of(
    trees: Sequence[Node], X: Any, y: Any, classes: Sequence[Any], feature_names: Sequence[str]
) -> FloatArray:
    """Share of rows that each tree labels wrongly.  Curator: computed from private rows."""
    if X is None or y is None:
        raise ValueError("X and y go together: rows, and the label of each")
    if not trees:
        raise ValueError("there are no trees in the source")
    scores = DecisionTrees(tuple(trees), len(classes), tuple(feature_names)).scores(X)
    return losses_of(scores, y, classes=tuple(classes), loss="zero_one", certain=True)[0]


def tree_set(
    trees: Sequence[Node],
    losses: FloatArray,
    *,
    loss: str,
    psi: float | None,
    classes: Sequence[Any],
    feature_names: Sequence[str] = (),
    names: Sequence[str],
    complete: bool | None,
) -> PredictorSet:
    """Trees with their losses as a set; losses are NaN throughout where none are known.

    ``complete`` says whether all trees within ψ are here; None for a set that was enumerated by
    this very loss: it is as far as its worst tree, and what lies beyond is not known.
    """
    if not trees:
        raise ValueError("there are no trees in the source")
    unknown = bool(np.isnan(losses).all())
    if not unknown and not np.isfinite(losses).all():
        raise ValueError(f"the {loss} of some trees is not a finite number")
    best = 0 if unknown else int(np.argmin(losses))
    if complete is None:
        complete = psi is None or unknown or psi <= float(losses.max() - losses[best])
    models = DecisionTrees(tuple(trees), len(classes), tuple(feature_names))
    return PredictorSet(
        models=models,
        reference=models.take(np.array([best])),
        losses=losses,
        least=float(losses[best]),
        psi=np.inf if psi is None and unknown else threshold(psi, losses, float(losses[best])),
        task="classification",
        classes=tuple(np.asarray(classes).tolist()),
        names=tuple(names),
        loss="unknown" if unknown else loss,
        complete=complete,
    )
