"""Budgets out of range are refused in words by plan and fit alike, and a large delta warns."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import (
    DPBilevelSearch,
    DPClassifier,
    DPRegressor,
    PrivateSearch,
    RashomonClassifier,
    RashomonRegressor,
    RashomonTreeClassifier,
)
from rashomon_explorer._utils.validation import MOST_EPSILON
from rashomon_explorer.estimators.feasibility import LEAST_EPSILON
from rashomon_explorer.exceptions import LargeDeltaWarning
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings

X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 3))
Y = (X[:, 0] > 0).astype(int)

ESTIMATORS = {
    "classifier": (RashomonClassifier, {}),
    "regressor": (RashomonRegressor, {"target_bounds": (0, 1)}),
    "named sampler": (RashomonClassifier, {"mechanism": "exact", "n_draws": 2}),
    "curator's own": (RashomonClassifier, {"mechanism": "hit_and_run", "n_draws": 2}),
    "one classifier": (DPClassifier, {}),
    "one regressor": (DPRegressor, {"target_bounds": (0, 1)}),
    "trees": (RashomonTreeClassifier, {"thresholds": 0.0}),
    "penalties": (DPBilevelSearch, {"bounds": (1e-3, 1.0), "target_bounds": (0, 1)}),
    "search": (
        PrivateSearch,
        {"estimator": DPClassifier(classes=[0, 1]), "param_grid": {"radius": [1.0, 2.0]}},
    ),
}


def made(name, **settings):
    kind, own = ESTIMATORS[name]
    return kind(**{**own, **settings})


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    "epsilon",
    [0, -1.0, math.inf, math.nan, 1e-300, 5e-324, 1e-10, 1e10, 1e300, 10**400, "1", None, True],
    ids=lambda value: str(value)[:8],
)
def test_an_absurd_epsilon_is_refused_in_the_same_words_by_plan_and_fit(name, epsilon):
    model = made(name, epsilon=epsilon)
    said = set()
    for act in (lambda: model.plan(300, 3), lambda: model.fit(X, Y)):
        with pytest.raises(ValueError, match="'epsilon' parameter") as caught:
            act()
        said.add(str(caught.value))
    (words,) = said
    assert "must be a number from 1e-09 to 1e+09, usually 0.1 to 10" in words
    assert (
        'no privacy? RashomonClassifier or RashomonRegressor with mechanism="hit_and_run"' in words
    )
    assert f"Got {epsilon!r} instead" in words


@pytest.mark.parametrize("name", sorted({*ESTIMATORS} - {"search"}))
@pytest.mark.parametrize("epsilon", [LEAST_EPSILON, MOST_EPSILON])
def test_the_ends_of_the_range_can_be_planned(name, epsilon):
    assert made(name, epsilon=epsilon).plan(300, 3).guarantee.epsilon(1e-6) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("name", ["classifier", "trees", "penalties"])
def test_a_truth_value_is_no_number_of_draws(name):
    said = []
    for n_draws in (True, 2.5):
        with pytest.raises(ValueError, match="'n_draws' parameter") as caught:
            made(name, n_draws=n_draws).fit(X, Y)
        said.append(str(caught.value).replace(repr(n_draws), "it"))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", sorted({*ESTIMATORS} - {"curator's own"}))
@pytest.mark.parametrize(("delta", "warned"), [(0.3, 1), (1 / 300, 1), (1 / 301, 0), (0.0, 0)])
def test_a_delta_of_one_in_n_or_more_warns(name, delta, warned):
    model = made(name, delta=delta)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.plan(300, 3)
    found = [one for one in caught if one.category is LargeDeltaWarning]
    assert len(found) == warned
    if warned:
        assert "is at least 1/n=0.0033" in str(found[0].message)
        assert "such as 1e-06, or 0" in str(found[0].message)
        assert found[0].filename == __file__


@pytest.mark.parametrize("name", ["classifier", "one classifier", "trees"])
def test_a_fit_warns_of_it_too(name):
    with pytest.warns(LargeDeltaWarning, match="the record of one person in 300"):
        made(name, delta=0.3, epsilon=8.0, classes=[0, 1]).fit(X, Y)


def test_what_has_no_guarantee_has_no_delta_and_a_page_says_it_elsewhere():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made("curator's own", delta=0.3).plan(300, 3)
        with suppress_weak_warnings():
            made("classifier", delta=0.3).plan(300, 3)


class Unread:
    """A table whose shape alone can be had."""

    shape = (300, 3)

    def __len__(self):
        return 300

    def __getattr__(self, name):
        raise AssertionError(f"{name} was read")


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("table", [X, pd.DataFrame(X), X.tolist(), Unread()], ids=type)
def test_a_plan_takes_the_shape_of_a_table(name, table):
    model = made(name)
    assert repr(model.plan(table)) == repr(model.plan(300, 3))


def test_numbers_of_numpy_are_numbers():
    assert made("classifier").plan(np.int64(300), np.int64(3)) == made("classifier").plan(300, 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((X, Y), r"reads no rows and no targets.*plan\(X\)"),
        ((Y,), "of this ndarray is not known, or not"),
        (("table.csv",), "of this str is not known"),
    ],
)
def test_what_has_no_such_shape_is_refused_in_words(given, said):
    with pytest.raises(TypeError, match=said):
        made("classifier").plan(*given)


def test_a_table_of_unknown_length_is_refused_in_words():
    frame = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(X), npartitions=2)
    with pytest.raises(TypeError, match="give a plan the two numbers"):
        made("classifier").plan(frame)
