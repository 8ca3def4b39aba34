"""Private draws of trees as they may leave the building."""

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.rashomon_set.arrays import Places
from rashomon_explorer.rashomon_set.files import load, written_as
from rashomon_explorer.rashomon_set.linear_only import LINEAR_ONLY
from rashomon_explorer.rashomon_set.links import in_words
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.parts import (
    Arrays,
    Values,
    labels,
    number,
    number_of,
    tree_plan_of,
    tree_plan_values,
)
from rashomon_explorer.rashomon_set.raw_tables import (
    class_labels,
    rows_by_name,
    schema_from,
    schema_values,
    unit_rows,
)
from rashomon_explorer.rashomon_set.released import CURATOR_ONLY
from rashomon_explorer.rashomon_set.selection import Selection
from rashomon_explorer.rashomon_set.written_trees import WrittenTrees

if TYPE_CHECKING:
    from rashomon_explorer.schema import TableSchema


@written_as("released trees", reader="ReleasedTrees.load", public=True)
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedTrees(WrittenTrees, Selection):
    """What may leave the building: paid trees, their guarantee, and public settings.

    Made by :meth:`PredictorSet.release`.

    Parameters
    ----------
    models : DecisionTrees
    psi : float
        Rashomon threshold, in units of the loss.
    classes : tuple
        Labels of the classes 0, 1, ….
    guarantee : Guarantee
    loss : str
        Which loss it is.
    steps : tuple of str, default=()
        How trees were chosen.
    planned : TreePlan or None, default=None
        What was known before a row was read: read it as ``plan``.
    schema : TableSchema or None, default=None
        What encodes raw tables for the trees; its declared or confirmed part.

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
    link: ClassVar[str] = "sign"  # labels are all that trees say

    models: DecisionTrees
    psi: float
    classes: tuple[Any, ...]
    guarantee: Guarantee
    loss: str
    steps: tuple[str, ...] = ()
    planned: TreePlan | None = None
    schema: "TableSchema | None" = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields back; without this method a copy would ask itself for it."""
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> NoReturn:
        if name in CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        if name == "plan":  # reached when the property of this name refuses
            raise AttributeError("plan: the file is of a version that kept none beside trees")
        if name in LINEAR_ONLY:
            raise AttributeError(f"{name}: {LINEAR_ONLY[name]}, and this release holds trees")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def plan(self) -> TreePlan:
        """What was known before a row was read: class, questions, price and promises."""
        if self.planned is None:
            raise AttributeError("plan")
        return self.planned

    @property
    def class_names(self) -> tuple[str, ...]:
        """Each class in words."""
        return in_words(self.classes)

    @property
    def n_draws(self) -> int:
        """Number of trees."""
        return len(self.models)

    @property
    def sampler(self) -> str:
        """Name of the sampler whose draws these are like: independent, of the planned law."""
        return "exact"

    @property
    def n_classes(self) -> int:
        """Classes that the trees tell apart."""
        return len(self.classes)

    def scores(self, X: Any) -> FloatArray:
        """Predicted classes of every tree as probabilities 0 and 1, as :class:`PredictorSet`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for several classes
            Of class 1 if there are two, otherwise of each class.
        """
        return self.models.scores(X)

    def labels(self, X: Any) -> NDArray[np.int_]:
        """Class 0, 1, … that every tree gives to every row, shape (n_draws, n_rows)."""
        return self.models.labels(X)

    def encode(self, X: Any) -> FloatArray:
        """Rows as the trees take them, from a raw table.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Without a schema the rows themselves.

        Raises
        ------
        DataError, ValueError
            If the table is encoded otherwise than the schema or the trees' columns say.
        """
        if self.schema is not None:
            return unit_rows(self.schema, X)
        names = self.models.feature_names
        rows = np.asarray(rows_by_name(X, names) if names else X, dtype=float)
        if rows.ndim == 2 and names and rows.shape[1] != len(names):
            raise ValueError(f"X must have shape (n_rows, {len(names)}), got {rows.shape}")
        return self.models.rows(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class that most of the trees say of each row of a raw table; of several the first.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)
            As the classifier's ``predict`` takes it.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.

        Raises
        ------
        DataError, ValueError
            If the table is encoded otherwise than the schema or the trees' columns say.
        """
        votes = np.eye(self.n_classes)[self.labels(self.encode(X))].mean(axis=0)
        return class_labels(self.classes, votes.argmax(axis=-1))

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Leaves of each tree."""
        return self.models.complexity(tol)

    def to_sklearn(self, draw: int) -> Any:
        """Make a fitted DecisionTreeClassifier of one of the trees."""
        return self._sklearn_tree(draw)

    @classmethod
    def load(cls, path: "str | PathLike[str]") -> Self:
        """Read a release that :meth:`save` wrote.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        DataError
            If the file holds something else, or was written by a newer version.
        """
        return load(path, cls)

    def to_parts(self) -> tuple[Arrays, Values]:
        """Arrays (none) and JSON values for a file."""
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
            psi=number_of(values["psi"]),
            classes=tuple(values["classes"]),
            guarantee=Guarantee.from_dict(values["guarantee"]),
            loss=values["loss"],
            steps=tuple(values["steps"]),
            planned=tree_plan_of(values.get("plan")),
            schema=schema_from(values),
        )

    def _taken(self, places: Places, step: str, guarantee: Guarantee) -> Self:
        kept = self.models.take(places)
        return replace(self, models=kept, guarantee=guarantee, steps=(*self.steps, step))
