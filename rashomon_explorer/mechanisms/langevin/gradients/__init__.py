"""Gradients that noisy paths follow, each with the constants its certificate is made of."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rashomon_explorer.mechanisms.langevin.gradients.base import Drift
from rashomon_explorer.mechanisms.langevin.gradients.full import FullDrift
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.thresholds import GaussianThreshold

__all__ = ["drift_for"]


def drift_for(target: GibbsTarget, *, batch_size: int | None, precision: str, lazy: bool) -> Drift:
    """Return the gradient that a path to ``target`` follows.

    Parameters
    ----------
    target : GibbsTarget
    batch_size : int, optional
        Rows a step; all of them by default.
    precision : {"double", "single"}
    lazy : bool

    Raises
    ------
    ValueError
        If the target has no such gradient.
    """
    if isinstance(target.shape, GaussianThreshold):
        if batch_size is not None:
            raise ValueError("the Gaussian threshold is for all rows: leave batch_size out")
        return _double_only(
            precision, "the Gaussian threshold", lambda: _of_papers("GaussianDrift", target)
        )
    if batch_size is not None:
        return _double_only(
            precision, "batches", lambda: _of_papers("BatchDrift", target, batch_size)
        )
    if not target.problem.arrays.on_host:
        return _double_only(precision, "a device", lambda: FullDrift(target, precision, lazy))
    return FullDrift(target, precision, lazy)


def _of_papers(name: str, *arguments: Any) -> Drift:
    """Gradient that no planned path follows, imported where a chain built by hand asks for it."""
    kind = getattr(import_module("rashomon_explorer.papers.drifts"), name)
    drift: Drift = kind(*arguments)
    return drift


def _double_only(precision: str, what: str, make: Callable[[], Drift]) -> Drift:
    if precision != "double":
        raise ValueError(
            f'rounding in single precision is not accounted for with {what}: use precision="double"'
        )
    return make()
