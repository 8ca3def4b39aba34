"""Ways to models of one table: ours, a line each; a new sampler enters by a line."""

import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks import objective_perturbation
from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data.encoder import ENCODED_NORM
from rashomon_explorer.estimators.feasibility import is_tried
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.registry import mechanism_traits
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.samplers.feasibility import preflight

_MOST_PARAMETERS = 150  # of exact draws: beyond, a trial by itself takes longer than all else
_PATIENCE = 100_000


class Task(NamedTuple):
    """Rows (n, d) to fit, targets, how many classes (0: a regression), and what may be spent."""

    rows: FloatArray
    targets: NDArray[Any]
    classes: int
    epsilon: float
    delta: float
    seed: int


class Made(NamedTuple):
    """Models (K, outputs, d + 1), the constant last; or why there are none, and how it came."""

    models: FloatArray | None
    seconds: float
    skipped: str = ""
    refused: str = ""


class Way(NamedTuple):
    """A name, what makes models, and whether δ = 0 and each task can be served."""

    name: str
    make: Callable[[Task], FloatArray]
    pure: bool = True
    approximate: bool = True
    regression: bool = True
    private: bool = True

    def serves(self, classes: int, delta: float) -> bool:
        """Whether there is anything to run."""
        return (self.regression or classes > 0) and (self.approximate if delta else self.pure)


class Skipped(Exception):
    """What public numbers call hopeless: nothing was charged."""


def run(way: Way, task: Task) -> Made:
    """Make the models and take the time."""
    start = time.perf_counter()
    models, skipped, refused = None, "", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = way.make(task)
    except Skipped as why:
        skipped = str(why)
    except SamplerError as why:
        refused = str(why)
    return Made(models, time.perf_counter() - start, skipped, refused)


def ours(mechanism: str = "auto", **settings: Any) -> Callable[[Task], FloatArray]:
    """Return what fits one of our estimators, everything else by its defaults.

    Rows come with norm 1, and are handed on with the norm that a schema would have given them.
    """

    def make(task: Task) -> FloatArray:
        given = {
            "mechanism": mechanism,
            "epsilon": task.epsilon,
            "delta": task.delta,
            "random_state": task.seed,
            "row_norm": ENCODED_NORM,
            **({} if mechanism == "auto" else {"patience": _PATIENCE}),
            **settings,
        }
        estimator: Any = (
            RashomonClassifier(classes=range(task.classes), **given)
            if task.classes
            else RashomonRegressor(**given)
        )
        _refuse_the_hopeless(estimator, task)
        with suppress_weak_warnings():  # and foretold already
            drawn = estimator.fit(ENCODED_NORM * task.rows, task.targets).rashomon_set_
        models = drawn.coef.reshape(len(drawn.coef), -1, task.rows.shape[1] + 1).copy()
        if drawn.scale is not None:  # the same scores on every row that is not shortened
            models = drawn.scale.original(models)
        models[..., :-1] *= ENCODED_NORM
        if task.classes < 3:
            return np.asarray(models)
        return np.concatenate([np.zeros_like(models[:, :1]), models], axis=1)

    return make


def _refuse_the_hopeless(estimator: Any, task: Task) -> None:
    n, d = task.rows.shape
    if not mechanism_traits(estimator.mechanism).may_give_up:  # and what chooses refuses by itself
        return
    if (d + 1) * max(1, task.classes - 1) > _MOST_PARAMETERS:
        raise Skipped(f"more than {_MOST_PARAMETERS} parameters")
    planned = estimator.plan(n, d)
    if is_tried(planned) and not _likely(planned):
        raise Skipped("preflight expects no draw")


@lru_cache
def _likely(planned: Plan) -> bool:
    found = preflight(planned)
    return found is None or found.likely


def _not_private(task: Task) -> FloatArray:
    if not task.classes:
        fitted: Any = Ridge(alpha=1e-3).fit(task.rows, task.targets)
        return np.append(fitted.coef_, fitted.intercept_)[None, None]
    fitted = LogisticRegression(C=100.0, max_iter=2_000).fit(task.rows, task.targets)
    return np.column_stack([fitted.coef_, fitted.intercept_])[None]


def _perturbed(task: Task) -> FloatArray:
    """One against the rest where there are more than two, each for its share of the price."""
    rng = np.random.default_rng(task.seed)
    rows = np.column_stack([task.rows, np.ones(len(task.rows))])
    wanted = range(task.classes) if task.classes > 2 else [1]
    each = [
        objective_perturbation.fit(
            rows,
            np.where(task.targets == one, 1.0, -1.0),
            task.epsilon / len(wanted),
            task.delta / len(wanted),
            rng,
        )
        for one in wanted
    ]
    return np.array(each)[None]


WAYS = (
    Way("auto", ours()),
    Way("auto, 20 models", ours(n_draws=20)),
    Way("ellipsoid", ours("ellipsoid", n_draws=20), pure=False),
    Way("exact", ours("exact", psi=0.02)),
    Way("exact, one model", ours("exact", psi=0.0)),
    Way("gradients, one model", ours("langevin_average", n_draws=1), pure=False),
    Way("clipped gradients, one model", ours("langevin_clipped", n_draws=1), pure=False),
    Way("objective perturbation", _perturbed, regression=False),
    Way("scikit-learn, not private", _not_private, private=False),
)
