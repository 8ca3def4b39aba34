"""Fairness over a set: ranges, frontier, the least unfair model, and who bears the multiplicity."""

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import fairness, fairness_audit, multiplicity_by_person_group
from rashomon_explorer.measures.multiplicity import MEASURES
from rashomon_explorer.measures.ranges import exact_group_gap
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import from_draws, from_predictions
from tests.measures.test_fairness_gaps import score_gaps

RNG = np.random.default_rng(0)
N, PSI = 200, 0.03
X = RNG.uniform(-0.5, 0.5, (N, 2))
HOME = np.where(X[:, 1] + RNG.normal(scale=0.3, size=N) > 0, "north", "south")
Y = (3 * X[:, 0] + 2 * X[:, 1] + RNG.normal(scale=0.7, size=N) > 0).astype(int)
PROBLEM = Problem(X, 2 * Y - 1.0, domain=Ball(30.0))
PARITY = ["demographic_parity"]


@pytest.fixture(scope="module")
def models():
    """Draws around the best model, some of them outside the set."""
    spread = RNG.normal(scale=0.8, size=(60, 3))
    models = from_draws(PROBLEM, PROBLEM.minimum.theta + spread, PSI)
    assert 5 < 60 * models.hit_rate < 55
    return models


@pytest.fixture(scope="module")
def audit(models):
    return fairness_audit(models, X, Y, HOME)


def gaps_of(labels, scores, y=Y, **options):
    """Gaps of labels by name, then those of scores."""
    own = fairness.fairness_gaps(labels, y, HOME, **options)
    truth = y == options.get("positive", 1)
    return np.concatenate([own, calibration_gaps(scores, truth)], axis=1)


def calibration_gaps(scores, truth):
    names = ("calibration_in_the_large", "expected_calibration_error")
    return np.transpose([score_gaps(name, scores, truth, HOME) for name in names])


def test_only_models_inside_are_judged_and_by_the_gaps_of_their_labels(models, audit, monkeypatch):
    inside = np.flatnonzero(models.losses <= models.least + PSI)
    assert audit.table.index.tolist() == inside.tolist()
    labels, scores = models.labels(X)[inside], models.scores(X)[inside]
    np.testing.assert_allclose(audit.table[audit.gaps], gaps_of(labels, scores), atol=1e-12)
    np.testing.assert_allclose(audit.table["accuracy"], (labels == Y).mean(axis=1))
    np.testing.assert_allclose(audit.table["loss"], models.losses[inside])
    best = models.best_scores(X)[None]
    np.testing.assert_allclose([audit.best[audit.gaps]], gaps_of((best > 0.5).astype(int), best))
    assert (audit.best["loss"], audit.best["excess"]) == (models.least, 0.0)
    first = fairness_audit(models, X, Y, HOME, positive=0)
    expected = calibration_gaps(1 - scores, Y == 0)
    np.testing.assert_allclose(first.table[first.gaps[4:]], expected)
    monkeypatch.setattr("rashomon_explorer.measures.fairness.audit._CELLS", 3 * N // 2)
    again = fairness_audit(models, X, Y, HOME)  # few models at a time
    pd.testing.assert_frame_equal(again.table, audit.table)


def test_a_smaller_psi_is_a_smaller_audit(models, audit):
    smaller = fairness_audit(models, X, Y, HOME, psi=PSI / 2)
    kept = audit.table[audit.table["loss"] <= models.least + PSI / 2]
    pd.testing.assert_frame_equal(smaller.table, kept)
    for psi, words in ((0.1, r"psi must be from 0 to 0\.03"), (0.0, "none of the 60 models lies")):
        with pytest.raises(ValueError, match=words):
            fairness_audit(models, X, Y, HOME, psi=psi)


def test_ranges_hold_every_model_and_the_best(audit):
    ranges = audit.ranges()
    values = audit.table[audit.gaps]
    assert (ranges["low"] == np.minimum(values.min(), audit.best[audit.gaps])).all()
    assert (ranges["high"] == np.maximum(values.max(), audit.best[audit.gaps])).all()
    fairer = (values < audit.best[audit.gaps]).mean()
    pd.testing.assert_series_equal(ranges["share_fairer"], fairer, check_names=False)
    assert set(ranges["sampled"]) == {"inner bound"}
    assert ranges.attrs["view"] == "Curator: computed from private rows, not private"


def test_the_linear_gap_is_shown_inside_its_exact_range(models, audit):
    ranges = audit.ranges(PROBLEM)
    exact = exact_group_gap(PROBLEM, PSI, X, HOME).iloc[0]
    row = ranges.loc["mean_margin: north - south"]
    assert row["exact_low"] == pytest.approx(exact["low_outer"])
    assert row["exact_high"] == pytest.approx(exact["high_outer"])
    assert row["exact_low"] < row["low"] <= row["best"] <= row["high"] < row["exact_high"]
    margins = models.margins(X)[audit.table.index]
    gap = margins[:, HOME == "north"].mean(axis=1) - margins[:, HOME == "south"].mean(axis=1)
    assert row["median"] == pytest.approx(np.median(gap))
    assert ranges["exact_low"].isna().sum() == len(audit.gaps)
    with pytest.raises(ValueError, match="outside the exact range"):
        audit.ranges(Problem(X, 1 - 2.0 * Y, domain=Ball(30.0)))
    with pytest.raises(TypeError, match="with the parameters of the problem"):
        audit.ranges(Problem(X[:, :1], 2 * Y - 1.0))


def test_the_least_unfair_model_has_the_least_gap_and_then_the_least_loss(models):
    # Many models, few rows: many are level.
    some = fairness_audit(models, X[:24], Y[:24], HOME[:24], metrics=PARITY)
    gap, table = some.gaps[0], some.table
    level = table[table[gap] == table[gap].min()]
    assert len(level) > 1 and some.least_unfair(gap).name == level["loss"].idxmin()
    beyond = 0.99 * (some.least_unfair(gap)["loss"] - models.least)  # leaves the fairest out
    near = table[table["loss"] <= models.least + beyond]
    assert some.least_unfair(gap, psi=beyond)[gap] == near[gap].min() > table[gap].min()
    most = table["accuracy"].max()
    right = table[table["accuracy"] >= most]
    assert some.least_unfair(gap, min_accuracy=most)[gap] == right[gap].min()
    with pytest.raises(ValueError, match=r"none of the .* models inside remains"):
        some.least_unfair(gap, min_accuracy=1.01)
    with pytest.raises(ValueError, match="gap must be one of"):
        some.least_unfair("demographic_parity")


def test_gaps_that_differ_by_rounding_are_level():
    """0.3 − 0.1 is less than 0.2 − 0 in floating point, and the same gap."""
    labels = np.zeros((2, 20))
    labels[0, :2] = labels[1, :3] = labels[1, 10] = 1
    models = from_predictions(labels, losses=[0.1, 0.2], psi=1.0)
    groups = [*"a" * 10, *"b" * 10]
    audit = fairness_audit(models, None, [0, 1] * 10, groups, metrics=PARITY)
    gap = audit.gaps[0]
    assert audit.table.loc[1, gap] < audit.table.loc[0, gap]
    assert audit.least_unfair(gap).name == 0
    assert audit.frontier(gap, by="loss").index.tolist() == [0]
    assert audit.ranges().loc[gap, "share_fairer"] == 0


def test_the_frontier_of_an_audit_is_made_of_its_rows(audit):
    gap = audit.gaps[0]
    by_accuracy, by_loss = audit.frontier(gap), audit.frontier(gap, by="loss")
    assert by_loss.index[0] == audit.table["loss"].idxmin()
    for found in (by_accuracy, by_loss):
        pd.testing.assert_frame_equal(found, audit.table.loc[found.index])
        assert found[gap].iloc[-1] == audit.table[gap].min()
    assert by_accuracy["accuracy"].is_monotonic_decreasing
    with pytest.raises(ValueError, match="by must be 'accuracy' or 'loss', got 'gap'"):
        audit.frontier(gap, by="gap")


def test_of_a_ratio_the_fairest_is_the_one_nearest_to_one(models):
    audit = fairness_audit(models, X, Y, HOME, agg="ratio")
    assert "calibration_in_the_large_ratio" not in audit.table
    gap = "demographic_parity_ratio"
    assert audit.least_unfair(gap)[gap] == audit.table[gap].max()
    assert audit.frontier(gap)[gap].iloc[-1] == audit.table[gap].max()
    fairer = (audit.table[gap] > audit.best[gap]).mean()
    assert audit.ranges().loc[gap, "share_fairer"] == fairer


def test_rates_are_those_of_the_models(models, audit):
    rates, labels = audit.rates("true_positive_rate"), models.labels(X)[audit.table.index]
    for group in ("north", "south"):
        expected = labels[:, (HOME == group) & (Y == 1)].mean(axis=1)
        np.testing.assert_allclose(rates[group], expected)


def test_what_some_group_has_no_rows_for_is_left_out_unless_it_was_asked_for(models):
    groups = np.where((Y == 0) & (X[:, 0] < -0.3), "rejected", HOME)
    audit = fairness_audit(models, X, Y, groups)
    assert list(audit.left_out) == ["equal_opportunity", "equalized_odds"]
    assert "; the group 'rejected'" in audit.ranges().attrs["left_out"]["equalized_odds"]
    assert len(audit.gaps) == 4
    with pytest.raises(ValueError, match="true_positive_rate counts rows positive in y; the group"):
        fairness_audit(models, X, Y, groups, metrics=["equal_opportunity"])


def test_several_classes_ask_which_one():
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + X[:, 1], [-0.3, 0.3])]
    settings = {"psi": 0.05, "epsilon": 80.0, "n_draws": 4, "radius": 4.0, "mechanism": "exact"}
    fitted = RashomonClassifier(**settings, random_state=0).fit(X, y)
    models = fitted.rashomon_set_
    with pytest.raises(ValueError, match=r"the one of the classes \['low', 'mid', 'top'\]"):
        fairness_audit(models, X, y, HOME)
    audit = fairness_audit(models, X, y, HOME, positive="top")
    labels = np.array(models.classes)[models.labels(X)][audit.table.index]
    chances = models.scores(X)[audit.table.index][:, :, 2]
    expected = gaps_of(labels, chances, y, positive="top")
    np.testing.assert_allclose(audit.table[audit.gaps], expected)


def test_regressors_have_gaps_of_predictions_and_errors():
    target = (X[:, 0] + 0.5 * X[:, 1]).clip(-1, 1)
    fitted = RashomonRegressor(
        target_bounds=(-1, 1), psi=0.05, epsilon=50.0, n_draws=8, random_state=0
    ).fit(X, target)
    models = fitted.rashomon_set_
    audit = fairness_audit(models, X, target, HOME)
    scores = models.scores(X)[audit.table.index]
    names = ["mean_prediction", "mean_absolute_error", "calibration_in_the_large"]
    expected = np.transpose([score_gaps(name, scores, target, HOME) for name in names])
    np.testing.assert_allclose(audit.table[audit.gaps], expected)
    assert audit.frontier(audit.gaps[0])["mean_absolute_error"].is_monotonic_increasing
    with pytest.raises(ValueError, match="got 'demographic_parity'"):
        fairness_audit(models, X, target, HOME, metrics=PARITY)
    with pytest.raises(ValueError, match="regressors"):
        audit.rates("selection_rate")


def test_the_burden_is_the_measure_group_by_group(models):
    table = pd.DataFrame({"home": HOME, "age": RNG.choice(["old", "young"], N)})
    found = multiplicity_by_person_group(models, X, table)
    labels = models.labels(X)[models.losses <= models.least + PSI]
    best = (models.best_scores(X) > 0.5).astype(int)
    crossed = table["home"] + ", " + table["age"]
    for name, options in (("ambiguity", {"baseline": best}), ("disagreement", {})):
        for group, line in found.iloc[1:].iterrows():
            rows = (crossed == group).to_numpy()
            own = {key: values[rows] for key, values in options.items()}
            assert line[name] == pytest.approx(MEASURES[name](labels[:, rows], **own))
            assert line["rows"] == rows.sum()
        np.testing.assert_allclose(found[f"{name}_ratio"], found[name] / found[name].iloc[0])
    models = from_predictions([[0.9, 0.1]] * 3, [1, 0])  # nobody bears what there is not
    assert multiplicity_by_person_group(models, None, ["a", "b"])["ambiguity_ratio"].isna().all()


def test_a_release_does_not_say_who_is_inside():
    fitted = RashomonClassifier(psi=0.1, epsilon=9.0, n_draws=3, random_state=0).fit(X, Y)
    released = fitted.rashomon_set_.release()
    with pytest.raises(CuratorOnlyError, match="a release does not state which draws lie"):
        fairness_audit(released, X, Y, HOME)
    with pytest.raises(CuratorOnlyError, match="inside_only=False"):
        multiplicity_by_person_group(released, X, HOME)


def test_the_four_tables_of_an_auditor_hold_the_gaps_of_every_model(models):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    audit = fairness_audit(models[:12], X, Y, HOME, metrics=[*PARITY, "calibration_in_the_large"])
    labels, best = models.labels(X)[audit.table.index], models.best_scores(X) > 0.5
    options = {"y_true": Y, "sensitive_features": HOME, "metrics": fairlearn.selection_rate}
    frames = [fairlearn.MetricFrame(y_pred=one, **options) for one in [*labels, best.astype(int)]]
    cases = [
        (audit.overall.loc["selection_rate"], [frame.overall for frame in frames]),
        (audit.by_group.loc["selection_rate", "north"], [f.by_group["north"] for f in frames]),
    ]
    for method in ("between_groups", "to_overall"):
        for agg in ("difference", "ratio"):
            table = getattr(audit, agg)(method=method).loc["demographic_parity"]
            cases.append((table, [getattr(frame, agg)(method=method) for frame in frames]))
    for table, values in cases:
        expected = [values[-1], min(values), max(values)]
        np.testing.assert_allclose(table[["best", "lower", "upper"]].astype(float), expected)
        assert table["sampled"] == "inner bound"
    assert "calibration_in_the_large" not in audit.ratio().index
    with pytest.raises(ValueError, match="method must be"):
        audit.difference(method="pairs")
