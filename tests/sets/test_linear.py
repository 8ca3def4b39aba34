"""A set of models is a value; a release holds nothing that was computed from private rows."""

import copy
import dataclasses
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.privacy import Guarantee, bounded_range
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.losses import LOSSES
from rashomon_explorer.sets import RashomonSet, ReleasedSet, from_predictions
from tests.sets.made import PLANNED, make

CURATOR_ONLY = (
    *("notes", "losses", "excess", "hit_rate", "minimum", "best", "best_scores", "clipped_share"),
    *("acceptance", "inside", "intersect", "least", "narrowed", "to_arviz"),
    *("reaches_sphere", "rethreshold", "share_within"),
)
SOURCES = {
    f"from_{name}" for name in ("draws", "estimators", "predictions", "timbertrek", "treefarms")
}


def arrays_of(models: RashomonSet) -> list[FloatArray]:
    return [models.coef, models.losses, models.best, models.minimum.theta]


def by_pickle(models: Any) -> Any:
    return pickle.loads(pickle.dumps(models))


@pytest.mark.parametrize("copied", [lambda m: m, by_pickle, copy.copy, copy.deepcopy])
def test_nothing_can_be_changed(copied: Callable[[RashomonSet], RashomonSet]) -> None:
    models = copied(make())
    for array in arrays_of(models):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(FrozenInstanceError):
        models.coef = np.zeros((1, 3))  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del models.guarantee


def test_the_arrays_given_stay_their_owners() -> None:
    coef, losses = np.zeros((4, 3)), np.full(4, 0.5)
    models = make(coef=coef, losses=losses)
    coef[:] = losses[:] = 9.0
    assert not models.coef.any()
    assert (models.losses == 0.5).all()


@pytest.mark.parametrize("copied", [by_pickle, copy.deepcopy])
def test_a_copy_says_the_same(copied: Callable[[Any], Any]) -> None:
    rows = np.random.default_rng(0).normal(size=(5, 2))
    predictions = from_predictions([[0.9, 0.2], [0.4, 0.6]], [1, 0], X=rows[:2], psi=0.5)
    for models, known in ((make(), rows), (make().release(), rows), (predictions, rows[:2])):
        twin = copied(models)
        assert np.array_equal(twin.scores(known), models.scores(known))
        assert twin.guarantee == models.guarantee
        assert type(twin) is type(models)
    assert copied(make()).plan == PLANNED
    with pytest.raises(ValueError, match="read-only"):
        copied(predictions).losses[0] = 0.0


def test_sets_are_compared_and_hashed_by_identity() -> None:
    models = make()
    assert models == models
    assert models != by_pickle(models)
    assert len({models, models}) == 1


def test_hit_rate_counts_draws_at_the_threshold() -> None:
    assert make().hit_rate == 0.5
    assert np.allclose(make().excess, [0.05, 0.1, 0.1, 0.4])
    assert make(minimum=replace(make().minimum, value=0.5)).hit_rate == 0.75
    assert math.isnan(make(coef=np.empty((0, 3)), losses=np.empty(0)).hit_rate)


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1e-3, 12345.678])
def test_a_draw_on_the_very_edge_is_a_hit(value: float) -> None:
    models = make(
        coef=np.zeros((1, 3)),
        losses=np.array([value + PLANNED.psi]),
        minimum=replace(make().minimum, value=value),
    )
    assert models.hit_rate == 1.0


def test_public_settings() -> None:
    for models in (make(), make().release()):
        assert (models.psi, models.beta) == (PLANNED.psi, PLANNED.beta)
        assert models.n_draws == 4
        assert models.task == "classification"
        assert models.feature_names == ("age", "income", "intercept")
    assert make(link="identity").release().task == "regression"


def test_scores_by_hand() -> None:
    models = make()
    rows = [[0.6, 0.8], [3.0, 4.0], [0.0, 0.0], [0.1, -0.2]]
    short = [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0], [0.1, -0.2]]
    margins = np.array([[c[0] * x[0] + c[1] * x[1] + c[2] for x in short] for c in models.coef])
    assert np.allclose(models.margins(rows), margins)
    assert np.allclose(models.scores(rows), expit(margins))
    assert np.array_equal(models.labels(rows), (margins > 0).astype(int))
    best = np.array([x[0] + x[1] for x in short])
    assert np.allclose(models.best_scores(rows), expit(best))


def test_regression_scores_are_mapped_to_the_targets() -> None:
    models = make(link="identity", target_bounds=(10.0, 30.0))
    rows = [[0.6, 0.0], [0.0, -0.5]]
    assert np.allclose(models.scores(rows), 20 + 10 * models.margins(rows))
    with pytest.raises(TypeError, match="use scores for regression"):
        models.labels(rows)


@pytest.mark.parametrize(
    ("link", "task"),
    [
        ("logistic", "classification"),
        ("sign", "classification"),
        ("softmax", "classification"),
        ("identity", "regression"),
    ],
)
def test_every_link_of_a_loss_has_its_task(link: str, task: str) -> None:
    assert make(link=link).task == make(link=link).release().task == task
    assert {make_loss().link for make_loss in LOSSES.values()} <= {
        *("logistic", "sign", "softmax", "identity")
    }
    assert make(link=link).n_classes == (0 if task == "regression" else 2)


def test_a_sign_link_knows_labels_and_no_probabilities() -> None:
    models, rows = make(link="sign"), [[0.6, 0.8], [0.1, -0.2]]
    assert np.array_equal(models.scores(rows), (models.margins(rows) > 0).astype(float))
    assert np.array_equal(models.labels(rows), models.scores(rows).astype(int))


def test_several_classes_by_hand() -> None:
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
    assert list(best.to_arviz()["posterior"].coords["parameter"].values) == [
        *models.parameter_names
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"link": "probit"}, "link must be one of .*'softmax'.*, got 'probit'"),
        ({"coef": np.zeros((4, 2))}, r"coef must have shape \(n_draws, 3\), .* got \(4, 2\)"),
        ({"coef": np.zeros((4, 6))}, r"coef must have shape \(n_draws, 3\)"),
        ({"coef": np.zeros((4, 5)), "link": "softmax"}, "feature name and class but the first"),
        ({"classes": (0, 1, 2)}, "3 labels are given for 2 classes"),
        ({"classes": (0, 1), "link": "identity"}, "2 labels are given for 0 classes"),
    ],
)
def test_parts_that_do_not_suit_each_other_are_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**change)


@pytest.mark.parametrize("strange", [math.nan, math.inf])
def test_rows_that_are_not_finite_are_refused_by_place(strange: float) -> None:
    with pytest.raises(ValueError, match=r"X holds NaN or infinity at \(1, 0\)"):
        make().scores([[0.0, 0.0], [strange, 1.0]])


@pytest.mark.parametrize("rows", [[[1.0]], [[1.0, 2.0, 3.0]], [1.0, 2.0], np.zeros((2, 2, 2))])
def test_rows_of_another_shape_are_refused(rows: Any) -> None:
    with pytest.raises(ValueError, match=r"X must have shape \(n_rows, 2\), got"):
        make().scores(rows)


@pytest.mark.parametrize("name", CURATOR_ONLY)
def test_a_release_refuses_what_the_curator_knows(name: str) -> None:
    assert hasattr(make(), name)
    public = make().release()
    with pytest.raises(CuratorOnlyError, match=f"{name} is computed from private rows"):
        getattr(public, name)
    assert not hasattr(public, name)


def test_every_attribute_of_the_curators_set_is_either_public_or_refused() -> None:
    """A new field has to be put on one side or the other."""
    public = make().release()
    curators = {
        name for name in dir(make()) if not name.startswith("_") and not hasattr(public, name)
    }
    assert curators - {"release", "mechanism", *SOURCES} == set(CURATOR_ONLY)


def test_a_misspelt_name_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'coeff'") as error:
        getattr(make().release(), "coeff")  # noqa: B009
    assert not isinstance(error.value, CuratorOnlyError)


def test_draws_without_a_guarantee_are_not_released() -> None:
    with pytest.raises(CuratorOnlyError, match="cannot be released: no guarantee: chain"):
        make(guarantee=no_guarantee("chain")).release()


def reachable(thing: Any) -> Iterator[Any]:
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


@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_nothing_private_is_reachable_from_a_release(kind: type) -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (40, 3))
    asked = {"n_draws": 5, "epsilon": 20.0, "mechanism": "exact", "random_state": 0}
    fitted = kind(**asked).fit(rows, (rows[:, 0] > 0).astype(int))
    curator: RashomonSet = fitted.rashomon_set_
    public = curator.release()
    kept = list(reachable(public))
    values = {type(thing) for thing in kept if dataclasses.is_dataclass(thing)}
    curves = {kind for kind in values if ".privacy.tradeoff." in kind.__module__}
    assert values - curves == {ReleasedSet, Plan, Guarantee}
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


def test_a_release_keeps_the_seed_in_view() -> None:
    seeded = make(guarantee=bounded_range(0.1).with_seed()).release()
    assert seeded.guarantee.reproducible
