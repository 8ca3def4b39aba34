"""Exact draws at ψ = 0, for whoever wants good models rather than many kinds of them."""

from dataclasses import dataclass
from typing import ClassVar

from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.traits import Traits


@dataclass(frozen=True)
class UnthresholdedSampler(ExactSampler):
    """Exact draws from exp(−βL), the exponential mechanism, whatever ψ the set has.

    They crowd near the best model, so that more of them lie in the Rashomon set than of as cold a
    thresholded law, and they show less of it than there is.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.5], [-0.5]] * 5_000, [1, 0] * 5_000
    >>> asked = RashomonClassifier(sampler="unthresholded", epsilon=4.0, delta=1e-6, n_draws=1)
    >>> fitted = asked.fit(X, y)
    >>> fitted.plan_.psi, fitted.plan_.drawn_psi
    (0.02, 0.0)
    """

    name: ClassVar[str] = "unthresholded"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        planned_law=True,
        may_give_up=True,
        mechanism="unthresholded",
        weighed=True,
    )
