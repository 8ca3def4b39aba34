"""Noisy gradient chains of which no row moves the gradient by more than half of its length."""

from dataclasses import dataclass
from typing import ClassVar

from rashomon_explorer.planning.clipped_path import ClippedPathPlan
from rashomon_explorer.samplers.drift import ClippedDrift, Drift
from rashomon_explorer.samplers.planned_path import PlannedPath
from rashomon_explorer.samplers.traits import Traits
from rashomon_explorer.target import GibbsTarget


@dataclass(frozen=True)
class LangevinClipped(PlannedPath):
    """Averages of chains that follow the loss with every row's slope clipped; they always end.

    For one good model of few rows or at a small ε: the noise is half of that of
    ``"langevin_average"``. What is promised is the clipped loss; no excess of the loss itself, and
    so no hit rate, is.

    Parameters
    ----------
    plan : ClippedPathPlan
        From :func:`rashomon_explorer.planning.clipped_path.plan_clipped_path`.

    Raises
    ------
    TypeError
        If the plan is another.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.5], [-0.5]] * 500, [1, 0] * 500
    >>> asked = RashomonClassifier(sampler="langevin_clipped", random_state=0)
    >>> bool(asked.fit(X, y).encoded_coef_[0, 0] > 0)
    True
    """

    name: ClassVar[str] = "langevin_clipped"
    traits: ClassVar[Traits] = Traits(independent=True, mechanism="path_clipped", weighed=True)

    def __post_init__(self) -> None:
        """Refuse a plan of chains that follow another gradient."""
        if not isinstance(self.plan, ClippedPathPlan):
            raise TypeError("these chains need a ClippedPathPlan: make it with plan_clipped_path")

    def _drift(self, target: GibbsTarget) -> Drift:
        assert isinstance(self.plan, ClippedPathPlan)
        return ClippedDrift(target, self.plan.most)
