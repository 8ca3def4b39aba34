"""What sets of decision trees can be written as."""

from typing import Any

from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node
from rashomon_explorer.rashomon_set.models.written import (
    as_dot,
    as_nested,
    as_sklearn,
    as_text,
)


class WrittenTrees:
    """Adds ``text``, ``dot``, ``to_treefarms`` and trees' ``to_sklearn`` to a set that holds them.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], ["b", "b", "a"], max_leaves=2)
    >>> models = counted.draw(1, psi=0.0, random_state=0)
    >>> print(models.text(0))
    x0?
      yes: b
      no: a
    >>> models.to_sklearn(0).predict([[1, 0], [0, 1]]).tolist()
    ['b', 'a']
    """

    models: Any
    classes: tuple[Any, ...]

    def text(self, draw: int) -> str:
        """Write one of the trees for people: a line a node.

        Raises
        ------
        TypeError
            If the set holds no trees.
        """
        return as_text(self._tree(draw), self.models.feature_names, self.classes)

    def dot(self, draw: int) -> str:
        """Write one of the trees in the DOT language, which Graphviz draws.

        Raises
        ------
        TypeError
            If the set holds no trees.
        """
        return as_dot(self._tree(draw), self.models.feature_names, self.classes)

    def to_treefarms(self) -> list[dict[str, Any]]:
        """Write all trees as TreeFARMS does; ``from_treefarms`` reads them.

        Raises
        ------
        TypeError
            If the set holds no trees.
        """
        return [as_nested(self._tree(draw)) for draw in range(len(self.models))]

    def _tree(self, draw: int) -> Node:
        if not isinstance(self.models, DecisionTrees):
            raise TypeError(f"{self.models.kind} have no decision trees: use scores and labels")
        return self.models.trees[draw]

    def _sklearn_tree(self, draw: int) -> Any:
        tree = self._tree(draw)
        names = self.models.feature_names
        return as_sklearn(tree, len(names) or 1 + _last_column(tree), self.classes)


def _last_column(tree: Node) -> int:
    if isinstance(tree, Leaf):
        return 0
    return max(tree.feature, _last_column(tree.if_true), _last_column(tree.if_false))
