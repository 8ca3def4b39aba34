"""The list of certificates, its best, and the β that it allows."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rashomon_explorer.mechanisms.certificates import catalogue
from rashomon_explorer.mechanisms.certificates.gibbs_laws import GibbsLaw
from rashomon_explorer.privacy.conversions import bounded_range_mu
from rashomon_explorer.privacy.tradeoff import BoundedRange, Gaussian
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

BALL = Ball(1.0)
RIDGED = Constants.of("logistic", n=1000, p=3, domain=BALL, row_bound=1.0, ridge=0.5)
PLAIN = Constants.of("logistic", n=1000, p=3, domain=BALL, row_bound=1.0)


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


@pytest.mark.parametrize("name", catalogue.GIBBS)
def test_costs_grow_with_the_temperature_and_the_draws(name):
    def cost(beta, n_draws=1):
        law = GibbsLaw(RIDGED, BALL, 0.01, beta, width=0.01)
        return catalogue.GIBBS[name](law, delta=1e-6, n_draws=n_draws).epsilon(1e-6)

    costs = [cost(beta) for beta in np.geomspace(1e-2, 1e6, 25)]
    # Beyond doubles a certificate promises nothing, and so does every colder law.
    assert all(low < high or low == high == math.inf for low, high in pairwise(costs))
    assert cost(10.0, 2) > cost(10.0)


@pytest.mark.parametrize("eta", [1e-3, 0.7, 5.0, 60.0])
def test_bounded_range_is_gaussian_dp_and_touches_it(eta):
    levels = np.append(np.linspace(0, 1, 2001), 1 / (1 + math.exp(eta / 2)))  # where they touch
    mu = bounded_range_mu(eta)
    assert (BoundedRange(eta)(levels) - Gaussian(mu)(levels)).min() >= -1e-12
    assert (BoundedRange(eta)(levels) - Gaussian(0.99 * mu)(levels)).min() < 0
    assert bounded_range_mu(5000.0) == math.inf


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"psi": -1.0}, "psi"),
        ({"beta": 0.0}, "beta"),
        ({"beta": math.inf}, "beta"),
        ({"delta": 1.0}, "delta"),
        ({"n_draws": 0}, "n_draws"),
        ({"n_draws": True}, "n_draws"),
        ({"width": math.nan}, "width"),
        ({"domain": Ball(50.0)}, "Constants.of for this domain"),
    ],
)
def test_bad_input(wrong, match):
    with pytest.raises(ValueError, match=match):
        certificates(**wrong)
