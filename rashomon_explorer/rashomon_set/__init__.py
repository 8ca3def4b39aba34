"""Sets of models: the curator's view, and the view that may leave the building."""

from rashomon_explorer.rashomon_set.block import ModelBlock
from rashomon_explorer.rashomon_set.curator import CuratorSet
from rashomon_explorer.rashomon_set.linear import RashomonSet
from rashomon_explorer.rashomon_set.links import linear_scores
from rashomon_explorer.rashomon_set.predictor import PredictorSet
from rashomon_explorer.rashomon_set.released import ReleasedSet
from rashomon_explorer.rashomon_set.released_trees import ReleasedTrees
from rashomon_explorer.rashomon_set.sources.draws import from_draws
from rashomon_explorer.rashomon_set.sources.estimators import from_estimators
from rashomon_explorer.rashomon_set.sources.predictions import from_predictions
from rashomon_explorer.rashomon_set.sources.timbertrek import from_timbertrek
from rashomon_explorer.rashomon_set.sources.treefarms import from_treefarms

__all__ = [
    "CuratorSet",
    "ModelBlock",
    "PredictorSet",
    "RashomonSet",
    "ReleasedSet",
    "ReleasedTrees",
    "from_draws",
    "from_estimators",
    "from_predictions",
    "from_timbertrek",
    "from_treefarms",
    "linear_scores",
]
