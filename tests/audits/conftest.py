"""A raw table with gaps and text, and pipelines fitted to it."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.fixes import parse_version

from rashomon_explorer import audit

OLD = parse_version(sklearn.__version__) < parse_version("1.8")
SAGA = {"solver": "saga", "tol": 1e-8} | ({"penalty": "elasticnet"} if OLD else {})
"""A logistic regression with these takes ``l1_ratio``."""
NUMBERS, WORDS = ["age", "fare"], ["sex", "port"]


def raw_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(),
            "fare": rng.gamma(2.0, 20.0, n).round(2),
            "sex": rng.choice(["female", "male"], n),
            "port": rng.choice(["C", "Q", "S"], n, p=[0.3, 0.1, 0.6]),
            "crew": rng.choice(["yes", "no"], n),
        },
        index=[f"p{i}" for i in range(n)],
    )
    table.loc[table.index[::17], "age"] = np.nan
    score = 2.5 * (table["sex"] == "female") - 0.04 * (table["age"].fillna(40) - 40) - 1
    lived = rng.random(n) < 1 / (1 + np.exp(-score))
    return table, pd.Series(np.where(lived, "lived", "died"), table.index)


def encoder(drop=None):
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    return make_column_transformer((numbers, NUMBERS), (OneHotEncoder(drop=drop), WORDS))


@pytest.fixture(scope="session")
def people():
    return raw_table()


@pytest.fixture(scope="session")
def pipeline(people):
    X, y = people
    return make_pipeline(encoder(), LogisticRegression(C=2.0, max_iter=1000, tol=1e-8)).fit(X, y)


@pytest.fixture(scope="session")
def found(people, pipeline):
    X, y = people
    return audit(pipeline, X, y, groups="crew", tolerance="2%", random_state=0)


@pytest.fixture(scope="session")
def regression(people):
    X, _ = people
    y = 3.0 * (X["sex"] == "female") + 0.02 * X["fare"] + np.sin(np.arange(len(X)))
    return make_pipeline(encoder(), Ridge(alpha=2.0)).fit(X, y), X, y
