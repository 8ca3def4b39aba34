"""Rows that cannot be used are named to the curator before a price is charged."""

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import (
    DPBilevelSearch,
    DPClassifier,
    DPRegressor,
    Ledger,
    PrivateSearch,
    RashomonClassifier,
    RashomonRegressor,
    RashomonTreeClassifier,
    propose_schema,
)
from rashomon_explorer.exceptions import FitError

X = np.array([[0.1, 0.2], [0.3, -0.1], [-0.2, 0.4], [0.2, 0.2]])
LABELS, NUMBERS = np.array([0, 1, 0, 1]), np.array([0.1, 0.3, -0.2, 0.9])
FLAGS = (X > 0.15).astype(float)
GAPS = np.where(X == 0.3, np.nan, X)
TEXT = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "region": ["n", "s", "n", "s"]})
EACH = {
    "classifier": (RashomonClassifier(classes=[0, 1]), X, LABELS),
    "regressor": (RashomonRegressor(), X, NUMBERS),
    "one class": (DPClassifier(classes=[0, 1]), X, LABELS),
    "one number": (DPRegressor(), X, NUMBERS),
    "trees": (RashomonTreeClassifier(classes=[0, 1]), FLAGS, LABELS),
    "penalty": (DPBilevelSearch("ridge", bounds=(0.1, 1.0)), X, NUMBERS),
    "penalty of classes": (
        DPBilevelSearch("logistic", bounds=(0.1, 1.0), classes=[0, 1]),
        X,
        LABELS,
    ),
    "search": (PrivateSearch(DPClassifier(classes=[0, 1]), {"ridge": [0.1]}), X, LABELS),
}


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "a.ledger"
    Ledger.create(path, epsilon=9.0, delta=1e-6)
    return path


@pytest.mark.parametrize("name", EACH)
def test_rows_that_will_do_pass_and_others_are_named(name, ledger):
    estimator, rows, targets = EACH[name]
    estimator.set_params(ledger=str(ledger))
    estimator.check_rows(rows, targets)
    for bad, why in ((GAPS, "contains NaN.*schema="), (TEXT, "could not convert.*schema=")):
        with pytest.raises(ValueError, match=why):
            estimator.check_rows(bad, targets)
    assert not Ledger.open(ledger).entries()


@pytest.mark.parametrize("name", ["classifier", "one class", "trees", "search"])
def test_labels_that_are_not_declared_are_named(name, ledger):
    estimator, rows, _ = EACH[name]
    with pytest.raises(ValueError, match="y holds 7, which is not among the declared"):
        estimator.set_params(ledger=str(ledger)).check_rows(rows, [0, 1, 7, 0])


def test_what_it_passes_and_refuses_is_what_fit_would(ledger):
    clf = RashomonClassifier(classes=[0, 1], epsilon=1.0, ledger=str(ledger), random_state=0)
    with pytest.raises(FitError, match="check_rows") as caught:
        clf.fit(TEXT, LABELS)
    with pytest.raises(ValueError) as named:
        clf.check_rows(TEXT, LABELS)
    assert str(named.value) in caught.value.detail


def test_clipping_is_told_too():
    with pytest.warns(UserWarning, match="longer than row_norm"):
        RashomonClassifier(classes=[0, 1]).check_rows(100 * X, LABELS)


def test_a_schema_makes_text_welcome():
    schema = propose_schema(TEXT.assign(y=LABELS), target="y").confirm("age", "region", "y")
    RashomonClassifier(schema=schema).check_rows(TEXT, LABELS)
