"""Intervals that hold at every time: their law, what peeking does to others, and stopping."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtri

from rashomon_explorer.measures import ConfidenceSequence, disagreement, enough_draws
from rashomon_explorer.measures.multiplicity import score_variance
from rashomon_explorer.measures.stopping import capital

LAWS = {
    "rare": (0.05, lambda rng, shape: (rng.random(shape) < 0.05).astype(float)),
    "fair": (0.5, lambda rng, shape: (rng.random(shape) < 0.5).astype(float)),
    "narrow": (0.3, lambda rng, shape: rng.beta(30, 70, shape)),
    "extreme": (0.0, lambda rng, shape: np.zeros(shape)),
}


def misses(terms, mean, level):
    """How many runs ever leave the mean out."""
    missed = 0
    for run in terms:
        sequence = ConfidenceSequence(level)
        sequence.update(run)  # the ends are running extremes: the last interval is the narrowest
        missed += not sequence.low <= mean <= sequence.high
    return missed


def peeking_misses(terms, mean, level):
    """The same for the interval of a fixed sample size, looked at after every term past 10."""
    counts = np.arange(1, terms.shape[1] + 1)
    means = terms.cumsum(axis=1) / counts
    spread = np.sqrt(np.maximum((terms**2).cumsum(axis=1) / counts - means**2, 1e-12))
    half = ndtri((1 + level) / 2) * spread / np.sqrt(counts)
    return int((np.abs(means - mean) > half)[:, 10:].any(axis=1).sum())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("runs", "length", "level"),
    [(40, 250, 0.8), pytest.param(400, 600, 0.9, marks=pytest.mark.law)],
)
def test_the_interval_holds_at_every_time_and_a_peeked_one_does_not(law, runs, length, level):
    mean, draw = LAWS[law]
    terms = draw(np.random.default_rng(3), (runs, length))
    wrong = 1 - level
    allowed = runs * wrong + 3 * math.sqrt(runs * wrong * level)
    assert misses(terms, mean, level) <= allowed
    if law in ("fair", "narrow"):
        assert peeking_misses(terms, mean, level) > min(2 * allowed, runs / 2)


def test_capital_is_a_fair_game_at_the_mean_and_only_there():
    """E[K⁺] and E[K⁻] after two terms, over all outcomes of a law on three points, are 1."""
    law = ((0.0, 0.3), (0.25, 0.5), (1.0, 0.2))
    mean = sum(x * p for x, p in law)
    for m, fair in ((mean, True), (mean - 0.1, False), (mean + 0.1, False)):
        totals = np.zeros(2)
        for (x, p), (y, q) in itertools.product(law, repeat=2):
            stakes = np.array([0.9, 0.3 + x])  # the second may depend on the first term
            up, down = capital(np.array([x, y]), stakes, np.array([m]))
            totals += p * q * np.exp([up[-1, 0], down[-1, 0]])
        assert np.allclose(totals, 1.0) == fair


def test_capital_never_turns_on_the_grid():
    """What is ruled out lies at the ends, so that rounding outwards to the grid is safe."""
    rng = np.random.default_rng(0)
    up, down = capital(rng.random(50), rng.exponential(2, 50), np.linspace(0, 1, 301))
    assert (np.diff(up, axis=1) <= 1e-9).all()
    assert (np.diff(down, axis=1) >= -1e-9).all()


def test_one_at_a_time_or_many_in_any_units_are_the_same_and_it_never_widens():
    terms = np.random.default_rng(1).random(300) ** 3
    single, whole, wide = (ConfidenceSequence(bounds=(-1, b)) for b in (2, 2, 29))
    widths = []
    for term in terms:
        single.update(term)
        widths.append(single.half_width)
    whole.update(terms)
    wide.update(10 * terms + 9)
    assert (single.low, single.high) == pytest.approx((whole.low, whole.high))
    assert (wide.low, wide.high) == pytest.approx((10 * whole.low + 9, 10 * whole.high + 9))
    assert single.mean == pytest.approx(terms.mean())
    assert (np.diff(widths) <= 1e-12).all() and widths[-1] < 0.2


def test_stopping_finds_the_disagreement_of_the_law():
    """Rows flip with chances of their own, so that the truth is known."""
    rng = np.random.default_rng(5)
    chances = rng.random(200) * 0.2
    labels = rng.random((3000, 200)) < chances
    truth = float((2 * chances * (1 - chances)).mean())
    found = enough_draws("disagreement", labels)
    assert found.enough and found.low <= truth <= found.high <= found.low + 0.02
    assert found.value == pytest.approx(disagreement(labels), abs=0.003)
    again = enough_draws("disagreement", labels[: found.stopped_at])
    assert again.enough and again.stopped_at == found.stopped_at == again.n_draws
    assert not enough_draws("disagreement", labels[: found.stopped_at - 2]).enough


def test_the_variance_is_that_of_the_measure():
    scores = np.random.default_rng(6).random((2000, 30))
    variance = enough_draws("score_variance", scores)
    assert variance.value == pytest.approx(score_variance(scores).mean(), abs=0.003)
    assert variance.low <= 1 / 12 <= variance.high


def chains(seed, n_chains, length, stay):
    """Labels (length·n_chains, 1) of two-state chains that stay as they are with a probability."""
    rng = np.random.default_rng(seed)
    state, rows = rng.random(n_chains) < 0.5, []
    for _ in range(length):
        state = np.where(rng.random(n_chains) < stay, state, rng.random(n_chains) < 0.5)
        rows.append(state)
    return np.concatenate(rows).astype(float)[:, None]


def test_chains_get_an_interval_as_wide_as_their_dependence():
    missed = too_sure = 0
    for seed in range(40):
        labels = chains(seed, 8, 300, stay=0.9)
        found = enough_draws(
            "disagreement", labels, mechanism="hit_and_run", n_chains=8, confidence=0.9
        )
        missed += not found.low <= 0.5 <= found.high
        # The control: the same states, taken for independent draws.
        too_sure += abs(found.value - 0.5) > 1.645 * 0.5 / math.sqrt(len(labels) / 2)
    assert missed <= 11  # 4 are expected, and more than 11 with a chance of 10⁻³
    assert too_sure > 14


def test_chains_say_how_little_they_know():
    labels = chains(0, 32, 40, stay=0.8)
    found = enough_draws("disagreement", labels, mechanism="hit_and_run")
    assert found.effective is not None and found.effective < 0.5 * found.n_draws
    assert "asymptotic, for one look; effective size" in str(found)
    wide = enough_draws("disagreement", labels, mechanism="hit_and_run", half_width=0.3)
    assert wide.enough and wide.stopped_at == wide.n_draws
    same = enough_draws("disagreement", np.zeros((320, 2)), mechanism="hit_and_run")
    assert (same.low, same.high, same.enough) == (0.0, 1.0, False)
    assert enough_draws("disagreement", labels).effective is None
