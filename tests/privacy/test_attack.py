"""What the best attacker can do, against closed forms and against attackers who try."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from rashomon_explorer.privacy import approximate, best_attack, bounded_range, compose, gdp, pure
from rashomon_explorer.privacy.notions import no_guarantee


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.0, 0.05), (1.0, math.e * 0.05), (math.log(9), 0.45), (math.log(99), 1 - 0.95 / 99)],
)
def test_pure_privacy_multiplies_false_alarms_until_misses_bind(epsilon, expected):
    assert best_attack(pure(epsilon), 0.05) == pytest.approx(expected, abs=1e-12)


def test_other_notions_have_their_closed_forms():
    power = norm.cdf(norm.ppf(0.05) + 1.3)
    assert best_attack(gdp(1.3), 0.05) == pytest.approx(power, abs=1e-9)
    small = math.exp(-2.0)
    assert best_attack(bounded_range(2.0), 0.05) == pytest.approx(
        1 - small * 0.95 / (small + 0.05 * (1 - small)), abs=1e-9
    )
    assert best_attack(approximate(1.0, 0.01), 0.05) == pytest.approx(
        math.e * 0.05 + 0.01, abs=1e-3
    )
    assert best_attack(no_guarantee("seen"), 0.05) == 1.0
    with pytest.raises(ValueError, match="false_alarms"):
        best_attack(pure(1.0), 1.5)


def test_of_a_sum_the_best_notion_counts():
    twenty = compose([bounded_range(0.35)] * 20)
    assert best_attack(twenty, 0.05) < best_attack(pure(twenty.pure_epsilon), 0.05) - 0.01
    paid = twenty.epsilon(1e-6)
    assert best_attack(twenty, 0.05) <= best_attack(approximate(paid, 1e-6), 0.05) + 5e-3


def test_no_pair_of_bounded_range_is_told_apart_better():
    """Two answers whose log ratios are t and t − 2; a test takes one and mixes the other in."""
    found = 0.0
    for shift in np.linspace(0.01, 1.99, 199):
        q = (1 - math.exp(shift - 2)) / (math.exp(shift) - math.exp(shift - 2))
        p = q * math.exp(shift)
        taken = min(1.0, 0.05 / q)
        rest = max(0.0, (0.05 - q) / (1 - q))
        found = max(found, p * taken + (1 - p) * rest)
    assert found <= best_attack(bounded_range(2.0), 0.05) + 1e-12
    assert found == pytest.approx(best_attack(bounded_range(2.0), 0.05), abs=1e-3)


def test_nobody_who_looks_at_randomised_response_does_better_and_the_best_does_as_well():
    """Two answers, each told truly with chance e^ε/(1 + e^ε): every test is a mixture of four."""
    true = math.exp(1.5) / (1 + math.exp(1.5))
    chances = np.array([[1 - true, true], [true, 1 - true]])  # of "member" said: no member, member
    best = 0.0
    for first in np.linspace(0, 1, 201):
        for second in np.linspace(0, 1, 201):
            rule = np.array([first, second])
            alarms, found = rule @ chances[1], rule @ chances[0]
            if alarms <= 0.05 + 1e-12:
                best = max(best, found)
    assert best <= best_attack(pure(1.5), 0.05) + 1e-12
    assert best == pytest.approx(best_attack(pure(1.5), 0.05), abs=5e-3)
    assert best > best_attack(pure(0.75), 0.05)  # half of the price would be a false promise
