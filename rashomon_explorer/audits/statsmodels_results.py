"""Fitted results of statsmodels as models of scikit-learn: same design, parameters and weights."""

import re
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import as_pandas

_ALIKE = 1e-9  # relative difference of designs and targets that counts as rounding
_EXACT_KINDS = (
    "OLS, WLS, Logit, and GLM with the family Binomial and its logit link, or Gaussian and identity"
)


def is_statsmodels(model: Any) -> bool:
    """Whether a model is a fitted result of statsmodels, told by its module and attributes."""
    if type(model).__module__.startswith("statsmodels.") and hasattr(model, "exog_names"):
        raise TypeError(f"{type(model).__name__} is not fitted: pass what its fit() returns")
    fitted = getattr(model, "model", None)
    named = type(fitted).__module__.partition(".")[0] == "statsmodels"
    return named and all(map(hasattr, (fitted, model), ("exog", "params")))


class Design(TransformerMixin, BaseEstimator):
    """Design of a result without its constant: the columns of a formula, or those of the table."""

    def __init__(self, results: Any) -> None:
        self.results = results

    def __sklearn_clone__(self) -> Self:
        """Return itself: nothing is fitted again."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return itself."""
        return self

    @property
    def constant(self) -> int | None:
        """Place of a constant 1 in the design."""
        position = getattr(self.results.model.data, "const_idx", None)
        is_one = position is not None and (self.results.model.exog[:, position] == 1).all()
        return int(position) if position is not None and is_one else None

    @property
    def formula(self) -> str:
        """Formula of the fit; empty without one."""
        return str(getattr(self.results.model, "formula", None) or "")

    @property
    def columns(self) -> list[str]:
        """Names of the design's columns without the constant."""
        names = list(map(str, self.results.model.exog_names))
        return [name for position, name in enumerate(names) if position != self.constant]

    @property
    def feature_names_in_(self) -> list[str]:
        """Columns of the table that the design is computed from."""
        if not self.formula:
            return self.columns
        right = f"{self.formula.partition('~')[2]} {' '.join(self.columns)}"
        return [
            str(name)
            for name in self.results.model.data.frame.columns
            if re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", right)
        ]

    @property
    def n_features_in_(self) -> int:
        """Number of these columns."""
        return len(self.feature_names_in_)

    def get_feature_names_out(self, input_features: Any = None) -> list[str]:
        """Names of the design's columns."""
        return self.columns

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Design (n_rows, k) of the rows of a table."""
        if not self.formula:
            return np.asarray(X[self.columns], dtype=float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows with missing values, which are refused
            design = np.asarray(self.results._transform_predict_exog(X)[0], dtype=float)
        missing = np.isnan(design).any(axis=1)
        if missing.any():
            raise ValueError(
                f"{int(missing.sum()):,} rows have missing values, and the formula gives them no "
                "prediction: leave them out"
            )
        return design if self.constant is None else np.delete(design, self.constant, axis=1)


@dataclass(frozen=True)
class ConvertedResults:
    """A result as a fitted pipeline, with the table, targets and weights of its fit."""

    model: Pipeline
    table: pd.DataFrame
    targets: Any
    weights: FloatArray | None
    counts: FloatArray | None  # weights that stand for people; not the precisions of a WLS
    people: float  # number of observations in its likelihood


def converted_results(results: Any, X: Any, y: Any, sample_weight: Any) -> ConvertedResults:
    """Pipeline that predicts what a result predicts; raise for other kinds, rows or weights."""
    fitted, link, design = results.model, _checked_link(results), Design(results)
    stopped = getattr(results, "mle_retvals", None) or {}
    if not stopped.get("converged", getattr(results, "converged", True)):
        raise ValueError(
            "the result is not the maximum of its likelihood: fit with more steps, fit(maxiter=...)"
        )
    table, targets = _table(design, X), as_pandas(y)
    endog = np.asarray(fitted.endog, dtype=float)
    if len(table) != len(endog):
        raise ValueError(
            f"X has {len(table):,} rows, and {len(endog):,} were fitted: statsmodels leaves out "
            "rows with missing values; pass X and y at results.fittedvalues.index"
        )
    _check_targets(targets, endog, link)
    labels = endog.astype(int) if link == "logistic" else endog
    targets = pd.Series(labels, table.index, name=getattr(targets, "name", fitted.endog_names))
    rows, exog = design.transform(table), np.asarray(fitted.exog, dtype=float)
    if design.constant is not None:
        exog = np.delete(exog, design.constant, axis=1)
    if rows.shape != exog.shape or not np.allclose(rows, exog, _ALIKE, _ALIKE):
        raise ValueError(
            "X gives another design than that of the fit: pass the table of the fit, with its rows "
            "in their order"
        )
    weights, counts, people = _weights(results)
    if sample_weight is not None:
        fit_weights = np.ones(len(endog)) if weights is None else weights
        passed = np.asarray(sample_weight, dtype=float)
        if passed.shape != fit_weights.shape or not np.allclose(passed, fit_weights):
            raise ValueError(
                "sample_weight differs from the weights of the result: leave it out, they are read "
                "from the result"
            )
    return ConvertedResults(results_pipeline(results), table, targets, weights, counts, people)


def results_pipeline(results: Any) -> Pipeline:
    """Fitted pipeline that predicts what a result predicts, with labels from 0.5 on."""
    design = Design(results)
    pipeline = make_pipeline(design, _estimator(design, _checked_link(results)))
    formula = f" ({design.formula})" if design.formula else ""
    pipeline.audited_name_ = f"statsmodels {type(results.model).__name__}{formula}"
    return pipeline


def _checked_link(results: Any) -> str:
    """Link of the likelihood, ``"logistic"`` or ``"identity"``; raise for any other problem."""
    fitted, kind = results.model, type(results.model).__name__
    family = getattr(fitted, "family", None)
    names = type(family).__name__, type(getattr(family, "link", None)).__name__.lower()
    links = {"OLS": "identity", "WLS": "identity", "Logit": "logistic"}
    families = {("Binomial", "logit"): "logistic", ("Gaussian", "identity"): "identity"}
    link = families.get(names, "") if kind == "GLM" else links.get(kind, "")
    reason = f"{kind} with {names[0]} and the {names[1]} link" if kind == "GLM" else kind
    shifts = (getattr(fitted, name, None) for name in ("offset", "exposure"))
    if any(shift is not None and np.any(shift) for shift in shifts):
        link, reason = "", f"{kind} with an offset or exposure"
    inner = type(getattr(results, "_results", results)).__name__
    if inner.startswith(("L1", "Regularized")) or getattr(results, "constraints", None) is not None:
        link, reason = "", f"a {kind} with a penalty or constraints"
    if not link:
        raise TypeError(
            f"ranges are proved for {_EXACT_KINDS}, got {reason}: to compare several such results "
            "pass their predictions to sets.from_predictions([first.predict(X), ...], y); a "
            "penalised model can be fitted and audited with scikit-learn"
        )
    return link


def _table(design: Design, X: Any) -> pd.DataFrame:
    """Rows as a table with the columns that the design needs; an array may hold the constant."""
    data = as_pandas(X)
    if isinstance(data, pd.DataFrame):
        missing = [name for name in design.feature_names_in_ if name not in data.columns]
        if missing:
            raise ValueError(f"X lacks the columns {missing[:5]}, got {list(data.columns)[:10]}")
        return data[design.feature_names_in_]
    if design.formula:
        raise TypeError("the result has a formula: X must be a table with its columns")
    array = np.asarray(data, dtype=float)
    if array.ndim == 2 and design.constant is not None and array.shape[1] > len(design.columns):
        array = np.delete(array, design.constant, axis=1)
    if array.ndim != 2 or array.shape[1] != len(design.columns):
        raise ValueError(f"X must have the columns {design.columns}, got shape {np.shape(X)}")
    return pd.DataFrame(array, columns=design.columns)


def _check_targets(targets: Any, endog: FloatArray, link: str) -> None:
    if link == "logistic" and not np.isin(endog, (0.0, 1.0)).all():
        raise TypeError(
            "the targets of the fit are shares or counts: fit to one row for each outcome 0 or 1, "
            "with freq_weights for rows that occur several times"
        )
    try:
        is_equal = np.allclose(np.asarray(targets, dtype=float), endog, _ALIKE, _ALIKE)
    except (TypeError, ValueError):  # words, or another length
        is_equal = False
    if not is_equal:
        raise ValueError(
            "y must be the targets as the result holds them, results.model.endog (1 is the class "
            "whose probability is predicted)"
        )


def _weights(results: Any) -> tuple[FloatArray | None, FloatArray | None, float]:
    """Weights (n,) in the likelihood, those that count people, and how many observations it has."""
    fitted, n = results.model, len(results.model.endog)
    if type(fitted).__name__ == "WLS":
        weights = np.broadcast_to(np.asarray(fitted.weights, dtype=float), (n,)).copy()
        return weights, None, float(n)
    if type(fitted).__name__ != "GLM":
        return None, None, float(n)
    counts, precisions = (
        np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        for weights in (fitted.freq_weights, fitted.var_weights)
    )
    weights = counts * precisions
    counts = weights if type(fitted.family).__name__ == "Binomial" else counts
    people = float(counts.sum())
    if (weights == 1).all():
        return None, None, people
    return weights, None if (counts == 1).all() else counts, people


def _estimator(design: Design, link: str) -> Any:
    """Estimator of scikit-learn with the parameters of a result."""
    slopes, intercept = np.asarray(design.results.params, dtype=float), 0.0
    has_constant = design.constant is not None
    if design.constant is not None:
        intercept = float(slopes[design.constant])
        slopes = np.delete(slopes, design.constant)
    if link == "identity":
        estimator: Any = LinearRegression(fit_intercept=has_constant)
        estimator.coef_, estimator.intercept_ = slopes, intercept
    else:
        estimator = LogisticRegression(C=np.inf, fit_intercept=has_constant, max_iter=10_000)
        estimator.coef_, estimator.intercept_ = slopes[None], np.array([intercept])
        estimator.classes_ = np.array([0, 1])
    estimator.n_features_in_ = len(slopes)
    return estimator
