"""States of one path: their mean excess, what a step on a batch costs, plans, and draws."""

import math
from dataclasses import replace
from itertools import chain, combinations, islice, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms import MECHANISMS, explain
from rashomon_explorer.mechanisms.bounds import path_states_excess
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz, data_slope
from rashomon_explorer.mechanisms.langevin import batches, states
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.langevin.sampled_plan import sampled_guarantee
from rashomon_explorer.mechanisms.plans import Rejected
from rashomon_explorer.mechanisms.request import ALLOCATED, BATCH_ORDERS, POISSON, SAMPLED
from rashomon_explorer.mechanisms.select import select
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.composition import adaptive_epsilon
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.losses import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.source import ArrayRows
from tests.mechanisms import chains
from tests.mechanisms.builders import Silent, request_of

LENDING = {
    "n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "epsilon": 1.0,
    "delta": 1e-6, "n_draws": 400,
}  # fmt: skip


# The mean excess, by exact laws.


def smooth_corner(theta, width=0.02):
    """|θ| with a parabola of curvature 1/width at 0: nearly the cone that a bound must cover."""
    return np.where(np.abs(theta) < width, theta**2 / (2 * width), np.abs(theta) - width / 2)


def exact_mean_excess(beta, h, n_steps, start, width=0.02, burn_in=0):
    """Mean of E L(θ_j) over the states of a path on [−1, 1], by powers of its kernel."""
    places = np.linspace(-1, 1, 401)
    slope = np.clip(places / width, -1, 1)
    step = chains.kernel(places, places - h * beta * slope, math.sqrt(2 * h))
    law = (places == places[np.abs(places - start).argmin()]).astype(float)
    excess = []
    for _ in range(n_steps):
        law = law @ step
        excess.append(law @ smooth_corner(places, width))
    return np.mean(excess[burn_in:])


@pytest.mark.parametrize("burn_in", [0, 100])
def test_the_bound_covers_a_smooth_corner_and_half_of_its_noise_does_not(burn_in):
    beta, h, n_steps = 20.0, 2e-4, 1_000
    path = {"p": 1, "beta": beta, "M": 50.0, "distance": 1.0, "step_size": h, "n_steps": n_steps}
    exact = exact_mean_excess(beta, h, n_steps, start=1.0, burn_in=burn_in)
    assert exact <= path_states_excess(**path, burn_in=burn_in)
    if burn_in == 0:
        start = 1 / (2 * beta * h * n_steps)
        assert exact > start + 1 / (2 * beta)  # half of p/β
        assert exact > path_states_excess(**{**path, "distance": 0.5})


@given(
    p=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    pace=st.floats(0.01, 0.99),
    n_steps=st.integers(1, 300),
    rate=st.sampled_from([1.0, 0.4]),
)
@settings(max_examples=60)
def test_the_bound_covers_quadratics_exactly(p, seed, pace, n_steps, rate):
    """Second moments by recursion; a batch multiplies the gradient by a/q, a of mean q."""
    rng = np.random.default_rng(seed)
    curvature, beta = rng.uniform(0, 1, p), float(rng.uniform(1, 100))
    h = pace / beta  # M = 1
    start = rng.standard_normal(p)
    square, excess, noise = start**2, [], []
    spread = (1 - rate) / rate  # variance of a/q
    for _ in range(n_steps):
        noise.append(spread * float(curvature**2 @ square))
        growth = (1 - pace * curvature) ** 2 + spread * (pace * curvature) ** 2
        square = growth * square + 2 * h
        excess.append(float(curvature @ square) / 2)
    bound = path_states_excess(
        p=p,
        beta=beta,
        M=1.0,
        distance=float(np.linalg.norm(start)),
        step_size=h,
        n_steps=n_steps,
        batch_variance=max(noise) if rate < 1 else 0.0,
    )
    assert np.mean(excess) <= bound * (1 + 1e-9)


def test_batches_need_their_own_term():
    """Without it the bound is passed: rows ±1 pull apart, and few of them are in a batch."""
    q, beta, h, n_steps = 0.05, 1e4, 5e-5, 2_000
    variance = (1 - q) / (q * 20)  # of the mean of twenty rows of slope about 1
    square = 1.0
    squares = []
    for _ in range(n_steps):
        square = (1 - h * beta) ** 2 * square + 2 * h + (h * beta) ** 2 * variance
        squares.append(square / 2)
    path = {"p": 1, "beta": beta, "M": 1.0, "distance": 1.0, "step_size": h, "n_steps": n_steps}
    assert np.mean(squares) <= path_states_excess(**path, batch_variance=variance)
    assert np.mean(squares) > path_states_excess(**path)


def test_steps_that_are_too_large_have_no_bound():
    path = {"p": 1, "beta": 10.0, "M": 1.0, "distance": 1.0, "n_steps": 10}
    with pytest.raises(ValueError, match=r"below 1/\(β·M\) = 0.1"):
        path_states_excess(**path, step_size=0.1)
    with pytest.raises(ValueError, match="burn_in must be from 0 to n_steps − 1 = 9"):
        path_states_excess(**path, step_size=0.01, burn_in=10)


# Batches.


def table(loss="logistic", n=40, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, 2))
    y = rng.integers(3, size=n) if not isinstance(loss, str) else np.sign(rng.normal(size=n))
    return Problem(X, y, loss=loss, radius=2.0, row_norm=1.0, **settings)


@pytest.mark.parametrize("loss", ["logistic", "squared", "smoothed_hinge", SoftmaxLoss(3)])
def test_a_batch_has_the_gradient_of_its_rows(loss):
    problem = table(loss, ridge=0.1)
    theta = np.random.default_rng(1).standard_normal(problem.p)
    rows = np.array([3, 5, 11, 30])
    batch = Problem(
        problem.rows[rows, :-1], problem.targets[rows], loss=loss, radius=2.0, row_norm=1.0
    )
    mean = 4 / (0.2 * 40) * batch.objective.gradient(theta[:, None])[:, 0] + 0.1 * theta
    got = batches.gradient_on(problem, 0.2)(rows, theta)
    np.testing.assert_allclose(got, mean, rtol=1e-12)
    every = batches.gradient_on(problem, 1.0)(np.arange(40), theta)
    np.testing.assert_allclose(every, problem.objective.gradient(theta[:, None])[:, 0], rtol=1e-9)


def test_poisson_batches_have_every_row_with_the_same_probability_anew():
    """Counts of all subsets of three rows, and of a row in two steps that follow each other."""
    rate, count = 0.3, 40_000
    drawn = batches.row_batches(3, rate, POISSON, np.random.default_rng(0))
    codes = np.array([int((1 << rows).sum()) for rows in islice(drawn, count)])
    sizes = np.array([bin(code).count("1") for code in range(8)])
    expected = count * rate**sizes * (1 - rate) ** (3 - sizes)
    counts = np.bincount(codes, minlength=8)
    assert ((counts - expected) ** 2 / expected).sum() < 30  # 7 degrees of freedom: p ≈ 1e-4
    for row in range(3):
        within = (codes >> row) & 1
        assert np.corrcoef(within[1:], within[:-1])[0, 1] == pytest.approx(0, abs=0.025)
    fixed = batches.row_batches(7, 3 / 7, SAMPLED, np.random.default_rng(0))
    assert all(len(set(rows)) == 3 for rows in islice(fixed, 20))


def fixed_batches(allocation, k):
    """Batches of the real generator if each row draws the batch that is given."""
    rng = SimpleNamespace(integers=lambda high, size: np.array(allocation))
    return list(islice(batches.row_batches(len(allocation), 1 / k, ALLOCATED, rng), k))


def test_each_row_is_in_one_batch_of_every_epoch_drawn_uniformly_anew():
    """By the real generator, for whole tables and chunks; counts of all allocations of 3 rows."""
    n, k, epochs = 3, 3, 20_000
    drawn = batches.row_batches(n, 1 / k, ALLOCATED, np.random.default_rng(0))
    codes = np.zeros(epochs, int)
    for epoch in range(epochs):
        of_epoch = list(islice(drawn, k))
        assert sorted(np.concatenate(of_epoch)) == [0, 1, 2]
        codes[epoch] = sum(j * k**row for j in range(k) for row in of_epoch[j])
    counts, expected = np.bincount(codes, minlength=k**n), epochs / k**n
    assert ((counts - expected) ** 2 / expected).sum() < 65  # 26 degrees of freedom: p ≈ 4e-5
    for row in range(n):
        batch = codes // k**row % k
        assert np.corrcoef(batch[1:], batch[:-1])[0, 1] == pytest.approx(0, abs=0.035)
    assert [rows.tolist() for rows in fixed_batches([2, 0, 2, 0], 3)] == [[1, 3], [], [0, 2]]


STEP_SIZE, PATH_BETA = 5e-5, 600.0


def path_laws(order, n, k, epochs, others, twice=False):
    """Laws of all states of k steps an epoch, for tables that differ in a label.

    By the real gradient on every batch, and the real generator on every allocation. In the control
    ``twice`` a row is in a second batch, too.
    """
    places = np.linspace(-0.1, 0.1, {2: 41, 3: 31, 4: 17}[k * epochs])
    h, beta, laws = STEP_SIZE, PATH_BETA, []
    subsets = list(chain.from_iterable(combinations(range(n), size) for size in range(n + 1)))
    weights = np.array([(k - 1.0) ** -len(rows) if k > 1 else 1.0 for rows in subsets])
    if order == SAMPLED:
        weights = np.array([float(len(rows) == round(n / k)) for rows in subsets])
    for label in (1, -1):
        y = [label, -1, 1, -1][:n]
        problem = labelled_rows(y, others)
        gradient, kernels = batches.gradient_on(problem, 1 / k), {}
        for rows in subsets:
            slopes = [gradient(np.array(rows, int), np.array([x]))[0] for x in places]
            means = places - h * beta * np.array(slopes)
            kernels[rows] = chains.kernel(places, means, math.sqrt(2 * h))
        paths = [[np.average(list(kernels.values()), axis=0, weights=weights)] * k]
        if order == ALLOCATED:
            of_epoch = [fixed_batches(drawn, k) for drawn in product(range(k), repeat=n)]
            if twice:
                of_epoch = [[np.union1d(e[j], e[j - 1]) for j in range(k)] for e in of_epoch]
            paths = [[kernels[tuple(rows.tolist())] for rows in epoch] for epoch in of_epoch]
        law = (places == 0).astype(float)
        for _ in range(epochs):
            law = np.mean([walked(law, path) for path in paths], axis=0)
        laws.append(law)
    return laws


def labelled_rows(y, others):
    X = [[1.0]] + [[others]] * (len(y) - 1)
    return Problem(X, y, intercept=False, radius=0.1, row_norm=1.0)


def path_cost(order, n, k, epochs, others, noise_share=1.0):
    """What the states of ``path_laws`` are charged."""
    problem = labelled_rows([1, -1, 1, -1][:n], others)
    noise = math.sqrt(2 / STEP_SIZE) / PATH_BETA * n / k
    noise /= data_lipschitz(problem.constants, problem.domain)
    return sampled_guarantee(noise * noise_share, (1 / k, k * epochs), order)


def walked(law, kernels):
    """Law of the states so far and of those after the next steps: an axis a state."""
    for step in kernels:
        law = law[..., None] * step
    return law


SHAPES = [(order, 4, 2, 1, 1.0) for order in BATCH_ORDERS]
# Other rows of size 0 hide nothing by their batches: then the bound is nearly attained.
SHAPES += [
    pytest.param((ALLOCATED, 3, *epochs, 0.0), marks=pytest.mark.slow)
    for epochs in [(3, 1), (2, 2)]
]


@pytest.mark.parametrize("shape", SHAPES)
def test_all_states_of_a_path_are_within_its_cost_and_less_noise_or_a_second_batch_is_caught(shape):
    laws, claimed = path_laws(*shape), path_cost(*shape)
    epsilons = np.linspace(0.0, 4.0, 17)
    exact = np.array([chains.delta(*laws, e) for e in epsilons])
    assert (exact <= claimed.curve.delta(epsilons) + 1e-9).all()
    bolder = path_cost(*shape, noise_share=2.0)
    assert (exact > bolder.curve.delta(epsilons)).any()
    if shape[0] == ALLOCATED:
        assert exact[0] > 0.9 * claimed.delta(0.0)
        repeated = path_laws(*shape, twice=True)
        assert chains.delta(*repeated, 0.0) > claimed.delta(0.0)


@pytest.mark.parametrize("order", BATCH_ORDERS)
def test_the_variance_of_a_batch_is_bounded_and_attained(order):
    """Rows whose gradients are ±1 with mean 0, by all batches."""
    n, rate, slopes = 6, 0.5, np.array([1.0, -1.0] * 3)
    subsets = list(chain.from_iterable(combinations(range(n), k) for k in range(n + 1)))
    if order == SAMPLED:
        subsets = [rows for rows in subsets if len(rows) == 3]
    squares = [(slopes[list(rows)].sum() / (rate * n)) ** 2 for rows in subsets]
    assert np.mean(squares) == pytest.approx(batches.batch_variance(1.0, n, rate, order))
    assert batches.batch_variance(1.0, n, 1.0, order) == 0


# Plans.


@given(
    n=st.sampled_from([300, 6_000, 50_000, 10**6]),
    p=st.integers(1, 60),
    psi=st.sampled_from([0.0, 0.005, 0.02, 0.3]),
    radius=st.floats(0.1, 20.0),
    epsilon=st.floats(0.05, 20.0),
    n_draws=st.integers(2, 500),
    share=st.floats(0.05, 0.95),
    ledger=st.sampled_from([False, True, "zcdp", "gdp"]),
    ridge=st.sampled_from([0.0, 0.01]),
)
@settings(max_examples=80, deadline=None)
def test_a_plan_keeps_its_budget_and_promises_what_its_steps_do(n, p, psi, share, **public):
    request = request_of(n=n, p=p, psi=psi, share=share, batch_size=None, **public)
    planned = MECHANISMS["langevin"].plan(request)
    if isinstance(planned, Rejected):  # only where no path of so many steps would do
        assert "takes more than 1,000,000 steps" in planned.reason
        assert request.constants.M * request.radius**2 / ((1 - share) * psi) > 1e4
        return
    details, constants = planned.details, request.constants
    cost = planned.guarantee.epsilon(request.delta)
    if public["ledger"] in (False, "gdp"):
        assert cost <= request.epsilon
    else:
        assert adaptive_epsilon([planned.guarantee], request.delta) <= request.epsilon * (1 + 1e-9)
    moved = data_slope(constants, request.domain)
    mu = planned.beta * moved * math.sqrt(details.time / 2)
    assert planned.guarantee.mu == pytest.approx(mu)
    assert details.step_size * planned.beta * constants.M <= 0.5 * (1 + 1e-9)
    assert details.burn_in + details.thin * request.n_draws == details.n_steps
    assert planned.excess_bound == states.states_excess(request, planned.beta, details)
    if planned.hit_rate is not None:
        assert planned.hit_rate == pytest.approx(1 - planned.excess_bound / psi)
    better = states._walk(
        request, 2 * gdp_mu(request.epsilon, request.delta) ** 2 / moved**2, 0.5, 1
    )
    if better.reached and not public["ledger"]:
        assert planned.hit_rate_bound >= share - 0.02


@pytest.mark.parametrize("order", [POISSON, SAMPLED])
@pytest.mark.parametrize("ledger", [False, True])
def test_batches_cost_the_budget_and_keep_the_promise(order, ledger):
    request = request_of(**LENDING, batch_size=800, batch_order=order, ledger=ledger)
    planned = states.plan_states(request)
    details = planned.details
    assert (details.rate, details.batch_order) == (800 / 50_000, order)
    if ledger:
        renyi = request.cost_at_order[0]
        counted = adaptive_epsilon([planned.guarantee], 1e-6, order=renyi)
        assert counted <= 1.0 + 1e-9
        assert planned.cost[0] == pytest.approx(counted, rel=0.03)
    else:
        assert planned.guarantee.epsilon(1e-6) <= 1.0
    assert planned.hit_rate >= 0.49
    noise = math.sqrt(2 / details.step_size) / planned.beta  # of the mean gradient
    slope = data_slope(request.constants, request.domain) * request.n / 2
    curve = planned.guarantee.curve
    sigma = curve.sigma if order == POISSON else 2 / curve.parts[0][0].of.mu
    assert sigma == pytest.approx(noise * 800 / slope)


def test_allocated_batches_cost_their_epochs_and_promise_no_share():
    request = request_of(**LENDING, batch_size=800, batch_order=ALLOCATED)
    planned = states.plan_states(request)
    details = planned.details
    assert details.rate == 1 / 62  # of 50,000 rows, in batches of about 800
    assert 0.97 * planned.cost[0] < planned.guarantee.epsilon(1e-6) <= planned.cost[0] <= 1.0
    ((curve, epochs),) = planned.guarantee.curve.parts
    assert (curve.batches, epochs) == (62, math.ceil(details.n_steps / 62))
    noise = math.sqrt(2 / details.step_size) / planned.beta  # of the mean gradient
    slope = data_lipschitz(request.constants, request.domain)
    assert curve.sigma == pytest.approx(noise * request.n / 62 / slope)
    unamplified = 2 * math.sqrt(epochs) / curve.sigma
    assert planned.guarantee.mu == pytest.approx(unamplified)
    longer = sampled_guarantee(curve.sigma, (1 / 62, 62 * epochs + 1), ALLOCATED)
    assert longer.curve.parts[0][1] == epochs + 1  # an epoch that begins counts whole
    ((again, count),) = states.part_guarantee(planned, 63).curve.parts
    assert (again.sigma, again.batches, count) == (pytest.approx(curve.sigma), 62, 2)
    assert planned.hit_rate is None and not states.improvements(planned)
    assert [plan.hit_rate for plan in states.dial(planned)] == [None]
    assert "no share of the states within ψ is guaranteed" in explain(planned)
    whole = states.plan_states(replace(request, batch_size=None))
    assert whole.hit_rate >= 0.49  # without batches the order is without effect
    for ledger in (True, "gdp", "zcdp"):
        with pytest.raises(ValueError, match='use ledger=None, or batch_order="poisson"'):
            states.plan_states(replace(request, ledger=ledger))


@pytest.mark.slow
def test_the_rule_never_takes_allocated_batches_and_their_name_has_as_many_states():
    public = {k: v for k, v in LENDING.items() if k not in ("n_draws", "radius")}
    for n_draws in ("auto", 100):
        planned = select(**public, n_draws=n_draws, batch_order=ALLOCATED)
        declined = next(plan for plan in planned.candidates if plan.mechanism == "langevin")
        assert planned.mechanism != "langevin" and "is biased" in declined.reason
    named = select(**public, mechanism="langevin", batch_order=ALLOCATED)
    assert (named.n_draws, named.hit_rate, named.details.is_allocated) == (400, None, True)


def test_a_larger_share_is_a_narrower_path_until_the_budget_ends():
    shares = [0.2, 0.5, 0.7]
    plans = [states.plan_states(request_of(**LENDING, share=s, batch_size=None)) for s in shares]
    widths = [planned.details.expected_width(planned) for planned in plans]
    assert widths == sorted(widths, reverse=True)
    assert [p.hit_rate for p in plans] == pytest.approx(shares, abs=0.01)
    most = states.plan_states(request_of(**LENDING, share=0.99, batch_size=None))
    assert 0.7 < most.hit_rate < 0.99
    # The closed form of the least bound, but for the burn-in and finite steps.
    c = 2 * gdp_mu(1.0, 1e-6) ** 2 / data_slope(most.request.constants, most.request.domain) ** 2
    least = 2 * math.sqrt(LENDING["radius"] ** 2 / 2 * 11 / c)
    assert least < most.excess_bound < 1.3 * least


def test_a_small_table_is_told_from_where_half_is_guaranteed():
    request = request_of(**{**LENDING, "n": 4_000})
    planned = states.plan_states(request)
    assert planned.hit_rate is None
    text = explain(planned)
    assert "For 50 % of the states within ψ it takes ε = " in text
    improvement = states.improvements(planned)[0]
    for change in improvement.changes:
        better = replace(
            request,
            **{change.setting: change.value if change.setting != "n" else int(change.value)},
        )
        assert states.plan_states(replace(better, batch_size=None)).hit_rate >= 0.49


def test_one_draw_is_the_average_and_pure_privacy_and_kinks_are_declined():
    mechanism = MECHANISMS["langevin"]
    one = mechanism.plan(request_of(**{**LENDING, "n_draws": 1}))
    public = {k: LENDING[k] for k in ("radius", "row_norm", "epsilon", "delta")}
    assert one.excess_bound == plan_path(50_000, 11, 0.0, **public).excess_bound
    assert one.hit_rate == pytest.approx(1 - one.excess_bound / 0.02)
    for changed, reason in (({"delta": 0.0}, "delta > 0"), ({"loss": "hinge"}, "kinks")):
        declined = mechanism.plan(request_of(**{**LENDING, **changed}))
        assert isinstance(declined, Rejected) and reason in declined.reason


def test_the_rule_takes_a_path_of_many_models_where_it_guarantees_the_share():
    public = {k: v for k, v in LENDING.items() if k not in ("n_draws", "radius")}
    planned = select(**public)
    assert (planned.mechanism, planned.n_draws) == ("langevin", 400)
    assert planned.hit_rate >= 0.49 and "400 states of one path" in planned.reason
    few = select(**public, n_draws=5)  # five draws: those with the larger guarantee
    assert few.hit_rate > planned.hit_rate
    small = select(**{**public, "n": 2_000})
    assert small.n_draws == 1


# Draws.


_evaluate = states._evaluated


def planned_few(**changed):
    settings = {**LENDING, "n": 40, "p": 3, "radius": 2.0, "row_norm": 1.0, "n_draws": 5}
    return states.plan_states(request_of(**{**settings, "batch_size": None, **changed}))


def test_a_step_is_a_gradient_step_with_known_noise():
    problem, plan = table(), planned_few()
    h, beta = plan.details.step_size, plan.beta
    theta = np.zeros(3)
    for state in islice(states.path(problem, plan, Silent(0.1)), 3):
        ahead = theta - h * beta * problem.objective.gradient(theta[:, None])[:, 0]
        ahead = ahead + math.sqrt(2 * h) * 0.1
        theta = problem.domain.project(ahead[:, None])[:, 0]
        np.testing.assert_allclose(state, theta, rtol=1e-9)


@pytest.mark.parametrize("batch_size", [None, 8])
def test_draws_are_states_of_the_path_in_order_after_the_burn_in(batch_size):
    problem, plan = table(), planned_few(batch_size=batch_size, epsilon=4.0)
    details = plan.details
    rng = np.random.default_rng(3)
    offset = details.burn_in + int(rng.integers(details.thin))
    every = list(states.path(problem, plan, rng))
    drawn = MECHANISMS["langevin"].draw(problem, plan, np.random.default_rng(3))
    expected = np.array(every[offset :: details.thin])
    assert drawn.coef.shape == (5, 3)
    np.testing.assert_allclose(drawn.coef, expected, atol=2**-20)
    np.testing.assert_allclose(drawn.losses, problem.value(expected.T))
    assert (np.linalg.norm(drawn.coef, axis=1) <= 2.0 + 2**-19).all()


def test_a_caller_stops_after_some_states(monkeypatch):
    monkeypatch.setattr(states, "_SECONDS_BETWEEN_BLOCKS", 0.0)
    problem, plan = table(), planned_few()
    target = GibbsTarget.of(problem, plan)
    seen = 0
    for batch in states.batches(target, plan, np.random.default_rng(0)):
        seen += len(batch.losses)
        if seen == 2:
            break
    assert seen == 2


@pytest.mark.parametrize(
    ("loss", "order"),
    [
        (SoftmaxLoss(3), SAMPLED),
        pytest.param("logistic", ALLOCATED, marks=pytest.mark.slow),
        pytest.param("smoothed_hinge", SAMPLED, marks=pytest.mark.slow),
    ],
)
def test_chunked_rows_have_the_same_path_and_are_read_once_for_many_steps(loss, order, monkeypatch):
    whole = table(loss, n=90)
    parts = ChunkedRows(ArrayRows(whole.rows[:, :-1], whole.targets), rows=20)
    chunks = Problem(parts, loss=loss, radius=2.0, row_norm=1.0)
    numbers = np.array([0, 19, 20, 21, 88])
    read = chunks.data.read(numbers)
    np.testing.assert_array_equal(read.rows(), whole.rows[numbers])
    np.testing.assert_array_equal(read.targets, whole.targets[numbers])
    plan = planned_few(n=90, p=whole.p, loss=loss, epsilon=0.3)
    first, second = (
        MECHANISMS["langevin"].draw(one, plan, np.random.default_rng(3)).coef
        for one in (whole, chunks)
    )
    np.testing.assert_allclose(first, second, atol=1e-6)
    reads = []
    counted = type(chunks.data).read
    monkeypatch.setattr(
        type(chunks.data), "read", lambda self, rows: reads.append(len(rows)) or counted(self, rows)
    )
    monkeypatch.setattr(batches, "_ENTRIES_IN_MEMORY", 90 * whole.p * 4)
    monkeypatch.setattr(states, "_SECONDS_BETWEEN_BLOCKS", 0.0)
    evaluated = []
    monkeypatch.setattr(
        states, "_evaluated", lambda of, block: evaluated.append(len(block)) or _evaluate(of, block)
    )
    few = {"batch_size": 30, "batch_order": order, "epsilon": 0.3}
    sampled = planned_few(n=90, p=whole.p, loss=loss, **few)
    draws = MECHANISMS["langevin"].draw(chunks, sampled, np.random.default_rng(3))
    assert len(draws.coef) == 5 and len(reads) == math.ceil(sampled.details.n_steps / 12)
    assert max(reads) <= 90
    assert evaluated[-1] == 5 and not any(evaluated[:-1])  # losses take one pass, at the end
    assert sampled.details.reads(sampled) == len(reads)
    first = MECHANISMS["langevin"].draw(whole, sampled, np.random.default_rng(3)).coef
    np.testing.assert_allclose(first, draws.coef, atol=1e-6)


def test_states_follow_the_law_of_the_chain():
    """Squared loss far inside the ball: an autoregression with known variance and correlation."""
    rng = np.random.default_rng(0)
    X, y = rng.choice([-0.5, 0.5], (400, 1)), rng.uniform(-0.2, 0.2, 400)
    problem = Problem(X, y, loss="squared", radius=50.0, row_norm=1.0, intercept=False)
    plan = planned_few(n=400, p=1, loss="squared", radius=50.0, n_draws=4_000, epsilon=50.0)
    drawn = MECHANISMS["langevin"].draw(problem, plan, rng).coef[:, 0]
    details = plan.details
    keep = 1 - details.step_size * plan.beta * 0.25
    variance = 2 * details.step_size / (1 - keep**2)
    lag = keep**details.thin
    size = 4_000 * (1 - lag) / (1 + lag)
    assert drawn.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / size))
    got = np.corrcoef(drawn[1:], drawn[:-1])[0, 1]
    assert got == pytest.approx(lag, abs=0.05)
