"""All trees of the class that drawn ones are of, on any rows.  Curator: computed from them."""

from typing import Any

from numpy.typing import ArrayLike

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.questions import Questions
from rashomon_explorer.trees.tree_class import TreeClass


def counted_like(models: Any, X: ArrayLike, y: ArrayLike) -> CountedTrees:
    """Count all trees with the questions, leaves, depth, price of a leaf and costs of drawn ones.

    Parameters
    ----------
    models : PredictorSet
        Of a fitted ``RashomonTreeClassifier``, whose plan says the class.
    X : array-like of shape (n, n_features)
        Rows as the trees take them: those that were fitted, or a resample of them.
    y : array-like of shape (n,)

    Raises
    ------
    DataError
        If the trees have no plan that names their questions, or counting might take more memory.

    Examples
    --------
    >>> from rashomon_explorer import RashomonTreeClassifier
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]] * 50, ["a", "b", "b", "b"] * 50
    >>> asked = {"max_leaves": 3, "n_draws": 2, "epsilon": 80.0, "random_state": 0}
    >>> models = RashomonTreeClassifier(**asked).fit(X, y).rashomon_set_
    >>> counted_like(models, X[:100], y[:100]).n
    100
    """
    planned = models.planned
    if planned is None or not planned.questions:
        raise DataError(
            "nothing says what may be asked: trees that RashomonTreeClassifier drew have a plan "
            "that does; count others with CountedTrees"
        )
    names = models.models.feature_names
    asked = tuple((names.index(name), threshold) for name, threshold in planned.questions)
    questions = Questions(asked, names)
    return CountedTrees(
        questions.answers(models.models.rows(X)),
        y,
        questions=questions,
        max_leaves=planned.most_leaves,
        max_depth=planned.max_depth,
        leaf_penalty=planned.leaf_penalty,
        costs=planned.costs or None,
        classes=models.classes,
    )


def planned_class(planned: TreePlan) -> TreeClass:
    """Class of the trees that a plan is about, where it names their questions; public."""
    settings = (planned.most_leaves, planned.max_depth, planned.n_labels)
    return TreeClass(len(planned.questions), *settings)
