"""How many different ways of labelling the rows the models have."""

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.measures.encoding import Bytes, Labels
from rashomon_explorer.measures.multiplicity.tallies import Votes
from rashomon_explorer.measures.nested import evaluate_nested
from rashomon_explorer.validation import check_count


def pattern_count(labels: ArrayLike) -> int:
    """Count the different label vectors among the models.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    int
        Over sampled models a lower bound of the set's.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> pattern_count([[0, 1], [0, 1], [1, 1]])
    2
    """
    coded = Labels.of(labels)
    return int(evaluate_nested(coded.codes, partial(count_tally, coded))[0])


def pattern_ratio(labels: ArrayLike, among: ArrayLike | int) -> float:
    """Different label vectors of the set, over those of the whole class of models.

    The pattern Rashomon ratio (Semenova, Rudin and Parr, FAccT 2022). Over sampled models the
    numerator is a lower bound.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Labels by the models of the set.
    among : int or array-like of shape (n_all_models, n_rows)
        Number of label vectors of the whole class, such as :func:`linear_pattern_count`; or the
        labels by all its models, the set's included.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a shape is wrong, or the whole class has fewer label vectors than the set.

    Examples
    --------
    >>> pattern_ratio([[0, 1], [1, 1]], among=[[0, 0], [0, 1], [1, 0], [1, 1]])
    0.5
    >>> pattern_ratio([[0, 1], [1, 1]], among=linear_pattern_count(2, 2))
    0.5
    """
    inside = pattern_count(labels)
    whole = among if isinstance(among, int | np.integer) else pattern_count(among)
    if whole < inside:
        raise ValueError(
            f"among must hold every label vector of the class of models, got {whole} and the set "
            f"has {inside}"
        )
    return inside / int(whole)


def linear_pattern_count(n_rows: int, n_parameters: int) -> int:
    """Ways in which linear classifiers can label rows in general position.

    2·Σ_{k<p} C(n − 1, k) with p parameters, an intercept among them or not (Cover 1965); at
    most as many for rows in special position, and for several classes a row is no sign.

    Parameters
    ----------
    n_rows, n_parameters : int
        At least 1.

    Returns
    -------
    int
        Exact; it may have many digits.

    Raises
    ------
    ValueError
        If a number is below 1.

    Examples
    --------
    >>> linear_pattern_count(n_rows=4, n_parameters=3)
    14
    """
    check_count(n_rows=n_rows, n_parameters=n_parameters)
    return 2 * sum(math.comb(n_rows - 1, k) for k in range(min(n_parameters, n_rows)))


def pattern_diversity(labels: ArrayLike) -> float:
    """Mean share of rows on which two label vectors of the set differ.

    (1/(nΠ²)) Σ_j Σ_k H(p_j, p_k) over the Π different vectors, H the Hamming distance
    (Semenova, Chen, Parr and Rudin, NeurIPS 2023). Each vector counts once however many models
    give it, and the pairs of a vector with itself are in the mean, as the authors define it.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    float
        Between 0, where there is one vector, and 1; at most ½ for two classes.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> pattern_diversity([[0, 1], [0, 1], [1, 1]])
    0.25
    """
    coded = Labels.of(labels)
    return float(evaluate_nested(coded.codes, partial(diversity_tally, coded))[0])


class Patterns:
    """Different label vectors of the models seen."""

    def __init__(self, n_classes: int, n_rows: int) -> None:
        self.n_classes = n_classes
        self.seen: set[bytes] = set()
        self.votes = Votes(n_classes, n_rows)

    def add(self, block: Bytes) -> None:
        """See more models."""
        two = len(self.votes.counts) <= 2
        keys = np.packbits(block, axis=1) if two else block
        new = []
        for place, key in enumerate(keys):
            text = key.tobytes()
            if text not in self.seen:
                self.seen.add(text)
                new.append(place)
        if new:
            self.votes.add(block[new])

    def value(self) -> float:
        """Mean distance of two vectors, a vector and itself included."""
        models = len(self.seen)
        return float((1 - ((self.votes.counts / models) ** 2).sum(axis=0)).mean())


class PatternCount(Patterns):
    """Number of different label vectors of the models seen."""

    def value(self) -> float:
        """Count."""
        return float(len(self.seen))


def count_tally(labels: Labels) -> PatternCount:
    """Tally of :func:`pattern_count`."""
    return PatternCount(labels.n_classes, labels.codes.shape[1])


def diversity_tally(labels: Labels) -> Patterns:
    """Tally of :func:`pattern_diversity`."""
    return Patterns(labels.n_classes, labels.codes.shape[1])
