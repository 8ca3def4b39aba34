"""Aggregates with exact noise: on the grid, at no higher price, with no seed and no Gaussian DP."""

import math
import sys

import numpy as np
import pytest
from scipy import stats

from rashomon_explorer.privacy import Ledger
from rashomon_explorer.release import Losses, Sensitivity, release
from rashomon_explorer.release.losses import LossDifferences
from rashomon_explorer.release.noise import GaussianNoise, LaplaceNoise, noise_scale
from rashomon_explorer.release.query import PublicShape, Rows
from rashomon_explorer.release.secure import add_exactly, exact_noise

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
    return release(
        MODELS,
        X,
        Y,
        **{"queries": ["losses", "ambiguity"], "ledger": None, "secure": True, **settings},
    )


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: "-".join(budget))
def test_numbers_lie_on_a_grid_and_the_promise_is_what_is_proved(budget):
    released = secure(**budget)
    normal = "delta" in budget or "epsilon" not in budget
    law = "Gaussian" if normal else "Laplace"
    assert {answer.noise.split(",")[0] for answer in released.answers} == {f"discrete {law}"}
    moved = Losses().sensitivity(PUBLIC)
    noise = (GaussianNoise if normal else LaplaceNoise)(1.0)
    cell = exact_noise(MODELS.n_draws, moved, noise).cell
    noisy = [number.noisy for number in released.answers[0].statistics]
    assert all(number % cell == 0 for number in noisy)
    assert any((number + np.pi * cell) % cell for number in noisy)  # not every double is
    guarantee = released.guarantee
    assert math.isinf(guarantee.mu) and guarantee.holds and not guarantee.reproducible
    assert any("exact on a public grid" in each for each in guarantee.assumptions)
    if normal:
        assert guarantee.notion == "zcdp"
        assert guarantee.epsilon(1e-6) == pytest.approx(1.0) or "delta" not in budget
    else:
        assert guarantee.pure_epsilon == 1.0


def test_what_openDP_charges_adds_up_to_no_more_than_was_agreed():
    moved = [Sensitivity.from_widths([0.01] * 7), Sensitivity.from_widths([0.3, 0.004])]
    mus, epsilons = [0.1, 0.2], [0.3, 0.7]
    rho = sum(
        exact_noise(7, one, GaussianNoise(noise_scale(one.l2, mu))).measured
        for one, mu in zip(moved, mus, strict=True)
    )
    epsilon = sum(
        exact_noise(7, one, LaplaceNoise(noise_scale(one.l1, price))).measured
        for one, price in zip(moved, epsilons, strict=True)
    )
    assert 0 < 0.025 - rho < 1e-10 and 0 < 1.0 - epsilon < 1e-8


@pytest.mark.parametrize(("budget", "law"), [({"rho": 0.05}, "norm"), ({"epsilon": 1}, "laplace")])
@pytest.mark.law
def test_the_noise_has_the_scale_that_error_bars_say(budget, law):
    truth = Losses().compute(Rows.read(PUBLIC, X, Y, None))
    runs = [[*secure(queries=["losses"], **budget)] for _ in range(200)]
    sizes = [
        (number.noisy - exact) / number.noise.scale
        for run in runs
        for number, exact in zip(run, truth, strict=True)
    ]
    assert stats.kstest(sizes, law).pvalue > 1e-6
    assert stats.kstest(np.multiply(sizes, 2), law).pvalue < 1e-6  # half the scale is caught


def test_a_ledger_is_charged_zCDP(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", epsilon=2.0, delta=1e-6)
    secure(ledger=ledger, epsilon=1.0, delta=1e-6)
    (entry,) = ledger.entries()
    assert entry.guarantee.notion == "zcdp" and math.isinf(entry.guarantee.mu)
    assert ledger.spent(1e-6) <= 1.0 + 1e-9


def test_what_no_record_moves_needs_no_noise():
    same = models_of(coef=np.tile([[1.0, -1.0, 0.5]], (2, 1)))
    released = release(same, X, Y, queries=[LossDifferences()], ledger=None, secure=True, rho=0.1)
    assert [number.estimate for number in released] == [0.0]
    values, noise = add_exactly(np.array([0.3]), Sensitivity.from_widths(0.0), GaussianNoise(1.0))
    assert values == [0.3] and noise.scale == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 1.0, "random_state": 0}, "secure=True has no seed, got random_state=0"),
        ({"mu": 0.2}, r"no guarantee in Gaussian DP, got mu=0\.2: .* use rho=0\.02"),
    ],
)
def test_what_exact_noise_does_not_have_is_refused(settings, message, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", epsilon=2.0, delta=1e-6)
    with pytest.raises(ValueError, match=message):
        secure(ledger=ledger, **settings)
    assert ledger.entries() == []


def test_a_missing_openDP_costs_nothing(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", epsilon=2.0, delta=1e-6)
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'rashomon-explorer\[secure\]'"):
        secure(ledger=ledger, rho=0.1)
    assert ledger.entries() == []
