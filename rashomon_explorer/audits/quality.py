"""How well the fitted model predicts, beside a constant, and how far a good model can fall."""

from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import number
from rashomon_explorer.audits.crossfit import CrossFittedModels
from rashomon_explorer.audits.group_rates import accepted_code, fitted_codes
from rashomon_explorer.audits.models import linear_scores
from rashomon_explorer.problem.losses.squared import SquaredLoss

Row = tuple[str, Any, str, str]
"""Number of the summary: name, value, how it is known, meaning."""


def quality_rows(audit: Any) -> list[Row]:
    """Accuracy and AUC, or R² and RMSE, of the fitted model, a constant and the good models."""
    return _label_rows(audit) if audit.task == "classification" else _number_rows(audit)


def quality_text(audit: Any) -> str:
    """One sentence with the numbers of :func:`quality_rows`, those of unseen rows first."""
    rows = {name: (value, meaning) for name, value, _, meaning in quality_rows(audit)}
    names = [name for name in ("accuracy", "AUC", "R²", "RMSE") if name in rows]
    unseen = any(name.startswith(_UNSEEN) for name in rows)
    texts = {name: number(rows[_UNSEEN + name if unseen else name][0]) for name in names}
    where = " cross-fitted" if unseen else ""
    fit_numbers = ", ".join(f"{name} {number(rows[name][0])}" for name in names)
    rest = f"; on the rows of its fit {fit_numbers}" if unseen else ""
    if audit.task != "classification":
        bound = number(rows["least R²"][0]) if "least R²" in rows else ""
        every = f"; every good model ≥ {bound}" if bound else ""
        return f"R² {texts['R²']}{where}{every}; RMSE {texts['RMSE']} ({rows['RMSE'][1]}){rest}"
    share, meaning = rows["constant accuracy"]
    area = f"; AUC {texts['AUC']}" if "AUC" in texts else ""
    which = "good models" if audit.kind == "exact" else "sampled models"
    low, high = rows["least accuracy"][0], rows["greatest accuracy"][0]
    return (
        f"accuracy {texts['accuracy']}{where} ({which}: {number(low)} to {number(high)}), "
        f"{number(share)} {meaning}{area}{rest}"
    )


_UNSEEN = "cross-fitted "
"""Prefix of numbers of the model fitted without the rows that it predicts."""


def unseen_place(audit: Any) -> int | None:
    """Place among the refits of the model itself, fitted without each fold; None without one."""
    if audit.kind == "exact" or not isinstance(audit.models.models, CrossFittedModels):
        return None
    return audit.models.kinds.index("as given") if "as given" in audit.models.kinds else None


def _label_rows(audit: Any) -> list[Row]:
    model = audit.inputs.model
    targets = np.asarray(model.targets)
    values, counts = np.unique(targets, return_counts=True)
    usual, share = values[counts.argmax()], float(counts.max() / counts.sum())
    right = np.asarray(model.labels(fitted_codes(audit))) == targets
    code = accepted_code(model)
    rows: list[Row] = [
        ("accuracy", float(right.mean()), "measured", "of the fitted model on these rows"),
        ("constant accuracy", share, "measured", f"if everyone gets the label {usual!s}"),
    ]
    is_accepted = None
    if code is not None and len(model.classes) == 2:
        is_accepted = targets == model.classes[code]
        words = "of the fitted model's scores; a constant has 0.5"
        area = area_under_curve(is_accepted, fitted_scores(audit))
        rows.append(("AUC", area, "measured", words))
    if (refit := unseen_place(audit)) is not None:
        words = "of the model fitted without each fold, on that fold"
        right = np.asarray(model.labels(audit.answers.label_codes[refit])) == targets
        rows.append((f"{_UNSEEN}accuracy", float(right.mean()), "measured", words))
        if is_accepted is not None:
            area = area_under_curve(is_accepted, _towards(audit, audit.answers.model_scores[refit]))
            rows.append((f"{_UNSEEN}AUC", area, "measured", words))
    low, high = accuracy_range(audit)
    words = "no good model has {} on these rows" if audit.kind == "exact" else "of the sampled"
    rows.append(("least accuracy", low, audit.mark, words.format("less")))
    rows.append(("greatest accuracy", high, audit.mark, words.format("more")))
    return rows


def fitted_scores(audit: Any) -> FloatArray:
    """Score (n_rows,) of the fitted model: of the wanted one of two classes, or its prediction."""
    if audit.kind == "exact":
        model = audit.inputs.model
        return linear_scores(audit.problem, model.theta, audit.answers.rows)[:, 0]
    return _towards(audit, audit.models.best_scores(audit.answers.model_rows))


def _towards(audit: Any, scores: Any) -> FloatArray:
    """Scores of a sampled audit, greater for the wanted one of two classes."""
    values = np.asarray(scores, dtype=float)
    return values if accepted_code(audit.inputs.model) in (None, 1) else -values


def accuracy_range(audit: Any) -> tuple[float, float]:
    """Bounds on the accuracy of a good model: whose label is settled, and whether it is right."""
    targets, model = np.asarray(audit.inputs.model.targets), audit.inputs.model
    if audit.kind != "exact":
        right = np.asarray(model.labels(audit.answers.label_codes)) == targets
        accuracies = right.mean(axis=1)
        return float(accuracies.min()), float(accuracies.max())
    table = audit.answers.best_decided
    right = np.asarray(model.labels(table["label"])) == targets
    stays = (table["decided"] & ~table["flips"]).to_numpy()
    return float((right & stays).mean()), float((right | ~stays).mean())


def area_under_curve(wanted: Mask, scores: FloatArray) -> float:
    """Chance that a person with the wanted label has a higher score than one without."""
    from sklearn.metrics import roc_auc_score

    if wanted.all() or not wanted.any():
        return float("nan")
    return float(roc_auc_score(wanted, scores))


def _number_rows(audit: Any) -> list[Row]:
    targets = np.asarray(audit.inputs.model.targets, dtype=float)
    errors = targets - fitted_scores(audit)
    spread, loss = float(targets.var()), float((errors**2).mean())
    rows: list[Row] = [
        ("R²", 1 - loss / spread if spread else float("nan"), "measured", "a constant has 0"),
        ("RMSE", loss**0.5, "measured", f"the mean for everyone has {number(spread**0.5)}"),
    ]
    if (refit := unseen_place(audit)) is not None:
        words = "of the model fitted without each fold, on that fold"
        loss = float(((targets - audit.answers.model_scores[refit]) ** 2).mean())
        share = 1 - loss / spread if spread else float("nan")
        rows.append((f"{_UNSEEN}R²", share, "measured", words))
        rows.append((f"{_UNSEEN}RMSE", loss**0.5, "measured", words))
    problem = audit.problem
    if isinstance(getattr(problem, "loss", None), SquaredLoss) and problem.weights is None:
        greatest_loss = 2 * (problem.minimum.value + audit.psi)  # penalties are not negative
        if spread:
            words = "no good model has less on these rows"
            rows.append(("least R²", 1 - greatest_loss / spread, "exact", words))
    return rows
