"""Sampled and composed trade-offs: quadrature, brute force, peers, and never too private."""

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rashomon_explorer.privacy import Guarantee, Ledger, adaptive_epsilon, compose
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.notions import gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import Approximate, Gaussian, sampled
from rashomon_explorer.privacy.tradeoff.composition import Composition, compose_tradeoffs, masses
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled
from tests.crossing import crossed
from tests.patience import processor_time


def bell(x):
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def integrated(epsilon, first, second, rate, sigma):
    """∫ max(0, p − e^ε q), by the trapezoidal rule."""
    reach = 10 + 2 / sigma
    x = np.linspace(-reach, reach, 100_001)
    p, q = ((1 - rate) * bell(x) + rate * bell(x - place / sigma) for place in (first, second))
    return np.trapezoid(np.maximum(0.0, p - math.exp(epsilon) * q), x)


@crossed({"rate": [0.01, 0.3, 1.0], "sigma": [0.5, 1.0, 4.0], "epsilon": [0.0, 0.05, 0.6, 2.0]})
def test_one_step_is_the_integral_of_both_orders(rate, sigma, epsilon):
    replaced = PoissonSampled(sigma, rate).delta(epsilon)
    assert replaced == pytest.approx(integrated(epsilon, 1, -1, rate, sigma), rel=1e-5, abs=1e-12)
    removed = integrated(epsilon, 1, 0, rate, sigma)
    added = integrated(epsilon, 0, 1, rate, sigma)
    either = PoissonSampled(sigma, rate, relation="add_or_remove").delta(epsilon)
    assert either == pytest.approx(max(removed, added), rel=1e-5, abs=1e-12)


@given(
    st.floats(0.3, 5.0),
    st.floats(0.001, 0.999),
    st.floats(0.0, 3.0),
    st.tuples(*[st.floats(-1, 1)] * 4),
)
@example(0.5, 0.875, 1.0, (0.0, 1.0, 0.0, 0.0))
def test_no_two_records_in_the_plane_tell_more(sigma, rate, epsilon, places):
    """Brute force on a grid of the plane: any records of norm 1 or less, not only opposite ones."""
    first, second = np.array(places[:2]), np.array(places[2:])
    first /= max(1.0, np.linalg.norm(first)) * sigma
    second /= max(1.0, np.linalg.norm(second)) * sigma
    axis = np.linspace(-9, 9, 481)  # a kink costs up to 4e-5
    x, y = np.meshgrid(axis, axis)

    def law(place):
        taken = bell(x - place[0]) * bell(y - place[1])
        return (1 - rate) * bell(x) * bell(y) + rate * taken

    cell = (axis[1] - axis[0]) ** 2
    found = np.maximum(0, law(first) - math.exp(epsilon) * law(second)).sum() * cell
    assert found <= PoissonSampled(sigma, rate).delta(epsilon) + 1e-4
    # In a batch of a fixed size a record takes another's place: three points, as far as any two.
    apart = max(map(np.linalg.norm, (first, second, first - second)))
    assert found <= Subsampled(Gaussian(float(apart)), rate).delta(epsilon) + 1e-4


@pytest.mark.parametrize("relation", ["replace", "add_or_remove"])
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.3, 0.5), (8.0, 1e-4)])
@pytest.mark.parametrize("epsilon", ["-3", "-0.005", "0.004", "0.7", "6", "30"])
def test_forty_digits_are_never_above(relation, sigma, rate, epsilon):
    with mpmath.workdps(40):
        e, q, m = mpmath.mpf(epsilon), mpmath.mpf(rate), 1 / mpmath.mpf(sigma)

        def above(edge, place):
            return (1 - q) * mpmath.ncdf(-edge) + q * mpmath.ncdf(place * m - edge)

        def best(first, second):
            def ratio(x):
                mass = [
                    1 - q + q * mpmath.exp(a * m * x - (a * m) ** 2 / 2) for a in (first, second)
                ]
                return mass[0] / mass[1] - mpmath.exp(e)

            low, high = mpmath.mpf(-500) * sigma, mpmath.mpf(500) * sigma
            if ratio(low) > 0:
                return 1 - mpmath.exp(e)
            if ratio(high) < 0:
                return mpmath.mpf(0)
            for _ in range(160):
                middle = (low + high) / 2
                low, high = (middle, high) if ratio(middle) < 0 else (low, middle)
            return above(low, first) - mpmath.exp(e) * above(low, second)

        curve = PoissonSampled(sigma, rate, relation=relation)
        for one in curve._directions:  # each order by itself, also where the ratio is below 1
            exact = best(one.first, one.second)
            found = mpmath.mpf(float(one.delta(float(epsilon))))
            assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -13


def test_a_replaced_record_costs_more_than_one_removed_and_less_than_twice_removing():
    once = PoissonSampled(1.0, 0.02, relation="add_or_remove")
    assert once.epsilon(1e-6) < PoissonSampled(1.0, 0.02).epsilon(1e-6)
    for epsilon in (0.05, 0.5, 1.5):  # a replacement is a removal and an addition
        twice = (1 + math.exp(epsilon)) * once.delta(epsilon)
        assert PoissonSampled(1.0, 0.02).delta(2 * epsilon) <= twice


def test_steps_compose_and_half_the_noise_and_half_the_rate_are_told_apart():
    one = PoissonSampled(1.0, 0.02)
    honest = replace(one, steps=20).epsilon(1e-5)
    assert Composition(((one, 20),), 2e-4).epsilon(1e-5) == pytest.approx(honest, rel=1e-3)
    assert PoissonSampled(2.0, 0.02, 20).epsilon(1e-5) < 0.7 * honest  # the controls
    assert PoissonSampled(1.0, 0.01, 20).epsilon(1e-5) < 0.9 * honest
    assert one.rho == 2.0 and PoissonSampled(1.0, 0.01, 3, "add_or_remove").rho == 1.5


PAIRS = ((1, -1), (1, 0), (0, -1))


def exact(sigma, rate, order, first=1, second=-1):
    """log ∫P^a Q^(1 − a) over (a − 1), by quadrature of twenty digits."""
    with mpmath.workdps(20):
        m, q, a = 1 / mpmath.mpf(sigma), mpmath.mpf(rate), mpmath.mpf(order)

        def lift(x, place):
            return (1 - q) + q * mpmath.exp(place * m * x - (place * m) ** 2 / 2)

        def more(x):
            other = lift(x, second) if second else mpmath.mpf(1)
            r = (lift(x, first) if first else mpmath.mpf(1)) / other
            return mpmath.npdf(x) * other * (r**a - 1 - a * (r - 1))

        far = 30 + 4 * order / sigma
        places = sorted({-30.0, -8.0, -3.0, 0.0, 3.0, 8.0, *np.linspace(0, far, 9).tolist()})
        return float(mpmath.log1p(mpmath.quad(more, places)) / (a - 1))


CASES = [
    (sigma, rate, order)
    for sigma, rate in ((1.0, 0.01), (2.0, 1e-5), (47.0, 1 / 16), (5.0, 0.9))
    for order in (1.01, 5.0)
] + [(47.0, 1 / 16, 22.0), (2.0, 0.01, 150.0), (20.0, 1e-3, 2000.0)]


@pytest.mark.parametrize(("sigma", "rate", "order"), CASES)
def test_a_poisson_sample_has_its_densities_divergence_to_ten_digits(sigma, rate, order):
    for first, second in PAIRS if (sigma, rate) == (1.0, 0.01) else PAIRS[:1]:
        true = exact(sigma, rate, order, first, second)
        found = sampled.poisson_renyi(sigma, rate, first, second, order)
        assert 0 <= found / true - 1 < 1e-10
        control = sampled.poisson_renyi(1.001 * sigma, rate, first, second, order)
        assert control < true


@pytest.mark.parametrize("sigma", [0.2, 0.3])
def test_with_little_noise_the_steps_of_the_sum_are_fine_enough(sigma):
    """Sampled records stand far apart: beside a sum of a million densities."""
    rate, order = 0.01, 1.01
    x, step = np.linspace(-60.0, 60.0, 1_200_001, retstep=True)
    one, other = (
        np.logaddexp(math.log1p(-rate) - x**2 / 2, math.log(rate) - (x - at / sigma) ** 2 / 2)
        for at in (1, -1)
    )
    moment = np.exp(order * one + (1 - order) * other).sum() * step / math.sqrt(2 * math.pi)
    true = math.log(moment) / (order - 1)
    assert 0 <= sampled.poisson_renyi(sigma, rate, 1, -1, order) / true - 1 < 1e-9


def test_a_step_beyond_the_largest_double_is_not_entered_as_one_on_all_rows(tmp_path):
    """At the order of ε = 1, δ = 10⁻⁶, where e^((a − 1)ε)·δ(ε) was no double."""
    order = filter_order(1.0, 1e-6)
    for sigma, rate, admitted in ((2.0, 0.01, 480), (2.5, 0.01, 757), (2.0, 0.001, 48_220)):
        one = PoissonSampled(sigma, rate)
        assert one.renyi(order) < 1e-3 * order * one.rho
        assert int(order * zcdp_rho(1.0, 1e-6) / one.renyi(order)) == admitted
    batches = Subsampled(Gaussian(0.5), 0.01)
    assert batches.renyi(order) < 1e-2 * order * batches.rho
    ledger = Ledger.create(tmp_path / "l", epsilon=1.0, delta=1e-6)
    fits, over = (
        Guarantee("tradeoff", "steps", curve=PoissonSampled(2.0, 0.01, steps))
        for steps in (480, 481)
    )
    assert ledger.can_afford(fits) and not ledger.can_afford(over)


@pytest.mark.parametrize(("sigma", "rate"), [(1 / 3, 0.01), (2.0, 1e-4), (0.05, 0.5)])
def test_where_steps_are_too_many_the_bound_is_of_the_other_kind(sigma, rate):
    for order in (3.0, 8.5, 40.0):
        found = sampled.poisson_renyi(sigma, rate, 1, -1, order)
        assert sampled._binomial_renyi(1 / sigma, rate, order) >= found * (1 - 1e-10)
    far = 2e6 if sigma == 2.0 else 3e5
    entered = sampled.poisson_renyi(sigma, rate, 1, -1, far)
    limit = far / sigma**2 / 2 + math.log(rate)  # of the largest of the binomial terms
    assert limit < entered < 1.01 * limit < 0.5 * far * 2 / sigma**2
    assert sampled.poisson_renyi(sigma, rate, 1, -1, 1e12) == pytest.approx(2e12 / sigma**2)


@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.5, 5.0)])
def test_steps_add_up_and_relations_differ(rate, sigma):
    one, usual = (PoissonSampled(sigma, rate, 1, name) for name in ("replace", "add_or_remove"))
    for order in (1.5, 4.0):
        assert replace(one, steps=300).renyi(order) == 300 * one.renyi(order)
        assert usual.renyi(order) < one.renyi(order)
    assert not one.sublinear


@pytest.mark.parametrize("mu", [0.01, 0.5])
def test_batches_of_all_rows_have_the_divergence_of_a_gaussian(mu):
    for order in (1.1, 2.0, 9.0, 40.0):
        assert 0 <= sampled.batches_renyi(mu, 1.0, order) / (order * mu**2 / 2) - 1 < 1e-4
        assert Subsampled(Gaussian(mu), 0.2).renyi(order) <= order * mu**2 / 2


def test_of_others_only_what_is_known():
    half = Subsampled(Gaussian(0.5), 0.1)
    assert Composition(((half, 7),)).renyi(3.0) == pytest.approx(7 * half.renyi(3.0))
    assert not Composition(((half, 7), (Gaussian(1.0), 1))).sublinear
    assert Subsampled(Gaussian(0.5), 1.0).sublinear and Gaussian(1.0).sublinear
    lines = Approximate(1.0, 0.1)
    assert math.isinf(lines.renyi(2.0))
    assert math.isinf(Subsampled(lines, 0.5).renyi(2.0))
    assert Subsampled(Gaussian(0.0), 0.5).renyi(2.0) == 0.0
    assert Subsampled(Gaussian(math.inf), 0.0).renyi(2.0) == 0.0
    assert math.isinf(Subsampled(Gaussian(math.inf), 0.5).renyi(2.0))


ALPHAS = np.concatenate([[0.0], np.logspace(-12, 0, 400)])
EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.5, 6.0])


@pytest.mark.parametrize(
    ("mu", "count", "grid"),
    [
        (0.1, 100, 1e-3),
        (2.0, 3, 1e-2),
        *(pytest.param(*one, 1e-3, marks=pytest.mark.law) for one in ((0.5, 9), (0.05, 1000))),
    ],
)
def test_gaussians_numerically_against_their_closed_form(mu, count, grid):
    numeric, exact = Composition(((Gaussian(mu), count),), grid), Gaussian(mu * math.sqrt(count))
    found, truth = numeric.delta(EPSILONS), exact.delta(EPSILONS)
    assert np.all(found >= truth - 1e-15)
    error = numeric.epsilon_error
    assert error == pytest.approx(grid * count)
    assert np.all(found <= exact.delta(EPSILONS - error) + 2 * numeric.delta_error)
    assert np.all(numeric(ALPHAS) <= exact(ALPHAS) + 1e-15)
    if grid == 1e-3:
        assert numeric.epsilon(1e-5) == pytest.approx(exact.epsilon(1e-5), rel=2e-3)


def test_randomised_response_composes_as_binomials_do():
    epsilon, count = 0.4, 12
    p = 1 / (1 + math.exp(-epsilon))
    ones = np.arange(count + 1)
    ways = np.array([math.comb(count, k) for k in ones], dtype=float)
    first, second = (ways * q**ones * (1 - q) ** (count - ones) for q in (p, 1 - p))
    numeric = Composition(((Approximate(epsilon), count),), 0.4 / 100)
    for eps in EPSILONS:
        exact = np.maximum(first - math.exp(eps) * second, 0).sum()
        assert exact - 1e-15 <= numeric.delta(eps) <= exact + 1e-9


def test_a_sampled_gaussian_is_google_s_and_its_powers_are_not_below():
    from dp_accounting.pld import privacy_loss_distribution as pld

    # Poisson sampling when a record is removed has the same profile at ε ≥ 0 as C_q(G(μ)).
    rate, mu, count = 0.02, 1.0, 50
    once = pld.from_gaussian_mechanism(1 / mu, sampling_prob=rate)
    theirs = once.self_compose(count)
    ours = Composition(((Subsampled(Gaussian(mu), rate), count),))
    for eps in (0.0, 0.1, 0.5):
        single = float(Subsampled(Gaussian(mu), rate).delta(eps))
        assert once.get_delta_for_epsilon(eps) == pytest.approx(single, rel=1e-3, abs=1e-9)
        assert ours.delta(eps) >= theirs.get_delta_for_epsilon(eps) - 1e-4
    assert ours.epsilon(1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=0.1)
    halved = Composition(((Subsampled(Gaussian(mu / 2), rate), count),))
    assert halved.epsilon(1e-5) < 0.8 * theirs.get_epsilon_for_delta(1e-5)


@pytest.mark.parametrize(("relation", "known"), [("add_or_remove", 1.8282), ("replace", 2.8434)])
@pytest.mark.law
def test_a_thousand_sampled_gaussians_by_two_other_accountants(relation, known):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    neighbours = f"{relation.upper()}_ONE"
    google = PLDAccountant(getattr(dp_accounting.NeighboringRelation, neighbours))
    google.compose(event, 1000)
    ours = PoissonSampled(1.0, 0.01, 1000, relation).epsilon(1e-5)
    assert google.get_epsilon(1e-5) == pytest.approx(known, abs=1e-4)
    assert google.get_epsilon(1e-5) - 1e-4 <= ours
    # docs/composition.md: 1.828 and 2.843
    assert round(ours, 3) == round(known - 5e-5, 3)
    if relation == "add_or_remove":
        assert ours == pytest.approx(1.82824, abs=1e-3)  # by the PRV accountant, ± 0.0102


@pytest.mark.law
def test_finer_grids_change_little_and_cost_little_more_than_their_points():
    part = Subsampled(Gaussian(1.0), 0.01)
    coarse, fine = (Composition(((part, 200),), grid) for grid in (1e-3, 1e-4))
    assert fine.epsilon(1e-5) <= coarse.epsilon(1e-5) <= fine.epsilon(1e-5) * 1.002
    few = processor_time(lambda: Composition(coarse.parts, coarse.grid).epsilon(1e-5))
    many = processor_time(lambda: Composition(fine.parts, fine.grid).epsilon(1e-5))
    assert many < 40 * few  # ten times the points; a hundred by sums of products
    assert coarse.delta_error < 1e-9


def test_parts_are_merged_and_gaussians_stay_exact():
    assert compose_tradeoffs([(Gaussian(3.0), 1), (Gaussian(2.0), 4)]) == Gaussian(5.0)
    assert compose_tradeoffs([]) == Gaussian(0.0)
    one = Approximate(0.5)
    nested = compose_tradeoffs([(compose_tradeoffs([(one, 2), (Gaussian(1.0), 1)]), 2), (one, 1)])
    assert nested == Composition(((Gaussian(math.sqrt(2)), 1), (one, 5)))
    assert nested.rho == pytest.approx(1 + 5 * 0.125)
    assert compose_tradeoffs([(one, 1), (Gaussian(0.0), 3)]) == one


def test_a_missing_or_another_dp_accounting_is_named(monkeypatch):
    attributes = {"_probs": [1.0], "_lower_loss": 0, "_infinity_mass": 0.0}
    for name in attributes:
        with pytest.raises(ImportError, match=rf"keeps no {name} in SimpleNamespace.*accounting\]"):
            masses(SimpleNamespace(**{k: v for k, v in attributes.items() if k != name}))
    names = [name for name in sys.modules if name.split(".")[0] == "dp_accounting"]
    for name in ["dp_accounting", *names]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError, match=r"clone of the repository, pip install '\.\[accounting\]'"
    ):
        Composition(((Approximate(0.5), 2),)).epsilon(1e-6)


SAMPLED = Guarantee(
    "tradeoff",
    "sampled",
    rho=5.0,
    mu=math.sqrt(10.0),
    curve=Composition(((Subsampled(Gaussian(1.0), 0.01), 10),)),
)
ALONE = Guarantee("tradeoff", "a curve and nothing else", curve=Approximate(0.5))


def test_curves_compose_with_gaussians_and_are_dropped_beside_parts_without_mu():
    both = compose([SAMPLED, gdp(0.5), SAMPLED])
    assert both.curve == Composition(((Gaussian(0.5), 1), (Subsampled(Gaussian(1.0), 0.01), 20)))
    assert both.epsilon(1e-6) > max(SAMPLED.epsilon(1e-6), gdp(0.5).epsilon(1e-6))
    assert compose([SAMPLED, pure(0.1)]).curve is None
    assert compose([SAMPLED, pure(0.1)]).epsilon(1e-6) > gdp(SAMPLED.mu).epsilon(1e-6)
    assert not compose([ALONE, pure(0.1)]).holds
    # Adaptively chosen charges count no curve.
    assert adaptive_epsilon([SAMPLED], 1e-6) == pytest.approx(zcdp(5.0).epsilon(1e-6))
    assert adaptive_epsilon([ALONE], 1e-6) == math.inf


ORDERS = (2.3, 4.1, 6.0, 8.0)


def test_where_the_grid_ends_renyi_divergences_bound_the_cost():
    """The grid alone has no finite ε there, because its errors add to δ."""
    curve, less_noise = (PoissonSampled(sigma, rate=0.01, steps=1000) for sigma in (1.0, 0.5))
    divergences = [1000 * exact(1.0, 0.01, order) for order in ORDERS]
    for delta in (3e-10, 1e-300):
        epsilon = curve.epsilon(delta)
        assert epsilon <= 1.005 * min(
            cost + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)
            for a, cost in zip(ORDERS, divergences, strict=True)
        )
        assert curve.delta(epsilon * (1 + 1e-3)) <= 10 * delta
        assert 0 < curve.delta(2 * epsilon) < delta or delta == 1e-300
        assert epsilon < less_noise.epsilon(delta)


@pytest.mark.parametrize("delta", [1e-9, 1e-14, 1e-100, 1e-300])
def test_below_the_grid_the_bound_stays_above_the_exact_cost(delta):
    """Sums over all rows are Gaussian, μ = 2√T/σ; twice the noise would be below it."""
    exact = Gaussian(2 * math.sqrt(50) / 20.0).epsilon(delta)
    assert exact <= PoissonSampled(20.0, 1 - 1e-12, 50).epsilon(delta) <= 1.15 * exact
    assert PoissonSampled(40.0, 1 - 1e-12, 50).epsilon(delta) < exact
