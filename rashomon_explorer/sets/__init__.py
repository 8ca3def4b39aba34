"""Sets of models: the curator's sets and released sets."""

from rashomon_explorer.sets.base import CuratorSet, ModelSet
from rashomon_explorer.sets.linear import LinearSet, RashomonSet, ReleasedSet, from_draws
from rashomon_explorer.sets.predictions import from_estimators, from_predictions
from rashomon_explorer.sets.predictor import PredictorModels, PredictorSet, ReleasedTrees
from rashomon_explorer.sets.treefarms import from_treefarms

__all__ = [
    "CuratorSet",
    "LinearSet",
    "ModelSet",
    "PredictorModels",
    "PredictorSet",
    "RashomonSet",
    "ReleasedSet",
    "ReleasedTrees",
    "from_draws",
    "from_estimators",
    "from_predictions",
    "from_treefarms",
]
