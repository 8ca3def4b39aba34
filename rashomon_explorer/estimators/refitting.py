"""A private fit with given penalties: columns are scaled so that a ball and one ridge serve."""

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import NUMPY
from rashomon_explorer.constants import row_bound
from rashomon_explorer.estimators.choosing import chosen
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.offers import ZCDP
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers import SAMPLERS
from rashomon_explorer.samplers.collect import collect
from rashomon_explorer.target import GibbsTarget
from rashomon_explorer.tuning import PenaltyConstants


def refit_plan(
    known: PenaltyConstants, p: int, row_norm: float, epsilon: float, delta: float
) -> Plan:
    """Plan of one good model, by the way of which the planner expects the least loss.

    With φ_j = θ_j·√(λ_j/λ), λ the lowest penalty, ½Σλ_jθ_j² is ½λ‖φ‖², columns only shrink, and
    the best φ is no longer than √(c/λ) for any penalties: radius, ridge and rows are public before
    a penalty is drawn.

    >>> known = PenaltyConstants("logistic", 1.5, 0.05, 1.0, 20_000, 10_000)
    >>> planned = refit_plan(known, 11, 1.0, epsilon=0.5, delta=0.0)
    >>> planned.n, planned.ridge, round(planned.radius, 2)
    (30000, 0.05, 2.36)
    """
    try:
        return chosen(
            n=known.n_train + known.n_val,
            p=p,
            psi=0.0,
            loss=known.loss.name,
            radius=known.fit_norm,
            row_norm=row_bound(row_norm, intercept=True),
            ridge=known.low,
            epsilon=epsilon,
            delta=delta,
            n_draws=1,
            ledger=ZCDP,  # it is composed with what chose the penalties
        )
    except SamplerError as error:
        raise SamplerError(f"no refit: {error}. Or tune alone, with refit=None") from None


def refitted(
    planned: Plan,
    rows: FloatArray,
    targets: FloatArray,
    penalties: FloatArray,
    row_norm: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw a model (p,) of whole rows (n, p), a constant column included, with penalties (p,).

    Reads the rows, which its plan pays for; ``row_norm`` is that of whole rows.
    """
    assert planned.radius is not None  # every mechanism says for which ball it planned
    shrunk = np.sqrt(planned.ridge / penalties)
    problem = Problem(
        rows * shrunk,
        targets,
        loss=planned.loss,
        radius=planned.radius,
        row_norm=row_norm,
        ridge=planned.ridge,
        intercept=False,
        arrays=NUMPY,
    )
    spread = problem.L * 2 * planned.radius
    sampler = SAMPLERS[planned.sampler].for_plan(planned, spread=spread)
    drawn = collect(sampler, GibbsTarget.of(problem, planned), 1, rng).coef[0]
    return np.asarray(drawn * shrunk)
