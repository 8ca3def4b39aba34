"""Samplers of thresholded Gibbs laws: one file each, found by name in ``SAMPLERS``."""

from collections.abc import Callable

from rashomon_explorer.samplers.base import Batch, Sampler
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.hit_and_run import HitAndRunSampler

SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "exact": ExactSampler,
    "hit_and_run": HitAndRunSampler,
}

__all__ = ["SAMPLERS", "Batch", "ExactSampler", "HitAndRunSampler", "Sampler"]
