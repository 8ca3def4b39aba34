"""What a loss must offer: public constants before any row is read, and an empirical loss after."""

from typing import Any, Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray


class EmpiricalLoss(Protocol):
    """The mean loss of given rows, for K models at once."""

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    @property
    def p(self) -> int:
        """Number of parameters."""
        ...

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        ...

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and its gradient (p, K) for each column of ``theta`` of shape (p, K).

        A subgradient where the loss has a kink. For a stack (G, p, K) of models it returns (G, K)
        and (G, p, K), and what it gives for one of them does not depend on G or on the others.
        """
        ...

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        ...

    def curvature_bound(self) -> FloatArray | None:
        """Matrix (p, p) that is at least every Hessian; None for a loss with kinks."""
        ...

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "EmpiricalLoss":
        """Return the same loss for scores up to ``reach``, computed in ``dtype`` or better.

        ``reach`` is public, so that no record decides how the others' terms are rounded.

        What it gives for a model is the same to the last bit whatever models stand beside it, at
        the same place of an array of the same shape.
        """
        ...


class Loss(Protocol):
    """A loss of linear scores z·θ, with constants that hold for every row the bounds allow.

    ``reach`` below is the largest |z·θ| over allowed rows and models: radius times row bound.
    """

    @property
    def name(self) -> str:
        """Key in the registry."""
        ...

    @property
    def task(self) -> str:
        """One of ``"classification"`` (two classes), ``"multiclass"`` and ``"regression"``."""
        ...

    @property
    def link(self) -> str:
        """How scores predict: ``"logistic"``, ``"sign"``, ``"softmax"`` or ``"identity"``."""
        ...

    @property
    def globally_lipschitz(self) -> bool:
        """Whether the loss is Lipschitz on all of R^p, not only on a bounded domain."""
        ...

    @property
    def labels(self) -> tuple[float, ...] | None:
        """Targets allowed; None for any finite number."""
        ...

    @property
    def outputs(self) -> int:
        """Scores a row has: the parameters are this many for each of its entries."""
        ...

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant of one row's loss on the domain."""
        ...

    def smoothness(self, row_bound: float) -> float:
        """Lipschitz constant of one row's gradient, infinite for a loss with kinks."""
        ...

    def oscillation(self, reach: float) -> float:
        """Largest max − min, over the domain, of the difference of two rows' losses."""
        ...

    def empirical(self, rows: FloatArray, targets: FloatArray) -> EmpiricalLoss:
        """Mean loss of ``rows`` (n, p) with ``targets`` (n,)."""
        ...
