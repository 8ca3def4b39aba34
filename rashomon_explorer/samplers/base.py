"""What a sampler must offer: batches of models, and the truth about their privacy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains.ellipsoid import CutEllipsoid
from rashomon_explorer.planning import Plan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.samplers.traits import Traits
from rashomon_explorer.target import GibbsTarget


@dataclass(frozen=True)
class Batch:
    """Some draws, perhaps none, and the work they took.

    Parameters
    ----------
    theta : ndarray of shape (p, k)
        Draws, one a column.
    losses : ndarray of shape (k,)
        Their losses (curator).
    evaluated : int
        Models whose loss was evaluated on the rows for this batch (curator).
    region : CutEllipsoid, optional
        What was released beside the draws, under the same guarantee, and they were drawn from.
    """

    theta: FloatArray
    losses: FloatArray
    evaluated: int
    region: CutEllipsoid | None = None


class Sampler(Protocol):
    """A way to draw models from a target.

    A batch is a short piece of work (a tenth of a second or so), so that its caller can stop
    or report between batches; ``batches`` gives up the GIL once a batch.
    """

    name: ClassVar[str]

    def guarantee(self, plan: Plan) -> Guarantee:
        """Privacy of all the plan's draws, proved for the code that runs."""
        ...

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Endless batches of draws."""
        ...


class PlannedSampler(Sampler, Protocol):
    """A sampler that carries out a plan, and says what is true of its draws."""

    traits: ClassVar[Traits]

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Sampler of a plan's draws.

        Parameters
        ----------
        plan : Plan
        patience : int, optional
            Refused proposals in a row after which it may give up, where it may at all.
        spread : float, optional
            Public upper bound of max − min of the loss over the domain.
        """
        ...
