"""Random generators of the package, keyed by the operating system, and exact discrete draws."""

import bisect
import math
import os
import secrets
from functools import cache
from itertools import accumulate
from weakref import WeakSet

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, IntArray

PREDICTABLE = (
    "the noise came from PCG64, a generator that is not cryptographic, seeded by the operating "
    "system; install randomgen for ChaCha20"
)
"""Assumption of a guarantee if randomgen is not installed."""


class FreshGenerator(np.random.Generator):
    """Generator whose key exists only in this process; a copy is an ordinary generator."""

    def __init__(self, bits: np.random.BitGenerator) -> None:
        super().__init__(bits)
        self._process = os.getpid()
        _FRESH.add(self)

    @property
    def is_own(self) -> bool:
        """Whether the key was created in this process."""
        return self._process == os.getpid()

    def rekey(self) -> None:
        """Continue with a fresh key."""
        fresh = np.random.PCG64 if isinstance(self.bit_generator, np.random.PCG64) else _chacha
        self.bit_generator.state = fresh().state
        self._process = os.getpid()

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return generators with fresh keys; NumPy would derive them from state shared by forks."""
        return [generator() for _ in range(n_children)]


_FRESH: WeakSet[FreshGenerator] = WeakSet()


def _rekey_all() -> None:
    for rng in tuple(_FRESH):
        rng.rekey()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rekey_all)


def generator(seed: int | list[int] | None = None) -> np.random.Generator:
    """Return a generator of noise, or a reproducible one if a seed is given."""
    if seed is not None:
        return np.random.default_rng(seed)
    return FreshGenerator(_chacha() if is_cryptographic() else np.random.PCG64())


def _chacha() -> np.random.BitGenerator:
    from randomgen import ChaCha

    bits: np.random.BitGenerator = ChaCha(key=secrets.randbits(256), rounds=20)
    return bits


def noise_assumptions() -> tuple[str, ...]:
    """Return the assumptions of guarantees on ``generator()``, beyond ChaCha20's strength."""
    return () if is_cryptographic() else (PREDICTABLE,)


def is_seeded(rng: np.random.Generator) -> bool:
    """Whether the noise may be reproducible by another party."""
    return not (isinstance(rng, FreshGenerator) and rng.is_own)


@cache
def is_cryptographic() -> bool:
    """Whether ``generator()`` is ChaCha20."""
    try:
        import randomgen  # noqa: F401
    except ImportError:
        return False
    return True


_WORD = 2**63


def uniform_below(total: int, rng: np.random.Generator) -> int:
    """Draw uniformly from 0, …, total − 1, for integers of any size."""
    # Integers of one word are also exact, and three times faster.
    return int(rng.integers(total)) if total <= _WORD else _uniform_by_bits(total, rng)


def _uniform_by_bits(total: int, rng: np.random.Generator) -> int:
    bits = total.bit_length()
    n_bytes = (bits + 7) // 8
    while True:
        candidate = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - bits)
        if candidate < total:
            return candidate


_BITS = 40
_DEEPEST = 255


class IntegerLaw:
    """Law ∝ exp(−min{energy, 255·log 2}) on 0, …, N − 1, drawn exactly from integer weights."""

    # Weight i is mantissas[i] < 2⁴⁰ times 2^−depths[i], exact up to a factor 1 ± 2⁻³⁹. Sums are
    # exact integers: no probability is rounded to 0 (base-2 exponential mechanism, Ilvento 2020).

    def __init__(self, energies: FloatArray) -> None:
        capped = np.minimum(energies, _DEEPEST * math.log(2))
        mantissa, exponent = np.frexp(np.exp(-capped))
        self.mantissas: IntArray = np.floor(np.ldexp(mantissa, _BITS)).astype(np.int64)
        self.depths: IntArray = 1 - exponent.astype(np.int64)
        self._order = np.argsort(self.depths, kind="stable")
        # sums[i] is the sum of the mantissas of the first i points by depth.
        self._sums = np.concatenate([[0], np.cumsum(self.mantissas[self._order])])
        depths, starts = np.unique(self.depths[self._order], return_index=True)
        self._shifts = [int(depths[-1] - depth) for depth in depths]
        self._starts = [int(self._sums[start]) for start in starts]
        widths = np.diff(self._sums[np.append(starts, len(energies))]).tolist()
        masses = [width << shift for width, shift in zip(widths, self._shifts, strict=True)]
        self._ends = list(accumulate(masses))

    @property
    def probabilities(self) -> FloatArray:
        """Probabilities (N,), rounded to doubles."""
        weights = np.ldexp(self.mantissas.astype(float), -self.depths)
        return np.asarray(weights / weights.sum())

    @property
    def total(self) -> int:
        """Sum of the weights in units of 2^−max(depths)."""
        return self._ends[-1]

    def at(self, place: int) -> int:
        """Point that owns ``place`` in 0, …, total − 1; it owns as many places as its weight."""
        band = bisect.bisect_right(self._ends, place)
        within = (place - (self._ends[band - 1] if band else 0)) >> self._shifts[band]
        owner = np.searchsorted(self._sums, self._starts[band] + within, side="right") - 1
        return int(self._order[owner])

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Draw independent points (size,)."""
        return np.array(
            [self.at(_uniform_by_bits(self.total, rng)) for _ in range(size)], dtype=np.int64
        )
