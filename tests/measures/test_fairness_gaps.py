"""Group gaps of labels and scores: fairlearn's own values and brute force."""

import math
from dataclasses import replace

import fairlearn.metrics
import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.measures import fairness_audit, fairness_gaps, frontier
from rashomon_explorer.measures.fairness import LABEL_RATES
from rashomon_explorer.measures.fairness.gaps import LABEL_GAPS, RATES
from rashomon_explorer.sets import from_predictions
from tests.crossing import crossed

RNG = np.random.default_rng(0)
N = 90
Y = RNG.integers(0, 2, N)
LABELS = np.where(RNG.random((3, N)) < 0.7, Y, RNG.integers(0, 2, (3, N)))
SCORES = RNG.random((3, N))
GROUPS = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "home": RNG.choice([1, 2], N)})
THREE = RNG.choice(["a", "b", "c"], N)


def disagreements_with_fairlearn(metric, agg, method):
    """Models on which fairlearn's function of the same name says something else."""
    name = f"{metric}_{agg}"
    ours = fairness_gaps(LABELS, Y, THREE, [metric], agg=agg, method=method)[name]
    function = getattr(fairlearn.metrics, name)
    theirs = [function(Y, labels, sensitive_features=THREE, method=method) for labels in LABELS]
    return int((np.abs(ours - theirs) > 1e-12).sum())


@crossed({"agg": ["difference", "ratio"], "metric": LABEL_GAPS})
def test_every_gap_is_fairlearn_s(metric, agg):
    assert disagreements_with_fairlearn(metric, agg, "between_groups") == 0
    assert disagreements_with_fairlearn(metric, agg, "to_overall") == 0


def test_counting_among_the_wrong_rows_is_seen(monkeypatch):
    wrong = replace(LABEL_RATES["true_positive_rate"], among="all")
    monkeypatch.setitem(RATES, "true_positive_rate", wrong)
    assert disagreements_with_fairlearn("equal_opportunity", "difference", "between_groups") == 3


def test_crossed_groups_and_labels_in_words_are_those_of_fairlearns_frame():
    words, truth = np.array(["no", "yes"])[LABELS], np.array(["no", "yes"])[Y]
    for rate in ("selection_rate", "true_positive_rate"):
        frame = fairlearn.metrics.MetricFrame(
            metrics=getattr(fairlearn.metrics, rate),
            y_true=Y,
            y_pred=LABELS[1],
            sensitive_features=GROUPS,
        )
        gap = fairness_gaps(words, truth, GROUPS, [rate], positive="yes").iloc[1, 0]
        assert gap == pytest.approx(frame.difference(), abs=1e-12)


def test_one_of_several_classes_against_the_rest_is_the_binary_gap():
    y, labels = RNG.integers(0, 3, N), RNG.integers(0, 3, (2, N))
    several = fairness_gaps(labels, y, THREE, list(LABEL_GAPS), positive=2)
    binary = fairness_gaps(labels == 2, y == 2, THREE, list(LABEL_GAPS))
    own = ["accuracy_score_difference"]
    pd.testing.assert_frame_equal(several.drop(columns=own), binary.drop(columns=own))
    right = [(labels[1] == y)[THREE == group].mean() for group in "abc"]
    assert several.loc[1, own[0]] == pytest.approx(max(right) - min(right))


def test_neither_orders_nor_types_nor_names_of_groups_matter():
    order, plain = RNG.permutation(N), fairness_gaps(LABELS, Y, THREE)
    renamed = pd.Series(THREE).map({"a": "z", "b": "y", "c": "x"}).to_numpy()
    mixed = fairness_gaps(LABELS[:, order], Y[order], renamed[order])
    pd.testing.assert_frame_equal(plain, mixed)
    for kind in (bool, float, object):
        pd.testing.assert_frame_equal(fairness_gaps(LABELS.astype(kind), Y, THREE), plain)
        pd.testing.assert_frame_equal(fairness_gaps(LABELS, Y.astype(kind), THREE), plain)
    pd.testing.assert_frame_equal(fairness_gaps(2 * LABELS - 1, 2 * Y - 1, THREE), plain)


def test_the_ratio_of_two_zeros_is_unknown():
    metrics = ["demographic_parity", "equal_opportunity", "equalized_odds"]
    labels, y = [[0, 0, 0, 0], [1, 0, 1, 0]], [1, 0, 1, 0]
    found = fairness_gaps(labels, y, list("aabb"), metrics, agg="ratio")
    assert found.loc[0].isna().all()
    # No negative is ever selected: their ratio is unknown, and so is the worse of the two.
    assert found.loc[1].tolist()[:2] == [1.0, 1.0] and math.isnan(found.loc[1].iloc[2])


def test_a_group_without_positives_is_an_error_and_not_a_gap_of_one():
    y, labels, groups = [1, 0, 1, 0, 0, 0], [[1, 0, 1, 0, 1, 0]], list("aaaabb")
    theirs = fairlearn.metrics.equal_opportunity_difference
    assert theirs(y, labels[0], sensitive_features=groups) == 1.0
    with pytest.raises(ValueError, match=r"the group 'b' \(2 rows\) has none"):
        fairness_gaps(labels, y, groups, ["equal_opportunity"])
    assert fairness_gaps(labels, y, groups, ["demographic_parity"]).iloc[0, 0] == 0.0


def calibration_error(scores, y, bins=10):
    place, total = np.minimum((scores * bins).astype(int), bins - 1), 0.0
    for b in range(bins):
        if (place == b).any():
            total += (place == b).mean() * abs((y - scores)[place == b].mean())
    return total


VALUES = {
    "mean_prediction": lambda s, y: s.mean(),
    "mean_absolute_error": lambda s, y: np.abs(y - s).mean(),
    "calibration_in_the_large": lambda s, y: (y - s).mean(),
    "expected_calibration_error": calibration_error,
}


def score_gaps(metric, scores, y, groups):
    """Largest difference of a value of scores between groups, for each model."""
    each = [[VALUES[metric](s[groups == g], y[groups == g]) for g in set(groups)] for s in scores]
    return np.ptp(each, axis=1)


@pytest.mark.parametrize("metric", VALUES)
def test_gaps_of_scores_group_by_group(metric):
    scores = np.concatenate([SCORES, np.round(SCORES, 1)])  # the second half lies on bins' edges
    models, options = from_predictions(scores, Y, psi=np.inf), {"metrics": [metric]}
    found = fairness_audit(models, None, Y, THREE, **options).table[f"{metric}_difference"]
    assert found.tolist() == pytest.approx(score_gaps(metric, scores, Y, THREE))
    if "calibration_in" in metric or metric == "mean_prediction":  # these may be negative
        with pytest.raises(ValueError, match="allows no ratio"):
            fairness_audit(models, None, Y, THREE, agg="ratio", **options)
        return
    ratio = fairness_audit(models, None, Y, THREE, agg="ratio", **options)
    values = [[VALUES[metric](s[THREE == g], Y[THREE == g]) for g in "abc"] for s in scores]
    expected = np.min(values, axis=1) / np.max(values, axis=1)
    assert ratio.table[f"{metric}_ratio"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("side", ["accuracy", "losses"])
def test_nobody_beats_the_frontier(side):
    for seed in range(50):
        gaps, quality = np.random.default_rng(seed).integers(0, 6, (2, 12)) / 10
        better = -quality if side == "losses" else quality
        beaten = [
            any(
                better[j] >= better[i]
                and gaps[j] <= gaps[i]
                and (better[j] > better[i] or gaps[j] < gaps[i] or j < i)
                for j in range(12)
                if j != i
            )
            for i in range(12)
        ]
        found = frontier(gaps, **{side: quality})
        assert sorted(found.index) == np.flatnonzero(~np.array(beaten)).tolist()
        assert (np.diff(found["gap"]) < 0).all()
