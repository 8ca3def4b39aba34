"""Each certificate of a Gibbs law against the privacy that integration finds, in one dimension."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates import gibbs_laws as law_module
from rashomon_explorer.mechanisms.certificates import localised as localised_module
from rashomon_explorer.mechanisms.certificates.base import Certificate
from rashomon_explorer.mechanisms.certificates.catalogue import (
    GIBBS,
    gibbs_certificates,
    largest_beta,
)
from rashomon_explorer.mechanisms.certificates.gibbs_laws import GibbsLaw
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.privacy import adaptive_epsilon
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.ledger.totals import entered_at
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.thresholds import HardThreshold, SmoothThreshold
from tests.crossing import crossed

Pair = tuple[FloatArray, FloatArray]
Profile = Callable[[float], float]

# Losses of the rows x = 1 and x = −1 with y = 1, and of x = 0, which says nothing.
LOSSES = {
    "logistic": lambda score: np.logaddexp(0.0, -score),
    "squared": lambda score: (1 - score) ** 2 / 2,
    "absolute": lambda score: np.abs(1 - score),
}
# Rows, radius, ridge: draws well inside, draws near the boundary, and next to no ridge.
SIZES = [(12, 1.0, 1.0), (3, 2.0, 0.2), (40, 0.5, 1e-3)]
SHAPES = [(0.0, 0.0), (1e-3, 0.0), (0.1, 0.0), (0.1, 0.05)]  # ψ and width
BETAS = [0.3, 3.0, 30.0]  # times 1/osc
EPSILONS = [0.0, 0.1, 0.5, 2.0, 10.0]


def constants_of(loss: str, n: int, radius: float, ridge: float) -> Constants:
    return Constants.of(loss, n=n, p=1, domain=Ball(radius), row_bound=1.0, ridge=ridge)


def grid(radius: float, points: int = 2001) -> FloatArray:
    return np.linspace(-radius, radius, points)


def law_of(values: FloatArray, law: GibbsLaw, error: float = 0.0) -> FloatArray:
    """Masses on the grid, with a minimum that is too high by ``error``."""
    shape = SmoothThreshold(law.width) if law.width else HardThreshold()
    log = -law.beta * shape.energy(values - values.min() - error - law.psi)
    masses = np.exp(log - log.max())
    masses[[0, -1]] /= 2
    return np.asarray(masses / masses.sum())


def neighbours(loss: str, law: GibbsLaw, radius: float) -> Iterator[Pair]:
    """Laws of all mixtures of the two extreme rows, and of each with one row replaced."""
    theta, f, n = grid(radius), LOSSES[loss], law.constants.n
    towards, away, silent = f(theta), f(-theta), f(0 * theta)
    bare = law.constants.m / 2 * theta**2
    for count in sorted({*range(0, n, max(1, n // 6)), n - 1}):
        rest = (count * towards + (n - 1 - count) * away) / n + bare
        for one, other in [(towards, away), (towards, silent)]:
            for errors in [(0.0, 0.0), (law.tolerance, 0.0), (0.0, law.tolerance)]:
                pair = rest + one / n, rest + other / n
                yield law_of(pair[0], law, errors[0]), law_of(pair[1], law, errors[1])


def hockey_stick(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """Exact δ(ε) of a pair, the larger of both directions."""
    scale = math.exp(min(epsilon, 700.0))
    return float(max(np.maximum(p - scale * q, 0).sum(), np.maximum(q - scale * p, 0).sum()))


def worst(pairs: list[Pair], epsilon: float) -> float:
    return max(hockey_stick(p, q, epsilon) for p, q in pairs)


def exactly(pairs: list[Pair]) -> Profile:
    """The worst exact δ of the pairs as a function of ε, which many certificates are held to."""
    return cache(partial(worst, pairs))


def beaten(certificate: Certificate, exact: Profile, epsilons: list[float]) -> bool:
    """Whether integration finds more than the certificate promises, beyond the grid's error."""
    guarantee = certificate.guarantee
    assert guarantee is not None
    return any(
        exact(epsilon) > guarantee.delta(epsilon) * (1 + 1e-6) + 1e-10 for epsilon in epsilons
    )


@crossed(
    {
        "n, radius, ridge": SIZES,
        "loss": LOSSES,
    }
)
def test_no_neighbours_differ_by_more_than_any_certificate_says(
    loss: str, n: int, radius: float, ridge: float
) -> None:
    constants = constants_of(loss, n, radius, ridge)
    applied = set()
    for (psi, width), times in itertools.product(SHAPES, BETAS):
        beta = times / constants.osc
        law = GibbsLaw(constants, Ball(radius), psi, beta, width)
        exact = exactly(list(neighbours(loss, law, radius)))
        for delta in (1e-2, 1e-6):
            for one in gibbs_certificates(
                constants, Ball(radius), psi=psi, beta=beta, delta=delta, width=width
            ):
                if one.usable:
                    applied.add(one.name)
                    assert not beaten(one, exact, [*EPSILONS, one.epsilon(delta)]), (one, delta)
    assert applied == set(GIBBS)


def line(n: int = 1000, psi: float = 0.1, beta: float = 1.0) -> GibbsLaw:
    """(θ − a)²/2 on [−1, 1]: half the slope of one row is data, one record moves a by 1/n."""
    return GibbsLaw(Constants(n, 1, 1.5, 1.0, 1.0, 2 / n), Ball(1.0), psi, beta)


def shifted(law: GibbsLaw, points: int = 40_001, span: float = 1.0) -> Pair:
    theta = grid(span, points)
    centre = 0.5 / law.constants.n
    return law_of((theta - centre) ** 2 / 2, law), law_of((theta + centre) ** 2 / 2, law)


def exact_beta(psi: float, epsilon: float = 1.0, delta: float = 1e-6) -> float:
    def surplus(log_beta: float) -> float:
        pair = shifted(line(psi=psi, beta=math.exp(log_beta)))
        return math.log(hockey_stick(*pair, epsilon) + 1e-300) - math.log(delta)

    return math.exp(brentq(surplus, math.log(500), math.log(2e5), rtol=1e-6))


def beta_by(name: str, law: GibbsLaw) -> float:
    """Largest β of one theorem at (1, 1e-6), by bisection."""

    def price(log_beta: float) -> float:
        one = GIBBS[name](replace(law, beta=math.exp(log_beta)), delta=1e-6)
        return min(one.epsilon(1e-6), 1e6) - 1

    return math.exp(brentq(price, -12.0, 13.0))


def test_figures_at_a_wide_threshold() -> None:
    """n = 1000, ψ = 0.1, (1, 1e-6): what the data allow, and what each theorem does."""
    law = line()
    exact = exact_beta(0.1)
    assert exact == pytest.approx(2229, rel=1e-3)
    assert beta_by("oscillation", law) == pytest.approx(500, rel=2e-3)
    assert 0.97 * exact < beta_by("localised", law) < exact
    assert 0.1 < beta_by("isoperimetry", replace(law, interior=True)) < 0.3

    def two_tails(beta: float) -> float:
        """The bound by the Gamma tail on both sides, without the mean: about half as good."""
        excess = law.psi + math.log(1e6) / beta
        return beta * law.slope * (2 * math.sqrt(2 * excess) + law.slope)

    assert brentq(lambda beta: two_tails(beta) - 1, 1.0, 1e4) == pytest.approx(1050, rel=0.01)


@pytest.mark.parametrize(("psi", "share"), [(0.0, 0.99), (1e-4, 0.5), (1e-3, 0.75), (1e-2, 0.9)])
def test_the_best_certificate_is_near_what_is_true(psi: float, share: float) -> None:
    law = line()
    beta, by = largest_beta(law.constants, law.domain, psi=psi, epsilon=1.0, delta=1e-6)
    assert share * exact_beta(psi) < beta < exact_beta(psi)
    assert by.epsilon(1e-6) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("psi", "beta", "span"), [(0.0, 2e4, 0.06), (1e-3, 8e3, 0.12), (0.1, 1e3, 0.7)]
)
def test_two_draws(psi: float, beta: float, span: float) -> None:
    """The span holds all but a negligible mass, on a grid that finds the minimum to its gap."""
    law = line(psi=psi, beta=beta)
    p, q = shifted(law, 1201, span)
    for one in gibbs_certificates(
        law.constants, law.domain, psi=psi, beta=beta, delta=1e-5, n_draws=2
    ):
        if one.usable:
            pair = np.outer(p, p).ravel(), np.outer(q, q).ravel()
            assert not beaten(one, exactly([pair]), [0.1, 0.5, 1.0, one.epsilon(1e-5)])


@pytest.mark.parametrize("psi", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("beta", [20.0, 100.0, 400.0])
def test_two_dimensions(psi: float, beta: float) -> None:
    """Quadratic losses on a disc; one record moves the minimiser by 0.05."""
    n, axis = 20, grid(1.0, 401)
    law = GibbsLaw(Constants(n, 2, 1.5, 1.0, 1.0, 2 / n), Ball(1.0), psi, beta)
    x, y = (part.ravel() for part in np.meshgrid(axis, axis))
    disc = np.hypot(x, y) <= 1
    p, q = (law_of(((x - a) ** 2 + y**2)[disc] / 2, law) for a in (-0.025, 0.025))
    for one in gibbs_certificates(law.constants, law.domain, psi=psi, beta=beta, delta=1e-4):
        if one.usable:
            assert not beaten(one, exactly([(p, q)]), [0.1, 1.0, one.epsilon(1e-4)])


def halved(law: GibbsLaw) -> GibbsLaw:
    """Half of Δ, the ridge's part of the Lipschitz constant left as it is."""
    ridge = law.constants.m * law.domain.radius
    smaller = ridge + (law.constants.L - ridge) / 2
    return replace(law, constants=replace(law.constants, L=smaller))


@pytest.mark.parametrize(
    ("name", "psi", "beta"), [("gaussian_gibbs", 0.0, 5e4), ("localised", 0.1, 2e3)]
)
def test_half_the_slope_is_caught(name: str, psi: float, beta: float) -> None:
    law = line(psi=psi, beta=beta)
    found = [GIBBS[name](one, delta=1e-6) for one in (law, halved(law))]
    epsilon = found[1].epsilon(1e-6)
    assert [beaten(one, exactly([shifted(law)]), [epsilon]) for one in found] == [False, True]


def test_half_the_radius_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    law = line(beta=2e3)
    whole = localised_module._quantile
    monkeypatch.setattr(localised_module, "_quantile", lambda *args: whole(*args) / 4)
    bold = GIBBS["localised"](law, delta=1e-6)
    assert beaten(bold, exactly([shifted(law)]), [bold.epsilon(1e-6)])


def test_half_the_oscillation_is_caught() -> None:
    constants = constants_of("logistic", 3, 2.0, 0.2)
    law = GibbsLaw(constants, Ball(2.0), 0.1, 30 / constants.osc)
    bold = GIBBS["oscillation"](
        replace(law, constants=replace(constants, osc=constants.osc / 2)), delta=0.0
    )
    assert beaten(bold, exactly(list(neighbours("logistic", law, 2.0))), [bold.epsilon(0.0)])


@pytest.mark.parametrize(
    ("name", "ridge", "beta", "epsilon"),
    [("isoperimetry", 0.5, 100.0, 190.0), ("convex_body", 1e-9, 50.0, 96.0)],
)
def test_half_the_gradient_is_caught(
    name: str, ridge: float, beta: float, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row at either end: the laws sit at opposite ends of the domain."""
    law = GibbsLaw(constants_of("absolute", 1, 1.0, ridge), Ball(1.0), 1e-6, beta)
    exact = exactly(list(neighbours("absolute", law, 1.0)))
    assert not beaten(GIBBS[name](law, delta=1e-6), exact, [epsilon])
    whole = law_module.gradient_sensitivity
    monkeypatch.setattr(
        law_module, "gradient_sensitivity", lambda *args, **keys: whole(*args, **keys) / 2
    )
    assert beaten(GIBBS[name](law, delta=1e-6), exact, [epsilon])


def divergence_between(p: FloatArray, q: FloatArray, order: float) -> float:
    """Exact D_a of a pair, the larger of both directions."""
    both_there = np.minimum(p, q) > 1e-250  # beyond, sums of doubles know nothing
    logs = np.log(p[both_there]), np.log(q[both_there])
    both = [logsumexp(order * a + (1 - order) * b) for a, b in (logs, logs[::-1])]
    return float(max(both)) / (order - 1)


def charged_and_true(loss: str, n: int, radius: float, ridge: float, budget: float) -> float:
    """Largest D_a of neighbours' laws that run, over what a ledger of this budget enters."""
    sizes = {"n": n, "p": 1, "radius": radius, "row_norm": 1.0, "ridge": ridge}
    asked = {"epsilon": 1.0, "delta": 1e-6, "certificate": "best", "ledger": True}
    planned = plan(psi=0.0, loss=loss, **sizes, **asked)
    order = filter_order(budget, 1e-6)
    assert order is not None
    law = GibbsLaw(constants_of(loss, n, radius, ridge), Ball(radius), 0.0, planned.beta)
    true = max(divergence_between(p, q, order) for p, q in neighbours(loss, law, radius))
    entered = entered_at(planned.guarantee, order)
    assert planned.certificate == "gaussian_gibbs" and entered.steady
    assert entered.value <= order * zcdp_rho(1.0, 1e-6)
    return true / entered.value


@pytest.mark.parametrize("budget", [1.0, 4.0])
@pytest.mark.parametrize("loss", ["logistic", "absolute"])
@pytest.mark.parametrize(("n", "radius", "ridge"), [(400, 1.0, 1.0), (1000, 2.0, 0.5)])
def test_a_ledger_is_charged_the_divergence_of_the_law_that_runs(
    loss: str, n: int, radius: float, ridge: float, budget: float
) -> None:
    """Of draws by the Gaussian certificate, at the order of budgets of ε = 1 and more."""
    share = charged_and_true(loss, n, radius, ridge, budget)
    assert (0.6 if loss == "absolute" else 0.1) < share <= 1.0


def test_half_the_slope_would_be_entered_for_less_than_the_law_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control."""
    whole = law_module.data_slope
    monkeypatch.setattr(law_module, "data_slope", lambda *args: whole(*args) / 2)
    assert charged_and_true("absolute", 400, 1.0, 1.0, 1.0) > 2.0


def test_a_ledger_leaves_certificates_that_lose_some_delta() -> None:
    law = line(psi=0.1, beta=2e3)
    every = gibbs_certificates(
        law.constants, law.domain, psi=0.1, beta=2e3, delta=1e-6, ledger=True
    )
    by_name = {one.name: one for one in every}
    assert not by_name["localised"].applies and "no" in by_name["localised"].why
    for one in every:
        if one.usable:
            assert one.guarantee is not None
            assert math.isinf(one.guarantee.mu) and one.guarantee.curve is None
            assert one.epsilon(1e-6) == adaptive_epsilon([one.guarantee], 1e-6)
    assert by_name["oscillation"].epsilon(0.0) == pytest.approx(
        2e3 * law.constants.charged_oscillation
    )
