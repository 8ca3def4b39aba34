"""Rows and columns of a table are found by their names in every measure, never by position."""

import dataclasses
import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier, RashomonRegressor, audit, measures
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import release
from rashomon_explorer.sets import from_estimators

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
N = 60
INDEX = [f"person {place}" for place in range(N)]
D = pd.DataFrame(
    RNG.uniform(-0.5, 0.5, (N, 3)) * [1.0, 0.5, 1.5], columns=["a", "b", "c"], index=INDEX
)
Y = (8 * D["a"] - 3 * D["b"] + RNG.logistic(size=N) * 0.3 > 0).astype(int)
FIT = RashomonClassifier(
    epsilon=1e4, n_draws=8, mechanism="exact", classes=[0, 1], random_state=0
).fit(D, Y)
SET = FIT.rashomon_set_
NUMBERS = RashomonRegressor(
    epsilon=1e4, n_draws=4, mechanism="exact", target_bounds=(0, 1), random_state=0
).fit(D, Y)
PROBLEM = measures.penalised_problem(LogisticRegression().fit(D, Y), D, Y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the trees were fitted without feature names
    _TREES = [DecisionTreeClassifier(max_depth=k, random_state=0) for k in (1, 2, 3)]
    ARRAYS = from_estimators([tree.fit(D.to_numpy(), Y) for tree in _TREES], D, Y)
PSI = measures.relative_psi(PROBLEM, 0.05)
_CENTRE = np.array([1.0, 0.5, 0.2, 0.0])
BALL = dataclasses.replace(SET, ellipsoid=CutEllipsoid(_CENTRE, np.eye(4), 0.1, 4.0, _CENTRE))
GROUPS = pd.Series(np.arange(N) % 3 % 2, index=INDEX, name="g")
REVERSED = D.index[::-1]
LABELS = pd.DataFrame(SET.labels(D), columns=INDEX)
SCORES = pd.DataFrame(SET.scores(D), columns=INDEX)

ARGUMENTS = {
    "models": SET, "models_or_problem": SET, "problem": PROBLEM,
    "estimator": LogisticRegression().fit(D, Y), "X": D, "x": D, "y": Y, "groups": GROUPS,
    "strata": GROUPS, "sample_weight": None, "labels": LABELS, "scores": SCORES, "values": LABELS,
    "psi": PSI, "feature": "a", "features": ["a"], "changeable": ["a"], "rate": "selection_rate",
    "measure": "ambiguity",
}  # fmt: skip
"""What a measure takes, by the name of its parameter."""
OWN = {
    "declared_problem": {"estimator": FIT},
    "importance_cloud": {"measure": "reliance", "features": None},
    "model_class_reliance": {"models_or_problem": NUMBERS},
    "delta_ambiguity": {"tolerance": 0.01},
    "delta_discrepancy": {"tolerance": 0.01},
    "delta_obscurity": {"tolerance": 0.01},
    "released_flips": {"models": BALL},
    "released_ranges": {"models": BALL},
    "multiplicity_table": {"measures": ["ambiguity"]},
    "permutation_importance": {"random_state": 0},
    "proved_people": {"problem": PROBLEM},
    "recourse": {"X": D.iloc[:4], "bounds": {"a": (-9, 9)}},
    "rid": {
        "make_problem": lambda X, y: Problem(X, 2 * y - 1),
        "n_bootstraps": 2,
        "n_models": 8,
        "random_state": 0,
    },
    "tree_shap": {"models": ARRAYS},
}
OF_ROWS = ("X", "x", "labels", "scores", "values", "y", "groups", "strata", "sample_weight")


def exported():
    """Every function that a room of measures exports."""
    rooms = [getattr(measures, name) for name in {*dir(measures)} - {*measures.__all__}]
    names = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {
        name: function
        for name, function in sorted(names.items())
        if inspect.isfunction(function)
        and set(inspect.signature(function).parameters) & set(OF_ROWS)
        and OWN.get(name, {}) is not None
    }


def arguments(name, function):
    own = OWN.get(name, {})
    found = dict(own)
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD or key in own:
            continue
        required = parameter.default is parameter.empty
        if key in ARGUMENTS and (required or key in OF_ROWS):
            found[key] = ARGUMENTS[key]
        assert not required or key in found, f"say in ARGUMENTS or OWN what {name}'s {key} takes"
    return {key: value for key, value in found.items() if value is not None}


def numbers(found):
    """Flat list of the numbers of a result, rows and columns of tables sorted by name."""
    if isinstance(found, Problem):
        return [found.minimum.value, *found.minimum.theta]
    if isinstance(found, pd.DataFrame):
        if set(map(str, found.index)) <= {str(label) for label in INDEX}:
            found = found.loc[[label for label in INDEX if label in found.index]]
        flat = found.sort_index(axis=1).select_dtypes("number").to_numpy(float).ravel()
        return flat.tolist()
    if isinstance(found, pd.Series):
        return numbers(found.to_frame())
    if isinstance(found, str | bytes | None.__class__) or callable(found):
        return []
    if hasattr(found, "people"):
        return numbers(found.people)
    if hasattr(found, "by_group") and not dataclasses.is_dataclass(found):
        return numbers(found.by_group)
    if hasattr(found, "minimum") and hasattr(found, "ridges"):
        return [found.minimum.value, *found.minimum.theta]
    if hasattr(found, "ranges") and hasattr(found, "table"):
        return numbers(found.table)
    if isinstance(found, dict):
        return [x for key in sorted(found) for x in numbers(found[key])]
    if isinstance(found, np.ndarray | float | int | np.generic):
        return np.asarray(found, float).ravel().tolist()
    if isinstance(found, list | tuple):
        return [x for each in found for x in numbers(each)]
    if dataclasses.is_dataclass(found):
        return [x for f in dataclasses.fields(found) for x in numbers(getattr(found, f.name, None))]
    return []


def same(function, before, changed):
    """Assert that a changed call refuses in words or has the numbers of the usual one."""
    assert before, "the test sees no number of this measure"
    try:
        after = function(**changed)
    except (DataError, ValueError, TypeError) as error:
        assert len(str(error).split()) > 5
        return
    np.testing.assert_allclose(numbers(after), before, rtol=1e-6, atol=1e-9)


def given(name):
    """Arguments of rows that a measure takes, in the order in which they decide."""
    usual = arguments(name, exported()[name])
    return [key for key in OF_ROWS if isinstance(usual.get(key), pd.Series | pd.DataFrame)]


# The rows of `rid` go to the caller's own make_problem, and its draws depend on their columns.
OF_TABLES = [name for name in exported() if {"X", "x"} & set(given(name)) and name != "rid"]
OF_SEVERAL = [name for name in exported() if len(given(name)) > 1]


@pytest.mark.parametrize("name", OF_TABLES)
def test_columns_in_another_order_give_the_same_numbers_or_words(name):
    function, rows = exported()[name], given(name)[0]
    usual = arguments(name, function)
    same(function, numbers(function(**usual)), {**usual, rows: usual[rows][["c", "b", "a"]]})


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_series_in_another_order_give_the_same_numbers_or_words(name):
    function = exported()[name]
    usual = arguments(name, function)
    before = numbers(function(**usual))
    for key in given(name)[1:]:
        same(function, before, {**usual, key: usual[key].loc[REVERSED]})
        strange = usual[key].set_axis([f"nobody {place}" for place in range(N)], axis=0)
        with pytest.raises((DataError, ValueError), match="index"):
            function(**{**usual, key: strange})
        short = {**usual, key: usual[key].to_numpy()}
        np.testing.assert_allclose(numbers(function(**short)), before)


def test_a_new_measure_of_rows_is_tested():
    assert len(exported()) > 35


@pytest.mark.parametrize(
    "columns",
    [
        [0, 1, 2],
        [("a", "x"), ("a", "y"), ("b", "x")],
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"]),
        ["age<=25", "age<=45", "age=3"],
        pd.CategoricalIndex(["a", "b", "c"], categories=["z", "c", "b", "a"]),
        [1.5, "1", 2],
    ],
    ids=["numbers", "tuples", "levels", "dates", "comparisons", "categories", "mixed"],
)
def test_whatever_pandas_allows_as_names(columns):
    frame = pd.DataFrame(D.to_numpy(), columns=columns, index=INDEX)
    model = LogisticRegression().fit(frame.to_numpy(), Y)
    problem = measures.penalised_problem(model, frame, Y)
    other = frame.iloc[:, [2, 0, 1]]
    usual = measures.exact_score_ranges(problem, PSI, frame)
    pd.testing.assert_frame_equal(measures.exact_score_ranges(problem, PSI, other), usual)
    settings = {"epsilon": 1e4, "n_draws": 3, "radius": 4.0, "mechanism": "exact"}
    fit = RashomonClassifier(**settings, classes=[0, 1], random_state=0)
    fitted = fit.fit(frame.set_axis(list(map(str, columns)), axis=1), Y).rashomon_set_
    np.testing.assert_array_equal(fitted.labels(other), fitted.labels(frame))


def test_two_columns_of_one_name_are_refused_in_words():
    twice = D.set_axis(["a", "b", "a"], axis=1)
    with pytest.raises(ValueError, match="two columns named a"):
        measures.exact_flips(PROBLEM, PSI, twice)
    with pytest.raises(ValueError, match="two columns named a"):
        SET.labels(twice)


def test_models_of_arrays_remember_the_frame_that_they_were_compared_on():
    np.testing.assert_array_equal(ARRAYS.labels(D[["c", "b", "a"]]), ARRAYS.labels(D))
    with pytest.raises(DataError, match="know no names"):
        ARRAYS.labels(D.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    "index",
    [
        list(range(N))[::-1],
        pd.date_range("2024-01-01", periods=N),
        pd.MultiIndex.from_product([list("ab"), range(N // 2)]),
        pd.CategoricalIndex(INDEX, categories=[*INDEX, "nobody"]),
        pd.array(range(N), dtype="Int64"),
    ],
    ids=["numbers", "dates", "levels", "categories", "nullable"],
)
def test_indexes_of_every_kind_are_matched(index):
    X, groups = D.set_axis(index, axis=0), GROUPS.set_axis(index, axis=0)
    usual = measures.exact_group_gap(PROBLEM, PSI, X, groups)
    again = measures.exact_group_gap(PROBLEM, PSI, X, groups.iloc[::-1])
    pd.testing.assert_frame_equal(usual, again)


def test_an_index_that_repeats_is_used_in_order_or_refused():
    index = [place // 2 for place in range(N)]
    X, groups = D.set_axis(index, axis=0), GROUPS.set_axis(index, axis=0)
    measures.exact_group_gap(PROBLEM, PSI, X, groups)
    with pytest.raises(ValueError, match="name rows twice"):
        measures.exact_group_gap(PROBLEM, PSI, X, groups.iloc[::-1])


def test_series_in_two_orders_beside_an_array_are_refused():
    labels = LABELS.to_numpy()
    measures.fairness_gaps(labels, Y, GROUPS)
    with pytest.raises(DataError, match="no index that tells which is right"):
        measures.fairness_gaps(labels, Y, GROUPS.iloc[::-1])


def test_comparisons_are_no_levels_of_a_category():
    names = ["age<=25", "age<=45", "n==1", "n==2", "home=own", "home=rent"]
    assert list(measures.feature_groups(None, names)) == [*names[:4], "home"]


def test_an_audit_matches_targets_groups_and_weights_by_index():
    weights = pd.Series(np.linspace(1, 2, N), index=INDEX)
    model = LogisticRegression().fit(D, Y, sample_weight=weights)
    usual = audit(model, D, Y, tolerance="1%", groups=GROUPS, sample_weight=weights)
    again = audit(
        model,
        D,
        Y.loc[REVERSED],
        tolerance="1%",
        groups=GROUPS.loc[REVERSED],
        sample_weight=weights.loc[REVERSED],
    )
    pd.testing.assert_frame_equal(again.groups, usual.groups)
    pd.testing.assert_frame_equal(again.gaps, usual.gaps)
    with pytest.raises(ValueError, match="groups has another index than X"):
        audit(model, D, Y, sample_weight=weights, groups=GROUPS.reset_index(drop=True))


def test_a_release_matches_targets_and_groups_by_index():
    asked = {"queries": ["least_loss"], "epsilon": 1.0, "ledger": None, "random_state": 0}
    usual = release(SET.release(), D, Y, **asked).table()
    again = release(SET.release(), D[["c", "a", "b"]], Y.loc[REVERSED], **asked).table()
    pd.testing.assert_frame_equal(again, usual)
