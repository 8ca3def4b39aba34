"""Exact audits of Gibbs laws in one or two dimensions, over all neighbours of a few records."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from rashomon_explorer._utils.randomness import IntegerLaw
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.langevin.gradients import drift_for
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import plan_iterated, plan_perturbed
from rashomon_explorer.privacy import audit, bounded_range
from rashomon_explorer.problem.losses import LOSSES
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import SmoothThreshold
from tests.crossing import crossed
from tests.mechanisms import chains
from tests.papers.by_hand import RidgedProblem, regularised

from .mechanisms import problem_of

# Extreme records, a middling one, and one that says nothing: (x, y).
BINARY = [(1.0, 1.0), (-1.0, 1.0), (0.4, 1.0), (0.0, 1.0)]
NUMBERS = [(1.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (0.3, -1.0), (0.0, 1.0)]
RECORDS = {
    "logistic": BINARY, "hinge": BINARY, "smoothed_hinge": BINARY, "squared": NUMBERS,
    "absolute": NUMBERS, "softmax": [(1.0, 0.0), (1.0, 1.0), (1.0, 2.0), (-1.0, 0.0)],
}  # fmt: skip
# With radius 1 opposite rows attain the squared loss's oscillation; with 1.5 it takes two columns.
PROBLEMS = [
    ("logistic", 4.0), ("logistic", 0.5), ("squared", 1.0), ("squared", 1.5), ("hinge", 2.0),
    ("smoothed_hinge", 2.0), ("absolute", 1.0),
]  # fmt: skip
ATTAINED = [("logistic", 4.0), ("logistic", 0.5), ("squared", 1.0)]
POINTS = np.linspace(-1, 1, 1001)[None, :]


def planned(loss, radius, n, psi, epsilon):
    return plan(n, 1, psi, loss=loss, radius=radius, row_norm=1.0, epsilon=epsilon)


def worst(loss, radius, n, psi, epsilon, log_weights=None, key=lambda found: found.range):
    """The worst neighbours; the range is at least as large as any |log ratio|."""
    bought = planned(loss, radius, n, psi, epsilon)

    def gibbs(problem, bought):
        return GibbsTarget(problem, bought.beta, bought.psi).log_density(POINTS * radius)

    def law(records):
        return (log_weights or gibbs)(problem_of(records, loss, radius), bought)

    return audit.search(law, audit.discrete, RECORDS[loss], n, key=key).audit


@crossed({"loss, radius": PROBLEMS, "psi": [0.0, 0.3], "n, epsilon": [(2, 0.5), (3, 4.0)]})
def test_no_neighbours_differ_by_more_than_the_price(loss, radius, psi, n, epsilon):
    assert set(RECORDS) == set(LOSSES)
    found = worst(loss, radius, n, psi, epsilon)
    assert found.violations(bounded_range(eta=epsilon)) == ()
    assert found.range > 0.3 * epsilon
    if psi == 0 and (loss, radius) in ATTAINED and epsilon == 4:
        assert found.range > 4.0 * (1 - 1e-5)


@pytest.mark.parametrize("psi", [0.0, 0.1])
def test_several_classes(psi):
    """Three classes of one feature: two parameters."""
    axis = np.linspace(-1, 1, 61)
    square = np.array(list(itertools.product(axis, axis))).T
    points = square[:, np.linalg.norm(square, axis=0) <= 1]
    bought = plan(3, 2, psi, loss=SoftmaxLoss(3), radius=1.0, row_norm=1.0, epsilon=3.0)

    def law(records):
        problem = problem_of(records, SoftmaxLoss(3), 1.0)
        return GibbsTarget(problem, bought.beta, psi).log_density(points)

    found = audit.search(law, audit.discrete, RECORDS["softmax"], 3, key=lambda a: a.range).audit
    assert found.violations(bounded_range(eta=3.0)) == ()
    assert found.range > 2.0


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_smooth_threshold_costs_the_same(loss):
    def smooth(problem, bought):
        target = GibbsTarget(problem, bought.beta, bought.psi, SmoothThreshold(width=0.02))
        return target.log_density(POINTS * 2.0)

    found = worst(loss, 2.0, 3, 0.05, 4.0, log_weights=smooth)
    assert found.violations(bounded_range(eta=4.0)) == ()


@pytest.mark.parametrize(("loss", "radius"), ATTAINED)
@pytest.mark.parametrize("psi", [0.0, 0.01])
def test_the_whole_price_is_attained(loss, radius, psi):
    """Many rows that agree, one that leaves them: both laws sit at one end of the ball."""
    n = 60
    bought = planned(loss, radius, n, psi, 60.0)
    agree = [(1.0, 1.0)] * n
    problems = (problem_of(r, loss, radius) for r in (agree, [(-1.0, 1.0), *agree[1:]]))
    targets = (GibbsTarget(problem, bought.beta, psi) for problem in problems)
    found = audit.discrete(*(target.log_density(POINTS * radius) for target in targets))
    assert 0.9 * 60 < found.max_log_ratio
    assert found.within(bounded_range(eta=60.0))


@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_with_an_intercept(psi):
    """Two dimensions: the whole row (x, 1) is priced, not only x."""
    n, radius = 3, 3.0
    bought = plan(n, 2, psi, radius=radius, row_norm=np.hypot(1.0, 1.0), epsilon=30.0)
    corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]

    def target(records):
        x, y = np.array(records).T
        return GibbsTarget(Problem(x[:, None], y, radius=radius), bought.beta, psi)

    def compare(first, second):
        both = first.log_density, second.log_density
        return audit.exact(*both, box=[(-radius, radius)] * 2, points=101)

    found = audit.search(target, compare, corners, n, key=lambda each: each.range).audit
    assert 0.95 < found.range / bought.eta <= 1 + 1e-9
    assert 0.45 < found.max_log_ratio / bought.eta


@pytest.mark.parametrize("psi", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_a_finite_grid_with_integer_weights(psi, loss):
    points = FiniteGridSampler(spacing=0.05).points(1, problem_of(RECORDS[loss], loss, 1.0).domain)

    def integers(problem, bought):
        losses = problem.value(points)
        energy = GibbsTarget(problem, bought.beta, bought.psi).energy(losses - losses.min())
        return np.log(IntegerLaw(energy).probabilities)

    found = worst(loss, 1.0, 3, psi, 2.0, log_weights=integers)
    assert found.violations(bounded_range(eta=2.0)) == ()
    assert found.range > 0.9


@pytest.mark.parametrize(("loss", "radius"), PROBLEMS)
def test_half_the_sensitivity_is_caught(loss, radius):
    """Negative control: twice the temperature that was paid for."""

    def bold(problem, bought):
        return GibbsTarget(problem, 2 * bought.beta, bought.psi).log_density(POINTS * radius)

    found = worst(loss, radius, 3, 0.01, 20.0, log_weights=bold)
    assert "the range is" in " ".join(found.violations(bounded_range(eta=20.0)))


@pytest.mark.parametrize(
    ("loss", "radius", "factor"),
    [("logistic", 4.0, 4.0), ("logistic", 0.5, 1.3), ("squared", 1.0, 4.0), ("squared", 1.5, 4.0)],
)
def test_a_threshold_relative_to_the_minimum_is_caught(loss, radius, factor):
    """Negative control: a multiple of the minimum moves by more than one row's share."""

    def relative(problem, bought):
        level = factor * problem.minimum.value
        return -bought.beta * np.maximum(problem.value(POINTS * radius), level)

    largest = {"key": lambda each: each.max_log_ratio}
    found = worst(loss, radius, 4, 0.0, 60.0, log_weights=relative, **largest)
    assert not found.within(bounded_range(eta=60.0))


@pytest.mark.parametrize(("loss", "radius"), PROBLEMS)
def test_drawing_until_a_model_is_in_the_set_is_caught(loss, radius):
    """Negative control: conditioning on membership, which the rows decide."""

    def conditioned(problem, bought):
        excess = problem.value(POINTS * radius) - problem.minimum.value
        law = GibbsTarget(problem, bought.beta, bought.psi).log_density(POINTS * radius)
        return np.where(excess <= bought.psi, law, -np.inf)

    found = worst(loss, radius, 3, 0.05, 4.0, log_weights=conditioned)
    assert found.max_log_ratio == np.inf
    assert found.epsilon(1e-5) > 4.0


def test_only_the_features_priced_is_caught():
    """Negative control of the intercept: without its column the oscillation is too small."""
    bare = plan(3, 2, 0.0, radius=3.0, row_norm=1.0, epsilon=1.0).oscillation
    whole = plan(3, 2, 0.0, radius=3.0, row_norm=np.hypot(1.0, 1.0), epsilon=1.0).oscillation
    edge = 3.0 * np.array([[1.0], [1.0]]) / np.sqrt(2)
    for_it, against = (Problem([[1.0]] * 3, [y, 1, 1], radius=3.0) for y in (1, -1))
    difference = [float(against.value(s * edge)[0] - for_it.value(s * edge)[0]) for s in (1, -1)]
    assert bare < difference[0] - difference[1] <= whole


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_the_regularised_mechanism(loss):
    sampler = regularised(epsilon=3.0)

    def ridged(problem, bought):
        chosen = sampler.plan(problem)
        return -chosen.beta * RidgedProblem(problem, chosen.ridge).value(POINTS)

    found = worst(loss, 1.0, 3, 0.0, 3.0, log_weights=ridged)
    assert found.violations(bounded_range(eta=3.0)) == ()
    assert found.range > 1.0


# On |θ| ≤ 1 hinge loss is 1 − yxθ: the slopes of neighbours differ as much as they may, and the
# minimiser with a ridge is mean(yx)/ridge.
RIDGE = 8.0
COARSE = np.linspace(-1.0, 1.0, 301)


def ridged(records):
    return problem_of(records, "hinge", 1.0, ridge=RIDGE)


def joint(first, near, stage, energy):
    """Log law of a first draw at ``near`` and a second one of ``COARSE`` within reach of it."""
    reached = np.abs(COARSE - near[:, None]) <= stage.distance
    second = np.where(reached, -energy, -np.inf)
    return first[:, None] + second - logsumexp(second, axis=1, keepdims=True)


def found_in(law):
    return audit.search(law, audit.discrete, BINARY, 3).audit


@pytest.mark.parametrize(("bold", "within"), [(1.0, True), (2.0, False)])
def test_the_iterated_mechanism(bold, within):
    """Two stages; the bold one draws the second at twice its temperature."""
    posed = ridged(BINARY[:3])
    plan = plan_iterated(posed.constants, posed.domain, epsilon=6.0, failure=0.4, n_stages=2)
    one, two = plan.stages
    assert two.distance < 0.8  # it does narrow

    def law(records):
        losses = ridged(records).value(COARSE[None, :])
        return joint(-one.beta * losses, COARSE, two, bold * two.beta * losses)

    assert found_in(law).within(plan.guarantee, deltas=[0.0]) == within


@pytest.mark.parametrize(("bold", "within"), [(1.0, True), (2.0, False)])
def test_output_perturbation(bold, within):
    """The noisy minimiser and a draw near it; the bold one adds half the noise."""
    posed = ridged(BINARY[:3])
    plan = plan_perturbed(posed.constants, posed.domain, epsilon=6.0, failure=0.4)
    noisy = np.linspace(-1.0, 1.0, 201)

    def law(records):
        minimiser = np.mean([x * y for x, y in records]) / RIDGE
        noise = -bold * np.abs(noisy - minimiser) / plan.noise_scale
        losses = ridged(records).value(COARSE[None, :])
        return joint(noise, noisy, plan.stages[0], plan.stages[0].beta * losses)

    assert found_in(law).within(plan.guarantee, deltas=[0.0]) == within


KINDS = {
    "ridge": ({"loss": "smoothed_hinge", "ridge": 0.3, "radius": 1.5}, 0.0, "hard"),
    "smooth": ({"loss": "logistic", "radius": 1.5}, 0.02, SmoothThreshold(0.3)),
    "no threshold": ({"loss": "logistic", "radius": 1.5}, 0.0, "hard"),
}
NEIGHBOURS = ((1.0, 1.0),) * 4, ((-1.0, 1.0), *((1.0, 1.0),) * 3)


def last_state(target, step, n_steps):
    """Law of the last state from 0, with atoms at both ends of the interval."""
    radius = target.problem.domain.radius
    places = np.linspace(-radius, radius, 603)
    drift = drift_for(target)
    means = places - step * drift.run(np.random.default_rng(0))(places[None, :])[0]
    law = chains.last_law(places, means, np.sqrt(2 * step), n_steps)
    return np.log(np.maximum(law, 1e-300))


@crossed({"kind": list(KINDS), "n_steps": [1, 10, 1000]})
def test_the_last_state_is_within_its_certificate(kind, n_steps):
    settings, psi, threshold = KINDS[kind]
    targets = [GibbsTarget(problem_of(r, **settings), 4.0, psi, threshold) for r in NEIGHBOURS]
    sampler = LangevinSampler(0.02, n_steps, n_chains=1, shown="last")
    found = audit.discrete(*(last_state(each, 0.02, n_steps) for each in targets))
    claim = sampler.certificate(targets[0])
    assert found.violations(claim, deltas=[1e-6, 1e-4, 1e-2, 0.1]) == ()
    shown = max(found.epsilon(d) / claim.epsilon(d) for d in (1e-4, 1e-2))
    assert shown > 0.05  # nor is the certificate out of all proportion


def test_a_last_state_that_is_sold_for_fewer_steps_is_caught():
    """Negative control: ten steps, priced as one."""
    settings, psi, threshold = KINDS["ridge"]
    settings = {**settings, "ridge": 0.0, "loss": "hinge"}
    targets = [GibbsTarget(problem_of(r, **settings), 4.0, psi, threshold) for r in NEIGHBOURS]
    found = audit.discrete(*(last_state(each, 0.005, 10) for each in targets))
    for n_steps, within in ((10, True), (1, False)):
        claim = LangevinSampler(0.005, n_steps, n_chains=1).certificate(targets[0])
        assert found.within(claim, deltas=[1e-6, 1e-3]) == within
