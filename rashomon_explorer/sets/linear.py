"""Rashomon sets of linear models, and their releases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import Delegated, FloatArray, read_only_copy
from rashomon_explorer._utils.formatting import Fact, hit_rate_text
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.minimisation import Minimum
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import scores as scoring
from rashomon_explorer.sets.base import CuratorSet, ModelIndices, ModelSet
from rashomon_explorer.sets.files import written_as

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.base import Draws
    from rashomon_explorer.mechanisms.plans import Plan
    from rashomon_explorer.sets.sklearn_models import LinearModel


def groups_by_name(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Find groups by column names: two or more columns ``"name=level"``, but no comparisons."""
    groups: dict[str, list[str]] = {}
    for name in names:
        stem, sign, level = name.partition("=")
        compares = stem.endswith(("<", ">", "!", "≤", "≥")) or level.startswith("=")
        if sign and stem and stem not in names and not compares:
            groups.setdefault(stem, []).append(name)
    return {stem: tuple(columns) for stem, columns in groups.items() if len(columns) > 1}


def checked_groups(
    groups: Mapping[str, Sequence[str]], names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Raise unless groups consist of existing columns, each in at most one group."""
    group_of: dict[str, str] = {}
    for group, columns in groups.items():
        if isinstance(columns, str) or not len(columns):
            raise ValueError(f"the group {group!r} must be a list of columns, got {columns!r}")
        if group in names and group not in columns:
            raise ValueError(f"{group!r} is a column and cannot be a group of others")
        for column in columns:
            if column not in names:
                raise ValueError(f"the group {group!r} holds {column!r}, which is not a column")
            if column in group_of:
                raise ValueError(f"{column!r} is in the groups {group_of[column]!r} and {group!r}")
            group_of[column] = group
    return {str(group): tuple(columns) for group, columns in groups.items()}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinearSet(ModelSet):
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

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> models.coef.shape, models.feature_names, models.labels([[0.8], [-0.6]]).shape
    ((5, 2), ('x0', 'intercept'), (5, 2))
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
        object.__setattr__(self, "coef", read_only_copy(self.coef))
        self._check()
        columns, declared = self.feature_names[:-1], self.feature_groups
        groups = groups_by_name(columns) if declared is None else checked_groups(declared, columns)
        object.__setattr__(self, "feature_groups", MappingProxyType(groups))

    def _check(self) -> None:
        if self.link not in scoring.LINKS:
            raise ValueError(f"link must be one of {sorted(scoring.LINKS)}, got {self.link!r}")
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

    n_draws = Delegated("coef", "Number of models.", len)
    beta = Delegated[float]("plan.beta", "Inverse temperature of the draws.")

    @property
    def psi(self) -> float:
        """Rashomon threshold, in units of the loss."""
        return self.plan.psi

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
        has_guarantee = self.as_drawn and self.guarantee.holds and self.plan.hit_rate is not None
        hits = f"≥ {hit_rate_text(self.plan.hit_rate_bound)} guaranteed"
        mapped = ("columns", "centred and scaled by released values; models are in those units")
        facts = [("hit rate", hits)] * has_guarantee + super()._facts()
        return facts + [mapped] * (self.scale is not None)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the columns of ``coef``: features, after the class if scores are several."""
        if self.outputs == 1:
            return self.feature_names
        return tuple(
            f"{name}: {feature}" for name in self.class_names[1:] for feature in self.feature_names
        )

    def encode(self, X: Any) -> FloatArray:
        """Encode a raw table as the estimator does."""
        if self.schema is not None:
            return scoring.scaled_rows(self.schema, X, self.row_norm)
        return scoring.named_rows(X, self.feature_names[:-1])

    def predict(self, X: Any) -> NDArray[Any]:
        """Prediction of the mean over the models for each row of a raw table."""
        return scoring.mean_prediction(self, self._scores(self.coef, self.encode(X)))

    def margins(self, X: Any) -> FloatArray:
        """Linear score of every model for every row of a raw or encoded table, before the link."""
        return self._margins(self.coef, X)

    def rows(self, X: Any) -> FloatArray:
        """Rows of a raw or encoded table for the models: clipped, and mapped by a scale."""
        return scoring.model_rows(self._encoded_rows(X), self.row_norm, self.scale)

    def scores(self, X: Any) -> FloatArray:
        """Predictions of every model for every row of a raw or encoded table."""
        return self._scores(self.coef, X)

    def _margins(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        rows = self._encoded_rows(X)
        scores = scoring.linear_scores(coef, rows, self.row_norm, self.outputs, self.scale)
        if self.link != "softmax":
            return scores[..., 0]
        return np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)

    def _encoded_rows(self, X: ArrayLike) -> FloatArray:
        """Return encoded rows, of a raw table or as they are; raise for other columns."""
        table = scoring.encoded_rows(self, X)
        named = scoring.rows_by_name(table, self.feature_names[:-1], self.schema)
        rows = np.asarray(named, dtype=float)
        if self.schema is not None:
            scoring.check_encoded(rows, self.row_norm)
        return rows

    def _scores(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        return scoring.LINKS[self.link](self._margins(coef, X), self.target_bounds)

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
        """
        groups = checked_groups(groups, self.feature_names[:-1])
        return self if groups == self.feature_groups else replace(self, feature_groups=groups)

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
        """
        # Local import: scikit-learn's linear models are slow to import.
        from rashomon_explorer.sets.sklearn_models import to_sklearn

        return to_sklearn(self, draw)

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        return {"coef": self.coef[indices]}


@written_as("release")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedSet(LinearSet):
    """Released set: charged draws, their guarantee, and public settings.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> released = models.release()
    >>> type(released).__name__, hasattr(released, "losses"), released.guarantee == models.guarantee
    ('ReleasedSet', False, True)
    """


@written_as("linear draws")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RashomonSet(LinearSet, CuratorSet):
    """Draws with losses and other private values, for the curator only: not private.

    Parameters
    ----------
    losses : ndarray of shape (n_draws,)
        Loss of each model on the private rows.
    minimum : Minimum
        Certified minimum of the loss.
    clipped_share : float
        Share of rows that were longer than ``row_norm``.
    acceptance : float
        Accepted draws per evaluated model.
    mechanism : str
        Name of the mechanism that drew them.
    narrowed : float, optional
        Another ψ, set by :meth:`inside` or :meth:`rethreshold`; the plan keeps the original
        one.
    reaches_sphere : bool, default=False
        Whether the Rashomon set is known to extend beyond the ball; checked only without privacy.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> models.coef.shape, models.feature_names
    ((5, 2), ('x0', 'intercept'))
    >>> models.release().hit_rate
    Traceback (most recent call last):
        ...
    rashomon_explorer.exceptions.CuratorOnlyError: hit_rate is computed from private rows: ...
    """

    losses: FloatArray
    minimum: Minimum
    clipped_share: float
    acceptance: float
    mechanism: str
    narrowed: float | None = None
    reaches_sphere: bool = False

    def __post_init__(self) -> None:
        """Make the curator's arrays read-only, too."""
        super().__post_init__()
        object.__setattr__(self, "losses", read_only_copy(self.losses))
        minimum = replace(self.minimum, theta=read_only_copy(self.minimum.theta))
        object.__setattr__(self, "minimum", minimum)

    best = Delegated[FloatArray](
        "minimum.theta", "Parameters (n_parameters,) of the certified best model."
    )
    least = Delegated[float](
        "minimum.value", "Loss of the certified best model, which ``excess`` is relative to."
    )

    @property
    def psi(self) -> float:
        """Rashomon threshold, in units of the loss."""
        return self.plan.psi if self.narrowed is None else self.narrowed

    @property
    def notes(self) -> tuple[str, ...]:
        """Message if the radius binds at the best model, with a suggestion; data-dependent."""
        radius = self.plan.radius
        if radius is not None and self.reaches_sphere:
            return (f"the radius binds: {sphere_in_words(radius)}",)
        if radius is None or not self.minimum.on_boundary:
            return ()
        return (
            f"the radius binds: the best model lies on the sphere ‖θ‖ = {radius:g}, and better "
            f"ones may lie beyond; try radius={2 * radius:g}, at which the same privacy cost "
            f"gives at most half of β: plan it first",
        )

    def best_scores(self, X: ArrayLike) -> FloatArray:
        """Predictions of the certified best model, as :meth:`scores` without the first axis."""
        return np.asarray(self._scores(self.best[None, :], X)[0])

    def release(self, *, warn: bool = True) -> ReleasedSet:
        """Return only the draws and their guarantee.

        Parameters
        ----------
        warn : bool, default=True
            Whether to warn if their plan is weak.

        Raises
        ------
        CuratorOnlyError
            If the draws have no guarantee.

        Warns
        -----
        WeakGuaranteeWarning
            If the bounds of their plan are so weak that the draws may be useless.
        """
        # Local import: planning is slow to import, and reading a set does not need it.
        from rashomon_explorer.mechanisms.planner import warn_if_weak

        released = self._released(
            ReleasedSet,
            "draws",
            plan=self.plan.without_candidates(),
            schema=scoring.released_schema(self.schema, self.feature_names[:-1]),
        )
        if warn and self.as_drawn:
            warn_if_weak(self.plan, "this release")
        return released

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        return {**super()._at(indices), "losses": self.losses[indices]}

    def _within(self, psi: float) -> Self:
        return replace(self, narrowed=psi)


def sphere_in_words(radius: float) -> str:
    """Warning text for a Rashomon set that reaches the boundary of its ball."""
    return (
        f"the Rashomon set reaches the sphere ‖θ‖ = {radius:.4g}: models beyond it are as good and "
        "are left out. A larger radius= includes more of them; a ridge= > 0 bounds the set without "
        "a ball"
    )


_UNKNOWN = no_guarantee("it is not known how these models were drawn")


def from_draws(
    problem: Problem,
    draws: Draws | ArrayLike,
    psi: float,
    *,
    feature_names: Sequence[str] | None = None,
    feature_groups: Mapping[str, Sequence[str]] | None = None,
    classes: Sequence[Any] = (),
    target_bounds: tuple[float, float] = (-1.0, 1.0),
    mechanism: str = "unknown",
    guarantee: Guarantee | None = None,
) -> RashomonSet:
    """Create a set from linear models of a problem, for samplers that no estimator runs.

    Parameters
    ----------
    problem : Problem
        Rows, loss and domain, which determine losses and the certified minimum.
    draws : Draws, or array-like of shape (n_draws, p)
        Models; losses of a ``Draws`` are used unchanged.
    psi : float
        Rashomon threshold.
    feature_names : sequence of str, optional
        Names without the intercept; by default ``x0``, ``x1``, ….
    feature_groups : mapping of str to sequence of str, optional
        Columns that are one feature; by default the ``"name=level"`` of each name.
    classes : sequence, default=()
        Labels of the classes 0, 1, ….
    target_bounds : tuple of float, default=(-1.0, 1.0)
        Range of the targets of a regression.
    mechanism : str, default="unknown"
        Name of the mechanism.
    guarantee : Guarantee, optional
        The sampler's own guarantee for these draws. Without it there is none: the distribution of
        the draws is unknown.

    Raises
    ------
    ValueError
        If a shape does not match, a model is not finite, ψ is negative.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
    >>> from rashomon_explorer.mechanisms.base import collect
    >>> from rashomon_explorer.mechanisms.target import GibbsTarget
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.9], [0.6], [-0.7], [-0.5]], [1, 1, -1, -1])
    >>> target = GibbsTarget(problem, beta=10.0, psi=0.1)
    >>> drawn = collect(HitAndRunSampler(), target, 6, np.random.default_rng(0))
    >>> models = from_draws(problem, drawn, 0.1, mechanism="hit_and_run")
    >>> models.coef.shape, models.hit_rate, models.guarantee.holds
    ((6, 2), 1.0, False)
    """
    if not psi >= 0:
        raise ValueError(f"psi must be >= 0, got {psi!r}")
    drawn: Any = draws if hasattr(draws, "coef") else None
    theta = np.asarray(draws if drawn is None else drawn.coef, dtype=float)
    if theta.ndim != 2 or theta.shape[1] != problem.p or not np.isfinite(theta).all():
        raise ValueError(
            f"draws must be finite, of shape (n_draws, {problem.p}), got shape {theta.shape}"
        )
    best = _with_intercepts(problem.minimum.theta[None], problem)[0]
    n_features = problem.p // problem.loss.outputs - problem.intercept
    oscillation = math.inf  # without a declared bound on the rows
    if math.isfinite(problem.row_norm):
        oscillation = problem.constants.charged_oscillation
    return RashomonSet(
        coef=_with_intercepts(theta, problem),
        feature_names=(*_names(feature_names, n_features), "intercept"),
        feature_groups=feature_groups,
        classes=tuple(np.asarray(classes).tolist()),
        link=problem.loss.link,
        row_norm=problem.row_norm,
        target_bounds=target_bounds,
        plan=plan_without_budget(theta.shape, psi, problem.loss.name, problem.n, oscillation),
        guarantee=_UNKNOWN if guarantee is None else guarantee,
        losses=problem.value(theta.T) if drawn is None else drawn.losses,
        minimum=replace(problem.minimum, theta=best),
        clipped_share=getattr(problem, "clipped_share", 0.0),
        acceptance=math.nan if drawn is None else drawn.acceptance,
        mechanism=mechanism,
    )


def _with_intercepts(theta: FloatArray, problem: Problem) -> FloatArray:
    """Add an intercept of 0 if the problem has none: models in sets always have one."""
    if problem.intercept:
        return theta
    each = theta.reshape(len(theta), problem.loss.outputs, -1)
    return np.pad(each, [(0, 0), (0, 0), (0, 1)]).reshape(len(theta), -1)


def _names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{j}" for j in range(n_features))
    if isinstance(names, str) or len(names) != n_features:
        raise ValueError(f"feature_names must hold {n_features} names, got {names!r}")
    return tuple(str(name) for name in names)


def plan_without_budget(
    shape: tuple[int, ...], psi: float, loss: str, n: int = 1, oscillation: float = math.inf
) -> Plan:
    """Plan without a budget and a guarantee, for (n_draws, p) parameters."""
    # Local import: plans are slow to import.
    from rashomon_explorer.mechanisms.plans import unplanned

    return unplanned(shape, psi, loss, _UNKNOWN, n, oscillation)
