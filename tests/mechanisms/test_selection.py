"""Laws of a private choice, computed exactly: prices hold, and no less would do."""

import itertools
import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms import selection
from rashomon_explorer.privacy import bounded_range, pure, zcdp
from rashomon_explorer.privacy.audit import discrete

EPSILON = 1.3
RECORDS = list(itertools.product([0.0, 1.0], repeat=3))  # what one row says of three models


def losses_of_neighbours():
    """Mean losses on two rows, and on two of which one is another."""
    pairs = itertools.product(RECORDS[::3], RECORDS, RECORDS)
    return [
        (np.mean([kept, one], axis=0), np.mean([kept, other], axis=0)) for kept, one, other in pairs
    ]


def worst(pick, pairs):
    found = [discrete(np.log(pick.law(a)), np.log(pick.law(b))).epsilon(0.0) for a, b in pairs]
    return max(found)


@pytest.mark.parametrize("kind", selection.PICKS.values(), ids=lambda kind: kind.name)
def test_no_neighbour_passes_the_price_and_half_of_the_sensitivity_is_caught(kind):
    pairs = losses_of_neighbours()
    assert worst(kind(EPSILON, 1 / 2), pairs) <= EPSILON * (1 + 1e-12)
    assert worst(kind(EPSILON, 1 / 4), pairs) > EPSILON * 1.05


def test_the_exponential_pick_is_of_bounded_range_and_uses_all_of_it():
    pick = selection.Exponential(EPSILON, 1 / 2)
    ranges = [
        discrete(np.log(pick.law(a)), np.log(pick.law(b))).range for a, b in losses_of_neighbours()
    ]
    assert max(ranges) == pytest.approx(EPSILON)
    assert pick.guarantee.rho == pytest.approx(EPSILON**2 / 8)
    assert selection.PermuteAndFlip(EPSILON, 1 / 2).guarantee.rho == pytest.approx(EPSILON**2 / 2)


def test_permute_and_flip_is_what_its_name_says():
    pick, losses = selection.PermuteAndFlip(EPSILON, 0.5), np.array([0.3, 0.0, 0.9, 0.1])
    taken = np.exp(-EPSILON * losses)
    told = np.zeros(4)
    for order in itertools.permutations(range(4)):
        left = 1.0
        for place in order:
            told[place] += left * taken[place] / 24
            left *= 1 - taken[place]
    np.testing.assert_allclose(pick.law(losses), told, rtol=1e-12)


@pytest.mark.parametrize("kind", selection.PICKS.values(), ids=lambda kind: kind.name)
def test_draws_follow_the_law_and_lose_no_more_than_promised(kind):
    rng, losses = np.random.default_rng(0), np.array([0.0, 0.2, 0.5])
    pick = kind(2.0, 0.25)
    drawn = np.bincount([pick.draw(losses, rng) for _ in range(4000)], minlength=3) / 4000
    np.testing.assert_allclose(drawn, pick.law(losses), atol=0.03)
    for tried in [losses, np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.24, 0.24])]:
        assert pick.law(tried) @ tried <= selection.regret(pick, 3)


@pytest.mark.parametrize("shape", [0, 1])
def test_the_law_of_the_best_is_that_of_the_number_of_runs(shape):
    runs, own = selection.Runs(shape, 0.2), np.array([0.1, 0.6, 0.3])
    count = np.arange(1, 400)
    mass = 0.2 * 0.8 ** (count - 1) if shape else 0.8**count / (count * -math.log(0.2))
    assert mass.sum() == pytest.approx(1) and mass @ count == pytest.approx(runs.mean)
    above = np.concatenate([[1.0], 1 - np.cumsum(own)])
    told = -np.diff([mass @ left**count for left in above])
    np.testing.assert_allclose(runs.law(own), told, rtol=1e-9)
    drawn = [runs.draw(np.random.default_rng(seed)) for seed in range(3000)]
    assert min(drawn) == 1 and np.mean(drawn) == pytest.approx(runs.mean, rel=0.1)
    assert selection.Runs.of_mean(shape, 7.0).mean == pytest.approx(7.0)


def extremes(own):
    """Two laws of one run on three outcomes, the best first, that ``own`` keeps apart."""
    pairs = []
    for q, c in itertools.product([1e-6, 1e-3, 0.2], [1e-9, 1e-4, 0.05, 0.3]):
        first = np.array([c, q, 1 - c - q])
        for up in itertools.product([-own, own], repeat=2):
            second = first[:2] * np.exp(up)
            second = np.append(second, 1 - second.sum())
            if second[2] > 0 and abs(np.log(second[2] / first[2])) <= own:
                pairs.append((first, second))
    return pairs


@pytest.mark.parametrize(("shape", "factor"), [(0, 2), (1, 3)])
def test_the_best_of_a_random_number_costs_its_factor_and_no_less(shape, factor):
    """Tight where the best outcome is rare and runs are many; (factor − 0.2)ε₀ would be a lie."""
    own, seen = 0.4, 0.0
    for gamma in [0.3, 1e-3, 1e-7]:
        runs = selection.Runs(shape, gamma)
        assert runs.guarantee(own).epsilon(0.0) == pytest.approx(factor * own)
        for first, second in extremes(own):
            audit = discrete(np.log(runs.law(first)), np.log(runs.law(second)))
            assert audit.epsilon(0.0) <= factor * own * (1 + 1e-6)
            seen = max(seen, audit.epsilon(0.0))
    assert seen > (factor - 0.2) * own


def test_a_number_of_runs_that_is_fixed_has_no_such_price():
    """Negative control: the best of 50 of what costs .4 costs more than three times .4."""
    best = [1 - (1 - c) ** 50 for c in (1e-4, 1e-4 * math.exp(-0.4))]
    many = [(1 - c) ** 50 for c in (0.05, 0.05 * math.exp(0.4))]
    assert math.log(best[0] / best[1]) == pytest.approx(0.4, abs=0.01)
    assert math.log(many[0] / many[1]) > 3 * 0.4 * 0.9  # and 50 times 0.4 at the worst
    assert math.log((1 - 0.2) ** 50 / (1 - 0.2 * math.exp(0.4)) ** 50) > 3 * 0.4


def test_two_sides_are_the_dearer_and_not_the_sum():
    """An answer about a bit of one side, or 1 always, picked by a bit of the other."""
    own, pick = 0.5, selection.PermuteAndFlip(0.9, 1.0)
    flip = np.array([[1, math.exp(-own)], [math.exp(-own), 1]]) / (1 + math.exp(-own))

    def law(fitted, scored):
        told = [
            flip[fitted, a] * pick.law([float(a != scored), float(scored != 1)]) for a in (0, 1)
        ]
        return np.log(np.ravel(told))

    stated = selection.max_over_splits(pure(own), pick.guarantee)
    assert stated.epsilon(0.0) == 0.9
    for same in [0, 1]:
        assert discrete(law(0, same), law(1, same)).epsilon(0.0) <= own + 1e-12
        assert discrete(law(same, 0), law(same, 1)).epsilon(0.0) <= 0.9 + 1e-12
    # Negative control: one record on both sides costs more than the dearer.
    assert discrete(law(0, 0), law(1, 1)).epsilon(0.0) > 1.2
    both = selection.max_over_splits(
        zcdp(0.3), bounded_range(1.0)
    )  # a notion that one side lacks is lost
    assert both.rho == 0.3 and both.pure_epsilon == math.inf and both.mu == math.inf
    assert "the split is by place, and public" in both.assumptions


def test_noise_of_scores_moves_the_choice_by_what_is_promised():
    rng, runs = np.random.default_rng(0), selection.Runs(1, 1 / 20)
    lost = []
    for _ in range(400):
        true = rng.random(runs.draw(rng))
        lost.append(true[np.argmin(true + rng.laplace(scale=0.1, size=len(true)))] - true.min())
    assert np.mean(lost) <= selection.most_noise(0.1, runs.mean)
