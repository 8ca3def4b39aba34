"""A set of models is a value; a release holds nothing that was computed from private rows."""

import copy
import dataclasses
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit, softmax

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.plans import Details, Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.losses import LogisticLoss, SquaredLoss
from rashomon_explorer.sets import RashomonSet, ReleasedSet, from_predictions
from tests.sets.made import PLANNED, make

CURATOR_ONLY = (
    *("notes", "losses", "excess", "hit_rate", "minimum", "best", "best_scores", "clipped_share"),
    *("acceptance", "inside", "least", "narrowed"),
    *("reaches_sphere", "rethreshold", "share_within"),
)
SOURCES = {f"from_{name}" for name in ("draws", "estimators", "predictions", "treefarms")}


COPIES = [lambda m: m, lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy]


@pytest.mark.parametrize("copied", COPIES)
def test_a_set_and_its_copies_say_the_same_and_cannot_be_changed(copied):
    rows, coef = np.random.default_rng(0).normal(size=(5, 2)), make().coef.copy()
    predictions = from_predictions([[0.9, 0.2], [0.4, 0.6]], [1, 0], X=rows[:2], psi=0.5)
    original = make(coef=coef)
    coef[:] = 9.0  # the caller's array stays the caller's
    for models, known in ((original, rows), (make().release(), rows), (predictions, rows[:2])):
        twin = copied(models)
        assert np.array_equal(twin.scores(known), models.scores(known))
        assert twin.guarantee == models.guarantee and type(twin) is type(models)
        with pytest.raises(FrozenInstanceError):
            del twin.guarantee
    twin = copied(original)
    assert twin.plan == PLANNED and np.array_equal(twin.coef, make().coef)
    for array in (twin.coef, twin.losses, twin.best, copied(predictions).losses):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1e-3, 12345.678])
def test_draws_on_the_very_edge_are_hits(value):
    edge = replace(make().minimum, value=value)
    models = make(coef=np.zeros((1, 3)), losses=[value + PLANNED.psi], minimum=edge)
    assert models.hit_rate == 1.0
    assert (make().hit_rate, make()[[]].hit_rate) == (0.5, pytest.approx(math.nan, nan_ok=True))
    assert np.allclose(make().excess, [0.05, 0.1, 0.1, 0.4])


def test_scores_by_hand():
    models = make()
    rows = [[0.6, 0.8], [3.0, 4.0], [0.0, 0.0], [0.1, -0.2]]
    short = [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0], [0.1, -0.2]]
    margins = np.array([[c[0] * x[0] + c[1] * x[1] + c[2] for x in short] for c in models.coef])
    assert np.allclose(models.margins(rows), margins)
    assert np.allclose(models.scores(rows), expit(margins))
    assert np.array_equal(models.labels(rows), (margins > 0).astype(int))
    best = np.array([x[0] + x[1] for x in short])
    assert np.allclose(models.best_scores(rows), expit(best))
    signs, targets = make(link="sign"), make(link="identity", target_bounds=(10.0, 30.0))
    assert np.array_equal(signs.scores(rows), (margins > 0).astype(float))
    assert np.allclose(targets.scores(rows), 20 + 10 * margins)
    assert (targets.task, targets.release().n_classes, signs.n_classes) == ("regression", 0, 2)
    with pytest.raises(TypeError, match="use scores for regression"):
        targets.labels(rows)


def test_several_classes_by_hand():
    coef = np.array([[1.0, 2.0, 0.5, 0.0, -1.0, 0.25]])
    models = make(coef=coef, losses=np.array([0.5]), link="softmax", classes=("a", "b", "c"))
    rows = [[0.6, 0.8], [-3.0, -4.0], [0.1, -0.2]]
    short = [[0.6, 0.8], [-0.6, -0.8], [0.1, -0.2]]
    margins = np.array([[0.0, x[0] + 2 * x[1] + 0.5, -x[1] + 0.25] for x in short])
    assert np.allclose(models.margins(rows), margins[None])
    assert np.allclose(models.scores(rows), softmax(margins, axis=1)[None])
    assert np.array_equal(models.labels(rows), margins.argmax(axis=1)[None])
    assert models.outputs == 2
    assert models.parameter_names == (
        *("b: age", "b: income", "b: intercept"),
        *("c: age", "c: income", "c: intercept"),
    )
    assert make(coef=coef, losses=np.array([0.5]), link="softmax").class_names[2] == "class 2"
    public = models.release()
    assert public.classes == ("a", "b", "c")
    assert np.array_equal(public.scores(rows), models.scores(rows))
    best = replace(models, minimum=replace(models.minimum, theta=coef[0]))
    assert np.allclose(best.best_scores(rows), models.scores(rows)[0])


@pytest.mark.parametrize(
    ("change", "rows", "message"),
    [
        ({"link": "probit"}, None, "link must be one of .*'softmax'.*, got 'probit'"),
        ({"coef": np.zeros((4, 2))}, None, r"coef must have shape \(n_draws, 3\), .* got \(4, 2\)"),
        ({"coef": np.zeros((4, 5)), "link": "softmax"}, None, "name and class but the first"),
        ({"classes": (0, 1, 2)}, None, "3 labels are given for 2 classes"),
        ({"classes": (0, 1), "link": "identity"}, None, "2 labels are given for 0 classes"),
        ({}, [[0.0, 0.0], [math.nan, 1.0]], r"X holds NaN or infinity at \(1, 0\)"),
        ({}, [[1.0]], r"X must have shape \(n_rows, 2\), got"),
    ],
)
def test_bad_parts_and_rows_are_refused(change, rows, message):
    with pytest.raises(ValueError, match=message):
        make(**change).scores(rows)


@pytest.mark.parametrize("name", CURATOR_ONLY)
def test_a_release_refuses_what_the_curator_knows(name):
    assert hasattr(make(), name)
    public = make().release()
    with pytest.raises(CuratorOnlyError, match=f"{name} is computed from private rows"):
        getattr(public, name)
    assert not hasattr(public, name)


def test_every_attribute_of_the_curators_set_is_either_public_or_refused():
    """A new field has to be put on one side or the other."""
    public = make().release()
    with pytest.raises(AttributeError, match="no attribute 'coeff'"):
        getattr(public, "coeff")  # noqa: B009
    curators = {
        name for name in dir(make()) if not name.startswith("_") and not hasattr(public, name)
    }
    assert curators - {"release", "mechanism", *SOURCES} == set(CURATOR_ONLY)


def reachable(thing):
    """Everything an object holds, arrays' bases included."""
    yield thing
    if isinstance(thing, np.ndarray):
        if thing.base is not None:
            yield from reachable(thing.base)
    elif isinstance(thing, dict):
        for item in thing.items():
            yield from reachable(item)
    elif isinstance(thing, tuple | list | set | frozenset):
        for item in thing:
            yield from reachable(item)
    elif hasattr(thing, "__dict__"):
        yield from reachable(vars(thing))


@pytest.mark.parametrize(
    "kind", [RashomonClassifier, partial(RashomonRegressor, target_bounds=(-1, 1))]
)
def test_nothing_private_is_reachable_from_a_release(kind):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (40, 3))
    asked = {"n_draws": 5, "epsilon": 20.0, "mechanism": "exact", "random_state": 0}
    fitted = kind(**asked).fit(rows, (rows[:, 0] > 0).astype(int))
    curator: RashomonSet = fitted.rashomon_set_
    public = curator.release()
    kept = list(reachable(public))
    values = {type(thing) for thing in kept if dataclasses.is_dataclass(thing)}
    curves = {kind for kind in values if ".privacy.tradeoff." in kind.__module__}
    public_numbers = {Request, Details, Constants, *map(type, (LogisticLoss(), SquaredLoss()))}
    assert values - curves - public_numbers == {ReleasedSet, Plan, Guarantee}
    arrays = [thing for thing in kept if isinstance(thing, np.ndarray)]
    assert len(arrays) == 1
    assert np.array_equal(arrays[0], curator.coef)
    assert arrays[0].base is None
    private = {*rows.ravel(), *curator.losses, *curator.best, curator.minimum.value}
    private |= {curator.acceptance, curator.minimum.gap, curator.hit_rate}
    assert not private & {thing for thing in kept if isinstance(thing, float)} - {0.0, 1.0}
    written = pickle.dumps(public)
    for value in private - {0.0, 1.0}:
        assert np.float64(value).tobytes() not in written
    assert curator.losses[0].tobytes() in pickle.dumps(curator)  # the search finds what is there
