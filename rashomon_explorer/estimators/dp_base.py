"""Base of the estimators of one private model."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.sklearn_compat import StrOptions
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.estimators.base import with_parameters
from rashomon_explorer.estimators.rashomon import BaseDraws
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.select import GOALS
from rashomon_explorer.sets.models.written import as_sklearn
from rashomon_explorer.sets.scores import linear_scores


@with_parameters
class BaseOneModel(BaseDraws):
    """Base of estimators of one model: one draw, of a set without width."""

    goal: str = "rows"

    psi = 0.0
    n_draws = 1
    patience = AUTO

    if TYPE_CHECKING:
        scale_: ColumnMap | None = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseDraws._parameter_constraints,
        "goal": [StrOptions(set(GOALS))],
    }

    @property
    def excess_bound_(self) -> float:
        """Bound on the expected excess loss, computed before a row is read."""
        planned: Plan = self.plan_
        return planned.population_bound if self.goal == "population" else planned.excess_bound

    def _note(self, planned: Plan) -> str:
        return self._carrier(planned)

    def _linear(self, theta: FloatArray, X: ArrayLike) -> FloatArray:
        """Scores (n_samples, outputs) of rows clipped to the declared norm."""
        rows = self._encoded_rows(X)
        if self.scale_ is not None:
            theta = self.scale_.scaled(theta)
        return linear_scores(theta.reshape(1, -1), rows, self._row_norm, len(theta), self.scale_)[0]

    def to_sklearn(self) -> Any:
        """Return the fitted model as scikit-learn's, for encoded rows; linear ones have `to_onnx`.

        With a ``schema`` it takes the rows of ``encoder_.transform(X)``.
        """
        check_is_fitted(self)
        if hasattr(self, "tree_"):
            (tree,), names = self.tree_.trees, self.tree_.feature_names
            return as_sklearn(tree, len(names), tuple(self.classes_.tolist()), names)
        from rashomon_explorer.sets.sklearn_models import one_model

        theta = np.column_stack([np.atleast_2d(self.encoded_coef_), self.encoded_intercept_])
        theta = theta if self.scale_ is None else self.scale_.scaled(theta)
        classes = getattr(self, "classes_", None)
        return one_model(theta, self._row_norm, self.scale_, classes=classes, loss=self.loss)

    def _fit_summary(self) -> list[str]:
        planned: Plan = self.plan_
        model, bound = f"{planned.mechanism} on {planned.n:,} rows", self.excess_bound_
        known = math.isfinite(bound)  # only the clipped loss has a bound if slopes are clipped
        return [model, f"excess ≤ {rounded_up(bound)} on average"] if known else [model]
