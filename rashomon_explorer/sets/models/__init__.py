"""Containers of models other than linear draws: fitted estimators, trees, or predictions."""

from rashomon_explorer.sets.models.fitted import Models, StoredPredictions
from rashomon_explorer.sets.models.trees import DecisionTrees, Split

# What can be written to a file, by the name written there.
STORABLE: dict[str, type[StoredPredictions] | type[DecisionTrees]] = {
    StoredPredictions.kind: StoredPredictions,
    DecisionTrees.kind: DecisionTrees,
}

__all__ = ["STORABLE", "Models", "Split"]
