"""Trees that TimberTrek and TreeFARMS wrote predict what those programs printed of them.

The oracle is their own public demonstration on the Car Evaluation data (UCI), whose 1,728 rows
are all combinations of six attributes, so that the table can be made here: with one column left
out of each attribute's levels it has columns 0 to 14. Their files print how many rows reach each
node, and how many leaves a tree has (its complexity over the price of a leaf, 0.015).
"""

import json
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import export_text
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets import from_predictions, from_treefarms
from rashomon_explorer.sets.models import written
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Split
from rashomon_explorer.trees import CountedTrees

LEVELS = (4, 4, 4, 3, 3, 3)


def car_table():
    rows = np.array(list(product(*(range(count) for count in LEVELS))))
    return np.column_stack(
        [rows[:, place] == level for place, n in enumerate(LEVELS) for level in range(n - 1)]
    ).astype(float)


def ends(sign, rows, right):
    return {"f": [sign, rows, right]}


def asks(column, rows, if_true, if_false):
    return {"f": [str(column), rows, -1], "c": [if_true, if_false]}


# Tree 210 of TimberTrek's car demonstration, with its objective and accuracy.
CHAIN = [
    (14, 1728, ends("-", 576, 576)),
    (9, 1152, ends("-", 384, 384)),
    (2, 768, ends("+", 192, 164)),
    (1, 576, ends("+", 192, 174)),
    (5, 384, ends("+", 96, 72)),
]
PUBLISHED = asks(
    3,
    288,
    asks(0, 96, ends("+", 48, 36), ends("-", 48, 48)),
    asks(4, 192, ends("+", 96, 72), ends("-", 96, 96)),
)
for column, count, end in reversed(CHAIN):
    PUBLISHED = asks(column, count, end, PUBLISHED)

# The same kind of tree as TreeFARMS writes it into its trie, and what it prints there.
PRINTED = {
    "complexity": 0.13499999046325684,
    "loss": 0.061342593282461166,
    "objective": 0.1963425874710083,
}
TRIE: Any = PRINTED
for layer in reversed(["14", "-1 9", "-1 2", "-2 1", "-2 5", "-2 3", "0 4", "-2 -1 -2 -1"]):
    TRIE = {layer: TRIE}


def leaf_rows(tree, rows):
    """Every node of the published tree is reached by as many rows as it prints."""
    assert len(rows) == tree["f"][1]
    if "c" in tree:
        answer = rows[:, int(tree["f"][0])] == 1
        leaf_rows(tree["c"][0], rows[answer])
        leaf_rows(tree["c"][1], rows[~answer])


def test_the_published_tree_sends_rows_where_its_authors_printed():
    rows = car_table()
    assert rows.shape == (1728, 15)
    leaf_rows(PUBLISHED, rows)  # the table is theirs
    models = from_treefarms(TRIE)
    assert models.complexity().tolist() == [9] == [round(PRINTED["complexity"] / 0.015)]
    # Rows in leaves that say "+": 192 + 192 + 96 + 48 + 96.
    assert models.labels(rows).sum() == 624
    assert models.losses[0] == PRINTED["objective"]
    swapped = json.loads(json.dumps(TRIE).replace("-2 -1 -2 -1", "-1 -2 -1 -2"))  # the control
    assert not np.array_equal(from_treefarms(swapped).labels(rows), models.labels(rows))
    fitted = SimpleNamespace(model_set=SimpleNamespace(to_trie=lambda: TRIE))  # a TREEFARMS
    for source in (fitted, fitted.model_set):
        assert np.array_equal(from_treefarms(source).losses, models.losses)
    # 106 errors of 1,728, as the leaves of the published tree add up.
    errors = from_treefarms(TRIE, criterion="loss").losses[0]
    assert errors == pytest.approx(106 / 1728, abs=1e-8)


def test_a_list_of_trees_has_no_losses():
    zero, one = {"prediction": 0}, {"prediction": 1}
    split = {"feature": 1, "relation": "==", "reference": "true", "true": one, "false": zero}
    root = {"feature": 0, "relation": "==", "reference": "true", "false": one}
    models = from_treefarms([one, {**root, "true": zero}, {**root, "true": split}, split])
    labels = models.labels(list(product((0, 1), repeat=2)))
    assert labels.tolist() == [[1] * 4, [1, 1, 0, 0], [1, 1, 0, 1], [0, 1, 0, 1]]
    with pytest.raises(ValueError, match="losses of these models are not known"):
        models.inside()


def test_thresholds_names_words_and_files(tmp_path):
    age = {
        "feature": "age",
        "relation": "<=",
        "reference": 30.5,
        "true": {"prediction": "young"},
        "false": {"prediction": "old"},
    }
    path = tmp_path / "trees.json"
    path.write_text(json.dumps([age]), encoding="utf-8")
    models = from_treefarms(path, feature_names=["debt", "age"], losses=[0.1])
    assert models.classes == ("old", "young")
    assert models.labels([[1.0, 30.0], [1.0, 31.0]]).tolist() == [[1, 0]]
    turned = pd.DataFrame({"age": [30.0, 31.0], "debt": [1.0, 1.0]})
    assert models.labels(turned).tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="X lacks the column 'debt'"):
        models.labels(turned[["age"]])


def test_several_classes_and_a_lone_leaf():
    trie = {"-3": {"objective": 0.5}, "0": {"-1 -2": {"objective": 0.4}}}
    models = from_treefarms(trie, psi=0.05)
    assert models.classes == (0, 1, 2)
    assert models.labels([[1], [0]]).tolist() == [[2, 2], [0, 1]]
    assert models.hit_rate == 0.5
    assert models.simplest().names == ("tree 0",)
    assert models.inside().simplest().names == ("tree 1",)


STUMP = [{"feature": 2, "true": {"prediction": 1}, "false": {"prediction": 0}}]


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        ({"a": 1}, {}, "ends at a without objective"),
        ({"0": {"-1": {"objective": 0.1}}}, {}, "layer for 1 splits holds 1 nodes"),
        ({"0": {"x y": {"objective": 0.1}}}, {}, "must hold numbers"),
        ({"prediction": 1}, {}, "put it into a list"),
        ([{"feature": "age", "true": {"prediction": 0}, "false": {"prediction": 1}}], {}, "'age'"),
        ([{"prediction": "yes"}], {}, "at least two classes are needed"),
        ([], {}, "there are no trees"),
        (STUMP, {"criterion": "gini"}, "criterion must be one of"),
        (STUMP, {"classes": ("a",)}, "tree 0 predicts class 1 of 1"),
        (STUMP, {"feature_names": ["one"]}, "tree 0 tests column 2 of 1"),
        ([{**STUMP[0], "relation": "=~"}], {}, "tree 0 compares by '=~'"),
        (STUMP, {"y": [0]}, "give both X and y"),
    ],
)
def test_bad_sources_are_refused(source, settings, message):
    with pytest.raises((DataError, ValueError), match=message):
        from_treefarms(source, **settings)


def test_bad_rows_are_refused():
    models = from_treefarms(STUMP)
    for rows, message in (
        ([[1, 0]], r"X must have shape \(n_rows, 3 or more\), got \(1, 2\)"),
        ([[1, 0, 0.5]], "column 2 of X must hold only 0 and 1"),
        (None, "trees need rows"),
    ):
        with pytest.raises(ValueError, match=message):
            models.scores(rows)


def test_rows_and_labels_check_the_errors_of_a_source_and_give_those_it_lacks():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (50, 2))
    y = np.where(rng.random(50) < 0.8, rows[:, 0], 1 - rows[:, 0])
    stump = {"feature": 0, "true": {"prediction": 1}, "false": {"prediction": 0}}
    trees = [stump, {"prediction": 1}]
    models = from_treefarms(trees, X=rows, y=y)
    assert models.losses.tolist() == [(rows[:, 0] != y).mean(), (y == 0).mean()]
    assert models.loss == "zero_one"
    errors = float((rows[:, 0] != y).mean())
    trie = {"0": {"-2 -1": {"objective": errors + 0.02, "loss": errors, "complexity": 0.02}}}
    kept = from_treefarms(trie, X=rows, y=y)
    assert kept.losses.tolist() == [errors + 0.02] and kept.loss == "objective"
    with pytest.raises(ValueError, match=r"tree 0 has the error rate .* on these rows"):
        from_treefarms(trie, X=rows, y=1 - y)


MODELS = CountedTrees(
    np.eye(4, dtype=int)[:, :3].repeat(9, axis=0), ["a", "b", "c", "a"] * 9, max_leaves=4
).draw(20, psi=0.3, random_state=0)


def test_scikit_learn_and_treefarms_forms_predict_the_same():
    rows = np.array(list(product((0, 1), repeat=3)))
    for draw, codes in enumerate(MODELS.labels(rows)):
        model = MODELS.to_sklearn(draw)
        check_is_fitted(model)
        assert model.predict(rows).tolist() == [MODELS.classes[code] for code in codes]
        assert model.get_n_leaves() == MODELS.complexity()[draw]
        assert "class" in export_text(model)
        assert model.tree_.n_node_samples[0] == model.get_n_leaves()  # a leaf counts as one row
    again = from_treefarms(MODELS.to_treefarms(), losses=MODELS.losses, classes=MODELS.classes)
    assert again.models.trees == MODELS.models.trees


@pytest.mark.parametrize("relation", [">", ">=", "<", "<="])
def test_every_comparison_keeps_its_side(relation):
    rows = np.array([[1.0], [2.0], [2.5], [3.0]])
    tree = Split(0, Leaf(1), Leaf(0), relation, 2.5)
    codes = DecisionTrees((tree,), 2).labels(rows)[0]
    assert np.array_equal(written.as_sklearn(tree, 1, [0, 1]).predict(rows), codes)


def test_text_names_columns_and_classes():
    tree = Split(1, Leaf(0), Split(0, Leaf(1), Leaf(0), ">", 30.0))
    text = written.as_text(tree, ["age", 'a "b"'], ["no", "yes"])
    assert [line.strip() for line in text.splitlines()] == [
        *('a "b"?', "yes: no", "no: age > 30?", "yes: yes", "no: no")
    ]
    with pytest.raises(TypeError, match="compare with thresholds"):
        written.as_sklearn(Split(0, Leaf(1), Leaf(0), "==", 3.0), 1, [0, 1])
    with pytest.raises(TypeError, match="no decision trees"):
        from_predictions([[0.1, 0.9]], [0, 1]).text(0)
