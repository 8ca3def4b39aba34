"""The finite grid: exact laws, exact prices, and functions with many minima."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.samplers import finite_grid as integer_law
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler, IntegerLaw
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball
from tests.mechanisms.samplers.laws import small_problem


@dataclass
class Landscape:
    """Two wells of different depth: no convex solver finds the deeper one from everywhere."""

    p: int = 1
    tilt: float = 0.05
    domain: Ball = field(default_factory=lambda: Ball(2.0))

    def value(self, theta):
        return ((theta**2 - 1) ** 2 - self.tilt * theta).sum(axis=0)


def draw(target, n_draws, seed=0, **settings):
    sampler = FiniteGridSampler(**settings)
    return collect(sampler, target, n_draws, np.random.default_rng(seed))


def log_weights(law):
    return np.log(law.mantissas) - np.log(2) * law.depths


def spread(first, second):
    """Width of the range of the log ratio; the unit of the weights cancels."""
    ratio = first - second
    return ratio.max() - ratio.min()


def test_every_place_belongs_to_a_point_in_proportion_to_its_weight(monkeypatch):
    monkeypatch.setattr(integer_law, "_BITS", 3)
    monkeypatch.setattr(integer_law, "_DEEPEST", 4)
    law = IntegerLaw(np.array([0.7, 0.0, 3.0, 0.1, 9.0, 1.4, 0.0]))
    owned = np.bincount([law.at(place) for place in range(law.total)])
    assert owned.tolist() == (law.mantissas << (law.depths.max() - law.depths)).tolist()
    assert law.at(law.total - 1) == 4  # the capped point is still there


def test_weights_are_right_to_forty_bits_down_to_the_cap():
    energies = np.linspace(0.0, 400.0, 100_001)
    law = IntegerLaw(energies)
    logs = log_weights(law)
    capped = np.minimum(energies, 255 * np.log(2))
    assert np.abs(logs - logs[0] + capped).max() < 2.0**-38
    assert (law.mantissas < 2**40).all()
    assert (law.mantissas >= 1).all()


def test_a_function_with_two_minima_is_drawn_from_both_wells():
    target = GibbsTarget(Landscape(), beta=40.0, psi=0.01)
    points = FiniteGridSampler().points(1, Ball(2.0))
    energy = 40.0 * np.maximum(
        Landscape().value(points) - Landscape().value(points).min() - 0.01, 0
    )
    right = np.exp(-energy)[points[0] > 0].sum() / np.exp(-energy).sum()
    drawn = (draw(target, 5000).coef[:, 0] > 0).mean()
    assert 0.7 < right < 0.999
    assert drawn == pytest.approx(right, abs=4 * np.sqrt(0.25 / 5000))


class Ring(Ball):
    """A region with a hole."""

    def contains(self, theta):
        return super().contains(theta) & (np.einsum("ij,ij->j", theta, theta) >= 1.0)


def test_a_region_with_a_hole_is_a_region():
    target = GibbsTarget(Landscape(p=2, domain=Ring(2.0)), beta=1.0, psi=0.0)
    lengths = np.linalg.norm(draw(target, 500).coef, axis=1)
    assert 1.0 <= lengths.min() < 1.1 < lengths.max() <= 2.0


def test_no_minimum_is_asked_of_the_problem(monkeypatch):
    def refuse(*_):
        raise AssertionError("the grid has its own minimum")

    monkeypatch.setattr("rashomon_explorer.problem.problem.minimise", refuse)
    assert len(draw(GibbsTarget(small_problem(3), 10.0, 0.02), 5).coef) == 5


def test_functions_without_shape_keep_the_price_too():
    rng = np.random.default_rng(0)
    for psi in (0.0, 0.3, 2.0):
        for _ in range(50):
            first = rng.normal(size=200) * 3
            second = first + rng.uniform(0.0, 0.1, size=200) + rng.normal()
            laws = []
            for losses in (first, second):
                energy = 20.0 * np.maximum(losses - losses.min() - psi, 0.0)
                laws.append(log_weights(IntegerLaw(energy)))  # many lie beyond the cap of 177
            assert spread(*laws) <= 20.0 * 0.1 + 2.0**-37


def test_the_grid_is_public_symmetric_and_inside():
    points = FiniteGridSampler(spacing=0.1).points(2, Ball(0.3))
    assert (np.abs(points).max(axis=1) > 0.29).all()  # 0.3/0.1 is an ulp below 3
    assert {tuple(point) for point in points.T} == {tuple(-point) for point in points.T}
    sizes = [FiniteGridSampler().points(p, Ball(4.0)).shape[1] for p in (1, 2, 3)]
    assert sizes == [2049, 12853, 17077]


class Broken(Landscape):
    def value(self, theta):
        return np.where(theta[0] > 1.0, np.nan, 0.0)


@pytest.mark.parametrize(
    ("problem", "settings", "message"),
    [
        (small_problem(4), {}, "at most 3 parameters, got 4"),
        (small_problem(2), {"spacing": 0.01, "most_points": 1000},
         r"more than most_points=1,000: use a spacing of 0\.\d+"),
        (Landscape(p=2, domain=Ring(2.0)), {"spacing": 5.0}, "no multiple of spacing 5 lies in"),
        (Broken(), {}, "is nan: it must be finite"),
        (small_problem(2), {"spacing": -1.0}, r"spacing must be finite and > 0, got -1\.0"),
        (small_problem(2), {"most_points": 2**23}, "most_points must be in"),
    ],
)  # fmt: skip
def test_a_grid_that_cannot_be_made_says_why(problem, settings, message):
    with pytest.raises((SamplerError, ValueError), match=message):
        draw(GibbsTarget(problem, 10.0, 0.0), 1, **settings)


def test_evaluation_comes_in_short_empty_batches_and_counts_its_looks():
    target = GibbsTarget(small_problem(2, n=50_000), 10.0, 0.0)
    batches = FiniteGridSampler(spacing=0.2).batches(target, np.random.default_rng(0))
    seen, points = 0, FiniteGridSampler(spacing=0.2).points(2, target.problem.domain).shape[1]
    while (batch := next(batches)).theta.shape[1] == 0:
        assert batch.evaluated <= 2**22 // 50_000
        seen += batch.evaluated
    assert seen == points
    assert batch.evaluated == 0
