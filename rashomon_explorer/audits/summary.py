"""Summary of an audit: as a table, as text, as JSON, and how well its model predicts."""

import json
import math
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import number, percent, plural
from rashomon_explorer.audits import group_rates
from rashomon_explorer.audits.answers import NOT_PRIVATE, with_sign
from rashomon_explorer.audits.models import linear_scores
from rashomon_explorer.audits.refits import CrossFittedModels
from rashomon_explorer.audits.tolerance import effects, widths
from rashomon_explorer.measures.ranges.linear_models import has_problem
from rashomon_explorer.problem.losses.squared import SquaredLoss

_MOST_NAMES = 5
_MOST_GROUPS = 4
_NEXT = (
    ".flips",
    ".coefficients",
    ".importance",
    ".report('audit.html')",
    ".explore()",
    ".release_code",
)

Row = tuple[str, Any, str, str]
"""Number of the summary: name, value, how it is known, meaning."""
Lines = dict[str, list[str]]
"""Sentences by heading."""


def summary_table(audit: Any) -> pd.DataFrame:
    """Numbers of an audit, one a row, with how they are known and what they mean."""
    mark = audit.mark
    rows = len(audit.inputs.index)
    numbers: list[Row] = [
        ("rows", rows, "count", "rows of the fit"),
        ("psi", audit.psi, "chosen", audit.tolerance.text),
    ]
    if audit.kind == "exact":
        words = "loss of the fitted model above the best one"
        numbers.append(("fitted excess", audit.optimality.excess, "exact", words))
    if audit.kind == "sampled":
        mark = "nothing was compared" if _alone(audit) else mark
        words = f"of {audit.models.n_tried:,} models that were tried"
        numbers.append(("good models", audit.models.n_draws, "count", words))
    numbers += quality_rows(audit)
    if audit.task == "classification":
        numbers += _label_rows(audit, mark)
    else:
        width, words = widths(audit), "half of the people have a wider range"
        numbers.append(("median range", float(np.median(width)), mark, words))
        words = "largest range of a person's prediction"
        numbers.append(("widest range", float(width.max()), mark, words))
    if audit.has_coefficients and len(table := effects(audit)):
        numbers.append(("coefficients", len(table), "count", "without the intercept"))
        settled = int(table["settled"].sum())
        numbers.append(("settled signs", settled, mark, "the same sign in every good model"))
    if not _alone(audit):
        numbers += _tolerance_rows(audit, mark)
    numbers += _group_rows(audit, mark)
    columns = ["number", "value", "known", "meaning"]
    table = pd.DataFrame(numbers, columns=columns).set_index("number")
    table.attrs.update(view="curator: not private")
    return table


def _tolerance_rows(audit: Any, mark: str) -> list[Row]:
    rows: list[Row] = []
    for share, row in audit.near_tolerances.iterrows():
        if share == 1:
            continue
        meaning = f"at ψ = {row['psi']:.3g}, {_times(share)} the chosen one"
        for column, name in _OF_TOLERANCE.items():
            if column in row:
                rows.append((f"{name} at {_times(share)} ψ", float(row[column]), mark, meaning))
    return rows


_OF_TOLERANCE = {
    "flips": "people who can flip",
    "median_range": "median range",
    "settled_signs": "settled signs",
}


def _times(share: float) -> str:
    return f"1/{1 / share:.0f}" if share < 1 else f"{share:.0f}"


def _alone(audit: Any) -> bool:
    return bool(audit.kind == "sampled" and audit.models.n_draws < 2)


def _label_rows(audit: Any, mark: str) -> list[Row]:
    decided = audit.decided
    flips, open_ = int(decided["flips"].sum()), int((~decided["decided"]).sum())
    words = "people whose label some good model flips"
    rows = [
        ("people who can flip", flips, mark, words),
        ("ambiguity", flips / len(decided), mark, "their share"),
    ]
    if open_ and audit.kind == "exact":
        rows.append(("undecided people", open_, "exact", "not searched yet: .searched() does"))
    return rows


def _group_rows(audit: Any, mark: str) -> list[Row]:
    if audit.inputs.groups is None or audit.task == "regression":
        return []
    name = audit.inputs.groups.name
    return [
        (f"ambiguity of {name}={group}", row["share"], mark, f"of {row['people']:.0f} people")
        for group, row in audit.groups.iterrows()
    ]


def _between(row: Any) -> str:
    return f"{number(row['low'])} to {number(row['high'])}"


def _shares(row: Any) -> str:
    return f"{_rate(row['low'])} to {_rate(row['high'])}"


def _over(audit: Any, row: Any, groups: Sequence[Any], text: Callable[[Any], str]) -> str:
    """Range of a rate, or of a gap, over the good models, or over refits without these people."""
    if unseen_place(audit) is None:
        return f"{text(row)} over the good models"
    rates = audit.answers.model_rates
    values = rates[groups[0]] - (rates[groups[1]] if len(groups) > 1 else 0.0)
    return f"refits without these people: {text({'low': values.min(), 'high': values.max()})}"


def _rate(share: float) -> str:
    """Percentage with two significant digits below 10 %, for rates that are close together."""
    return percent(share) if abs(share) >= 0.1 else f"{number(100 * share, 2)}%"


def _settled(audit: Any, row: Any) -> str:
    if row["low"] == row["high"] == 0:
        return "no gap in any good model" if audit.kind == "exact" else "no gap in the sample"
    if not row["settled"]:
        return "not settled"
    return f"settled {row['sign']}" if audit.kind == "exact" else f"{row['sign']} in the sample"


def findings(audit: Any) -> Lines:
    """Return in sentences what is settled, what is arbitrary and who is affected."""
    if _alone(audit):
        tried = plural(audit.models.n_tried, "model")
        words = f"nothing was compared: of {tried} only the best is shown to be good"
        return {"Settled": [f"{words}; pass a larger tolerance, more rows or more models"]}
    settled, arbitrary = [], []
    if audit.task == "classification":
        decided = audit.decided
        n, flips = len(decided), int(decided["flips"].sum())
        words, qualifier, stay = "every sampled model", "at least ", n - flips
        if audit.kind == "exact":
            stay = int((decided["decided"] & ~decided["flips"]).sum())
            words, qualifier = "every good model", ""
        settled.append(
            f"{stay:,} of {n:,} people ({percent(stay / n)}) keep their label in {words}"
        )
        share = percent(flips / n)
        if audit.inputs.model.weights is not None:
            weighted = _mean(audit, decided["flips"])
            share += f", {percent(weighted)} by weight"
        text = f"{qualifier}{flips:,} of {n:,} people ({share})"
        if audit.kind == "exact" and stay + flips < n:
            text = f"{flips:,} to {n - stay:,} of {n:,} people"
            text += f" ({percent(flips / n)} to {percent(1 - stay / n)}; .searched() decides)"
        text += " get another label from some good model"
        if unseen := getattr(audit.answers, "own_flips", None):
            text += f", {unseen:,} of them from this model fitted without them"
        arbitrary.append(text)
    else:
        width = widths(audit)
        arbitrary.append(
            f"half of the people have a range of predictions wider than "
            f"{number(float(np.median(width)))}, the widest {number(float(width.max()))}"
        )
    if audit.has_coefficients and len(table := effects(audit)):
        fixed, free = table[table["settled"]], table[~table["settled"]]
        signs = [f"{name} {sign}" for name, sign in fixed["sign"].items()]
        settled.append(
            f"{len(fixed)} of {plural(len(table), 'coefficient')} keep their sign "
            f"({audit.answers.score_unit}){_some(signs)}"
        )
        if without_unit := [str(name) for name in audit.effects.index if name not in table.index]:
            settled.append(f"not counted, as they have no unit of the table{_some(without_unit)}")
        if len(free):
            names = [str(name) for name in free.index[::-1]]
            arbitrary.append(f"{len(free)} can have either sign{_some(names)}")
    lines = {
        "Settled": settled,
        "Arbitrary": arbitrary,
        "Tolerance": _tolerance_lines(audit),
        "Affected": _affected(audit),
        "Rates": _rate_lines(audit),
        "Gaps": _gap_lines(audit),
    }
    return {name: sentences for name, sentences in lines.items() if sentences}


def _tolerance_lines(audit: Any) -> list[str]:
    lines = []
    for share, row in audit.near_tolerances.iterrows():
        parts = []
        if "flips" in row:
            bound = "at least " * (share != 1 and audit.kind == "exact")
            flips = f"{bound}{percent(row['share'])} of people can flip"
            parts.append(flips if row["flips"] or not bound else "no flip proved")
        elif not math.isnan(row["median_range"]):
            parts.append(f"median range {number(row['median_range'])}")
        if "settled_signs" in row:
            parts.append(f"{row['settled_signs']:.0f} of {row['coefficients']:.0f} signs settled")
        if not any(math.isnan(row[column]) for column in _OF_TOLERANCE if column in row):
            times = "ψ" if share == 1 else f"{_times(share)} ψ"
            lines.append(f"at {times} = {row['psi']:.3g}: {', '.join(parts)}")
    return lines


def _affected(audit: Any) -> list[str]:
    if audit.inputs.groups is None or audit.task != "classification":
        return []
    name, by = audit.inputs.groups.name, " by weight" * (audit.inputs.model.weights is not None)
    table = audit.groups.loc[group_rates.group_names(audit.inputs.groups)]
    table = table.sort_values("share", ascending=False, kind="stable")
    parts = [
        f"{name}={group} {row['flips']:,.0f} of {row['people']:,.0f} "
        f"({percent(float(row['share']))}{by})"
        for group, row in table.head(_MOST_GROUPS).iterrows()
    ]
    more = len(table) - len(parts)
    return ["can flip: " + ", ".join(parts) + (f", {plural(more, 'more group')}" if more else "")]


def _rate_lines(audit: Any) -> list[str]:
    if not audit.has_rates:
        return []
    rates, listed_groups = audit.rates, group_rates.shown_groups(audit.rates["fitted"])
    whose = "" if unseen_place(audit) is None else ", your model's for the rows of its fit"
    decision = audit.inputs.model.decision
    unnamed = decision is not None and decision.wanted is None
    hint = " (pass wanted= to name another class)" if unnamed else ""
    accepted = f"of {group_rates.accepted_text(audit.inputs.model)}{hint}"
    lines = [f"{accepted}, by {audit.inputs.groups.name}{whose}:"]
    for group in listed_groups:
        row = rates.loc[group]
        lines.append(
            f"  {group} {_rate(row['fitted'])} ({_over(audit, row, [group], _shares)}; in the data "
            f"{_rate(row['base_rate'])} of {row['people']:,.0f})"
        )
    if len(rates) > len(listed_groups):
        lines.append(f"  {plural(len(rates) - len(listed_groups), 'more group')} in .rates")
    cells = audit.inputs.groups.attrs.get("cells", {})
    if cells:
        listed = [f"{name} ({count})" for name, count in cells.items()]
        lines.append(f"  too small to compare{_some(listed)}")
    return lines


def _gap_lines(audit: Any) -> list[str]:
    groups = audit.inputs.groups
    if groups is None or not (audit.has_rates or audit.has_gaps):
        return []
    if audit.has_rates:
        compared = group_rates.shown_groups(audit.rates["fitted"])
    else:
        means = pd.Series(fitted_scores(audit)).groupby(groups.to_numpy()).mean()
        compared = group_rates.shown_groups(means[group_rates.group_names(groups)])
    rates = with_sign(group_rates.rate_gaps(audit, compared)) if audit.has_rates else None
    scores = audit.answers.gaps(compared) if audit.has_gaps and len(compared) > 1 else None
    tables = [table for table in (rates, scores) if table is not None and len(table)]
    lines = []
    pairs = list(combinations(group_rates.group_names(groups, compared), 2))
    for row_number, gap in enumerate(tables[0].index if tables else []):
        parts = []
        if rates is not None:
            row = rates.loc[gap]
            gap_text = _shares(row)
            if unseen_place(audit) is not None:
                gap_text = (
                    f"{_rate(row['fitted'])} ({_over(audit, row, pairs[row_number], _shares)})"
                )
            ratio = f"{number(row['ratio_low'])} to {number(row['ratio_high'])}"
            parts.append(f"rate {gap_text}, ratio {ratio} ({_settled(audit, row)})")
        if scores is not None and gap in scores.index:
            row = scores.loc[gap]
            parts.append(f"{audit.answers.score_unit} {_between(row)} ({_settled(audit, row)})")
        lines.append(f"{gap}: {'; '.join(parts)}")
    count = len(group_rates.group_names(groups)) * (len(group_rates.group_names(groups)) - 1) // 2
    if count > len(lines):
        lines.append(f"{plural(count - len(lines), 'more pair')} in .rate_gaps and .gaps")
    return lines


def _some(names: list[str]) -> str:
    if not names:
        return ""
    more = len(names) - _MOST_NAMES
    return ": " + ", ".join(names[:_MOST_NAMES]) + (f", {more} more" if more > 0 else "")


def head(audit: Any) -> list[tuple[str, str]]:
    """Model, its quality, tolerance and kind of proof of an audit."""
    model = audit.inputs.model
    how = "proved for every good model" if audit.kind == "exact" else audit.models.notes[0]
    size = f"{len(model.table):,} rows, {plural(model.table.shape[1], 'column')}"
    facts = [("Model", f"{model.name} · {size}")]
    if audit.optimality is not None and not audit.optimality.reached:
        facts.append(("Your model", audit.optimality.text))
    if rule := getattr(model.decision, "text", ""):
        facts.append(("Decision", rule))
    if model.weights is not None:
        total, kish = model.weights.sum(), model.weights.sum() ** 2 / (model.weights**2).sum()
        text = f"sum {number(total)}, as good as {kish:,.0f} rows of one weight; quality, groups'"
        facts.append(("Weights", f"{text} shares, rates and gaps are by weight"))
    facts.append(("Quality", quality_text(audit)))
    facts.append(("Good models", audit.tolerance.text.removeprefix("good models ")))
    is_additive = has_problem(model.estimator) or hasattr(model.estimator, "term_scores_")
    why = [("Why sampled", audit.reason)] if audit.reason and is_additive else []
    return [*facts, ("Numbers", how), *why]


def facts(audit: Any) -> list[tuple[str, str]]:
    """Head, findings and next steps; a heading stands before its first sentence only."""
    lines = [
        (name if line == 0 else "", sentence)
        for name, sentences in findings(audit).items()
        for line, sentence in enumerate(sentences)
    ]
    has = {".flips": audit.task == "classification", ".coefficients": audit.has_coefficients}
    has[".importance"] = audit.has_importance
    has[".release_code"] = audit.inputs.model.weights is None
    next_steps = [name for name in _NEXT if has.get(name, True)]
    return [*head(audit), *lines, ("Next", "  ".join(next_steps))]


def quality_rows(audit: Any) -> list[Row]:
    """Accuracy and AUC, or R² and RMSE, of the fitted model, a constant and the good models."""
    if audit.task == "classification":
        return _label_quality(audit)
    targets = np.asarray(audit.inputs.model.targets, dtype=float)
    errors = targets - fitted_scores(audit)
    spread = _mean(audit, (targets - _mean(audit, targets)) ** 2)
    loss = _mean(audit, errors**2)
    rows: list[Row] = [
        ("R²", 1 - loss / spread if spread else float("nan"), "measured", "a constant has 0"),
        ("RMSE", loss**0.5, "measured", f"the mean for everyone has {number(spread**0.5)}"),
    ]
    if (refit := unseen_place(audit)) is not None:
        words = "of the model fitted without each fold, on that fold"
        loss = _mean(audit, (targets - audit.answers.model_scores[refit]) ** 2)
        share = 1 - loss / spread if spread else float("nan")
        rows.append((f"{_UNSEEN}R²", share, "measured", words))
        rows.append((f"{_UNSEEN}RMSE", loss**0.5, "measured", words))
    problem = audit.problem
    squared = isinstance(getattr(problem, "loss", None), SquaredLoss)
    if squared and (problem.weights is None or audit.inputs.model.weights is not None):
        greatest_loss = 2 * (problem.minimum.value + audit.psi)  # penalties are not negative
        if spread:
            words = "no good model has less on these rows"
            rows.append(("least R²", 1 - greatest_loss / spread, "exact", words))
    return rows


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


def _label_quality(audit: Any) -> list[Row]:
    model = audit.inputs.model
    targets = np.asarray(model.targets)
    values, codes = np.unique(targets, return_inverse=True)
    counts = np.bincount(codes, model.row_weights)
    usual, share = values[counts.argmax()], float(counts.max() / counts.sum())
    right = np.asarray(model.labels(group_rates.fitted_codes(audit))) == targets
    code = group_rates.accepted_code(model)
    rows: list[Row] = [
        ("accuracy", _mean(audit, right), "measured", "of the fitted model on these rows"),
        ("constant accuracy", share, "measured", f"if everyone gets the label {usual!s}"),
    ]
    is_accepted = None
    if code is not None and len(model.classes) == 2:
        is_accepted = targets == model.classes[code]
        words = "of the fitted model's scores; a constant has 0.5"
        area = area_under_curve(is_accepted, fitted_scores(audit), model.row_weights)
        rows.append(("AUC", area, "measured", words))
    if (refit := unseen_place(audit)) is not None:
        words = "of the model fitted without each fold, on that fold"
        right = np.asarray(model.labels(audit.answers.label_codes[refit])) == targets
        rows.append((f"{_UNSEEN}accuracy", _mean(audit, right), "measured", words))
        if is_accepted is not None:
            scores = _towards(audit, audit.answers.model_scores[refit])
            area = area_under_curve(is_accepted, scores, model.row_weights)
            rows.append((f"{_UNSEEN}AUC", area, "measured", words))
    low, high = accuracy_range(audit)
    words = "no good model has {} on these rows" if audit.kind == "exact" else "of the sampled"
    rows.append(("least accuracy", low, audit.mark, words.format("less")))
    rows.append(("greatest accuracy", high, audit.mark, words.format("more")))
    return rows


def _mean(audit: Any, values: Any) -> float:
    """Mean of values (n_rows,) with the weights of the audit."""
    return float(np.average(np.asarray(values, float), weights=audit.inputs.model.row_weights))


def fitted_scores(audit: Any) -> FloatArray:
    """Score (n_rows,) of the fitted model: of the wanted one of two classes, or its prediction."""
    if audit.kind == "exact":
        model = audit.inputs.model
        return linear_scores(audit.problem, model.theta, audit.answers.rows)[:, 0]
    return _towards(audit, audit.models.best_scores(audit.answers.model_rows))


def _towards(audit: Any, scores: Any) -> FloatArray:
    """Scores of a sampled audit, greater for the wanted one of two classes."""
    values = np.asarray(scores, dtype=float)
    return values if group_rates.accepted_code(audit.inputs.model) in (None, 1) else -values


def accuracy_range(audit: Any) -> tuple[float, float]:
    """Bounds on the accuracy of a good model: whose label is settled, and whether it is right."""
    targets, model = np.asarray(audit.inputs.model.targets), audit.inputs.model
    if audit.kind != "exact":
        right = np.asarray(model.labels(audit.answers.label_codes)) == targets
        accuracies = np.average(right, axis=1, weights=model.row_weights)
        return float(accuracies.min()), float(accuracies.max())
    table = audit.answers.best_decided
    right = np.asarray(model.labels(table["label"])) == targets
    stays = (table["decided"] & ~table["flips"]).to_numpy()
    return _mean(audit, right & stays), _mean(audit, right | ~stays)


def area_under_curve(wanted: Mask, scores: FloatArray, weights: FloatArray) -> float:
    """Chance that a person with the wanted label has a higher score than one without."""
    from sklearn.metrics import roc_auc_score

    if wanted.all() or not wanted.any():
        return float("nan")
    return float(roc_auc_score(wanted, scores, sample_weight=weights))


def release_code(audit: Any) -> str:
    """Python code that plans the release of an audit's answers, and charges if none is hidden."""
    classes = tuple(np.asarray(audit.inputs.model.classes or ()).tolist())
    declared = f"psi={audit.psi:.3g}, " if audit.kind == "exact" and classes else ""
    text = (files("rashomon_explorer.audits") / "release_code.txt").read_text("utf-8")
    return text.format(
        estimator="RashomonClassifier" if classes else "RashomonRegressor",
        settings=f"{declared}classes={classes!r}" if classes else "target_bounds=(LOW, HIGH)",
        kind="linear model" if audit.kind == "exact" else "linear model (not of these refits)",
    )


def json_schema() -> dict[str, Any]:
    """JSON schema of :meth:`Audit.to_json`.

    Examples
    --------
    >>> [name for name in json_schema()["properties"] if name.startswith("rate")]
    ['rates', 'rate_gaps']
    """
    return json.loads((files("rashomon_explorer.audits") / "audit-schema.json").read_text("utf-8"))


def to_json(audit: Any) -> str:
    """Text of an audit by the schema that it names."""
    model = audit.inputs.model
    labels, fitted = audit.task == "classification", audit.optimality
    content = {
        "$schema": json_schema()["$id"],
        "view": NOT_PRIVATE,
        "written_by": f"rashomon-explorer {version('rashomon-explorer')}",
        "model": {
            "name": model.name,
            "task": audit.task,
            "classes": list(model.classes),
            "rows": len(model.table),
            "columns": [str(name) for name in model.table.columns],
        },
        "tolerance": {"psi": audit.psi, "rule": audit.tolerance.rule, "text": audit.tolerance.text},
        "kind": audit.kind,
        "optimality": fitted
        and {"excess": fitted.excess, "good": fitted.inside, "text": fitted.text},
        "summary": _records(audit.summary()),
        "coefficients": _records(audit.coefficients) if audit.has_coefficients else None,
        "groups": _records(audit.groups) if labels and audit.inputs.groups is not None else None,
        "gaps": _records(audit.gaps) if audit.has_gaps else None,
        "rates": _records(audit.rates) if audit.has_rates else None,
        "rate_gaps": _records(audit.rate_gaps) if audit.has_rates else None,
        "tolerances": [] if _alone(audit) else _records(audit.near_tolerances),
        "importance": _records(audit.importance) if audit.has_importance else [],
        "people": _records(audit.flips if labels else audit.person_ranges),
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    frame = table.rename_axis(str(table.index.name or "row")).reset_index()
    records = frame.to_dict("records")
    return [{str(key): _plain(value) for key, value in record.items()} for record in records]


def _plain(value: Any) -> Any:
    """Value of JSON: infinite ends and missing values are null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int) or value is None else str(value)
