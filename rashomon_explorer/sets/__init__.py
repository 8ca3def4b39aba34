"""Sets of models: the curator's sets and released sets."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names
from rashomon_explorer.sets.base import CuratorSet, ModelSet
from rashomon_explorer.sets.linear import LinearSet, RashomonSet, ReleasedSet

if TYPE_CHECKING:
    from rashomon_explorer.sets.predictor import PredictorModels, PredictorSet, ReleasedTrees
    from rashomon_explorer.sets.sources.draws import from_draws
    from rashomon_explorer.sets.sources.predictions import from_estimators, from_predictions
    from rashomon_explorer.sets.sources.trees import from_treefarms

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

__getattr__, __dir__ = lazy_names(__name__, __all__)
