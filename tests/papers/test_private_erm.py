"""Sampled steps for smooth losses, and boosting: its law by brute force, and its promise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from rashomon_explorer.mechanisms import MECHANISMS
from rashomon_explorer.mechanisms.centres import plan_noisy_minimiser
from rashomon_explorer.mechanisms.one_model import OneModelDetails
from rashomon_explorer.mechanisms.selection import Exponential
from rashomon_explorer.papers import one_model as private_erm
from rashomon_explorer.privacy import compose, gdp
from rashomon_explorer.problem.losses import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms import chains
from tests.mechanisms.builders import request_of

N, RADIUS, LOSS = 40, 0.5, SmoothedHingeLoss(smoothing=0.5)
ASKED = request_of(n=N, p=1, loss=LOSS, radius=RADIUS, row_norm=1.0, ridge=1.0, epsilon=1.0)


def boosting(delta, share=0.25):
    """Two runs of output perturbation; with δ of its Gaussian form, which p = 1 does not prefer."""
    (one,) = private_erm._tried(replace(ASKED, delta=0.0), 2, share, 0.05, ("output_perturbation",))
    if delta == 0:
        return one
    assert not [*private_erm._tried(ASKED, 2, 0.25, 0.05, ("output_perturbation",))]
    known = replace(ASKED, ridge=one.run.ridge).constants
    settings = plan_noisy_minimiser(known, RADIUS, 1.0, epsilon=1.0, mu=0.2)
    guarantee = compose([gdp(0.2), gdp(0.2), one.pick.guarantee])
    return replace(
        one, run=replace(one.run, details=OneModelDetails(settings)), guarantee=guarantee
    )


def table(pull, ridge):
    """One record has the steepest slope; in the ball all losses are linear."""
    rows = np.zeros((N, 1))
    rows[0] = pull
    return Problem(
        rows, np.ones(N), loss=LOSS, radius=RADIUS, ridge=ridge, row_norm=1.0, intercept=False
    )


def selected_law(planned, pull, scale=1.0, sharper=1.0):
    """Places and masses of the better of two runs, each a clipped noisy minimiser."""
    run = planned.run
    noise = (norm if run.details.settings.gaussian else laplace)(
        pull / (N * run.ridge), run.details.settings.scale * scale
    )
    edges = np.linspace(-RADIUS, RADIUS, 801)
    places = np.concatenate([[-RADIUS], (edges[1:] + edges[:-1]) / 2, [RADIUS]])
    law = np.diff(np.concatenate([[0.0], noise.cdf(edges), [1.0]]))
    loss = -pull * places / N + places**2 / 2
    weight = sharper * planned.pick.epsilon / (2 * planned.pick.sensitivity)
    chosen = 1 / (1 + np.exp(weight * (loss[:, None] - loss)))
    return places, 2 * law * (chosen @ law)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_runs_and_selection_together_keep_their_cost_by_brute_force(delta):
    planned = boosting(delta)

    def apart(epsilon, **changed):
        laws = [selected_law(planned, pull, **changed)[1] for pull in (1.0, -1.0)]
        assert laws[0].sum() == pytest.approx(1.0)
        return chains.delta(*laws, epsilon)

    grid = np.linspace(0.0, 1.0, 6)
    assert delta or planned.guarantee.epsilon(0.0) == pytest.approx(1.0, rel=1e-6)
    assert all(apart(one) <= planned.guarantee.delta(one) + 1e-9 for one in grid)
    # Controls: less noise, and a selection as sharp as if the loss moved less.
    assert any(apart(one, scale=0.3) > planned.guarantee.delta(one) + 1e-4 for one in grid)
    assert any(apart(one, sharper=50.0) > planned.guarantee.delta(one) + 1e-4 for one in grid)


def test_a_selection_is_not_free_as_appendix_d_has_it():
    """The two runs alone cost .2 together; with the selection the laws are .4 apart."""
    planned = boosting(0.0, share=0.8)
    runs = 2 * planned.run.guarantee.epsilon(0.0)
    laws = [selected_law(planned, pull)[1] for pull in (1.0, -1.0)]
    assert runs == pytest.approx(0.2) and chains.delta(*laws, runs) > 0.005


def test_a_draw_is_the_better_of_two_runs_by_the_users_objective():
    planned = boosting(1e-3)
    places, law = selected_law(planned, 1.0)
    problem = table(1.0, planned.run.ridge)
    plan = replace(planned.run, details=OneModelDetails(planned))
    rng = np.random.default_rng(0)
    drawn = np.array([private_erm.Boosted().model(problem, plan, rng)[0] for _ in range(300)])
    ends = np.cumsum(law)

    def below(x):
        return ends[np.searchsorted(places, x, side="right").clip(1) - 1]

    inside = np.abs(drawn) < RADIUS - 1e-6
    assert (
        kstest(drawn[inside], lambda x: (below(x) - ends[0]) / (ends[-2] - ends[0])).pvalue > 1e-3
    )
    assert inside.mean() == pytest.approx(ends[-2] - ends[0], abs=0.09)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_bound_fails_no_more_often_than_said_for_the_worst_runs(k):
    """Runs with excess 0 or aF attain Markov's inequality; one run fewer is caught."""
    failure, pick = 0.1, Exponential(0.5, 0.5)
    bad = (failure / 2) ** (1 / k)
    factor, mean = 1 / bad, 1.0
    tail = math.log(2 * k / failure) / 0.5
    assert bad * factor == pytest.approx(mean)

    def missed(runs):
        """Probability of an excess above a·F + tail, with bad runs just above it."""
        above = (factor + tail) * (1 + 1e-9)
        worse = [pick.law([0.0] * (runs - j) + [above] * j)[-1] * j for j in range(1, runs)]
        chance = [math.comb(runs, j) * bad**j * (1 - bad) ** (runs - j) for j in range(1, runs)]
        return bad**runs + float(np.dot(worse, chance))

    assert missed(k) <= failure < 2 * bad ** (k - 1)
    planned = private_erm.plan_boosting(request_of(n=20_000), failure=failure)
    factor = (2 / failure) ** (1 / planned.k)
    osc, cost = 2 * planned.pick.sensitivity, planned.pick.epsilon
    run = planned.excess - osc * math.log(planned.k) / cost
    assert planned.likely == pytest.approx(
        factor * run + osc * math.log(2 * planned.k / failure) / cost
    )


def test_boosting_bounds_more_than_markov_and_says_so():
    offer = MECHANISMS["boosted"].plan(request_of(n=20_000))
    one = MECHANISMS["noisy_descent"].plan(request_of(n=20_000))
    planned = offer.details.settings
    assert one.excess_bound < planned.excess < planned.likely < 20 * one.excess_bound / 2
    assert "with probability 0.95 the excess is at most" in offer.certificate and planned.k > 1
    assert private_erm.plan_boosting(request_of(n=20_000, ridge=0.2)).k == 1  # 1/0.05 of little
    with pytest.raises(ValueError, match="failure"):
        private_erm.plan_boosting(ASKED, failure=1.0)


def test_sampled_steps_of_a_smooth_loss_take_a_quarter_of_the_rows_and_promise_less():
    request = request_of(n=20_000, ridge=0.1)
    offer = MECHANISMS["smooth_sgd"].plan(request)
    planned, best = offer.details.settings, MECHANISMS["noisy_descent"].plan(request)
    assert planned.smooth and planned.rate < 1 and offer.gradients == 500
    assert best.excess_bound < offer.excess_bound and planned.pace <= 0.5 / request.constants.M
    assert "kinks" in MECHANISMS["smooth_sgd"].plan(replace(request, loss="hinge")).reason
    more = MECHANISMS["smooth_sgd"].plan(replace(request, ridge=1.0))
    assert more.excess_bound < offer.excess_bound / 3  # 1/m
