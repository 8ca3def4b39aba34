"""RashomonClassifier."""

import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import fit_context, with_callbacks
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer._utils.validation import accepts_table
from rashomon_explorer.data import TableSchema
from rashomon_explorer.estimators.base import reject_sample_weight
from rashomon_explorer.estimators.pipelines import pays_for_rows
from rashomon_explorer.estimators.rashomon import BaseRashomon
from rashomon_explorer.estimators.tables import a_label, chances, decisions, predict_in_chunks
from rashomon_explorer.estimators.targets import ClassTargets
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.sets import RashomonSet


class MeanClassifier(ClassifierMixin):
    """Predictions by the mean over a fitted estimator's draws."""

    classes_: NDArray[Any]
    rashomon_set_: RashomonSet

    @predict_in_chunks(a_label)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class whose mean probability over the draws is the largest."""
        return self._predictions(self._scores(X).mean(axis=0, keepdims=True))[0]

    @predict_in_chunks(chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Mean over the draws of each class's probability."""
        mean = np.asarray(self._scores(X).mean(axis=0))
        return mean if mean.ndim == 2 else np.column_stack([1 - mean, mean])

    @predict_in_chunks(decisions)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the positive class's mean probability, or the log of each class's."""
        rows = self._checked(X)
        margins = self.rashomon_set_.margins(rows)
        if margins.ndim == 3:
            return np.asarray(_log_mean(log_softmax(margins, axis=-1)))
        return np.asarray(_log_mean(log_expit(margins)) - _log_mean(log_expit(-margins)))

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        codes = scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int)
        return np.asarray(self.classes_[codes])


def _log_mean(logs: FloatArray) -> FloatArray:
    """Log of the mean over the first axis of what ``logs`` are the logarithms of."""
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))


@pays_for_rows
class RashomonClassifier(MeanClassifier, ClassTargets, BaseRashomon):
    """Logistic models drawn from the Rashomon set with differential privacy.

    Draws θ from exp(−β·max{L(θ), min L + ψ}) on the ball ‖θ‖ ≤ ``radius``, where L is the mean
    logistic loss, for three or more classes the cross-entropy, of rows shortened to ``row_norm``
    (Theorem 2.1 of Ganesh, Thakurta and Upadhyay, COLT 2023). The temperature follows from the
    total price: all ``n_draws`` draws of one fit together are (``epsilon``, ``delta``)-DP for
    replacing one row.

    Parameters
    ----------
    psi : float, default=0.02
        Rashomon threshold: loss above the least that is still good, in nats a row.
    epsilon : float, default=1.0
        Total privacy price of one fit.
    delta : float, default=1e-6
        Total δ of one fit; 0 asks for pure DP. With δ > 0, a ridge and no ledger, exact draws may
        be paid for by a certificate that is not pure: ``plan_.certificate`` names it.
    n_draws : int or "auto", default="auto"
        Number of models. ``"auto"`` settles what it stands for, here, for ``radius`` and for
        ``ridge``, from public numbers alone, by the rule of
        :func:`rashomon_explorer.mechanisms.planning.options.resolve_auto`; ``plan_`` has what was
        chosen. It is 5
        to 20 where as many are promised to show the Rashomon set, and otherwise one good model.
    sampler : str, default="auto"
        ``"auto"`` chooses from public numbers and says why in ``plan_`` (docs/choosing.md); a way
        whose draws are not to be expected is not chosen, and where there is no other, nothing is
        charged. ``"exact"``, its ``"unthresholded"`` draws of the law at ψ = 0 and, for at most
        three parameters, ``"finite_grid"`` have the guarantee.
        ``"hit_and_run"`` is uniform on the Rashomon set and ``"mala"`` approaches the same law
        as ``"exact"``; both are for the curator only and carry no guarantee.
        ``"langevin"`` runs a noisy gradient chain for each draw, which is the chain's time
        average, for δ > 0: its price is that of the chain's whole path. ``"langevin_average"``
        does so at ψ = 0.
        ``"ellipsoid"`` releases one good model and the curvature there, for δ > 0, and draws
        uniform models near it: one price for any number of draws, at any number of columns
        (docs/ellipsoid.md). ``"ellipsoid_exact"`` draws on it exactly from the thresholded law, and
        pays for each draw as well.
    radius : float or "auto", default="auto"
        Radius of the ball of models, the intercept included; at least 2⁻²⁰, the grid of draws.
        ``"auto"`` takes a larger ball the more rows and budget there are for each parameter, and
        for ``sampler="hit_and_run"`` 32·√p of p parameters, whatever the budget: a
        ``RadiusBindsWarning`` says if the Rashomon set goes on beyond it.
    row_norm : float or "auto", default="auto"
        Declared bound of ‖x‖; longer rows are shortened, in ``fit`` and in ``predict``. Scale
        features first with :class:`PublicBoundsScaler`. ``"auto"`` is 1, and 2 with a schema,
        whose encoder scales rows to it: the intercept's share of the price is then a fifth.
    ridge : float or "auto", default="auto"
        Coefficient of ½‖θ‖² in the loss, at most 2²⁰. ``"auto"`` is 0 for every named ``sampler``;
        ``sampler="auto"`` may take a small one with a private centre.
    standardize : {"auto", "private"} or None, default="auto"
        ``"private"`` pays for noisy centres and spreads of the columns with a tenth of the price,
        releases them, and draws models of rows mapped by them: ψ, radius and the Rashomon set are
        then those of the mapped columns (``rashomon_set_.scale``). ``"auto"`` does so where the
        rule says that it wins (docs/choosing.md): for one good model, of many rows, by
        ``sampler="auto"``. None never does.
    patience : int, None or "auto", default="auto"
        Refused proposals in a row after which ``sampler="exact"`` gives up, at most 2·10¹⁰/p².
        The guarantee says how likely that is at most, where public numbers tell; see
        docs/ledger.md. None never gives up, and may go on until it is stopped. ``"auto"`` is
        5,000,000, and refuses before any charge what came on no kind of simulated rows.
    classes : array-like, default=None
        Every label that may occur, declared as public knowledge; a declared class may lack rows.
        With None the labels found in ``y`` are treated as public: models and guarantee then
        reveal which ones occur, the guarantee compares only tables in which the same ones do,
        and it says so. With a ledger they must be declared: it is charged before ``y`` is read.
    schema : TableSchema, str, path or None, default=None
        The table's declaration, or its file (docs/schema.md). X is then the table as it is: a
        DataFrame with text and missing values, the target and other columns in it or not. Columns
        are encoded by it, in ``fit`` and in ``predict``, so that a typical row has about norm
        ``row_norm``, and its target's levels are the classes.
    ledger : str, path or Ledger, default=None
        Privacy ledger to charge before the rows are read; every fit, also of a clone, charges
        again. It must exist (:meth:`Ledger.create`); a missing or empty file is an error.
    random_state : int, RandomState instance or None, default=None
        A seed makes a run reproducible, and therefore private only towards those who cannot
        know it; the guarantee says so. None takes entropy from the operating system.

    Attributes
    ----------
    rashomon_set_ : RashomonSet
        The drawn models, with what their curator knows of them.
    guarantee_ : Guarantee
        Privacy of all draws together: ``guarantee_.epsilon(delta)``. Of rows that a
        :class:`PublicBoundsScaler` mapped with learnt bounds there is none. What other steps of a
        pipeline learn from rows, such as a ``StandardScaler``, cannot be seen from here and is
        not covered: :func:`privacy_leaks` lists it.
    plan_ : Plan
        What was known before the rows were read.
    encoded_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the mean model; with three or more classes a row for each, the first of
        which is 0: its class is what the others are compared with. Of rows as
        they are encoded and clipped; there is no ``coef_``, for rows as given score otherwise.
    encoded_intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the mean model.
    classes_ : ndarray of shape (n_classes,)
        Class labels in order; of two, the second is the positive class.
    n_features_in_ : int
        Number of features, encoded or not: a target in the table is none.
    scale_ : ColumnMap or None
        Released centres and spreads; ``encoded_coef_`` is of the columns as they were before.
    encoder_ : TableEncoder
        With a schema: what encodes rows, for measures that take them encoded.

    Notes
    -----
    A fitted estimator is the curator's: it and its pickle hold the exact minimum and the losses of
    the draws, which no price covers. ``rashomon_set_.release().save(path)`` writes what may leave.

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

    _loss = "logistic"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRashomon._parameter_constraints,
        "classes": ["array-like", None],
    }

    @reject_sample_weight
    def __init__(
        self,
        *,
        psi: float = 0.02,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_draws: int | str = "auto",
        sampler: str = "auto",
        radius: float | str = "auto",
        row_norm: float | str = "auto",
        ridge: float | str = "auto",
        standardize: str | None = "auto",
        patience: int | str | None = "auto",
        classes: ArrayLike | None = None,
        schema: TableSchema | str | os.PathLike[str] | None = None,
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
            standardize=standardize,
            patience=patience,
            schema=schema,
            ledger=ledger,
            random_state=random_state,
        )
        self.classes = classes

    @accepts_table
    def plan(
        self, n_samples: int, n_features: int | None = None, n_classes: int | None = None
    ) -> Plan:
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
        Plan
            Temperature, price of a draw, guaranteed hit rate and excess bound.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        n_encoded = self._n_encoded(n_features)
        return self._planned(n_samples, n_encoded, self._loss_of(n_classes))

    @accepts_table
    def constants(
        self, n_samples: int, n_features: int | None = None, n_classes: int | None = None
    ) -> Constants:
        """Public constants of the problem that so many rows pose; reads none.

        Parameters
        ----------
        n_samples, n_features, n_classes : int
            As for :meth:`plan`.

        Returns
        -------
        Constants
            What the theorems in :mod:`rashomon_explorer.mechanisms.bounds` ask for: L, M, m and
            osc.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        n_encoded = self._n_encoded(n_features)
        return self._constants(n_samples, n_encoded, self._loss_of(n_classes))

    @reject_sample_weight
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None) -> "RashomonClassifier":
        """Charge the ledger and draw the models.

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
            With the draws in ``rashomon_set_`` and what they cost in ``guarantee_``.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the price; nothing was drawn or spent.
        FitError
            After a ledger was charged, for whatever the rows cause; the price stays spent, and the
            reason is in ``error.detail``, for the curator.
        ValueError, SamplerError
            If parameters, declared classes or shapes cannot be used; nothing was read or spent.
            Without a ledger also for what the rows cause.
        """
        table = self._any_table(X, y, numeric=self._numeric)
        self._fit(table, find_leak(X, y))
        return self

    def __sklearn_tags__(self) -> Tags:
        """At the default price a few hundred rows of three classes are not always told apart."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _mean_model(self, mean: FloatArray) -> dict[str, Any]:
        every = mean if len(mean) == 1 else np.vstack([np.zeros_like(mean[:1]), mean])
        return {"encoded_coef_": every[:, :-1], "encoded_intercept_": every[:, -1]}
