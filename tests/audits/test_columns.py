"""Columns that a last step sees, and where they come from."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from rashomon_explorer.audits.columns import table_columns, trace


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(5, 2, (60, 2)), columns=["a", "a_b"])
    frame["c"] = rng.choice(["u", "v", "w"], 60, p=[0.5, 0.3, 0.2]).astype(object)
    frame.loc[3, "c"] = np.nan
    return frame


AFFINE = [
    StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False),
    MinMaxScaler((-1, 3)), MaxAbsScaler(), RobustScaler(), RobustScaler(with_centering=False),
    FunctionTransformer(), make_pipeline(StandardScaler(), "passthrough", MinMaxScaler()),
    FeatureUnion([("one", StandardScaler()), ("two", MinMaxScaler())]), SimpleImputer(),
]  # fmt: skip


@pytest.mark.parametrize("step", AFFINE, ids=str)
def test_scaled_columns_are_undone(table, step):
    """Each column that is said to be slope·v + offset is."""
    numbers = table[["a", "a_b"]]
    seen = np.asarray(step.fit_transform(numbers))
    columns = trace(step, table_columns(numbers.columns))
    assert len(columns) == seen.shape[1]
    for column, values in zip(columns, seen.T, strict=True):
        assert column.in_units and column.label == column.sources[0]
        assert np.allclose(values, column.slope * numbers[column.label] + column.offset)


@pytest.mark.parametrize(
    "options",
    [{}, {"drop": "first"}, {"drop": ["w"]}, {"min_frequency": 15}, {"max_categories": 2}],
)
def test_indicators_are_named_by_column_and_level(table, options):
    step = make_pipeline(OneHotEncoder(sparse_output=False, **options), StandardScaler())
    seen = step.fit_transform(table[["c"]])
    columns = trace(step, table_columns(["c"]))
    assert len(columns) == seen.shape[1]
    for column, values in zip(columns, seen.T, strict=True):
        assert column.label == f"c={column.level}" and column.feature == "c"
        words = table["c"].fillna("missing")
        expected = words == column.level
        if column.level == "infrequent":
            expected = ~words.isin([one.level for one in columns])
        assert np.allclose((values - column.offset) / column.slope, expected)


@pytest.mark.parametrize(
    "chosen", [["a_b"], [1], slice(1, 2), slice("a_b", "a_b"), [False, True, False]]
)
def test_a_column_transformer_is_followed_in_the_order_of_its_output(table, chosen):
    words = ("words", OneHotEncoder(sparse_output=False), ["c"])
    step = ColumnTransformer([words, ("gone", "drop", ["a"]), ("rest", StandardScaler(), chosen)])
    step.fit(table)
    labels = [column.label for column in trace(step, table_columns(table.columns))]
    assert labels == ["c=u", "c=v", "c=w", "c=missing", "a_b"]


def test_selected_columns_and_the_remainder_are_followed(table):
    chosen = make_column_selector(dtype_include=float)
    step = make_column_transformer((MinMaxScaler(), chosen), remainder="passthrough").fit(table)
    labels = [column.label for column in trace(step, table_columns(table.columns))]
    assert labels == ["a", "a_b", "c"]


@pytest.mark.parametrize("imputer", [SimpleImputer, KNNImputer])
def test_gaps_add_an_indicator_and_chosen_columns_are_followed(table, imputer):
    numbers = table[["a", "a_b"]].mask(table[["a", "a_b"]] < 3)
    step = make_pipeline(imputer(add_indicator=True), SelectKBest(k=3))
    step.fit(numbers, np.arange(60) % 2)
    labels = {column.label for column in trace(step, table_columns(numbers.columns))}
    assert len(labels) == 3 and labels <= {"a", "a_b", "a=missing", "a_b=missing"}


@pytest.mark.parametrize(
    ("step", "features", "in_units"),
    [
        (SplineTransformer(), {"a", "a_b"}, 0),
        (OrdinalEncoder(), {"a", "a_b"}, 0),
        (PolynomialFeatures(2, include_bias=False), {"a", "a_b", "a + a_b"}, 2),
        (FunctionTransformer(np.log1p, feature_names_out="one-to-one"), {"a", "a_b"}, 0),
    ],
)
def test_other_columns_keep_their_features_but_not_their_units(table, step, features, in_units):
    numbers = table[["a", "a_b"]]
    seen = step.fit_transform(numbers)
    columns = trace(step, table_columns(numbers.columns))
    assert len(columns) == seen.shape[1] and {column.feature for column in columns} == features
    assert sum(column.in_units for column in columns) == in_units
    assert pd.Series([column.name for column in columns]).is_unique
