"""Extension: mechanisms and theorems that reproduce statements of papers, used by name only.

Importing it registers its mechanisms; a mechanism that is asked for by name imports it.
"""

from rashomon_explorer.mechanisms.finite_grid import FiniteGrid
from rashomon_explorer.mechanisms.registry import register
from rashomon_explorer.papers.localisation import Iterated, IteratedBatches, Localised, Regularised
from rashomon_explorer.papers.one_model import Boosted, LastIterate, LastSampledState, SmoothSGD

__all__ = ["Iterated", "Regularised"]

register(
    FiniteGrid(),
    LastIterate(),
    Regularised(),
    Localised(),
    Iterated(),
    IteratedBatches(),
    LastSampledState(),
    SmoothSGD(),
    Boosted(),
)
