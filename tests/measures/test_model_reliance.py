"""Reliance against loops over every pair of rows, and Shapley values against their axioms."""

from dataclasses import replace
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.inspection import permutation_importance as sklearn_importance
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier, RashomonRegressor, RashomonSet
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures import (
    conditional_reliance,
    feature_groups,
    importance_cloud,
    importance_tradeoffs,
    linear_shap,
    model_reliance,
    permutation_importance,
    reliance_within,
    shap_importance,
)
from rashomon_explorer.measures.reliance import divided_loss, switching_loss
from rashomon_explorer.measures.reliance.pair_losses import (
    ROW_LOSSES,
    SoftplusKernel,
    curvature,
    majorant,
    slope,
    softplus,
    switched_mean,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.4, 0.4, (60, 3))  # switched rows are no longer than the row norm either
LABELS = (X[:, 0] + 0.2 * RNG.standard_normal(60) > 0).astype(int)
CLASSES = np.digitize(X[:, 0] + 0.2 * RNG.standard_normal(60), [-0.15, 0.15])
TARGETS = np.clip(X[:, 0] - 0.5 * X[:, 1], -1, 1)


def classified(y: Any) -> RashomonSet:
    return RashomonClassifier(n_draws=4, epsilon=50.0, random_state=0).fit(X, y).rashomon_set_


@pytest.fixture(scope="module")
def logistic() -> RashomonSet:
    return classified(LABELS)


@pytest.fixture(scope="module")
def several() -> RashomonSet:
    return classified(CLASSES)


@pytest.fixture(scope="module")
def regression() -> RashomonSet:
    model = RashomonRegressor(n_draws=4, epsilon=50.0, target_bounds=(-2, 6), random_state=0)
    return model.fit(X, 2 + 4 * TARGETS).rashomon_set_


def losses(name: str, models: RashomonSet, draw: int, rows: FloatArray, y: FloatArray) -> Any:
    """Loss of each row by the set's own predictions."""
    one = replace(models, coef=models.coef[[draw]], losses=models.losses[[draw]])
    if name == "squared":
        return (one.scores(rows)[0] - y) ** 2 / 2
    if name == "absolute":
        return np.abs(one.scores(rows)[0] - y)
    if name == "zero_one":
        return (one.labels(rows)[0] != y).astype(float)
    if name == "hinge":
        return np.maximum(0, 1 - np.where(y == 1, 1, -1) * one.margins(rows)[0])
    scores = one.scores(rows)[0]
    own = scores[range(len(y)), y] if scores.ndim == 2 else np.where(y == 1, scores, 1 - scores)
    return -np.log(own)


def brute_force(
    name: str, models: RashomonSet, draw: int, y: Any, columns: list[int]
) -> tuple[float, float]:
    own, other = (one.ravel() for one in np.meshgrid(*[range(len(X))] * 2, indexing="ij"))
    own, other = own[own != other], other[own != other]
    mixed = X[own]
    mixed[:, columns] = X[np.ix_(other, columns)]
    return (
        float(losses(name, models, draw, mixed, y[own]).mean()),
        float(losses(name, models, draw, X, y).mean()),
    )


@pytest.mark.parametrize(
    ("fixture", "name", "y"),
    [
        ("regression", "squared", 2 + 4 * TARGETS),
        ("regression", "absolute", 2 + 4 * TARGETS),
        ("logistic", "logistic", LABELS),
        ("logistic", "zero_one", LABELS),
        ("sign", "zero_one", LABELS),
        ("sign", "hinge", LABELS),
        ("several", "softmax", CLASSES),
        ("several", "zero_one", CLASSES),
    ],
)
def test_reliance_is_the_mean_over_all_pairs(
    fixture: str, name: str, y: Any, request: pytest.FixtureRequest
) -> None:
    sign = fixture == "sign"
    models = request.getfixturevalue("logistic" if sign else fixture)
    models = replace(models, link="sign") if sign else models
    features = {"first": ["x0"], "pair": [0, 2]}
    difference = model_reliance(models, X, y, features=features, loss=name)
    ratio = model_reliance(models, X, y, features=features, loss=name, form="ratio")
    for group, columns in {"first": [0], "pair": [0, 2]}.items():
        for draw in range(models.n_draws):
            switched, original = brute_force(name, models, draw, y, columns)
            got = difference.loc[draw, group], ratio.loc[draw, group]
            assert got == pytest.approx((switched - original, switched / original), abs=1e-12)


def test_squared_reliance_is_a_sample_covariance(regression: RashomonSet) -> None:
    """e_switch − e_orig = cov(moving part, residual without it), n − 1 in the denominator."""
    y = 2 + 4 * TARGETS
    moving = 4 * regression.coef[:, [1]] * X[:, 1]
    residual = y - (regression.scores(X) - moving)
    expected = [np.cov(a, r)[0, 1] for a, r in zip(moving, residual, strict=True)]
    assert model_reliance(regression, X, y)["x1"].to_numpy() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", ["squared", "absolute", "logistic", "hinge", "zero_one"])
@pytest.mark.parametrize(("n", "wide"), [(2, 1.0), (3, 0.0), (150, 0.3), (400, 6.0)])
def test_fast_sums_are_those_over_pairs(loss: str, n: int, wide: float) -> None:
    rng = np.random.default_rng(n)
    b, a = wide * rng.normal(size=(1, n, 1)), rng.normal(size=(1, n, 1)).round(1)
    y = rng.integers(0, 2, n).astype(float)
    every = ROW_LOSSES[loss](b[0][:, None] + a[0][None], y[:, None])
    expected = (every.sum() - np.trace(every)) / (n * (n - 1))
    assert switched_mean(b, a, y, loss)[0] == pytest.approx(expected, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("g", [softplus, slope, curvature, majorant])
@pytest.mark.parametrize("wide", [0.0, 0.5, 9.0])
def test_interpolation_is_exact_to_rounding(g: Any, wide: float) -> None:
    rng = np.random.default_rng(1)
    b, a = wide * rng.normal(size=300), rng.normal(size=300) - 2
    alpha, beta = rng.normal(size=(300, 2)), rng.normal(size=(300, 3))
    exact, kernel = g(b[:, None] + a), SoftplusKernel.of(b, a)
    size = np.abs(alpha).T @ np.abs(exact) @ np.abs(beta)
    assert (np.abs(kernel.between(g, alpha, beta) - alpha.T @ exact @ beta) < 1e-14 * size).all()
    for got, axis in ((kernel.of_left(g), 1), (kernel.of_right(g), 0)):
        expected = exact.sum(axis=axis)
        assert np.abs(got - expected).max() < 1e-13 * expected.max()


@pytest.mark.parametrize(("left", "right"), [(3, 2), (2, 0), (0, 2)])
def test_sums_over_pairs_are_exact_whichever_side_is_wider(left: int, right: int) -> None:
    """Also where nodes are many, so that polynomials are products of two."""
    rng = np.random.default_rng(2)
    b, a = np.append(rng.normal(size=400), 60.0), rng.normal(size=401) - 30
    alpha, beta = rng.normal(size=(401, left)), rng.normal(size=(401, right))
    exact, kernel = softplus(b[:, None] + a), SoftplusKernel.of(b, a)
    assert SoftplusKernel.nodes(b, a) > 300
    assert kernel.total(softplus) == pytest.approx(exact.sum(), rel=1e-12)
    size = np.abs(alpha).T @ exact @ np.abs(beta)
    expected = alpha.T @ exact @ beta
    assert (np.abs(kernel.between(softplus, alpha, beta) - expected) <= 1e-12 * size).all()


def test_a_third_of_the_nodes_is_not_enough() -> None:
    """Negative control: the degree is needed, not generous by accident."""
    from rashomon_explorer.measures.reliance import pair_losses as softplus_kernel

    b, a = np.linspace(-9, 9, 300), np.zeros(300)
    degree = softplus_kernel._degree
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(softplus_kernel, "_degree", lambda half, reach: degree(half, reach) // 3)
        coarse = SoftplusKernel.of(b, a).of_left(softplus)
    assert np.abs(coarse / 300 - softplus(b)).max() > 1e-9


def test_any_function_agrees_with_the_linear_form(regression: RashomonSet) -> None:
    y = 2 + 4 * TARGETS
    one = replace(regression, coef=regression.coef[:1], losses=regression.losses[:1])
    half_square = lambda prediction, target: (target - prediction) ** 2 / 2  # noqa: E731
    got = switching_loss(lambda rows: one.scores(rows)[0], X, y, [0, 2], loss=half_square)
    assert got == pytest.approx(brute_force("squared", one, 0, y, [0, 2])[0], abs=1e-12)


def test_disjoint_pairs_estimate_it_within_their_error() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(501, 2))
    y = rows @ [1.0, 0.5]
    predict, square = (lambda x: x @ [1.0, 0.5]), (lambda a, b: (a - b) ** 2)
    exact = switching_loss(predict, rows, y, 0, loss=square)
    found = [divided_loss(predict, rows, y, 0, loss=square, random_state=s) for s in range(200)]
    values = np.array([one.value for one in found])
    errors = np.array([one.standard_error for one in found])
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(200)
    # Pairs drawn without replacement from fixed rows vary a little less than the error says.
    assert 0.7 < values.std() / errors.mean() < 1.2


@pytest.mark.law
def test_shuffles_average_to_reliance_as_scikit_learn_has_it(regression: RashomonSet) -> None:
    """E[shuffled loss] − e_orig = (n − 1)/n·(e_switch − e_orig); scikit-learn is the oracle."""
    y = TARGETS + 0.1 * np.sin(40 * X[:, 2])
    model = LinearRegression().fit(X, y)
    coef = np.append(model.coef_, model.intercept_)[None]
    models = replace(regression, coef=coef, losses=np.zeros(1), target_bounds=(-1.0, 1.0))
    exact = model_reliance(models, X, y).iloc[0].to_numpy() * 59 / 60
    theirs = sklearn_importance(
        model, X, y, scoring="neg_mean_squared_error", n_repeats=400, random_state=0
    )
    error = theirs.importances_std / 2 / 20
    assert (np.abs(theirs.importances_mean / 2 - exact) < 4 * error).all()
    ours = permutation_importance(models, X, y, n_repeats=400, random_state=0)[0]
    assert (np.abs(ours - exact) < 4 * error).all()


def test_conditional_reliance_by_hand(logistic: RashomonSet) -> None:
    others = np.column_stack([X[:, [1]], np.ones(60)])
    fit = others @ np.linalg.lstsq(others, X[:, [0, 2]], rcond=None)[0]
    residual = X[:, [0, 2]] - fit
    got = conditional_reliance(logistic, X, LABELS, features={"both": [0, 2]})
    for draw, model in enumerate(logistic.coef):
        stay = X[:, 1] * model[1] + model[3] + fit @ model[[0, 2]]
        margins = stay[:, None] + residual @ model[[0, 2]]
        each = np.logaddexp(0, np.where(LABELS == 1, -1, 1)[:, None] * margins)
        expected = (each.sum() - np.trace(each)) / (60 * 59) - np.trace(each) / 60
        assert got.loc[draw, "both"] == pytest.approx(expected, abs=1e-12)


def test_a_feature_that_others_determine_adds_nothing(logistic: RashomonSet) -> None:
    rows = np.column_stack([X[:, :2], 0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.1])
    conditional = conditional_reliance(logistic, rows, LABELS)
    assert np.abs(conditional.to_numpy()).max() < 1e-12
    assert model_reliance(logistic, rows, LABELS)["x0"].min() > 0.01


def test_orthogonal_features_have_the_same_conditional_reliance(regression: RashomonSet) -> None:
    rows = np.linalg.qr(np.column_stack([np.ones(60), X]))[0][:, 1:]
    plain, conditional = (
        measure(regression, rows, TARGETS) for measure in (model_reliance, conditional_reliance)
    )
    pd.testing.assert_frame_equal(plain, conditional, atol=1e-12)


def test_reliance_within_strata_by_hand(logistic: RashomonSet) -> None:
    strata = np.where(X[:, 1] > 0, "up", "down")
    got = reliance_within(logistic, X, LABELS, strata, form="ratio")
    expected = sum(
        (strata == s).mean() * model_reliance(logistic, X[strata == s], LABELS[strata == s])
        for s in ("up", "down")
    )
    before = [float(losses("log", logistic, d, X, LABELS).mean()) for d in range(4)]
    assert np.allclose(got, 1 + expected.div(before, axis=0), rtol=0, atol=1e-12)
    one = reliance_within(logistic, X, LABELS, np.zeros(60))
    pd.testing.assert_frame_equal(one, model_reliance(logistic, X, LABELS))


def test_shapley_values_are_those_of_the_game(regression: RashomonSet) -> None:
    """Every coalition of three features, absent ones averaged over all background rows."""
    background, point = X[:7], X[10]

    def worth(coalition: tuple[int, ...]) -> FloatArray:
        rows = background.copy()
        rows[:, list(coalition)] = point[list(coalition)]
        return regression.scores(rows).mean(axis=1)

    got = linear_shap(regression, point[None], background=background)[:, 0]
    for feature in range(3):
        rest = [j for j in range(3) if j != feature]
        total = np.zeros(regression.n_draws)
        for size in range(3):
            weight = factorial(size) * factorial(2 - size) / factorial(3)
            for chosen in combinations(rest, size):
                total += weight * (worth((*chosen, feature)) - worth(chosen))
        assert got[:, feature] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("fixture", ["regression", "logistic", "several"])
def test_shapley_values_add_up(fixture: str, request: pytest.FixtureRequest) -> None:
    models = request.getfixturevalue(fixture)
    values = linear_shap(models, X, background=X[:20])
    scores = models.scores if fixture == "regression" else models.margins
    expected = scores(X) - scores(X[:20]).mean(axis=1, keepdims=True)
    assert np.allclose(values.sum(axis=2), expected, rtol=0, atol=1e-12)
    groups = [["x0", "x2"], "x1"]
    pooled = linear_shap(models, X, background=X[:20], features=groups)
    assert np.allclose(pooled[:, :, 0], values[:, :, 0] + values[:, :, 2], rtol=0, atol=1e-12)
    sizes = shap_importance(models, X, background=X[:20], features=groups)
    every = np.abs(pooled).mean(axis=1)
    every = every.sum(axis=-1) if fixture == "several" else every
    assert np.allclose(sizes, every, rtol=0, atol=1e-12)


@pytest.mark.parametrize("measure", ["reliance", "conditional", "permutation", "shap"])
def test_a_cloud_has_a_point_for_each_model(measure: str, logistic: RashomonSet) -> None:
    options = {"random_state": 0} if measure == "permutation" else {}
    cloud = importance_cloud(
        logistic, X, LABELS, measure=measure, features={"a": [0], "bc": [1, 2]}, **options
    )
    assert (cloud.shape, list(cloud.columns)) == ((4, 2), ["a", "bc"])
    shuffled = np.random.default_rng(0).permutation(60)
    if measure != "permutation":  # an order of rows says nothing
        again = importance_cloud(logistic, X[shuffled], LABELS[shuffled], measure=measure)
        first = importance_cloud(logistic, X, LABELS, measure=measure)
        pd.testing.assert_frame_equal(first, again, atol=1e-12)


def test_tradeoffs_are_rank_correlations() -> None:
    cloud = pd.DataFrame({"a": [1.0, 2, 3, 9], "b": [4.0, 3, 2, -8], "c": [0.0, 5, 1, 2]})
    table = importance_tradeoffs(cloud)
    assert table.loc["a", "b"] == pytest.approx(-1)
    assert table.loc["a", "c"] == pytest.approx(0.4)


def test_a_release_is_measured_on_public_rows_alike(logistic: RashomonSet) -> None:
    public = model_reliance(logistic.release(), X, LABELS)
    pd.testing.assert_frame_equal(public, model_reliance(logistic, X, LABELS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ["height"]}, "unknown feature 'height'; the features are x0, x1, x2"),
        ({"features": [3]}, "there are 3 features, numbered from 0, got 3"),
        ({"features": [[]]}, "a group of features must hold at least one"),
        ({"features": [[0, "x0"]]}, "holds a feature twice"),
        ({"features": ["x0", 0]}, "features holds 'x0' twice"),
        ({"features": "x0"}, r"write \['x0'\]"),
        ({"features": []}, "at least one feature, got none"),
        ({"form": "quotient"}, r"form must be one of \['difference', 'ratio'\], got 'quotient'"),
        ({"loss": "squared"}, "loss must be one of .* for these models, got 'squared'"),
        ({"X": X[:1], "y": LABELS[:1]}, "switching needs at least two rows, got 1"),
        ({"X": X[:, :2]}, r"X must have shape \(n_rows, 3\), got \(60, 2\)"),
        ({"X": np.where(X > 0.3, np.nan, X)}, "X and y must be finite"),
        ({"y": LABELS + 1}, r"labels \[0, 1\] of the models, got 2"),
    ],
)
@pytest.mark.parametrize("measure", [model_reliance, conditional_reliance])
def test_what_cannot_be_measured_is_refused(
    measure: Any, logistic: RashomonSet, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        measure(logistic, **{"X": X, "y": LABELS, **change})


@pytest.mark.parametrize("measure", ["reliance", "conditional", "permutation", "shap"])
def test_models_without_coefficients_are_sent_elsewhere(measure: str) -> None:
    with pytest.raises(TypeError, match=r"needs linear models.*got ndarray.*switching_loss"):
        importance_cloud(np.zeros((3, 4)), X, LABELS, measure=measure)  # type: ignore[arg-type]


def test_other_refusals(logistic: RashomonSet, regression: RashomonSet) -> None:
    perfect = replace(regression, coef=np.zeros((1, 4)), losses=np.zeros(1))
    with pytest.raises(ValueError, match="model 0 has zero loss"):
        model_reliance(perfect, X, np.full(60, 2.0), form="ratio")
    with pytest.raises(ValueError, match=r"stratum .* has one row"):
        reliance_within(logistic, X, LABELS, [1] + [0] * 59)
    with pytest.raises(ValueError, match=r"strata must have shape \(60,\)"):
        reliance_within(logistic, X, LABELS, [1])
    with pytest.raises(ValueError, match="measure must be one of"):
        importance_cloud(logistic, X, LABELS, measure="gain")
    with pytest.raises(ValueError, match="at least three models"):
        importance_tradeoffs(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="a finite number for every model"):
        importance_tradeoffs(pd.DataFrame({"a": [1.0, 2.0, np.nan]}))
    with pytest.raises(ValueError, match="background must be finite"):
        linear_shap(logistic, X, background=np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="more than the limit 4,000,000,000: pass fewer rows"):
        switched_mean(np.zeros((1, 10**5, 1)), np.zeros((1, 10**5, 1)), np.zeros(10**5), "softmax")
    with pytest.raises(ValueError, match="one finite number for each"):
        switching_loss(lambda rows: rows, X, TARGETS, 0, loss=lambda a, b: a)
    assert list(feature_groups([["a", 1]], ["a", "b"])) == ["a + b"]


def test_tables_reach_a_pipeline_as_tables_and_switch_by_name():
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"age": rng.normal(size=30), "town": rng.choice(["a", "b", "c"], 30)})
    people["town"] = people["town"].astype("category")
    y = ((people["age"] > 0) ^ (people["town"] == "b")).to_numpy()
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    predict = make_pipeline(encode, DecisionTreeClassifier(max_depth=3)).fit(people, y).predict

    def wrong(own: Any, true: Any) -> Any:
        return own != true

    own, other = np.array([(i, j) for i in range(30) for j in range(30) if i != j]).T
    for columns in ("town", ["town"], 1, ["age", 1]):
        names = ["age", "town"] if columns == ["age", 1] else ["town"]
        switched = people.iloc[own].copy()
        switched[names] = people.iloc[other][names].to_numpy()
        got = switching_loss(predict, people, y, columns, loss=wrong)
        assert got == pytest.approx(np.mean(wrong(predict(switched), y[own])), abs=1e-12)
    assert 0 <= divided_loss(predict, people, y, "town", loss=wrong, random_state=0).value <= 1
    with pytest.raises(ValueError, match="unknown feature 'city'; the features are age, town"):
        switching_loss(predict, people, y, "city", loss=wrong)


def test_what_is_no_function_is_refused_with_what_would_be():
    tree = DecisionTreeClassifier().fit(X, TARGETS > 0)
    with pytest.raises(TypeError, match=r"such as model\.predict, got DecisionTreeClassifier"):
        switching_loss(tree, X, TARGETS, 0, loss=np.subtract)
    with pytest.raises(TypeError, match=r"function of predictions and targets.*got 'zero_one'"):
        divided_loss(tree.predict, X, TARGETS, 0, loss="zero_one")
