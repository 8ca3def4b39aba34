"""Noisy gradient chains at ψ = 0, for whoever wants good models rather than many kinds of them."""

from dataclasses import dataclass
from typing import ClassVar

from rashomon_explorer.samplers.planned_path import PlannedPath
from rashomon_explorer.samplers.traits import Traits


@dataclass(frozen=True)
class LangevinAverage(PlannedPath):
    """Averages of chains that follow exp(−βL), whatever ψ the set has; they always end.

    Parameters
    ----------
    plan : PathPlan
        From the mechanism ``"path_average"``.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.5], [-0.5]] * 5_000, [1, 0] * 5_000
    >>> asked = RashomonClassifier(sampler="langevin_average", epsilon=4.0, delta=1e-6, n_draws=1)
    >>> fitted = asked.fit(X, y)
    >>> fitted.plan_.psi, fitted.plan_.drawn_psi
    (0.02, 0.0)
    """

    name: ClassVar[str] = "langevin_average"
    traits: ClassVar[Traits] = Traits(independent=True, mechanism="path_average", weighed=True)
