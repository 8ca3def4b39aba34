"""Private draws of linear regressions from a Rashomon set."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.estimators.base import with_parameters
from rashomon_explorer.estimators.rashomon import BaseRashomon
from rashomon_explorer.estimators.tables import a_number, predict_in_chunks
from rashomon_explorer.estimators.targets import BoundedTargets
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.problem.losses import Loss, get_loss


@with_parameters
class RashomonRegressor(BoundedTargets[Plan], BaseRashomon):
    """Linear regressions drawn from the Rashomon set with differential privacy.

    Targets are mapped from ``target_bounds`` onto [−1, 1] and clipped; L is half the mean squared
    error of these, on the ball ‖θ‖ ≤ ``radius``. Otherwise as :class:`RashomonClassifier`.

    Parameters
    ----------
    psi : float, default=0.02
        Rashomon threshold, in half squared units of the mapped target.
    {epsilon}
    {delta}
    {n_draws}
    {mechanism}
    {radius}
    {row_norm}
    {ridge}
    {standardize}
    {patience}
    {target_bounds}
    {schema}
    {ledger}
    {random_state}

    Attributes
    ----------
    rashomon_set_ : RashomonSet
        The drawn models, in mapped units, with data-dependent statistics for the curator.
    {guarantee_}
    plan_ : Plan
        Plan made before the rows were read.
    {target_coefficients}
    {n_features_in_}
    {scale_}
    {encoder_}

    Notes
    -----
    {curator_note}

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRashomon._parameter_constraints,
        "target_bounds": ["array-like", None],
    }

    @predict_in_chunks(a_number)
    def predict(self, X: ArrayLike) -> FloatArray:
        """Predicted target, averaged over the draws."""
        return np.asarray(self._scores(X).mean(axis=0))

    def _loss_of(self, n_classes: int | None) -> Loss:
        return get_loss("squared")

    def _predictions(self, scores: FloatArray) -> FloatArray:
        return scores
