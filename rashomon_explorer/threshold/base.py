"""What the shape of a threshold must offer."""

from typing import Protocol

from rashomon_explorer.array_types import FloatArray


class Threshold(Protocol):
    """Energy of a model by its loss above the edge of the Rashomon set.

    Nondecreasing with slope at most 1 and 0 inside, so that a draw's price does not depend on
    the shape (docs/theory.md §1).
    """

    @property
    def name(self) -> str:
        """Key in the registry."""
        ...

    def energy(self, beyond: FloatArray) -> FloatArray:
        """Energy at losses ``beyond`` min L + ψ; same shape."""
        ...

    def slope(self, beyond: FloatArray) -> FloatArray:
        """Differentiate the energy; same shape."""
        ...
