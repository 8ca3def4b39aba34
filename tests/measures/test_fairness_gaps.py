"""Group gaps of labels and scores: fairlearn's own values, brute force, and bad input."""

import math
import sys
from dataclasses import replace

import fairlearn.metrics
import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.measures import (
    fairness_frame,
    fairness_gaps,
    frontier,
    group_rates,
    score_gaps,
)
from rashomon_explorer.measures.fairness import LABEL_RATES
from rashomon_explorer.measures.fairness.gaps import LABEL_GAPS
from tests.crossing import crossed

RNG = np.random.default_rng(0)
N = 90
Y = RNG.integers(0, 2, N)
LABELS = np.where(RNG.random((3, N)) < 0.7, Y, RNG.integers(0, 2, (3, N)))
SCORES = RNG.random((3, N))
GROUPS = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "home": RNG.choice([1, 2], N)})
THREE = RNG.choice(["a", "b", "c"], N)


def _disagreements_with_fairlearn(metric, agg, method):
    """Models on which fairlearn's function of the same name says something else."""
    ours = fairness_gaps(LABELS, Y, THREE, [metric], agg=agg, method=method)
    name = f"{metric}_{agg}"
    theirs = [
        getattr(fairlearn.metrics, name)(Y, labels, sensitive_features=THREE, method=method)
        for labels in LABELS
    ]
    return int((np.abs(ours[name].to_numpy() - theirs) > 1e-12).sum())


@crossed(
    {
        "agg": ["difference", "ratio"],
        "metric": LABEL_GAPS,
    }
)
def test_every_gap_is_fairlearn_s(metric, agg):
    assert _disagreements_with_fairlearn(metric, agg, "between_groups") == 0
    assert _disagreements_with_fairlearn(metric, agg, "to_overall") == 0


def test_counting_among_the_wrong_rows_is_seen(monkeypatch):
    wrong = replace(LABEL_RATES["true_positive_rate"], among="all")
    monkeypatch.setitem(LABEL_RATES, "true_positive_rate", wrong)
    assert _disagreements_with_fairlearn("equal_opportunity", "difference", "between_groups") == 3


def test_the_gap_is_fairlearn_s_for_crossed_groups_and_labels_in_words():
    words, truth = np.array(["no", "yes"])[LABELS], np.array(["no", "yes"])[Y]
    for rate in ("selection_rate", "true_positive_rate"):
        ours = group_rates(words, truth, GROUPS, rate, positive="yes")
        assert ours.columns.names == ["sex", "home"]
        for model in range(3):
            frame = fairness_frame(words[model], truth, GROUPS, positive="yes")
            pd.testing.assert_series_equal(
                ours.loc[model], frame.by_group[rate].astype(float), check_names=False
            )
            gap = fairness_gaps(words, truth, GROUPS, [rate], positive="yes").iloc[model, 0]
            assert gap == pytest.approx(frame.difference()[rate], abs=1e-12)


def test_one_of_several_classes_against_the_rest_is_the_binary_gap():
    y, labels = RNG.integers(0, 3, N), RNG.integers(0, 3, (2, N))
    several = fairness_gaps(labels, y, THREE, list(LABEL_GAPS), positive=2)
    binary = fairness_gaps(labels == 2, y == 2, THREE, list(LABEL_GAPS))
    own = ["accuracy_score_difference"]
    pd.testing.assert_frame_equal(several.drop(columns=own), binary.drop(columns=own))
    right = [(labels[1] == y)[THREE == group].mean() for group in "abc"]
    assert several.loc[1, own[0]] == pytest.approx(max(right) - min(right))
    frame = fairness_frame(labels[1], y, THREE, positive=2)
    assert frame.difference()["accuracy_score"] == pytest.approx(max(right) - min(right))


def test_neither_the_order_of_rows_nor_the_names_of_groups_matter():
    order = RNG.permutation(N)
    plain = fairness_gaps(LABELS, Y, THREE)
    renamed = pd.Series(THREE).map({"a": "z", "b": "y", "c": "x"}).to_numpy()
    mixed = fairness_gaps(LABELS[:, order], Y[order], renamed[order])
    pd.testing.assert_frame_equal(plain, mixed)


@pytest.mark.parametrize("kind", [bool, float, object])
def test_the_type_of_labels_does_not_matter(kind):
    plain = fairness_gaps(LABELS, Y, THREE)
    pd.testing.assert_frame_equal(fairness_gaps(LABELS.astype(kind), Y, THREE), plain)
    pd.testing.assert_frame_equal(fairness_gaps(LABELS, Y.astype(kind), THREE), plain)
    pd.testing.assert_frame_equal(fairness_gaps(2 * LABELS - 1, 2 * Y - 1, THREE), plain)


def test_the_ratio_of_two_zeros_is_unknown():
    found = fairness_gaps(
        [[0, 0, 0, 0], [1, 0, 1, 0]],
        [1, 0, 1, 0],
        list("aabb"),
        ["demographic_parity", "equal_opportunity", "equalized_odds"],
        agg="ratio",
    )
    assert found.loc[0].isna().all()
    # No negative is ever selected: their ratio is unknown, and so is the worse of the two.
    assert found.loc[1].tolist()[:2] == [1.0, 1.0]
    assert math.isnan(found.loc[1, "equalized_odds_ratio"])


def test_a_group_without_positives_is_an_error_and_not_a_gap_of_one():
    y, labels, groups = [1, 0, 1, 0, 0, 0], [[1, 0, 1, 0, 1, 0]], list("aaaabb")
    told = fairlearn.metrics.equal_opportunity_difference(y, labels[0], sensitive_features=groups)
    assert told == 1.0
    with pytest.raises(ValueError, match=r"the group 'b' \(2 rows\) has none"):
        fairness_gaps(labels, y, groups, ["equal_opportunity"])
    assert fairness_gaps(labels, y, groups, ["demographic_parity"]).iloc[0, 0] == 0.0


def _mean_gap(values):
    means = [values[THREE == group].mean() for group in "abc"]
    return max(means) - min(means)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("mean_prediction", lambda s: s),
        ("mean_absolute_error", lambda s: np.abs(Y - s)),
        ("calibration_in_the_large", lambda s: Y - s),
    ],
)
def test_gaps_of_means_of_scores(metric, value):
    found = score_gaps(SCORES, Y, THREE, [metric])[f"{metric}_difference"]
    assert found.tolist() == pytest.approx([_mean_gap(value(scores)) for scores in SCORES])


def _ece(scores, y, bins):
    total = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        chosen = (scores >= low) & ((scores < high) | (b == bins - 1))
        if chosen.any():
            total += chosen.mean() * abs(y[chosen].mean() - scores[chosen].mean())
    return total


def test_calibration_error_is_the_sum_over_bins():
    scores = np.concatenate([SCORES, np.round(SCORES, 1)])  # the second half lies on the edges
    found = score_gaps(scores, Y, THREE, ["expected_calibration_error"], n_bins=5)
    for model, values in enumerate(scores):
        errors = [_ece(values[THREE == g], Y[THREE == g], 5) for g in "abc"]
        assert found.iloc[model, 0] == pytest.approx(max(errors) - min(errors))
    ratio = score_gaps(SCORES, Y, THREE, ["expected_calibration_error"], agg="ratio", n_bins=5)
    errors = [_ece(SCORES[0][THREE == g], Y[THREE == g], 5) for g in "abc"]
    assert ratio.iloc[0, 0] == pytest.approx(min(errors) / max(errors))


def test_of_two_calibrated_groups_the_smaller_looks_worse_calibrated():
    """E|mean − ½| of n fair coins is about √(1/(2πn)): the reason for a warning in the docs."""
    rng, groups = np.random.default_rng(1), np.repeat(["few", "many"], [50, 5000])
    tries = [
        score_gaps([np.full(5050, 0.5)], rng.integers(0, 2, 5050), groups, n_bins=1).iloc[0, 1]
        for _ in range(300)
    ]
    expected = math.sqrt(1 / (2 * math.pi * 50)) - math.sqrt(1 / (2 * math.pi * 5000))
    assert np.mean(tries) == pytest.approx(expected, abs=4 * np.std(tries) / math.sqrt(300) + 0.003)
    assert expected > 0.05


def test_the_calibration_gap_is_signed_within():
    """Groups too low and too high by 0.1 are 0.2 apart, though both err by 0.1."""
    scores, y = [[0.4] * 10 + [0.6] * 10], [0, 1] * 10
    found = score_gaps(scores, y, ["a"] * 10 + ["b"] * 10)
    assert found.iloc[0].tolist() == pytest.approx([0.2, 0.0])


@pytest.mark.parametrize("side", ["accuracy", "losses"])
def test_nobody_beats_the_frontier(side):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        gaps, quality = rng.integers(0, 6, 12) / 10, rng.integers(0, 6, 12) / 10
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


GOOD = {"labels": [[1, 0, 1, 0]], "y": [1, 0, 1, 0], "groups": list("aabb")}
UNUSED = pd.Series(pd.Categorical(list("aabb"), categories=list("abc")), name="sex")
SCORED = ([[0.2, 0.4, 0.6, 0.8]], [0, 1, 0, 1], list("aabb"))
BAD = {
    "lengths": (lambda: fairness_gaps(**{**GOOD, "groups": list("aab")}), "for each of 4 rows"),
    "missing group": (
        lambda: fairness_gaps(**{**GOOD, "groups": ["a", None, "b", "b"]}),
        "no group for row 1",
    ),
    "one group": (lambda: fairness_gaps(**{**GOOD, "groups": ["a"] * 4}), "at least two groups"),
    "unused category": (lambda: fairness_gaps(**{**GOOD, "groups": UNUSED}), "'c' of 'sex'"),
    "no attribute": (
        lambda: fairness_gaps(**{**GOOD, "groups": pd.DataFrame(index=range(4))}),
        "groups has no column",
    ),
    "targets too few": (lambda: fairness_gaps(**{**GOOD, "y": [1, 0]}), "y must hold one label"),
    "missing target": (lambda: fairness_gaps(**{**GOOD, "y": [1, 0, math.nan, 0]}), "missing"),
    "kinds": (lambda: fairness_gaps(**{**GOOD, "y": list("yyyn")}), "labels like the models'"),
    "no positive": (
        lambda: fairness_gaps([list("ynyn")], list("yynn"), list("aabb")),
        r"positive must be the label of \['n', 'y'\]",
    ),
    "strange positive": (lambda: fairness_gaps(**GOOD, positive=7), "got 7"),
    "NaN label": (lambda: fairness_gaps(**{**GOOD, "labels": [[1, 0, math.nan, 0]]}), "NaN"),
    "no model": (lambda: fairness_gaps(**{**GOOD, "labels": np.zeros((0, 4))}), "at least one"),
    "unused code": (
        lambda: fairness_gaps([[1, 2, 1, 2]], [1, 2, 2, 1], list("aabb"), positive=0),
        r"one of the labels \[1, 2\], got 0",
    ),
    "list as positive": (lambda: fairness_gaps(**GOOD, positive=[1]), r"\[0, 1\], got \[1\]"),
    "metric": (lambda: fairness_gaps(**GOOD, metrics=["parity"]), "got 'parity'"),
    "not a list": (lambda: fairness_gaps(**GOOD, metrics="demographic_parity"), "a list of names"),
    "agg": (lambda: fairness_gaps(**GOOD, agg="product"), "'difference' or 'ratio', got 'prod"),
    "method": (lambda: fairness_gaps(**GOOD, method="to_best"), "'to_overall', got 'to_best'"),
    "NaN score": (lambda: score_gaps([[math.nan] * 4], *SCORED[1:]), "NaN or infinity"),
    "no chances": (lambda: score_gaps([[2.0, 0, 0, 0]], *SCORED[1:]), "probabilities in"),
    "one text": (lambda: score_gaps(*SCORED[:2], "aabb"), "groups must hold one group"),
    "target beyond": (lambda: score_gaps(SCORED[0], [3, 0, 1, 0], SCORED[2]), "y of 0 and 1"),
    "bins": (
        lambda: score_gaps(*SCORED, n_bins=0),
        "n_bins must be a whole number, at least 1, got 0",
    ),
    "signed ratio": (
        lambda: score_gaps(*SCORED, ["calibration_in_the_large"], agg="ratio"),
        "allows no ratio",
    ),
    "both sides": (lambda: frontier([0.1], accuracy=[1], losses=[1]), "exactly one of accuracy"),
    "no gap": (lambda: frontier([math.nan], accuracy=[0.9]), "at least one model"),
    "NaN accuracy": (lambda: frontier([0.1], accuracy=[math.nan]), "accuracy must be finite"),
    "unlike": (lambda: frontier([0.1, 0.2], losses=[0.9]), r"gaps has shape \(2,\)"),
    "frame of many": (lambda: fairness_frame([[1, 0]], [1, 0], list("ab")), "of one model"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        call()


def test_without_fairlearn_only_the_frame_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn.metrics", None)
    assert len(fairness_gaps(**GOOD)) == 1
    with pytest.raises(ImportError, match=r"pip install 'rashomon-explorer\[fairness\]'"):
        fairness_frame(GOOD["labels"][0], GOOD["y"], GOOD["groups"])
