"""Fitted models of other libraries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.estimators import (
    RashomonClassifier,
    RashomonRegressor,
    RashomonTreeClassifier,
)
from rashomon_explorer.measures import exact_ambiguity, exact_coefficient_ranges, penalised_problem

Ours = RashomonClassifier | RashomonRegressor | RashomonTreeClassifier


def check_fitted_estimator(shown: Any) -> Ours:
    """Return the fitted estimator of the page, the last step of a pipeline."""
    last = shown[-1] if isinstance(shown, Pipeline) else shown
    if not isinstance(last, Ours):
        raise TypeError(
            "estimator must be a fitted RashomonClassifier, RashomonRegressor or "
            f"RashomonTreeClassifier, or a Pipeline that ends in one, got {type(last).__name__}"
        )
    check_is_fitted(last)
    return last


MOST_PEOPLE = 500
"""Number of leading rows for which label flips are computed."""


@dataclass(frozen=True)
class ExternalModel:
    """A fitted scikit-learn model with the rows that it was fitted to (curator)."""

    model: Any
    rows: pd.DataFrame
    y: Any
    problem: Any

    @classmethod
    def of(cls, shown: Any, X: Any, y: Any) -> "ExternalModel":
        """Take a model, or a pipeline that ends in one, with the rows that it was fitted to."""
        model, rows = shown, X
        if isinstance(shown, Pipeline):
            model = shown[-1]
            for _, step in shown.steps[:-1]:
                rows = step.transform(rows)
        frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))
        known = rows if hasattr(model, "feature_names_in_") else frame.to_numpy()
        return cls(model, frame, y, penalised_problem(model, known, y))

    def ranges(self, psi: float) -> pd.DataFrame:
        """Exact range of every coefficient over the models within ψ of its objective."""
        return exact_coefficient_ranges(self.problem, psi)

    def flip_message(self, psi: float) -> str:
        """Share of people with a conflicting prediction; empty for regression."""
        if not hasattr(self.model, "classes_"):
            return ""
        people = self.rows.head(MOST_PEOPLE)
        share = exact_ambiguity(self.problem, psi, people.to_numpy())
        return f"{share.lower:.0%} of {len(people):,} people have a conflicting prediction"
