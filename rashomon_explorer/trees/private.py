"""Private draws of trees: exact draws from the thresholded Gibbs distribution of a plan."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.sets.models.trees import Leaf, Node
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.law import CappedEnergy, any_tree, gibbs
from rashomon_explorer.trees.sampling import Walks


@dataclass(frozen=True)
class DrawnTrees:
    """Independent draws, with their losses (for the curator)."""

    trees: tuple[Node, ...]
    losses: FloatArray

    def first(self, count: int) -> "DrawnTrees":
        """Keep the first ``count`` draws."""
        return DrawnTrees(self.trees[:count], self.losses[:count])


def gibbs_draws(counted: CountedTrees, planned: TreePlan, rng: np.random.Generator) -> DrawnTrees:
    """Draw the planned number of trees from exp(−β·max{L, L* + s}), capped."""
    if counted.convention != "all":
        raise ValueError(
            "draws are private only from a class that depends on no row: use convention='all'"
        )
    energy = CappedEnergy.of(
        counted.trees,
        counted.unit,
        beta=planned.beta,
        psi=planned.law_psi,
        leaf_penalty=planned.leaf_penalty,
    )
    within = energy.limits(counted.least, counted.trees.most_leaves)
    counts = counted.counted_within(within)
    law = gibbs(counts.by_leaves(), counted.trees, energy, counted.least)
    cells = law.draw(planned.n_draws, rng)
    within_cap = iter(Walks(counts, rng).draw([cell for cell in cells if cell]))
    trees: list[Node] = []
    losses: list[float] = []
    for cell in cells:
        tree = any_tree(counted.trees, rng) if cell is None else next(within_cap)
        errors = counted.errors(tree) if cell is None else cell[1]
        trees.append(tree)
        losses.append(counted.loss(leaves_of(tree), errors))
    return DrawnTrees(tuple(trees), np.array(losses))


def leaves_of(tree: Node) -> int:
    """Count the leaves of a tree."""
    if isinstance(tree, Leaf):
        return 1
    return leaves_of(tree.if_true) + leaves_of(tree.if_false)
