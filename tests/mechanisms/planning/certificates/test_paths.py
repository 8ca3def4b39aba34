"""Certificates of chains against chains whose laws are known, or propagated on a grid."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates.base import Certificate
from rashomon_explorer.mechanisms.certificates.catalogue import (
    PATH,
    best_certificate,
    path_certificates,
)
from rashomon_explorer.mechanisms.certificates.paths import diffusion_guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.thresholds import GaussianThreshold, SmoothThreshold

# One half of a row's slope is data: ℓ = ½θ² ± ½θ on [−1, 1].
CONSTANTS = Constants(n=4, p=1, L=1.5, M=1.0, m=1.0, osc=0.5)
BALL = Ball(1.0)
DATA_SLOPE = 2 * 0.5 / 4  # the gradients of neighbours are this far apart, and no further


def certified(psi: float, beta: float, **settings: object) -> dict[str, Certificate]:
    chosen: dict[str, object] = {"step_size": 1e-3, "n_steps": 50, "delta": 1e-6, **settings}
    found = path_certificates(CONSTANTS, BALL, psi=psi, beta=beta, **chosen)  # type: ignore[arg-type]
    return {one.name: one for one in found}


def normal_chain_mu(beta: float, h: float, steps: int, slope: float) -> float:
    """Exact μ of the last iterate on ½(θ − a)², where the domain does not matter."""
    shift, variance, c = 0.0, 0.0, 1 - h * beta
    for _ in range(steps):
        shift, variance = c * shift + h * beta * slope, c**2 * variance + 2 * h
    return shift / math.sqrt(variance)


def test_quadratic_chains_attain_the_last_iterate() -> None:
    beta, h, steps = 20.0, 2e-3, 200
    one = certified(0.0, beta, threshold="hard", step_size=h, n_steps=steps)["last_iterate"]
    assert one.guarantee is not None
    exact = normal_chain_mu(beta, h, steps, DATA_SLOPE)
    assert one.guarantee.mu == pytest.approx(exact, rel=1e-9)
    assert one.guarantee.mu / 2 < exact  # half the sensitivity is caught


def test_short_steps_come_near_the_diffusion_and_it_is_never_charged() -> None:
    beta, time = 20.0, 0.3
    limit = diffusion_guarantee(beta=beta, sensitivity=DATA_SLOPE, m=1.0, time=time)
    assert limit.mu**2 == pytest.approx(beta * DATA_SLOPE**2 * math.tanh(beta * time / 2))
    gaps = []
    for steps in (100, 1000):
        found = certified(0.0, beta, threshold="hard", step_size=time / steps, n_steps=steps)
        assert found["last_iterate"].guarantee is not None
        gaps.append(abs(found["last_iterate"].guarantee.mu - limit.mu))
        assert not found["finite_time"].usable and "diffusion" in found["finite_time"].why
    assert gaps[1] < gaps[0] / 8


def propagated(loss: FloatArray, grad: FloatArray, theta: FloatArray, **run: float) -> FloatArray:
    """Law on the cells of [−1, 1] after some smooth-threshold steps, projected onto it."""
    psi, width, beta, h = (run[key] for key in ("psi", "width", "beta", "h"))
    slope = np.clip((loss - loss.min() - psi) / width, 0, 1)
    centre = theta - h * beta * slope * grad
    half = (theta[1] - theta[0]) / 2
    edges = np.concatenate([[-np.inf], theta[:-1] + half, [np.inf]])
    kernel = np.diff(ndtr((edges[None, :] - centre[:, None]) / math.sqrt(2 * h)), axis=1)
    law = np.full(len(theta), 1 / len(theta))
    for _ in range(int(run["steps"])):
        law = law @ kernel
    return law


@pytest.mark.parametrize(("steps", "beta"), [(5, 4.0), (60, 4.0), (60, 12.0)])
def test_smooth_thresholds_on_a_grid(steps: int, beta: float) -> None:
    psi, width, h = 0.05, 0.5, 0.01
    theta = np.linspace(-1, 1, 601)
    found = certified(
        psi, beta, threshold=SmoothThreshold(width), step_size=h, n_steps=steps, delta=1e-3
    )
    assert found["last_iterate"].usable and found["path"].usable
    run = {"psi": psi, "width": width, "beta": beta, "h": h, "steps": steps}
    laws = []
    for tilt in (0.5, 0.25):  # one of four rows turns from +½θ to −½θ
        laws.append(propagated(theta**2 / 2 + tilt * theta, theta + tilt, theta, **run))
    for epsilon in (0.0, 0.2, 1.0):
        exact = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1]))
        for name in ("last_iterate", "path"):
            guarantee = found[name].guarantee
            assert guarantee is not None
            assert 0 <= exact <= guarantee.delta(epsilon)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"psi": 0.1, "threshold": "hard"}, "is discontinuous"),
        ({"psi": 0.1, "threshold": GaussianThreshold(0.1)}, "is discontinuous"),
        ({"psi": 0.1, "threshold": "smooth", "step_size": 1.0}, "2/(β·smoothness)"),
        ({"psi": 0.0, "threshold": "hard", "step_size": 1.0}, "2/(β·smoothness)"),
    ],
)
def test_the_last_iterate_says_why_not(settings: dict[str, object], words: str) -> None:
    one = certified(beta=10.0, **settings)["last_iterate"]  # type: ignore[arg-type]
    assert not one.applies and words in one.why


def test_the_path_knows_every_threshold() -> None:
    plain = Constants.of("logistic", n=100, p=2, domain=BALL, row_bound=1.0)
    mu = {}
    for shape in ("hard", "smooth", "gaussian"):
        every = path_certificates(
            plain, BALL, psi=0.1, beta=5.0, step_size=1e-3, n_steps=9, delta=1e-6, threshold=shape
        )
        whole = next(one for one in every if one.name == "path")
        assert whole.guarantee is not None
        mu[shape] = whole.guarantee.mu
    assert mu["smooth"] < mu["hard"] == mu["gaussian"]
    assert not certified(0.1, 5.0, threshold="gaussian")["path"].applies  # there is a ridge


def test_four_chains_cost_twice_one() -> None:
    one, four = (certified(0.1, 5.0, n_chains=k) for k in (1, 4))
    for name in ("path", "last_iterate"):
        assert four[name].guarantee.mu == pytest.approx(2 * one[name].guarantee.mu)  # type: ignore[union-attr]
    assert best_certificate(one.values(), 1e-6).usable
    assert set(one) == set(PATH)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_steps": 0},
        {"n_chains": 1.5},
        {"step_size": -1.0},
        {"threshold": "soft"},
        {"delta": 1.0},
    ],
)
def test_bad_input(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        certified(0.1, 5.0, **wrong)
