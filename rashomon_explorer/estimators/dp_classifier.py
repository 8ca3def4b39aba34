"""One private linear classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import StrOptions
from rashomon_explorer.estimators.base import with_parameters
from rashomon_explorer.estimators.dp_base import BaseOneModel
from rashomon_explorer.estimators.tables import a_label, chances, decisions, predict_in_chunks
from rashomon_explorer.estimators.targets import ClassTargets
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.problem.losses import Loss, get_loss


def _has_probabilities(estimator: Any) -> bool:
    return bool(estimator.loss == "logistic")


@with_parameters
class DPClassifier(ClassTargets[Plan], BaseOneModel):
    """Linear classifier of low loss, fitted with differential privacy.

    The mechanism is selected from public numbers, before a row is read: the one with the
    lowest expected loss (docs/choosing.md). ``RashomonClassifier(n_draws=1, psi=0)`` draws the same
    model.
    ``plan_`` contains the mechanism, the reason, and the guarantees of the other mechanisms.

    Parameters
    ----------
    loss : {"logistic", "hinge", "smoothed_hinge"}, default="logistic"
        Loss to minimise, averaged over the rows. With three or more classes, ``"logistic"`` is the
        cross-entropy. The other two support two classes only and have no probabilities.
    mechanism : str, default="auto"
        A key of :data:`rashomon_explorer.mechanisms.MECHANISMS`, used even if its guarantee is
        weak, or ``"auto"``.
    {epsilon}
    {delta}
    goal : {"rows", "population"}, default="rows"
        Whether the excess bound is on the given rows, or on new rows of the same distribution;
        the latter assumes that the rows are independent.
    {radius}
    {row_norm}
    {ridge}
    {standardize}
    {classes}
    {schema}
    {ledger}
    {random_state}

    Attributes
    ----------
    {class_coefficients}
    {classes_}
    {guarantee_}
    plan_ : Plan
        Plan made before the rows were read: mechanism, reason, options, bounds.
    excess_bound_ : float
        Upper bound on the model's expected excess loss, as defined by ``goal``.
    {n_features_in_}
    {scale_}
    {encoder_}

    Notes
    -----
    The only data-dependent part of a fitted estimator, and of its pickle, is the released model.

    See Also
    --------
    DPRegressor : The same for numeric targets.
    RashomonClassifier : Many models that are almost as good as the best.

    Examples
    --------
    >>> from rashomon_explorer import DPClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = DPClassifier(epsilon=1.0, row_norm=1.5, random_state=0).fit(data.X, data.y)
    >>> clf.plan_.mechanism, clf.guarantee_.epsilon(1e-6) <= 1.0
    ('objective_perturbation', True)
    >>> bool(clf.score(data.X, data.y) > 0.7)
    True
    """

    loss: str = "logistic"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOneModel._parameter_constraints,
        "loss": [StrOptions({"logistic", "hinge", "smoothed_hinge"})],
        "classes": ["array-like", None],
    }

    @predict_in_chunks(decisions)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score of the positive class, or of each class: log odds for logistic loss."""
        check_is_fitted(self)
        scores = self._linear(
            np.column_stack(
                [
                    self._drop_reference_class(self.encoded_coef_),
                    self._drop_reference_class(self.encoded_intercept_),
                ]
            ),
            X,
        )
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return np.column_stack([np.zeros(len(scores)), scores])

    @predict_in_chunks(a_label)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most likely class."""
        scores = self.decision_function(X)
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        return np.asarray(self.classes_[codes])

    @available_if(_has_probabilities)
    @predict_in_chunks(chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class; for logistic loss only."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores), expit(scores)])

    def __sklearn_tags__(self) -> Tags:
        """Declare that losses of margins support two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "logistic"
        return tags

    def _loss_of(self, n_classes: int | None) -> Loss:
        posed = super()._loss_of(n_classes)
        if self.loss == "logistic":
            return posed
        if posed.outputs > 1:
            raise ValueError(
                f"Only binary classification is supported by loss={self.loss!r}: use "
                'loss="logistic" for three or more classes'
            )
        return get_loss(self.loss)

    def _drop_reference_class(self, every: FloatArray) -> FloatArray:
        """Remove the row of the reference class."""
        return every if len(self.classes_) == 2 else every[1:]
