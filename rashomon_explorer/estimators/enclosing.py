"""The pipelines that are fitting an estimator as their last step."""

import sys
from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from rashomon_explorer.estimators.pipelines import learns_bounds, privacy_leaks


def learnt_before(estimator: Any) -> str:
    """Read from the enclosing pipelines' settings what they learnt bounds with; reads no row.

    Empty if no earlier step is a ``PublicBoundsScaler`` that learns.
    """
    earlier = (step for pipe in _enclosing(estimator) for _, step in pipe.steps[:-1])
    return "bounds were learnt from the rows" if any(map(learns_bounds, earlier)) else ""


def not_known_to_be_public(estimator: Any) -> list[str]:
    """Ask :func:`privacy_leaks` about the earlier steps of the enclosing pipelines."""
    pipes = [Pipeline(pipe.steps[:-1]) for pipe in _enclosing(estimator) if len(pipe.steps) > 1]
    return [leak for pipe in pipes for leak in privacy_leaks(pipe)]


def _enclosing(estimator: Any) -> Iterator[Pipeline]:
    # A pipeline tells its last step nothing of the others, and a transformer in between takes
    # every mark off the rows. But its fit is running, so that it can be found among the callers,
    # and so can a search or an ensemble that is a pipeline's last step and fits copies of it.
    within, frame = [estimator], sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, BaseEstimator) and owner is not within[-1]:
            last = owner.steps[-1][1] if isinstance(owner, Pipeline) else None
            if any(last is one for one in within):
                yield owner
            within.append(owner)
        frame = frame.f_back  # type: ignore[assignment]
