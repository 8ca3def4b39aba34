"""Shape functions of a linear model behind splines, bins and levels: exact over the set."""

import numpy as np
import pandas as pd
import pytest
from sklearn import preprocessing as steps
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from rashomon_explorer import audit
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.measures import exact_ranges
from tests.audits.test_choice import scipy_optimum

LOGISTIC = LogisticRegression(max_iter=5000, tol=1e-10)
ENCODER = make_column_transformer(
    (steps.SplineTransformer(n_knots=4), ["age"]),
    (steps.StandardScaler(), ["debt"]),
    (steps.OneHotEncoder(), ["home"]),
    (SimpleImputer(strategy="constant", fill_value=-1, add_indicator=True), ["jobs"]),
)
MADE = {"age": range(6), "debt": [6], "home": [7, 8, 9], "jobs": [10, 11]}  # after the encoder


@pytest.fixture(scope="module")
def credit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 80, 240), "debt": rng.lognormal(2, 0.7, 240)})
    X["home"] = rng.choice(["own", "rent", "free"], 240, p=[0.6, 0.3, 0.1])
    X["jobs"] = np.where(rng.random(240) < 0.1, np.nan, rng.integers(0, 4, 240))
    score = np.cos(X["age"] / 12) + (X["home"] == "own") - 0.03 * X["debt"]
    return X, score, (score + rng.logistic(size=240) > 0.3).astype(int)


def audited(X, y, *parts, **options):
    return audit(make_pipeline(*parts).fit(X, y), X, y, **options)


def directions(found, feature):
    """Directions of the values of a column that are shown, and the cells of the table."""
    rows, cells = found.answers.rows, found.inputs.model.table[feature].astype(object)
    cells = cells.where(cells.notna(), "missing").tolist()
    at = [cells.index(value) for value in found.shapes.loc[feature].index]
    matrix = np.zeros((len(at), found.problem.p))
    matrix[:, MADE[feature]] = (rows - rows.mean(axis=0))[np.ix_(at, MADE[feature])]
    return matrix, np.array(cells, dtype=object)


def test_a_band_of_least_squares_is_that_of_an_ellipsoid(credit):
    X, score, _ = credit
    found = audited(X, score, ENCODER, Ridge(2.0), tolerance=0.01)
    problem, predicted = found.problem, found.inputs.model.original.predict(X)
    inverse, total = np.linalg.inv(problem.hessian(problem.minimum.theta)), predicted.mean()
    for feature in X:
        (a, cells), table = directions(found, feature), found.shapes.loc[feature]
        half = np.sqrt(2 * 0.01 * np.einsum("ij,jk,ik->i", a, inverse, a))
        centre = a @ problem.minimum.theta
        ends = np.column_stack([centre - half, centre, centre + half])
        assert np.allclose(table[["low", "fitted", "high"]], ends, rtol=1e-4, atol=1e-6)
        total = total + table["fitted"].reindex(cells).to_numpy()
    assert list(found.shapes.loc["home"].index) == ["free", "own", "rent"]
    assert list(found.shapes.loc["jobs"].index) == [0.0, 1.0, 2.0, 3.0, "missing"]
    figure, band = found.plot("shapes", feature="age"), found.shapes.loc["age"]
    assert figure.layout.meta["view"] == "curator" and len(figure.data[-1].x) == len(X)
    for trace, name in zip(figure.data, ("low", "high", "fitted"), strict=False):
        assert np.allclose(trace.x, band.index.astype(float)) and np.allclose(
            trace.y, band[name], atol=1e-6
        )
    assert {"free", "missing"} <= {
        word for axis in found.plot("shapes").select_xaxes() for word in axis.ticktext or ()
    }
    # The mean score and the functions add up to the score of each row whose values are shown.
    shown = np.isfinite(total)
    assert shown.sum() > 5 and np.allclose(total[shown], predicted[shown])


def test_a_band_of_a_logistic_regression_is_reached_and_not_passed(credit):
    X, _, y = credit
    found = audited(X, y, ENCODER, LOGISTIC, tolerance="2%")
    problem, (matrix, _) = found.problem, directions(found, "age")
    inverse, wald = np.linalg.inv(problem.hessian(problem.minimum.theta)), []
    for row in (0, len(matrix) // 2, len(matrix) - 1):
        a, ends = matrix[row], found.shapes.loc["age"].iloc[row]
        low = scipy_optimum(found, lambda t, a=a: a @ t, lambda _, a=a: a)
        high = -scipy_optimum(found, lambda t, a=a: -a @ t, lambda _, a=a: -a)
        assert ends["low"] <= low + 1e-7 and ends["high"] >= high - 1e-7
        assert np.allclose([ends["low"], ends["high"]], [low, high], rtol=2e-4, atol=1e-6)
        wald.append(a @ problem.minimum.theta + np.sqrt(2 * found.psi * a @ inverse @ a) - high)
    # Negative control: the ellipsoid of the curvature at the best model is too narrow.
    assert min(wald) < -1e-3


def test_bins_differ_as_their_coefficients_do_and_splines_need_no_penalty(credit):
    X, score, y = credit
    bins = steps.KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    found = audited(X[["age"]], y, bins, LogisticRegression())
    table = found.shapes.loc["age"]  # both ends of each bin
    shares = found.answers.rows.mean(axis=0)
    contrasts = np.column_stack([np.eye(4) - shares, np.zeros(4)]).repeat(2, axis=0)
    ends = exact_ranges(found.problem, found.psi, contrasts)
    assert np.allclose(table[["low", "high"]], ends[["low_outer", "high_outer"]])
    # B-splines sum to 1: without a penalty no coefficient is identified, and the function is.
    spline, line = steps.SplineTransformer(n_knots=4), LinearRegression()
    found = audited(X[["age"]], score, spline, line, tolerance=0.01)
    assert np.isinf(found.coefficients["high"]).any()
    assert np.isfinite(found.shapes[["low", "high"]]).all(axis=None)


def test_neither_the_order_of_columns_nor_that_of_rows_matters(credit):
    X, score, _ = credit
    order = np.random.default_rng(1).permutation(len(X))
    rows = X[["home", "jobs", "debt", "age"]].iloc[order]
    changed = X.assign(age=X["age"].where(X.index != 3, 79.0))
    first, second, third = (
        audited(table, y, ENCODER, Ridge(2.0), tolerance=0.01).shapes[["low", "fitted", "high"]]
        for table, y in [(X, score), (rows, score.iloc[order]), (changed, score)]
    )
    for feature in X:
        pd.testing.assert_frame_equal(first.loc[feature], second.loc[feature], rtol=1e-5)
    assert not np.allclose(third.loc["home"]["high"], first.loc["home"]["high"], atol=1e-9)


def test_a_function_is_called_constant_where_a_good_model_lacks_the_column(credit):
    X, score, _ = credit
    found = audited(X, score, ENCODER, Ridge(1e-3), tolerance=1e-3)
    sizes, level = found.shape_sizes, found.problem.minimum.value + 1e-3
    assert sizes["constant"].to_dict() == {"age": "no", "debt": "no", "home": "no", "jobs": "yes"}
    assert (sizes[["least", "fitted", "greatest"]].diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    for feature, constant in sizes["constant"].items():  # by a refit to a constant column
        rows = X.assign(**{feature: X[feature].mode()[0]})
        model = make_pipeline(ENCODER, Ridge(1e-3)).fit(rows, score)
        assert (np.mean((model.predict(rows) - score) ** 2) / 2 < level) == (constant == "yes")
    assert (found.at(10.0).shape_sizes["constant"] == "yes").all()


def test_each_class_has_its_functions(credit):
    X, score, _ = credit
    found = audited(X, np.digitize(score, [0.0, 1.0]), ENCODER, LOGISTIC, tolerance="1%")
    table = found.shapes
    assert table.index.names == ["class", "feature", "value"] and len(found.shape_sizes) == 4
    assert np.allclose(table["fitted"].groupby(level=["feature", "value"]).sum(), 0, atol=1e-9)
    assert (table["low"] <= table["fitted"]).all() and (table["fitted"] <= table["high"]).all()


def test_columns_that_mix_are_refused_with_the_step(credit):
    X, score, y = credit
    numbers, low, high = X[["age", "debt"]], *np.quantile(X["debt"], [0.515, 0.54])
    pairs = steps.PolynomialFeatures(2), ["age", "debt"]
    mixed = make_column_transformer(pairs, (steps.OneHotEncoder(), ["home"]))
    found = audited(X, y, mixed, steps.StandardScaler(), LOGISTIC)
    assert set(found.shapes.index.get_level_values("feature")) == {"home"}
    assert "PolynomialFeatures mixes it: age + debt" in found.shapes.attrs["mixing"]["age"]
    with pytest.raises(ValueError, match="'age' has no function of its own: PolynomialFeatures"):
        found.plot("shapes", feature="age")
    power = steps.PolynomialFeatures(3), steps.StandardScaler(), LOGISTIC  # of one column
    assert len(audited(X[["age"]], y, *power).shapes.loc["age"]) > 20
    rare = steps.FunctionTransformer(
        lambda rows: rows.assign(age=rows["age"] + 50 * rows["debt"].between(low, high)),
        feature_names_out="one-to-one",
    )
    rare = audited(numbers, score, rare, Ridge())
    # The values that the column map tries do not show it; shuffling every column does.
    assert rare.inputs.model.column_map.uses["debt"].moved == (1,)
    sampled = audited(numbers, y, RandomForestClassifier(5), n_models=3)
    cases = {"FunctionTransformer → Ridge mixes": rare, "no sums of functions": sampled}
    cases["PolynomialFeatures mixes it"] = audited(numbers, y, *power)
    for words, mixes in cases.items():
        with pytest.raises(MissingAnswerError, match=words):
            _ = mixes.shapes
