"""Sets of refits of any estimator, filtered by their loss on held-out rows."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest, read_only_copy
from rashomon_explorer._utils.containers import as_pandas
from rashomon_explorer._utils.progress import tally
from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer._utils.validation import check_count, check_inner_share
from rashomon_explorer.audits import refits
from rashomon_explorer.audits.refits import AS_GIVEN, KINDS, Refit, floored
from rashomon_explorer.audits.tolerance import Tolerance, resolve, resolve_losses
from rashomon_explorer.measures.stopping import enough_draws
from rashomon_explorer.sets import PredictorSet, from_estimators, from_predictions
from rashomon_explorer.sets.base import Places
from rashomon_explorer.sets.models.fitted import FittedModels
from rashomon_explorer.sets.sources.predictions import fitted_models, row_losses

_BATCH = 25
_MOST = 400
_HALF_WIDTH = 0.05


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SampledSet(PredictorSet):
    """Models that are as good as a given one on held-out rows: a sample of all good models.

    **Curator: computed from private rows, not private.**
    """

    kinds: tuple[str, ...]  # kind of each refit, or "collected"; ``names`` holds the change
    errors: FloatArray  # (n_draws,): standard error of the excess, paired over held-out rows
    tolerance: Tolerance  # rule that gave ψ
    confidence: float  # a model with a true excess above ψ is kept with at most 1 − confidence
    n_tried: int  # models before the filter
    stopped: str = ""  # result of ``enough_draws``, if it decided on the number of models

    def __post_init__(self) -> None:
        """Make the errors read-only, too."""
        super().__post_init__()
        object.__setattr__(self, "errors", read_only_copy(self.errors))

    @property
    def refits(self) -> pd.DataFrame:
        """Kind, held-out loss, excess loss and its standard error of each model, by name."""
        columns = {
            "kind": list(self.kinds),
            "loss": self.losses,
            "excess": self.excess,
            "standard error": self.errors,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="model"))

    @property
    def notes(self) -> tuple[str, ...]:
        """How many models were kept, and why no more were tried."""
        kept = (
            f"sampled, at least: {self.n_draws:,} of {self.n_tried:,} models are shown to be good "
            f"on held-out rows, each with {100 * self.confidence:.4g} % confidence"
        )
        return (kept, *([self.stopped] if self.stopped else []))

    def stored(self, X: Any) -> PredictorSet:  # type: ignore[override]
        """Replace the models by their predictions on some rows, as a set that can be saved."""
        own = {one.name: getattr(self, one.name) for one in fields(PredictorSet)}
        return PredictorSet(**own).stored(X)

    def _at(self, places: Places) -> dict[str, Any]:
        return {
            **super()._at(places),
            "kinds": tuple(self.kinds[place] for place in places),
            "errors": self.errors[places],
        }


def good_models(
    losses: FloatArray,
    baseline: FloatArray,
    psi: float,
    confidence: float,
    weights: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, Mask]:
    """Excess over a baseline, its paired error, and which models are good; (n_models,) each.

    A model is good if the upper confidence bound of its excess, by Student's t for the differences
    to the baseline on the same rows, is at most ψ.
    """
    n = len(baseline)
    weight = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    apart = losses - baseline
    excess = apart @ weight
    spread = ((weight * (apart - excess[:, None])) ** 2).sum(axis=1)
    errors = np.sqrt(spread * n / max(n - 1, 1))
    reach = float(stdtrit(max(n - 1, 1), confidence))
    return excess, errors, np.asarray(excess + reach * errors <= psi)


def sample_models(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    tolerance: float | str | Tolerance = "cv",
    kinds: Sequence[str] = KINDS,
    n_models: int | str = "auto",
    held_out: float = 0.25,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SampledSet:
    """Sample models as good as a given one, by refits of any estimator or pipeline.

    Each refit to a part of the rows changes one thing at random: the seed, the rows (a bootstrap),
    one hyper-parameter (to a neighbour in ``NEIGHBOURS``), or it leaves a column out. It is kept if
    its loss on the other rows exceeds that of a refit without a change by at most ψ, with
    confidence. The comparison is paired, and with the model itself rather than with the best refit:
    the best of many looks better than it is, and refits that are compared with it are not
    independent. ``"auto"`` stops when the kept ones determine their mean disagreement (for a
    regression the variance of predictions, as a share of the squared range) to ± 0.05, and at 400.
    The refit without a change comes first; the reference is ``model`` itself if it is fitted. The
    models do not depend on ``n_jobs``. **Curator: computed from private rows, not private.**
    """
    check_inner_share(held_out=held_out, confidence=confidence)
    if n_models != "auto":
        check_count(n_models=n_models)  # type: ignore[arg-type]
    X, own, targets = as_pandas(X), refits.recipe(model), np.asarray(y)
    if targets.ndim != 1:
        raise ValueError(f"y must hold one label or target for each row, got shape {targets.shape}")
    seed = int(check_random_state(random_state).randint(2**31))
    known = random_state if isinstance(random_state, int | np.integer) else None
    rule = resolve(tolerance, own, X, targets, sample_weight=sample_weight, random_state=known)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    work = _Refits.split(own, X, targets, weight, held_out, seed, n_jobs)
    available = _requested(own, X, kinds, work)
    stopped, drawn = _draw(work, available, rule.psi, confidence, n_models)
    tried = [AS_GIVEN, *drawn]
    losses = work.losses(tried)
    excess, errors, good = good_models(losses, losses[0], rule.psi, confidence, work.test_weight)
    kept = [one for one, inside in zip(tried, good, strict=True) if inside]
    least = float(np.average(losses[0], weights=work.test_weight))
    models = work.models(kept)
    return SampledSet(
        models=models,
        reference=FittedModels((model,), work.classes)
        if _is_fitted(model)
        else work.models(tried[:1]),
        losses=least + excess[good],
        least=least,
        psi=rule.psi,
        task="classification" if work.classes else "regression",
        classes=work.classes,
        names=tuple(one.name for one in kept),
        loss=work.loss,
        kinds=tuple(one.kind for one in kept),
        errors=errors[good],
        tolerance=rule,
        confidence=confidence,
        n_tried=len(tried),
        stopped=stopped,
    )


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


@dataclass(eq=False)
class _Refits:
    """Refits of an estimator to some rows with their predictions of the held-out ones."""

    model: Any
    train: tuple[Any, NDArray[Any], FloatArray | None]
    X: Any
    y: NDArray[Any]
    test_weight: FloatArray | None
    seed: int
    n_jobs: int | None
    classes: tuple[Any, ...] = ()
    loss: str = ""
    found: dict[Refit, tuple[Any, FloatArray]] = field(default_factory=dict)
    failed: dict[Refit, Exception] = field(default_factory=dict)

    @classmethod
    def split(
        cls,
        model: Any,
        X: Any,
        y: NDArray[Any],
        weight: FloatArray | None,
        held_out: float,
        seed: int,
        n_jobs: int | None,
    ) -> Self:
        """Hold rows out, in the shares of the classes, and refit the model without a change."""
        from sklearn.base import is_classifier
        from sklearn.model_selection import train_test_split

        labels = (
            y if is_classifier(model) and np.unique(y, return_counts=True)[1].min() > 1 else None
        )
        train, test = train_test_split(
            np.arange(len(y)), test_size=held_out, stratify=labels, random_state=seed
        )
        own = None if weight is None else weight[train]
        kept = select_rows(X, train), y[train], own
        other = None if weight is None else weight[test]
        work = cls(model, kept, select_rows(X, test), y[test], other, seed, n_jobs)
        first = AS_GIVEN.fitted(model, *work.train, seed)
        several = fitted_models((first,), y)
        work.classes = several.classes
        with refits.on_a_part_of_the_rows():
            scores = several.scores(work.X)
        work.loss = row_losses(scores, work.y, classes=work.classes, certain=several.certain)[1]
        work.found[AS_GIVEN] = first, scores[0]
        return work

    def evaluate(self, wanted: Sequence[Refit], done: Any = None) -> list[Refit]:
        """Fit those that are new; return those whose fits succeed."""
        from joblib import Parallel, delayed

        known = self.found.keys() | self.failed.keys()
        new = [one for one in dict.fromkeys(wanted) if one not in known]
        arguments = (self.model, self.train, self.X, self.classes, self.seed)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        results = parallel(delayed(_fit_and_predict)(one, *arguments) for one in new)
        for place, (one, result) in enumerate(zip(new, results, strict=True), start=1):
            results_of = self.failed if isinstance(result, Exception) else self.found
            results_of[one] = result
            if done is not None:
                done(place)
        return [one for one in wanted if one in self.found]

    def scores(self, wanted: Sequence[Refit]) -> FloatArray:
        """Predictions of the held-out rows."""
        return np.stack([self.found[one][1] for one in wanted])

    def losses(self, wanted: Sequence[Refit]) -> FloatArray:
        """Losses of the held-out rows, shape (n_refits, n_rows)."""
        scores, certain = self.scores(wanted), self.loss == "zero_one"
        if not certain:
            scores = floored(scores, len(self.y) + len(self.train[1]), self.classes)
        return row_losses(scores, self.y, classes=self.classes, loss=self.loss, certain=certain)[0]

    def models(self, wanted: Sequence[Refit]) -> FittedModels:
        """Fitted models."""
        return FittedModels(tuple(self.found[one][0] for one in wanted), self.classes)


def _fit_and_predict(
    one: Refit, model: Any, train: Any, X: Any, classes: tuple[Any, ...], seed: int
) -> Any:
    """Fitted model and its predictions of other rows, or the error of the fit."""
    rows, targets, weight = train
    try:
        fitted = one.fitted(model, rows, targets, weight, seed)
        return fitted, FittedModels((fitted,), classes).scores(X)[0]
    except Exception as error:  # one impossible refit must not end a long run
        return error


def _requested(model: Any, X: Any, kinds: Sequence[str], work: _Refits) -> dict[str, list[Refit]]:
    """Refits of the requested kinds; raise if there are none."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or isinstance(kinds, str) or not kinds:
        raise ValueError(f"kinds must be a list of some of {[*KINDS]}, got {kinds!r}")
    available = refits.available_refits(model, X)
    if "seed" in kinds and available["seed"]:
        other = Refit("seed", "seed 1", seed=1 if work.seed != 1 else 2)
        if not work.evaluate([other]) or (work.scores([other]) == work.scores([AS_GIVEN])).all():
            available["seed"] = []
    found = {kind: available[kind] for kind in kinds}
    if not any(found.values()):
        raise ValueError(
            f"{type(refits.last_step(model)).__name__} has no refits of the kinds {[*kinds]}: use "
            f"one of {[kind for kind, some in available.items() if some]}"
        )
    return found


def _draw(
    work: _Refits, available: dict[str, list[Refit]], psi: float, confidence: float, n_models: Any
) -> tuple[str, list[Refit]]:
    """Refits in the order of drawing, and why there are no more."""
    stream = refits.draw_refits(available, np.random.default_rng([work.seed, 1]))
    most = _MOST if n_models == "auto" else int(n_models)
    drawn: list[Refit] = []
    stopped = ""
    with tally(most, "refits") as done:
        while len(drawn) < most:
            batch = list(islice(stream, min(_BATCH, most - len(drawn))))
            before = len(drawn)
            drawn += work.evaluate(batch, lambda count, before=before: done(before + count))
            most -= len(batch) - (len(drawn) - before)
            if n_models == "auto" and (stopped := _enough(work, drawn, psi, confidence)):
                break
    if work.failed:
        one, error = next(iter(work.failed.items()))
        warnings.warn(
            f"{len(work.failed)} kinds of refits failed and are left out, such as {one.name}: "
            f"{error}",
            stacklevel=3,
        )
    return stopped, drawn


def _enough(work: _Refits, drawn: list[Refit], psi: float, confidence: float) -> str:
    """Text of the result of ``enough_draws`` for the good refits; empty if they are too few."""
    losses = work.losses([AS_GIVEN, *drawn])
    good = good_models(losses[1:], losses[0], psi, confidence, work.test_weight)[2]
    if good.sum() < 2:
        return ""
    scores = work.scores([one for one, inside in zip(drawn, good, strict=True) if inside])
    if work.classes:
        found = enough_draws("disagreement", likeliest(scores), half_width=_HALF_WIDTH)
    else:
        low, high = float(work.train[1].min()), float(work.train[1].max())
        shares = np.clip((scores - low) / max(high - low, 1e-300), 0, 1)
        found = enough_draws("score_variance", shares, half_width=_HALF_WIDTH)
    return str(found) if found.enough else ""


def collect_models(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    tolerance: float | str | Tolerance = "cv",
    confidence: float = 0.95,
    kind: str = "probabilities",
    classes: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> SampledSet:
    """Collect the good ones of fitted models, or of predictions (n_models, n_rows[, n_classes]).

    ``X`` holds rows that no model was fitted to, None for predictions. The best model is the
    reference and takes the place of the given one of :func:`sample_models`. **Curator: computed
    from private rows, not private.**
    """
    check_inner_share(confidence=confidence)
    if isinstance(models, np.ndarray | pd.DataFrame) or not _are_estimators(models):
        every = from_predictions(models, y, kind=kind, classes=classes, names=names, X=X)
        scores, certain = every.scores(), kind == "labels"
    else:
        every = from_estimators(models, X, y, names=names)
        scores, certain = every.scores(X), every.models.certain  # type: ignore[union-attr]
    if not certain:
        scores = floored(scores, scores.shape[1], every.classes)
    losses = row_losses(scores, y, classes=every.classes, loss=every.loss, certain=certain)[0]
    means = losses.mean(axis=1)
    best = int(np.argmin(means))
    rule = resolve_losses(tolerance, losses[best])
    _, errors, good = good_models(losses, losses[best], rule.psi, confidence)
    own = {one.name: getattr(every, one.name) for one in fields(PredictorSet)}
    own |= {"psi": rule.psi, "losses": means, "least": float(means[best])}
    own["reference"] = every.models.take(np.array([best]))
    return SampledSet(
        **own,
        kinds=("collected",) * len(every),
        errors=errors,
        tolerance=rule,
        confidence=confidence,
        n_tried=len(every),
    )[np.flatnonzero(good)]


def is_collection(models: Any) -> bool:
    """Whether these are several models, or predictions, and not one model."""
    if hasattr(models, "fit") or hasattr(models, "predict") or isinstance(models, type):
        return False
    return isinstance(models, list | tuple | dict | np.ndarray | pd.DataFrame)


def _are_estimators(models: Any) -> bool:
    if hasattr(models, "predict") or isinstance(models, dict):
        return True
    return any(hasattr(one, "predict") for one in models)
