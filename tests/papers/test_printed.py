"""Printed constants: the unsound are caught by integration, the sound are looser than ours."""

import math

import numpy as np
import pytest

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates.paths import diffusion_guarantee
from rashomon_explorer.mechanisms.certificates.sensitivity import gradient_sensitivity
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.papers.constants import (
    printed_bilevel_slope,
    printed_constants,
    printed_diffusion_beta,
    printed_last_iterate_rho,
    printed_mean_loss,
    printed_net_beta,
    printed_objective_epsilon,
    printed_output_sigma,
    printed_path_beta,
    printed_sensitivity,
)
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball


def integrated(log_p: FloatArray, log_q: FloatArray, epsilon: float) -> float:
    """δ(ε) of two log densities on one grid, the larger of both directions."""
    p, q = (np.exp(log - log.max()) for log in (log_p, log_q))
    p, q = p / p.sum(), q / q.sum()
    scale = math.exp(epsilon)
    return float(max(np.maximum(p - scale * q, 0).sum(), np.maximum(q - scale * p, 0).sum()))


def two_normals(mu: float, epsilon: float) -> float:
    x = np.linspace(-12, 12 + mu, 20_001)
    return integrated(-(x**2) / 2, -((x - mu) ** 2) / 2, epsilon)


def test_lemma_3_1_is_caught() -> None:
    """N steps on linear losses: their sum is normal, and one record shifts it by Nhβ·Δ."""
    epsilon, delta, slope, h, steps = 1.0, 1e-5, 2e-3, 1e-2, 300
    beta = printed_path_beta(epsilon, delta, slope, h * steps)
    mu = steps * h * beta * slope / math.sqrt(2 * h * steps)
    assert two_normals(mu, epsilon) == pytest.approx(1.84e-3, rel=0.01)
    sound = path_guarantee(beta=beta, sensitivity=slope, step_size=h, n_steps=steps)
    assert sound.mu == pytest.approx(mu)
    halved = path_guarantee(beta=beta / 2, sensitivity=slope, step_size=h, n_steps=steps)
    assert halved.epsilon(delta) < epsilon


def test_equation_34_is_sound_and_loose() -> None:
    beta = printed_diffusion_beta(1.0, 1e-5, lipschitz=1.0, n=1000, time=3.0)
    path = path_guarantee(beta=beta, sensitivity=2e-3, step_size=1e-2, n_steps=300)
    assert path.epsilon(1e-5) == pytest.approx(0.52, abs=0.01)
    assert gdp_mu(1.0, 1e-5) / path.mu == pytest.approx(1.82, abs=0.01)


def test_equation_9_is_caught() -> None:
    """ℓ = 0.005θ² ± θ: at the edge only one of two neighbours' gradients is not 0."""
    n, psi, radius = 1000, 2e-4, 0.5
    constants = Constants(n=n, p=1, L=1 + 0.01 * radius, M=0.01, m=0.01, osc=4 * radius / n)
    theta = np.linspace(-radius, radius, 200_001)

    def gradient(plus: int) -> FloatArray:
        tilt = (2 * plus - n) / n
        loss = 0.005 * theta**2 + tilt * theta
        return (0.01 * theta + tilt) * (loss > loss.min() + psi)

    moved = float(np.abs(gradient(500) - gradient(501)).max())
    assert moved == pytest.approx(0.004, rel=0.02)
    assert moved > 1.3 * printed_sensitivity(constants, psi)
    assert moved <= gradient_sensitivity(constants, psi, width=0.0, interior=True)


def test_equation_4_fails_for_bent_losses() -> None:
    def ends(condition: float) -> tuple[float, float]:
        bent = Constants(n=100, p=1, L=1.0, M=1.0, m=1 / condition, osc=0.04)
        psi = (bent.L / bent.n) ** 2 * math.sqrt(condition)  # where it is tightest
        return printed_mean_loss(bent, psi, beta=1.0)

    assert ends(1.0)[0] <= ends(1.0)[1]
    assert ends(1e4)[0] > 2 * ends(1e4)[1]


def test_lemma_i2_is_sound_and_loose() -> None:
    numbers = {"beta": 50.0, "sensitivity": 0.02, "m": 0.5}
    for time in (1e-3, 0.05, 10.0):
        ours = diffusion_guarantee(**numbers, time=time).rho
        assert ours < printed_last_iterate_rho(**numbers, time=time) <= 2 * ours * (1 + 1e-12)


def test_algorithm_8_is_caught() -> None:
    """Linear losses, all rows on one side, one record turned: twice the ε it claims."""
    ball, n = Ball(1.0), 1000
    constants = Constants.of("absolute", n=n, p=1, domain=ball, row_bound=1.0)
    theta = np.linspace(-1, 1, 4001)
    beta = printed_net_beta(constants, ball, epsilon=1.0)
    log_p, log_q = -beta * (1 - theta), -beta * ((n - 1) * (1 - theta) + (1 + theta)) / n
    ratio = log_p - np.logaddexp.reduce(log_p) - (log_q - np.logaddexp.reduce(log_q))
    assert float(np.abs(ratio).max()) == pytest.approx(2.0, abs=0.01)
    assert beta * constants.osc == pytest.approx(2.0, rel=1e-9)


def test_output_noise_of_appendix_c_is_caught() -> None:
    """ℓ = ½θ² ± θ: the minimiser moves by 2L/(mn), with L = 1."""
    n = 1000
    bent = Constants(n=n, p=1, L=2.0, M=1.0, m=1.0, osc=4 / n)
    sigma = printed_output_sigma(bent, Ball(1.0), epsilon=1.0, delta=1e-5)
    assert two_normals(2 / n / sigma, 1.0) == pytest.approx(4.3e-5, rel=0.02)


def test_objective_perturbation_of_appendix_e_is_caught() -> None:
    """Fifty rows of slope −1, and a Huber row against one more of slope −1."""
    epsilon, ridge = 1.0, 0.5
    theta = np.linspace(0.5, 1 - 1e-9, 10_001)

    def log_density(slope: FloatArray, curvature: FloatArray | float) -> FloatArray:
        noise = 50 - slope - ridge * theta  # what makes θ the minimiser
        return np.asarray(-epsilon * np.abs(noise) / 2 + np.log(curvature + ridge))

    ratio = log_density(theta, 1.0) - log_density(np.full_like(theta, -1.0), 0.0)
    assert float(ratio.max()) == pytest.approx(
        printed_objective_epsilon(smoothness=1.0, ridge=ridge, epsilon=epsilon), abs=1e-6
    )


@pytest.mark.parametrize(("kappa", "delta"), [(100, 0.093), (1000, 0.82)])
def test_the_regularised_mechanism_of_theorem_b8_is_caught(kappa: float, delta: float) -> None:
    """g = zy²/2 − xy, z in [1, κ], f = y − x: Φ = x/z̄ − x, and one record moves 1/z̄."""
    n, epsilon, target = 10**6, 1.0, 1e-5
    slope = printed_bilevel_slope(
        outer_x=1.0, outer_y=1.0, inner_y=kappa, inner_xy=1.0, outer_xy=0.0, mu=1.0
    )
    ridge = slope * math.sqrt(math.log(1 / target)) / (n * epsilon)
    k = ridge * (gdp_mu(epsilon, target) * n / (2 * slope)) ** 2
    x = np.linspace(-0.5, 0.5, 200_001)
    moved = 1 / (1 + (kappa - 1) / n) - 1
    found = integrated(-k * ridge * x**2 / 2, -k * (moved * x + ridge * x**2 / 2), epsilon)
    assert found == pytest.approx(delta, rel=0.05)


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"delta": 0.0}, {"sensitivity": -1.0}])
def test_bad_input(wrong: dict[str, float]) -> None:
    good = {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 1.0, "time": 1.0}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        printed_path_beta(**{**good, **wrong})


def test_the_table_cannot_be_charged() -> None:
    table = printed_constants()
    assert len({row.name for row in table}) == len(table)
    for row in table:
        assert row.printed and not row.usable and row.guarantee is None
        assert row.why.startswith(("unsound: ", "sound but loose: "))
    verdicts = {row.name: row.why.split(":")[0] for row in printed_constants(0.1, 1e-6)}
    assert verdicts["path_beta"] == "unsound"
    assert verdicts["output_sigma"] == "sound but loose"  # it is, for small ε and δ
