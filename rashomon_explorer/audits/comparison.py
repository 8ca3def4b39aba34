"""Another fitted model beside the audited one."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import ReprMixin
from rashomon_explorer.audits.models import AuditedModel
from rashomon_explorer.audits.refits import AS_GIVEN, floored, recipe
from rashomon_explorer.audits.sampled import CrossFit, good_models
from rashomon_explorer.audits.statsmodels_results import is_statsmodels, results_pipeline
from rashomon_explorer.sets.predictions import fitted_models, row_losses


@dataclass(frozen=True, repr=False)
class Comparison(ReprMixin):
    """A second model: whether it is as good, and for whom it decides otherwise: not private."""

    excess: float  # its loss above that of the best (or fitted) model
    psi: float  # largest excess of a good model
    basis: str  # what the loss is, and on which rows
    # people with another label, with both; for a regression all people, with both predictions
    changed: pd.DataFrame = field(repr=False)
    n_rows: int
    error: float = 0.0  # standard error of the excess, paired over rows
    inside: bool | None = None  # whether it is one of the good models; None if that is not known

    def _title(self) -> str:
        if self.inside is not None:
            return f"The other model is {'' if self.inside else 'not '}one of the good models"
        more = "more" if self.excess > 0 else "less"
        return f"The other model loses {abs(self.excess):.4g} {more} than the audited one"

    def _facts(self) -> list[tuple[str, str]]:
        error = f" ± {self.error:.2g}" if self.error else ""
        share = self.excess / self.psi
        facts = [("excess", f"{self.excess:.4g}{error}, {share:.3g} times ψ = {self.psi:.4g}")]
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
    audited = audit.inputs.model
    rule: dict[str, Any] = {}
    if audited.decision is not None and audited.decision.replaced:  # by the audit's threshold
        rule = {"threshold": audited.decision.threshold, "wanted": audited.decision.positive}
    other = results_pipeline(other) if is_statsmodels(other) else other
    second = AuditedModel.from_fit(other, audit.table, audited.targets, **rule)
    second = replace(second, reversed=audited.reversed and len(second.classes) == 2)
    changed, n_rows = _changes(audited, second), len(audited.table)
    theta = common_parameters(audit.problem, audited, second)
    if theta is not None:
        excess = float(audit.problem.value(theta[:, None])[0]) - audit.problem.minimum.value
        basis, inside = "the objective of the audited model", bool(excess <= audit.psi)
        return Comparison(excess, audit.psi, basis, changed, n_rows, inside=inside)
    collected = audit.kind == "sampled" and "collected" in audit.models.kinds
    losses = None if collected else _held_out_losses(audit, audited, second)
    if losses is None:
        name, *losses = _losses(audited, second)
        rows = "the rows given, if neither was fitted to them" if collected else _SEEN
    else:
        name, *losses = losses
        rows = "rows that neither was fitted to, by cross-fitting both"
    confidence = audit.models.confidence if audit.kind == "sampled" else 0.5
    excess, errors, good = good_models(losses[1][None], losses[0], audit.psi, confidence)
    judged = audit.kind == "sampled" and rows != _SEEN and name == audit.models.loss
    return Comparison(
        excess=float(excess[0]),
        psi=audit.psi,
        basis=f"mean {_LOSSES[name]} on {rows}",
        changed=changed,
        n_rows=n_rows,
        error=float(errors[0]),
        inside=bool(good[0]) if judged else None,
    )


_SEEN = "the rows that it was fitted to: it cannot be fitted again to a part of them"
_LOSSES = {"log_loss": "log loss", "zero_one": "error rate", "squared": "half squared error"}


def _held_out_losses(audit: Any, *models: AuditedModel) -> Any:
    """Loss, and losses of each row by the models fitted without its fold; None without a refit."""
    seed = audit.models.seed if audit.kind == "sampled" else 0
    fitted = []
    try:
        for model in models:
            rule: Any = {"classes": model.classes, "decision": model.decision}
            unfitted = recipe(model.original)
            fits = CrossFit.begin(unfitted, model.fit_rows, model.targets, seed=seed, **rule)
            fitted.append(fits)
    except (TypeError, ValueError):  # no estimator of scikit-learn, or not of a part of rows
        return None
    name = "zero_one" if any(each.loss == "zero_one" for each in fitted) else fitted[0].loss
    return name, *(replace(each, loss=name).losses([AS_GIVEN])[0] for each in fitted)


def _losses(*models: AuditedModel) -> Any:
    several = [fitted_models((model.original,), model.targets) for model in models]
    certain = any(each.certain for each in several)
    loss, losses = "zero_one" if certain else None, []
    for model, each in zip(models, several, strict=True):
        scores = each.scores(model.fit_rows)
        if not certain:
            scores = floored(scores, len(model.targets), each.classes)
        options: Any = {"classes": each.classes, "loss": loss, "certain": certain}
        values, name = row_losses(scores, model.targets, **options)
        losses.append(values[0])
    return name, *losses


def common_parameters(problem: Any, own: AuditedModel, second: AuditedModel) -> FloatArray | None:
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


def _changes(own: AuditedModel, second: AuditedModel) -> pd.DataFrame:
    index = own.table.index
    if not own.classes:
        fitted, other = (model.original.predict(model.fit_rows) for model in (own, second))
        return pd.DataFrame({"fitted": np.asarray(fitted), "other": np.asarray(other)}, index=index)
    fitted, other = (model.labels(model.codes) for model in (own, second))
    table = pd.DataFrame({"fitted label": fitted, "other label": other}, index=index)
    return table[fitted != other]
