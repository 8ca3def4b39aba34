"""Logistic models drawn privately from a Rashomon set."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_softmax, logsumexp

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import TableSchema
from rashomon_explorer.estimators import tables
from rashomon_explorer.estimators.base import reject_sample_weight
from rashomon_explorer.estimators.rashomon import BaseRashomon
from rashomon_explorer.estimators.targets import ClassTargets
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.privacy import Ledger


class RashomonClassifier(ClassTargets[Plan], BaseRashomon):
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
        Total privacy cost ε of one fit.
    delta : float, default=1e-6
        Total δ of one fit; 0 requests pure DP. With δ > 0, a ridge and no ledger, exact draws may
        have a certificate that is not pure: see ``plan_.certificate``.
    n_draws : int or "auto", default="auto"
        Number of models. ``"auto"`` here, for ``radius`` and for ``ridge`` depends on public
        numbers only, by
        :func:`rashomon_explorer.mechanisms.planning.options.resolve_auto`; ``plan_`` has the
        result: 5 to 20 draws if the guarantees suffice for a Rashomon set, otherwise one model.
    mechanism : str, default="auto"
        ``"auto"`` selects from public numbers and states the reason in ``plan_``
        (docs/choosing.md). Mechanisms whose draws are expected to fail are excluded; if none is
        left, nothing is charged. ``"exact"``, ``"unthresholded"`` (exact draws at ψ = 0) and, for
        at most three parameters, ``"finite_grid"`` have the guarantee above.
        ``"hit_and_run"`` is uniform on the Rashomon set and ``"mala"`` approaches the distribution
        of ``"exact"``; both have no guarantee and are for the curator only.
        ``"langevin"`` draws the time average of a noisy gradient chain, for δ > 0; its privacy
        cost covers the whole path. ``"langevin_average"`` is the same at ψ = 0.
        ``"ellipsoid"`` releases one good model and the curvature there, for δ > 0, and draws
        uniformly near it: one privacy cost for any number of draws and columns (docs/ellipsoid.md).
        ``"ellipsoid_exact"`` draws exactly from the thresholded distribution on the ellipsoid, and
        spends a privacy cost for each draw as well.
    radius : float or "auto", default="auto"
        Radius of the ball of models, including the intercept; at least 2⁻²⁰, the grid of draws.
        ``"auto"`` increases with rows and budget per parameter. For ``mechanism="hit_and_run"`` it
        is 32·√p for p parameters, for any budget: a ``RadiusBindsWarning`` reports if the Rashomon
        set extends beyond it.
    row_norm : float or "auto", default="auto"
        Declared bound on ‖x‖; longer rows are clipped, in ``fit`` and in ``predict``. Scale
        features first with :class:`PublicBoundsScaler`. ``"auto"`` is 1, and 2 with a schema,
        whose encoder scales rows to it; the intercept's share of the privacy cost is then a fifth.
    ridge : float or "auto", default="auto"
        Coefficient of ½‖θ‖² in the loss, at most 2²⁰. ``"auto"`` is 0 for a named ``mechanism``;
        ``mechanism="auto"`` may use a small one with a private centre.
    standardize : {"auto", "private"} or None, default="auto"
        ``"private"`` spends a tenth of the budget on noisy centres and spreads of the columns,
        releases them, and draws models of the mapped rows. ψ, radius and Rashomon set then refer
        to the mapped columns (``rashomon_set_.scale``). ``"auto"`` does so only for one good model
        with ``mechanism="auto"``, if this improves the plan (docs/choosing.md). None never does.
    patience : int, None or "auto", default="auto"
        Consecutive rejected proposals after which ``mechanism="exact"`` gives up, at most
        2·10¹⁰/p². The guarantee bounds the probability of this where public numbers suffice
        (docs/ledger.md). None never gives up and may run until interrupted. ``"auto"`` is
        5,000,000, and raises before any charge if draws fail on all kinds of simulated rows.
    classes : array-like, default=None
        Every label that may occur, declared as public knowledge; a declared class may lack rows.
        With None, the labels found in ``y`` are treated as public. Models and guarantee then reveal
        which labels occur; the guarantee covers only tables with the same labels, and states this.
        With a ledger, classes must be declared: it is charged before ``y`` is read.
    schema : TableSchema, str, path or None, default=None
        Schema of the table, or its file (docs/schema.md). X is then the raw table: a DataFrame with
        text and missing values, with or without the target and other columns. The schema encodes
        columns in ``fit`` and ``predict``, so that a typical row has a norm of about ``row_norm``;
        the levels of its target are the classes.
    ledger : str, path or Ledger, default=None
        Privacy ledger, charged before the rows are read; every fit, also of a clone, charges
        again. It must exist (:meth:`Ledger.create`); a missing or empty file is an error.
    random_state : int, RandomState instance or None, default=None
        A seed makes a run reproducible. Privacy then holds only against those who cannot know
        the seed; the guarantee states this. None takes entropy from the operating system.

    Attributes
    ----------
    rashomon_set_ : RashomonSet
        The drawn models, with data-dependent statistics for the curator.
    guarantee_ : Guarantee
        Privacy of all draws together: ``guarantee_.epsilon(delta)``. No guarantee holds for rows
        that a :class:`PublicBoundsScaler` mapped with bounds computed from the rows. Other
        data-dependent pipeline steps, such as a ``StandardScaler``, are not detected and not
        covered: :func:`privacy_leaks` lists them.
    plan_ : Plan
        Plan made before the rows were read.
    encoded_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the mean model; with three or more classes, one row for each. The first row
        is 0, for the reference class. They apply to encoded and clipped rows; ``coef_`` is absent
        because it would apply to raw rows.
    encoded_intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the mean model.
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels; for two classes, the second is the positive class.
    n_features_in_ : int
        Number of feature columns of X, before encoding and without the target.
    scale_ : ColumnMap or None
        Released centres and spreads; ``encoded_coef_`` refers to the unscaled columns.
    encoder_ : TableEncoder
        Encoder of the rows, for measures that require encoded rows; set only with a schema.

    Notes
    -----
    A fitted estimator is for the curator: it and its pickle contain the exact minimum and the
    draws' losses, not covered by the guarantee. Use ``rashomon_set_.release().save(path)``.

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
        mechanism: str = "auto",
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
        self.psi = psi
        self.epsilon = epsilon
        self.delta = delta
        self.n_draws = n_draws
        self.mechanism = mechanism
        self.radius = radius
        self.row_norm = row_norm
        self.ridge = ridge
        self.standardize = standardize
        self.patience = patience
        self.classes = classes
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    @tables.predict_in_chunks(tables.a_label)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class with the largest mean probability over the draws."""
        return self._predictions(self._scores(X).mean(axis=0, keepdims=True))[0]

    @tables.predict_in_chunks(tables.chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, averaged over the draws."""
        mean = np.asarray(self._scores(X).mean(axis=0))
        return mean if mean.ndim == 2 else np.column_stack([1 - mean, mean])

    @tables.predict_in_chunks(tables.decisions)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the positive class's mean probability; log probabilities if multiclass."""
        rows = self._encoded_rows(X)
        margins = self.rashomon_set_.margins(rows)
        if margins.ndim == 3:
            return np.asarray(_log_mean(log_softmax(margins, axis=-1)))
        return np.asarray(_log_mean(log_expit(margins)) - _log_mean(log_expit(-margins)))

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        codes = scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int)
        return np.asarray(self.classes_[codes])


def _log_mean(logs: FloatArray) -> FloatArray:
    """Log of the mean of exp(``logs``) over the first axis."""
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))
