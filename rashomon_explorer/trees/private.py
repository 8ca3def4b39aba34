"""Private draws of trees from the thresholded Gibbs distribution of a plan, and their class."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.sets.models.trees import Node, count_leaves
from rashomon_explorer.sets.scores import encoded_rows
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.questions import ThresholdQuestions
from rashomon_explorer.trees.sampling import CappedEnergy, Walks, gibbs, uniform_tree
from rashomon_explorer.trees.tree_class import DEFAULT_MEMORY, TreeClass


@dataclass(frozen=True)
class DrawnTrees:
    """Independent draws, with their losses (for the curator)."""

    trees: tuple[Node, ...]
    losses: FloatArray

    def first(self, count: int) -> "DrawnTrees":
        """Keep the first ``count`` draws."""
        return DrawnTrees(self.trees[:count], self.losses[:count])


def gibbs_draws(counted: CountedTrees, planned: Plan, rng: np.random.Generator) -> DrawnTrees:
    """Draw the planned number of trees from exp(−β·max{L, L* + s}), capped."""
    if counted.convention != "all":
        raise ValueError(
            "draws are private only from a class that depends on no row: use convention='all'"
        )
    energy = planned_energy(counted.trees, planned, counted.unit)
    # On all sets of rows: how many they are belongs to the class, and rows prune none.
    least = float(counted.losses_by_leaves(counted.least_errors.best_errors).min())
    counts = counted.counted_within(energy.limits(least, counted.trees.most_leaves))
    law = gibbs(counts.by_leaves(), counted.trees, energy, least)
    cells = law.draw(planned.n_draws, rng)
    within_cap = iter(Walks(counts, rng).draw([cell for cell in cells if cell]))
    trees: list[Node] = []
    losses: list[float] = []
    for cell in cells:
        tree = uniform_tree(counted.trees, rng) if cell is None else next(within_cap)
        errors = counted.errors(tree) if cell is None else cell[1]
        trees.append(tree)
        losses.append(counted.loss(count_leaves(tree), errors))
    return DrawnTrees(tuple(trees), np.array(losses))


def error_spread(trees: TreeClass, planned: Plan, unit: int) -> int:
    """Bound, from public numbers, on the errors beyond the least of trees that draws count."""
    energy = planned_energy(trees, planned, unit)
    return math.ceil(unit * (energy.psi + energy.cap / energy.beta)) + 1


def planned_energy(trees: TreeClass, planned: Plan, unit: int) -> CappedEnergy:
    """Energy of the distribution that a plan's trees are drawn from."""
    return CappedEnergy.for_class(
        trees,
        unit,
        beta=planned.beta,
        psi=planned.law_threshold,
        leaf_penalty=planned.request.leaf_penalty,
    )


def counted_like(
    models: Any, X: ArrayLike, y: ArrayLike, without: Collection[int] = ()
) -> CountedTrees:
    """Count the class of drawn trees, without questions about some columns."""
    planned = models.planned
    if planned is None or not planned.request.questions:
        raise DataError(
            "these trees have no plan that lists their possible questions: trees drawn by "
            "RashomonTreeClassifier have one; count others with CountedTrees"
        )
    names = models.models.feature_names
    splits = ((names.index(name), threshold) for name, threshold in planned.request.questions)
    questions = ThresholdQuestions(tuple(s for s in splits if s[0] not in without), names)
    return CountedTrees(
        questions.answers(models.models.rows(encoded_rows(models, X))),
        y,
        questions=questions,
        max_leaves=planned.request.most_leaves,
        max_depth=planned.request.max_depth,
        leaf_penalty=planned.request.leaf_penalty,
        costs=planned.request.costs or None,
        classes=models.classes,
        most_memory=DEFAULT_MEMORY,  # who counts after a charge checked it before
        schema=models.schema,
    )


def planned_class(planned: Plan) -> TreeClass:
    """Class of the trees of a plan that names their questions; public."""
    settings = (planned.request.most_leaves, planned.request.max_depth, planned.request.n_labels)
    return TreeClass(len(planned.request.questions), *settings)
