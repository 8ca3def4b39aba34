"""What a pipeline does to each column of the table, and steps of other people."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

from rashomon_explorer import audit
from rashomon_explorer.audits.audit import _certified
from rashomon_explorer.audits.columns import StepColumn, column_map
from rashomon_explorer.audits.models import AuditedModel


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.lognormal(3, 0.5, 200), "debt": rng.lognormal(2, 0.7, 200)})
    X["home"], X["idle"] = rng.choice(["own", "rent", "free"], 200), rng.normal(size=200)
    score = np.log(X.income) - 0.5 * np.log(X.debt) + (X.home == "own") - 2
    return X, (score + rng.logistic(size=200) > 0).astype(int)


class Ratio(TransformerMixin, BaseEstimator):
    """Needs a DataFrame, and names nothing."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.assign(ratio=X["debt"] / X["income"])


class Doubling(TransformerMixin, BaseEstimator):
    """Other rows at fit than later, as a target encoder."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.asarray(X)

    def fit_transform(self, X, y=None):
        return 2 * self.fit(X).transform(X) + np.arange(len(X))[:, None] % 3


class Resampler(BaseEstimator):
    """As those of imbalanced-learn: new rows pass it."""

    def fit(self, X, y=None):
        return self

    def fit_resample(self, X, y):
        return X, y


def fitted(table, *steps):
    X, y = table
    return make_pipeline(*steps, LogisticRegression(max_iter=5000, tol=1e-8)).fit(X, y)


def uses(table, *steps):
    X, y = table
    columns = audit(fitted(table, *steps), X, y, tolerance="1%").inputs.model.column_map.uses
    return {name: use.kind for name, use in columns.items()}


NUMBERS = ["income", "debt"]
LOG = FunctionTransformer(np.log)


@pytest.mark.parametrize(
    ("numbers", "kinds", "names"),
    [
        (StandardScaler(), "affine", NUMBERS),
        (make_pipeline(LOG, StandardScaler()), "monotone", ["log(income)", "log(debt)"]),
        (PowerTransformer(), "monotone", ["income (after PowerTransformer)"]),
        (PolynomialFeatures(2), "other", ["income (one of several terms)", "income debt"]),
        (FunctionTransformer(lambda d: 2 * d + 1), "affine", NUMBERS),
        (Ratio(), "other", ["income (one of several terms)"]),
    ],
    ids=["scaled", "log", "power", "squares", "lambda", "ratio"],
)
def test_uses_and_names_are_those_of_the_run_pipeline(table, numbers, kinds, names):
    X, y = table
    steps = make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), ["home"]))
    kind = uses(table, steps)
    assert kind == {"income": kinds, "debt": kinds, "home": "levels", "idle": "nothing"}
    model = fitted(table, steps)
    coefficients = audit(model, X, y, tolerance="1%").coefficients
    assert set(names) <= set(coefficients.index)
    for name in set(NUMBERS) & set(coefficients.index):  # then it moves the score as it says
        moved = model.decision_function(X.assign(**{name: X[name] + 1}))
        moved -= model.decision_function(X)
        assert np.allclose(moved, coefficients.loc[name, "fitted"], rtol=1e-6)


def test_codes_of_levels_are_levels_and_structure_is_not_believed(table):
    steps = make_column_transformer((OrdinalEncoder(), ["home"]), (StandardScaler(), NUMBERS))
    assert uses(table, steps)["home"] == "levels"
    model = fitted(table, make_column_transformer((StandardScaler(), NUMBERS)))
    scaler = model[0].transformers_[0][1]
    scaler.transform = lambda rows, then=scaler.transform: then(rows) ** 3  # as a subclass might
    with pytest.raises(ValueError, match="above the minimum"):
        audit(model, *table, tolerance="1%")


def test_steps_without_names_and_with_frames_give_the_flips_of_what_they_return(table):
    X, y = table[0][NUMBERS], table[1]
    for step in (
        FunctionTransformer(np.log1p),
        Ratio(),
        FunctionTransformer(lambda d: d.assign(r=d.debt / d.income)),
    ):
        model = make_pipeline(step, StandardScaler(), LogisticRegression(tol=1e-8)).fit(X, y)
        plain = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(
            step.transform(X).to_numpy(), y
        )
        flips = [
            audit(m, rows, y, tolerance="1%").flips["flips"].to_numpy()
            for m, rows in ((model, X), (plain, step.transform(X).to_numpy()))
        ]
        assert (flips[0] == flips[1]).all()


def test_resamplers_and_encoders_with_other_rows_are_sampled_with_the_reason(table):
    X, y = table[0][NUMBERS], table[1]
    steps = [("resampler", Resampler()), ("last", LogisticRegression().fit(X, y))]
    model = Pipeline(steps[1:])
    model.steps = steps
    problem, reason = _certified(AuditedModel(model, X, y.to_numpy()), {})
    assert problem is None and "Resampler resampled the rows" in reason
    found = audit(
        make_pipeline(Doubling(), LogisticRegression()).fit(X, y), X, y, n_models=4, tolerance=0.5
    )
    assert found.kind == "sampled" and "Doubling" in found.reason
    assert "Why sampled  Doubling transforms" in repr(found)


def test_an_empty_branch_texts_and_models_without_targets(table):
    X, y = table[0][NUMBERS], table[1]
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    empty = make_column_transformer(
        (StandardScaler(), NUMBERS), (words, make_column_selector(dtype_exclude="number"))
    )
    assert audit(fitted((X, y), empty), X, y, tolerance="1%").kind == "exact"
    texts = pd.Series(np.where(y == 1, "good late", "bad"), name="note")
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, y)
    for rows in (texts, list(texts)):
        found = audit(model, rows, y, tolerance="1%")
        assert (found.flips["label"] == model.predict(texts)).all()
        assert "good" in found.coefficients.index
    assert len(found.scores(["good", "bad"])) == 2
    with pytest.raises(TypeError, match="KMeans does not predict targets"):
        audit(KMeans(2, n_init=1).fit(X), X, y)


def test_columns_named_by_numbers_are_listed_as_features(table):
    X, y = table[0][NUMBERS].set_axis([0, 1], axis=1), table[1]
    found = audit(LogisticRegression().fit(X, y), X, y, tolerance="1%", features=[0, [0, 1]])
    assert set(found.importance.index) == {"0", "0 + 1"}


def mapped(values, *functions, level=""):
    """Map of one column x, of which each function gives a column of the last step."""

    def encode(rows):
        return np.column_stack([np.asarray(f(rows["x"]), dtype=float) for f in functions])

    table = pd.DataFrame({"x": values})
    columns = tuple(StepColumn(f"z{k}", ("x",), level) for k, _ in enumerate(functions))
    return column_map(encode, table, encode(table), columns, "step")


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: 3 - 2 * x, "affine"),
        (lambda x: x + 1e-3 * x**2, "monotone"),
        (lambda x: -(x**3), "monotone"),
        (lambda x: (x - 0.5) ** 2, "other"),
        (lambda x: 0 * x, "nothing"),
    ],
)
def test_lines_and_monotone_curves_are_told_apart(function, kind):
    found = mapped(np.linspace(0, 1, 50), function)
    assert found.uses["x"].kind == kind and found.rows_apart
    assert found.columns[0].in_units == (kind in ("affine", "nothing"))


def test_a_missing_value_is_tried_and_moves_its_indicator():
    values = np.append(np.linspace(0, 1, 30), np.nan)
    assert mapped(values, lambda x: x.fillna(0.5), pd.isna).uses["x"].moved == (0, 1)


@pytest.mark.parametrize("level", ["own", "rent"])
def test_an_indicator_is_of_the_level_that_its_name_says(level):
    found = mapped(["own", "rent", "free"] * 5, lambda x: x == "own", level=level)
    assert found.columns[0].in_units == (level == "own")


def test_a_number_beside_another_term_of_its_column_is_one_of_several():
    values = np.linspace(1, 2, 30)
    assert [one.partial for one in mapped(values, abs).columns] == [False]
    for other in (lambda x: 2 * x, np.log):
        assert mapped(values, abs, other).columns[0].partial


def test_rows_that_are_encoded_by_the_rows_beside_them_have_no_map():
    found = mapped(np.linspace(1, 2, 30), lambda x: x - x.mean())
    assert not found.rows_apart and found.uses["x"].kind == "other"
