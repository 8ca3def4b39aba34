"""What sets of decision trees can be written as."""

from typing import Any, ClassVar

import numpy as np

from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.models.fitted import class_codes
from rashomon_explorer.rashomon_set.models.timbertrek import as_timbertrek
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node
from rashomon_explorer.rashomon_set.models.written import (
    as_dot,
    as_nested,
    as_sklearn,
    as_text,
)


class WrittenTrees:
    """Adds ``text``, ``dot``, ``to_treefarms``, ``to_timbertrek`` and trees' ``to_sklearn``.

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

    _curated: ClassVar[bool]
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

    def to_timbertrek(self, X: Any = None, y: Any = None) -> dict[str, Any]:
        """Write all trees as TimberTrek does; ``json.dump`` makes its file of it.

        ``from_timbertrek`` reads it back. A question is a column of 0 and 1; where trees compare
        numbers, each comparison is numbered as a column of its own, with its words in
        ``featureMap``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional
            Rows as the trees take them: what is written then says how many of them reach each
            node, and is the curator's.
        y : array-like of shape (n_rows,), optional
            Their labels.

        Returns
        -------
        dict
            ``trie``, ``featureMap`` and ``treeMap``. The objective of a tree is its loss, and the
            share of errors on X where the set knows no loss.

        Raises
        ------
        TypeError
            If the set holds no trees, or trees of more than two classes.
        ValueError
            If the set knows no losses and there are no rows, or X and y do not go together.
        """
        trees = [self._tree(draw) for draw in range(len(self.models))]
        if len(self.classes) != 2:
            raise TypeError(f"TimberTrek's leaves say + or -, and there are {self.classes} here")
        if (X is None) != (y is None):
            raise ValueError("X and y go together: rows, and the label of each")
        rows = None
        losses = getattr(self, "losses", np.full(len(trees), np.nan)) if self._curated else None
        if X is not None:
            rows = self.models.rows(X), class_codes(np.asarray(y), self.classes, "y")
        if losses is None or np.isnan(losses).any():
            if rows is None:
                raise ValueError("no losses are known of these trees: give rows, X= and y=")
            losses = (self.models.labels(X) != rows[1]).mean(axis=1)
        return as_timbertrek(
            trees, self._numbers(), losses.tolist(), self.models.feature_names, rows
        )

    def _numbers(self) -> list[int]:
        """Numbers of the trees in their names, if each has one; otherwise 1, 2, …."""
        told = [name.removeprefix("tree ") for name in getattr(self, "names", ())]
        if told and len(set(told)) == len(told) and all(number.isdigit() for number in told):
            return [int(number) for number in told]
        return list(range(1, len(self.models) + 1))

    def _tree(self, draw: int) -> Node:
        if not isinstance(self.models, DecisionTrees):
            raise TypeError(f"{self.models.kind} have no decision trees: use scores and labels")
        return self.models.trees[draw]

    def _sklearn_tree(self, draw: int) -> Any:
        tree = self._tree(draw)
        names = self.models.feature_names
        return as_sklearn(tree, len(names) or 1 + _last_column(tree), self.classes, names)


def _last_column(tree: Node) -> int:
    if isinstance(tree, Leaf):
        return 0
    return max(tree.feature, _last_column(tree.if_true), _last_column(tree.if_false))
