"""What a loss must offer: public constants before any row is read, and an empirical loss after."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class RadialBound(Protocol):
    """A certified lower bound of the excess loss as a function of the whitened radius alone.

    With h = θ − θ*, u = A^{1/2} h and r = ‖u‖ it states that along every ray from the minimiser
    the loss, less its linear part, exceeds its minimum by at least ``bound(r)``.
    It is nondecreasing in r and 0 at r = 0.
    """

    def __call__(self, radius: FloatArray) -> FloatArray:
        """Lower bound at each radius, same shape as ``radius``."""
        ...


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
        """Mean loss (K,) and its gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        ...

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        ...

    def radial_bound(self, theta: FloatArray, whiten: FloatArray) -> RadialBound:
        """Bound around the model ``theta`` (p,) in the metric A with ``whiten`` = A^{-1/2} (p, p).

        A must dominate the Hessian at ``theta``.
        """
        ...


class Loss(Protocol):
    """A loss of a linear score z·θ, with constants that hold for every row the bounds allow.

    ``reach`` below is the largest |z·θ| over allowed rows and models: radius times row bound.
    """

    @property
    def name(self) -> str:
        """Key in the registry."""
        ...

    @property
    def task(self) -> str:
        """Either ``"classification"`` or ``"regression"``."""
        ...

    @property
    def link(self) -> str:
        """How a score becomes a prediction: ``"logistic"`` or ``"identity"``."""
        ...

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant of one row's loss on the domain."""
        ...

    def smoothness(self, row_bound: float) -> float:
        """Lipschitz constant of one row's gradient."""
        ...

    def oscillation(self, reach: float) -> float:
        """Largest max − min, over the domain, of the difference of two rows' losses."""
        ...

    def empirical(self, rows: FloatArray, targets: FloatArray) -> EmpiricalLoss:
        """Mean loss of ``rows`` (n, p) with ``targets`` (n,)."""
        ...
