"""Model reliance of single models, and certified ranges over the whole set."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.measures.reliance.class_reliance import *
    from rashomon_explorer.measures.reliance.set_reliance import *

__all__ = ["model_class_reliance", "model_reliance"]

__getattr__, __dir__ = lazy_names(__name__, __all__)
