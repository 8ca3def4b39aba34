"""Bounds of the excess loss around a model, against the loss itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses import LOSSES, get_loss
from rashomon_explorer.problem.losses.logistic import LogisticRisk, Softplus
from rashomon_explorer.problem.losses.tables import HostRows
from rashomon_explorer.problem.lower_bounds import ENVELOPES, excess_bound
from tests.problem.rows import random_rows

CURVED = ["logistic", "smoothed_hinge", "squared"]


def bound_and_loss_on_rays(name, seed, scale=1.0):
    """Certified bound, with its linear part, against the loss along random rays."""
    rng = np.random.default_rng(seed)
    rows, targets = random_rows(name, rng, n=60, p=3)
    empirical = get_loss(name).empirical(rows, targets)
    theta = rng.standard_normal(3) * rng.uniform(0, 3) * scale
    pad = 0.01 if name == "smoothed_hinge" else 0.0  # all rows may be off the parabola
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta) + pad * np.eye(3))
    whiten = vectors / np.sqrt(eigenvalues)
    bound = excess_bound(empirical, theta, whiten)
    points = rng.standard_normal((3, 60))
    points *= 10.0 ** rng.uniform(-3, 1.5, 60) / np.linalg.norm(points, axis=0)
    step = whiten @ points
    value, gradient = empirical.value_and_gradient(theta[:, None])
    excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
    return bound, points, excess + pad / 2 * np.sum(step**2, axis=0)


@pytest.mark.parametrize("name", CURVED)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_excess_bound_never_passes_the_loss(name, seed, scale):
    bound, points, excess = bound_and_loss_on_rays(name, seed, scale)
    radius = np.linalg.norm(points, axis=0)
    at, radial = bound.at(points), bound.radial(radius)
    assert (at <= excess + 1e-9 * (1 + excess)).all()
    assert (radial <= at * (1 + 1e-12)).all()
    assert (np.diff(bound.radial(np.linspace(0, 2 * radius.max(), 500))) >= 0).all()
    assert bound.radial(np.zeros(1))[0] == 0


@pytest.mark.parametrize("part", ["largest_third", "largest_fourth", "cubic", "lever"])
def test_each_part_of_the_radial_bound_is_needed_in_full(part):
    """A part made too small must be caught when it decides; the others are switched off."""
    huge = {"largest_third": 1e9, "largest_fourth": 1e9, "cubic": 1e9, "lever": 1e9}
    decides = {"largest_third": {"largest_fourth"}, "largest_fourth": {"largest_third"}}
    kept = {part, *decides.get(part, set())}
    caught = 0
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays("logistic", seed)
        off = {name: value for name, value in huge.items() if name not in kept}
        if part in ("cubic", "lever"):
            off.pop("largest_third"), off.pop("largest_fourth")
            off |= {"third": None, "fourth": None}
        spoiled = replace(bound, **off, **{part: getattr(bound, part) / 20})
        radius = np.linalg.norm(points, axis=0)
        assert (replace(bound, **off).radial(radius) <= excess + 1e-9 * (1 + excess)).all()
        caught += (spoiled.radial(radius) > excess + 1e-9 * (1 + excess)).any()
    assert caught > 5


@pytest.mark.parametrize("part", ["largest_fourth", "largest_dropped"])
def test_each_part_of_a_clipped_slopes_bound_is_needed(part):
    """Twenty times too little must be caught, for some of the limits on some problems."""
    caught = 0
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays("smoothed_hinge", seed)
        radius = np.linalg.norm(points, axis=0)
        spoiled = [replace(one, **{part: getattr(one, part) / 20}) for one in bound.parts]
        above = replace(bound, parts=tuple(spoiled)).radial(radius) > excess + 1e-9 * (1 + excess)
        caught += above.any()
    assert caught > 5


def test_the_bound_of_a_clipped_slope_keeps_most_of_the_curvature():
    rows, targets = random_rows("smoothed_hinge", np.random.default_rng(0), n=4000)
    empirical = get_loss("smoothed_hinge").empirical(rows, targets)
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(np.zeros(3) + 0.3))
    bound = excess_bound(empirical, np.zeros(3) + 0.3, vectors / np.sqrt(eigenvalues))
    radius = np.array([0.03, 0.2])
    assert (bound.radial(radius) / (radius**2 / 2) > [0.85, 0.45]).all()


def test_the_bound_is_right_to_third_order():
    bound, points, _ = bound_and_loss_on_rays("logistic", 3)
    rng = np.random.default_rng(3)
    rows, targets = random_rows("logistic", rng, n=60, p=3)
    theta = rng.standard_normal(3) * rng.uniform(0, 3)
    empirical = get_loss("logistic").empirical(rows, targets)
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta))
    small = points / np.linalg.norm(points, axis=0) * 0.05
    step = (vectors / np.sqrt(eigenvalues)) @ small
    value, gradient = empirical.value_and_gradient(theta[:, None])
    excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
    assert np.abs(excess - bound.at(small)).max() < 0.05**4 * (1 + bound.largest_fourth)


def test_many_parameters_fall_back_on_the_lever():
    rng = np.random.default_rng(0)
    for name in ("logistic", "smoothed_hinge"):
        rows, targets = random_rows(name, rng, n=200, p=70)
        empirical = get_loss(name).empirical(rows, targets)
        theta = rng.standard_normal(70) / 10
        pad = 1e-3 * np.eye(70)
        eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta) + pad)
        whiten = vectors / np.sqrt(eigenvalues)
        bound = excess_bound(empirical, theta, whiten)
        assert all(part.fourth is None for part in getattr(bound, "parts", [bound]))
        points = rng.standard_normal((70, 50)) * 10.0 ** rng.uniform(-3, 0, 50)
        at, radial = bound.at(points), bound.radial(np.linalg.norm(points, axis=0))
        assert (at == radial).all()
        value, gradient = empirical.value_and_gradient(theta[:, None])
        step = whiten @ points
        excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
        assert (radial <= excess + 0.5e-3 * np.sum(step**2, axis=0) + 1e-12).all()


@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_a_loss_with_kinks_says_what_works_without_a_bound(name):
    empirical = get_loss(name).empirical(*random_rows(name, np.random.default_rng(0)))
    with pytest.raises(SamplerError, match=r"smoothed_hinge.*from tangent planes"):
        excess_bound(empirical, np.zeros(3), np.eye(3))


def test_every_loss_of_the_registry_has_an_entry():
    rows, targets = np.eye(2), np.array([1.0, 1.0])
    assert {type(make().empirical(rows, targets)) for make in LOSSES.values()} == set(ENVELOPES)


def test_a_loss_of_a_users_own_is_not_taken_for_the_one_it_extends():
    """A subclass may compute something else: its parent's bound proves nothing about it."""

    class Doubled(LogisticRisk):
        def value(self, theta):
            return 2 * super().value(theta)

    with pytest.raises(SamplerError, match=r"no envelope of Doubled.*from planes"):
        excess_bound(Doubled(HostRows(np.eye(2)), Softplus()), np.zeros(2), np.eye(2))
