"""Small sets of public models, and records at the ends of what is allowed."""

import itertools
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.networks import Network, ReleasedNetworks
from rashomon_explorer.networks.path import plan_path
from rashomon_explorer.networks.sets import NetworkModels
from rashomon_explorer.privacy import pure
from rashomon_explorer.release.query import PublicShape, Rows
from rashomon_explorer.sets import ReleasedSet

B = 1.5


@dataclass
class Unreadable:
    """A table whose shape is known and whose values may not be looked at."""

    shape: tuple[int, int]

    def __array__(self, *_, **__):
        raise AssertionError("rows were read")


CATEGORIES = ("a", "b")


def models_of(link="logistic", coef=None, n_draws=3, n_features=2, seed=0):
    """Draws that are far apart or as given; three classes for softmax."""
    outputs = 2 if link == "softmax" else 1
    if coef is None:
        coef = np.random.default_rng(seed).normal(size=(n_draws, outputs * (n_features + 1)))
    loss = {"logistic": "logistic", "softmax": "softmax", "identity": "squared"}.get(link, "hinge")
    bought = plan(10, 6, 0.05, loss="logistic", radius=4.0, row_norm=B, epsilon=1.0)
    return ReleasedSet(
        coef=np.asarray(coef, dtype=float),
        feature_names=(*(f"x{i}" for i in range(n_features)), "intercept"),
        link=link,
        row_norm=B,
        target_bounds=(-2.0, 4.0),
        classes={"softmax": (0, 1, 2), "identity": ()}.get(link, (0, 1)),
        plan=bought.with_numbers(loss=loss),
        guarantee=pure(1.0),
    )


def networks_of(loss, theta=None, model=None):
    """Three released states of two columns, of linear scores by default."""
    model = Network(()) if model is None else model
    k = model.n_parameters(2, loss.n_outputs) + len(loss.start)
    theta = 3 * np.random.default_rng(0).normal(size=(3, k)) if theta is None else np.asarray(theta)
    settings = {"epsilon": 2.0, "delta": 1e-5, "psi": 99.0, "n_draws": 3, "n_losses": 1}
    settings |= {"n_steps": 6, "batch_size": None, "step_size": 0.5, "clip": 1.0}
    made = {"psi": 0.02, "guarantee": pure(1.0), "released_losses": np.full(3, np.nan)}
    made |= {"task": loss.task, "classes": tuple(range(getattr(loss, "n_classes", 0)))}
    made["network_plan"] = plan_path(n=10, p=k, loss_bound=loss.bound, **settings)
    models = NetworkModels(theta, model, loss, ("x0", "x1"), B, 1.0)
    return ReleasedNetworks(models=models, loss=loss.name, **made)


def records_of(models, seed=1):
    """Records (x, y, group): along and across the models and their differences, and at random."""
    width = len(models.feature_names)
    slopes = getattr(models, "coef", np.zeros((0, width))).reshape(-1, width)[:, :-1]
    ways = list(slopes) + [a - b for a, b in itertools.combinations(slopes, 2)]
    ends = [sign * B * w / np.linalg.norm(w) for w in ways if w.any() for sign in (1, -1)]
    rng = np.random.default_rng(seed)
    ends += list(B * np.eye(width - 1)) + list(-B * np.eye(width - 1))
    points = [*ends, np.zeros(width - 1), *(4 * rng.normal(size=(3, width - 1)))]
    targets = [-2.0, 4.0, 9.0] if models.task == "regression" else list(models.classes)
    groups = ("a", "b", "other")
    return [
        (x, y, groups[(i + k) % 3]) for i, x in enumerate(points) for k, y in enumerate(targets)
    ]


def table_of(records):
    """Columns of records."""
    return tuple(map(np.array, zip(*records, strict=True)))


@dataclass
class Change:
    """Largest changes seen, as shares of the declared sensitivity."""

    l1: float = 0.0
    l2: float = 0.0


def largest_changes(queries, models, n_rows, n_rests=1, seed=2):
    """Replace one record by every other, for some choices of the remaining ones."""
    records = records_of(models)
    public = PublicShape(models, n_rows, True, True, CATEGORIES)
    for query in queries:
        query.check(public)
    seen = {query.name: Change() for query in queries}
    rng = np.random.default_rng(seed)
    for _ in range(n_rests):
        rest = [records[i] for i in rng.integers(len(records), size=n_rows - 1)]
        rows = [Rows.read(public, *table_of([record, *rest])) for record in records]
        for query in queries:
            _grow(seen[query.name], query, public, np.array([query.compute(r) for r in rows]))
    return seen


def _grow(change, query, public, values):
    declared = query.sensitivity(public)
    apart = np.abs(values[:, None] - values[None])
    change.l1 = max(change.l1, apart.sum(axis=2).max() / declared.l1)
    change.l2 = max(change.l2, np.sqrt((apart**2).sum(axis=2)).max() / declared.l2)
