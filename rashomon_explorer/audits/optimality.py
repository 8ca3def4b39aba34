"""How far the solver left the fitted model above the best one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import ReprMixin, number
from rashomon_explorer.audits.models import codes_of_scores
from rashomon_explorer.measures.ranges.linear_models import solver_advice

_NEGLIGIBLE = 1e-3  # share of ψ below which the fitted model counts as the best one


@dataclass(frozen=True, repr=False)
class Optimality(ReprMixin):
    """Loss of the fitted model above the least one of its kind: not private.

    Parameters
    ----------
    excess : float
        Objective of the fitted model above the minimum, in the unit of ψ.
    psi : float
        Largest excess of a good model.
    least : float
        The minimum.
    changed : DataFrame
        People to whom the best model gives another label, with both; for a regression everyone,
        with both predictions.
    n_rows : int
        Number of people.
    advice : str
        What the solver did, and what would lead it to the minimum.
    """

    excess: float
    psi: float
    least: float
    changed: pd.DataFrame = field(repr=False)
    n_rows: int
    advice: str

    @property
    def inside(self) -> bool:
        """Whether the fitted model is one of the good models."""
        return self.excess <= self.psi

    @property
    def reached(self) -> bool:
        """Whether the fitted model is the best one up to a thousandth of ψ."""
        return self.excess <= _NEGLIGIBLE * self.psi

    @property
    def text(self) -> str:
        """One sentence on the fitted model, and how to reach the best one."""
        if self.reached:
            return "the best model of its kind"
        share = f"{100 * self.excess / self.least:.2g} %" if self.least > 0 else number(self.excess)
        verdict = "one of the good models" if self.inside else "not one of the good models"
        times = number(self.excess / self.psi, 2, "down" if self.inside else "up")
        return (
            f"loses {share} more than the best one, {times} times ψ: it is "
            f"{verdict}{self._changes}; {self.advice}"
        )

    @property
    def _changes(self) -> str:
        if "best label" not in self.changed:
            return ""
        count = f"{len(self.changed):,} of {self.n_rows:,} people"
        return f", and the best one gives {count} another label"

    def _title(self) -> str:
        return f"The fitted model is {self.text}" if self.reached else f"It {self.text}"

    def _facts(self) -> list[tuple[str, str]]:
        return [("excess", f"{self.excess:.4g}"), ("ψ", f"{self.psi:.4g}")]


def optimality(audit: Any) -> Optimality:
    """Compare the fitted model with the minimum of its objective."""
    model, problem = audit.inputs.model, audit.problem
    fitted = model.theta
    excess = float(problem.value(fitted[:, None])[0]) - problem.minimum.value
    changed = _changes(model, problem, fitted)
    return Optimality(
        max(excess, 0.0),
        audit.psi,
        float(problem.minimum.value),
        changed,
        len(model.table),
        solver_advice(model.estimator),
    )


def _changes(model: Any, problem: Any, fitted: FloatArray) -> pd.DataFrame:
    ends = np.stack([fitted, problem.minimum.theta])
    rows = problem_rows(model, problem)
    scores = np.stack([rows @ theta.reshape(problem.loss.outputs, -1).T for theta in ends])
    index = model.table.index
    if not model.classes:
        first, best = scores[:, :, 0]
        return pd.DataFrame({"fitted": first, "best": best}, index=index)
    cut = model.cut(problem.loss.link)
    codes = np.stack([codes_of_scores(each, cut) for each in scores])
    labels = {name: model.labels(code) for name, code in zip(_LABELS, codes, strict=True)}
    return pd.DataFrame(labels, index=index)[codes[0] != codes[1]]


_LABELS = ("fitted label", "best label")


def problem_rows(model: Any, problem: Any) -> FloatArray:
    """Rows (n, p) of the table as the last step sees them, with the constant of an intercept."""
    rows = np.asarray(model.rows, dtype=float)
    return np.column_stack([rows, np.ones(len(rows))]) if problem.intercept else rows
