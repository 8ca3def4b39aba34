"""Losses of linear models, by name in ``LOSSES``."""

from collections.abc import Callable, Hashable
from functools import lru_cache

import numpy as np

from rashomon_explorer.problem.losses.base import Loss
from rashomon_explorer.problem.losses.kinked import AbsoluteLoss, HingeLoss, SmoothedHingeLoss
from rashomon_explorer.problem.losses.logistic import MOST_PULL, LogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss

LOSSES: dict[str, Callable[[], Loss]] = {
    "logistic": LogisticLoss,
    "squared": SquaredLoss,
    "hinge": HingeLoss,
    "smoothed_hinge": SmoothedHingeLoss,
    "absolute": AbsoluteLoss,
    "softmax": SoftmaxLoss,
}


_FAR = 1e6  # a target beyond any declared bound


def get_loss(loss: str | Loss) -> Loss:
    """Return the loss with that name, or the loss object itself.

    Parameters
    ----------
    loss : str or Loss
        A key of ``LOSSES`` or a configured loss such as ``SquaredLoss(target_bound=2.0)``.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> get_loss("logistic").task
    'classification'
    """
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    if isinstance(loss, str) or not hasattr(loss, "empirical"):
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a Loss, got {loss!r}")
    return loss


def zero_model_loss(loss: Loss) -> float:
    """Largest mean loss of the zero model on any rows: achievable without data.

    For a loss without labels, targets are clipped to its bound.

    Parameters
    ----------
    loss : Loss

    Examples
    --------
    >>> round(zero_model_loss(get_loss("logistic")), 4), zero_model_loss(get_loss("squared"))
    (0.6931, 0.5)
    """
    return _loss_at_zero(loss) if isinstance(loss, Hashable) else _loss_at_zero.__wrapped__(loss)


@lru_cache(maxsize=64)  # used by every plan
def _loss_at_zero(loss: Loss) -> float:
    nothing, row = np.zeros((loss.outputs, 1)), np.ones((1, 1))
    targets = loss.labels if loss.labels is not None else (-_FAR, _FAR)
    return max(float(loss.empirical(row, np.array([y])).value(nothing)[0]) for y in targets)


def clipped(loss: Loss, slope_bound: float = MOST_PULL) -> Loss | None:
    """Loss with its slope clipped to ``slope_bound``; None for a loss without this form."""
    form = getattr(loss, "clipped", None)
    return None if form is None else form(slope_bound)


__all__ = ["LOSSES", "MOST_PULL", "Loss", "clipped", "get_loss", "zero_model_loss"]


def __dir__() -> list[str]:
    """Public names of the module."""
    return list(__all__)
