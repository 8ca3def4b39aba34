"""The list of certificates, its best and the β that it allows; chains whose laws are known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms.certificates import catalogue
from rashomon_explorer.mechanisms.certificates.catalogue import PATH, path_certificates
from rashomon_explorer.mechanisms.certificates.paths import diffusion_guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.thresholds import GaussianThreshold, SmoothThreshold
from tests.mechanisms import chains
from tests.mechanisms.builders import constants_of

BALL = Ball(1.0)
RIDGED, PLAIN = (constants_of(n=1000, ridge=ridge) for ridge in (0.5, 0.0))


def certificates(constants=RIDGED, **changed):
    public = {"domain": BALL, "psi": 0.05, "beta": 300.0, "delta": 1e-6, **changed}
    return catalogue.gibbs_certificates(constants, **public)


@pytest.mark.parametrize(("constants", "delta"), [(RIDGED, 1e-6), (PLAIN, 1e-6), (RIDGED, 0.0)])
def test_all_are_listed_with_reasons_and_the_best_is_first(constants, delta):
    found = certificates(constants, delta=delta)
    assert {one.name for one in found} == set(catalogue.GIBBS)
    costs = [one.epsilon(delta) for one in found]
    assert costs == sorted(costs)
    assert catalogue.best_certificate(found, delta) == found[0]
    assert all(one.why and one.applies == (one.guarantee is not None) for one in found)
    for change in ({"applies": False}, {"printed": True}, {"guarantee": None}):
        with pytest.raises(ValueError, match="guarantee exactly if it applies"):
            replace(found[0], **change)


def test_without_a_certificate_the_reasons_are_given():
    found = [one for one in certificates(PLAIN, psi=0.0, delta=0.0) if one.name != "oscillation"]
    with pytest.raises(ValueError, match=r"no certificate holds at delta = 0: .*m = 0"):
        catalogue.best_certificate(found, 0.0)
    with pytest.raises(ValueError, match="none was given"):
        catalogue.best_certificate([], 0.1)


@pytest.mark.parametrize("constants", [RIDGED, PLAIN])
@pytest.mark.parametrize("psi", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize(("delta", "n_draws"), [(0.0, 1), (1e-6, 1), (1e-6, 20), (1e-6, 500)])
def test_the_largest_beta_is_what_the_budget_allows(constants, psi, delta, n_draws):
    settings = {"psi": psi, "delta": delta, "n_draws": n_draws}
    beta, by = catalogue.largest_beta(constants, BALL, epsilon=1.0, **settings)
    assert by.usable and by.epsilon(delta) <= 1.0
    for times, affordable in [(1.0, True), (1 + 1e-6, False)]:
        best = certificates(constants, beta=times * beta, **settings)[0]
        assert (best.epsilon(delta) <= 1.0) == affordable


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"psi": -1.0}, "psi"),
        ({"beta": 0.0}, "beta"),
        ({"beta": math.inf}, "beta"),
        ({"width": math.nan}, "width"),
        ({"domain": Ball(50.0)}, "Constants.of for this domain"),
    ],
)
def test_bad_input(wrong, match):
    with pytest.raises(ValueError, match=match):
        certificates(**wrong)


# One half of a row's slope is data: ℓ = ½θ² ± ½θ on [−1, 1].
CONSTANTS = Constants(n=4, p=1, L=1.5, M=1.0, m=1.0, osc=0.5)
DATA_SLOPE = 2 * 0.5 / 4  # the gradients of neighbours are this far apart, and no further


def certified(psi, beta, constants=CONSTANTS, **settings):
    public = {"step_size": 1e-3, "n_steps": 50, "delta": 1e-6, **settings}
    found = path_certificates(constants, BALL, psi=psi, beta=beta, **public)
    assert {one.name for one in found} == set(PATH)
    return {one.name: one for one in found}


def test_quadratic_chains_attain_the_last_iterate():
    """Exact μ on ½(θ − a)², where the domain does not matter; half the sensitivity is caught."""
    beta, h, steps = 20.0, 2e-3, 200
    shift, variance, c = 0.0, 0.0, 1 - h * beta
    for _ in range(steps):
        shift, variance = c * shift + h * beta * DATA_SLOPE, c**2 * variance + 2 * h
    one = certified(0.0, beta, threshold="hard", step_size=h, n_steps=steps)["last_iterate"]
    assert one.guarantee.mu == pytest.approx(shift / math.sqrt(variance), rel=1e-9)


def test_short_steps_come_near_the_diffusion_and_it_is_never_charged():
    beta, time = 20.0, 0.3
    limit = diffusion_guarantee(beta=beta, sensitivity=DATA_SLOPE, m=1.0, time=time)
    assert limit.mu**2 == pytest.approx(beta * DATA_SLOPE**2 * math.tanh(beta * time / 2))
    gaps = []
    for steps in (100, 1000):
        found = certified(0.0, beta, threshold="hard", step_size=time / steps, n_steps=steps)
        gaps.append(abs(found["last_iterate"].guarantee.mu - limit.mu))
        assert not found["finite_time"].usable and "diffusion" in found["finite_time"].why
    assert gaps[1] < gaps[0] / 8


@pytest.mark.parametrize(("steps", "beta"), [(5, 4.0), (60, 4.0), (60, 12.0)])
def test_smooth_thresholds_on_a_grid(steps, beta):
    """Laws on the cells of [−1, 1] after smooth-threshold steps, projected onto it."""
    psi, width, h, theta = 0.05, 0.5, 0.01, np.linspace(-1, 1, 601)
    shape = {"threshold": SmoothThreshold(width), "step_size": h, "n_steps": steps}
    found, laws = certified(psi, beta, **shape, delta=1e-3), []
    for tilt in (0.5, 0.25):  # one of four rows turns from +½θ to −½θ
        loss = theta**2 / 2 + tilt * theta
        slope = np.clip((loss - loss.min() - psi) / width, 0, 1) * (theta + tilt)
        kernel = chains.kernel(theta, theta - h * beta * slope, math.sqrt(2 * h))
        laws.append(np.linalg.matrix_power(kernel, steps).mean(axis=0))  # from a uniform start
    for epsilon in (0.0, 0.2, 1.0):
        for name in ("last_iterate", "path"):
            assert 0 <= chains.delta(*laws, epsilon) <= found[name].guarantee.delta(epsilon)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"psi": 0.1, "threshold": "hard"}, "is discontinuous"),
        ({"psi": 0.1, "threshold": GaussianThreshold(0.1)}, "is discontinuous"),
        ({"psi": 0.1, "threshold": "smooth", "step_size": 1.0}, "2/(β·smoothness)"),
        ({"psi": 0.0, "threshold": "hard", "step_size": 1.0}, "2/(β·smoothness)"),
    ],
)
def test_the_last_iterate_says_why_not(settings, words):
    one = certified(beta=10.0, **settings)["last_iterate"]
    assert not one.applies and words in one.why


def test_the_path_knows_every_threshold():
    plain = Constants.of("logistic", n=100, p=2, domain=BALL, row_bound=1.0)
    smooth, hard, gaussian = (
        certified(0.1, 5.0, plain, threshold=shape)["path"].guarantee.mu
        for shape in ("smooth", "hard", "gaussian")
    )
    assert smooth < hard == gaussian
    assert not certified(0.1, 5.0, threshold="gaussian")["path"].applies  # there is a ridge
    one, four = (certified(0.1, 5.0, n_chains=k) for k in (1, 4))
    for name in ("path", "last_iterate"):
        assert four[name].guarantee.mu == pytest.approx(2 * one[name].guarantee.mu)


@pytest.mark.parametrize(
    "wrong",
    [{"n_steps": 0}, {"n_chains": 1.5}, {"step_size": -1.0}, {"threshold": "soft"}, {"delta": 1.0}],
)
def test_bad_chains(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        certified(0.1, 5.0, **wrong)
