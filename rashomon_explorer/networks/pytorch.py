"""A PyTorch module of a user as a differentiable model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.imports import missing_package
from rashomon_explorer.networks.models import DifferentiableModel, Slopes, clipped_total


@dataclass(frozen=True)
class TorchModel(DifferentiableModel):
    """Scores of a PyTorch module, with row gradients by ``torch.func``.

    Parameters
    ----------
    build : callable
        Takes the numbers of features and of outputs, and returns a ``torch.nn.Module`` from rows
        (n, p) to scores (n, o). It is called in evaluation mode, with one row at a time under
        ``torch.func.vmap``: no layer mixes rows, dropout is off, and batch normalisation keeps
        its first statistics. Outputs are 1 for two classes and for numbers, else one a class.

    Examples
    --------
    >>> from torch import nn  # doctest: +SKIP
    >>> def build(p, o):
    ...     return nn.Sequential(nn.Linear(p, 16), nn.ReLU(), nn.Linear(16, o))
    >>> RashomonNetworkClassifier(model=TorchModel(build)).fit(X, y)  # doctest: +SKIP
    """

    build: Callable[[int, int], Any]
    _modules: dict[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)

    def n_parameters(self, n_features: int, n_outputs: int) -> int:
        """Return the number of trained parameters of the module."""
        return sum(part.numel() for part in self._trained(n_features, n_outputs).values())

    def start(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> FloatArray:
        """Parameters with which ``build`` makes the module."""
        parts = self._trained(n_features, n_outputs).values()
        return np.concatenate([part.detach().double().numpy().ravel() for part in parts])

    def scores(self, theta: FloatArray, rows: FloatArray, n_outputs: int) -> FloatArray:
        """Scores (n, o) of rows (n, p), one row at a time."""
        torch = _torch()
        module = self._module(rows.shape[1], n_outputs)
        parameters = self._parameters(theta, rows.shape[1], n_outputs)

        def of_row(row: Any) -> Any:
            return torch.func.functional_call(module, parameters, (row[None],)).reshape(-1)

        with torch.no_grad():
            inputs = torch.from_numpy(np.ascontiguousarray(rows))
            scores = torch.func.vmap(of_row, randomness="error")(inputs)
        return np.asarray(scores.numpy().reshape(len(rows), n_outputs))

    def clipped_sum(
        self, theta: FloatArray, rows: FloatArray, n_outputs: int, slopes: Slopes, clip: float
    ) -> FloatArray:
        """Sum (k + h,) of the clipped row gradients of all rows at once."""
        if not len(rows):
            return np.zeros(1)
        of_scores, of_loss = slopes(self.scores(theta, rows, n_outputs))
        return clipped_total(self.row_gradients(theta, rows, of_scores), of_loss, clip)

    def row_gradients(self, theta: FloatArray, rows: FloatArray, slopes: FloatArray) -> FloatArray:
        """Gradients (n, k) of Σ_o slopes[i, o] · scores[i, o] for each row i, one row at a time."""
        torch = _torch()
        n_outputs = slopes.shape[1]
        module = self._module(rows.shape[1], n_outputs)
        parameters = self._parameters(theta, rows.shape[1], n_outputs)

        def weighted(parameters: Any, row: Any, slope: Any) -> Any:
            scores = torch.func.functional_call(module, parameters, (row[None],))
            return (scores.reshape(-1) * slope).sum()

        inputs, weights = (torch.from_numpy(np.ascontiguousarray(x)) for x in (rows, slopes))
        of_rows = torch.func.vmap(
            torch.func.grad(weighted), in_dims=(None, 0, 0), randomness="error"
        )
        gradients = of_rows(parameters, inputs, weights)
        return np.hstack([part.numpy().reshape(len(rows), -1) for part in gradients.values()])

    def _module(self, n_features: int, n_outputs: int) -> Any:
        shape = n_features, n_outputs
        if shape not in self._modules:
            self._modules[shape] = self.build(*shape).double().eval()
        return self._modules[shape]

    def _trained(self, n_features: int, n_outputs: int) -> dict[str, Any]:
        named = self._module(n_features, n_outputs).named_parameters()
        return {name: part for name, part in named if part.requires_grad}

    def _parameters(self, theta: FloatArray, n_features: int, n_outputs: int) -> dict[str, Any]:
        torch = _torch()
        parts, begin = {}, 0
        for name, part in self._trained(n_features, n_outputs).items():
            values = theta[begin : begin + part.numel()].reshape(tuple(part.shape))
            parts[name] = torch.from_numpy(np.array(values))
            begin += part.numel()
        return parts


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise missing_package("A TorchModel", "torch", "torch") from error
    return torch
