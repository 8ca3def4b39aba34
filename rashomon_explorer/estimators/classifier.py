"""Private draws of linear classifiers from a Rashomon set."""

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from rashomon_explorer.estimators.base import BaseRashomon
from rashomon_explorer.privacy import Ledger

FloatArray = NDArray[np.float64]


class RashomonClassifier(ClassifierMixin, BaseRashomon):
    """Logistic models drawn from the Rashomon set with differential privacy.

    Draws θ from exp(−β·max{L(θ), min L + ψ}) on the ball ‖θ‖ ≤ ``radius``, where L is the mean
    logistic loss of rows shortened to ``row_norm`` (Theorem 2.1 of Ganesh, Thakurta and
    Upadhyay, COLT 2023). The temperature follows from the total price: all ``n_draws`` draws of
    one fit together are (``epsilon``, ``delta``)-DP for replacing one row.

    Parameters
    ----------
    psi : float, default=0.02
        Rashomon threshold: loss above the least that is still good, in nats a row.
    epsilon : float, default=1.0
        Total privacy price of one fit.
    delta : float, default=1e-6
        Total δ of one fit; 0 asks for pure DP.
    n_draws : int, default=20
        Number of models.
    sampler : {"exact", "finite_grid", "hit_and_run", "mala"}, default="exact"
        ``"exact"`` and, for at most three parameters, ``"finite_grid"`` have the guarantee.
        ``"hit_and_run"`` is uniform on the Rashomon set and ``"mala"`` approaches the same law
        as ``"exact"``; both are for the curator only and carry no guarantee.
    radius : float, default=4.0
        Radius of the ball of models, the intercept included.
    row_norm : float, default=1.0
        Declared bound of ‖x‖; longer rows are shortened, in ``fit`` and in ``predict``. Scale
        features first with :class:`PublicBoundsScaler`.
    ridge : float, default=0.0
        Coefficient of ½‖θ‖² in the loss.
    ledger : str, path or Ledger, default=None
        Privacy ledger to charge before the rows are read; every fit, also of a clone, charges
        again. A path without a ledger gets one that records and has no budget.
    random_state : int, RandomState instance or None, default=None
        A seed makes a run reproducible, and therefore private only towards those who cannot
        know it; the guarantee says so. None takes entropy from the operating system.

    Attributes
    ----------
    rashomon_set_ : RashomonSet
        The drawn models, with what their curator knows of them.
    guarantee_ : Guarantee
        Privacy of all draws together: ``guarantee_.epsilon(delta)``.
    plan_ : Plan
        What was known before the rows were read.
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the mean model.
    intercept_ : ndarray of shape (1,)
        Intercept of the mean model.
    classes_ : ndarray of shape (2,)
        Class labels; the second is the positive class.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    RashomonRegressor : The same for squared loss.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = RashomonClassifier(psi=0.02, epsilon=4.0, n_draws=20, random_state=0)
    >>> clf = clf.fit(data.X, data.y)
    >>> clf.rashomon_set_.coef.shape
    (20, 11)
    >>> clf.guarantee_.epsilon(delta=1e-6) <= 4.0
    True
    """

    _loss = "logistic"

    def __init__(
        self,
        *,
        psi: float = 0.02,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_draws: int = 20,
        sampler: str = "exact",
        radius: float = 4.0,
        row_norm: float = 1.0,
        ridge: float = 0.0,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            psi=psi,
            epsilon=epsilon,
            delta=delta,
            n_draws=n_draws,
            sampler=sampler,
            radius=radius,
            row_norm=row_norm,
            ridge=ridge,
            ledger=ledger,
            random_state=random_state,
        )

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> "RashomonClassifier":
        """Charge the ledger and draw the models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two classes.

        Returns
        -------
        self

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the price; nothing was drawn or spent.
        SamplerError
            If exact draws are hopeless for these rows; the price stays spent.
        ValueError
            If the table or the labels cannot be used.
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        classes = np.unique(labels)
        _check_binary(classes, labels)
        targets = np.where(labels == classes[1], 1.0, -1.0)
        self._fit_set(rows, targets, classes_=classes)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class whose mean probability over the draws is the larger.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predictions(self._mean_probability(X))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Mean over the draws of each class's probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        positive = self._mean_probability(X)
        return np.column_stack([1 - positive, positive])

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the mean probability of the positive class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(logit(self._mean_probability(X)))

    def __sklearn_tags__(self) -> Tags:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _mean_probability(self, X: ArrayLike) -> FloatArray:
        rows = self._checked(X)
        return np.asarray(self.rashomon_set_.scores(rows).mean(axis=0))

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        return np.asarray(self.classes_[(scores > 0.5).astype(int)])

    def _mean_model(self, mean: FloatArray) -> dict[str, Any]:
        return {"coef_": mean[None, :-1], "intercept_": mean[-1:]}


def _check_binary(classes: NDArray[Any], y: NDArray[Any]) -> None:
    if len(classes) == 1:
        raise ValueError(f"y holds one class, {classes[0]!r}: two classes are needed")
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}; choose one class against the rest"
        )
