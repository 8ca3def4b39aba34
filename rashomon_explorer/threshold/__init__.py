"""Shapes of the threshold: how the energy rises outside the Rashomon set."""

from collections.abc import Callable

from rashomon_explorer.threshold.base import Threshold
from rashomon_explorer.threshold.gaussian import GaussianThreshold
from rashomon_explorer.threshold.hard import HardThreshold, NoThreshold
from rashomon_explorer.threshold.smooth import SmoothThreshold

THRESHOLDS: dict[str, Callable[[float], Threshold]] = {
    "gaussian": lambda psi: GaussianThreshold(),
    "hard": lambda psi: HardThreshold(),
    "smooth": lambda psi: SmoothThreshold(width=psi / 2),
}


def get_threshold(threshold: str | Threshold, psi: float) -> Threshold:
    """Shape of that name for a Rashomon threshold ``psi``, or the shape itself.

    Parameters
    ----------
    threshold : str or Threshold
        A key of ``THRESHOLDS``; ``"smooth"`` is ψ/2 wide, ``"hard"`` at ψ = 0 no threshold.
    psi : float

    Raises
    ------
    ValueError
        If the name is unknown, or ``"smooth"`` is asked for with ψ = 0.

    Examples
    --------
    >>> get_threshold("smooth", psi=0.02)
    SmoothThreshold(width=0.01, name='smooth')
    """
    if isinstance(threshold, str) and threshold in THRESHOLDS:
        threshold = THRESHOLDS[threshold](psi)
    if isinstance(threshold, str) or not hasattr(threshold, "energy"):
        raise ValueError(
            f"threshold must be one of {sorted(THRESHOLDS)} or a Threshold, got {threshold!r}"
        )
    # At ψ = 0 nothing is thresholded: the slope is 1, and no record moves it.
    return NoThreshold() if isinstance(threshold, HardThreshold) and psi == 0 else threshold


__all__ = [
    "THRESHOLDS",
    "GaussianThreshold",
    "HardThreshold",
    "NoThreshold",
    "SmoothThreshold",
    "Threshold",
    "get_threshold",
]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return list(__all__)
