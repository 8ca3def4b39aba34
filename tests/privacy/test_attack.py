"""Bounds on the best attack, against closed forms and against attackers who try."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from rashomon_explorer.privacy import approximate, best_attack, bounded_range, compose, gdp, pure
from rashomon_explorer.privacy.notions import no_guarantee

SMALL = math.exp(-2.0)


@pytest.mark.parametrize(
    ("guarantee", "power"),
    [
        (pure(0.0), 0.05),
        (pure(1.0), math.e * 0.05),  # false alarms multiply until misses bind
        (pure(math.log(9)), 0.45),
        (pure(math.log(99)), 1 - 0.95 / 99),
        (gdp(1.3), norm.cdf(norm.ppf(0.05) + 1.3)),
        (bounded_range(2.0), 1 - SMALL * 0.95 / (SMALL + 0.05 * (1 - SMALL))),
        (approximate(1.0, 0.01), pytest.approx(math.e * 0.05 + 0.01, abs=1e-3)),
        (no_guarantee("seen"), 1.0),
    ],
)
def test_closed_forms(guarantee, power):
    expected = pytest.approx(power, abs=1e-9) if isinstance(power, float) else power
    assert best_attack(guarantee, 0.05) == expected
    with pytest.raises(ValueError, match="false_alarms"):
        best_attack(guarantee, 1.5)


def test_the_best_notion_of_a_sum_counts():
    twenty = compose([bounded_range(0.35)] * 20)
    assert best_attack(twenty, 0.05) < best_attack(pure(twenty.pure_epsilon), 0.05) - 0.01
    cost = twenty.epsilon(1e-6)
    assert best_attack(twenty, 0.05) <= best_attack(approximate(cost, 1e-6), 0.05) + 5e-3


def test_no_pair_of_bounded_range_is_distinguished_better():
    """Two answers whose log ratios are t and t − 2; a test takes one and mixes the other in."""
    found = 0.0
    for shift in np.linspace(0.01, 1.99, 199):
        q = (1 - math.exp(shift - 2)) / (math.exp(shift) - math.exp(shift - 2))
        p = q * math.exp(shift)
        share = min(1.0, 0.05 / q)
        rest = max(0.0, (0.05 - q) / (1 - q))
        found = max(found, p * share + (1 - p) * rest)
    assert found <= best_attack(bounded_range(2.0), 0.05) + 1e-12
    assert found == pytest.approx(best_attack(bounded_range(2.0), 0.05), abs=1e-3)


def test_the_best_attack_on_randomised_response_does_as_well():
    """Two answers, each true with probability e^ε/(1 + e^ε): a test is a mixture of four."""
    true = math.exp(1.5) / (1 + math.exp(1.5))
    first, second = np.meshgrid(*[np.linspace(0, 1, 201)] * 2)
    alarms, power = first * (1 - true) + second * true, first * true + second * (1 - true)
    best = power[alarms <= 0.05 + 1e-12].max()
    assert best <= best_attack(pure(1.5), 0.05) + 1e-12
    assert best == pytest.approx(best_attack(pure(1.5), 0.05), abs=5e-3)
    assert best > best_attack(pure(0.75), 0.05)  # the control: half of the cost
