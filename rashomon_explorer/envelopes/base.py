"""What a lower bound of the loss around a model must offer to rejection and to exact ranges."""

from typing import Protocol

from rashomon_explorer.array_types import FloatArray


class ExcessBound(Protocol):
    """A certified lower bound of the excess loss around a model θ*.

    With h = θ − θ* and u = A^{1/2} h it states that the loss, less its linear part and with the
    quadratic that A has beyond the Hessian, exceeds its value at θ* by at least ``at(u)``, which
    is at least ``radial(‖u‖)``.
    """

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound by the radius alone, nondecreasing and 0 at 0; same shape as ``radius``."""
        ...

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) at whitened points (p, K)."""
        ...
