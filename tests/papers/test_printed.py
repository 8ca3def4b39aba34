"""Printed constants and bilevel mechanisms: the unsound are caught, the repaired pass."""

import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms.certificates.paths import diffusion_guarantee
from rashomon_explorer.mechanisms.certificates.sensitivity import gradient_sensitivity
from rashomon_explorer.mechanisms.noisy_descent import path_guarantee
from rashomon_explorer.mechanisms.penalties import BilevelConstants
from rashomon_explorer.papers import constants as paper
from rashomon_explorer.papers import theorems
from rashomon_explorer.privacy import approximate, audit, bounded_range, gdp, pure
from rashomon_explorer.privacy.audit import discrete, exact
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

EPSILON, DELTA = 1.0, 1e-5
CLAIM = approximate(EPSILON, DELTA)


def normals(shift):
    """Audit of unit noise on values that lie ``shift`` apart."""
    laws = [lambda x, mean=mean: -((x[0] - mean) ** 2) / 2 for mean in (0.0, shift)]
    return audit.exact(*laws, box=[(-12.0, 12.0 + shift)])


def test_lemma_3_1_is_caught():
    """N steps on linear losses: their sum is normal, and one record shifts it by Nhβ·Δ."""
    slope, h, steps = 2e-3, 1e-2, 300
    beta = paper.printed_path_beta(EPSILON, DELTA, slope, h * steps)
    mu = steps * h * beta * slope / math.sqrt(2 * h * steps)
    found = normals(mu)
    assert not found.within(CLAIM)
    assert float(found.delta(EPSILON)) == pytest.approx(1.84e-3, rel=0.01)
    assert found.epsilon(DELTA) == pytest.approx(1.63, abs=0.01)
    assert normals(gdp_mu(EPSILON, DELTA)).within(CLAIM)
    sound = path_guarantee(beta=beta, sensitivity=slope, step_size=h, n_steps=steps)
    assert sound.mu == pytest.approx(mu)
    halved = path_guarantee(beta=beta / 2, sensitivity=slope, step_size=h, n_steps=steps)
    assert halved.epsilon(DELTA) < EPSILON


def test_equation_34_is_sound_and_loose():
    beta = paper.printed_diffusion_beta(1.0, 1e-5, lipschitz=1.0, n=1000, time=3.0)
    path = path_guarantee(beta=beta, sensitivity=2e-3, step_size=1e-2, n_steps=300)
    assert path.epsilon(1e-5) == pytest.approx(0.52, abs=0.01)
    assert gdp_mu(1.0, 1e-5) / path.mu == pytest.approx(1.82, abs=0.01)


def test_equation_9_is_caught():
    """ℓ = 0.005θ² ± θ: at the edge only one of two neighbours' gradients is not 0."""
    n, psi, radius = 1000, 2e-4, 0.5
    constants = Constants(n=n, p=1, L=1 + 0.01 * radius, M=0.01, m=0.01, osc=4 * radius / n)
    theta = np.linspace(-radius, radius, 200_001)

    def gradient(plus):
        tilt = (2 * plus - n) / n
        loss = 0.005 * theta**2 + tilt * theta
        return (0.01 * theta + tilt) * (loss > loss.min() + psi)

    moved = float(np.abs(gradient(500) - gradient(501)).max())
    assert moved == pytest.approx(0.004, rel=0.02)
    printed = paper.printed_sensitivity(constants, psi)
    sound = gradient_sensitivity(constants, psi, width=0.0, interior=True)
    assert moved > 1.3 * printed and moved <= sound
    beta, step = 1000.0, 0.05
    found = normals(step * beta * moved / math.sqrt(2 * step))  # one step from the worst θ
    for claimed, holds in ((printed, False), (sound, True)):
        claim = path_guarantee(beta=beta, sensitivity=claimed, step_size=step, n_steps=1)
        assert found.within(claim) == holds


def test_equation_4_fails_for_bent_losses():
    def ends(condition):
        bent = Constants(n=100, p=1, L=1.0, M=1.0, m=1 / condition, osc=0.04)
        psi = (bent.L / bent.n) ** 2 * math.sqrt(condition)  # where it is tightest
        return paper.printed_mean_loss(bent, psi, beta=1.0)

    assert ends(1.0)[0] <= ends(1.0)[1]
    assert ends(1e4)[0] > 2 * ends(1e4)[1]


def test_lemma_i2_is_sound_and_loose():
    numbers = {"beta": 50.0, "sensitivity": 0.02, "m": 0.5}
    for time in (1e-3, 0.05, 10.0):
        ours = diffusion_guarantee(**numbers, time=time).rho
        assert ours < paper.printed_last_iterate_rho(**numbers, time=time) <= 2 * ours * (1 + 1e-12)


def test_algorithm_8_is_caught():
    """Linear losses, all rows on one side, one record turned: twice the ε it claims."""
    ball, n = Ball(1.0), 1000
    constants = Constants.from_loss("absolute", n=n, p=1, domain=ball, row_bound=1.0)
    theta = np.linspace(-1, 1, n + 1)
    beta = paper.printed_net_beta(constants, ball, epsilon=EPSILON)

    def net(beta):
        turned = ((n - 1) * (1 - theta) + (1 + theta)) / n
        return audit.discrete(-beta * (1 - theta), -beta * turned)

    assert not net(beta).within(pure(epsilon=EPSILON))
    assert net(beta).max_log_ratio == pytest.approx(2.0, abs=0.01)
    assert beta * constants.osc == pytest.approx(2.0, rel=1e-9)
    assert net(beta / 2).within(bounded_range(eta=EPSILON))


def test_output_noise_of_appendix_c_is_caught():
    """ℓ = ½θ² ± θ: the minimiser moves by 2L/(mn), with L = 1."""
    n = 1000
    bent = Constants(n=n, p=1, L=2.0, M=1.0, m=1.0, osc=4 / n)
    sigma = paper.printed_output_sigma(bent, Ball(1.0), epsilon=EPSILON, delta=DELTA)
    found = normals(2 / n / sigma)
    assert not found.within(CLAIM)
    assert float(found.delta(EPSILON)) == pytest.approx(4.3e-5, rel=0.02)


def test_objective_perturbation_of_appendix_e_is_caught():
    """Fifty rows of slope −1, and a Huber row against one more of slope −1."""

    def objective(rate, ridge):
        def law(slope, curvature):
            def log_density(theta):
                noise = 50 - slope(theta[0]) - ridge * theta[0]  # what makes θ the minimiser
                return np.asarray(-rate * np.abs(noise) + np.log(curvature(theta[0]) + ridge))

            return log_density

        huber = law(lambda t: np.clip(t, -1, 1), lambda t: (np.abs(t) < 1).astype(float))
        straight = law(lambda t: -np.ones_like(t), np.zeros_like)
        return audit.exact(huber, straight, box=[(-200.0, 400.0)], points=60_001)

    printed = objective(rate=EPSILON / 2, ridge=0.5)
    assert not printed.within(pure(epsilon=EPSILON))
    assert printed.max_log_ratio == pytest.approx(2.0986, abs=0.02)
    exact = paper.printed_objective_epsilon(smoothness=1.0, ridge=0.5, epsilon=EPSILON)
    assert exact == pytest.approx(2.0986, abs=1e-4)
    sound = objective(rate=EPSILON / 4, ridge=1 / math.expm1(EPSILON / 2))
    assert sound.within(pure(epsilon=EPSILON)) and sound.max_log_ratio > 0.95 * EPSILON


def test_the_table_cannot_be_charged():
    table = paper.printed_constants()
    assert len({row.name for row in table}) == len(table)
    for row in table:
        assert row.printed and not row.usable and row.guarantee is None
        assert row.why.startswith(("unsound: ", "sound but loose: "))
    verdicts = {row.name: row.why.split(":")[0] for row in paper.printed_constants(0.1, 1e-6)}
    assert verdicts["path_beta"] == "unsound"
    assert verdicts["output_sigma"] == "sound but loose"  # it is, for small ε and δ


ROWS = 1_000_000


def scalar(kappa):
    """g = zy²/2 − xy, f = y − x, z in [1, κ], |x| ≤ ½: Φ = x/z̄ − x is linear."""
    return BilevelConstants(mu=1.0, f_x=1.0, f_y=1.0, g_y=kappa / 2, g_xy=1.0, g_yy=kappa)


def delta_of(kappa, slope):
    """δ(ε) of the worst neighbours' laws, integrated, at the temperature for this slope."""
    ridge = 4 * math.sqrt(math.log(1 / DELTA)) / (ROWS * EPSILON)
    k = theorems.regularised_temperature(ridge, slope, epsilon=EPSILON, delta=DELTA)
    moved = 1 / (1 + (kappa - 1) / ROWS) - 1

    def law(tilt):
        return lambda x: -k * (tilt * x[0] + ridge * x[0] ** 2 / 2)

    return exact(law(0.0), law(moved), box=[(-0.5, 0.5)], points=40_001).delta(EPSILON)


@pytest.mark.parametrize("kappa", [10.0, 100.0, 1000.0])
def test_the_regularised_mechanism_is_private_by_k(kappa):
    assert delta_of(kappa, scalar(kappa).gradient_sensitivity / ROWS) <= DELTA


@pytest.mark.parametrize("kappa", [100.0, 1000.0])
def test_as_printed_it_is_not(kappa):
    """Negative control: 2G/n in place of K/n."""
    slope = paper.printed_bilevel_slope(
        outer_x=1.0, outer_y=1.0, inner_y=kappa, inner_xy=1.0, outer_xy=0.0, mu=1.0
    )
    assert delta_of(kappa, 2 * slope / ROWS) > 1000 * DELTA


def test_gradient_norms_use_all_of_it_where_gradients_turn():
    """∇Φ = a on one half and b on the other, one record moving both by Δ, apart."""
    sensitivity = 0.1
    k = theorems.gradient_norm_temperature(sensitivity, epsilon=EPSILON)
    first, second = np.array([0.3, 0.5]), np.array([0.4, 0.4])
    assert discrete(-k * first, -k * second).range == pytest.approx(EPSILON)


@pytest.mark.parametrize("inner_error", [0.0, 1e-4, 1e-2])
def test_noise_of_hypergradients_is_what_gaussian_dp_asks(inner_error):
    steps, moved = 4, 0.01 + 2 * 3.0 * inner_error
    sigma = theorems.hypergradient_noise(
        0.01, steps, epsilon=EPSILON, delta=DELTA, inexactness=3.0, inner_error=inner_error
    )
    together = gdp(mu=math.sqrt(steps) * moved / sigma)
    assert together.epsilon(DELTA) == pytest.approx(EPSILON, rel=1e-9)

    def law(mean):
        return lambda x: -((x[0] - mean) ** 2) / (2 * sigma**2)

    far = moved * math.sqrt(steps)  # T equal shifts are one of √T times the size
    audit = exact(law(0.0), law(far), box=[(-9 * sigma, 9 * sigma + far)])
    assert audit.delta(EPSILON) <= DELTA * (1 + 1e-3)
    if inner_error > 1e-3:  # inner errors that nobody pays for
        free = theorems.hypergradient_noise(0.01, steps, epsilon=EPSILON, delta=DELTA)
        assert gdp(mu=far / free).delta(EPSILON) > 10 * DELTA


def test_regimes_follow_each_other():
    found = [theorems.stationary_regime(100, d, 1.0) for d in (10, 11, 100, 101, 10_000, 10_001)]
    assert found == [
        "gradient norm", "warm start", "warm start", "noisy gradient", "noisy gradient", "constant",
    ]  # fmt: skip


@pytest.mark.parametrize(("sound", "holds"), [(True, True), (False, False)])
def test_a_kink_behind_a_fit_needs_more_than_what_is_printed(sound, holds):
    """g = (y − ax − z̄)²/2 and f = √(y² + w²) − w: a record moves where the kink is.

    Both losses are convex. Φ' = a·f'(ax + z̄), which a shift of z̄ by 2/n turns round where w is
    small; printed is 2G/n with G = a, and K has β_f,yy = 1/w.
    """
    n, a, width = 1000, 0.01, 1e-4
    bounds = BilevelConstants(mu=1.0, f_y=1.0, g_y=1.0, f_yy=1 / width, g_xy=a, g_yy=1.0)
    printed = paper.printed_bilevel_slope(
        outer_x=0.0, outer_y=1.0, inner_y=1.0, inner_xy=a, outer_xy=0.0, mu=1.0
    )
    slope = bounds.gradient_sensitivity / n if sound else 2 * printed / n
    ridge = printed * math.sqrt(math.log(1 / DELTA)) / (n * EPSILON)
    k = theorems.regularised_temperature(ridge, slope, epsilon=EPSILON, delta=DELTA)

    def law(shift):
        return lambda x: -k * (np.sqrt((a * x[0] + shift) ** 2 + width**2) + ridge * x[0] ** 2 / 2)

    audit = exact(law(-1 / n), law(1 / n), box=[(-0.5, 0.5)], points=40_001)
    assert bool(audit.delta(EPSILON) <= DELTA) is holds
    assert holds or audit.delta(EPSILON) > 0.5


def test_excess_of_the_regularised_mechanism_has_the_rate_of_the_paper():
    """d/k + μD²/2 on a ball of diameter D = 1, at the best μ: n by −1, d by ½."""

    def bound(n, d):
        ridges = np.geomspace(1e-9, 10, 400)
        cold = [
            theorems.regularised_temperature(r, 1 / n, epsilon=EPSILON, delta=DELTA) for r in ridges
        ]
        return float((d / np.array(cold) + ridges / 2).min())

    n, d = np.array([1e4, 1e5, 1e6]), np.array([4.0, 16.0, 64.0])
    by_n = np.polyfit(np.log(n), np.log([bound(k, 8) for k in n]), 1)[0]
    by_d = np.polyfit(np.log(d), np.log([bound(1e5, k) for k in d]), 1)[0]
    assert (by_n, by_d) == pytest.approx((-1, 0.5), abs=0.1)
