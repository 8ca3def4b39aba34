"""Aggregates with exact noise: on the grid, at no higher price, with no seed and no Gaussian DP."""

import math
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from rashomon_explorer.privacy import Ledger
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.release import Losses, Sensitivity, release
from rashomon_explorer.release.query import PublicShape, Rows
from rashomon_explorer.release.secure import SecureGaussian, SecureLaplace, add_exactly, exact_noise
from rashomon_explorer.release.statistic import LAPLACE, Noise, noise_scale

from .cases import models_of, records_of, table_of

pytest.importorskip("opendp", reason="secure noise needs the extra [secure]")

MODELS = models_of()
X, Y, _ = table_of(records_of(MODELS) * 3)
PUBLIC = PublicShape(MODELS, len(X), has_targets=True)
BUDGETS = [
    {"epsilon": 1.0},
    {"epsilon": 1.0, "delta": 1e-6},
    {"rho": 0.05},
    {"standard_error": 0.1},
]


def secure(**settings):
    settings = {"queries": ["losses", "ambiguity"], "ledger": None, **settings}
    return release(MODELS, X, Y, secure=True, **settings)


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: "-".join(budget))
def test_numbers_lie_on_a_grid_and_the_promise_is_what_is_proved(budget):
    released = secure(**budget)
    normal = "delta" in budget or "epsilon" not in budget
    law = "Gaussian" if normal else "Laplace"
    assert {answer.noise.split(",")[0] for answer in released.answers} == {f"discrete {law}"}
    moved = Losses().sensitivity(PUBLIC)
    noise = Noise(1.0, law)
    cell = exact_noise(MODELS.n_draws, moved, noise).cell
    noisy = [number.noisy for number in released.answers[0].statistics]
    assert all(number % cell == 0 for number in noisy)
    assert any((number + np.pi * cell) % cell for number in noisy)  # not every double is
    guarantee = released.guarantee
    assert math.isinf(guarantee.mu) and guarantee.holds and not guarantee.seeded
    assert any("exact on a public grid" in each for each in guarantee.assumptions)
    if normal:
        assert guarantee.notion == "zcdp"
        assert guarantee.epsilon(1e-6) == pytest.approx(1.0) or "delta" not in budget
    else:
        assert guarantee.pure_epsilon == 1.0


def test_what_openDP_charges_adds_up_to_no_more_than_was_agreed():
    moved = [Sensitivity.from_widths([0.01] * 7), Sensitivity.from_widths([0.3, 0.004])]
    scales = [(one.l2, mu) for one, mu in zip(moved, (0.1, 0.2), strict=True)]
    noises = [Noise(noise_scale(*each)) for each in scales]
    rho = sum(exact_noise(7, *each).measured for each in zip(moved, noises, strict=True))
    scales = [(one.l1, epsilon) for one, epsilon in zip(moved, (0.3, 0.7), strict=True)]
    noises = [Noise(noise_scale(*each), LAPLACE) for each in scales]
    epsilon = sum(exact_noise(7, *each).measured for each in zip(moved, noises, strict=True))
    assert 0 < 0.025 - rho < 1e-10 and 0 < 1.0 - epsilon < 1e-8


@pytest.mark.parametrize(("budget", "law"), [({"rho": 0.05}, "norm"), ({"epsilon": 1}, "laplace")])
@pytest.mark.law
def test_the_noise_has_the_scale_that_error_bars_say(budget, law):
    truth = Losses().compute(Rows.read(PUBLIC, X, Y, None))
    runs = [[*secure(queries=["losses"], **budget)] for _ in range(200)]
    pairs = [pair for run in runs for pair in zip(run, truth, strict=True)]
    sizes = [(number.noisy - exact) / number.noise.scale for number, exact in pairs]
    assert stats.kstest(sizes, law).pvalue > 1e-6
    assert stats.kstest(np.multiply(sizes, 2), law).pvalue < 1e-6  # half the scale is caught


def test_a_ledger_is_charged_zCDP_and_nothing_that_exact_noise_does_not_have(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", epsilon=2.0, delta=1e-6)
    secure(ledger=ledger, epsilon=1.0, delta=1e-6)
    (entry,) = ledger.entries()
    assert entry.guarantee.notion == "zcdp" and math.isinf(entry.guarantee.mu)
    assert ledger.spent(1e-6) <= 1.0 + 1e-9
    with pytest.raises(ValueError, match="secure=True has no seed, got random_state=0"):
        secure(ledger=ledger, epsilon=0.5, random_state=0)
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"clone of the repository, pip install '\.\[secure\]'"):
        secure(ledger=ledger, rho=0.01)
    assert len(ledger.entries()) == 1


def test_what_no_record_moves_needs_no_noise():
    same = models_of(coef=np.tile([[1.0, -1.0, 0.5]], (2, 1)))
    released = release(same, X, Y, queries=["range_width"], ledger=None, secure=True, rho=0.1)
    assert [number.estimate for number in released] == [0.0]
    values, noise = add_exactly(np.array([0.3]), Sensitivity.from_widths(0.0), Noise(1.0))
    assert values == [0.3] and noise.scale == 0


LAWS = [SecureGaussian, SecureLaplace]
MANY = 20_000


def weight(law, z, scale):
    return np.exp(-((z / scale) ** 2) / 2) if law is SecureGaussian else np.exp(-np.abs(z) / scale)


def pmf(law, scale, shift=0, reach=60):
    z = np.arange(-reach, reach + 1)
    return weight(law, z - shift, scale) / weight(law, z, scale).sum()


class TestLaw:
    @pytest.mark.parametrize("law", LAWS)
    def test_probabilities_are_those_of_the_discrete_law(self, law):
        # In cells as wide as this the discrete law is far from the continuous one.
        noise = law(size=MANY, sensitivity=1e9, grid=1.0, scale=0.6)
        drawn = noise.release(np.zeros(MANY))
        cells = np.arange(-2, 3)
        counts = [(drawn == cell).sum() for cell in cells]
        expected = MANY * pmf(law, noise.drawn_scale)[60 + cells]
        counts, expected = ([*each, MANY - sum(each)] for each in (counts, expected))
        assert stats.chisquare(counts, expected).pvalue > 1e-6
        # The control: the continuous law, rounded, is another one.
        rng = np.random.default_rng(0)
        real = rng.normal if law is SecureGaussian else rng.laplace
        rounded = np.round(real(scale=0.6, size=MANY))
        wrong = [(rounded == cell).sum() for cell in cells]
        assert stats.chisquare([*wrong, MANY - sum(wrong)], expected).pvalue < 1e-6

    @pytest.mark.parametrize("law", LAWS)
    def test_values_are_rounded_to_the_nearest_multiple(self, law):
        values = np.array([0.1, 0.374, 0.376, -0.124, -0.126, 1e6 + 0.3])
        tiny = law(size=6, sensitivity=1.0, scale=1e-9, grid=0.25)  # P(noise ≠ 0) < e^-1000
        np.testing.assert_array_equal(tiny.release(values), np.round(values * 4) / 4)


class TestPrice:
    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize(
        ("size", "grid"), [(1, None), (1000, None), (31, 2.0**-20), (2, 0.25), (1000, 0.25)]
    )
    def test_OpenDP_charges_no_more_than_was_agreed_and_no_less_than_the_formula(
        self, law, size, grid
    ):
        noise = law(size=size, sensitivity=2e-4, scale=7e-4, grid=grid)
        mpmath.mp.dps = 50
        apart = mpmath.mpf(2e-4) + mpmath.mpf(noise.cell) * mpmath.mpf(noise.rounding)
        ratio = apart / mpmath.mpf(noise.drawn_scale)
        exact = ratio**2 / 2 if law is SecureGaussian else ratio
        assert exact <= noise.measured <= noise.noise_cost
        assert noise.measured >= noise.noise_cost * (1 - 1e-10)  # nor is there noise to no purpose
        assert noise.drawn_scale > noise.scale
        if grid is None:
            assert noise.drawn_scale < noise.scale * (1 + 2**-19)

    @pytest.mark.parametrize("law", LAWS)
    def test_rounding_parts_vectors_by_no_more_than_is_priced_and_by_nearly_that(self, law):
        """Brute force: neighbours on both sides of the middle of a cell, in every coordinate."""
        size, order = 9, 2 if law is SecureGaussian else 1
        noise = law(size=size, sensitivity=1e-6, scale=1e-12, grid=0.25)
        one = noise.release(np.full(size, 0.125 - 1e-7))
        other = noise.release(np.full(size, 0.125 + 1e-8))
        apart = np.linalg.norm(one - other, ord=order)
        assert 0.99 < apart / (noise.sensitivity + noise.cell * noise.rounding) <= 1
        assert apart > 1e5 * noise.sensitivity  # the control: Δ alone would be caught

    @pytest.mark.parametrize("order", [1.1, 2.0, 8.0, 40.0])
    def test_exact_Renyi_divergences_are_within_rho(self, order):
        noise = SecureGaussian(size=1, sensitivity=1.3, scale=0.9, grid=1.0)
        found = max(divergence(noise.drawn_scale, shift, order) for shift in (-2, -1, 1, 2))
        assert found <= order * noise.measured
        assert found > order * noise.measured / 2  # half of it would be caught
        # The control: with σ as asked for, and so without the rounding, ρ is exceeded.
        assert divergence(noise.scale, 2, order) > order * noise.noise_cost

    def test_exact_Laplace_losses_are_within_epsilon(self):
        noise = SecureLaplace(size=1, sensitivity=1.3, scale=0.9, grid=1.0)
        for scale, within in ((noise.drawn_scale, True), (noise.scale, False)):
            ratios = np.log(pmf(SecureLaplace, scale) / pmf(SecureLaplace, scale, shift=2))
            assert (np.abs(ratios).max() <= noise.noise_cost) == within

    @pytest.mark.parametrize("scale", [0.6, 5.0])
    def test_a_label_of_Gaussian_DP_would_be_false(self, scale):
        """On a coarse grid a test does better against the discrete law than Gaussian DP allows."""
        one, other = (pmf(SecureGaussian, scale, shift) for shift in (0, 1))
        epsilons = np.linspace(0, 4 / scale, 200)
        exact = np.array([np.maximum(other - math.exp(e) * one, 0).sum() for e in epsilons])
        assert (exact > [gdp_delta(1 / scale, e) for e in epsilons]).any()


def divergence(scale, shift, order):
    """Of order a, from logarithms: the sum's terms are far out, near a·shift."""
    z = np.arange(-200, 201)
    total = logsumexp(-(z**2) / (2 * scale**2))
    terms = (order * z**2 + (1 - order) * (z - shift) ** 2) / (2 * scale**2)
    return (logsumexp(-terms) - total) / (order - 1)


def impossible(outputs, value):
    """Which outputs no double z gives as fl(value + z): they tell what the value is not."""
    z = outputs - value
    near = [z, *(np.nextafter(z, end) for end in (-np.inf, np.inf))]
    return ~np.any([value + each == outputs for each in near], axis=0)


class TestAttack:
    def test_naive_noise_in_doubles_gives_its_input_away(self):
        """Mironov (2012): N(0, 1) in doubles takes values that 1 + N(0, 1) cannot take."""
        outputs = np.random.default_rng(0).standard_normal(MANY)
        assert not impossible(outputs, 0.0).any()
        assert 0.4 < impossible(outputs, 1.0).mean() < 0.46

    @pytest.mark.parametrize("law", LAWS)
    def test_on_the_grid_every_output_can_come_from_either(self, law):
        noise = law(size=1000, sensitivity=1e6, scale=1.0, grid=2.0**-20)
        for value in (0.0, 1.0):
            outputs = noise.release(np.full(1000, value))
            assert not impossible(outputs, 1.0 - value).any()
            assert (outputs % noise.cell == 0).all()


class TestRefusals:
    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"size": 1.5}, "size must be a whole number, at least 1"),
            ({"sensitivity": 0.0}, "sensitivity must be finite and > 0, got 0"),
            ({"scale": math.nan}, "scale must be finite and > 0"),
            ({"grid": 0.3}, r"grid must be a power of 2, such as 2\*\*-20, got 0.3"),
            ({"sensitivity": 1e-300}, "too far apart, or too small, for doubles"),
            ({"sensitivity": 1e200, "scale": 1e-200}, "too far apart"),
        ],
    )
    def test_numbers_for_which_nothing_is_proved(self, law, changed, message):
        with pytest.raises(ValueError, match=message):
            law(**{"size": 2, "sensitivity": 1.0, "scale": 1.0, **changed})

    def test_values_that_OpenDP_would_take(self):
        noise = SecureGaussian(size=2, sensitivity=1.0, scale=1.0)
        assert not (noise.release(np.zeros(2)) == noise.release(np.zeros(2))).any()  # fresh noise
        for values in ([0.0], [[0.0, 1.0]], [0.0, math.nan], [0.0, math.inf]):
            with pytest.raises(ValueError, match=r"must have shape \(2,\)|values must be finite"):
                noise.release(values)
