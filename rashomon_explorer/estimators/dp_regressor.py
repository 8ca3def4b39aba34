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
    {epsilon}
    {delta}
    goal : {"rows", "population"}, default="rows"
        As for :class:`DPClassifier`.
    {radius}
    {row_norm}
    {ridge}
    {standardize}
    {target_bounds}
    {schema}
    {ledger}
    {random_state}

    Attributes
    ----------
    {target_coefficients}
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
        "target_bounds": ["array-like", None],
    }

    @predict_in_chunks(a_number)
    def predict(self, X: ArrayLike) -> FloatArray:
        """Predicted target."""
        check_is_fitted(self)
        return np.asarray(
            self._linear(np.append(self.encoded_coef_, self.encoded_intercept_)[None], X)[:, 0]
        )

    def _loss_of(self, n_classes: int | None) -> Loss:
        return get_loss(self.loss)
