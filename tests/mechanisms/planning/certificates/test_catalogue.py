"""The list of certificates, its best, and the β that it allows."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from rashomon_explorer.mechanisms.certificates.base import Certificate
from rashomon_explorer.mechanisms.certificates.catalogue import (
    GIBBS,
    best_certificate,
    gibbs_certificates,
    largest_beta,
)
from rashomon_explorer.mechanisms.certificates.gibbs_laws import GibbsLaw
from rashomon_explorer.mechanisms.certificates.localised import excess_quantile, mean_above
from rashomon_explorer.privacy.conversions import bounded_range_mu
from rashomon_explorer.privacy.notions import pure
from rashomon_explorer.privacy.tradeoff import Gaussian
from rashomon_explorer.privacy.tradeoff.bounded_range import BoundedRange
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

BALL = Ball(1.0)
RIDGED = Constants.of("logistic", n=1000, p=3, domain=BALL, row_bound=1.0, ridge=0.5)
PLAIN = Constants.of("logistic", n=1000, p=3, domain=BALL, row_bound=1.0)


def test_all_are_listed_and_the_best_is_first() -> None:
    for constants, delta in [(RIDGED, 1e-6), (PLAIN, 1e-6), (RIDGED, 0.0)]:
        found = gibbs_certificates(constants, BALL, psi=0.05, beta=300.0, delta=delta)
        assert {one.name for one in found} == set(GIBBS)
        prices = [one.epsilon(delta) for one in found]
        assert prices == sorted(prices)
        assert best_certificate(found, delta) == found[0]
        assert all(one.why and one.applies == (one.guarantee is not None) for one in found)


def test_without_a_ridge_or_without_delta_the_reasons_are_given() -> None:
    found = {one.name: one for one in gibbs_certificates(PLAIN, BALL, psi=0, beta=9, delta=0.0)}
    assert "ridge" in found["gaussian_gibbs"].why and "m = 0" in found["localised"].why
    ridged = gibbs_certificates(RIDGED, BALL, psi=0.1, beta=9.0, delta=0.0)
    assert "δ > 0" in next(one.why for one in ridged if one.name == "localised")
    with pytest.raises(ValueError, match=r"no certificate holds at delta = 0: .*m = 0"):
        best_certificate([one for one in found.values() if one.name != "oscillation"], 0.0)
    with pytest.raises(ValueError, match="none was given"):
        best_certificate([], 0.1)


@pytest.mark.parametrize("constants", [RIDGED, PLAIN])
@pytest.mark.parametrize("psi", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize(("delta", "n_draws"), [(0.0, 1), (1e-6, 1), (1e-6, 20), (1e-6, 500)])
def test_the_largest_beta_is_what_the_budget_allows(
    constants: Constants, psi: float, delta: float, n_draws: int
) -> None:
    budget = {"epsilon": 1.0, "delta": delta, "n_draws": n_draws}
    beta, by = largest_beta(constants, BALL, psi=psi, **budget)
    assert by.usable and by.epsilon(delta) <= 1.0
    for times, affordable in [(1.0, True), (1 + 1e-6, False)]:
        found = gibbs_certificates(
            constants, BALL, psi=psi, beta=times * beta, delta=delta, n_draws=n_draws
        )
        assert (found[0].epsilon(delta) <= 1.0) == affordable


@pytest.mark.parametrize("name", GIBBS)
def test_prices_grow_with_the_temperature_and_the_draws(name: str) -> None:
    def price(beta: float, n_draws: int = 1, psi: float = 0.01) -> float:
        law = GibbsLaw(RIDGED, BALL, psi, beta, width=0.01)
        return GIBBS[name](law, delta=1e-6, n_draws=n_draws).epsilon(1e-6)

    betas = np.geomspace(1e-2, 1e6, 25)
    prices = [price(beta) for beta in betas]
    # Beyond doubles a certificate promises nothing, and so does every colder law.
    assert all(low < high or low == high == math.inf for low, high in pairwise(prices))
    assert price(10.0, 2) > price(10.0)


def test_a_guarantee_without_a_proof_cannot_be_built() -> None:
    one = gibbs_certificates(PLAIN, BALL, psi=0.0, beta=9.0, delta=0.0)[0]
    for change in ({"applies": False}, {"printed": True}, {"guarantee": None}):
        with pytest.raises(ValueError, match="guarantee exactly if it applies"):
            replace(one, **change)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="guarantee exactly"):
        Certificate("printed", "", "", pure(1.0), True, "", printed=True)


@pytest.mark.parametrize("p", [1, 2, 7])
@pytest.mark.parametrize("level", [0.0, 0.02, 0.5])
def test_the_tail_is_that_of_a_cone(p: int, level: float) -> None:
    beta, failure = 40.0, 1e-4
    top = (level * beta + p + 60) / beta

    def mass(low: float, power: int = 0) -> float:
        def density(e: float) -> float:
            return e ** (p - 1 + power) * math.exp(-beta * max(e - level, 0.0))

        points = [level] if low < level else None
        return float(quad(density, low, top, points=points, epsabs=0, epsrel=1e-10, limit=400)[0])

    whole = mass(0.0)
    quantile = excess_quantile(p, beta, level, failure)
    assert mass(quantile) / whole == pytest.approx(failure, rel=1e-5)
    least = 0.7 * level
    above, mean = mean_above(p, beta, level, least)
    assert above == pytest.approx(mass(least) / whole, rel=1e-8)
    assert mean == pytest.approx(mass(least, power=1) / mass(least), rel=1e-8)


def test_a_range_beyond_doubles_promises_nothing_finite() -> None:
    assert bounded_range_mu(5000.0) == math.inf


@pytest.mark.parametrize("eta", [1e-3, 0.7, 5.0, 60.0])
def test_bounded_range_is_gaussian_dp_and_touches_it(eta: float) -> None:
    levels = np.append(np.linspace(0, 1, 2001), 1 / (1 + math.exp(eta / 2)))  # where they touch
    mu = bounded_range_mu(eta)
    gap = BoundedRange(eta)(levels) - Gaussian(mu)(levels)
    assert gap.min() >= -1e-12
    smaller = BoundedRange(eta)(levels) - Gaussian(0.99 * mu)(levels)
    assert smaller.min() < 0


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
def test_bad_input(wrong: dict[str, object], match: str) -> None:
    good = {"domain": BALL, "psi": 0.1, "beta": 9.0, "delta": 1e-6}
    with pytest.raises(ValueError, match=match):
        gibbs_certificates(RIDGED, **{**good, **wrong})  # type: ignore[arg-type]


def test_bad_budgets() -> None:
    for wrong in ({"epsilon": 0.0}, {"epsilon": math.inf}):
        with pytest.raises(ValueError, match="epsilon"):
            largest_beta(RIDGED, BALL, psi=0.1, delta=1e-6, **wrong)
