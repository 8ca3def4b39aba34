"""Collect a number of draws from a sampler, reporting on the way."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.cores import one_blas_thread
from rashomon_explorer.domains.ellipsoid import CutEllipsoid
from rashomon_explorer.samplers.base import Sampler
from rashomon_explorer.target import GibbsTarget
from rashomon_explorer.validation import check_count

_GRID = 2.0**20


@dataclass(frozen=True)
class Draws:
    """Draws of one target, and the work they took."""

    coef: FloatArray  # (k, p): models, rounded to the public grid of 2⁻²⁰
    losses: FloatArray  # (k,): losses of the models as drawn (curator)
    acceptance: float  # draws accepted for each model whose loss was evaluated (curator)
    region: CutEllipsoid | None = None  # what was released beside them, for the same price

    def first(self, count: int) -> "Draws":
        """Keep the first ``count`` draws."""
        return replace(self, coef=self.coef[:count], losses=self.losses[:count])


def collect(
    sampler: Sampler,
    target: GibbsTarget,
    n_draws: int,
    rng: np.random.Generator,
    report: Callable[[Draws], bool] | None = None,
) -> Draws:
    """Take the first ``n_draws`` draws of a sampler.

    ``report`` is called with the draws so far after each batch; returning True stops early.

    >>> from rashomon_explorer.problem import Problem
    >>> from rashomon_explorer.samplers import ExactSampler
    >>> target = GibbsTarget(Problem([[0.5], [-0.5]], [1, -1]), beta=20.0, psi=0.1)
    >>> collect(ExactSampler(), target, 3, np.random.default_rng(0)).coef.shape
    (3, 2)
    """
    check_count(n_draws=n_draws)
    with one_blas_thread():
        return _collected(sampler, target, n_draws, rng, report)


def _collected(
    sampler: Sampler,
    target: GibbsTarget,
    n_draws: int,
    rng: np.random.Generator,
    report: Callable[[Draws], bool] | None,
) -> Draws:
    coef = np.empty((0, target.problem.p))
    losses = np.empty(0)
    accepted = evaluated = 0
    for batch in sampler.batches(target, rng):
        accepted += len(batch.losses)
        evaluated += batch.evaluated
        coef = np.concatenate([coef, to_public_grid(batch.theta.T)])[:n_draws]
        losses = np.concatenate([losses, batch.losses])[:n_draws]
        draws = Draws(coef, losses, accepted / max(1, evaluated), batch.region)
        stop = report(draws) if report is not None else False
        if stop or len(losses) == n_draws:
            return draws
    raise AssertionError("a sampler's batches never end")


def to_public_grid(theta: FloatArray) -> FloatArray:
    """Round to multiples of 2⁻²⁰: the last bits of a double can betray the noise that made it.

    Examples
    --------
    >>> float(to_public_grid(np.array([1 / 3]))[0]) * 2**20
    349525.0
    """
    return np.round(theta * _GRID) / _GRID + 0.0  # −0.0 and 0.0 are one output
