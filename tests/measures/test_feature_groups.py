"""The columns of one category are one feature, from the data to the figures, unless asked for."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer import RashomonClassifier, load_csv
from rashomon_explorer import measures as m
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import Reliance
from rashomon_explorer.sets.linear import checked_groups, groups_by_name
from tests.measures.test_model_reliance import switched_loss
from tests.release.cases import largest_changes, models_of

NAMES = ["age", "home=own", "home=rent", "home=none"]
HOMES = ["own", "rent", "none"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 240).round(2)})
    frame["home"] = rng.choice(HOMES, 240, p=[0.6, 0.3, 0.1])
    frame["repaid"] = np.where(frame["age"] + rng.normal(0, 20, 240) > 50, "yes", "no")
    text = frame.to_csv(index=False).encode()
    declared = {"bounds": {"age": (18, 90)}, "categories": {"home": HOMES}}
    return load_csv(text, target="repaid", **declared)


@pytest.fixture(scope="module")
def table(data):
    # In the unit ball without losing the indicators' zeros.
    return (data.X / [90, 1, 1, 1]) / 1.5, data.y.to_numpy()


@pytest.fixture(scope="module")
def models(table):
    drawn = RashomonClassifier(
        psi=0.1, epsilon=100.0, n_draws=6, radius=4.0, random_state=0, mechanism="exact"
    )
    return drawn.fit(*table).rashomon_set_


@given(st.lists(st.sampled_from(["a", "a=1", "a=2", "b=1", "b=2", "b=3", "c=", "=x", "d=1=2"])))
def test_names_give_groups_of_two_or_more_columns_that_are_columns(names):
    names = list(dict.fromkeys(names))
    groups = groups_by_name(names)
    assert checked_groups(groups, names) == groups
    assert all(len(columns) > 1 for columns in groups.values())
    columns = np.concatenate([*m.feature_groups(None, names).values(), []])
    assert sorted(columns.tolist()) == list(range(len(names)))
    assert list(m.feature_groups("columns", names)) == names


def test_importances_take_categories_together_and_columns_on_request(models, data, table):
    assert dict(models.feature_groups) == data.feature_groups == groups_by_name(NAMES)
    for measure in ("reliance", "permutation", "shap"):
        assert list(m.importance_cloud(models, *table, measure=measure)) == ["age", "home"]
    assert list(m.model_reliance(models, *table, features="columns")) == NAMES
    assert list(m.model_reliance(models, *table, features=["home", 0])) == ["home", "age"]
    problem = Problem(table[0].to_numpy(), 2.0 * table[1] - 1)
    ranges = m.model_class_reliance(problem, psi=0.01, feature_names=NAMES, features=["home"])
    assert list(ranges.index) == ["home"]
    found = m.rid(Problem, table[0], 2 * table[1] - 1, psi=0.05, n_bootstraps=1, n_models=4)
    assert list(found.features) == ["age", "home"]


def test_the_columns_of_a_group_move_together(models, table):
    rows, y = table
    values = m.permutation_importance(models, rows, y, n_repeats=1, random_state=3)
    order, moved = np.random.RandomState(3).permutation(len(rows)), rows.to_numpy().copy()
    moved[:, 1:] = moved[order, 1:]

    def loss(p, labels):
        return -np.log(np.where(labels == 1, p, 1 - p))

    after, before = (loss(models.scores(X), y).mean(axis=1) for X in (moved, rows))
    np.testing.assert_allclose(values["home"], after - before, atol=1e-12)
    # The same over all pairs, by brute force for one model.
    predict = lambda X: models[[0]].scores(X)[0]  # noqa: E731
    switched = switched_loss(predict, rows, y, [1, 2, 3], loss)
    found = m.model_reliance(models, rows, y)["home"][0]
    assert found == pytest.approx(switched - before[0])
    together, alone = (m.linear_shap(models, rows, features=f) for f in (None, "columns"))
    np.testing.assert_allclose(together[..., 1], alone[..., 1:].sum(axis=-1), atol=1e-12)


def test_explicit_groups_come_before_names(models, table):
    joined = models.with_groups({"all homes": NAMES[1:3]})
    assert list(m.model_reliance(joined, *table)) == ["age", "all homes", "home=none"]
    assert list(m.model_reliance(models.with_groups({}), *table)) == NAMES
    for wrong, words in (
        ({"x": ["height"]}, "which is not a column"),
        ({"x": ["age"], "y": ["age"]}, "in the groups 'x' and 'y'"),
        ({"x": []}, "must be a list of columns"),
        ({"x": "age"}, "must be a list of columns"),
        ({"age": ["home=own"]}, "'age' is a column"),
    ):
        with pytest.raises(ValueError, match=words):
            models.with_groups(wrong)


@pytest.mark.parametrize(
    "link",
    [
        "logistic",
        *(pytest.param(k, marks=pytest.mark.law) for k in ("softmax", "identity", "sign")),
    ],
)
def test_released_reliance_on_a_category_moves_no_more_than_declared(link):
    released = replace(
        models_of(link, n_features=3), feature_names=("c=a", "c=b", "z", "intercept")
    ).with_groups({"c": ["c=a", "c=b"]})
    queries = [Reliance(), Reliance("each")]
    for change in largest_changes(queries, released, n_rows=6, n_rests=2).values():
        assert 0.05 < change.l1 <= 1 + 1e-9
        assert 0.05 < change.l2 <= 1 + 1e-9
