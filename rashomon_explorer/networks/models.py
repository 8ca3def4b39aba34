"""Differentiable models: scores, and clipped sums of row gradients, of any parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count

Slopes = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Derivatives of each row's loss by its scores (n, o), and by parameters of the loss (n, h)."""

_INSIDE = 1 - 1e-6  # of the norm to which gradients are clipped: above the rounding of their sums


class DifferentiableModel:
    """A function of parameters (k,) and rows (n, p) that returns scores (n, o).

    Subclasses define ``n_parameters``, ``start``, ``scores`` and ``row_gradients``, which get one
    row at a time in a fit. The gradient of each row is clipped, whatever it is (docs/networks.md).

    Examples
    --------
    A logistic model of two columns, and its gradients:

    >>> import numpy as np
    >>> class Plain(DifferentiableModel):
    ...     def n_parameters(self, n_features, n_outputs):
    ...         return n_features * n_outputs
    ...     def start(self, n_features, n_outputs, rng):
    ...         return np.zeros(n_features * n_outputs)
    ...     def scores(self, theta, rows, n_outputs):
    ...         return rows @ theta.reshape(-1, n_outputs)
    ...     def row_gradients(self, theta, rows, slopes):
    ...         return (rows[:, :, None] * slopes[:, None, :]).reshape(len(rows), -1)
    >>> Plain().scores(np.ones(2), np.eye(2), 1).ravel()
    array([1., 1.])
    """

    def n_parameters(self, n_features: int, n_outputs: int) -> int:
        """Return the number k of parameters."""
        raise NotImplementedError

    def start(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> FloatArray:
        """Parameters (k,) at which paths start; ``rng`` depends on no row."""
        raise NotImplementedError

    def scores(self, theta: FloatArray, rows: FloatArray, n_outputs: int) -> FloatArray:
        """Scores (n, o) of rows (n, p)."""
        raise NotImplementedError

    def row_gradients(self, theta: FloatArray, rows: FloatArray, slopes: FloatArray) -> FloatArray:
        """Gradients (n, k) of Σ_o slopes[i, o] · scores[i, o] for each row i."""
        raise NotImplementedError

    def clipped_sum(
        self, theta: FloatArray, rows: FloatArray, n_outputs: int, slopes: Slopes, clip: float
    ) -> FloatArray:
        """Sum (k + h,) of the row gradients, each clipped to the norm ``clip``.

        Each row is passed alone, so that no row can change the gradient of another one.
        """
        if not len(rows):
            return np.zeros(1)  # broadcasts against the noise
        alone = [rows[i : i + 1] for i in range(len(rows))]
        scores = np.array([self.scores(theta, row, n_outputs)[0] for row in alone])
        of_scores, of_loss = slopes(scores.reshape(-1, n_outputs))
        pairs = zip(alone, of_scores, strict=True)
        gradients = [self.row_gradients(theta, row, slope[None])[0] for row, slope in pairs]
        return clipped_total(np.reshape(gradients, (len(rows), -1)), of_loss, clip)

    def canonical(self, theta: FloatArray, n_features: int, n_outputs: int) -> FloatArray:
        """Return parameters (k,) of the same function in one agreed form; by default unchanged."""
        return theta


def clipped_total(of_scores: FloatArray, of_loss: FloatArray, clip: float) -> FloatArray:
    """Sum (k + h,) of gradients by the parameters of scores (n, k) and of the loss (n, h)."""
    gradients = np.hstack([of_scores, of_loss])
    factors = clip_factors(np.einsum("ij,ij->i", gradients, gradients), clip)
    return np.asarray(factors @ np.where(factors[:, None] > 0, gradients, 0.0))


def clip_factors(squared_norms: FloatArray, clip: float) -> FloatArray:
    """Factors (n,) min(1, clip/‖g‖); 0 for a gradient that is not finite."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        factors = np.minimum(1.0, clip * _INSIDE / np.sqrt(squared_norms))
    return np.where(np.isfinite(squared_norms), factors, 0.0)


@dataclass(frozen=True)
class Network(DifferentiableModel):
    """Multilayer perceptron with tanh units; without hidden layers a linear model.

    Parameters
    ----------
    hidden : tuple of int, default=(32,)
        Units of each hidden layer, at most three layers.

    Examples
    --------
    >>> Network(hidden=(64,)).n_parameters(n_features=50, n_outputs=1)
    3329
    """

    hidden: tuple[int, ...] = (32,)

    def __post_init__(self) -> None:
        if len(self.hidden) > 3:
            raise ValueError(f"hidden must list at most three layers, got {len(self.hidden)}")
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for units in self.hidden:
            check_count(hidden=units)

    def n_parameters(self, n_features: int, n_outputs: int) -> int:
        """Return the number of weights, with the intercept of each unit."""
        shapes = self._shapes(self._n_inputs(n_features), n_outputs)
        return sum(rows * columns for rows, columns in shapes)

    def start(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> FloatArray:
        """Random weights of size 1/√inputs, and a last layer of a tenth of that."""
        shapes = self._shapes(self._n_inputs(n_features), n_outputs)
        layers = [rng.standard_normal(shape) / math.sqrt(shape[0]) for shape in shapes]
        layers[-1] *= 0.1 if self.hidden else 0.0
        return np.concatenate([layer.ravel() for layer in layers])

    def scores(self, theta: FloatArray, rows: FloatArray, n_outputs: int) -> FloatArray:
        """Scores (n, o) of rows (n, p)."""
        inputs, weights = self._forward(theta, rows, n_outputs)
        return np.asarray(inputs[-1] @ weights[-1])

    def row_gradients(self, theta: FloatArray, rows: FloatArray, slopes: FloatArray) -> FloatArray:
        """Gradients (n, k) of Σ_o slopes[i, o] · scores[i, o] for each row i."""
        inputs, weights = self._forward(theta, rows, slopes.shape[1])
        pairs = zip(inputs, self._backward(inputs, weights, slopes), strict=True)
        n = len(rows)
        return np.hstack([(a[:, :, None] * d[:, None, :]).reshape(n, -1) for a, d in pairs])

    def clipped_sum(
        self, theta: FloatArray, rows: FloatArray, n_outputs: int, slopes: Slopes, clip: float
    ) -> FloatArray:
        """Sum (k + h,) of the clipped row gradients, without a matrix of them.

        The gradient of a row by a layer is the outer product of the layer's inputs and of the
        slopes of its units: its norm is the product of their norms.
        """
        inputs, weights = self._forward(theta, rows, n_outputs)
        of_scores, of_loss = slopes(inputs[-1] @ weights[-1])
        unit_slopes = self._backward(inputs, weights, of_scores)
        squares = np.einsum("ij,ij->i", of_loss, of_loss)
        for entries, by_unit in zip(inputs, unit_slopes, strict=True):
            lengths = np.einsum("ij,ij->i", entries, entries)
            squares += lengths * np.einsum("ij,ij->i", by_unit, by_unit)
        factors = clip_factors(squares, clip)[:, None]
        finite = factors > 0  # what is not finite is left out, not multiplied by 0
        sums = [
            np.where(finite, entries, 0.0).T @ np.where(finite, by_unit * factors, 0.0)
            for entries, by_unit in zip(inputs, unit_slopes, strict=True)
        ]
        of_loss_sum = np.where(finite, of_loss * factors, 0.0).sum(axis=0)
        return np.concatenate([*(layer.ravel() for layer in sums), of_loss_sum])

    def canonical(self, theta: FloatArray, n_features: int, n_outputs: int) -> FloatArray:
        """Hidden units with positive intercepts, ordered by them: the same function.

        tanh is odd, so the signs of a unit's weights before and after it can be flipped together,
        and units can be permuted.
        """
        weights = [
            layer.copy() for layer in self._weights(theta, self._n_inputs(n_features), n_outputs)
        ]
        for before, after in pairwise(weights):
            signs = np.where(before[-1] < 0, -1.0, 1.0)
            before *= signs
            after[:-1] *= signs[:, None]
            order = np.argsort(before[-1], kind="stable")
            before[:] = before[:, order]
            after[:-1] = after[:-1][order]
        return np.concatenate([layer.ravel() for layer in weights])

    def inputs(self, rows: FloatArray) -> FloatArray:
        """Return what the first layer takes (n, d): the rows themselves."""
        return rows

    def _n_inputs(self, n_features: int) -> int:
        return n_features

    def _shapes(self, n_inputs: int, n_outputs: int) -> list[tuple[int, int]]:
        sizes = [n_inputs, *self.hidden, n_outputs]
        return [(size + 1, units) for size, units in pairwise(sizes)]

    def _weights(self, theta: FloatArray, n_inputs: int, n_outputs: int) -> list[FloatArray]:
        """Weights of each layer, the intercepts in the last row."""
        shapes = self._shapes(n_inputs, n_outputs)
        ends = np.cumsum([rows * columns for rows, columns in shapes])
        parts = np.split(theta[: ends[-1]], ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def _forward(
        self, theta: FloatArray, rows: FloatArray, n_outputs: int
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return what each layer takes, with a last column of ones, and its weights."""
        first = self.inputs(rows)
        weights = self._weights(theta, first.shape[1], n_outputs)
        inputs = [_with_ones(first)]
        for layer in weights[:-1]:
            inputs.append(_with_ones(np.tanh(inputs[-1] @ layer)))
        return inputs, weights

    def _backward(
        self, inputs: list[FloatArray], weights: list[FloatArray], slopes: FloatArray
    ) -> list[FloatArray]:
        """Slopes (n, units) of each layer's units before tanh, from those of the scores."""
        backwards = [slopes]
        for entries, layer in zip(inputs[:0:-1], weights[:0:-1], strict=True):
            backwards.append((backwards[-1] @ layer[:-1].T) * (1 - entries[:, :-1] ** 2))
        return backwards[::-1]


def _with_ones(rows: FloatArray) -> FloatArray:
    return np.column_stack([rows, np.ones(len(rows))])


@dataclass(frozen=True)
class Additive(Network):
    """Generalised additive model: a piecewise linear function of each column, and their sum.

    The functions bend at public knots, so that the model is linear in its parameters and its loss
    is convex. ``shape_functions`` of a set draws them.

    Parameters
    ----------
    n_knots : int, default=8
        Knots of each column, equally spaced from −1 to 1 in the units of the columns: from the
        lower to the upper bound of a column that :class:`~rashomon_explorer.PublicBoundsScaler` or
        a schema scales.

    Examples
    --------
    >>> import numpy as np
    >>> Additive(n_knots=3).inputs(np.array([[-1.0], [0.25], [9.0]]))
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.75, 0.25],
           [0.  , 0.  , 1.  ]])
    """

    hidden: tuple[int, ...] = ()
    n_knots: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(n_knots=self.n_knots)
        if self.hidden or self.n_knots < 2:
            raise ValueError("an additive model has at least two knots and no hidden layer")

    def inputs(self, rows: FloatArray) -> FloatArray:
        """Hat functions (n, p·n_knots) of each column: weights of its two nearest knots."""
        n, p = rows.shape
        positions = (np.clip(rows, -1.0, 1.0) + 1) / 2 * (self.n_knots - 1)
        left = np.minimum(positions.astype(int), self.n_knots - 2)
        right_share = positions - left
        hats = np.zeros((n, p, self.n_knots))
        i, j = np.indices((n, p), sparse=True)
        hats[i, j, left] = 1 - right_share
        hats[i, j, left + 1] = right_share
        return hats.reshape(n, p * self.n_knots)

    def heights(self, theta: FloatArray, n_features: int, n_outputs: int) -> FloatArray:
        """Value (p, n_knots, o) of each column's function at its knots, of mean 0 over them."""
        (weights,) = self._weights(theta, self._n_inputs(n_features), n_outputs)
        values = weights[:-1].reshape(n_features, self.n_knots, n_outputs)
        return np.asarray(values - values.mean(axis=1, keepdims=True))

    def _n_inputs(self, n_features: int) -> int:
        return n_features * self.n_knots


SHIPPED: dict[str, type[Network]] = {"Network": Network, "Additive": Additive}
"""Models that files of sets can name."""


OWN_MODEL = "the model's code takes each row by itself, and keeps nothing of it for another row"
"""Assumption of guarantees of models that are not shipped."""


def is_shipped(model: Any) -> bool:
    """Whether the model is one of this package, and no code of a user."""
    return type(model) in SHIPPED.values()


def model_values(model: Any) -> dict[str, Any]:
    """JSON values of a shipped model; TypeError for one of a user."""
    name = type(model).__name__
    if not is_shipped(model):
        raise TypeError(
            f"a {name} is code, which files of sets do not hold: save predictions with "
            "stored(X).save(path), or the parameters rashomon_set_.models.theta"
        )
    values = {"model": name, "hidden": list(model.hidden)}
    return values | ({"n_knots": model.n_knots} if isinstance(model, Additive) else {})


def model_from_values(values: dict[str, Any]) -> Network:
    """Inverse of :func:`model_values`."""
    settings = {key: value for key, value in values.items() if key != "model"}
    return SHIPPED[values["model"]](**{**settings, "hidden": tuple(settings["hidden"])})
