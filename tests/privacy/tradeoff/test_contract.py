"""What every trade-off function keeps: its shape, its dual, its relation, its file, its Rényi."""

import json
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from rashomon_explorer.privacy import compose, rdp, tradeoff
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation, curves
from rashomon_explorer.privacy.tradeoff.composition import Composition, compose_tradeoffs
from rashomon_explorer.privacy.tradeoff.curves import Approximate, BoundedRange, Gaussian
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled

SIZES = st.floats(1e-3, 6.0)
CLOSED = st.one_of(
    *(SIZES.map(kind) for kind in (Gaussian, BoundedRange)),
    st.builds(Approximate, SIZES, st.floats(0, 0.5)),
)
SAMPLED = st.builds(tradeoff.Subsampled, CLOSED, st.floats(0.001, 1))
# One of each other kind: most are slow, or have a profile but no closed form.
NUMERIC = [
    tradeoff.RepeatedBoundedRange(0.5, 4),
    tradeoff.Composition(((Approximate(0.5), 3), (Gaussian(0.5), 1))),
    tradeoff.Composition(((tradeoff.Subsampled(Gaussian(1.0), 0.01), 30),)),
    tradeoff.PoissonSampled(1.0, 0.1),
    tradeoff.PoissonSampled(2.0, 0.05, 20),
    tradeoff.AllocatedBatches(1.0, 8),
    tradeoff.GaussianObjectivePerturbation(0.2, 0.01, monotone=True),
    tradeoff.GaussianObjectivePerturbation(0.2, 0.01, monotone=False, outputs=3, draws=2, mu=0.1),
]
ALPHAS = np.concatenate([[0.0, 1e-12, 1e-6], np.linspace(0.001, 0.999, 300), [1.0]])
EPSILONS = np.linspace(-9, 9, 181)


def check(curve):
    beta, delta = curve(ALPHAS), curve.delta(EPSILONS)
    assert np.all(beta >= 0) and np.all(beta <= 1 - ALPHAS + 1e-12)  # no worse than guessing
    assert np.all(np.diff(beta) <= 1e-12)
    assert np.all(np.diff((np.diff(beta) / np.diff(ALPHAS))[2:]) >= -1e-7)
    assert np.all(np.diff(delta) <= 1e-14)
    if curve.kind != "gaussian_tilt":  # its least bound over Rényi orders need not be convex
        slopes = np.diff(delta) / np.diff(np.exp(EPSILONS))
        assert np.all(np.diff(slopes) >= -1e-9 * np.maximum(1, np.abs(slopes[1:])))
    mirrored = 1 - np.exp(-EPSILONS) * (1 - delta)
    assert curve.delta(-EPSILONS) == pytest.approx(mirrored, rel=1e-9, abs=1e-11)
    assert curves.from_dict(json.loads(json.dumps(curve.to_dict()))) == curve


def check_inverse(curve, delta):
    """ε(δ) is not below the root of δ(ε), and next to it."""
    epsilon = curve.epsilon(delta)
    if math.isfinite(epsilon):
        assert curve.delta(epsilon) <= delta * (1 + 1e-9) + 1e-14
    if 1e-6 < epsilon < math.inf:
        assert curve.delta(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-9)


@given(st.one_of(CLOSED, SAMPLED), st.floats(-9, -0.5))
def test_closed_curves_and_their_batches(curve, power):
    check(curve)
    check_inverse(curve, 10.0**power)


@pytest.mark.parametrize("curve", NUMERIC, ids=lambda curve: curve.kind)
def test_numeric_curves(curve):
    check(curve)
    for delta in (1e-8, 0.1):
        check_inverse(curve, delta)
    claim = Guarantee("tradeoff", "", curve=curve)
    assert curve.relation == "replace" == claim.relation
    assert claim.holds and claim.epsilon(1e-6) == curve.epsilon(1e-6)
    assert Guarantee.from_dict(json.loads(json.dumps(claim.to_dict(), allow_nan=False))) == claim


@given(CLOSED)
def test_delta_is_the_dual_of_f(curve):
    # Refined where the curve is steep.
    alpha = np.concatenate([[0.0], np.logspace(-12, 0, 20001), np.linspace(0, 1, 20001)])
    beta = curve(alpha)
    for epsilon in (-3.0, -0.4, 0.0, 0.2, 1.0, 4.0):
        best = float(np.max(1 - beta - math.exp(epsilon) * alpha))
        assert best <= curve.delta(epsilon) + 1e-12
        assert best == pytest.approx(float(curve.delta(epsilon)), abs=2e-3)


@settings(max_examples=4)
@given(st.one_of(CLOSED, SAMPLED), st.integers(1, 60))
def test_compositions_are_below_their_parts_and_no_worse_than_guessing(curve, count):
    """A true positive rate below the false positive rate is what glued one-sided curves report."""
    beta = tradeoff.Composition(((curve, count),))(ALPHAS)
    assert np.all(beta <= 1 - ALPHAS) and np.all(np.diff(beta) <= 0)
    assert np.all(beta <= curve(ALPHAS) + 1e-9)


def test_one_sided_curves_glued_together_lose_the_tail():
    """The negative control: 1 − δ − e^ε α alone, used beyond α = β."""
    epsilon = np.linspace(0, 9, 200)[:, None]
    glued = np.max(1 - Gaussian(1.0).delta(epsilon) - np.exp(epsilon) * ALPHAS, axis=0)
    assert np.any(glued < Gaussian(1.0)(ALPHAS) - 0.01)


def divergence_of_profile(curve, order):
    """D_a of the worst pair: (a − 1) D_a = log(1 + a(a − 1) ∫ (e^((a−1)ε) + e^(−aε)) δ(ε) dε).

    Sason and Verdú 2016; about six digits.
    """
    top = 1.0
    while (order - 1) * top + math.log(max(float(curve.delta(top)), 1e-300)) > -41:
        top *= 2

    def weighted(epsilon):
        weight = math.exp((order - 1) * epsilon) + math.exp(-order * epsilon)
        return weight * float(curve.delta(epsilon))

    total = quad(weighted, 0.0, top, limit=500)[0]
    return math.log1p(order * (order - 1) * total) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_divergences_are_not_below_the_integral_over_the_profile(order):
    for curve in (Gaussian(0.8), Approximate(0.9), BoundedRange(0.9)):
        true = divergence_of_profile(curve, order)
        assert true <= curve.renyi(order) * (1 + 1e-5)
        assert curve.renyi(order) == order * curve.rho
        # η²/8 is true of a mechanism of bounded range, and false of the curve that bounds it.
        assert curve != BoundedRange(0.9) or true > order * 0.9**2 / 8
    assert Gaussian(0.8).renyi(order) == pytest.approx(divergence_of_profile(Gaussian(0.8), order))
    assert Approximate(1.0, 0.1).renyi(order) == math.inf


@pytest.mark.parametrize(
    ("mu", "rate", "order"),
    [(0.5, 0.01, 4.0), (1.0, 0.01, 12.0), (0.05, 0.3, 60.0), (2.0, 0.9, 1.5)],
)
def test_batches_have_the_divergence_of_their_profile(mu, rate, order):
    curve = tradeoff.Subsampled(Gaussian(mu), rate)
    true = divergence_of_profile(curve, order)
    assert true * (1 - 1e-7) <= curve.renyi(order) < true * (1 + 1e-4)
    assert tradeoff.Subsampled(Gaussian(0.999 * mu), rate).renyi(order) < true  # the control


CURVES = (Gaussian(1.0), Approximate(1.0, 1e-3), BoundedRange(1.0))
POISSON = {"sigma": 1.0, "rate": 0.1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (lambda curve=curve, alpha=alpha: curve(alpha), r"alpha must be in \[0, 1\], got")
            for curve in (*CURVES, zcdp(0.5).tradeoff)
            for alpha in (-0.1, [0.1, 2.0], math.nan)
        ),
        (lambda: Gaussian(-1.0), "mu must be >= 0"),
        (lambda: Approximate(1.0, 1.5), "slack must be in"),
        (lambda: Gaussian(1.0).renyi(1.0), "order must be > 1"),
        (lambda: BoundedRange(1.0).epsilon(1.0), "delta must be in"),
        (lambda: tradeoff.Subsampled(Gaussian(1.0), 1.1), "rate must be in"),
        (lambda: tradeoff.PoissonSampled(**{**POISSON, "sigma": 0.0}), "sigma must be finite and"),
        (lambda: tradeoff.PoissonSampled(**POISSON, steps=0), "steps must be a whole number"),
        (lambda: tradeoff.PoissonSampled(**POISSON, relation="zero_out"), "relation must be one"),
        (lambda: tradeoff.AllocatedBatches(0.0, 3), "sigma must be finite and"),
        (lambda: tradeoff.AllocatedBatches(1.0, 0), "batches must be a whole number"),
        (lambda: tradeoff.RepeatedBoundedRange(0.5, True), "count must be a whole number"),
        (lambda: tradeoff.RepeatedBoundedRange(math.nan, 2), "eta must be >= 0, got nan"),
        (lambda: tradeoff.Composition(()), "at least one"),
        (lambda: tradeoff.Composition(((Gaussian(1.0), 0),)), "whole numbers"),
        (lambda: tradeoff.Composition(((Gaussian(1.0), 1),), -1.0), "grid must be > 0"),
        (lambda: curves.from_dict({"kind": "magic"}), "known trade-off"),
    ],
)
def test_parameters_out_of_range_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("mu", ["0.001", "0.5", "1.593", "5", "20"])
@pytest.mark.parametrize("epsilon", ["0", "0.001", "0.3", "4", "15"])
def test_delta_of_gaussians_against_fifty_digits(mu, epsilon):
    with mpmath.workdps(50):
        m, e = mpmath.mpf(float(mu)), mpmath.mpf(float(epsilon))
        exact = float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))
    assert Gaussian(float(mu)).delta(float(epsilon)) == pytest.approx(exact, rel=0, abs=1e-12)
    assert gdp_delta(float(mu), float(epsilon)) == pytest.approx(exact, rel=0, abs=1e-12)
    if exact > 1e-290:
        assert gdp_delta(float(mu), float(epsilon)) == pytest.approx(exact, rel=1e-9)


@settings(max_examples=6)
@given(CLOSED, st.floats(0.01, 1.0))
def test_subsampling_is_the_hull_of_f_q_and_its_inverse(curve, rate):
    alpha = np.concatenate([[0.0], np.logspace(-9, 0, 500), np.linspace(0, 1, 500)])
    one_sided = rate * curve(alpha) + (1 - rate) * (1 - alpha)
    x, y = np.concatenate([alpha, one_sided]), np.concatenate([one_sided, alpha])
    claimed = Subsampled(curve, rate)
    for epsilon in (0.0, 0.1, 0.7, 2.0):
        # The hull of finitely many points is above the curve, so its δ is below.
        dual = float(np.max(1 - y - math.exp(epsilon) * x))
        assert dual <= claimed.delta(epsilon) + 1e-12
        assert dual == pytest.approx(float(claimed.delta(epsilon)), abs=5e-3)
    assert np.all(claimed(x) <= y + 1e-12)


def test_subsampling_at_the_ends():
    assert Subsampled(Gaussian(2.0), 0.0).delta(0.0) == 0
    whole = Subsampled(Gaussian(2.0), 1.0)
    assert whole.delta(EPSILONS) == pytest.approx(Gaussian(2.0).delta(EPSILONS), abs=1e-14)


def test_what_zcdp_and_renyi_prove_is_below_the_truth():
    truth, orders = Gaussian(0.7), np.linspace(1.05, 100, 3000)
    for proved in (zcdp(truth.rho), rdp(orders, orders * truth.rho)):
        assert np.all(proved.tradeoff(ALPHAS) <= truth(ALPHAS) + 1e-12)
        assert proved.delta(1.0) < 10 * truth.delta(1.0)
    assert not np.all(zcdp(truth.rho / 4).tradeoff(ALPHAS) <= truth(ALPHAS))


USUAL = PoissonSampled(1.0, 0.01, relation="add_or_remove")
SAME = PoissonSampled(1.0, 0.01)
OTHERS = [
    USUAL, PoissonSampled(1.0, 0.01, 50, "add_or_remove"), Subsampled(USUAL, 0.5),
    Composition(((USUAL, 3),)),
    compose_tradeoffs([(USUAL, 2), PoissonSampled(3.0, 1.0, relation="add_or_remove")]),
]  # fmt: skip


@pytest.mark.parametrize("curve", OTHERS, ids=lambda curve: curve.kind)
def test_a_guarantee_refuses_the_other_relation(curve):
    assert curve.relation == "add_or_remove"
    with pytest.raises(ValueError, match=r"one record replaced.*'add_or_remove'"):
        Guarantee("tradeoff", "another accountant's", curve=curve)
    back = curves.from_dict(json.loads(json.dumps(curve.to_dict())))
    assert back == curve and back.relation == "add_or_remove"


def test_relations_do_not_mix():
    for parts in ([USUAL, Gaussian(1.0)], [(USUAL, 2), (SAME, 3)], [Gaussian(0.0), USUAL]):
        with pytest.raises(ValueError, match="different neighbour relations do not compose"):
            compose_tradeoffs(parts)
    with pytest.raises(ValueError, match="different neighbour relations"):
        Composition(((USUAL, 1), (Gaussian(1.0), 1)))


def test_every_part_of_a_composition_counts_once():
    """A perturbed objective that has a μ besides was counted for the part beside it, too."""
    curve = GaussianObjectivePerturbation(0.2, 0.01, monotone=True)
    with_mu, bare = (Guarantee("tradeoff", "", mu=mu, curve=curve) for mu in (0.5, np.inf))
    for one in (with_mu, bare):
        both = compose([one, pure(5.0)])
        assert both.curve is None and both.epsilon(1e-6) > 5.0
        assert compose([one, gdp(0.3)]).curve == replace(curve, mu=0.3)
    assert compose([with_mu, with_mu]).curve == replace(curve, draws=2)
    poisson = Guarantee("tradeoff", "", mu=2.0, curve=SAME)
    assert compose([poisson, bare]).curve == Composition(((SAME, 1), (bare.curve, 1)))
    assert compose([poisson, gdp(0.5)]).curve == compose_tradeoffs([SAME, Gaussian(0.5)])
    assert compose([gdp(0.5), gdp(0.5)]).curve is None
    without_mu = Guarantee("tradeoff", "", curve=SAME)
    assert compose([without_mu, gdp(0.5)]).curve is None
