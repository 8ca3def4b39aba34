"""The theorems of shifted interpolation (Bok, Su and Altschuler 2024), each a function."""

from rashomon_explorer.theory.theorems.cyclic import (
    cyclic_composition,
    cyclic_convex,
    cyclic_strongly_convex,
    cyclic_strongly_convex_renyi,
)
from rashomon_explorer.theory.theorems.full_batch import (
    gd_composition,
    gd_convex,
    gd_strongly_convex,
)
from rashomon_explorer.theory.theorems.langevin import (
    exponential_mechanism_convex,
    exponential_mechanism_strongly_convex,
    lmc,
)
from rashomon_explorer.theory.theorems.sampled import (
    sgd_composition,
    sgd_convex,
    sgd_strongly_convex,
)

__all__ = [
    "cyclic_composition",
    "cyclic_convex",
    "cyclic_strongly_convex",
    "cyclic_strongly_convex_renyi",
    "exponential_mechanism_convex",
    "exponential_mechanism_strongly_convex",
    "gd_composition",
    "gd_convex",
    "gd_strongly_convex",
    "lmc",
    "sgd_composition",
    "sgd_convex",
    "sgd_strongly_convex",
]
