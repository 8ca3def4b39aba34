"""Another fitted model beside the audited one."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import ReprMixin
from rashomon_explorer.audits.models import AuditedModel
from rashomon_explorer.sets import from_estimators


@dataclass(frozen=True, repr=False)
class Comparison(ReprMixin):
    """A second model: whether it is as good, and for whom it decides otherwise: not private."""

    excess: float  # its loss above that of the best (or fitted) model
    psi: float  # largest excess of a good model
    basis: str  # what the loss is
    # people with another label, with both; for a regression all people, with both predictions
    changed: pd.DataFrame = field(repr=False)
    n_rows: int

    @property
    def inside(self) -> bool:
        """Whether the model is one of the good models."""
        return self.excess <= self.psi

    def _title(self) -> str:
        return f"The other model is {'' if self.inside else 'not '}one of the good models"

    def _facts(self) -> list[tuple[str, str]]:
        share = self.excess / self.psi
        facts = [("excess", f"{self.excess:.4g}, {share:.3g} times ψ = {self.psi:.4g}")]
        facts.append(("measured as", self.basis))
        if "fitted label" in self.changed:
            count = f"{len(self.changed):,} of {self.n_rows:,} people get another label"
            facts.append(("changes", count))
        else:
            move = (self.changed["other"] - self.changed["fitted"]).abs()
            facts.append(("changes", f"predictions move by {move.median():.4g} in the median"))
        return facts


def compare(audit: Any, other: Any) -> Comparison:
    """Compare another fitted model with the models of an audit."""
    own = audit.inputs.model
    second = AuditedModel.from_fit(other, audit.table, own.targets)
    second = replace(second, reversed=getattr(own, "reversed", False))
    theta = _parameters(audit.problem, own, second)
    if theta is None:
        excess, basis = _loss_difference(own, second), "mean loss on these rows, without penalties"
    else:
        value = float(audit.problem.value(theta[:, None])[0])
        excess, basis = value - audit.problem.minimum.value, "the objective of the audited model"
    changed = _changes(own, second)
    return Comparison(excess, audit.psi, basis, changed, len(own.table))


def _parameters(problem: Any, own: AuditedModel, second: AuditedModel) -> FloatArray | None:
    """Parameters of a model in the audited problem; None unless it scores the same columns."""
    last = second.estimator
    if problem is None or problem.loss.outputs > 1 or not hasattr(last, "coef_"):
        return None
    if second.classes != own.classes:
        return None
    rows, theirs = np.asarray(own.rows, dtype=float), np.asarray(second.rows, dtype=float)
    intercept = float(np.ravel(getattr(last, "intercept_", 0.0))[0])
    if rows.shape != theirs.shape or not np.allclose(rows, theirs):
        return None
    if not problem.intercept and intercept:
        return None
    theta = np.append(np.ravel(last.coef_), [intercept] * problem.intercept)
    theta = -theta if own.reversed else theta
    return theta if len(theta) == problem.p else None


def _loss_difference(own: AuditedModel, second: AuditedModel) -> float:
    losses = [
        from_estimators([model.original], model.fit_rows, model.targets).losses[0]
        for model in (own, second)
    ]
    return float(losses[1] - losses[0])


def _changes(own: AuditedModel, second: AuditedModel) -> pd.DataFrame:
    first, other = (np.asarray(model.original.predict(model.fit_rows)) for model in (own, second))
    index = own.table.index
    if not own.classes:
        return pd.DataFrame({"fitted": first, "other": other}, index=index)
    table = pd.DataFrame({"fitted label": first, "other label": other}, index=index)
    return table[first != other]
