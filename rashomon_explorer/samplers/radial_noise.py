"""Noise that looks the same from every side, for a sensitivity in the Euclidean norm."""

import numpy as np

from rashomon_explorer.array_types import FloatArray


def radial_noise(
    p: int, scale: float, rng: np.random.Generator, *, gaussian: bool = False
) -> FloatArray:
    """Noise (p,) of density ∝ exp(−‖z‖/scale), or Gaussian of that deviation.

    ‖z‖ is a Gamma(p) variable times the scale, and the direction uniform.

    Examples
    --------
    >>> from rashomon_explorer.randomness import generator
    >>> radial_noise(3, 0.5, generator(0)).shape
    (3,)
    """
    direction = rng.standard_normal(p)
    if gaussian:
        return np.asarray(scale * direction)
    length = scale * rng.standard_gamma(p)
    return np.asarray(direction * (length / np.linalg.norm(direction)))
