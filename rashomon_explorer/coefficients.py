"""Coefficients of models that encode or clip a row before they score it."""

from typing import Any

from rashomon_explorer.array_types import FloatArray


class EncodedCoefficients:
    """Shows ``coef_`` and ``intercept_`` only where they are the decision function of any row.

    Other programs take them for that function: SHAP's ``LinearExplainer``, converters,
    ``SelectFromModel``. A model that encodes rows by a schema, or clips long ones, has another.

    Attributes
    ----------
    encoded_coef_, encoded_intercept_ : ndarray or float
        Coefficients of rows once they are encoded and clipped.

    Examples
    --------
    >>> model = EncodedCoefficients()
    >>> model.encoded_coef_ = [1.0]
    >>> hasattr(model, "coef_")
    False
    """

    encoded_coef_: FloatArray
    encoded_intercept_: Any

    @property
    def _scores_rows_unchanged(self) -> bool:
        """Whether predictions are made of rows exactly as they are given."""
        return False

    @property
    def coef_(self) -> FloatArray:
        """Coefficients, of a model that scores every row as it is given."""
        return self._of_given_rows("coef_", self.encoded_coef_)

    @property
    def intercept_(self) -> Any:
        """Intercept, of a model that scores every row as it is given."""
        return self._of_given_rows("intercept_", self.encoded_intercept_)

    def _of_given_rows(self, name: str, value: Any) -> Any:
        if self._scores_rows_unchanged:
            return value
        raise AttributeError(
            f"{type(self).__name__} has no {name}: it encodes or clips a row before it scores it, "
            f"so that no {name} gives its decision function. encoded_{name} is of the rows as they "
            "are encoded and clipped; explain predict_proba, decision_function or predict instead"
        )
