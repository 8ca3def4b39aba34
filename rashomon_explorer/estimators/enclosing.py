"""The pipelines and ensembles that are fitting an estimator."""

import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from rashomon_explorer.estimators.pipelines import learns_bounds, privacy_leaks
from rashomon_explorer.exceptions import LedgerWarning
from rashomon_explorer.users_line import users_line

_BAGGING = "sklearn.ensemble._bagging"


def learnt_before(estimator: Any) -> str:
    """Read from the enclosing pipelines' settings what they learnt bounds with; reads no row.

    Empty if no earlier step is a ``PublicBoundsScaler`` that learns.
    """
    earlier = (step for pipe in _enclosing(estimator) for _, step in pipe.steps[:-1])
    return "bounds were learnt from the rows" if any(map(learns_bounds, earlier)) else ""


def not_known_to_be_public(estimator: Any) -> list[str]:
    """Ask :func:`privacy_leaks` about the enclosing pipelines, and look for resampling."""
    resampler = _resampler(estimator)
    resampled = [f"{resampler}, which may repeat a record"] if resampler else []
    pipes = [Pipeline(pipe.steps[:-1]) for pipe in _enclosing(estimator) if len(pipe.steps) > 1]
    return [*resampled, *(leak for pipe in pipes for leak in privacy_leaks(pipe))]


def warn_of_repeated_records(estimator: Any) -> None:
    """Warn if the fit that is to be charged is one of an ensemble that draws rows with repeats.

    Read from the callers: whether rows repeat cannot be seen without a look at them.
    """
    if resampler := _resampler(estimator):
        warnings.warn(
            f"{resampler} may repeat a record within one fit: a record that occurs k times costs k "
            "times the ε that is charged, and the ledger does not count that. Use bootstrap=False "
            "with max_samples below 1, which takes each record once at most, or fit without the "
            "ensemble",
            LedgerWarning,
            stacklevel=users_line(),
        )


def _resampler(estimator: Any) -> str:
    """Name what is running that fits with repeated rows; "" if nothing known is."""
    for pipe in _enclosing(estimator):
        for _, step in pipe.steps[:-1]:
            if hasattr(step, "fit_resample"):  # of imbalanced-learn
                return type(step).__name__
    for frame in _callers():
        if frame.f_globals.get("__name__") == _BAGGING:
            # In a worker process the ensemble's own method is not among the callers.
            ensemble = frame.f_locals.get("ensemble", frame.f_locals.get("self"))
            if getattr(ensemble, "bootstrap", False):
                return type(ensemble).__name__
    return ""


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _enclosing(estimator: Any) -> Iterator[Pipeline]:
    # A pipeline tells its last step nothing of the others, and a transformer in between takes
    # every mark off the rows. But its fit is running, so that it can be found among the callers,
    # and so can a search or an ensemble that is a pipeline's last step and fits copies of it.
    within = [estimator]
    for frame in _callers():
        owner = frame.f_locals.get("self")
        if isinstance(owner, BaseEstimator) and owner is not within[-1]:
            last = owner.steps[-1][1] if isinstance(owner, Pipeline) else None
            if any(last is one for one in within):
                yield owner
            within.append(owner)
