"""How much worse than the best model a good model may be: rules, and answers by the tolerance."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtr, chdtri, ndtri
from sklearn.base import clone, is_classifier

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer._utils.validation import check_inner_share, check_positive
from rashomon_explorer.audits import refits
from rashomon_explorer.audits.decisions import last_step
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.inputs import feature_groups
from rashomon_explorer.measures.ranges.brackets import bracketed
from rashomon_explorer.measures.ranges.flips import least_crossings
from rashomon_explorer.measures.ranges.linear_models import row_weights
from rashomon_explorer.sets.models.fitted import FittedModels
from rashomon_explorer.sets.predictions import fitted_models, row_losses

PAIRED = "paired standard error"
_FOLDS = 5
_BOOTSTRAPS = 5

_FORMS = (
    "a number (largest excess loss), '1%' (of the best loss), 'cv' (one standard error of the "
    "cross-validated loss), 'paired standard error' (of the difference in loss of two models), "
    "'likelihood ratio' or 'likelihood ratio 99%' (profile intervals), 'without NAME' (price of a "
    "feature), or 'auto' (likelihood ratio where there is one, 'paired standard error' for refits)"
)


@dataclass(frozen=True)
class Tolerance:
    """Rashomon threshold with the rule that gave it."""

    psi: float  # largest excess loss of a good model, in the unit of the objective
    rule: str  # its name, a key of ``_RULES``
    text: str  # one sentence on what it means


def resolve(
    tolerance: float | str,
    model: Any,
    X: Any,
    y: ArrayLike,
    problem: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    people: float | None = None,
    random_state: int | None = None,
) -> Tolerance:
    """Rashomon threshold ψ of a rule of :func:`rashomon_explorer.audit`: not private.

    In the unit of ``problem``, or else of the held-out loss, with probabilities of at least 1/(2n).
    """
    rule, argument = _parsed(tolerance)
    case = _Case(
        model,
        X,
        np.asarray(y),
        problem,
        sample_weight,
        groups or {},
        random_state or 0,
        people=people,
    )
    if rule == "auto":
        rule, argument = "likelihood ratio", 0.95
        if not _has_likelihood(case):
            rule, argument = PAIRED if problem is not None else "cv", None
    than = "this model" if problem is None else "the best"
    return _named(tolerance, rule, *_RULES[rule](case, argument), than)


def resolve_losses(
    tolerance: float | str,
    losses: FloatArray,
    weights: FloatArray | None = None,
    than: str = "the best of them",
    measured: str = "loss on the rows given",
) -> Tolerance:
    """Rashomon threshold of a rule that needs only a model's losses on rows."""
    rule, argument = _parsed(tolerance)
    rule = "cv" if rule == "auto" else rule
    if rule not in ("absolute", "relative", "cv"):
        raise ValueError(
            f"tolerance {tolerance!r} needs a model that can be refitted; for fitted models or "
            "predictions use a number, '1%' or 'cv'"
        )
    case = _Case(None, None, losses, None, weights, {}, 0, measured, losses)
    return _named(tolerance, rule, *_RULES[rule](case, argument), than)


def _named(tolerance: Any, rule: str, psi: float, meaning: str, than: str) -> Tolerance:
    if not (math.isfinite(psi) and psi > 0):
        raise ValueError(
            f"tolerance {tolerance!r} gives psi={psi:g}, and psi must be > 0: use a larger or "
            "another tolerance"
        )
    return Tolerance(psi, rule, f"good models lose at most {psi:.4g} more than {than}: {meaning}")


def _parsed(tolerance: Any) -> tuple[str, Any]:
    if isinstance(tolerance, str):
        text = tolerance.strip()
        if text in ("auto", "cv", PAIRED):
            return text, None
        try:
            if share := re.fullmatch(r"([0-9.eE+-]+) ?%", text):
                return "relative", float(share[1]) / 100
            if level := re.fullmatch(r"likelihood ratio(?: ([0-9.]+) ?%)?", text):
                return "likelihood ratio", float(level[1] or "95") / 100
        except ValueError:  # "1.2.3%"
            raise ValueError(f"tolerance must be {_FORMS}; got {tolerance!r}") from None
        if text.startswith("without ") and text[8:].strip():
            return "without", text[8:].strip()
    elif isinstance(tolerance, int | float | np.number) and not isinstance(tolerance, bool):
        return "absolute", float(tolerance)
    raise ValueError(f"tolerance must be {_FORMS}; got {tolerance!r}")


@dataclass(frozen=True, eq=False)
class _Case:
    """A model with its rows, as a rule sees them."""

    model: Any
    X: Any
    y: NDArray[Any]
    problem: Any
    sample_weight: ArrayLike | None
    groups: Mapping[str, Sequence[str]]
    seed: int
    measured: str = "cross-validated loss"
    losses: FloatArray | None = None  # of the rows, if they are known without a refit
    people: float | None = None  # number of observations in the likelihood, if it is known

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """Classes of the model; empty for a regression."""
        if hasattr(self.model, "predict"):
            return fitted_models((self.model,), self.y).classes
        # A stack of models can predict only when it is fitted.
        return tuple(np.unique(self.y).tolist()) if is_classifier(self.model) else ()

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row: in the objective of the problem, or else as given."""
        row_weight = self.sample_weight
        if self.problem is not None:
            row_weight = row_weights(last_step(self.model), self.y, row_weight)
        return np.ones(len(self.y)) if row_weight is None else np.asarray(row_weight, dtype=float)

    @cached_property
    def folds(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to fit and rows held out, of five shuffled folds, stratified by class."""
        numbers = refits.fold_numbers(self.y, _FOLDS, self.seed, stratify=bool(self.classes))
        folds = range(numbers.max() + 1)
        return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in folds]

    def fold_losses(self, model: Any, bootstrap: int | None = None) -> FloatArray:
        """Loss of every row under the refit of a model to the other folds, or to a bootstrap."""
        if self.losses is not None:
            return self.losses
        losses = np.empty(len(self.y))
        weight = None if self.sample_weight is None else np.asarray(self.sample_weight)
        for train, test in progress(self.folds, "cross-validation"):
            train_weight = None if weight is None else weight[train]
            with refits.on_a_part_of_the_rows():
                rows = select_rows(self.X, train)
                if bootstrap is None:
                    fitted = refits.fit(clone(model), rows, self.y[train], train_weight)
                else:
                    change = refits.Refit("bootstrap", "rows", seed=bootstrap)
                    fitted = change.fitted(model, rows, self.y[train], train_weight, self.seed)
                losses[test] = self._losses(fitted, select_rows(self.X, test), self.y[test])
        return losses

    def _losses(self, fitted: Any, X: Any, y: NDArray[Any]) -> FloatArray:
        loss = getattr(self.problem, "loss", None)
        if not self.classes or loss is None or loss.link in ("logistic", "softmax"):
            models = FittedModels((fitted,), self.classes)
            scores, certain = models.scores(X), models.certain
            if self.problem is None and not certain:
                scores = refits.floored(scores, len(self.y), self.classes)
            return row_losses(scores, y, classes=self.classes, certain=certain)[0][0]
        scores = np.asarray(fitted.decision_function(X), dtype=float)
        columns = np.arange(len(self.classes)) if scores.ndim == 2 else np.array([1])
        codes = np.searchsorted(np.asarray(self.classes), y)
        targets = np.where(codes[:, None] == columns, 1.0, -1.0)
        scores = scores.reshape(targets.shape)
        if loss.name == "squared" or len(columns) > 1:
            return np.asarray(((targets - scores) ** 2).sum(axis=1) / 2)
        return np.asarray(loss.function.value(loss.shift - targets * scores).sum(axis=1))

    def mean(self, losses: FloatArray) -> float:
        """Weighted mean of the losses of rows."""
        return float(np.average(losses, weights=self.weights))


_Rule = Callable[[Any, Any], tuple[float, str]]


def _absolute(case: _Case, psi: float) -> tuple[float, str]:
    check_positive(tolerance=psi)
    return psi, "a number that you chose"


def _relative(case: _Case, share: float) -> tuple[float, str]:
    check_positive(tolerance=share)
    if case.problem is not None:
        text = f"{100 * share:.4g} % of the best loss on these rows"
        return share * case.problem.minimum.value, text
    loss = case.mean(case.fold_losses(case.model))
    return share * loss, f"{100 * share:.4g} % of the model's {case.measured}, {loss:.4g}"


def paired_standard_errors(
    losses: FloatArray, baseline: Any = 0.0, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Mean difference (n_models,) of losses to a baseline on the same rows, and its error."""
    n = losses.shape[1]
    weight = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    differences = losses - baseline
    excess = differences @ weight
    spread = ((weight * (differences - excess[:, None])) ** 2).sum(axis=1)
    return excess, np.sqrt(spread * n / max(n - 1, 1))


def _cross_validated(case: _Case, _: None) -> tuple[float, str]:
    losses = case.fold_losses(case.model)
    (mean,), (error,) = paired_standard_errors(losses[None], weights=case.weights)
    words = (
        f"one standard error of the model's {case.measured}, {mean:.4g}; another sample of this "
        "size changes the loss by about as much"
    )
    if not _has_likelihood(case):
        return float(error), words
    times = float(error) / _likelihood_ratio(case, 0.95)[0]
    return float(error), f"{words}, {times:.2g} times what tolerance='likelihood ratio' allows"


def _paired(case: _Case, _: None) -> tuple[float, str]:
    if case.problem is None:
        raise ValueError("the paired standard error of refits is that of tolerance='auto'")
    losses = case.fold_losses(case.model)
    refitted = [case.fold_losses(case.model, bootstrap=seed) for seed in range(_BOOTSTRAPS)]
    errors = paired_standard_errors(np.stack(refitted), losses, case.weights)[1]
    return float(np.median(errors)), (
        "one standard error of the difference in loss, on the same held-out rows, between this "
        "model and a refit to resampled rows"
    )


def likelihood_people(
    estimator: Any, targets: NDArray[Any], sample_weight: ArrayLike | None
) -> float:
    """Count the observations in a weighted likelihood.

    Whole numbers count people. Other weights are of a survey: Kish's effective number, (Σw)²/Σw².
    """
    weights = row_weights(estimator, targets, sample_weight)
    if weights is None:
        return float(len(targets))
    counts = np.asarray(1 if sample_weight is None else sample_weight, dtype=float)
    total = float(weights.sum())
    return total if (counts == np.rint(counts)).all() else total**2 / float((weights**2).sum())


_LIKELIHOODS = ("logistic", "softmax", "identity")


def _has_likelihood(case: _Case) -> bool:
    return getattr(getattr(case.problem, "loss", None), "link", "") in _LIKELIHOODS


def _likelihood_ratio(case: _Case, level: float) -> tuple[float, str]:
    check_inner_share(level=level)
    if not _has_likelihood(case):
        raise TypeError(
            "a likelihood ratio needs a linear model with a likelihood, a logistic or linear "
            f"regression, got {type(last_step(case.model)).__name__}: use 'cv' or a number"
        )
    people = case.people
    if people is None:
        people = likelihood_people(last_step(case.model), case.y, case.sample_weight)
    quantile = float(chdtri(1, 1 - level)) / people
    squared = case.problem.loss.link == "identity"
    psi = case.problem.minimum.value * math.expm1(quantile) if squared else quantile / 2
    return psi, (
        f"a likelihood ratio test of one parameter at {100 * level:.4g} % does not reject them; "
        "ranges of coefficients are profile likelihood intervals if the fit has no penalty"
    )


def _without(case: _Case, names: str) -> tuple[float, str]:
    if case.problem is None:
        columns = refits.column_names(case.X)
        left_out = refits.FixedColumns(case.model, _listed(names, columns))
        price = case.mean(case.fold_losses(left_out) - case.fold_losses(case.model))
        return price, f"the cross-validated price of leaving out {names}"
    best, features = case.problem.minimum, case.problem.feature_names
    listed = _listed(names, [*features, *case.groups])
    grouped = feature_groups(listed, features, case.groups or None)
    dropped = np.unique(np.concatenate(list(grouped.values())))
    price = best_without(case.problem, dropped) - best.value
    if price <= best.gap:
        raise ValueError(
            f"leaving out {names} costs nothing, so the best model without it is a best model: use "
            "another column or tolerance"
        )
    return price, f"the price of leaving out {names}"


def _listed(names: str, known: Sequence[str]) -> list[str]:
    return [names] if names in known else [name.strip() for name in names.split(",")]


def best_without(problem: Any, columns: NDArray[np.intp]) -> float:
    """Least objective of a problem if the coefficients of some columns are 0."""
    names = problem.feature_names
    remaining = np.setdiff1d(np.arange(problem.rows.shape[1]), columns)
    if not len(remaining):
        return float(problem.value(np.zeros((problem.p, 1)))[0])
    width = problem.rows.shape[1]

    def rest(penalties: FloatArray) -> FloatArray:
        each = penalties.reshape(-1, width)  # a row for each output
        return np.asarray(each[:, remaining].ravel())

    smaller = replace(
        problem,
        rows=problem.rows[:, remaining],
        ridges=rest(problem.ridges),
        l1=None if problem.l1 is None else rest(problem.l1),
        feature_names=tuple(name for j, name in enumerate(names) if j in remaining),
    )
    return float(smaller.minimum.value)


_RULES: dict[str, _Rule] = {
    "absolute": _absolute,
    "relative": _relative,
    "cv": _cross_validated,
    PAIRED: _paired,
    "likelihood ratio": _likelihood_ratio,
    "without": _without,
}


MULTIPLES = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
"""Multiples of ψ in a table: ranges about a quarter, half, twice and four times as wide."""
SHOWN = (1 / 4, 1.0, 4.0)
"""Those in a summary."""

_PRECISION = 0.01  # of the ψ at which a sign is lost
_SIGNS = 1e-6  # of a coefficient's range, where the search for its sign ends


def tolerance_table(audit: Any, multiples: Sequence[float] = MULTIPLES) -> pd.DataFrame:
    """Per multiple of ψ (sampled: up to 1): people who can flip, settled signs, what ψ means."""
    exact = audit.kind == "exact"
    listed = [share for share in sorted(multiples) if exact or share <= 1]
    rows = pd.DataFrame({"psi": np.array(listed) * audit.psi}, index=pd.Index(listed, name="×ψ"))
    if exact:
        rows["of_loss"] = rows["psi"] / audit.problem.minimum.value
        rows["level"] = [_level(audit, psi) for psi in rows["psi"]]
    if audit.task == "classification":
        n = len(audit.inputs.index)
        rows["flips"] = _flips(audit, listed)
        rows["share"] = rows["flips"] / n
    else:
        rows["median_range"] = [
            _at_multiple(audit, share, lambda part: np.median(widths(part))) for share in listed
        ]
    if audit.has_coefficients and len(names := effects(audit).index):
        rows["settled_signs"] = [
            float(audit.coefficients.loc[names, "settled"].sum())
            if share == 1
            else _at_multiple(audit, share, lambda part: _settled_signs(audit, part.inputs.psi))
            for share in listed
        ]
        rows["coefficients"] = len(names)
    return rows


def _level(audit: Any, psi: float) -> float:
    """Level of the likelihood ratio test of one parameter that does not reject excess ψ."""
    problem, people = audit.problem, audit.inputs.model.people
    if problem.loss.link not in _LIKELIHOODS:
        return math.nan
    if problem.loss.link == "identity":
        return float(chdtr(1, people * math.log1p(psi / problem.minimum.value)))
    return float(chdtr(1, 2 * people * psi))


def _at_multiple(audit: Any, share: float, answer: Callable[[Any], Any]) -> float:
    """Answer at a multiple of ψ; NaN if a sample, or a set without bounds, does not tell."""
    if share != 1:
        if audit.kind != "exact":
            return math.nan
        inputs = replace(audit.inputs, psi=audit.psi * share)
        audit = replace(audit, answers=replace(audit.answers, inputs=inputs))
    try:
        return float(answer(audit))
    except DataError:
        return math.nan


def _flips(audit: Any, multiples: Sequence[float]) -> list[float]:
    """Count who is proved to flip: whoever can at a smaller ψ can at a larger one."""
    if audit.kind != "exact":
        changes = np.asarray(audit.answers.label_codes) != audit.decided["label"].to_numpy()
        errors = np.asarray(audit.models.errors)
        upper = np.asarray(audit.models.excess) + float(ndtri(audit.models.confidence)) * errors
        good = [(upper <= share * audit.psi) | (share == 1) for share in multiples]
        return [float(changes[each].any(axis=0).sum()) for each in good]
    table, best = audit.decided, audit.answers.best_decided
    counts = {1.0: float(table["flips"].sum())}
    best_differs = (table["label"] != best["label"]).to_numpy()  # flipped by the best model
    can = best["flips"].to_numpy()
    for share in sorted((share for share in multiples if share < 1), reverse=True):
        can = can & _can_flip(audit, share, can)
        counts[share] = float((can | best_differs).sum())
    can = best["flips"].to_numpy()
    for share in sorted(share for share in multiples if share > 1):
        try:
            can = can | _can_flip(audit, share, ~can)
            counts[share] = float((can | best_differs).sum())
        except DataError:  # no bounded set is known
            counts[share] = math.nan
    return [counts[share] for share in multiples]


def _can_flip(audit: Any, share: float, people: Mask) -> Mask:
    answers, seconds, flips = audit.answers, audit.inputs.seconds, np.zeros(len(people), dtype=bool)
    if people.any():
        how = {"threshold": answers.cut, "seconds": None if seconds is None else seconds / 4}
        rows, psi = answers.rows[people], audit.psi * share
        flips[people] = measures.exact_flips(answers.problem, psi, rows, **how)["flips"]
    return flips


def widths(audit: Any) -> FloatArray:
    """Width (n_rows,) of the range of each person's prediction."""
    ranges = audit.person_ranges
    return np.asarray((ranges["high"] - ranges["low"]).to_numpy(), dtype=float)


def effects(audit: Any) -> pd.DataFrame:
    """Coefficients in the units of the table without intercepts, the most certain sign first."""
    opaque = {column.name for column in audit.inputs.model.columns if not column.in_units}
    has_unit = [str(name).split(": ")[-1] not in opaque for name in audit.effects.index]
    table = audit.coefficients.loc[audit.effects.index[has_unit]]
    width = (table["high"] - table["low"]).to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        certainty = np.nan_to_num(np.abs(table["fitted"].to_numpy(float)) / width, posinf=np.inf)
    return table.iloc[np.argsort(-certainty, kind="stable")]


def _towards_zero(audit: Any) -> tuple[FloatArray, FloatArray, Mask]:
    """Directions (p, k) in which coefficients lose their sign, distances to it, who keeps it."""
    directions, names = audit.inputs.model.directions(audit.problem)
    reported = np.isin(names, effects(audit).index.to_numpy(dtype=str))
    directions, settled = directions[reported], audit.coefficients["settled"].to_numpy()[reported]
    best = directions @ audit.problem.minimum.theta
    return (-np.sign(best)[:, None] * directions).T, np.abs(best), settled


def _settled_signs(audit: Any, psi: float) -> float:
    """Count the coefficients that keep their sign in all models within ψ: fewer as ψ grows."""
    inward, distance, settled = _towards_zero(audit)
    asked = settled if psi > audit.psi else ~settled
    sure = 0 if psi > audit.psi else int(settled.sum())
    if not asked.any():
        return float(sure)
    extents = bracketed(audit.problem, psi, inward[:, asked], _SIGNS, distance[asked])
    return float(sure + (extents.outer < distance[asked]).sum())


def half_settled_psi(audit: Any) -> float:
    """Greatest ψ at which at least half of the coefficients keep their sign, from below."""
    problem = audit.problem
    zero = float(problem.value(np.zeros((problem.p, 1)))[0]) - problem.minimum.value
    inward = _towards_zero(audit)[0]
    lower = least_crossings(problem, inward, 1.01 * max(zero, 1e-12), _PRECISION)[0]
    order = np.sort(lower)[::-1]
    return float(order[(len(order) - 1) // 2]) if len(order) else math.nan
