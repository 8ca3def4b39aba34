"""Sets of models: the curator's sets and released sets."""

from rashomon_explorer.sets.base import CuratorSet
from rashomon_explorer.sets.linear import RashomonSet, ReleasedSet
from rashomon_explorer.sets.predictor import PredictorSet, ReleasedTrees
from rashomon_explorer.sets.sources.draws import from_draws
from rashomon_explorer.sets.sources.predictions import from_estimators, from_predictions
from rashomon_explorer.sets.sources.trees import from_timbertrek, from_treefarms

__all__ = [
    "CuratorSet",
    "PredictorSet",
    "RashomonSet",
    "ReleasedSet",
    "ReleasedTrees",
    "from_draws",
    "from_estimators",
    "from_predictions",
    "from_timbertrek",
    "from_treefarms",
]
