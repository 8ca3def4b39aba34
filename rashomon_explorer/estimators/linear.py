"""Estimators of linear models drawn privately from a Rashomon set."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_softmax, logsumexp

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.estimators import base, rashomon, tables, targets
from rashomon_explorer.estimators.tables import number_output, predict_in_chunks
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.problem.losses import Loss, get_loss
from rashomon_explorer.sets.scores import EncodedRows


@base.with_parameters
class RashomonClassifier(targets.ClassTargets[Plan], rashomon.BaseRashomon):
    """Logistic models drawn from the Rashomon set with differential privacy.

    Draws θ from exp(−β·max{L(θ), min L + ψ}) on the ball ‖θ‖ ≤ ``radius``, where L is the mean
    logistic loss (cross-entropy for three or more classes) of rows clipped to ``row_norm``
    (Theorem 2.1 of Ganesh, Thakurta and Upadhyay, COLT 2023). The budget sets the temperature:
    all ``n_draws`` draws of one fit together are (``epsilon``, ``delta``)-DP for replacing one row.

    Parameters
    ----------
    psi : float, default=0.02
        Rashomon threshold: largest excess loss of a good model, in nats a row.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    n_draws : int or "auto", default="auto"
    mechanism : str, default="auto"
    radius : float or "auto", default="auto"
    row_norm : float or "auto", default="auto"
    ridge : float or "auto", default="auto"
    standardize : {"auto", "private"} or None, default="auto"
    patience : int, None or "auto", default="auto"
    batch_size : int, None or "auto", default="auto"
    batch_order : {"poisson", "sampled", "allocated"}, default="poisson"
    share : float, default=0.5
    classes : array-like, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rashomon_set_ : RashomonSet
        The drawn models, with data-dependent statistics for the curator.
    guarantee_ : Guarantee
    plan_ : Plan
        Plan made before the rows were read.
    encoded_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    encoded_intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    scale_ : ColumnMap or None
    encoder_ : TableEncoder

    Notes
    -----
    A fitted estimator is for the curator: it and its pickle contain the minimum or the losses of
    the draws, not covered by the guarantee. Use ``rashomon_set_.release().save(path)``.

    See Also
    --------
    RashomonRegressor : The same for squared loss.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = RashomonClassifier(epsilon=4.0, n_draws=10, row_norm=1.5, random_state=0)
    >>> clf = clf.fit(data.X, data.y)
    >>> clf.rashomon_set_.coef.shape
    (10, 11)
    >>> clf.guarantee_.epsilon(delta=1e-6) <= 4.0
    True

    Three classes, declared:

    >>> clf = RashomonClassifier(epsilon=500.0, classes=["low", "mid", "high"], random_state=0)
    >>> X, y = [[0.9], [0.0], [-0.9]] * 60, ["high", "mid", "low"] * 60
    >>> clf.fit(X, y).predict_proba(X).shape, clf.rashomon_set_.parameter_names
    ((180, 3), ('low: x0', 'low: intercept', 'mid: x0', 'mid: intercept'))
    """

    @tables.predict_in_chunks(tables.label_output)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class with the largest mean probability over the draws."""
        return self._predictions(self._scores(X).mean(axis=0, keepdims=True))[0]

    @tables.predict_in_chunks(tables.probability_output)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, averaged over the draws."""
        mean = np.asarray(self._scores(X).mean(axis=0))
        return mean if mean.ndim == 2 else np.column_stack([1 - mean, mean])

    @tables.predict_in_chunks(tables.decision_output)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the positive class's mean probability; log probabilities if multiclass."""
        rows = self._encoded_rows(X).view(EncodedRows)
        margins = self.rashomon_set_.margins(rows)
        if margins.ndim == 3:
            return np.asarray(_log_mean(log_softmax(margins, axis=-1)))
        return np.asarray(_log_mean(log_expit(margins)) - _log_mean(log_expit(-margins)))

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        codes = scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int)
        return np.asarray(self.classes_[codes])


def _log_mean(logs: FloatArray) -> FloatArray:
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))


_USUAL_DEVIATION = 0.2  # of mapped targets, if no typical range is declared: a tenth of the bounds
_NARROW = 0.25  # largest ψ of a default set, as a share of the loss of the constant model


@base.with_parameters
class RashomonRegressor(targets.BoundedTargets[Plan], rashomon.BaseRashomon):
    """Linear regressions drawn from the Rashomon set with differential privacy.

    Targets are mapped from ``target_bounds`` onto [−1, 1] and clipped; L is half the mean squared
    error of these, on the ball ‖θ‖ ≤ ``radius``. Otherwise as :class:`RashomonClassifier`.

    Parameters
    ----------
    psi : float, default=0.02
        Rashomon threshold, in half squared units of the mapped target. The constant model has half
        the target's variance: by default only one model is drawn if ψ is above a quarter of that,
        for the typical range of the schema, or for a deviation of a tenth of the bounds.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    n_draws : int or "auto", default="auto"
    mechanism : str, default="auto"
    radius : float or "auto", default="auto"
    row_norm : float or "auto", default="auto"
    ridge : float or "auto", default="auto"
    standardize : {"auto", "private"} or None, default="auto"
    patience : int, None or "auto", default="auto"
    batch_size : int, None or "auto", default="auto"
    batch_order : {"poisson", "sampled", "allocated"}, default="poisson"
    share : float, default=0.5
    target_bounds : tuple of float, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rashomon_set_ : RashomonSet
        The drawn models, in mapped units, with data-dependent statistics for the curator.
    guarantee_ : Guarantee
    plan_ : Plan
        Plan made before the rows were read.
    encoded_coef_ : ndarray of shape (n_features,)
    encoded_intercept_ : float
    n_features_in_ : int
    scale_ : ColumnMap or None
    encoder_ : TableEncoder

    Notes
    -----
    A fitted estimator is for the curator: it and its pickle contain the minimum or the losses of
    the draws, not covered by the guarantee. Use ``rashomon_set_.release().save(path)``.

    See Also
    --------
    RashomonClassifier : The same for logistic loss.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from rashomon_explorer import PublicBoundsScaler, RashomonRegressor, load_dataset
    >>> data = load_dataset("diabetes")
    >>> reg = RashomonRegressor(epsilon=4.0, target_bounds=data.target_bounds, random_state=0)
    >>> pipe = make_pipeline(PublicBoundsScaler(data.bounds), reg).fit(data.X, data.y)
    >>> reg.rashomon_set_.coef.shape
    (1, 11)
    """

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None, in_chunks: bool = False
    ) -> Plan:
        """Plan one model where "auto" is open and the set may hold the constant model."""
        deviation = (self._typical_target() or (0.0, _USUAL_DEVIATION))[1]
        psi_limit = _NARROW * deviation**2 / 2
        by_rule = (self.mechanism, self.n_draws) == (AUTO, AUTO)
        if not by_rule or self.psi <= psi_limit:
            return super()._planned(n_samples, n_features, n_classes, in_chunks)
        single = copy(self)
        single.n_draws = 1
        planned = super(RashomonRegressor, single)._planned(
            n_samples, n_features, n_classes, in_chunks
        )
        reason = f"at a ψ above {psi_limit:.2g} a set may hold models that tell nothing"
        return replace(planned, reason=f"{reason}; {planned.reason}")

    @predict_in_chunks(number_output)
    def predict(self, X: ArrayLike) -> FloatArray:
        """Predicted target, averaged over the draws."""
        return np.asarray(self._scores(X).mean(axis=0))

    def _loss_for(self, n_classes: int | None) -> Loss:
        return get_loss("squared")

    def _predictions(self, scores: FloatArray) -> FloatArray:
        return scores
