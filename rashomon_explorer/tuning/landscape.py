"""The validation loss of the fit that each penalty leads to: a function that can be drawn from."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.progress import progress
from rashomon_explorer.samplers.finite_grid import FiniteGridSampler, GridTarget, Landscape
from rashomon_explorer.tuning.inner import InnerProblem, Solved
from rashomon_explorer.tuning.outer import OuterLoss
from rashomon_explorer.tuning.penalties import Cube, PenaltyBox
from rashomon_explorer.validation import check_nonnegative, check_positive


@dataclass(frozen=True)
class PenaltyLandscape:
    """Φ(x) = F(y*(x)), y*(x) = argmin G(λ(x), ·), on a cube of log penalties.

    It is neither convex nor cheap, but what the exact sampler on a grid asks of a landscape.

    Parameters
    ----------
    inner : InnerProblem
        Training rows.
    outer : OuterLoss
        Validation rows.
    box : PenaltyBox
    tolerance : float, default=1e-9
        Of ‖Λ^½(y − y*)‖; public, because every draw pays for it.

    Examples
    --------
    >>> from rashomon_explorer.samplers.finite_grid import FiniteGridSampler
    >>> from rashomon_explorer.tuning.margins import SquaredMargin
    >>> squared, rows = SquaredMargin(), np.array([[1.0], [0.5]])
    >>> inner = InnerProblem(rows, np.array([1.0, 0.2]), squared)
    >>> outer = OuterLoss(rows, np.array([0.4, 0.2]), squared, margin_bound=1.0)
    >>> landscape = PenaltyLandscape(inner, outer, PenaltyBox((0,), 0.1, 10.0))
    >>> target = PenaltyTarget(landscape, beta=1e4)
    >>> batches = FiniteGridSampler(spacing=landscape.domain.radius / 16).batches(
    ...     target, np.random.default_rng(0)
    ... )
    >>> drawn = next(batch for batch in batches if batch.theta.shape[1])
    >>> float(landscape.box.group_penalties(drawn.theta)[0, 0].round(2))
    0.75
    """

    inner: InnerProblem
    outer: OuterLoss
    box: PenaltyBox
    tolerance: float = 1e-9

    @property
    def p(self) -> int:
        """Number of penalties, the parameters of this landscape."""
        return self.box.d

    @property
    def n(self) -> int:
        """Number of training rows, by which samplers cut their work into pieces."""
        return self.inner.n

    @property
    def domain(self) -> Cube:
        """Where log penalties may lie."""
        return self.box.domain

    def model(self, x: FloatArray, tolerance: float | None = None) -> Solved:
        """y*(x) at one point (d,), and how near it is known to be."""
        asked = self.tolerance if tolerance is None else tolerance
        return self.inner.solve(self.box.penalties(x[:, None])[:, 0], asked)

    def value(self, theta: FloatArray) -> FloatArray:
        """Φ (K,) at columns of ``theta`` (d, K)."""
        models = [self.model(x).y for x in progress(theta.T, "fits")]
        return self.outer.value(np.stack(models, axis=1))

    def gradient(self, x: FloatArray, tolerance: float | None = None) -> FloatArray:
        """Hypergradient ∇Φ (d,) at one point (d,): −(∇²_xy G)ᵀ [∇²_yy G]⁻¹ ∇F, one linear solve.

        Equation (9) of Lowy and Liu; F does not depend on x otherwise.
        """
        penalties = self.box.penalties(x[:, None])[:, 0]
        y = self.model(x, tolerance).y
        direction = cho_solve(cho_factor(self.inner.hessian(penalties, y)), self.outer.gradient(y))
        return np.asarray(-self.box.jacobian(penalties, y).T @ direction)


@dataclass(frozen=True)
class PenaltyTarget:
    """Law ∝ exp(−β·max(Φ − min Φ − ψ, 0)) of penalties, as a sampler on a grid asks for it.

    Parameters
    ----------
    problem : PenaltyLandscape or another function of log penalties
    beta : float
        Inverse temperature, > 0.
    psi : float, default=0.0
        Penalties within ψ of the least validation loss are equally likely.

    Examples
    --------
    >>> PenaltyTarget(None, beta=2.0, psi=0.1).energy(np.array([0.0, 0.1, 1.1])).tolist()
    [0.0, 0.0, 2.0]
    """

    problem: Landscape
    beta: float
    psi: float = 0.0

    def __post_init__(self) -> None:
        """Refuse parameters that define no law."""
        check_positive(beta=self.beta)
        check_nonnegative(psi=self.psi)

    def energy(self, excess: FloatArray) -> FloatArray:
        """β·max(excess − ψ, 0)."""
        return np.asarray(self.beta * np.maximum(excess - self.psi, 0.0))


def first_draws(
    sampler: FiniteGridSampler, target: GridTarget, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Points (d, n_draws) that are drawn first."""
    drawn = np.empty((target.problem.p, 0))
    for batch in sampler.batches(target, rng):
        drawn = np.hstack([drawn, batch.theta])
        if drawn.shape[1] >= n_draws:
            return np.asarray(drawn[:, :n_draws])
    raise AssertionError("a sampler's batches never end")
