"""The theorems of shifted interpolation (Bok, Su and Altschuler 2024), each a function.

Parameters they share, once for all: ``sensitivity`` L is the largest distance of the gradients of
two records (twice a Lipschitz constant), of ``n`` rows with ``batch_size`` b of them in a batch;
``sigma`` σ the deviation of the noise added to the mean gradient; ``steps`` t, or ``epochs`` E of
``batches_per_epoch`` l = n/b. For strongly convex losses give ``contraction`` c in [0, 1), by which
a step without its noise brings models closer, or ``ridge`` m, ``smoothness`` M and ``step_size``
η < 2/M, for c = max{|1 − ηm|, |1 − ηM|}. For convex ones, with η ≤ 2/M, ``diameter`` D is that of
the convex set that every step is projected on. Whatever is out of range, and a precondition that
fails, is a ValueError.
"""

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
