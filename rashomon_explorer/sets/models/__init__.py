"""Containers of models other than linear draws: fitted estimators, trees, or predictions."""

from rashomon_explorer.sets.models.fitted import FittedModels, StoredPredictions
from rashomon_explorer.sets.models.trees import DecisionTrees

Models = FittedModels | StoredPredictions | DecisionTrees

__all__ = ["Models"]
