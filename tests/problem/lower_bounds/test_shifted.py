"""Bounds around the middle of the drawn models: never above the loss, wherever the minimum is."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.rejection.envelope import Envelope, Shifted
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.lower_bounds.quartic import Minimised, ShiftedBound
from rashomon_explorer.problem.problem import Problem

KINDS = ["round", "outliers", "flat", "one line", "lattice", "scales"]


def rows_of(kind, n, p, rng):
    X = rng.standard_normal((n, p))
    if kind == "outliers":
        X *= rng.exponential(1.0, (n, 1)) ** 3
    elif kind == "flat":
        X[:, 0] = 0.0
    elif kind == "one line":
        X = X[:, :1] + 1e-4 * X
    elif kind == "lattice":
        X = np.round(X)
    elif kind == "scales":
        X *= 10.0 ** -np.arange(p)
    return X


def problem_of(kind, seed, p=3, n=40, radius=2.0, width=1.0, ridge=0.0, domain=None, noise=None):
    rng = np.random.default_rng(seed)
    X = rows_of(kind, n, p, rng)
    noise = rng.exponential(0.5) if noise is None else noise
    y = np.where(X[:, -1] + noise * rng.standard_normal(n) > 0, 1, -1)
    own = {"radius": radius, "ridge": ridge, "intercept": False, "domain": domain}
    return Problem(X, y, loss=SmoothedHingeLoss(width), **own)


def shifted(problem, beta, level):
    envelope = Envelope.of(GibbsTarget(problem, beta, 0.0))
    whiten = envelope.vectors / np.sqrt(envelope.curvature + envelope.least_pad)
    least, pad = problem.minimum.value, envelope.least_pad
    known = Minimised(envelope.centre, least, problem.ridge, envelope.tangent, pad, whiten)
    return ShiftedBound.of(envelope.bound.expansion, known, level), envelope


def models_and_steps(problem, bound, pad, rng, size):
    """Models near the centre and anywhere, the minimiser and the centre, and whitened steps."""
    noise = rng.standard_normal((problem.p, size))
    root = np.sqrt(bound.curvature + pad)[:, None]
    near = bound.vectors @ (noise / root) * bound.reach * 10.0 ** rng.uniform(-1.5, 0.7, size)
    theta = np.hstack(
        [
            problem.domain.project(bound.centre[:, None] + near),
            problem.domain.uniform(problem.p, size, rng),
            problem.minimum.theta[:, None],
            problem.domain.project(bound.centre[:, None]),
        ]
    )
    return theta, (bound.vectors.T @ (theta - bound.centre[:, None])) * root


def padded_excess(problem, bound, pad, theta):
    away = theta - bound.centre[:, None]
    return problem.value(theta) - problem.minimum.value + pad / 2 * np.sum(away**2, axis=0)


@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 6),
    n=st.sampled_from([1, 2, 30, 200]),
    radius=st.floats(0.05, 50.0),
    width=st.floats(0.02, 5.0),
    ridge=st.sampled_from([0.0, 0.05]),
    beta=st.floats(1.0, 1e5),
    level=st.floats(1e-5, 1.0),
)
@settings(max_examples=60)
def test_the_bound_is_never_above_the_loss(kind, seed, p, n, radius, width, ridge, beta, level):
    bound_is_below(problem_of(kind, seed, p, n, radius, width, ridge), beta, level, seed, 100)


def bound_is_below(problem, beta, level, seed, size):
    bound, envelope = shifted(problem, beta, level)
    pad, slack = envelope.least_pad, envelope.slack
    theta, steps = models_and_steps(problem, bound, pad, np.random.default_rng(seed), size)
    excess = padded_excess(problem, bound, pad, theta)
    assert (bound.at(steps) <= excess + slack).all()
    radial = bound.radial(np.linalg.norm(steps, axis=0))
    assert (radial <= excess + slack).all()
    assert (radial >= 0).all()
    assert (np.diff(bound.radial(np.linspace(0, 9 * bound.reach, 900))) >= 0).all()


@pytest.mark.parametrize(
    "domain", [Intersection(Shifted(Ball(0.5), (0.3, 0.0, 0.0)), Ball(0.4)), Ball(0.3)]
)
@pytest.mark.parametrize("seed", range(5))
def test_other_domains_hold_their_minimisers_too(domain, seed):
    bound_is_below(problem_of("round", seed, domain=domain), 300.0, 0.02, seed, 1000)


@cache
def useful_problem(seed, radius):
    problem = problem_of("round", seed, p=4, n=3000, radius=radius, noise=0.7)
    bound, envelope = shifted(problem, 2000.0, 0.02)
    theta, steps = models_and_steps(problem, bound, 0.0, np.random.default_rng(seed), 2000)
    assert envelope.least_pad == 0
    return problem, bound, padded_excess(problem, bound, 0.0, theta), steps


@pytest.mark.parametrize("radius", [1.0, 9.0])
def test_where_it_is_used_it_keeps_most_of_the_excess(radius):
    problem, bound, excess, steps = useful_problem(0, radius)
    assert problem.minimum.on_boundary == (radius < 2)
    used = (excess > 0.015) & (excess < 0.03)
    assert used.sum() > 30
    assert np.median(bound.at(steps)[used] / excess[used]) > 0.85
    on_radius = bound.radial(np.linalg.norm(steps, axis=0))[used] / excess[used]
    assert np.median(on_radius) > (0.35 if radius > 2 else 0.85)


@pytest.mark.parametrize("radius", [1.0, 9.0])
@pytest.mark.parametrize("part", ["constant", "linear", "quadratic", "fourth", "held"])
def test_a_spoiled_bound_is_caught(part, radius):
    caught = 0
    for seed in range(4):
        _, bound, excess, steps = useful_problem(seed, radius)
        form = bound.constrained if part == "held" else bound.free
        spoiled = {
            "constant": replace(form, constant=form.constant + 0.004),
            "linear": replace(form, linear=form.linear + 0.05),
            "quadratic": replace(form, quadratic=1.25 * form.quadratic),
            "fourth": replace(form, fourth=replace(form.fourth, gram=0.3 * form.fourth.gram)),
            "held": replace(form, constant=form.constant + 0.012),
        }[part]
        if part == "held":
            other = replace(bound, constrained=spoiled)
            above = other.radial(np.linalg.norm(steps, axis=0)) > excess
        else:
            above = replace(bound, free=spoiled).at(steps) > excess
        caught += bool(above.any())
    assert caught >= 3
