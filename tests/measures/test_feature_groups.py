"""The columns of one category are one feature, from the data to the figures, unless asked for."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer import RashomonClassifier, RashomonSet, load_csv, plots
from rashomon_explorer.measures import (
    conditional_reliance,
    feature_groups,
    importance_cloud,
    linear_shap,
    model_class_reliance,
    model_reliance,
    permutation_importance,
    rid,
)
from rashomon_explorer.measures.reliance import switching_loss
from rashomon_explorer.plots.importance import importance_table
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import Reliance
from rashomon_explorer.sets import ReleasedSet
from rashomon_explorer.sets.linear import checked_groups, groups_by_name
from tests.release.cases import largest_changes, models_of

NAMES = ["age", "home=own", "home=rent", "home=none"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 240).round(2)})
    frame["home"] = rng.choice(["own", "rent", "none"], 240, p=[0.6, 0.3, 0.1])
    frame["sex"] = rng.choice(["f", "m"], 240)
    frame["repaid"] = np.where(frame["age"] + rng.normal(0, 20, 240) > 50, "yes", "no")
    return load_csv(
        frame.to_csv(index=False).encode(),
        target="repaid",
        sensitive=["sex"],
        bounds={"age": (18, 90)},
        categories={"home": ["own", "rent", "none"], "sex": ["f", "m"]},
    )


@pytest.fixture(scope="module")
def rows(data):
    # In the unit ball without losing the indicators' zeros.
    return (data.X / [90, 1, 1, 1]) / 1.5


@pytest.fixture(scope="module")
def models(data, rows):
    drawn = RashomonClassifier(psi=0.1, epsilon=100.0, n_draws=6, radius=4.0, random_state=0)
    return drawn.fit(rows, data.y).rashomon_set_


def test_declared_categories_say_what_is_one_feature(data):
    assert data.feature_groups == {"home": ("home=own", "home=rent", "home=none")}
    assert groups_by_name(data.feature_names) == data.feature_groups


@given(st.lists(st.sampled_from(["a", "a=1", "a=2", "b=1", "b=2", "b=3", "c=", "=x", "d=1=2"])))
def test_names_give_groups_of_two_or_more_columns_that_are_columns(names):
    names = list(dict.fromkeys(names))
    groups = groups_by_name(names)
    assert checked_groups(groups, names) == groups
    assert all(len(columns) > 1 for columns in groups.values())
    asked = feature_groups(None, names)
    assert sorted(np.concatenate([*asked.values(), []]).tolist()) == list(range(len(names)))
    assert list(feature_groups("columns", names)) == names


def test_estimators_give_their_set_the_groups_and_importances_follow(models, data, rows):
    assert dict(models.feature_groups) == data.feature_groups
    for table in (
        model_reliance(models, rows, data.y),
        conditional_reliance(models, rows, data.y),
        *(importance_cloud(models, rows, data.y, measure=m) for m in ("permutation", "shap")),
    ):
        assert list(table.columns) == ["age", "home"]
    single = model_reliance(models, rows, data.y, features="columns")
    assert list(single.columns) == NAMES
    assert list(model_reliance(models, rows, data.y, features=["home", 0])) == ["home", "age"]
    assert list(plots.importance.importance_table(models, rows, data.y).index) == ["age", "home"]


def test_the_columns_of_a_group_move_together(models, data, rows):
    values = permutation_importance(models, rows, data.y, n_repeats=1, random_state=3)
    order = np.random.RandomState(3).permutation(len(rows))
    moved = rows.to_numpy().copy()
    moved[:, 1:] = moved[order, 1:]
    y = data.y.to_numpy()
    losses = [
        -np.log(np.where(y == 1, p, 1 - p)).mean(axis=1)
        for p in (models.scores(moved), models.scores(rows))
    ]
    np.testing.assert_allclose(values[:, 1], losses[0] - losses[1], atol=1e-12)
    # The same over all pairs, by brute force for one model.
    wrong = switching_loss(
        lambda X: models.to_sklearn(0).predict_proba(X)[:, 1],
        rows,
        y,
        "home",
        loss=lambda p, t: -np.log(np.where(t == 1, p, 1 - p)),
    )
    before = -np.log(np.where(y == 1, models.scores(rows)[0], 1 - models.scores(rows)[0])).mean()
    assert model_reliance(models, rows, data.y)["home"][0] == pytest.approx(wrong - before)


def test_a_shift_of_all_levels_is_no_reliance_on_a_category(models, data, rows):
    """c on every level and −c on the intercept changes no prediction; one by one it looks like
    reliance on the level that most rows have."""
    shifted = models.coef.copy()
    shifted[:, 1:4] += 3.0 * 1.5
    shifted[:, 4] -= 3.0
    other = replace(models, coef=shifted, row_norm=10.0)
    same = replace(models, row_norm=10.0)
    np.testing.assert_allclose(other.scores(rows), same.scores(rows), atol=1e-12)
    table, moved = (model_reliance(m, rows, data.y) for m in (same, other))
    pd.testing.assert_frame_equal(table, moved, atol=1e-10)
    one_by_one = model_reliance(other, rows, data.y, features="columns")
    assert (one_by_one["home=own"] > 3 * table["home"].abs() + 0.05).all()  # the artefact


def test_shapley_values_of_a_category_are_the_sum_of_its_columns(models, rows):
    together, alone = (linear_shap(models, rows, features=f) for f in (None, "columns"))
    np.testing.assert_allclose(together[..., 1], alone[..., 1:].sum(axis=-1), atol=1e-12)


def test_groups_go_where_the_set_goes(models, tmp_path):
    groups = dict(models.feature_groups)
    models.save(tmp_path / "curator.npz")
    models.release().save(tmp_path / "release.npz")
    for same in (
        pickle.loads(pickle.dumps(models)),
        copy.deepcopy(models),
        models[:3],
        models.inside(),
        models.release(),
        RashomonSet.load(tmp_path / "curator.npz"),
        ReleasedSet.load(tmp_path / "release.npz"),
    ):
        assert dict(same.feature_groups) == groups
    with pytest.raises(TypeError):
        models.feature_groups["home"] = ()


def test_a_file_without_groups_is_read_by_its_names(models, tmp_path):
    models.with_groups({}).save(tmp_path / "none.npz")
    assert dict(RashomonSet.load(tmp_path / "none.npz").feature_groups) == {}
    with np.load(tmp_path / "none.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes())
    del header["feature_groups"]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "old.npz", **arrays)
    assert list(RashomonSet.load(tmp_path / "old.npz").feature_groups) == ["home"]


def test_explicit_groups_come_before_names(models, data, rows):
    joined = models.with_groups({"all homes": NAMES[1:3]})
    assert list(model_reliance(joined, rows, data.y)) == ["age", "all homes", "home=none"]
    assert list(model_reliance(models.with_groups({}), rows, data.y)) == NAMES
    for wrong, why in (
        ({"x": ["height"]}, "which is not a column"),
        ({"x": ["age"], "y": ["age"]}, "in the groups 'x' and 'y'"),
        ({"x": []}, "must be a list of columns"),
        ({"x": "age"}, "must be a list of columns"),
        ({"age": ["home=own"]}, "'age' is a column"),
    ):
        with pytest.raises(ValueError, match=why):
            models.with_groups(wrong)


def test_problems_and_resampled_tables_take_categories_together(data, rows):
    targets = 2.0 * data.y.to_numpy() - 1
    problem = Problem(rows.to_numpy(), targets)
    table = model_class_reliance(problem, psi=0.01, feature_names=NAMES, features=["home"])
    assert list(table.index) == ["home"]
    found = rid(Problem, rows, targets, psi=0.05, n_bootstraps=1, n_models=4, random_state=0)
    assert list(found.features) == ["age", "home"]


def test_figures_show_categories_and_columns_on_request(models, data, rows):
    figure = plots.plot_importance(models, rows, data.y)
    assert set(figure.layout.yaxis.ticktext) == {"age", "home"}
    figure = plots.plot_importance(models, rows, data.y, features="columns")
    assert set(figure.layout.yaxis.ticktext) == set(NAMES)
    cloud = plots.plot_importance_cloud(models, rows, data.y)
    assert {dimension.label for dimension in cloud.data[0].dimensions} == {"age", "home"}
    assert len(importance_table(models, rows, data.y, features="columns")) == 4


@pytest.mark.parametrize(
    "link", ["logistic", pytest.param("softmax", marks=pytest.mark.law), "identity", "sign"]
)
def test_released_reliance_on_a_category_moves_no_more_than_declared(link):
    released = replace(
        models_of(link, n_features=3), feature_names=("c=a", "c=b", "z", "intercept")
    ).with_groups({"c": ["c=a", "c=b"]})
    queries = [Reliance(), Reliance("each")]
    for change in largest_changes(queries, released, n_rows=6, n_rests=2).values():
        assert 0.05 < change.l1 <= 1 + 1e-9
        assert 0.05 < change.l2 <= 1 + 1e-9
