"""Elementwise work in one pass over memory, where a library can do so."""

import logging
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from rashomon_explorer.arrays import ArrayBackend

_WORTH_COMPILING = 2**20  # scores, below which a launch costs more than a pass


@cache
def fused(arrays: ArrayBackend, pointwise: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the sums and slopes of scores (K, m), compiled for an accelerator of PyTorch or JAX.

    Eagerly each operation reads and writes all scores, and a step takes three to six times as long
    as its matrix products.
    """
    plain = partial(pointwise.losses_and_slopes, arrays.xp)
    compiler = _COMPILERS.get(arrays.library)
    if compiler is None or not arrays.accelerated:
        return plain
    return _Fused(plain, compiler(plain))


class _Fused:
    """A compiled function for many scores, and the plain one for few or where it cannot be had."""

    def __init__(self, plain: Callable[[Any], Any], compiled: Callable[[Any], Any]) -> None:
        self._plain, self._compiled = plain, compiled

    def __call__(self, scores: Any) -> tuple[Any, Any]:
        if scores.shape[0] * scores.shape[1] >= _WORTH_COMPILING:
            try:
                total, slopes = self._compiled(scores)
                return total, slopes
            except Exception as error:  # no C compiler, or a device without one: slower, not wrong
                logging.getLogger(__name__).warning(
                    "elementwise work is not fused, and takes about three times as long: %s", error
                )
                self._compiled = self._plain
        total, slopes = self._plain(scores)
        return total, slopes


def _by_torch(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    compiled: Callable[[Any], Any] = import_module("torch").compile(function, dynamic=False)
    return compiled


def _by_jax(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    compiled: Callable[[Any], Any] = import_module("jax").jit(function)
    return compiled


_COMPILERS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "torch": _by_torch,
    "jax": _by_jax,
}
