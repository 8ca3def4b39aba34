"""Blocks of linear models, and groups of columns that form one feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import Fact, hit_rate_text
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.sets.files import (
    Arrays,
    Values,
    ellipsoid_from_parts,
    ellipsoid_parts,
    labels,
    number,
    number_from_value,
    plan_from_values,
    plan_values,
    scale_from_parts,
    scale_parts,
)
from rashomon_explorer.sets.scores import LINKS, ScoresRows, in_words, schema_from, schema_values
from rashomon_explorer.sets.selection import Places, Selection, frozen

if TYPE_CHECKING:
    from rashomon_explorer.data import TableSchema
    from rashomon_explorer.sets.sklearn_models import LinearModel

FeatureGroups = Mapping[str, tuple[str, ...]]
"""Columns of each feature by its name; all other columns are features themselves."""


def groups_by_name(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Find groups by column names: two or more columns ``"name=level"``."""
    found: dict[str, list[str]] = {}
    for name in names:
        stem, sign, _ = name.partition("=")
        if sign and stem and stem not in names:
            found.setdefault(stem, []).append(name)
    return {stem: tuple(columns) for stem, columns in found.items() if len(columns) > 1}


def checked_groups(
    groups: Mapping[str, Sequence[str]], names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Raise unless groups consist of existing columns, each in at most one group."""
    taken: dict[str, str] = {}
    for group, columns in groups.items():
        if isinstance(columns, str) or not len(columns):
            raise ValueError(f"the group {group!r} must be a list of columns, got {columns!r}")
        if group in names and group not in columns:
            raise ValueError(f"{group!r} is a column and cannot be a group of others")
        for column in columns:
            if column not in names:
                raise ValueError(f"the group {group!r} holds {column!r}, which is not a column")
            if column in taken:
                raise ValueError(f"{column!r} is in the groups {taken[column]!r} and {group!r}")
            taken[column] = group
    return {str(group): tuple(columns) for group, columns in groups.items()}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelBlock(ScoresRows, Selection):
    """Linear models and their predictions.

    Parameters
    ----------
    coef : ndarray of shape (n_draws, n_parameters)
        One model per row: a coefficient for each feature, the intercept last. A softmax link has
        such a block for each class except class 0, one class after the other; the score of class
        0 is 0.
    feature_names : tuple of str
        Names of the features; the last is ``"intercept"``.
    link : {"logistic", "sign", "softmax", "identity"}
        Link from a score to a prediction.
    row_norm : float
        Rows are clipped to this norm before they are scored, as they were for the draws.
    target_bounds : tuple of float
        Range of the targets, onto which identity scores in [−1, 1] are mapped.
    classes : tuple, default=()
        Public labels of the classes 0, 1, …, if known.
    plan : Plan
        Public plan of the draws: ψ, β, privacy cost and bounds.
    guarantee : Guarantee
        Guarantee of all draws, composed.
    steps : tuple of str, default=()
        Selection steps that were applied to the draws, in order.
    feature_groups : mapping of str to sequence of str, optional
        Columns of each feature by its name: importances group them unless columns are requested.
        By default the columns ``"name=level"`` of each name. Public, like the names.
    ellipsoid : CutEllipsoid, optional
        Region released with the draws under the same privacy cost; the draws are uniform on it.
    scale : ColumnMap, optional
        Centres and spreads that were released before the draws, if models use mapped columns.
        ``coef``, losses, ψ, ranges and importances are then in the mapped units. Methods take
        unmapped rows and map them themselves.
    schema : TableSchema, optional
        Encoder of raw tables for these models, if the estimator had a schema.

    Raises
    ------
    ValueError
        If the link is unknown, or names, classes and parameters do not match.
    """

    coef: FloatArray
    feature_names: tuple[str, ...]
    link: str
    row_norm: float
    target_bounds: tuple[float, float] = (-1.0, 1.0)
    classes: tuple[Any, ...] = ()
    plan: Plan
    guarantee: Guarantee
    steps: tuple[str, ...] = ()
    feature_groups: Mapping[str, Sequence[str]] | None = None
    ellipsoid: CutEllipsoid | None = None
    scale: ColumnMap | None = None
    schema: TableSchema | None = None
    complete: ClassVar[bool] = False  # draws are a sample of an infinite set of models

    def __post_init__(self) -> None:
        """Make the arrays read-only and check the fields."""
        object.__setattr__(self, "coef", frozen(self.coef))
        self._check()
        columns, given = self.feature_names[:-1], self.feature_groups
        groups = groups_by_name(columns) if given is None else checked_groups(given, columns)
        object.__setattr__(self, "feature_groups", MappingProxyType(groups))

    def _check(self) -> None:
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {sorted(LINKS)}, got {self.link!r}")
        width, names = self.coef.shape[-1], len(self.feature_names)
        scores_fit = width % names == 0 if self.link == "softmax" else width == names
        if self.coef.ndim != 2 or not width or not scores_fit:
            raise ValueError(
                f"coef must have shape (n_draws, {names}), one column for each feature name"
                f"{' and class but the first' if self.link == 'softmax' else ''}, got "
                f"{self.coef.shape}"
            )
        if self.classes and len(self.classes) != self.n_classes:
            raise ValueError(f"{len(self.classes)} labels are given for {self.n_classes} classes")

    def __getstate__(self) -> dict[str, Any]:
        """Return plain values: a read-only mapping cannot be pickled."""
        return {**self.__dict__, "feature_groups": dict(self.feature_groups or {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make arrays read-only again: pickling loses this flag."""
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_draws(self) -> int:
        """Number of models."""
        return len(self.coef)

    @property
    def psi(self) -> float:
        """Rashomon threshold, in units of the loss."""
        return self.plan.psi

    @property
    def beta(self) -> float:
        """Inverse temperature of the draws."""
        return self.plan.beta

    @property
    def task(self) -> str:
        """Either ``"classification"`` or ``"regression"``."""
        return "regression" if self.link == "identity" else "classification"

    @property
    def outputs(self) -> int:
        """Linear scores of a model for a row: one, or one for each class except class 0."""
        return self.coef.shape[1] // len(self.feature_names)

    @property
    def n_classes(self) -> int:
        """Number of classes that the models distinguish; 0 for a regression."""
        return self.outputs + 1 if self.task == "classification" else 0

    def _facts(self) -> list[Fact]:
        """Facts for the repr, with the plan's guarantee if no draw was filtered out."""
        planned = self.plan
        promised = self.as_drawn and self.guarantee.holds and has_hit_rate(planned)
        hits = f"≥ {hit_rate_text(planned.hit_rate_bound)} guaranteed"
        mapped = ("columns", "centred and scaled by released values; models are in those units")
        facts = [("hit rate", hits)] * promised + super()._facts()
        return facts + [mapped] * (self.scale is not None)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Text for each class: its label if that is text, otherwise ``"class "`` and the label."""
        return in_words(self.classes or range(self.n_classes))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the columns of ``coef``: features, after the class if scores are several."""
        if self.outputs == 1:
            return self.feature_names
        return tuple(
            f"{name}: {feature}" for name in self.class_names[1:] for feature in self.feature_names
        )

    def with_groups(self, groups: Mapping[str, Sequence[str]]) -> Self:
        """Return the same set with other groups of columns as features.

        Parameters
        ----------
        groups : mapping of str to sequence of str
            Columns of each feature by its name, such as those of a ``OneHotEncoder``; other columns
            are features themselves. An empty mapping removes all groups.

        Returns
        -------
        set of the same type
            All fields except the groups are shared with this set.

        Raises
        ------
        ValueError
            If a column is unknown or in two groups.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9, 0.0], [0.6, 0.1], [-0.7, 0.1], [-0.5, 0.0]] * 50, [1, 1, 0, 0] * 50
        >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_
        >>> dict(models.with_groups({"both": ["x0", "x1"]}).feature_groups)
        {'both': ('x0', 'x1')}
        """
        wanted = checked_groups(groups, self.feature_names[:-1])
        return self if wanted == self.feature_groups else replace(self, feature_groups=wanted)

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Count the coefficients above ``tol`` of each model (n_draws,), without intercepts."""
        each = self.coef.reshape(self.n_draws, self.outputs, -1)[..., :-1]
        return np.asarray((np.abs(each) > tol).sum(axis=(1, 2)))

    def to_sklearn(self, draw: int) -> LinearModel:
        """Return one model as a fitted scikit-learn model with the same predictions.

        Parameters
        ----------
        draw : int
            Index of the model.

        Returns
        -------
        LogisticRegression, LinearSVC or Ridge
            A fitted subclass of it, with ``encoded_coef_``, ``encoded_intercept_``,
            ``n_features_in_`` and ``classes_``: logistic regression for probabilities of two or
            more classes, a linear support vector classifier if only labels are predicted, ridge
            regression for targets.
            It clips rows to ``row_norm_`` first, as the set does, and then maps them by ``scale_``,
            which determines the units of ``encoded_coef_``. ``coef_`` exists only for a set that
            clips no row.

        Raises
        ------
        IndexError
            If there is no such model.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
        >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_
        >>> model = models.to_sklearn(2)
        >>> bool(np.allclose(model.predict_proba([[7.0]])[0, 1], models.scores([[7.0]])[2, 0]))
        True
        """
        # Local import: scikit-learn's linear models are slow to import.
        from rashomon_explorer.sets.sklearn_models import to_sklearn

        return to_sklearn(self, draw)

    def to_parts(self) -> tuple[Arrays, Values]:
        """Return the fields of a release; its file contains nothing else."""
        arrays, values = ellipsoid_parts(self.ellipsoid)
        return {"coef": self.coef, **arrays, **scale_parts(self.scale)}, {
            **values,
            "feature_names": list(self.feature_names),
            "link": self.link,
            "row_norm": number(self.row_norm),
            "target_bounds": [number(bound) for bound in self.target_bounds],
            "classes": labels(self.classes),
            "plan": plan_values(self.plan),
            "guarantee": self.guarantee.to_dict(),
            "steps": list(self.steps),
            "feature_groups": {k: list(v) for k, v in (self.feature_groups or {}).items()},
            **schema_values(self.schema),
        }

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""
        return cls(**cls._fields(arrays, values))

    @staticmethod
    def _fields(arrays: Arrays, values: Values) -> dict[str, Any]:
        low, high = (number_from_value(bound) for bound in values["target_bounds"])
        return {
            "coef": arrays["coef"],
            "feature_names": tuple(values["feature_names"]),
            "link": values["link"],
            "row_norm": number_from_value(values["row_norm"]),
            "target_bounds": (low, high),
            "classes": tuple(values["classes"]),
            "plan": plan_from_values(values["plan"]),
            "guarantee": Guarantee.from_dict(values["guarantee"]),
            "steps": tuple(values["steps"]),
            # Files of older versions have no groups: derive them from the names.
            "feature_groups": values.get("feature_groups"),
            "ellipsoid": ellipsoid_from_parts(arrays, values),
            "scale": scale_from_parts(arrays, number_from_value(values["row_norm"])),
            "schema": schema_from(values),
        }

    def _taken(self, places: Places, step: str, guarantee: Guarantee) -> Self:
        return replace(self, coef=self.coef[places], guarantee=guarantee, steps=(*self.steps, step))
