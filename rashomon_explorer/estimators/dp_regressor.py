"""Private linear regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import StrOptions
from rashomon_explorer.estimators.base import with_parameters
from rashomon_explorer.estimators.dp_base import BaseOneModel
from rashomon_explorer.estimators.tables import a_number, predict_in_chunks
from rashomon_explorer.estimators.targets import BoundedTargets
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.problem.losses import Loss, get_loss


@with_parameters
class DPRegressor(BoundedTargets[Plan], BaseOneModel):
    """Linear regression of low loss, fitted with differential privacy.

    Targets are mapped from ``target_bounds`` onto [−1, 1] and clipped; loss, radius and bounds
    refer to these units. Otherwise as :class:`DPClassifier`.

    Parameters
    ----------
    loss : {"squared", "absolute"}, default="squared"
        Half the mean squared error, or the mean absolute error.
    mechanism : str, default="auto"
        As for :class:`DPClassifier`.
    epsilon : float, default=1.0
        Privacy cost ε of one fit.
    delta : float, default=1e-6
        δ of one fit; 0 requests pure DP.
    goal : {"rows", "population"}, default="rows"
        As for :class:`DPClassifier`.
    radius : float or "auto", default="auto"
        Radius of the ball to which the guarantee refers, for mapped targets.
    row_norm : float or "auto", default="auto"
        Declared bound on ‖x‖; longer rows are clipped. ``"auto"`` is 1, and 2 with a schema.
    ridge : float or "auto", default="auto"
        Coefficient of ½‖θ‖² in the loss. The mechanism may increase it, see ``plan_.ridge``.
    standardize : {"auto", "private"} or None, default="auto"
        ``"private"`` spends a tenth of the budget on noisy centres and spreads of the columns,
        releases them, and fits the model to the mapped rows. Ball, ridge and guarantees then refer
        to these. ``"auto"`` does so if this improves the plan (docs/choosing.md).
    target_bounds : tuple of float, default=(-1.0, 1.0)
        Declared range of the target; never computed from the rows.
    schema : TableSchema, str, path or None, default=None
        As for :class:`RashomonRegressor`; its target's bounds are ``target_bounds``.
    ledger : str, path or Ledger, default=None
        Privacy ledger, charged before the rows are read; every fit charges again.
    random_state : int, RandomState instance or None, default=None
        A seed makes a run reproducible but not private.

    Attributes
    ----------
    encoded_coef_ : ndarray of shape (n_features,)
        Coefficients in units of the target. They apply to encoded and clipped rows; ``coef_`` is
        absent because it would apply to raw rows.
    encoded_intercept_ : float
        In units of the target.
    guarantee_ : Guarantee
        Privacy of the model, with the limitations stated in :class:`RashomonClassifier`.
    plan_ : Plan
        Plan made before the rows were read: mechanism, reason, options, bounds.
    excess_bound_ : float
        Upper bound on the model's expected excess loss, as defined by ``goal``.
    n_features_in_ : int
        Number of feature columns of X, before encoding and without the target.
    scale_ : ColumnMap or None
        Released centres and spreads; ``encoded_coef_`` refers to the unscaled columns.
    encoder_ : TableEncoder
        Encoder of the rows; set only with a schema.

    Notes
    -----
    The only data-dependent part of a fitted estimator, and of its pickle, is the released model.

    See Also
    --------
    DPClassifier : The same for classes.
    RashomonRegressor : Many models that are almost as good as the best.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from rashomon_explorer import DPRegressor, PublicBoundsScaler, load_dataset
    >>> data = load_dataset("diabetes")
    >>> reg = DPRegressor(epsilon=100.0, target_bounds=data.target_bounds, random_state=0)
    >>> pipe = make_pipeline(PublicBoundsScaler(data.bounds), reg).fit(data.X, data.y)
    >>> reg.plan_.mechanism, bool(pipe.score(data.X, data.y) > 0.2)
    ('objective_perturbation', True)
    """

    loss: str = "squared"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOneModel._parameter_constraints,
        "loss": [StrOptions({"squared", "absolute"})],
        "target_bounds": ["array-like"],
    }

    @predict_in_chunks(a_number)
    def predict(self, X: ArrayLike) -> FloatArray:
        """Predicted target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            In the units of the target.
        """
        check_is_fitted(self)
        return np.asarray(
            self._linear(np.append(self.encoded_coef_, self.encoded_intercept_)[None], X)[:, 0]
        )

    def _loss_of(self, n_classes: int | None) -> Loss:
        return get_loss(self.loss)
