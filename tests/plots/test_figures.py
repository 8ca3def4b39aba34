"""What figures show: marks stand where the measures say, and titles state the finding."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from scipy.stats import binomtest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import measures, plots
from rashomon_explorer.measures.ranges.exact import set_outline
from rashomon_explorer.plots import importance, text
from rashomon_explorer.plots.coefficients import noise_exceeds, released_number
from rashomon_explorer.plots.comparison import two_sets_table
from rashomon_explorer.plots.map import Outline, lay_out, plane
from rashomon_explorer.plots.people import multiplicity
from rashomon_explorer.plots.person import flip_kinds
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import release
from rashomon_explorer.release.statistic import Measured, Noise, RateStatistic
from rashomon_explorer.sets import from_estimators
from tests.measures.test_decomposition import decompose
from tests.plots.conftest import title_of, trace_of
from tests.release.cases import models_of


def _ends(bar):
    base = np.asarray(bar.base, dtype=float)
    return base, base + np.asarray(bar.x, dtype=float)


def test_losses_stand_where_they_are_and_psi_is_an_edge_of_a_bin(models):
    figure = plots.plot_losses(models, highlight=[2])
    draws = trace_of(figure, "draw")
    np.testing.assert_allclose(draws.x, models.excess, rtol=1e-6)
    np.testing.assert_array_equal(draws.customdata, np.arange(12))
    assert np.flatnonzero(draws.marker.line.width).tolist() == [2]
    bins = trace_of(figure, "draws").xbins
    assert models.psi / bins.size == pytest.approx(round(models.psi / bins.size))
    assert f"{100 * models.hit_rate:.0f}" in title_of(figure)
    assert trace_of(figure, "best model").x[0] == 0


def test_the_map_has_the_main_directions_or_those_named_and_diamonds_lie_outside(models):
    figure, directions = plots.plot_map(models), plane(models.coef)
    variances = np.linalg.eigvalsh(np.cov(models.coef.T))
    np.testing.assert_allclose(np.var(models.coef @ directions.T, axis=0, ddof=1), variances[:1:-1])
    np.testing.assert_allclose(trace_of(figure, "draw").x, models.coef @ directions[0])
    assert figure.layout.yaxis.title.text == "debt ↔ luck"
    assert directions[1].argmax() == 2 and directions[1].argmin() == 1
    strays = np.asarray(trace_of(figure, "draw").marker.symbol) == "diamond"
    np.testing.assert_array_equal(strays, models.excess > models.psi)
    assert f"◆ the {strays.sum()} outside ψ" in title_of(figure)
    inside = trace_of(plots.plot_map(models, inside_only=True), "draw")
    np.testing.assert_array_equal(inside.customdata, np.flatnonzero(~strays))
    figure = plots.plot_map(models, "luck", "intercept")
    np.testing.assert_allclose(trace_of(figure, "draw").x, models.coef[:, 2], rtol=1e-6)
    best = trace_of(figure, "best model")
    assert (best.x[0], best.y[0]) == pytest.approx((models.best[2], models.best[3]))
    with pytest.raises(ValueError, match="no feature is called 'height'; the set has age, debt"):
        plots.plot_map(models, "height")


def test_the_outline_of_squared_loss_is_its_ellipse(rows):
    problem, psi = Problem(rows.X, rows.target, loss="squared", ridge=0.1, radius=50.0), 0.02
    axes = np.random.default_rng(0).standard_normal((2, 4))
    best, curvature = axes @ problem.minimum.theta, problem.hessian(problem.minimum.theta)
    edge = set_outline(problem, psi, axes) - best
    metric = np.linalg.inv(axes @ np.linalg.inv(curvature) @ axes.T)
    # xᵀMx = 2ψ on the ellipse; the corners of 48 tangents lie 1/cos(3.75°) as far out.
    levels = np.einsum("ij,jk,ik->i", edge, metric, edge) / (2 * psi)
    np.testing.assert_allclose(levels, 1 / np.cos(np.pi / 48) ** 2, rtol=1e-3)
    assert np.abs(levels - 1.0).min() > 3e-3  # negative control: the tolerance tells them apart


def test_every_model_within_psi_lies_in_the_outline_and_a_release_has_none(models, rows):
    axes, problem = plane(models.coef), Problem(rows.X, np.where(rows.y == 1, 1.0, -1.0))
    edge = set_outline(problem, models.psi, axes)
    turn = np.roll(edge, -1, axis=0) - edge  # to the left
    outwards, steps = turn[:, ::-1] * [1, -1], (models.coef @ axes.T)[:, None] - edge
    within = (np.einsum("nkj,kj->nk", steps, outwards) <= 1e-9).all(axis=1)
    assert within[models.excess <= models.psi].all() and not within.all()
    outline = Outline(axes, edge, models.best, models.parameter_names, models.psi)
    figure = plots.plot_map(models, outline=outline)
    assert {note.text for note in figure.layout.annotations} == {"best model", "ψ = 0.05, exact"}
    np.testing.assert_allclose(trace_of(figure, "exact outline").x[:-1], edge[:, 0])
    assert trace_of(plots.plot_map(None, outline=outline), "best model").x
    released = plots.plot_map(models.release())
    assert [trace.name for trace in released.data] == ["draw"] and not released.layout.annotations
    with pytest.raises(TypeError, match="a release has none"):
        plots.plot_map(models.release(), outline=outline)
    with pytest.raises(TypeError, match="needs linear models"):
        plots.plot_map(None)


@pytest.mark.parametrize("size", [(510, 310), (270, 170)], ids=["600 × 480", "340 × 300"])
def test_no_label_of_a_map_covers_another(models, size):
    rng, names = np.random.default_rng(0), models.parameter_names
    for spread in (0.0, 0.05, 1.0) * 5:
        places, dots = rng.uniform(0, 1, (3, 1, 2)) * spread, rng.normal(0, 0.4, (60, 2))
        labels = list(zip(["start", "best model", "ψ = 0.02, exact"], places, strict=True))
        layout = lay_out(go.Figure(), np.eye(2, 4), names, labels, dots).layout
        ends = np.array([layout.xaxis.range, layout.yaxis.range])
        written = np.array([[note.ax, note.ay] for note in layout.annotations])
        at = (written - ends[:, 0]) / np.ptp(ends, axis=1) * size
        half = np.array([[3.2 * len(note.text), 8.0] for note in layout.annotations])
        for first, second in combinations(range(3), 2):
            apart = np.abs(at[first] - at[second]) >= half[first] + half[second]
            assert apart.any()
        assert (at - half >= 0).all() and (at + half <= size).all()


def test_spread_bars_reach_from_the_least_to_the_largest_and_rings_are_of_draws_inside(models):
    inside = np.flatnonzero(models.excess <= models.psi)
    figure = plots.plot_coefficient_spread(models, highlight=range(12))
    table = measures.coefficient_spread(models.inside()).loc[list(figure.layout.yaxis.ticktext)]
    low, high = _ends(trace_of(figure, "draws inside"))
    np.testing.assert_allclose(low, table["min"], rtol=1e-5)
    np.testing.assert_allclose(high, table["max"], rtol=1e-5)
    ringed = trace_of(figure, "selected draws").x
    np.testing.assert_allclose(sorted(ringed), np.sort(models.coef[inside].ravel()), rtol=1e-6)


def test_people_are_sorted_inside_their_range_and_measured(models, rows):
    figure = plots.plot_people(models, rows.X, rows.groups, group_name="luck")
    best = trace_of(figure, "best model")
    assert np.all(np.diff(best.y) >= 0)
    low, high = np.asarray(best.customdata).T
    exact = measures.viable_prediction_range(models.inside().scores(rows.X))
    assert low.min() >= exact[:, 0].min() and high.max() <= exact[:, 1].max()
    for name in ("luck a", "luck b"):
        assert np.sum(trace_of(figure, name).y) == pytest.approx(100, rel=1e-5)
    found, labels = multiplicity(models, rows.X), models.labels(rows.X)
    best = (models.best_scores(rows.X) > 0.5).astype(int)
    inside = models.excess <= models.psi
    assert found.n_models == inside.sum()
    assert found.ambiguity == measures.ambiguity(labels[inside], best)
    assert found.ambiguity == found.ambiguous.mean() < measures.ambiguity(labels, best)


def test_people_of_a_regression_have_no_labels_and_of_pipelines_text(regression, rows):
    assert "ambiguity" not in title_of(plots.plot_people(regression, rows.X))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, 90), "home": rng.choice(["own", "rent"], 90)})
    y = ((frame["age"] > 40) ^ (rng.random(90) < 0.2)).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    trees = [
        make_pipeline(encode, DecisionTreeClassifier(max_depth=depth, random_state=0)).fit(frame, y)
        for depth in (1, 2, 3)
    ]
    scores = np.stack([tree.predict_proba(frame)[:, 1] for tree in trees])
    width = multiplicity(from_estimators(trees, frame, y), frame).width
    np.testing.assert_allclose(width, np.ptp(scores, axis=0), atol=1e-12)


def test_models_of_several_classes(several, rows):
    models = several.models
    names = models.parameter_names
    for shown in (models, models.release()):
        dots = trace_of(plots.plot_map(shown, "top: age", "mid: intercept"), "draw")
        np.testing.assert_allclose(dots.x, models.coef[:, 4], rtol=1e-6)
        np.testing.assert_allclose(dots.y, models.coef[:, 3], rtol=1e-6)
        assert set(plots.plot_coefficient_spread(shown).layout.yaxis.ticktext) == set(names)
    found, best = multiplicity(models, rows.X), models.best_scores(rows.X)
    np.testing.assert_allclose(found.best, best.max(axis=1))
    assert np.all(found.low <= found.high)
    labels = models.inside().labels(rows.X)
    assert found.ambiguity == pytest.approx(measures.ambiguity(labels, best.argmax(axis=1)))
    assert found.disagreement == pytest.approx(measures.disagreement(labels))


def test_a_flip_in_a_draw_counts_before_a_proved_one():
    table = pd.DataFrame({"drawn_flips": [0.2, 0, 0, 0], "flips": ["yes", "yes", "no", "unknown"]})
    kinds = ["flips in a draw", "flips in other models", "never flips", "unknown"]
    assert list(flip_kinds(table)) == kinds


def test_two_sets_overlap_by_the_share_of_their_union(models):
    shifted = replace(models, coef=models.coef + 100.0)
    assert (two_sets_table(models, shifted)["overlap"] == 0).all()
    np.testing.assert_allclose(two_sets_table(models, models)["overlap"], 1.0)
    coef = models.inside().coef
    half = replace(models, coef=models.coef + np.ptp(coef, axis=0) / 2)
    np.testing.assert_allclose(two_sets_table(models, half)["overlap"], 1 / 3)


def test_the_cloud_is_the_measured_one(models, rows):
    outside, inside = models.excess.argmax(), models.excess.argmin()
    every = measures.importance_cloud(models, rows.X, rows.y)
    figure = plots.plot_importance_pair(models, every, "age", highlight=[outside, inside])
    cloud = measures.importance_cloud(models.inside(), rows.X, rows.y)
    np.testing.assert_allclose(figure.data[0].x, cloud["age"], rtol=1e-5)
    widest = (cloud.max() - cloud.min()).idxmax()
    assert figure.layout.xaxis.title.text == "importance of age" and widest == "age"
    ringed = figure.data[0].marker.size > 8
    assert figure.data[0].customdata[ringed].tolist() == [inside]
    with pytest.raises(ValueError, match="two features or more"):
        plots.plot_importance_pair(models, every[["age"]])


def test_bars_of_reliance_hold_what_is_attained_and_the_draws(rows, regression):
    problem = Problem(rows.X.to_numpy(), rows.target.to_numpy(), loss="squared", radius=2.0)
    table = measures.model_class_reliance(problem, psi=0.01, feature_names=list(rows.X))
    draws = measures.model_reliance(regression, rows.X, rows.target)
    figure = plots.plot_class_reliance(table, draws)
    assert figure.layout.meta["view"] == "curator" and "lower bound" in title_of(figure)
    for name, suffix in (("no model exceeds", ""), ("some model attains", "_attained")):
        for found, end in zip(_ends(trace_of(figure, name)), ("lower", "upper"), strict=True):
            np.testing.assert_allclose(found, table[end + suffix][::-1], rtol=1e-5, atol=1e-7)
    dots = trace_of(figure, "draws")
    assert np.abs(dots.y - np.round(dots.y)).max() < 0.2
    top = dots.x[np.round(dots.y) == 2]
    np.testing.assert_allclose(np.sort(top), np.sort(draws["age"]), rtol=1e-5)
    with pytest.raises(ValueError, match="draws has no column 'luck'"):
        plots.plot_class_reliance(table, draws[["age", "debt"]])


@pytest.fixture(scope="module")
def exact(rows, models):
    problem = Problem(rows.X, np.where(rows.y == 1, 1.0, -1.0))
    assert problem.minimum.value == pytest.approx(models.minimum.value)
    names = models.feature_names[:-1]
    return problem, measures.exact_coefficient_ranges(problem, models.psi, feature_names=names)


def test_bars_are_exact_ranges_widest_above_and_dots_lie_inside(models, exact):
    figure = plots.plot_ranges(models, exact[1])
    widest = (exact[1]["high_outer"] - exact[1]["low_outer"]).sort_values()
    assert list(figure.layout.yaxis.ticktext) == list(widest.index)
    dots, (low, high) = trace_of(figure, "draw"), _ends(trace_of(figure, "exact range"))
    where = np.array(dots.y, dtype=int)
    assert (dots.x >= low[where] - 1e-5).all() and (dots.x <= high[where] + 1e-5).all()
    inside = models.losses <= models.minimum.value + models.psi
    assert len(dots.x) == len(widest) * inside.sum()
    order = list(exact[1].index.get_indexer(widest.index))
    best = trace_of(figure, "best model").x
    np.testing.assert_allclose(best, models.best[order], rtol=1e-3, atol=1e-3)
    assert f"{int(inside.sum())} of 12 draws inside the set" in title_of(figure)
    table = measures.draws_in_range(models, exact[1])
    for one, other in zip(plots.plot_ranges(models, table).data, figure.data, strict=True):
        np.testing.assert_array_equal(one.x, other.x)


@pytest.fixture(scope="module")
def audit(models, rows):
    return measures.fairness_audit(models, rows.X, rows.y, rows.groups)


def test_the_frontier_shows_every_model_and_its_marks(audit):
    gap, ringed = "equalized_odds_difference", int(audit.table.index[1])
    figure = plots.plot_frontier(audit, gap, highlight=[ringed])
    dots, line = trace_of(figure, "draw"), trace_of(figure, "frontier")
    np.testing.assert_allclose(dots.x, audit.table[gap], rtol=1e-6)
    np.testing.assert_allclose(dots.y, audit.table["accuracy"], rtol=1e-6)
    assert dots.customdata.tolist() == audit.table.index.tolist()
    assert np.flatnonzero(np.asarray(dots.marker.line.width) > 1).tolist() == [1]
    front = audit.frontier(gap, with_best=True)
    np.testing.assert_allclose(line.x, front[gap].astype(float).iloc[::-1], rtol=1e-6)
    assert (np.diff(line.x) > 0).all()
    best, fairest = trace_of(figure, "best model"), trace_of(figure, "least unfair")
    assert (best.x[0], best.y[0]) == (audit.best[gap], audit.best["accuracy"])
    assert fairest.x[0] == audit.table[gap].min()
    assert "selected on these rows" in title_of(figure)


def test_the_best_model_competes_for_the_frontier(audit):
    for gap in audit.gaps:
        line = audit.frontier(gap, with_best=True)
        at, quality = audit.best[gap], audit.best["accuracy"]
        beaten = (line[gap] >= at) & (line["accuracy"] < quality) & (line.index != "best")
        assert not beaten.any()
        assert ("best" in line.index) == (
            not ((line[gap] <= at) & (line["accuracy"] > quality)).any()
        )


def test_who_bears_it_is_said_by_share_and_by_count():
    """B has the larger share, A the more people."""
    shares = {"rows": [50_000, 32_250, 17_750], "ambiguity": [0.3379, 0.3203, 0.37]}
    table = pd.DataFrame(shares, index=["all rows", "A", "B"])
    title = title_of(plots.plot_burden(table))
    assert title.startswith("B: ambiguity 37% (6,568 of 17,750), others 32% (10,327 of 32,250)")


@pytest.mark.parametrize(("count", "n"), [(0, 5), (3, 12), (90, 100)])
def test_groups_have_intervals_of_wilson(count, n):
    expected = binomtest(count, n).proportion_ci(method="wilson")
    assert text.wilson(count / n, n) == pytest.approx((expected.low, expected.high), abs=1e-4)
    table = pd.DataFrame({"rows": [n, n], "ambiguity": count / n}, index=["all rows", "a"])
    (bar,) = plots.plot_burden(table).data
    assert bar.x[0] + bar.error_x.array[0] == pytest.approx(expected.high, abs=1e-4)
    assert bar.x[0] - bar.error_x.arrayminus[0] == pytest.approx(expected.low, abs=1e-4)


LABELS = [[0, place % 5 == 0] for place in range(40)] + [[0, 1], [1, 0]] * 10
MASK = [True] * 40 + [False] * 20


def test_width_and_noise_stand_on_each_other_with_their_intervals():
    found = decompose(LABELS, inside=MASK, groups=["a", "b"])
    figure = plots.plot_decomposition(found)
    own, noise = trace_of(figure, "the set"), trace_of(figure, "the mechanism")
    assert list(figure.layout.yaxis.ticktext) == ["b (1)", "a (1)", "all rows"]
    np.testing.assert_allclose(_ends(noise)[0], own.x)
    assert (own.x[-1], noise.x[-1]) == pytest.approx((found.width.value, found.noise.value))
    assert own.x[1] + noise.x[1] == pytest.approx(found.table.loc["a", "total"])
    own, noise = (trace_of(figure, f"interval of the {name}") for name in ("width", "noise"))
    assert noise.x[-1] == pytest.approx(found.total.value)
    assert noise.error_x.array[-1] == pytest.approx(found.noise.high - found.noise.value)
    assert own.error_x.arrayminus[-1] == pytest.approx(found.width.value - found.width.low)
    assert figure.layout.meta["view"] == "none"  # labels alone have no known guarantee


def test_released_numbers_have_distinct_names_and_intervals_that_hold_them():
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    groups = np.where(rows[:, 1] > 0, "people of the one group", "people of the other group")
    released = release(
        models_of(n_draws=20),
        *(rows, (rows[:, 0] > 0).astype(int), groups),
        queries=["losses", "selection_gap", "mean_selection_gap"],
        categories=tuple(np.unique(groups)),
        rho=1.0,
        ledger=None,
    )
    figure = plots.plot_released(released)
    losses, shares = 12, 12 + 3
    assert [len(trace.x) for trace in figure.data] == [shares, losses]
    assert list(figure.layout.xaxis.range) == pytest.approx([-0.02, 1.02])
    assert "16 more in the table" in figure.layout.title.text
    words = {"name": [], "number": []}
    for line in figure.layout.annotations:
        words[line.name].append(line.text)
    assert len(set(words["name"])) == len(words["name"]) == len(words["number"]) == shares + losses
    for number in released:
        factor = 100 if number.name.startswith("selection") else 1
        stated = released_number(number).replace("−", "-")
        low, high = map(float, stated.split(" (")[1].rstrip(")").split(" to "))
        least, most = number.interval()
        assert low <= factor * least + 1e-9 and high >= factor * most - 1e-9


def test_a_number_within_its_noise_is_marked():
    noise = Noise(0.05)
    clear, hidden = (Measured(name, x, noise, 0, 1) for name, x in (("a", 0.376), ("b", 0.04)))
    assert released_number(clear) == "38% (27 to 48)" and not noise_exceeds(clear)
    assert noise_exceeds(hidden)
    group = RateStatistic("c", 1.0, 1.0, Noise(5.0), Noise(5.0), 9)
    assert noise_exceeds(group) and released_number(group) == "unknown (0 to 100)"
    assert released_number(Measured("d", 0.37649, Noise(2e-4), 0, 1)) == "37.65% (37.60 to 37.69)"


@pytest.fixture(scope="module")
def many_rows(models, rows):
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (20_000, 3)), columns=rows.X.columns)
    return X, (4 * X["age"] - 3 * X["debt"] + rng.normal(scale=0.5, size=20_000) > 0).astype(int)


def test_importance_reads_all_rows_where_a_second_is_enough(models, many_rows, monkeypatch):
    found = importance.importances(models, *many_rows)
    assert found.attrs == {"rows": "all 20,000 rows"}
    known = measures.importance_cloud(models, *many_rows)["age"]
    inside = models.excess <= models.psi
    np.testing.assert_allclose(found["age"].iloc[:-1], known[inside], rtol=0.05)
    monkeypatch.setattr(importance, "_CELLS", 1_000_000)  # a slower machine
    found = importance.importances(models, *many_rows)
    assert "of 20,000 rows read" in found.attrs["rows"] and "margin" in found.attrs


@pytest.mark.law
def test_the_interval_of_a_sample_covers_what_all_rows_say(models, many_rows):
    X, y = many_rows
    every = importance.importances(models, X, y)
    covered = []
    for start in range(30):  # samples of a tenth of the table
        order = np.random.default_rng(start).permutation(len(X))
        found = importance.importances(models, X.iloc[order], y.iloc[order], max_rows=2_000)
        covered.append(np.abs(found - every).to_numpy() <= found.attrs["margin"])
    shares = np.mean(covered, axis=(0, 1))
    assert (shares >= 0.8).all() and found.attrs["margin"].max() < 0.1
    figure = plots.plot_importance(models, X, y, max_rows=2_000)
    assert trace_of(figure, "95 % interval of the best model").error_x.array.min() > 0


@pytest.mark.parametrize(
    ("values", "title"),
    [
        ([[3, 1, 0], [2, 1, 0]], "Every model relies most on a"),
        ([[3, 3, 0], [2, 2, 0]], "Every model relies most on a and b alike"),
        ([[3, 1, 0], [3, 1, 0], [1, 3, 0]], "67% of models rely most on a, the rest on 1 other"),
        (
            [[3, 1, 0], [1, 3, 0], [3, 1, 0], [1, 3, 0], [0, 1, 2]],
            "a and b tie: each is first for 40% of models, the rest on 1 other",
        ),
    ],
)
def test_the_headline_of_importance_names_ties(values, title):
    table = pd.DataFrame(values, columns=["a", "b", "c"])
    assert importance._importances_finding(table) == title


def test_a_share_of_a_sample_of_people_has_its_interval():
    ranges = {"best": 0.5, "drawn_low": 0.4, "drawn_high": 0.6, "drawn_flips": [0.1] * 3 + [0.0]}
    table = pd.DataFrame({**ranges}, index=range(4))
    assert "of 75%" in title_of(plots.plot_people_ranges(table))
    low, high = binomtest(3, 4).proportion_ci(method="wilson")
    sample = title_of(plots.plot_people_ranges(table, of=100))
    assert f"of 75% ({int(100 * low)}% to {int(np.ceil(100 * high))}%)" in sample
