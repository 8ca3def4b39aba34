"""Sets of refits of any estimator, filtered by their loss on rows that they did not see."""

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib import hash as joblib_hash
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray, Mask, read_only_copy
from rashomon_explorer._utils.containers import as_pandas
from rashomon_explorer._utils.formatting import plural
from rashomon_explorer._utils.progress import tally
from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.audits import refits
from rashomon_explorer.audits import tolerance as rules
from rashomon_explorer.audits.decisions import last_step
from rashomon_explorer.measures.ranges.linear_models import row_weights
from rashomon_explorer.measures.stopping import enough_draws
from rashomon_explorer.sets import PredictorSet, from_estimators
from rashomon_explorer.sets.base import ModelIndices
from rashomon_explorer.sets.models.fitted import FittedModels, class_codes
from rashomon_explorer.sets.predictions import fitted_models, row_losses

_BATCH = 20
_MOST = 60
_FOLDS = 4  # each model is fitted to three quarters of the rows, once without each quarter
_HALF_WIDTH = 0.05
_NAMED = 5  # models that a summary names


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SampledSet(PredictorSet):
    """Models that are as good as a given one, a sample of all: **curator, not private**."""

    kinds: tuple[str, ...]  # kind of each refit, or "collected"; ``names`` holds the change
    errors: FloatArray  # (n_draws,): standard error of the excess, paired over the rows
    tolerance: rules.Tolerance  # rule that gave ψ
    n_tried: int  # different models before the filter
    measured: str  # the rows on which losses are measured, in words
    seed: int = 0  # of the switches of :meth:`SampledAnswers.importance`
    stopped: str = ""  # result of ``enough_draws``, if it decided on the number of models

    def __post_init__(self) -> None:
        """Make the errors read-only, too."""
        super().__post_init__()
        object.__setattr__(self, "errors", read_only_copy(self.errors))

    @property
    def refits(self) -> pd.DataFrame:
        """Kind, loss, excess loss and its standard error of each model, by name."""
        columns = {"kind": list(self.kinds), "loss": self.losses, "excess": self.excess}
        columns["standard error"] = self.errors
        return pd.DataFrame(columns, index=pd.Index(self.names, name="model"))

    @property
    def notes(self) -> tuple[str, ...]:
        """How many models were kept, on which rows, and why no more were tried."""
        if "counted" in self.kinds:
            every = f"{self.n_tried:,} trees that lose at most ψ more {self.measured}"
            return (f"sampled, at least: {self.n_draws:,} uniform draws of the {every}",)
        if self.confidence > 0.5:
            share = f"{100 * self.confidence:.4g} %"
            verdict = f"are shown to be good {self.measured}, each with {share} confidence"
        else:
            verdict = f"lose at most ψ more {self.measured}"
        count_text = f"sampled, at least: {self.n_draws:,} of {self.n_tried:,} models {verdict}"
        if "collected" in self.kinds:
            more = f", {self.n_draws - _NAMED} more" * (self.n_draws > _NAMED)
            count_text += f": {', '.join(self.names[:_NAMED])}{more}"
        return (count_text, *([self.stopped] if self.stopped else []))

    @property
    def confidence(self) -> float:
        """A model with a true excess above ψ is kept with at most 1 − confidence."""
        return required_confidence(self.tolerance)

    def stored(self, X: Any) -> PredictorSet:  # type: ignore[override]
        """Replace the models by their predictions on some rows, as a set that can be saved."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(PredictorSet)}
        return PredictorSet(**values).stored(X)

    def with_columns(self, columns: Iterable[Any]) -> Self:
        """Return the set with models that find the columns of a frame by these names."""
        names = tuple(map(str, columns))
        both: list[Any] = [self.models, self.reference]
        models, reference = (replace(part, columns=names) for part in both)
        return replace(self, models=models, reference=reference)

    def scoring(self, wanted: Any, decision: Any = None) -> Self:
        """Set with the wanted one of two classes as the second, and a rule for labels."""
        turned = len(self.classes) == 2 and wanted == self.classes[0]
        classes = self.classes[::-1] if turned else self.classes
        both: list[Any] = [self.models, self.reference]
        models, reference = (
            replace(part, classes=classes, decision=part.decision if decision is None else decision)
            for part in both
        )
        return replace(self, models=models, reference=reference, classes=classes)

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        return {
            **super()._at(indices),
            "kinds": tuple(self.kinds[position] for position in indices),
            "errors": self.errors[indices],
        }


def paired_standard_error(errors: FloatArray, than: str) -> rules.Tolerance:
    """Threshold that chance alone makes a model differ: median error of the paired differences."""
    psi = float(np.median(errors)) if len(errors) else 0.0
    psi = max(psi, float(np.finfo(float).eps))  # of models that predict the same
    return rules.Tolerance(
        psi,
        rules.PAIRED,
        f"good models lose at most {psi:.4g} more than {than}: one standard error of the "
        "difference in loss between two such models on the same rows",
    )


def good_models(
    losses: FloatArray,
    baseline: FloatArray,
    psi: float,
    confidence: float,
    weights: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, Mask]:
    """Excess (n_models,), its paired error, and whether its upper bound (Student's t) is ≤ ψ."""
    excess, errors = rules.paired_standard_errors(losses, baseline, weights)
    reach = float(stdtrit(max(len(baseline) - 1, 1), confidence)) if confidence != 0.5 else 0.0
    return excess, errors, np.asarray(excess + reach * errors <= psi)


def required_confidence(rule: rules.Tolerance) -> float:
    """Confidence that a good model is one; a paired standard error holds for estimates."""
    return 0.5 if rule.rule == rules.PAIRED else 0.95


def _is_paired(tolerance: Any) -> bool:
    return isinstance(tolerance, str) and tolerance.strip() in ("auto", rules.PAIRED)


def sample_models(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    tolerance: float | str = "auto",
    kinds: Sequence[str] = refits.KINDS,
    n_models: int | str = "auto",
    sample_weight: ArrayLike | None = None,
    classes: tuple[Any, ...] = (),
    decision: Any = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SampledSet:
    """Sample refits whose held-out loss exceeds that of the model by at most ψ: not private."""
    # "auto" stops when the good refits determine their mean disagreement to ± 0.05, or at 60.
    if n_models != "auto":
        check_count(n_models=n_models)  # type: ignore[arg-type]
    X, unfitted, targets = as_pandas(X), refits.recipe(model), np.asarray(y)
    if targets.ndim != 1:
        raise ValueError(f"y must hold one label or target for each row, got shape {targets.shape}")
    seed = int(check_random_state(random_state).randint(2**31))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    asked = (unfitted, X, targets, weight, classes, decision)
    work = interrupted_work(asked, None if random_state is None else seed)
    if work is None:
        work = CrossFit.begin(
            unfitted,
            X,
            targets,
            seed=seed,
            weight=weight,
            n_jobs=n_jobs,
            classes=classes,
            decision=decision,
        )
    seed, work.n_jobs = work.seed, n_jobs
    try:
        rule = _rule(tolerance, work, random_state)
        available = _requested(unfitted, X, kinds, work)
        stopped, drawn = _draw(work, available, rule, n_models)
    except KeyboardInterrupt:
        _INTERRUPTED[:] = [(joblib_hash(asked), work)]
        count = plural(len(work.fits) - 1, "finished refit")
        raise KeyboardInterrupt(f"{count} kept: the same call continues from there") from None
    tried = [refits.AS_GIVEN, *drawn]
    rule, excess, errors, good = work.good(tried, rule)
    good_refits = [refit for refit, inside in zip(tried, good, strict=True) if inside]
    given_loss = float(np.average(work.losses([refits.AS_GIVEN])[0], weights=weight))
    reference: Any = work.models([refits.AS_GIVEN])
    with suppress(NotFittedError, TypeError):
        check_is_fitted(model)
        reference = FittedModels((model,), work.classes, decision=decision)
    return SampledSet(
        models=work.models(good_refits),
        reference=reference,
        losses=given_loss + excess[good],
        least=given_loss,
        psi=rule.psi,
        task="classification" if work.classes else "regression",
        classes=work.classes,
        names=tuple(refit.name for refit in good_refits),
        loss=work.loss,
        kinds=tuple(refit.kind for refit in good_refits),
        errors=errors[good],
        tolerance=rule,
        n_tried=len(tried),
        measured="on rows that they did not see",
        seed=seed,
        stopped=stopped,
    )


_INTERRUPTED: list[tuple[str, "CrossFit"]] = []
"""The last refits that were interrupted, with a hash of what was asked for."""


def interrupted_work(asked: tuple[Any, ...], seed: int | None) -> "CrossFit | None":
    """Refits that an interrupted call with the same arguments has finished, which it gives up."""
    if not _INTERRUPTED or joblib_hash(asked) != _INTERRUPTED[0][0]:
        return None
    if seed not in (None, _INTERRUPTED[0][1].seed):
        return None
    return _INTERRUPTED.pop()[1]


def _rule(tolerance: Any, work: "CrossFit", random_state: Any) -> rules.Tolerance | None:
    if _is_paired(tolerance):
        return None
    if isinstance(tolerance, str) and tolerance.strip().startswith(_FITTED_RULES):
        seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        return rules.resolve(
            tolerance, work.model, work.X, work.y, sample_weight=work.weight, random_state=seed
        )
    losses = work.losses([refits.AS_GIVEN])[0]
    return rules.resolve_losses(
        tolerance, losses, work.weight, "this model", "cross-validated loss"
    )


_FITTED_RULES = ("likelihood", "without")


@dataclass(eq=False)
class CrossFit:
    """Refits of an estimator without each fold, and their predictions of its rows."""

    model: Any
    X: Any
    y: NDArray[Any]
    weight: FloatArray | None
    folds: NDArray[np.intp]
    seed: int
    n_jobs: int | None
    classes: tuple[Any, ...] = ()
    decision: Any = None
    loss: str = ""
    fits: dict[refits.Refit, tuple[Any, ...]] = field(default_factory=dict)  # by fold
    held_out: dict[refits.Refit, tuple[FloatArray, Any]] = field(default_factory=dict)
    failed: dict[refits.Refit, Exception] = field(default_factory=dict)

    @classmethod
    def begin(
        cls,
        model: Any,
        X: Any,
        y: NDArray[Any],
        *,
        seed: int,
        weight: FloatArray | None = None,
        n_jobs: int | None = None,
        classes: tuple[Any, ...] = (),
        decision: Any = None,
    ) -> Self:
        """Divide the rows into folds, in the shares of the classes, and refit without a change."""
        from sklearn.base import is_classifier

        folds = refits.fold_numbers(y, _FOLDS, seed, stratify=is_classifier(model))
        work = cls(model, X, y, weight, folds, seed, n_jobs, decision=decision)
        first = tuple(work.fit(refits.AS_GIVEN, fold) for fold in range(folds.max() + 1))
        several = fitted_models(first, y)
        work.classes = classes or several.classes
        with refits.on_a_part_of_the_rows():
            parts = [work.predict(fit, fold) for fold, fit in enumerate(first)]
        work.fits[refits.AS_GIVEN], work.held_out[refits.AS_GIVEN] = first, work.joined(parts)
        scores = work.scores([refits.AS_GIVEN])
        work.loss = row_losses(scores, y, classes=work.classes, certain=several.certain)[1]
        return work

    def fit(self, refit: refits.Refit, fold: int) -> Any:
        """Fit a copy of the model with a change to the rows outside a fold."""
        train = np.flatnonzero(self.folds != fold)
        weight = None if self.weight is None else self.weight[train]
        return refit.fitted(
            self.model, select_rows(self.X, train), self.y[train], weight, self.seed
        )

    def predict(self, fit: Any, fold: int) -> tuple[FloatArray, NDArray[Any] | None]:
        """Scores, and labels of a classification, of the rows of a fold."""
        rows = select_rows(self.X, np.flatnonzero(self.folds == fold))
        models = FittedModels((fit,), self.classes, decision=self.decision)
        return models.scores(rows)[0], models.labels(rows)[0] if self.classes else None

    def joined(self, parts: Sequence[Any]) -> tuple[FloatArray, NDArray[Any] | None]:
        """Predictions of all rows from those of each fold."""
        rows = [np.flatnonzero(self.folds == fold) for fold in range(len(parts))]
        order = np.argsort(np.concatenate(rows))
        scores = np.concatenate([part[0] for part in parts])[order]
        return scores, np.concatenate([part[1] for part in parts])[order] if self.classes else None

    def evaluate(self, wanted: Sequence[refits.Refit], done: Any = None) -> list[refits.Refit]:
        """Fit those that are new without each fold; return those whose fits succeed."""
        from joblib import Parallel, delayed

        evaluated = self.fits.keys() | self.failed.keys()
        new = [refit for refit in dict.fromkeys(wanted) if refit not in evaluated]
        folds = range(self.folds.max() + 1)
        shared = replace(self, fits={}, held_out={}, failed={})
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        tasks = (delayed(_fit_and_predict)(shared, refit, fold) for refit in new for fold in folds)
        results = parallel(tasks)
        for count, refit in enumerate(new, start=1):
            parts = [next(results) for _ in folds]
            errors = [part for part in parts if isinstance(part, Exception)]
            if errors:
                self.failed[refit] = errors[0]
            else:
                self.fits[refit] = tuple(fit for fit, _ in parts)
                self.held_out[refit] = self.joined([part for _, part in parts])
            if done is not None:
                done(count)
        return [refit for refit in wanted if refit in self.fits]

    def scores(self, wanted: Sequence[refits.Refit]) -> FloatArray:
        """Predictions of every row by fits that did not see it."""
        return np.stack([self.held_out[refit][0] for refit in wanted])

    def losses(self, wanted: Sequence[refits.Refit]) -> FloatArray:
        """Losses of every row under fits that did not see it, shape (n_refits, n_rows)."""
        scores, certain = self.scores(wanted), self.loss == "zero_one"
        if certain:
            wrong = [self.held_out[refit][1] != self.codes for refit in wanted]
            return np.stack(wrong).astype(float)
        scores = refits.floored(scores, len(self.y), self.classes)
        return row_losses(scores, self.y, classes=self.classes, loss=self.loss, certain=certain)[0]

    @property
    def codes(self) -> NDArray[np.int_]:
        """Codes of the true labels."""
        return class_codes(self.y, self.classes, "y")

    def good(
        self, tried: Sequence[refits.Refit], rule: rules.Tolerance | None
    ) -> tuple[rules.Tolerance, FloatArray, FloatArray, Mask]:
        """Rule, and the excess, its error and whether it is good, of each refit; as given first."""
        losses = self.losses(tried)
        if rule is None:
            _, errors = rules.paired_standard_errors(losses[1:], losses[0], self.weight)
            rule = paired_standard_error(errors, "this model")
        confidence = required_confidence(rule)
        return rule, *good_models(losses, losses[0], rule.psi, confidence, self.weight)

    def models(self, wanted: Sequence[refits.Refit]) -> refits.CrossFittedModels:
        """Fitted models."""
        return refits.CrossFittedModels.from_fits(
            [self.fits[refit] for refit in wanted],
            self.classes,
            self.decision,
            self.folds,
            self.X,
            [self.held_out[refit] for refit in wanted],
        )


def _fit_and_predict(work: CrossFit, refit: refits.Refit, fold: int) -> Any:
    try:
        fit = work.fit(refit, fold)
        return fit, work.predict(fit, fold)
    except Exception as error:  # one impossible refit must not end a long run
        return error


def _requested(
    model: Any, X: Any, kinds: Sequence[str], work: CrossFit
) -> dict[str, list[refits.Refit]]:
    unknown = [kind for kind in kinds if kind not in refits.KINDS]
    if unknown or isinstance(kinds, str) or not kinds:
        raise ValueError(f"kinds must be a list of some of {[*refits.KINDS]}, got {kinds!r}")
    available = refits.available_refits(model, X)
    if "seed" in kinds and available["seed"]:
        changed_seed = refits.Refit("seed", "seed 1", seed=1 if work.seed != 1 else 2)
        is_fitted = work.evaluate([changed_seed])
        if not is_fitted or (work.scores(is_fitted) == work.scores([refits.AS_GIVEN])).all():
            available["seed"] = []
    requested = {kind: available[kind] for kind in kinds}
    if not any(requested.values()):
        raise ValueError(
            f"{type(last_step(model)).__name__} has no refits of the kinds {[*kinds]}: use "
            f"one of {[kind for kind, some in available.items() if some]}"
        )
    return requested


def _draw(
    work: CrossFit,
    available: dict[str, list[refits.Refit]],
    rule: rules.Tolerance | None,
    n_models: Any,
) -> tuple[str, list[refits.Refit]]:
    """Different refits in the order of drawing, and why there are no more."""
    stream = refits.draw_refits(available, np.random.default_rng([work.seed, 1]))
    limit = min(_MOST if n_models == "auto" else int(n_models), refits.count_refits(available))
    drawn: list[refits.Refit] = []  # with repetitions, as they are drawn
    stopped = ""
    with tally(int(limit), "refits") as done:
        while (left := int(limit) - len(set(drawn) | work.failed.keys())) > 0:
            batch = list(islice(stream, min(_BATCH, left)))
            before = len(set(drawn))
            drawn += work.evaluate(batch, lambda count, before=before: done(before + count))
            if n_models == "auto" and (stopped := _enough(work, drawn, rule)):
                break
    if work.failed:
        refit, error = next(iter(work.failed.items()))
        warnings.warn(
            f"{len(work.failed)} kinds of refits failed and are left out, such as {refit.name}: "
            f"{error}",
            stacklevel=3,
        )
    return stopped, list(dict.fromkeys(drawn))


def _enough(work: CrossFit, drawn: list[refits.Refit], rule: rules.Tolerance | None) -> str:
    """Text of the result of ``enough_draws`` for the good refits; empty if they are too few."""
    good = work.good([refits.AS_GIVEN, *drawn], rule)[3][1:]
    if good.sum() < 2:
        return ""
    inside = [refit for refit, is_good in zip(drawn, good, strict=True) if is_good]
    if work.classes:
        labels = np.stack([work.held_out[refit][1] for refit in inside])
        result = enough_draws("disagreement", labels, half_width=_HALF_WIDTH)
    else:
        low, high = float(work.y.min()), float(work.y.max())
        shares = np.clip((work.scores(inside) - low) / max(high - low, 1e-300), 0, 1)
        result = enough_draws("score_variance", shares, half_width=_HALF_WIDTH)
    return str(result) if result.enough else ""


def collect_models(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    tolerance: float | str = "auto",
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
) -> SampledSet:
    """Good ones of fitted models: not private."""
    every = from_estimators(models, X, y)
    scores, certain = every.scores(X), every.models.certain  # type: ignore[union-attr]
    if not certain:
        scores = refits.floored(scores, scores.shape[1], every.classes)
    losses = row_losses(scores, y, classes=every.classes, loss=every.loss, certain=certain)[0]
    weight = None if sample_weight is None else row_weights(None, np.asarray(y), sample_weight)
    means = np.average(losses, axis=1, weights=weight)
    best = int(np.argmin(means))
    other_losses = np.delete(losses, best, axis=0)
    if _is_paired(tolerance):
        _, differences = rules.paired_standard_errors(other_losses, losses[best], weight)
        rule = paired_standard_error(differences, "the best of them")
    else:
        rule = rules.resolve_losses(tolerance, losses[best], weight)
    confidence = required_confidence(rule)
    _, errors, good = good_models(losses, losses[best], rule.psi, confidence, weight)
    fields_of_set = {entry.name: getattr(every, entry.name) for entry in fields(PredictorSet)}
    fields_of_set |= {"psi": rule.psi, "losses": means, "least": float(means[best])}
    fields_of_set["reference"] = every.models.take(np.array([best]))
    return SampledSet(
        **fields_of_set,
        kinds=("collected",) * len(every),
        errors=errors,
        tolerance=rule,
        n_tried=len(every),
        measured="on the rows given, if none was fitted to them",
        seed=int(check_random_state(random_state).randint(2**31)),
    )[np.flatnonzero(good)]
