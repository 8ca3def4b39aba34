"""Released sets of trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.sets.files import (
    Arrays,
    Values,
    labels,
    load,
    number,
    number_from_value,
    tree_plan_from_values,
    tree_plan_values,
    written_as,
)
from rashomon_explorer.sets.linear import CURATOR_ONLY
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node
from rashomon_explorer.sets.models.written import (
    as_dot,
    as_nested,
    as_sklearn,
    as_text,
    as_timbertrek,
)
from rashomon_explorer.sets.scores import (
    class_labels,
    in_words,
    rows_by_name,
    schema_from,
    schema_values,
    unit_rows,
)
from rashomon_explorer.sets.selection import LINEAR_ONLY, Places, Selection

if TYPE_CHECKING:
    from rashomon_explorer.data import TableSchema


class WrittenTrees:
    """Adds ``text``, ``dot``, ``to_treefarms``, ``to_timbertrek`` and trees' ``to_sklearn``."""

    _curated: ClassVar[bool]
    models: Any
    classes: tuple[Any, ...]

    def text(self, draw: int) -> str:
        """Write one of the trees as text, one line per node."""
        return as_text(self._tree(draw), self.models.feature_names, self.classes)

    def dot(self, draw: int) -> str:
        """Write one of the trees in the DOT language, which Graphviz draws."""
        return as_dot(self._tree(draw), self.models.feature_names, self.classes)

    def to_treefarms(self) -> list[dict[str, Any]]:
        """Convert all trees to the TreeFARMS format, which ``from_treefarms`` reads."""
        return [as_nested(self._tree(draw)) for draw in range(len(self.models))]

    def to_timbertrek(self, X: Any = None, y: Any = None) -> dict[str, Any]:
        """Convert all trees to the TimberTrek format; ``json.dump`` writes its file."""
        trees = [self._tree(draw) for draw in range(len(self.models))]
        if len(self.classes) != 2:
            raise TypeError(f"TimberTrek's leaves are + or -, and the classes are {self.classes}")
        if (X is None) != (y is None):
            raise ValueError("give both X and y: rows, and the label of each")
        rows = None
        losses = getattr(self, "losses", np.full(len(trees), np.nan)) if self._curated else None
        if X is not None:
            rows = self.models.rows(X), class_codes(np.asarray(y), self.classes, "y")
        if losses is None or np.isnan(losses).any():
            if rows is None:
                raise ValueError("the losses of these trees are unknown: give rows, X= and y=")
            losses = (self.models.labels(X) != rows[1]).mean(axis=1)
        return as_timbertrek(
            trees, self._numbers(), losses.tolist(), self.models.feature_names, rows
        )

    def _numbers(self) -> list[int]:
        """Numbers of the trees in their names, if all names have one; otherwise 1, 2, …."""
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


@written_as("released trees", reader="ReleasedTrees.load", public=True)
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedTrees(WrittenTrees, Selection):
    """Released set: charged trees, their guarantee, and public settings.

    Returned by :meth:`PredictorSet.release`.

    Parameters
    ----------
    models : DecisionTrees
    psi : float
        Rashomon threshold, in units of the loss.
    classes : tuple
        Labels of the classes 0, 1, ….
    guarantee : Guarantee
    loss : str
        Name of the loss.
    steps : tuple of str, default=()
        Selection steps of the trees.
    planned : TreePlan or None, default=None
        Public plan of the draws; read it as ``plan``.
    schema : TableSchema or None, default=None
        Encoder of raw tables for the trees; only its declared or confirmed part.

    Examples
    --------
    >>> from rashomon_explorer import RashomonTreeClassifier
    >>> X, y = [[0, 1], [1, 1]] * 500, [0, 1] * 500
    >>> clf = RashomonTreeClassifier(max_leaves=2, n_draws=3).fit(X, y)
    >>> released = clf.rashomon_set_.release()
    >>> released.labels([[1, 0]]).shape, released.guarantee.holds
    ((3, 1), True)
    >>> released.plan.questions, released.plan.n
    ((('x0', None), ('x1', None)), 1000)
    """

    _curated: ClassVar[bool] = False
    task: ClassVar[str] = "classification"
    link: ClassVar[str] = "sign"  # trees predict only labels

    models: DecisionTrees
    psi: float
    classes: tuple[Any, ...]
    guarantee: Guarantee
    loss: str
    steps: tuple[str, ...] = ()
    planned: TreePlan | None = None
    schema: TableSchema | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields; without this method a copy would look it up in itself."""
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> NoReturn:
        if name in CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        if name == "plan":  # reached when the property raises
            raise AttributeError(
                "plan: the file was written by a version that stored no plan with trees"
            )
        if name in LINEAR_ONLY:
            raise AttributeError(f"{name}: {LINEAR_ONLY[name]}, and this release holds trees")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def plan(self) -> TreePlan:
        """Plan made before a row was read: tree class, questions, privacy cost and guarantees."""
        if self.planned is None:
            raise AttributeError("plan")
        return self.planned

    @property
    def class_names(self) -> tuple[str, ...]:
        """Text for each class."""
        return in_words(self.classes)

    @property
    def n_draws(self) -> int:
        """Number of trees."""
        return len(self.models)

    @property
    def mechanism(self) -> str:
        """Sampler with the distribution of these draws: independent, from the planned one."""
        return "exact"

    @property
    def n_classes(self) -> int:
        """Number of classes that the trees distinguish."""
        return len(self.classes)

    def scores(self, X: Any) -> FloatArray:
        """Predicted classes of every tree as probabilities 0 and 1, as :class:`PredictorSet`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for several classes
            Probability of class 1 for two classes, otherwise of each class.
        """
        return self.models.scores(X)

    def labels(self, X: Any) -> NDArray[np.int_]:
        """Class 0, 1, … of every tree for every row, shape (n_draws, n_rows)."""
        return self.models.labels(X)

    def encode(self, X: Any) -> FloatArray:
        """Encode a raw table as rows for the trees.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Without a schema the unchanged rows.

        Raises
        ------
        DataError, ValueError
            If the table does not match the schema or the trees' columns.
        """
        if self.schema is not None:
            return unit_rows(self.schema, X)
        names = self.models.feature_names
        rows = np.asarray(rows_by_name(X, names) if names else X, dtype=float)
        if rows.ndim == 2 and names and rows.shape[1] != len(names):
            raise ValueError(f"X must have shape (n_rows, {len(names)}), got {rows.shape}")
        return self.models.rows(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """Majority vote of the trees for each row of a raw table; the first class on a tie.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)
            Table as for the classifier's ``predict``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.

        Raises
        ------
        DataError, ValueError
            If the table does not match the schema or the trees' columns.
        """
        votes = np.eye(self.n_classes)[self.labels(self.encode(X))].mean(axis=0)
        return class_labels(self.classes, votes.argmax(axis=-1))

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Count the leaves of each tree."""
        return self.models.complexity(tol)

    def to_sklearn(self, draw: int) -> Any:
        """Return one of the trees as a fitted DecisionTreeClassifier."""
        return self._sklearn_tree(draw)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a release that :meth:`save` wrote.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        DataError
            If the file contains another object, or was written by a newer version.
        """
        return load(path, cls)

    def to_parts(self) -> tuple[Arrays, Values]:
        """Return arrays (none) and JSON values for a file."""
        return {}, {
            "models": self.models.to_parts()[1],
            "psi": number(self.psi),
            "classes": labels(self.classes),
            "guarantee": self.guarantee.to_dict(),
            "loss": self.loss,
            "steps": list(self.steps),
            "plan": tree_plan_values(self.planned),
            **schema_values(self.schema),
        }

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""
        return cls(
            models=DecisionTrees.from_parts({}, values["models"]),
            psi=number_from_value(values["psi"]),
            classes=tuple(values["classes"]),
            guarantee=Guarantee.from_dict(values["guarantee"]),
            loss=values["loss"],
            steps=tuple(values["steps"]),
            planned=tree_plan_from_values(values.get("plan")),
            schema=schema_from(values),
        )

    def _taken(self, places: Places, step: str, guarantee: Guarantee) -> Self:
        kept = self.models.take(places)
        return replace(self, models=kept, guarantee=guarantee, steps=(*self.steps, step))
