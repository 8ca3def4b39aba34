"""One private linear classifier."""

import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import StrOptions, fit_context
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer._utils.validation import accepts_table
from rashomon_explorer.data import TableSchema
from rashomon_explorer.estimators.base import reject_sample_weight
from rashomon_explorer.estimators.dp_base import BaseOneModel
from rashomon_explorer.estimators.pipelines import pays_for_rows
from rashomon_explorer.estimators.tables import a_label, chances, decisions, predict_in_chunks
from rashomon_explorer.estimators.targets import ClassTargets
from rashomon_explorer.mechanisms.one_model.plan import ModelPlan
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.problem.losses import Loss, get_loss
from rashomon_explorer.rows import ChunkedRows


def _has_probabilities(estimator: Any) -> bool:
    return bool(estimator.loss == "logistic")


@pays_for_rows
class DPClassifier(ClassifierMixin, ClassTargets, BaseOneModel):
    """One linear classifier of low loss, made with differential privacy.

    The method follows from public numbers, before a row is read: the one that promises the least
    excess loss over the best model of the ball ‖θ‖ ≤ ``radius`` (docs/one-model.md).
    ``plan_`` says which, why, and what the others would have promised.

    Parameters
    ----------
    loss : {"logistic", "hinge", "smoothed_hinge"}, default="logistic"
        The mean of it over the rows is what the model is to have little of. With three or more
        classes the cross-entropy, which is asked for by ``"logistic"``. The other two are for two
        classes and have no probabilities.
    method : str, default="auto"
        A key of :data:`rashomon_explorer.mechanisms.METHODS`, whatever it promises, or
        ``"auto"``.
    epsilon : float, default=1.0
        Price of one fit.
    delta : float, default=1e-6
        δ of one fit; 0 asks for pure DP.
    goal : {"rows", "population"}, default="rows"
        Whether the promised excess is that on the rows, or on new rows of the same law, of which
        the rows are taken to be independent.
    radius : float or "auto", default="auto"
        Radius of the ball that the promise is about, the intercept included; ``"auto"`` follows
        from public numbers (:func:`rashomon_explorer.mechanisms.one_model.plan.auto_radius`).
    row_norm : float, default=1.0
        Declared bound of ‖x‖; longer rows are shortened, in ``fit`` and in ``predict``. Scale
        features first with :class:`PublicBoundsScaler`.
    ridge : float, default=0.0
        Coefficient of ½‖θ‖² in the loss. A method may add more for itself: ``plan_.ridge``.
    standardize : {"auto", "private"} or None, default=None
        ``"private"`` pays for noisy centres and spreads of the columns with a tenth of the price,
        releases them, and makes the model of rows mapped by them, to which ball, ridge and promises
        then belong. ``"auto"`` does so where the rule says that it wins (docs/choosing.md).
    classes : array-like, default=None
        Every label that may occur, as for :class:`RashomonClassifier`; needed with a ledger.
    schema : TableSchema, str, path or None, default=None
        The table's declaration, as for :class:`RashomonClassifier`.
    ledger : str, path or Ledger, default=None
        Privacy ledger to charge before the rows are read; every fit, also of a clone, charges
        again. It must exist (:meth:`Ledger.create`).
    random_state : int, RandomState instance or None, default=None
        A seed makes a run reproducible, and therefore private only towards those who cannot
        know it; the guarantee says so.

    Attributes
    ----------
    encoded_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; with three or more classes a row for each, the first of which is 0.
        Of rows as they are encoded and clipped; there is no ``coef_``, for rows as given score
        otherwise.
    encoded_intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
        Class labels in order; of two, the second is the positive class.
    guarantee_ : Guarantee
        Privacy of the model, with the limits named at :class:`RashomonClassifier`.
    plan_ : ModelPlan
        What was known before the rows were read: method, why, options, bounds.
    excess_bound_ : float
        Expected excess loss of the model is at most this, on the rows that ``goal`` names.
    n_features_in_ : int
        Number of features, encoded or not: a target in the table is none.
    scale_ : ColumnMap or None
        Released centres and spreads; ``encoded_coef_`` is of the columns as they were before.
    encoder_ : TableEncoder
        With a schema: what encodes rows.

    Notes
    -----
    A fitted estimator, and its pickle, hold nothing of the rows but the released model.

    See Also
    --------
    DPRegressor : The same for targets that are numbers.
    RashomonClassifier : Many models that are almost as good as the best.

    Examples
    --------
    >>> from rashomon_explorer import DPClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = DPClassifier(epsilon=1.0, row_norm=1.5, random_state=0).fit(data.X, data.y)
    >>> clf.plan_.method, clf.guarantee_.epsilon(1e-6) <= 1.0
    ('gibbs', True)
    >>> bool(clf.score(data.X, data.y) > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOneModel._parameter_constraints,
        "loss": [StrOptions({"logistic", "hinge", "smoothed_hinge"})],
        "classes": ["array-like", None],
    }

    @reject_sample_weight
    def __init__(
        self,
        *,
        loss: str = "logistic",
        method: str = AUTO,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        goal: str = "rows",
        radius: float | str = AUTO,
        row_norm: float = 1.0,
        ridge: float = 0.0,
        standardize: str | None = None,
        classes: ArrayLike | None = None,
        schema: TableSchema | str | os.PathLike[str] | None = None,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            method=method,
            epsilon=epsilon,
            delta=delta,
            goal=goal,
            radius=radius,
            row_norm=row_norm,
            ridge=ridge,
            standardize=standardize,
            schema=schema,
            ledger=ledger,
            random_state=random_state,
        )
        self.loss = loss
        self.classes = classes

    @accepts_table
    def plan(
        self, n_samples: int, n_features: int | None = None, n_classes: int | None = None
    ) -> ModelPlan:
        """Plan what the budget buys on so many rows; reads none and costs nothing.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or in their place the table, which is not read. A schema
            knows how many columns it becomes.
        n_classes : int, optional
            Number of classes, public too; by default that of ``classes`` or the schema, or 2.

        Returns
        -------
        ModelPlan
            Method, why, bounds, and what other methods would have promised.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        SamplerError
            If no method, or not the one that was named, can serve.
        """
        return self._planned(n_samples, self._n_encoded(n_features), self._loss_of(n_classes))

    @reject_sample_weight
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None) -> "DPClassifier":
        """Charge the ledger and make the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dask collection or ChunkedRows
            Rows in blocks (:func:`rashomon_explorer.rows.chunked`) are never held whole, and
            classes must be declared for them.
        y : array-like of shape (n_samples,)
            Labels of two or more classes; left out for rows in blocks, which have their own.

        Returns
        -------
        self
            With the model in ``encoded_coef_`` and ``encoded_intercept_``, and its price in
            ``guarantee_``.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the price; nothing was made or spent.
        FitError
            After a ledger was charged, for whatever the rows cause; the price stays spent, and the
            reason is in ``error.detail``, for the curator.
        ValueError, SamplerError
            If parameters, declared classes or shapes cannot be used; nothing was read or spent.
            Without a ledger also for what the rows cause.
        TypeError
            If rows come in blocks and the method picks rows; nothing was read or spent.
        """
        table = self._any_table(X, y, numeric=self._numeric)
        self._fit(table, find_leak(X, y))
        return self

    @predict_in_chunks(decisions)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score of the positive class, or of each class: log odds for logistic loss.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) with three or more classes
            Linear in the rows as they were shortened.
        """
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
        """Likeliest class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of the kind that ``fit`` was given.
        """
        scores = self.decision_function(X)
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        return np.asarray(self.classes_[codes])

    @available_if(_has_probabilities)
    @predict_in_chunks(chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class; of logistic loss alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores), expit(scores)])

    def __sklearn_tags__(self) -> Tags:
        """At the default price a few hundred rows of three classes are not always told apart."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
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
        """Leave out the class that the others are compared with."""
        return every if len(self.classes_) == 2 else every[1:]

    def _model(self, theta: FloatArray) -> dict[str, Any]:
        every = theta if len(theta) == 1 else np.vstack([np.zeros_like(theta[:1]), theta])
        return {"encoded_coef_": every[:, :-1], "encoded_intercept_": every[:, -1]}
