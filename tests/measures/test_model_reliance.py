"""Importance of linear models: loops over pairs and shuffles, axioms of Shapley, closed forms."""

from dataclasses import replace
from functools import partial
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from sklearn import inspection
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer import measures as m
from rashomon_explorer.data import Categorical, Numeric, TableEncoder, TableSchema
from rashomon_explorer.measures.importance.profiles import curve_band, partial_dependence
from rashomon_explorer.measures.reliance import pair_losses
from rashomon_explorer.measures.reliance.pair_losses import SoftplusKernel, softplus
from rashomon_explorer.sets import from_estimators

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.4, 0.4, (60, 3))  # switched rows are no longer than the row norm either
LABELS = (X[:, 0] + 0.2 * RNG.standard_normal(60) > 0).astype(int)
CLASSES = np.digitize(X[:, 0] + 0.2 * RNG.standard_normal(60), [-0.15, 0.15])
TARGETS = 2 + 4 * np.clip(X[:, 0] - 0.5 * X[:, 1], -1, 1)
Y = {"logistic": LABELS, "sign": LABELS, "several": CLASSES, "regression": TARGETS}


@pytest.fixture(scope="module")
def sets():
    settings = {"n_draws": 4, "epsilon": 50.0, "random_state": 0}
    settings |= {"mechanism": "exact", "radius": 4.0}
    regression = RashomonRegressor(target_bounds=(-2, 6), **settings).fit(X, TARGETS)
    logistic, several = (
        RashomonClassifier(**settings).fit(X, y).rashomon_set_ for y in (LABELS, CLASSES)
    )
    sign = replace(logistic, link="sign")
    found = {"logistic": logistic, "several": several, "sign": sign}
    return {**found, "regression": regression.rashomon_set_}


@pytest.fixture
def logistic(sets):
    return sets["logistic"]


def losses(name, models, draw, rows, y):
    """Loss of each row by the set's own predictions."""
    one = models[draw]
    if name == "squared":
        return (one.scores(rows)[0] - y) ** 2 / 2
    if name == "zero_one":
        return (one.labels(rows)[0] != y).astype(float)
    scores = one.scores(rows)[0]
    own = scores[range(len(y)), y] if scores.ndim == 2 else np.where(y == 1, scores, 1 - scores)
    return -np.log(own)


def switched_loss(predict, rows, targets, columns, loss):
    """Mean loss over all pairs i ≠ j when row i takes the columns of row j."""
    own, other = np.nonzero(~np.eye(len(rows), dtype=bool))
    rows = np.asarray(rows)
    mixed = rows[own]
    mixed[:, columns] = rows[np.ix_(other, columns)]
    return np.mean(loss(predict(mixed), np.asarray(targets)[own]))


@pytest.mark.parametrize("kind", Y)
def test_reliance_is_the_mean_over_all_pairs(sets, kind):
    name = {"sign": "zero_one", "regression": "squared"}.get(kind, "logistic")
    models, y, features = sets[kind], Y[kind], {"first": ["x0"], "pair": [0, 2]}
    difference = m.model_reliance(models, X, y, features=features)
    ratio = m.model_reliance(models, X, y, features=features, form="ratio")
    for group, columns in {"first": [0], "pair": [0, 2]}.items():
        for draw in range(models.n_draws):
            loss = partial(losses, name, models, draw)
            switched = switched_loss(lambda rows: rows, X, y, columns, loss)
            original = loss(X, y).mean()
            got = difference.loc[draw, group], ratio.loc[draw, group]
            assert got == pytest.approx((switched - original, switched / original), abs=1e-12)
    released = m.model_reliance(models.release(), X, y, features=features)
    pd.testing.assert_frame_equal(released, difference)


def test_squared_reliance_is_a_sample_covariance(sets):
    """e_switch − e_orig = cov(moving part, residual without it), n − 1 in the denominator."""
    regression = sets["regression"]
    moving = 4 * regression.coef[:, [1]] * X[:, 1]
    residual = TARGETS - (regression.scores(X) - moving)
    expected = [np.cov(a, r)[0, 1] for a, r in zip(moving, residual, strict=True)]
    found = m.model_reliance(regression, X, TARGETS)["x1"]
    assert found.to_numpy() == pytest.approx(expected, abs=1e-12)


OF_SCORES = {
    "squared": lambda s, y: (y - s) ** 2 / 2,
    "logistic": lambda s, y: np.logaddexp(0, np.where(y == 1, -s, s)),
    "zero_one": lambda s, y: ((s > 0) != y).astype(float),
}


@pytest.mark.parametrize("loss", OF_SCORES)
@pytest.mark.parametrize(("n", "wide"), [(2, 1.0), (3, 0.0), (150, 0.3), (400, 6.0)])
def test_fast_sums_are_those_over_pairs(loss, n, wide):
    rng = np.random.default_rng(n)
    b, a = wide * rng.normal(size=(1, n, 1)), rng.normal(size=(1, n, 1)).round(1)
    y = rng.integers(0, 2, n).astype(float)
    every = OF_SCORES[loss](b[0] + a[0].T, y[:, None])
    expected = (every.sum() - np.trace(every)) / (n * (n - 1))
    found = pair_losses.switched_mean(b, a, y, loss)[0]
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_a_third_of_the_nodes_is_not_enough(monkeypatch):
    """Negative control: the degree is needed, not generous by accident."""
    b, a, degree = np.linspace(-9, 9, 300), np.zeros(300), pair_losses._degree
    monkeypatch.setattr(pair_losses, "_degree", lambda half, reach: degree(half, reach) // 3)
    kernel = SoftplusKernel.from_scores(b, a)
    coarse = kernel.left_sums(softplus(kernel.arguments))
    assert np.abs(coarse / 300 - softplus(b)).max() > 1e-9


@pytest.mark.law
def test_shuffles_average_to_reliance_as_scikit_learn_has_it(sets):
    """E[shuffled loss] − e_orig = (n − 1)/n·(e_switch − e_orig); scikit-learn is the oracle."""
    y = (TARGETS - 2) / 4 + 0.1 * np.sin(40 * X[:, 2])
    model = LinearRegression().fit(X, y)
    coef = np.append(model.coef_, model.intercept_)[None]
    models = replace(sets["regression"], coef=coef, losses=np.zeros(1), target_bounds=(-1.0, 1.0))
    exact = m.model_reliance(models, X, y).iloc[0].to_numpy() * 59 / 60
    settings = {"n_repeats": 400, "random_state": 0}
    theirs = inspection.permutation_importance(
        model, X, y, scoring="neg_mean_squared_error", **settings
    )
    error = theirs.importances_std / 2 / 20
    assert (np.abs(theirs.importances_mean / 2 - exact) < 4 * error).all()
    ours = m.permutation_importance(models, X, y, **settings).iloc[0]
    assert (np.abs(ours - exact) < 4 * error).all()


@pytest.mark.parametrize("kind", Y)
def test_permutation_importance_is_the_mean_rise_over_shuffles_of_all_models(sets, kind):
    models, y, shuffles = sets[kind], Y[kind], np.random.RandomState(7)
    name = {"sign": "zero_one", "regression": "squared"}.get(kind, "logistic")
    expected = np.zeros((models.n_draws, 3))
    for _ in range(2):
        order = shuffles.permutation(60)
        for draw, feature in np.ndindex(expected.shape):
            moved = X.copy()
            moved[:, feature] = X[order, feature]
            after, before = (losses(name, models, draw, rows, y).mean() for rows in (moved, X))
            expected[draw, feature] += (after - before) / 2
    for same in (models, models.release()):
        found = m.permutation_importance(same, X, y, n_repeats=2, random_state=7)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_confident_mistake_costs_its_margin(logistic):
    """A probability would have rounded to 0 or 1 long before: no loss is cut off."""
    models = replace(logistic, coef=np.array([[4000.0, 0, 0, 0]]), losses=np.zeros(1))
    rows = np.array([[0.5, 0, 0], [-0.5, 0, 0]])
    found = m.permutation_importance(models, rows, [1, 0], n_repeats=64, random_state=0).to_numpy()[
        0
    ]
    share = found[0] / 2000.0
    assert share == pytest.approx(round(share * 64) / 64) and 0.2 < share < 0.8
    assert (found[1:] == 0).all()


def shapley(game, players):
    """Shapley values of a game over all coalitions, by its definition."""
    found = []
    for player in range(players):
        rest, total = [one for one in range(players) if one != player], 0.0
        for size in range(players):
            weight = factorial(size) * factorial(players - size - 1) / factorial(players)
            for some in combinations(rest, size):
                total = total + weight * (game((*some, player)) - game(some))
        found.append(total)
    return np.array(found)


def test_shapley_values_are_those_of_the_game(sets):
    """Every coalition of three features, absent ones averaged over all background rows."""
    regression, background, point = sets["regression"], X[:7], X[10]

    def game(coalition):
        rows = background.copy()
        rows[:, list(coalition)] = point[list(coalition)]
        return regression.scores(rows).mean(axis=1)

    got = m.linear_shap(regression, point[None], background=background)[:, 0]
    np.testing.assert_allclose(got, shapley(game, 3).T, atol=1e-12)


@pytest.mark.parametrize("kind", ["regression", "logistic", "several"])
def test_shapley_values_add_up(sets, kind):
    models = sets[kind]
    values = m.linear_shap(models, X, background=X[:20])
    scores = models.scores if kind == "regression" else models.margins
    expected = scores(X) - scores(X[:20]).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(values.sum(axis=2), expected, atol=1e-12)
    groups = [["x0", "x2"], "x1"]
    pooled = m.linear_shap(models, X, background=X[:20], features=groups)
    np.testing.assert_allclose(pooled[:, :, 0], values[:, :, 0] + values[:, :, 2], atol=1e-12)
    sizes = m.shap_importance(models, X, background=X[:20], features=groups)
    every = np.abs(pooled).mean(axis=1)
    every = every.sum(axis=-1) if kind == "several" else every
    np.testing.assert_allclose(sizes, every, atol=1e-12)


def test_tradeoffs_are_rank_correlations():
    cloud = pd.DataFrame({"a": [1.0, 2, 3, 9], "b": [4.0, 3, 2, -8], "c": [0.0, 5, 1, 2]})
    table = m.importance_tradeoffs(cloud)
    assert table.loc["a", ["b", "c"]].tolist() == pytest.approx([-1, 0.4])


BAD = [
    ({"X": X[:, :2]}, r"X must have shape \(n_rows, 3\), got \(60, 2\)"),
    ({"X": X[:5]}, "one target per row"),
    ({"X": X[:0], "y": []}, "at least one row"),
    ({"X": np.where(X > 0.3, np.nan, X)}, "X and y must be finite"),
    ({"y": LABELS + 1}, r"holds the class 2, which is not in \[0, 1\]"),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_rows_that_cannot_be_measured_are_refused(logistic, change, words):
    for measure in (m.model_reliance, m.permutation_importance):
        with pytest.raises(ValueError, match=words):
            measure(logistic, **{"X": X, "y": LABELS, **change})


def test_settings_that_cannot_be_measured_are_refused(sets, logistic):
    perfect = replace(sets["regression"], coef=np.zeros((1, 4)), losses=np.zeros(1))
    two, reliance = np.full(60, 2.0), m.model_reliance
    for call, words in (
        (lambda: reliance(logistic, X[:1], LABELS[:1]), "at least two rows, got 1"),
        (lambda: reliance(perfect, X, two, form="ratio"), "model 0 has zero loss"),
        (lambda: m.permutation_importance(logistic, X, LABELS, n_repeats=0), "n_repeats must be"),
        (lambda: m.linear_shap(logistic, X, background=X * np.nan), "background must be finite"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_coefficient_spread_by_hand(logistic):
    table = m.coefficient_spread(logistic)
    assert list(table.index) == ["x0", "x1", "x2", "intercept"]
    low, second, third, high = np.sort(logistic.coef, axis=0)
    q05, median = 0.85 * low + 0.15 * second, (second + third) / 2
    expected = [low, q05, median, 0.15 * third + 0.85 * high, high, logistic.best]
    np.testing.assert_allclose(table.to_numpy().T, expected)
    public = m.coefficient_spread(logistic.release())
    pd.testing.assert_frame_equal(public, table.drop(columns="best"))


@pytest.fixture(scope="module")
def named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-0.4, 0.4, (120, 3)), columns=["a", "b", "c"])
    return frame, frame["a"] - 0.5 * frame["b"]


NUMBERS = {"n_draws": 4, "epsilon": 60.0, "target_bounds": (-1.0, 1.0), "random_state": 0}
NUMBERS |= {"mechanism": "exact", "radius": 4.0}


def test_partial_dependence_of_a_linear_model_moves_by_its_coefficient(named):
    X, y = named
    models = RashomonRegressor(row_norm=2.0, **NUMBERS).fit(X, y).rashomon_set_
    grid = [-0.4, 0.0, 0.3]
    found = partial_dependence(models, X, "b", grid=grid)
    away = np.array(grid)[None] - X["b"].mean()
    expected = models.scores(X).mean(axis=1)[:, None] + models.coef[:, [1]] * away
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-12)
    band = curve_band(found, models, X, "b", transform=None)
    np.testing.assert_allclose(band["max"], expected.max(axis=0))
    np.testing.assert_allclose(band["median"], np.median(expected, axis=0))
    best = models.best_scores(X).mean() + models.best[1] * away[0]
    np.testing.assert_allclose(band["best"], best)


def test_partial_dependence_of_any_model_is_that_of_scikit_learn(named):
    X, y = named
    trees = [DecisionTreeClassifier(max_depth=k).fit(X, y > 0) for k in (1, 3)]
    grid = np.linspace(-0.3, 0.3, 5)
    found = partial_dependence(from_estimators(trees, X, y > 0), X, "a", grid=grid)
    for tree, curve in zip(trees, found.to_numpy(), strict=True):
        options = {"custom_values": {"a": grid}, "method": "brute"}
        known = inspection.partial_dependence(tree, X, ["a"], **options)
        np.testing.assert_allclose(curve, known["average"][0])


def test_partial_dependence_sets_a_category_as_a_whole(named):
    X, y = named
    table = X[["a"]].assign(home=np.where(np.arange(len(X)) % 3, "own", "rent"))
    columns = [Numeric("a", (-0.4, 0.4)), Categorical("home", ["own", "rent"])]
    encoder = TableEncoder(TableSchema(columns)).fit(table)
    models = RashomonRegressor(**NUMBERS).fit(encoder.transform(table), y).rashomon_set_
    found = partial_dependence(models, table, "home", transform=encoder.transform)
    assert list(found.columns) == ["own", "rent"]
    own = encoder.transform(table.assign(home="own"))
    np.testing.assert_allclose(found["own"], models.scores(own).mean(axis=1))
