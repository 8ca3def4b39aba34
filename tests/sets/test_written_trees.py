"""Trees written down say what the trees say."""

import numpy as np
import pytest
from sklearn.tree import export_text
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.sets import from_predictions, from_treefarms
from rashomon_explorer.sets.models.trees import Leaf, Split
from rashomon_explorer.sets.models.written import as_dot, as_sklearn, as_text
from rashomon_explorer.trees import CountedTrees

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, size=(60, 4))
Y = np.array(["a", "b", "c"])[(X[:, 0] + X[:, 1])]
MODELS = CountedTrees(X, Y, max_leaves=4).draw(30, psi=0.3, random_state=0)


def test_scikit_learn_predicts_the_same():
    for draw in range(30):
        model = MODELS.to_sklearn(draw)
        check_is_fitted(model)
        said = [MODELS.classes[k] for k in MODELS.labels(X)[draw]]
        assert model.predict(X).tolist() == said
        assert model.get_n_leaves() == MODELS.complexity()[draw]
        assert "class" in export_text(model)
        assert model.tree_.n_node_samples[0] == model.get_n_leaves()  # a leaf counts as one row


@pytest.mark.parametrize("relation", [">", ">=", "<", "<="])
def test_every_comparison_keeps_its_side(relation):
    rows = np.array([[1.0], [2.0], [2.5], [3.0]])
    tree = Split(0, Leaf(1), Leaf(0), relation, 2.5)
    from rashomon_explorer.sets.models.trees import DecisionTrees

    said = DecisionTrees((tree,), 2).labels(rows)[0]
    assert np.array_equal(as_sklearn(tree, 1, [0, 1]).predict(rows), said)


def test_what_scikit_learn_cannot_ask_is_refused():
    with pytest.raises(TypeError, match="compare with thresholds"):
        as_sklearn(Split(0, Leaf(1), Leaf(0), "==", 3.0), 1, [0, 1])
    with pytest.raises(TypeError, match="no decision trees"):
        from_predictions([[0.1, 0.9]], [0, 1]).text(0)


def test_treefarms_form_is_read_back():
    again = from_treefarms(MODELS.to_treefarms(), losses=MODELS.losses, classes=MODELS.classes)
    assert again.models.trees == MODELS.models.trees


def test_text_and_graph_name_columns_and_classes():
    tree = Split(1, Leaf(0), Split(0, Leaf(1), Leaf(0), ">", 30.0))
    said = as_text(tree, ["age", 'a "b"'], ["no", "yes"])
    assert said.splitlines() == [
        'a "b"?',
        "  yes: no",
        "  no: age > 30?",
        "    yes: yes",
        "    no: no",
    ]
    graph = as_dot(tree, ["age", 'a "b"'], ["no", "yes"])
    assert graph.count("->") == 4 and r"a \"b\"" in graph
