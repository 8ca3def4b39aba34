"""Looks at running Markov chains: what a page shows of them before the first draw."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from rashomon_explorer._utils.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class ChainState:
    """All chains of a mechanism at one step, for the curator: losses are of private rows."""

    step: int
    n_steps: int
    excess: FloatArray  # (n_chains,): of the states
    averages: FloatArray  # (n_chains,): of what would be released now; empty if the states are
    step_size: float = math.nan
    batch: int = 0  # rows a step; 0 for all of them
    acceptance: float = math.nan


# A context variable, so that a page watches only the chains of its own thread.
_OBSERVER: ContextVar[Callable[[ChainState], None] | None] = ContextVar("_OBSERVER", default=None)


@contextmanager
def watch_chains(observer: Callable[[ChainState], None] | None) -> Iterator[None]:
    """Pass looks at the chains that run inside the context to an observer."""
    before = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(before)


_SECONDS_BETWEEN_LOOKS = 0.1
_SHARE = 10  # a look takes at most about a tenth of the time


class ChainLooks:
    """Looks at chains at most ten times a second, if somebody watches; it uses no randomness."""

    def __init__(self) -> None:
        self._observer = _OBSERVER.get()
        self._next = -math.inf

    def __call__(self, look: Callable[[], ChainState]) -> None:
        """Pass the state that ``look`` computes, if it is time."""
        begun = time.perf_counter()
        if self._observer is None or begun < self._next:
            return
        self._observer(look())
        ended = time.perf_counter()
        self._next = ended + max(_SECONDS_BETWEEN_LOOKS, _SHARE * (ended - begun))
