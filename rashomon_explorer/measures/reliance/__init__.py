"""Model reliance of single models, and certified ranges over the whole set."""

from rashomon_explorer.measures.reliance.class_reliance import model_class_reliance
from rashomon_explorer.measures.reliance.set_reliance import model_reliance
from rashomon_explorer.measures.reliance.switching import (
    DividedLoss,
    divided_loss,
    reliance_over_draws,
    switching_loss,
)

__all__ = [
    "DividedLoss",
    "divided_loss",
    "model_class_reliance",
    "model_reliance",
    "reliance_over_draws",
    "switching_loss",
]
