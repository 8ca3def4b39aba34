"""Sets of models: the curator's view, and the view that may leave the building."""

from rashomon_explorer.rashomon_set.block import ModelBlock
from rashomon_explorer.rashomon_set.curator import CuratorSet
from rashomon_explorer.rashomon_set.linear import RashomonSet
from rashomon_explorer.rashomon_set.links import linear_scores
from rashomon_explorer.rashomon_set.predictor import PredictorSet
from rashomon_explorer.rashomon_set.released import ReleasedSet

__all__ = [
    "CuratorSet",
    "ModelBlock",
    "PredictorSet",
    "RashomonSet",
    "ReleasedSet",
    "linear_scores",
]
