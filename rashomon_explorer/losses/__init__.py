"""Losses of linear models: one file each, found by name in ``ALL_LOSSES``.

``LOSSES`` are those that the estimators and the explorer offer.
"""

from collections.abc import Callable

from rashomon_explorer.losses.absolute import AbsoluteLoss
from rashomon_explorer.losses.base import EmpiricalLoss, ExcessBound, Loss
from rashomon_explorer.losses.hinge import HingeLoss
from rashomon_explorer.losses.logistic import LogisticLoss
from rashomon_explorer.losses.smoothed_hinge import SmoothedHingeLoss
from rashomon_explorer.losses.softmax import SoftmaxLoss
from rashomon_explorer.losses.squared import SquaredLoss

LOSSES: dict[str, Callable[[], Loss]] = {"logistic": LogisticLoss, "squared": SquaredLoss}
ALL_LOSSES: dict[str, Callable[[], Loss]] = {
    **LOSSES,
    "hinge": HingeLoss,
    "smoothed_hinge": SmoothedHingeLoss,
    "absolute": AbsoluteLoss,
    "softmax": SoftmaxLoss,
}


def get_loss(loss: str | Loss) -> Loss:
    """Loss of that name, or the loss object itself.

    Parameters
    ----------
    loss : str or Loss
        A key of ``ALL_LOSSES`` or a configured loss such as ``SquaredLoss(target_bound=2.0)``.

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
    if isinstance(loss, str) and loss in ALL_LOSSES:
        return ALL_LOSSES[loss]()
    if isinstance(loss, str) or not hasattr(loss, "empirical"):
        raise ValueError(f"loss must be one of {sorted(ALL_LOSSES)} or a Loss, got {loss!r}")
    return loss


__all__ = [
    "ALL_LOSSES",
    "LOSSES",
    "AbsoluteLoss",
    "EmpiricalLoss",
    "ExcessBound",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "SmoothedHingeLoss",
    "SoftmaxLoss",
    "SquaredLoss",
    "get_loss",
]
