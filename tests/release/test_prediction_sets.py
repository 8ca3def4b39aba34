"""Thresholds of scores: neighbours, promises by exact sums, coverage of new people."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binom, chisquare

from rashomon_explorer import Ledger
from rashomon_explorer.exceptions import BudgetExceededError
from rashomon_explorer.measures import decide_or_abstain
from rashomon_explorer.release import ReleasedThreshold, ScoreThreshold, plan_release, release
from rashomon_explorer.release.prediction_sets import distances
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.sets import from_predictions
from tests.release.cases import B, models_of

SEEDED = {"ledger": None, "random_state": 0}


def _law(counts, rank, scale):
    """Probabilities of the levels, for the numbers of rows at each level."""
    return softmax(-distances(np.cumsum(counts), rank) / scale)


def _tables(n_rows, n_levels):
    """Numbers of rows at each level, for every table."""
    every = itertools.product(range(n_rows + 1), repeat=n_levels)
    return [counts for counts in every if sum(counts) == n_rows]


def test_no_neighbour_moves_the_law_by_more_than_it_costs_and_some_do():
    """Every replaced score of every table: log-ratios have a range of 2/scale, attained."""
    scale, ranges, largest = 1.5, [], []
    for counts, rank in itertools.product(_tables(4, 5), range(1, 5)):
        level = np.repeat(np.arange(5), counts)[rank - 1]  # that of the row of this rank
        assert np.flatnonzero(distances(np.cumsum(counts), rank) == 0).tolist() == [level]
        for old, new in itertools.permutations(range(5), 2):
            if counts[old]:
                other = np.array(counts)
                other[[old, new]] += [-1, 1]
                ratio = np.log(_law(counts, rank, scale) / _law(other, rank, scale))
                ranges.append(np.ptp(ratio))
                largest.append(np.abs(ratio).max())
    cost = ScoreThreshold().sensitivity(None).l1 / scale
    assert max(largest) < max(ranges) <= cost * (1 + 1e-9) and max(ranges) > 0.99 * cost
    of_a_sum = ScoreThreshold().sensitivity(None).l2 / scale
    assert max(ranges) > 1.9 * of_a_sum


def _promise(query, share, n_rows, rank, scale):
    """Exact mean coverage, and probability of less than 1 − alpha.

    A share of the scores is 0 and the others are 1: all levels but the last cover just this share.
    """
    low = np.arange(n_rows + 1)
    up_to = np.repeat(low[:, None], query.levels + 1, axis=1).astype(float)
    up_to[:, -1] = n_rows
    far = np.array([distances(one, rank) for one in up_to])
    last = binom.pmf(low, n_rows, share) @ softmax(-far / scale, axis=1)[:, -1]
    return share + (1 - share) * last, (1 - last) * (share < 1 - query.alpha)


@pytest.mark.parametrize(("failure", "scale"), [(None, 4.0), (0.05, 2.0)])
def test_the_promise_holds_for_every_share_and_fails_without_the_correction(failure, scale):
    query, n = ScoreThreshold(alpha=0.1, failure=failure, levels=50), 300
    rank, shares = query.rank(n, scale), (0.5, 0.8, 0.85, 0.88, 0.8999, 0.92, 0.99)

    def worst(m):
        means, fails = zip(*(_promise(query, share, n, m, scale) for share in shares), strict=True)
        return min(means), max(fails)

    kept, short, plain = worst(rank), worst(rank - 6), worst(math.ceil(0.9 * (n + 1)))
    if failure is None:
        assert plain[0] < 0.9 <= kept[0] < 0.95
    else:
        assert kept[1] <= failure < short[1] < plain[1]


def test_without_noise_the_rank_is_that_of_split_conformal_prediction():
    for n, alpha in ((19, 0.1), (200, 0.05), (57, 0.3)):
        assert ScoreThreshold(alpha=alpha).rank(n, 1e-9) == math.ceil((n + 1) * (1 - alpha))
    few = ScoreThreshold(alpha=0.05)
    with pytest.raises(ValueError, match=r"no coverage of 0\.95 with 19 rows.*use more rows"):
        few.rank(19, 1.0)


BEST = np.array([3.0, -2.0, 0.2, -1.0, 3.0, -0.1])
MODELS = models_of("softmax", coef=BEST + 0.3 * np.random.default_rng(5).normal(size=(4, 6)))


def _people(rng, n_rows):
    """People with labels of three classes, by a model that is none of the draws."""
    X = rng.uniform(-1, 1, (n_rows, 2))
    margins = 0.6 * X @ BEST.reshape(2, 3)[:, :2].T
    chances = softmax(np.column_stack([np.zeros(n_rows), margins]), axis=1)
    return X, (chances.cumsum(axis=1) < rng.random(n_rows)[:, None]).sum(axis=1)


def test_the_release_selects_by_this_law_and_is_charged_for_it(tmp_path):
    X, y = _people(np.random.default_rng(0), 60)
    query = ScoreThreshold(alpha=0.3, levels=4)
    settings = {"queries": [query], "ledger": None, "epsilon": 1.0}
    runs = (release(MODELS, X, y, **settings, random_state=k) for k in range(150))
    found = [one["score threshold"] for one in runs]
    own = (1 - MODELS.scores(X).mean(axis=0))[np.arange(60), y]
    counts = np.bincount(np.ceil(4 * own).astype(int), minlength=5)
    law = _law(counts, query.rank(60, 2.0), 2.0)
    seen = np.bincount([one.level for one in found], minlength=5)
    some = law > 0.02
    assert chisquare(seen[some], 150 * law[some] / law[some].sum(), sum_check=False).pvalue > 1e-3
    ledger = Ledger.create(tmp_path / "people.ledger", epsilon=2.0, delta=1e-6)
    one = release(MODELS, X, y, queries=[query], epsilon=1.0, ledger=ledger, random_state=0)
    assert one.guarantee.notion == "bounded_range" and one.guarantee.rho == pytest.approx(1 / 8)
    assert one.guarantee.pure_epsilon == 1.0 and ledger.spent() < 1.01
    assert from_released_values(released_values(one)) == one
    both = release(MODELS, X, y, queries=["base_rates", query], rho=0.02, **SEEDED).guarantee
    assert (both.notion, both.rho, both.mu) == ("zcdp", pytest.approx(0.02), math.inf)
    assert "Gaussian mechanism" in both.theorem and "exponential mechanism" in both.theorem
    mixed = release(MODELS, X, y, queries=["base_rates", query], epsilon=2.0, **SEEDED)
    assert mixed.guarantee.notion == "pure" and mixed.guarantee.pure_epsilon == 2.0
    with pytest.raises(BudgetExceededError):
        release(MODELS, X, y, queries=[query], epsilon=5.0, ledger=ledger)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"standard_error": 1.0}, "no single standard_error"),
        ({"epsilon": 0.001}, "promises no coverage"),
    ],
)
def test_a_plan_refuses_what_it_cannot_promise(settings, words):
    with pytest.raises(ValueError, match=words):
        plan_release(MODELS, 500, queries=["score_threshold"], **settings)
    with pytest.raises(ValueError, match="needs models for classification"):
        plan_release(models_of("identity"), 500, queries=["score_threshold"], epsilon=1.0)


def test_wrong_settings_are_refused():
    for settings in ({"alpha": 0.0}, {"failure": 1.0}, {"over": "each"}, {"levels": 0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            ScoreThreshold(**settings)


def test_sets_hold_labels_up_to_the_threshold_and_each_draw_alone_covers_too():
    scores = np.array([[[0.7, 0.2, 0.1]], [[0.5, 0.1, 0.4]]])
    models = from_predictions(scores, [0])
    # At 39 no label is inside; at 40 one is, by 1 − 0.6 rounded.
    for level, inside, label in ((39, [], -1), (40, [0], 0), (60, [0], 0), (80, [0, 2], -1)):
        mean = ReleasedThreshold("t", level, 100, "mean", "")
        assert np.flatnonzero(mean.sets(models)).tolist() == inside
        assert mean.labels(models).tolist() == [label]
    largest = ReleasedThreshold("t", 80, 100, "largest", "")
    assert largest.sets(models).tolist() == [[True, False, False]]
    alone = np.array([largest.sets(from_predictions(one[None], [0]))[0] for one in scores])
    assert (alone >= largest.sets(models)).all() and alone.sum() == 4


@pytest.mark.law
@pytest.mark.parametrize("over", ["mean", "largest"])
def test_new_people_are_covered_as_promised(over):
    """Coverage of three classes over tables; `decide_or_abstain` promises nothing, and fails."""
    rng, wrong, rule, covered = np.random.default_rng(1), [], [], []
    for _ in range(200):
        X, y = _people(rng, 600)
        new, labels = _people(rng, 2_000)
        settings = {"epsilon": 1.0, "ledger": None}
        query = ScoreThreshold(alpha=0.1, over=over)
        (found,) = release(MODELS, X, y, queries=[query], **settings)
        alone = [replace(MODELS, coef=MODELS.coef[1:2])] if over == "largest" else []
        for models in (MODELS, *alone):
            inside = found.sets(models, new)
            covered.append(inside[np.arange(2_000), labels].mean())
        given = found.labels(MODELS, new)
        wrong.append(((given >= 0) & (given != labels)).mean())
        given = decide_or_abstain(MODELS.scores(new))
        rule.append(((given >= 0) & (given != labels)).mean())
    assert 0.9 <= np.mean(covered) and np.mean(wrong) <= 0.1 < np.mean(rule)
    if over == "mean":
        assert np.mean(covered) <= 0.93


@pytest.mark.law
def test_training_rows_break_the_promise():
    """A model of 30 features fits 40 rows: its scores of these rows are not those of others."""
    rng, covered = np.random.default_rng(2), {True: [], False: []}
    for _ in range(60):
        X = rng.normal(size=(840, 30)) * B / 9
        y = rng.integers(0, 2, 840)
        fit = np.linalg.lstsq(X[:40], 2.0 * y[:40] - 1, rcond=None)[0]
        models = models_of(coef=[[*(8 * fit), 0.0]], n_features=30)
        for training, rows in ((True, slice(0, 40)), (False, slice(40, 80))):
            settings = {"queries": [ScoreThreshold(alpha=0.2)], "epsilon": 20.0, "ledger": None}
            (found,) = release(models, X[rows], y[rows], **settings)
            inside = found.sets(models, X[80:])
            covered[training].append(inside[np.arange(760), y[80:]].mean())
    assert np.mean(covered[False]) >= 0.8 > np.mean(covered[True])
