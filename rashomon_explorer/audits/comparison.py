"""The audited model beside the best one of its kind, and beside another fitted one."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import ReprMixin, number
from rashomon_explorer.audits.models import AuditedModel, codes_of_scores
from rashomon_explorer.audits.refits import AS_GIVEN, floored, recipe
from rashomon_explorer.audits.sampled import CrossFit, good_models
from rashomon_explorer.audits.statsmodels_results import is_statsmodels, results_pipeline
from rashomon_explorer.measures.ranges.linear_models import solver_advice
from rashomon_explorer.sets.predictions import fitted_models, row_losses

_NEGLIGIBLE = 1e-3  # share of ψ below which the fitted model counts as the best one
_LABELS = ("fitted label", "best label")


@dataclass(frozen=True, repr=False)
class Optimality(ReprMixin):
    """Loss of the fitted model above the least one of its kind: not private."""

    excess: float  # objective of the fitted model above the minimum, in the unit of ψ
    psi: float  # largest excess of a good model
    minimum: float
    # people to whom the best model gives another label, with both; of a regression everyone
    changed: pd.DataFrame = field(repr=False)
    n_rows: int
    advice: str  # what the solver did, and what would lead it to the minimum

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
        share = (
            f"{100 * self.excess / self.minimum:.2g} %" if self.minimum > 0 else number(self.excess)
        )
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
    changed = _changed_by_best(model, problem, fitted)
    return Optimality(
        max(excess, 0.0),
        audit.psi,
        float(problem.minimum.value),
        changed,
        len(model.table),
        solver_advice(model.estimator),
    )


def _changed_by_best(model: Any, problem: Any, fitted: FloatArray) -> pd.DataFrame:
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


def problem_rows(model: Any, problem: Any) -> FloatArray:
    """Rows (n, p) of the table as the last step sees them, with the constant of an intercept."""
    rows = np.asarray(model.rows, dtype=float)
    return np.column_stack([rows, np.ones(len(rows))]) if problem.intercept else rows


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
