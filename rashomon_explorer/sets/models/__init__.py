"""Containers of models other than linear draws: fitted estimators, trees, or predictions."""

from rashomon_explorer.sets.models.fitted import FittedModels, StoredPredictions
from rashomon_explorer.sets.models.trees import DecisionTrees

Models = FittedModels | StoredPredictions | DecisionTrees

# Types that can be written to a file, by their name in the file.
STORABLE: dict[str, type[StoredPredictions] | type[DecisionTrees]] = {
    StoredPredictions.kind: StoredPredictions,
    DecisionTrees.kind: DecisionTrees,
}

__all__ = ["STORABLE", "Models"]
