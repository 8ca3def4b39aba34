"""Losses of linear models: one file each, found by name in ``LOSSES``."""

from collections.abc import Callable

from rashomon_explorer.losses.base import EmpiricalLoss, ExcessBound, Loss
from rashomon_explorer.losses.logistic import LogisticLoss
from rashomon_explorer.losses.squared import SquaredLoss

LOSSES: dict[str, Callable[[], Loss]] = {"logistic": LogisticLoss, "squared": SquaredLoss}


def get_loss(loss: str | Loss) -> Loss:
    """Loss of that name, or the loss object itself.

    Parameters
    ----------
    loss : str or Loss
        A key of ``LOSSES`` or a configured loss such as ``SquaredLoss(target_bound=2.0)``.

    Returns
    -------
    Loss

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> get_loss("logistic").task
    'classification'
    """
    if not isinstance(loss, str):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)} or a Loss, got {loss!r}")
    return LOSSES[loss]()


__all__ = [
    "LOSSES",
    "EmpiricalLoss",
    "ExcessBound",
    "LogisticLoss",
    "Loss",
    "SquaredLoss",
    "get_loss",
]
