"""Each certificate against the privacy that integration finds; their list, its best and its β."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

from rashomon_explorer.mechanisms import plan
from rashomon_explorer.mechanisms.certificates import catalogue, gibbs_laws
from rashomon_explorer.mechanisms.certificates.gibbs_laws import GibbsLaw
from rashomon_explorer.mechanisms.certificates.paths import diffusion_guarantee
from rashomon_explorer.privacy import adaptive_epsilon
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.ledger.totals import recorded_divergence
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.thresholds import GaussianThreshold, HardThreshold, SmoothThreshold
from tests.crossing import crossed
from tests.mechanisms import chains
from tests.mechanisms.builders import constants_of

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


def masses(values, law, error=0.0):
    """Masses on the grid, with a minimum that is too high by ``error``."""
    shape = SmoothThreshold(law.width) if law.width else HardThreshold()
    log = -law.beta * shape.energy(values - values.min() - error - law.psi)
    found = np.exp(log - log.max())
    found[[0, -1]] /= 2
    return found / found.sum()


def neighbours(loss, law):
    """Laws of all mixtures of the two extreme rows, and of each with one row replaced."""
    theta, f, n = np.linspace(-1, 1, 2001) * law.domain.radius, LOSSES[loss], law.constants.n
    towards, away, silent = f(theta), f(-theta), f(0 * theta)
    bare = law.constants.m / 2 * theta**2
    for count in sorted({*range(0, n, max(1, n // 6)), n - 1}):
        rest = (count * towards + (n - 1 - count) * away) / n + bare
        for one, other in [(towards, away), (towards, silent)]:
            for errors in [(0.0, 0.0), (law.tolerance, 0.0), (0.0, law.tolerance)]:
                tables = zip((rest + one / n, rest + other / n), errors, strict=True)
                yield tuple(masses(losses, law, error) for losses, error in tables)


def exactly(pairs):
    """The worst exact δ of the pairs as a function of ε, which many certificates are held to."""
    pairs = list(pairs)
    return cache(lambda epsilon: max(chains.delta(*pair, epsilon) for pair in pairs))


def beaten(certificate, exact, epsilons):
    """Whether integration finds more than the certificate promises, beyond the grid's error."""
    claimed = certificate.guarantee.delta
    return any(exact(e) > claimed(e) * (1 + 1e-6) + 1e-10 for e in epsilons)


@crossed({"n, radius, ridge": SIZES, "loss": LOSSES})
def test_no_neighbours_differ_by_more_than_any_certificate_says(loss, n, radius, ridge):
    constants, applied = constants_of(loss, n=n, p=1, radius=radius, ridge=ridge), set()
    for (psi, width), times in itertools.product(SHAPES, BETAS):
        law = GibbsLaw(constants, Ball(radius), psi, times / constants.osc, width)
        exact = exactly(neighbours(loss, law))
        for delta in (1e-2, 1e-6):
            settings = {"psi": psi, "beta": law.beta, "delta": delta, "width": width}
            for one in catalogue.gibbs_certificates(constants, law.domain, **settings):
                if one.usable:
                    applied.add(one.name)
                    assert not beaten(one, exact, [*EPSILONS, one.epsilon(delta)]), (one, delta)
    assert applied == {theorem.__name__ for theorem in catalogue.GIBBS}


def line(psi=0.1, beta=1.0):
    """(θ − a)²/2 on [−1, 1]: half the slope of one row is data, one record moves a by 1/n."""
    return GibbsLaw(Constants(1000, 1, 1.5, 1.0, 1.0, 2 / 1000), Ball(1.0), psi, beta)


def shifted(law, points=40_001, span=1.0):
    theta, centre = np.linspace(-span, span, points), 0.5 / law.constants.n
    return tuple(masses((theta - a) ** 2 / 2, law) for a in (centre, -centre))


@cache
def exact_beta(psi, epsilon=1.0, delta=1e-6):
    def surplus(log_beta):
        pair = shifted(line(psi, math.exp(log_beta)))
        return math.log(chains.delta(*pair, epsilon) + 1e-300) - math.log(delta)

    return math.exp(brentq(surplus, math.log(500), math.log(2e5), rtol=1e-6))


@pytest.mark.parametrize(("psi", "share"), [(0.0, 0.99), (1e-4, 0.5), (1e-3, 0.75), (1e-2, 0.9)])
def test_the_best_certificate_is_near_what_is_true(psi, share):
    law = line()
    beta, by = catalogue.largest_beta(law.constants, law.domain, psi=psi, epsilon=1.0, delta=1e-6)
    assert share * exact_beta(psi) < beta < exact_beta(psi)
    assert by.epsilon(1e-6) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("psi", "beta", "span"), [(0.0, 2e4, 0.06), (1e-3, 8e3, 0.12), (0.1, 1e3, 0.7)]
)
def test_two_draws(psi, beta, span):
    """The span holds all but a negligible mass, on a grid that finds the minimum to its gap."""
    law = line(psi=psi, beta=beta)
    exact = exactly([tuple(np.outer(p, p).ravel() for p in shifted(law, 801, span))])
    settings = {"psi": psi, "beta": beta, "delta": 1e-5, "n_draws": 2}
    for one in catalogue.gibbs_certificates(law.constants, law.domain, **settings):
        assert not one.usable or not beaten(one, exact, [0.1, 0.5, 1.0, one.epsilon(1e-5)])


@pytest.mark.parametrize("psi", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("beta", [20.0, 100.0, 400.0])
def test_two_dimensions(psi, beta):
    """Quadratic losses on a disc; one record moves the minimiser by 0.05."""
    n, axis = 20, np.linspace(-1, 1, 401)
    law = GibbsLaw(Constants(n, 2, 1.5, 1.0, 1.0, 2 / n), Ball(1.0), psi, beta)
    x, y = (part.ravel() for part in np.meshgrid(axis, axis))
    disc = np.hypot(x, y) <= 1
    exact = exactly([[masses(((x - a) ** 2 + y**2)[disc] / 2, law) for a in (-0.025, 0.025)]])
    for one in catalogue.gibbs_certificates(
        law.constants, law.domain, psi=psi, beta=beta, delta=1e-4
    ):
        assert not one.usable or not beaten(one, exact, [0.1, 1.0, one.epsilon(1e-4)])


@pytest.mark.parametrize(
    ("name", "psi", "beta"), [("gaussian_gibbs", 0.0, 5e4), ("localised", 0.1, 2e3)]
)
def test_half_the_slope_is_caught(name, psi, beta):
    """Half of Δ, the ridge's part of the Lipschitz constant left as it is."""
    law = line(psi=psi, beta=beta)
    ridge = law.constants.m * law.domain.radius
    bold = replace(law, constants=replace(law.constants, L=ridge + (law.constants.L - ridge) / 2))
    found = [getattr(gibbs_laws, name)(one, delta=1e-6) for one in (law, bold)]
    epsilons = [found[1].epsilon(1e-6)]
    assert [beaten(one, exactly([shifted(law)]), epsilons) for one in found] == [False, True]


def test_half_the_radius_or_oscillation_is_caught(monkeypatch):
    law, quantile = line(beta=2e3), gibbs_laws._quantile
    monkeypatch.setattr(gibbs_laws, "_quantile", lambda *args: quantile(*args) / 4)
    bold = gibbs_laws.localised(law, delta=1e-6)
    assert beaten(bold, exactly([shifted(law)]), [bold.epsilon(1e-6)])
    constants = constants_of(n=3, p=1, radius=2.0, ridge=0.2)
    law = GibbsLaw(constants, Ball(2.0), 0.1, 30 / constants.osc)
    halved = replace(law, constants=replace(constants, osc=constants.osc / 2))
    bold = gibbs_laws.oscillation(halved, delta=0.0)
    assert beaten(bold, exactly(neighbours("logistic", law)), [bold.epsilon(0.0)])


@pytest.mark.parametrize(
    ("name", "ridge", "beta", "epsilon"),
    [("isoperimetry", 0.5, 100.0, 190.0), ("convex_body", 1e-9, 50.0, 96.0)],
)
def test_half_the_gradient_is_caught(name, ridge, beta, epsilon, monkeypatch):
    """One row at either end: the laws sit at opposite ends of the domain."""
    law = GibbsLaw(constants_of("absolute", n=1, p=1, ridge=ridge), Ball(1.0), 1e-6, beta)
    exact, moved = exactly(neighbours("absolute", law)), gibbs_laws.sensitivity.gradient_sensitivity
    assert not beaten(getattr(gibbs_laws, name)(law, delta=1e-6), exact, [epsilon])
    halved = lambda *args, **keys: moved(*args, **keys) / 2  # noqa: E731
    monkeypatch.setattr(gibbs_laws.sensitivity, "gradient_sensitivity", halved)
    assert beaten(getattr(gibbs_laws, name)(law, delta=1e-6), exact, [epsilon])


def divergence_between(p, q, order):
    """Exact D_a of a pair, the larger of both directions."""
    both_there = np.minimum(p, q) > 1e-250  # beyond, sums of doubles know nothing
    logs = np.log(p[both_there]), np.log(q[both_there])
    both = [logsumexp(order * a + (1 - order) * b) for a, b in (logs, logs[::-1])]
    return float(max(both)) / (order - 1)


def charged_share(loss, n, radius, ridge, budget):
    """Largest D_a of neighbours' laws that run, over what a ledger of this budget enters."""
    sizes = {"n": n, "p": 1, "radius": radius, "row_norm": 1.0, "ridge": ridge, "psi": 0.0}
    settings = {"epsilon": 1.0, "delta": 1e-6, "certificate": "best", "ledger": True}
    planned, order = plan(loss=loss, **sizes, **settings), filter_order(budget, 1e-6)
    law = GibbsLaw(
        constants_of(loss, n=n, p=1, radius=radius, ridge=ridge), Ball(radius), 0.0, planned.beta
    )
    true = max(divergence_between(p, q, order) for p, q in neighbours(loss, law))
    entered = recorded_divergence(planned.guarantee, order)
    assert planned.certificate == "gaussian_gibbs" and entered.sublinear
    assert entered.value <= order * zcdp_rho(1.0, 1e-6)
    return true / entered.value


@pytest.mark.parametrize("budget", [1.0, 4.0])
@pytest.mark.parametrize("loss", ["logistic", "absolute"])
@pytest.mark.parametrize(("n", "radius", "ridge"), [(400, 1.0, 1.0), (1000, 2.0, 0.5)])
def test_a_ledger_is_charged_the_divergence_of_the_law_that_runs(loss, n, radius, ridge, budget):
    """Of draws by the Gaussian certificate, at the order of budgets of ε = 1 and more."""
    share = charged_share(loss, n, radius, ridge, budget)
    assert (0.6 if loss == "absolute" else 0.1) < share <= 1.0


def test_half_the_slope_would_be_entered_for_less_than_the_law_tells(monkeypatch):
    """Negative control."""
    slope = gibbs_laws.sensitivity.data_slope
    monkeypatch.setattr(gibbs_laws.sensitivity, "data_slope", lambda *args: slope(*args) / 2)
    assert charged_share("absolute", 400, 1.0, 1.0, 1.0) > 2.0


def test_a_ledger_leaves_certificates_that_lose_some_delta():
    law = line(psi=0.1, beta=2e3)
    settings = {"psi": 0.1, "beta": 2e3, "delta": 1e-6, "ledger": True}
    every = {
        one.name: one for one in catalogue.gibbs_certificates(law.constants, law.domain, **settings)
    }
    assert not every["localised"].applies
    for one in every.values():
        if one.usable:
            assert math.isinf(one.guarantee.mu) and one.guarantee.curve is None
            assert one.epsilon(1e-6) == adaptive_epsilon([one.guarantee], 1e-6)
    pure = 2e3 * law.constants.charged_oscillation
    assert every["oscillation"].epsilon(0.0) == pytest.approx(pure)


BALL = Ball(1.0)
RIDGED, PLAIN = (constants_of(n=1000, ridge=ridge) for ridge in (0.5, 0.0))


def certificates(constants=RIDGED, **changed):
    public = {"domain": BALL, "psi": 0.05, "beta": 300.0, "delta": 1e-6, **changed}
    return catalogue.gibbs_certificates(constants, **public)


@pytest.mark.parametrize(("constants", "delta"), [(RIDGED, 1e-6), (PLAIN, 1e-6), (RIDGED, 0.0)])
def test_all_are_listed_with_reasons_and_the_best_is_first(constants, delta):
    found = certificates(constants, delta=delta)
    assert {one.name for one in found} == {theorem.__name__ for theorem in catalogue.GIBBS}
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


# One half of a row's slope is data: ℓ = ½θ² ± ½θ on [−1, 1].
CONSTANTS = Constants(n=4, p=1, L=1.5, M=1.0, m=1.0, osc=0.5)
DATA_SLOPE = 2 * 0.5 / 4  # the gradients of neighbours are this far apart, and no further


def certified(psi, beta, constants=CONSTANTS, **settings):
    public = {"step_size": 1e-3, "n_steps": 50, "delta": 1e-6, **settings}
    found = catalogue.path_certificates(constants, BALL, psi=psi, beta=beta, **public)
    assert {one.name for one in found} == {theorem.__name__ for theorem in catalogue.PATH}
    return {one.name: one for one in found}


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
    plain = Constants.from_loss("logistic", n=100, p=2, domain=BALL, row_bound=1.0)
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
    ("call", "wrong", "match"),
    [
        (certificates, {"psi": -1.0}, "psi"),
        *((certificates, {"beta": bad}, "beta") for bad in (0.0, math.inf)),
        (certificates, {"width": math.nan}, "width"),
        (certificates, {"domain": Ball(50.0)}, "Constants.of for this domain"),
        (certified, {"n_steps": 0}, "n_steps"),
        (certified, {"n_chains": 1.5}, "n_chains"),
        (certified, {"step_size": -1.0}, "step_size"),
        (certified, {"threshold": "soft"}, "threshold"),
        (certified, {"delta": 1.0}, "delta"),
    ],
)
def test_bad_input(call, wrong, match):
    public = {"psi": 0.1, "beta": 5.0} if call is certified else {}
    with pytest.raises(ValueError, match=match):
        call(**{**public, **wrong})
