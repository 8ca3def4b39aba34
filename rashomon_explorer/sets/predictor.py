"""Sets of models that are not linear draws, and releases of trees."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import Delegated, FloatArray, likeliest, read_only_copy
from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.data import TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.minimisation import Minimum
from rashomon_explorer.sets import scores as scoring
from rashomon_explorer.sets.base import CuratorSet, ModelIndices, ModelSet
from rashomon_explorer.sets.files import written_as
from rashomon_explorer.sets.linear import RashomonSet, plan_without_budget
from rashomon_explorer.sets.models import Models, fitted, written
from rashomon_explorer.sets.models.trees import DecisionTrees, sklearn_trees, tree_columns

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.plans import Plan

NOT_PRIVATE = no_guarantee("these models were not drawn privately")


class PredictorModels(ModelSet):
    """Models that predict; decision trees can also be written in other formats.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> isinstance(from_predictions([[0.2, 0.9], [0.1, 0.8]], [0, 1]), PredictorModels)
    True
    """

    models: Any
    planned: Plan | None
    schema: TableSchema | None

    @property
    def plan(self) -> Plan:
        """Plan of private draws of trees: tree class, questions, privacy cost and guarantees."""
        if self.planned is None:
            raise AttributeError("plan")
        return self.planned

    n_draws = Delegated("models", "Number of models.", len)
    n_classes = Delegated(
        "classes", "Number of classes that the models distinguish; 0 for a regression.", len
    )

    def encode(self, X: Any) -> Any:
        """Encode a raw table as the estimator does; models of other kinds take it as it is."""
        if self.schema is not None:
            return scoring.unit_rows(self.schema, X)
        if not isinstance(self.models, DecisionTrees):
            return X
        names = self.models.feature_names
        return self.models.rows(scoring.named_rows(X, names) if names else X)

    def scores(self, X: Any = None) -> FloatArray:
        """Predictions of every model for every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional
            The table that the estimator took, or rows in any form that the models accept. Omit
            them for stored predictions, which are for their own rows.

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for several classes
            Probability of the second class or of each class (1.0 and 0.0 if a model predicts only
            labels, as trees do), or the predicted target.

        Raises
        ------
        ValueError
            If rows are missing or not accepted, or a prediction is not finite.
        """
        return np.asarray(self.models.scores(scoring.encoded_rows(self, X)))

    def labels(self, X: Any = None) -> NDArray[np.int_]:
        """Class 0, 1, … of every model for every row: what fitted models predict themselves.

        Of other models the likeliest one, the first on a tie.
        """
        if self.classes and isinstance(self.models, fitted.FittedModels):
            return self.models.labels(scoring.encoded_rows(self, X))
        return super().labels(X)

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Leaves of each tree, or coefficients above ``tol`` in size, shape (n_draws,)."""
        return np.asarray(self.models.complexity(tol))

    def to_sklearn(self, draw: int) -> Any:
        """Return one of the fitted models itself, or a decision tree converted to scikit-learn.

        Raises
        ------
        TypeError
            If the set contains only predictions, or a tree with a question that scikit-learn lacks.
        """
        if isinstance(self.models, fitted.FittedModels):
            return self.models.estimators[draw]
        tree, names = self.decision_trees.trees[draw], self.decision_trees.feature_names
        width = len(names) or 1 + max(tree_columns(tree), default=0)
        return written.as_sklearn(tree, width, self.classes, names)

    def text(self, draw: int) -> str:
        """Write one of the trees as text, one line per node."""
        trees = self.decision_trees
        return written.as_text(trees.trees[draw], trees.feature_names, self.classes)

    def to_treefarms(self) -> list[dict[str, Any]]:
        """Convert all trees to the TreeFARMS format, which ``from_treefarms`` reads."""
        return [written.as_nested(tree) for tree in self.decision_trees.trees]

    @cached_property
    def decision_trees(self) -> DecisionTrees:
        """Trees that predict the labels of the models; also of scikit-learn's fitted trees."""
        trees: Any = self.models
        if isinstance(trees, fitted.FittedModels):
            trees = sklearn_trees(trees.estimators, trees.classes)
        if not isinstance(trees, DecisionTrees):
            raise TypeError(f"{self.models.kind} have no decision trees: use scores and labels")
        return trees

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        return {"models": self.models.take(indices)}


@written_as("released trees")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedTrees(PredictorModels):
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
    planned : Plan or None, default=None
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
    >>> released.plan.request.questions, released.plan.n
    ((('x0', None), ('x1', None)), 1000)
    """

    task: ClassVar[str] = "classification"
    link: ClassVar[str] = "sign"  # trees predict only labels

    models: DecisionTrees
    psi: float
    classes: tuple[Any, ...]
    guarantee: Guarantee
    loss: str
    steps: tuple[str, ...] = ()
    planned: Plan | None = None
    schema: TableSchema | None = None

    mechanism: ClassVar[str] = "exact"  # independent draws from the planned distribution

    def predict(self, X: Any) -> NDArray[Any]:
        """Majority vote of the trees for each row of a raw table; the first class on a tie."""
        return scoring.mean_prediction(self, self.scores(self.encode(X)))


@written_as("models")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictorSet(PredictorModels, CuratorSet):
    """Models that are not linear draws, for the curator only: not private.

    Returned by :func:`rashomon_explorer.sets.from_estimators`, ``from_predictions``,
    ``from_treefarms``, by ``RashomonTreeClassifier`` and by
    :class:`rashomon_explorer.trees.CountedTrees`. Coefficients exist only if all models are
    linear; a release and a plan exist only for trees that were drawn privately.

    Parameters
    ----------
    models : Models
        Models that predict.
    reference : Models
        The one model that others are compared with: the best of the source.
    losses : ndarray of shape (n_draws,)
        Loss of each model; all NaN if the source has none.
    least : float
        Loss of the best model.
    psi : float
        Rashomon threshold, in units of the loss.
    task : {"classification", "regression"}
    classes : tuple, default=()
        Labels of the classes 0, 1, ….
    names : tuple of str, default=()
        Names of the models.
    loss : str, default="unknown"
        Name of the loss.
    steps : tuple of str, default=()
        Selection steps of the models.
    complete : bool, default=False
        Whether the set contains every model within ψ, as an enumerated set does: measures over the
        models are then exact. A selection other than :meth:`inside` is not complete.
    independent : bool, default=False
        Whether they are independent draws from one distribution, as of ``CountedTrees`` and of
        ``RashomonTreeClassifier``: samples then have intervals (``enough_draws``).
    uniform : bool, default=False
        Whether that distribution is uniform on all models within ψ, as of ``CountedTrees.draw``.
    planned : Plan or None, default=None
        Public plan of private draws of trees; read it as ``plan``.
    schema : TableSchema or None, default=None
        Encoder of raw tables for trees, if the classifier had a schema.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> chances = [[0.9, 0.2, 0.6], [0.8, 0.1, 0.4], [0.1, 0.9, 0.5]]
    >>> models = from_predictions(chances, [1, 0, 1], psi=0.3)
    >>> models.hit_rate.__round__(2), models.inside().names
    (0.67, ('model 0', 'model 1'))
    """

    models: Models
    reference: Models
    losses: FloatArray
    least: float
    psi: float
    task: str
    classes: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    loss: str = "unknown"
    guarantee: Guarantee = NOT_PRIVATE
    steps: tuple[str, ...] = ()
    complete: bool = False
    independent: bool = False
    uniform: bool = False
    planned: Plan | None = None
    schema: TableSchema | None = None

    def __post_init__(self) -> None:
        """Make the losses read-only and check the lengths."""
        object.__setattr__(self, "losses", read_only_copy(self.losses))
        count = len(self.models)
        for name, values in (("losses", self.losses), ("names", self.names)):
            if len(values) != count:
                raise ValueError(f"{name} must hold one for each of {count} models: {len(values)}")
        check_nonnegative_or_infinite(psi=self.psi)

    @property
    def mechanism(self) -> str:
        """Sampler with the distribution of these draws; the type of models from elsewhere."""
        return "exact" if self.independent else self.models.kind

    @property
    def linear(self) -> RashomonSet:
        """The same models as a set of linear models, with coefficients and their measures.

        Raises
        ------
        TypeError
            If a model is not linear in the rows, or is a step of a pipeline.
        """
        several = self.models
        if not isinstance(several, fitted.FittedModels) or not len(several):
            raise TypeError(f"{several.kind} have no coefficients: linear models are needed")
        try:
            link, coef = _linear_models(several)
        except AttributeError as error:  # which would hide the attribute itself
            raise TypeError(str(error)) from error
        theta = coef[int(np.argmin(np.nan_to_num(self.losses)))]
        reference = self.reference
        if isinstance(reference, fitted.FittedModels) and hasattr(reference.estimators[0], "coef_"):
            theta = _linear_models(reference)[1][0]
        outputs = len(several.classes) - 1 if link == "softmax" else 1
        default_names = [f"x{j}" for j in range(coef.shape[1] // outputs - 1)]
        names = map(str, getattr(several.estimators[0], "feature_names_in_", default_names))
        linear = RashomonSet(
            coef=coef,
            feature_names=(*names, "intercept"),
            link=link,
            row_norm=math.inf,
            classes=self.classes,
            plan=plan_without_budget(coef.shape, self.psi, self.loss),
            guarantee=self.guarantee,
            steps=self.steps,
            losses=self.losses,
            minimum=Minimum(theta, self.least, math.nan, 0.0, math.nan),
            clipped_share=0.0,
            acceptance=math.nan,
            mechanism="unknown",
        )
        _check_linear_predictions(several, linear)
        return linear

    @property
    def coef(self) -> FloatArray:
        """Coefficients (n_draws, n_parameters), the intercept last, of linear models."""
        if not isinstance(self.models, fitted.FittedModels):
            raise AttributeError(f"{self.models.kind} have no coefficients")
        return self.models.coef

    def best_scores(self, X: Any = None) -> FloatArray:
        """Predictions of the best model, as :meth:`scores` without the first axis."""
        return np.asarray(self.reference.scores(scoring.encoded_rows(self, X))[0])

    def best_labels(self, X: Any = None) -> NDArray[np.int_]:
        """Class 0, 1, … that the best model gives every row, as :meth:`labels`."""
        rows = scoring.encoded_rows(self, X)
        if self.classes and isinstance(self.reference, fitted.FittedModels):
            return self.reference.labels(rows)[0]
        return likeliest(self.reference.scores(rows))[0]

    def inside(self, psi: float | None = None) -> Self:
        """Keep the models within ψ, as :meth:`CuratorSet.inside`; completeness is preserved."""
        return replace(super().inside(psi), complete=self.complete)

    def stored(self, X: Any) -> Self:
        """Replace the models by their predictions on some rows, for a file or another person.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Their values are not stored, only a fingerprint that identifies them.

        Returns
        -------
        PredictorSet
            Set of stored predictions, which ``save`` accepts.
        """
        digest, rows = fitted.fingerprint(X), scoring.encoded_rows(self, X)
        both = self.models, self.reference
        models, reference = (fitted.StoredPredictions(each.scores(rows), digest) for each in both)
        return replace(self, models=models, reference=reference, schema=None)

    def release(self, *, warn: bool = True) -> ReleasedTrees:
        """Return only privately drawn trees and their guarantee.

        Parameters
        ----------
        warn : bool, default=True
            Whether to warn if their plan is weak.

        Raises
        ------
        CuratorOnlyError
            If these models were not drawn privately.
        """
        if self.guarantee.holds and not isinstance(self.models, DecisionTrees):
            raise CuratorOnlyError(f"{self.models.kind} cannot be released, only trees drawn here")
        names = getattr(self.models, "feature_names", ())
        schema = scoring.released_schema(self.schema, names)
        return self._released(ReleasedTrees, "models", schema=schema)

    def _known_losses(self) -> FloatArray:
        if self.n_draws and math.isnan(self.least):
            raise ValueError(
                "the losses of these models are not known: build the set with losses or with y"
            )
        return self.losses

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        return {
            **super()._at(indices),
            "losses": self.losses[indices],
            "names": tuple(self.names[index] for index in indices),
            "complete": self.complete and len(np.unique(indices)) == self.n_draws,
        }

    def _within(self, psi: float) -> Self:
        return replace(self, psi=psi)


def _linear_models(several: fitted.FittedModels) -> tuple[str, FloatArray]:
    """Link and parameters of linear models; a softmax has no parameters for its first class."""
    classes, coef = several.classes, several.coef
    if not classes:
        return "identity", coef
    if several.certain:
        return "sign", coef
    if len(classes) == 2:
        return "logistic", coef
    blocks = coef.reshape(len(coef), len(classes), -1)
    return "softmax", (blocks[:, 1:] - blocks[:, :1]).reshape(len(coef), -1)


def _check_linear_predictions(several: fitted.FittedModels, linear: RashomonSet) -> None:
    """Raise unless the linear scores give the predictions of the models on some rows."""
    rows: Any = np.random.default_rng(0).standard_normal((8, len(linear.feature_names) - 1))
    if hasattr(several.estimators[0], "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=list(linear.feature_names[:-1]))
    if not np.allclose(several.scores(rows), linear.scores(rows), rtol=1e-6, atol=1e-9):
        raise TypeError(
            "these models are not linear in their rows: their coefficients do not give their "
            "predictions"
        )
