"""Who would get the same answer from the next model, and from whom to abstain."""

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures.encoding import Labels
from rashomon_explorer.measures.multiplicity.tallies import Votes
from rashomon_explorer.validation import check_share


def self_consistency(labels: ArrayLike) -> FloatArray:
    """Chance, row by row, that two different models give the same label.

    SC(x) = 1 − 2·B₀B₁/(B(B − 1)) with B₀ and B₁ of B models for the two classes (Cooper et al.,
    AAAI 2024, Definition 3); for several classes Σ_c B_c(B_c − 1)/(B(B − 1)), which is the same for
    two. One less :func:`row_disagreement`.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    ndarray of shape (n_rows,)
        Between (1 − 1/(B − 1))/2 for two classes, even models split in halves, and 1; NaN for one
        model.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> self_consistency([[0, 0], [0, 1], [0, 1]]).round(6).tolist()
    [1.0, 0.333333]
    """
    return Votes.over(Labels.of(labels)).row_agreement()


def abstention(labels: ArrayLike, *, kappa: float = 0.75) -> Mask:
    """Rows whose self-consistency is below κ, on which to abstain.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.
    kappa : float, default=0.75
        Least self-consistency for a decision, in [0, 1]; the default is the authors' (Cooper et
        al., AAAI 2024). It is not Cohen's kappa.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Its mean is the abstention rate.

    Raises
    ------
    ValueError
        If there is one model only, which cannot be inconsistent, or an argument is wrong.

    Examples
    --------
    >>> abstention([[0, 0], [0, 1], [0, 1]]).tolist()
    [False, True]
    """
    check_share(kappa=kappa)
    consistency = self_consistency(labels)
    if np.isnan(consistency).all():
        raise ValueError(
            "labels must hold at least two models: the self-consistency of one is unknown"
        )
    return consistency < kappa


class Consistency(Votes):
    """Mean self-consistency of the models seen."""

    def value(self) -> float:
        """Mean over rows; NaN for one model."""
        return float(self.row_agreement().mean())


class Abstention(Votes):
    """Share of rows whose self-consistency is below κ."""

    def __init__(self, n_classes: int, n_rows: int, kappa: float = 0.75) -> None:
        super().__init__(n_classes, n_rows)
        check_share(kappa=kappa)
        self.kappa = kappa

    def value(self) -> float:
        """Share of rows; NaN for one model."""
        agreement = self.row_agreement()
        return float("nan") if self.models < 2 else float((agreement < self.kappa).mean())


def consistency_tally(labels: Labels) -> Consistency:
    """Tally of the mean of :func:`self_consistency`."""
    return Consistency(labels.n_classes, labels.codes.shape[1])


def abstention_tally(labels: Labels, kappa: float = 0.75) -> Abstention:
    """Tally of the mean of :func:`abstention`."""
    return Abstention(labels.n_classes, labels.codes.shape[1], kappa)
