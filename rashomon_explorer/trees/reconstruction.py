"""All trees of the class of drawn trees, counted on given rows; for the curator."""

from typing import Any

from numpy.typing import ArrayLike

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.questions import ThresholdQuestions
from rashomon_explorer.trees.tree_class import TreeClass


def counted_like(models: Any, X: ArrayLike, y: ArrayLike) -> CountedTrees:
    """Count all trees with the questions, leaves, depth, leaf penalty and costs of drawn ones."""
    planned = models.planned
    if planned is None or not planned.questions:
        raise DataError(
            "these trees have no plan that lists their possible questions: trees drawn by "
            "RashomonTreeClassifier have one; count others with CountedTrees"
        )
    names = models.models.feature_names
    asked = tuple((names.index(name), threshold) for name, threshold in planned.questions)
    questions = ThresholdQuestions(asked, names)
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
    """Class of the trees of a plan that names their questions; public."""
    settings = (planned.most_leaves, planned.max_depth, planned.n_labels)
    return TreeClass(len(planned.questions), *settings)
