"""Choosing models gives new sets that say how they were chosen, and promise no more than holds."""

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.privacy import bounded_range, compose
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import RashomonSet, ReleasedSet, from_draws
from tests.sets.made import PLANNED, make

ROWS = [[0.6, 0.8], [-0.6, 0.2], [0.1, -0.2]]


def test_a_set_is_a_sequence_of_sets():
    models = make()
    assert len(models) == 4
    assert [float(one.coef[0, 0]) for one in models] == [1.0, 0.0, 3.0, 0.0]
    for key in (-1, slice(3, None), [3], np.array([False, False, False, True])):
        chosen = models[key]
        assert type(chosen) is RashomonSet
        assert np.array_equal(chosen.coef, models.coef[[3]])
        assert np.array_equal(chosen.losses, [0.8])
    assert len(models[[]]) == 0
    assert math.isnan(models[[]].hit_rate)
    assert models[[]].scores(ROWS).shape == (0, 3)


def test_inside_keeps_the_hits_and_a_smaller_threshold_keeps_fewer():
    models = make()
    assert models.inside().losses.tolist() == [0.45, 0.5]
    assert models.inside().psi == models.psi == 0.1
    narrow = models.inside(0.06)
    assert (narrow.losses.tolist(), narrow.psi, narrow.plan.psi) == ([0.45], 0.06, 0.1)
    assert narrow.hit_rate == 1.0
    assert make(losses=np.full(4, 0.9)).inside().n_draws == 0
    with pytest.raises(ValueError, match=r"from 0 to 0\.1, the set's own, got 0\.2: the set is"):
        models.inside(0.2)
    with pytest.raises(ValueError, match=r"from 0 to 0\.06"):
        narrow.inside(0.1)
    with pytest.raises(ValueError, match="from 0 to"):
        models.inside(-0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m[4], "indices must be below the 4 models"),
        (lambda m: m[1.5], "select models by an index"),
        (lambda m: m[[[0, 1]]], "select models by an index"),
        (lambda m: m[[True, False]], "a mask must hold True or False"),
        (lambda m: m.simplest(tol=-1.0), "tol must be >= 0"),
        (lambda m: m.sample(True), "n must be a whole number"),
        (lambda m: m.sample(5), "n must be a whole number from 1 to the 4 models"),
        (lambda m: m.filter([True, False]), r"for each of 4 models, got shape \(2,\) of bool"),
        (lambda m: m.filter([0, 1, 1, 0]), r"models by their indices write models\[\[0, 2\]"),
        (lambda m: m.filter(lambda _: True), "a mask must hold True or False"),
    ],
)
def test_bad_choices_are_refused_in_words(call, message):
    with pytest.raises((IndexError, TypeError, ValueError), match=message):
        call(make())


def test_the_simplest_has_the_fewest_coefficients_and_ties_keep_their_order():
    models = make()
    assert models.complexity().tolist() == [2, 1, 1, 0]
    assert models.simplest(3).losses.tolist() == [0.8, 0.5, 0.5 + 1e-9]
    assert models.complexity(tol=1.0).tolist() == [1, 0, 1, 0]
    # The intercept is no feature: a model of an intercept alone is the simplest there is.
    assert make(coef=np.array([[0.0, 0.0, 5.0]] * 4)).complexity().tolist() == [0] * 4
    softmax = make(coef=np.array([[1.0, 0.0, 9.0, 0.0, 2.0, 9.0]]), losses=[0.4], link="softmax")
    assert softmax.complexity().tolist() == [2]


def test_a_step_is_written_down_and_travels_with_copies():
    models = make().inside().simplest()
    assert models.steps == ("inside ψ = 0.1, 2 of 4", "the simplest (tol=0), 1 of 2")
    assert pickle.loads(pickle.dumps(models)).steps == models.steps
    assert make().as_drawn
    assert not models.as_drawn


PRIVATE: list[Callable[[RashomonSet], RashomonSet]] = [
    lambda m: m.inside(),
    lambda m: m.filter(lambda s: s.losses < 1.0),
    lambda m: m.filter([True] * 4),
    lambda m: m[[int(np.argmin(m.losses))]],
    lambda m: m.simplest(tol=0.5, reads_rows=True),
]

PUBLIC: list[Callable[[Any], Any]] = [
    lambda m: m.sample(2, random_state=1),
    lambda m: m.simplest(2),
    lambda m: m.filter(lambda s: s.coef[:, 0] > 0, reads_rows=False),
    lambda m: m.release()[:2],
    lambda m: m.release().filter(lambda s: s.coef[:, 0] > 0),
]


@pytest.mark.parametrize("choose", PRIVATE)
def test_what_may_have_read_rows_has_no_guarantee(choose):
    chosen = choose(make())
    assert not chosen.guarantee.holds
    assert "may have read private rows" in str(chosen.guarantee)
    with pytest.raises(CuratorOnlyError, match="cannot be released"):
        chosen.release()
    # No later choice gives it back.
    with pytest.raises(CuratorOnlyError):
        chosen.sample(1).release()


@pytest.mark.parametrize("choose", PUBLIC)
def test_what_looks_at_models_alone_keeps_the_guarantee_and_states_it(choose):
    chosen = choose(make())
    assert chosen.guarantee.epsilon(0.0) == PLANNED.guarantee.epsilon(0.0)
    assert "without regard to private rows" in chosen.guarantee.assumptions[-1]
    assert np.array_equal(choose(make()).coef, chosen.coef)  # a seed repeats a sample
    assert len(chosen) == len({tuple(row) for row in chosen.coef})  # without replacement
    public = chosen if isinstance(chosen, ReleasedSet) else chosen.release()
    assert public.steps == chosen.steps
    assert public.steps


def test_no_selection_adds_a_guarantee_or_shows_a_loss_to_a_public_rule():
    unproved = make(guarantee=no_guarantee("bounds were learnt"))
    assert str(unproved.sample(2).guarantee) == "no guarantee: bounds were learnt"
    with pytest.raises(CuratorOnlyError, match="losses is computed from private rows"):
        make().filter(lambda m: m.losses < 0.6, reads_rows=False)
    with pytest.raises(CuratorOnlyError, match="select from the curator's"):
        make().release().filter([True] * 4, reads_rows=True)


def test_promises_are_shown_of_all_draws_alone():
    from rashomon_explorer import plots

    models = make()
    assert "guaranteed" in plots.plot_losses(models).layout.title.text
    assert "guaranteed" not in plots.plot_losses(models.inside()).layout.title.text
    for show in (plots.plot_bounds, plots.list_guarantees):
        with pytest.raises(ValueError, match=r"some were selected \(inside ψ = 0.1, 2 of 4\)"):
            show(models.inside())
        show(replace(models.inside(), steps=()))  # the refusal looks at the steps and no more


# By brute force, which choices among private draws are still private: an exponential mechanism
# draws two of four models on each of two data sets that differ in one record. All pairs of draws
# are listed with their exact probabilities, the set's own methods choose from them, and the largest
# log-ratio of an outcome's probabilities is what the choice reveals.
MODELS = np.array([[-2.0, 0.0], [-0.5, 0.5], [0.5, 0.0], [2.0, -0.5]])
PUBLIC_ROWS = [[0.3], [-0.8]]
X, Y = [[0.9], [0.5], [-0.4], [-1.0]], [1, -1, 1, -1]
NEIGHBOUR = [-1, -1, 1, -1]
BETA, PSI = 0.2, 0.2


def outcomes(targets, choose):
    """Exact probability of everything that a choice from two draws can leave."""
    problem = Problem(X, targets, radius=3.0)
    weights = np.exp(-BETA * problem.value(MODELS.T))
    chances = weights / weights.sum()
    found: dict[bytes, float] = {}
    for pair in product(range(4), repeat=2):
        left = choose(two_draws(problem, list(pair))).coef.tobytes()
        found[left] = found.get(left, 0.0) + math.prod(chances[list(pair)])
    return found


def two_draws(problem, pair):
    return from_draws(problem, MODELS[pair], PSI, guarantee=compose([bounded_range(eta())] * 2))


def eta():
    """Exact bounded range of one draw: how far one record moves the differences of losses."""
    one, other = (Problem(X, targets, radius=3.0).value(MODELS.T) for targets in (Y, NEIGHBOUR))
    return float(BETA * np.ptp(one - other))


def revealed(choose):
    here, there = outcomes(Y, choose), outcomes(NEIGHBOUR, choose)
    if here.keys() != there.keys():
        return math.inf
    return max(abs(math.log(here[left] / there[left])) for left in here)


@pytest.mark.parametrize(
    "choose",
    [
        lambda m: m,
        lambda m: m.simplest(),
        lambda m: m.filter(lambda s: s.coef[:, 0] > 0, reads_rows=False),
    ],
)
def test_choices_that_keep_the_guarantee_keep_its_number(choose):
    kept = choose(two_draws(Problem(X, Y, radius=3.0), [0, 1])).guarantee
    assert kept.holds
    assert revealed(choose) <= kept.epsilon(0.0) * (1 + 1e-12)


@pytest.mark.parametrize(
    "choose",
    [
        lambda m: m.inside(),
        lambda m: m[[int(np.argmin(m.losses))]],
        lambda m: m.filter(lambda s: s.excess < 0.3),
    ],
)
def test_choices_by_private_rows_reveal_more_than_was_paid_for(choose):
    """The control: were the guarantee kept here, it would be false."""
    assert revealed(choose) > 2 * eta() * (1 + 1e-9)
