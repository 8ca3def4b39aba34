"""Where every generator of the package comes from: a stream cipher keyed by the system."""

import secrets
from functools import cache

import numpy as np

PREDICTABLE = (
    "the noise came from PCG64, a generator that is not cryptographic, seeded by the operating "
    "system; install randomgen for ChaCha20"
)
"""What a guarantee has to assume where randomgen is missing."""


class FreshGenerator(np.random.Generator):
    """A generator whose key nobody was told; a copy of one is an ordinary generator again."""


def generator(seed: int | list[int] | None = None) -> np.random.Generator:
    """Return a generator of noise, or a reproducible one.

    Without a seed it is ChaCha20 under a fresh key of 256 bits from the operating system: nobody
    is known to tell its output from chance, so that released noise does not betray other noise.
    PCG64 takes its place if randomgen is not installed (:func:`noise_assumptions`).

    Parameters
    ----------
    seed : int or list of int, optional
        For a reproducible run: PCG64, with the same numbers whether randomgen is there or not.

    Examples
    --------
    >>> generator(7).integers(100, size=3).tolist() == generator(7).integers(100, size=3).tolist()
    True
    >>> generator().random() == generator().random()
    False
    """
    if seed is not None:
        return np.random.default_rng(seed)
    return FreshGenerator(_fresh_bits())


def _fresh_bits() -> np.random.BitGenerator:
    if not is_cryptographic():
        return np.random.PCG64()
    from randomgen import ChaCha

    bits: np.random.BitGenerator = ChaCha(key=secrets.randbits(256), rounds=20)
    return bits


def noise_assumptions() -> tuple[str, ...]:
    """Return what a guarantee has to assume of ``generator()``, beyond ChaCha20's strength.

    Examples
    --------
    >>> set(noise_assumptions()) <= {PREDICTABLE}
    True
    """
    return () if is_cryptographic() else (PREDICTABLE,)


def is_seeded(rng: np.random.Generator) -> bool:
    """Whether somebody may know how to make the same noise again.

    Only what :func:`generator` made from the operating system's entropy is known not to be: numpy
    cannot tell whether a generator was given a seed.

    Examples
    --------
    >>> is_seeded(generator()), is_seeded(generator(7)), is_seeded(np.random.default_rng(0))
    (False, True, True)
    """
    return not isinstance(rng, FreshGenerator)


@cache
def is_cryptographic() -> bool:
    """Whether ``generator()`` is ChaCha20."""
    try:
        import randomgen  # noqa: F401
    except ImportError:
        return False
    return True
