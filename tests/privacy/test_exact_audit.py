"""Exact audit in one dimension: integrate the densities of all neighbours and compare them."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from rashomon_explorer.privacy import Plan, plan
from rashomon_explorer.problem import Problem
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]
Record = tuple[float, float]
Law = Callable[[Problem, Plan], FloatArray]

# Extreme records, a middling one, and one that says nothing.
RECORDS: dict[str, list[Record]] = {
    "logistic": [(1.0, 1.0), (-1.0, 1.0), (0.4, 1.0), (0.0, 1.0)],
    "squared": [(1.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (0.3, -1.0), (0.0, 1.0)],
}
# With radius 1 opposite rows attain the squared loss's oscillation; with 1.5 it takes two columns.
PROBLEMS = [("logistic", 4.0), ("logistic", 0.5), ("squared", 1.0), ("squared", 1.5)]
ATTAINED = PROBLEMS[:3]
PSI = [0.0, 0.01, 0.3]


def gibbs(problem: Problem, planned: Plan) -> FloatArray:
    """Log density of the law that the estimators draw from, on the grid."""
    return GibbsTarget(problem, planned.beta, planned.psi).log_density(grid(problem))


def grid(problem: Problem, points: int = 4001) -> FloatArray:
    radius = problem.domain.radius
    return np.linspace(-radius, radius, points)[None, :]


def normalised(log_density: FloatArray) -> FloatArray:
    """Trapezoidal rule; the grid's spacing cancels in every ratio."""
    weights = np.ones(len(log_density))
    weights[[0, -1]] = 0.5
    return np.asarray(log_density - logsumexp(log_density, b=weights))


def problem_of(records: Sequence[Record], loss: str, radius: float) -> Problem:
    x, y = np.array(records).T
    return Problem(x[:, None], y, loss=loss, radius=radius, intercept=False)


def compared(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Largest |log ratio|, and its range, where −∞ against −∞ counts as equal."""
    with np.errstate(invalid="ignore"):
        ratio = np.where(one == other, 0.0, one - other)
    return float(np.abs(ratio).max()), float(ratio.max() - ratio.min())


def audit(
    law: Law, loss: str, radius: float, n: int, psi: float, epsilon: float
) -> tuple[float, float]:
    """Largest |log ratio| and largest range of it, in units of η, over all neighbours."""
    planned = plan(n, 1, psi, loss=loss, radius=radius, row_norm=1.0, epsilon=epsilon)
    every = itertools.combinations_with_replacement(range(len(RECORDS[loss])), n)
    laws = {
        members: normalised(
            law(problem_of([RECORDS[loss][i] for i in members], loss, radius), planned)
        )
        for members in every
    }
    largest = widest = 0.0
    for rest in itertools.combinations_with_replacement(range(len(RECORDS[loss])), n - 1):
        family = [laws[tuple(sorted((*rest, i)))] for i in range(len(RECORDS[loss]))]
        for one, other in itertools.combinations(family, 2):
            ratio, span = compared(one, other)
            largest, widest = max(largest, ratio), max(widest, span)
    return largest / planned.eta, widest / planned.eta


@pytest.mark.parametrize(("loss", "radius"), PROBLEMS)
@pytest.mark.parametrize("psi", PSI)
@pytest.mark.parametrize(("n", "epsilon"), [(2, 0.5), (3, 4.0), (4, 20.0)])
def test_no_neighbours_differ_by_more_than_the_price(
    loss: str, radius: float, psi: float, n: int, epsilon: float
) -> None:
    largest, widest = audit(gibbs, loss, radius, n, psi, epsilon)
    assert 0.3 < largest <= 1 + 1e-9
    assert 0.3 < widest <= 1 + 1e-9


@pytest.mark.parametrize(("loss", "radius"), ATTAINED)
def test_the_range_is_attained(loss: str, radius: float) -> None:
    assert audit(gibbs, loss, radius, 3, 0.0, 4.0)[1] > 1 - 1e-5


@pytest.mark.parametrize(("loss", "radius"), ATTAINED)
@pytest.mark.parametrize("psi", [0.0, 0.01])
def test_the_whole_price_is_attained(loss: str, radius: float, psi: float) -> None:
    """Many rows that agree, one that leaves them: both laws sit at one end of the ball."""
    n = 60
    planned = plan(n, 1, psi, loss=loss, radius=radius, row_norm=1.0, epsilon=60.0)
    agree = [(1.0, 1.0)] * n
    laws = [
        normalised(gibbs(problem_of(records, loss, radius), planned))
        for records in (agree, [(-1.0, 1.0), *agree[1:]])
    ]
    assert 0.9 < compared(*laws)[0] / planned.eta <= 1 + 1e-9


@pytest.mark.parametrize(("loss", "radius"), PROBLEMS)
@pytest.mark.parametrize("psi", PSI)
def test_half_the_oscillation_is_caught(loss: str, radius: float, psi: float) -> None:
    """Negative control: twice the temperature that was paid for."""

    def bold(problem: Problem, planned: Plan) -> FloatArray:
        return GibbsTarget(problem, 2 * planned.beta, planned.psi).log_density(grid(problem))

    assert audit(bold, loss, radius, 4, psi, 20.0)[1] > 1.2


@pytest.mark.parametrize(
    ("loss", "radius", "factor"),
    [("logistic", 4.0, 4.0), ("logistic", 0.5, 1.3), ("squared", 1.0, 4.0), ("squared", 1.5, 4.0)],
)
def test_a_threshold_relative_to_the_minimum_is_caught(
    loss: str, radius: float, factor: float
) -> None:
    """Negative control: a multiple of the minimum moves by more than one row's share."""

    def relative(problem: Problem, planned: Plan) -> FloatArray:
        level = factor * problem.minimum.value
        return -planned.beta * np.maximum(problem.value(grid(problem)), level)

    assert audit(relative, loss, radius, 4, 0.0, 60.0)[0] > 1.1


@pytest.mark.parametrize(("loss", "radius"), PROBLEMS)
def test_uniform_on_the_rashomon_set_is_caught(loss: str, radius: float) -> None:
    """Negative control: what hit-and-run draws from has no guarantee."""

    def uniform(problem: Problem, planned: Plan) -> FloatArray:
        inside = problem.value(grid(problem)) <= problem.minimum.value + planned.psi
        return np.where(inside, 0.0, -np.inf)

    assert audit(uniform, loss, radius, 3, 0.05, 4.0)[0] == np.inf


@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_with_an_intercept(psi: float) -> None:
    """Two dimensions: the whole row (x, 1) is priced, not only x."""
    n, radius = 3, 3.0
    planned = plan(n, 2, psi, radius=radius, row_norm=np.hypot(1.0, 1.0), epsilon=30.0)
    axis = np.linspace(-radius, radius, 161)
    theta = np.array([t for t in itertools.product(axis, axis) if np.hypot(*t) <= radius]).T
    records = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]

    def law(members: Sequence[int]) -> FloatArray:
        x, y = np.array([records[i] for i in members]).T
        problem = Problem(x[:, None], y, radius=radius)
        log_density = GibbsTarget(problem, planned.beta, psi).log_density(theta)
        return np.asarray(log_density - logsumexp(log_density))

    found = []
    for rest in itertools.combinations_with_replacement(range(4), n - 1):
        family = [law([*rest, i]) for i in range(4)]
        found += [compared(one, other) for one, other in itertools.combinations(family, 2)]
    largest, widest = np.max(found, axis=0) / planned.eta
    assert 0.5 < largest <= 1 + 1e-9
    assert 0.95 < widest <= 1 + 1e-9


def test_only_the_features_priced_is_caught() -> None:
    """Negative control of the intercept: without its column the oscillation is too small."""
    bare = plan(3, 2, 0.0, radius=3.0, row_norm=1.0, epsilon=1.0).oscillation
    whole = plan(3, 2, 0.0, radius=3.0, row_norm=np.hypot(1.0, 1.0), epsilon=1.0).oscillation
    edge = 3.0 * np.array([[1.0], [1.0]]) / np.sqrt(2)
    for_it, against = (Problem([[1.0]] * 3, [y, 1, 1], radius=3.0) for y in (1, -1))
    difference = [float(against.value(s * edge)[0] - for_it.value(s * edge)[0]) for s in (1, -1)]
    assert bare < difference[0] - difference[1] <= whole
