"""The list of certificates, its best, and the β that it allows."""

import math
from dataclasses import replace

import pytest

from rashomon_explorer.mechanisms.certificates import catalogue
from rashomon_explorer.problem.domains import Ball
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
