"""Convergence diagnostics of unreleased chains, by ArviZ; for the curator only.

Diagnostics of unreleased chains are computed from private rows and are not covered by a guarantee:
they are not private, nor is a step size or a number of steps that is chosen by them.
ArviZ comes with the extra ``diagnostics`` and is imported when it is used.
"""

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray

if TYPE_CHECKING:
    from xarray import DataTree


_FEWEST_DRAWS = 4


def effective_size(values: ArrayLike) -> float:
    """Effective sample size of the mean of values along chains, by ArviZ; not private."""
    chains = _three_axes(np.asarray(values, dtype=float)[..., None])[..., 0]
    fewest = _FEWEST_DRAWS if len(chains) > 1 else 2 * _FEWEST_DRAWS
    if chains.shape[1] < fewest:
        raise ValueError(
            f"{len(chains)} chain(s) need at least {fewest} draws each, got {chains.shape[1]}"
        )
    if not np.isfinite(chains).all():
        raise ValueError("draws must be finite, got NaN or infinity")
    if np.ptp(chains) == 0:
        return float("nan")
    if len(chains) == 1:
        half = chains.shape[1] // 2
        chains = np.stack([chains[0, :half], chains[0, -half:]])
    measure = _arviz("arviz_stats.base").array_stats
    found = float(measure.ess(chains, method="mean", chain_axis=0, draw_axis=1))
    return min(found, float(chains.size))


def to_data_tree(
    draws: ArrayLike,
    *,
    losses: ArrayLike,
    names: Sequence[str] | None = None,
    attributes: Mapping[str, float | str] | None = None,
) -> "DataTree":
    """ArviZ container of draws and their losses; not private."""
    chains = _three_axes(draws)
    width = chains.shape[2]
    labels = [f"x{column}" for column in range(width)] if names is None else list(names)
    if len(labels) != width:
        raise ValueError(f"names must name {width} parameters, got {len(labels)}")
    values = np.asarray(losses, dtype=float)
    if values.shape != chains.shape[:2]:
        raise ValueError(
            f"losses must have the shape (n_chains, n_draws) of the draws, {chains.shape[:2]}, "
            f"got {values.shape}"
        )
    return _arviz("arviz_base").from_dict(
        {"posterior": {"coef": chains}, "sample_stats": {"loss": values}},
        coords={"parameter": labels},
        dims={"coef": ["parameter"]},
        attrs={"/": {**(attributes or {}), "view": "curator: not private"}},
    )


def _arviz(name: str) -> ModuleType:
    # Local import: xarray takes longer to import than this whole package.
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "diagnostics of chains need ArviZ, which is not installed: "
            "pip install 'rashomon-explorer[diagnostics]'"
        ) from error


def _three_axes(draws: ArrayLike) -> FloatArray:
    chains = np.asarray(draws, dtype=float)
    if chains.ndim != 3 or 0 in chains.shape:
        raise ValueError(
            "draws must have shape (n_chains, n_draws, n_parameters), none of them 0, got "
            f"{chains.shape}"
        )
    return chains
