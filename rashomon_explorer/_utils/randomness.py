"""Random generators of the package: a stream cipher with a key from the operating system."""

import os
import secrets
from functools import cache
from weakref import WeakSet

import numpy as np

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
    if total <= _WORD:  # also exact, and three times faster
        return int(rng.integers(total))
    bits = total.bit_length()
    n_bytes = (bits + 7) // 8
    while True:
        candidate = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - bits)
        if candidate < total:
            return candidate
