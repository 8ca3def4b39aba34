"""Paths whose states are shown as they are made: what is charged, whoever stops, and continuing."""

import gc
import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, exceptions
from rashomon_explorer.estimators import path as path_module
from rashomon_explorer.estimators.path import STOPPED
from rashomon_explorer.mechanisms.langevin import states
from rashomon_explorer.privacy import Ledger, adaptive_epsilon
from rashomon_explorer.sets import ReleasedSet

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (600, 2))
Y = (X[:, 0] + RNG.normal(size=600) / 2 > 0).astype(int)
SETTINGS = {
    "mechanism": "langevin", "epsilon": 1.0, "n_draws": 40, "classes": [0, 1], "random_state": 0,
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def _whole_parts(monkeypatch):
    monkeypatch.setattr(path_module, "_BLOCKS", 1)


def test_a_part_is_shown_in_several_blocks_under_one_charge(tmp_path, monkeypatch):
    monkeypatch.setattr(path_module, "_BLOCKS", 4)
    ledger = ledger_of(tmp_path)
    path = classifier(ledger=ledger).draw_path(X, Y, n_parts=5)
    first = next(path)
    assert states_of(ledger) == ["started"] + ["reserved"] * 4
    assert path.n_steps_run < path.plan.details.n_steps / 5
    path.stop()
    assert states_of(ledger) == ["committed"] + ["voided"] * 4
    assert path._estimator.rashomon_set_.n_draws == len(first)


def ledger_of(folder, epsilon=3.0, **rule):
    return Ledger.create(folder / "path.ledger", epsilon=epsilon, delta=1e-6, **rule)


def classifier(**changed):
    return RashomonClassifier(**{**SETTINGS, **changed})


def states_of(ledger):
    return [entry.state for entry in ledger.entries()]


@pytest.mark.parametrize("rule", [{}, {"accounting": "gdp"}])
@pytest.mark.parametrize("batch_size", [None, 100])
def test_a_whole_path_costs_what_a_fit_costs_and_has_its_states(tmp_path, rule, batch_size):
    if rule and batch_size:
        pytest.skip("a ledger of Gaussian DP takes no sampled rows")
    ledger = ledger_of(tmp_path, **rule)
    clf = classifier(ledger=ledger, batch_size=batch_size)
    with clf.draw_path(X, Y, n_parts=7) as path:
        assert ledger.spent() == pytest.approx(1.0, abs=2e-3)  # the whole is reserved
        shown = list(path)
    assert states_of(ledger) == ["committed"] * 7
    whole = ledger.spent()
    other = Ledger.create(tmp_path / "fit.ledger", epsilon=3.0, delta=1e-6, **rule)
    fitted = classifier(ledger=other, batch_size=batch_size).fit(X, Y)
    assert whole == pytest.approx(other.spent(), rel=1e-6)
    models, same = clf.rashomon_set_, fitted.rashomon_set_
    np.testing.assert_array_equal(models.coef, np.concatenate(shown))
    np.testing.assert_allclose(models.coef, same.coef, atol=1e-6)
    assert clf.guarantee_.epsilon(1e-6) == fitted.guarantee_.epsilon(1e-6)


@pytest.mark.parametrize("how", ["break", "raise", "stop", "forgotten"])
def test_only_the_parts_that_began_are_spent(tmp_path, how):
    ledger = ledger_of(tmp_path)
    clf = classifier(ledger=ledger)
    path = clf.draw_path(X, Y, n_parts=10)
    n_steps, shown = path.plan.details.n_steps, []
    if how == "stop":
        shown += [next(path), next(path)]
        path.stop()
        path.stop()
    elif how == "forgotten":
        shown += [next(path), next(path)]
        n_run = path.n_steps_run
        del path
        gc.collect()
    else:
        with pytest.raises(RuntimeError) if how == "raise" else path, path:
            for block in path:
                shown.append(block)
                if len(shown) == 2:
                    if how == "raise":
                        raise RuntimeError("the reader's")
                    break
    begun = states_of(ledger).count("committed")
    assert states_of(ledger) == ["committed"] * begun + ["voided"] * (10 - begun)
    assert 2 <= begun < 10
    if how != "forgotten":
        n_run = path.n_steps_run
        assert len(clf.rashomon_set_.coef) == sum(map(len, shown))
        assert STOPPED in clf.guarantee_.assumptions
        assert clf.guarantee_.mu == path.plan.guarantee.mu  # of the planned length
        assert path.plan.excess_bound < clf.plan_.excess_bound  # its bound is not that of a stop
        assert clf.plan_.hit_rate is None
    plan = classifier(ledger=ledger).plan(600, 2)
    part = states.part_guarantee(plan, n_run)
    assert n_run < n_steps
    assert ledger.spent() == pytest.approx(adaptive_epsilon([part], 1e-6), rel=1e-6)


@pytest.mark.slow
def test_a_killed_process_has_spent_the_whole_path(tmp_path):
    ledger = ledger_of(tmp_path)
    script = (
        "import os; from tests.estimators.test_path import *\n"
        f"path = classifier(ledger={str(ledger.path)!r}).draw_path(X, Y, n_parts=5)\n"
        "next(path); os._exit(9)"
    )
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=root, check=False, env=dict(os.environ)
    )
    assert ran.returncode == 9
    assert "voided" not in states_of(ledger)
    assert ledger.spent() == pytest.approx(1.0, abs=1e-3)


def test_nothing_runs_beyond_the_budget_or_before_a_charge_is_written(tmp_path, monkeypatch):
    small = ledger_of(tmp_path, epsilon=0.5)
    with pytest.raises(exceptions.BudgetExceededError):
        classifier(ledger=small).draw_path(X, Y)
    assert small.spent() == 0 and set(states_of(small)) == {"voided"}
    ledger = Ledger.create(tmp_path / "other.ledger", epsilon=3.0, delta=1e-6)
    path = classifier(ledger=ledger).draw_path(X, Y, n_parts=4)
    first = next(path)
    monkeypatch.setattr(type(path._charges[0]), "start", refuse_to_write)
    with pytest.raises(exceptions.LedgerError, match="disk"):
        next(path)
    path.stop()
    assert len(path._estimator.rashomon_set_.coef) == len(first)
    assert states_of(ledger) == ["committed"] + ["voided"] * 3


def refuse_to_write(charge):
    raise exceptions.LedgerError("the disk is full")


def test_a_step_that_fails_says_nothing_of_the_rows(tmp_path):
    ledger = ledger_of(tmp_path)
    broken = X.copy()
    broken[3, 0] = np.nan
    with pytest.raises(exceptions.FitError) as caught:
        next(classifier(ledger=ledger).draw_path(broken, Y, n_parts=3))
    assert "Only the curator may read the reason" in str(caught.value)
    assert states_of(ledger) == ["started", "voided", "voided"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_has_no_second_path_for_one_charge(tmp_path):
    path = classifier(ledger=ledger_of(tmp_path)).draw_path(X, Y, n_parts=3)
    next(path)
    child = os.fork()
    if child == 0:
        try:
            next(path)
        except exceptions.LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(list(path)) == 2


def test_a_saved_path_is_continued_for_the_cost_of_its_further_steps(tmp_path):
    ledger = ledger_of(tmp_path)
    first = classifier(ledger=ledger)
    with first.draw_path(X, Y) as path:
        for _ in path:
            pass
    file = tmp_path / "models.npz"
    first.rashomon_set_.release().save(file)
    spent = ledger.spent()
    models = ReleasedSet.load(file)
    again = classifier(ledger=Ledger.open(ledger.path))
    with again.continue_path(models, X, Y, n_draws=10, n_parts=2) as path:
        further = np.concatenate(list(path))
        part = states.part_guarantee(first.plan_, path.plan.details.n_steps)
    assert path.plan.details.n_steps == 10 * first.plan_.details.thin
    assert ledger.spent() > spent
    assert again.rashomon_set_.n_draws == 50
    np.testing.assert_array_equal(again.rashomon_set_.coef[:40], models.coef)
    np.testing.assert_array_equal(again.rashomon_set_.coef[40:], further)
    both = adaptive_epsilon([first.plan_.guarantee, part], 1e-6)
    assert ledger.spent() == pytest.approx(both, rel=1e-3)
    mu = math.hypot(first.plan_.guarantee.mu, part.mu)
    assert again.guarantee_.mu == pytest.approx(mu, rel=1e-9)
    assert again.plan_.hit_rate is None
    stated = again.guarantee_.requested[0]
    assert 1.0 < again.guarantee_.epsilon(1e-6) <= stated < 1.01 * again.guarantee_.epsilon(1e-6)
    drawn = classifier(mechanism="ellipsoid", ledger=None).fit(X, Y).rashomon_set_
    with pytest.raises(ValueError, match="not states of one path"):
        again.continue_path(drawn.release(), X, Y, n_draws=5)
    with pytest.raises(ValueError, match=r"500 rows.*600"):
        again.continue_path(models, X[:500], Y[:500], n_draws=5)


@pytest.mark.slow
def test_a_path_on_allocated_batches_is_charged_for_whole_epochs_and_by_no_ledger(tmp_path):
    settings = {"batch_size": 100, "batch_order": "allocated", "epsilon": 4.0}
    with classifier(**settings).draw_path(X, Y, n_parts=4) as path:
        next(path)
    stopped = path._estimator
    assert 0 < stopped.rashomon_set_.n_draws < 40
    # The whole planned path: a part of an epoch has no cost of its own.
    assert stopped.guarantee_.curve == path.plan.guarantee.curve
    with classifier(**settings).continue_path(stopped.rashomon_set_, X, Y, n_draws=9) as further:
        list(further)
    first, (curve, epochs) = further._estimator.guarantee_.curve.parts
    assert first == path.plan.guarantee.curve.parts[0]
    assert (curve.batches, curve.sigma) == (6, pytest.approx(first[0].sigma))
    assert epochs == math.ceil(9 * path.plan.details.thin / 6)
    ledger = ledger_of(tmp_path)
    with pytest.raises(ValueError, match="use ledger=None"):
        classifier(ledger=ledger, **settings).fit(X, Y)
    with pytest.raises(ValueError, match="use ledger=None"):  # the plan was made without a ledger
        classifier(ledger=ledger).continue_path(stopped.rashomon_set_, X, Y, n_draws=9)
    assert states_of(ledger) == []


def test_other_plans_and_learnt_bounds_are_refused_before_a_charge(tmp_path):
    ledger = ledger_of(tmp_path)
    with pytest.raises(ValueError, match='set mechanism="langevin"'):
        classifier(mechanism="ellipsoid", ledger=ledger).draw_path(X, Y)
    with pytest.raises(ValueError, match="n_draws of at least 2"):
        classifier(n_draws=1, ledger=ledger).draw_path(X, Y)
    assert ledger.entries() == []


# The filter, by brute force: three answers about one bit, then one about what is left.


def answers(bit, share):
    """Law of one randomised response."""
    return {bit: share, 1 - bit: 1 - share}


def divergence(first, second, order=4.0):
    """Rényi divergence of two laws of outcomes."""
    total = sum(p**order * second[key] ** (1 - order) for key, p in first.items() if p > 0)
    return math.log(total) / (order - 1)


def outcome_law(bit, stops, share, rest):
    """Law of the answers, and of one last answer that costs what is left of the budget."""
    law = {}
    for path in itertools.product((0, 1), repeat=3):
        weight, shown = 1.0, ()
        for answer in path:
            weight *= answers(bit, share)[answer]
            shown = (*shown, answer)
            if stops(shown, bit):
                break
        tail = 2 ** (3 - len(shown))  # paths that share what was shown
        left = 3 - len(shown)
        for last in (0, 1):
            key = (*shown, "then", last)
            law[key] = law.get(key, 0.0) + weight / tail * answers(bit, rest[left])[last]
    return law


def test_a_stop_that_reads_released_states_keeps_the_budget_and_one_that_reads_rows_does_not():
    share = 0.7
    each = divergence(answers(0, share), answers(1, share))
    rest = [0.5, *(_share_of(k * each) for k in (1, 2))]
    rest.append(rest[-1])
    prefixes = [p for k in (1, 2) for p in itertools.product((0, 1), repeat=k)]
    for stopping in itertools.product((False, True), repeat=len(prefixes)):
        table = dict(zip(prefixes, stopping, strict=True))

        def stops(shown, bit, table=table):
            return table.get(shown, False)

        laws = [outcome_law(bit, stops, share, rest) for bit in (0, 1)]
        assert sum(laws[0].values()) == pytest.approx(1)
        assert divergence(*laws) <= 3 * each + 1e-9
    cheats = [outcome_law(bit, lambda shown, bit: bit == 1, share, rest) for bit in (0, 1)]
    assert math.isinf(sum(p for key, p in cheats[0].items() if key not in cheats[1]) * math.inf)


def _share_of(cost):
    """Share of true answers whose divergence is ``cost``."""
    low, high = 0.5, 1 - 1e-9
    for _ in range(80):
        middle = (low + high) / 2
        below = divergence(answers(0, middle), answers(1, middle)) < cost
        low, high = (middle, high) if below else (low, middle)
    return low


def test_rows_whose_bounds_were_learnt_show_no_state(tmp_path):
    from rashomon_explorer import PublicBoundsScaler

    learnt = PublicBoundsScaler("learn").fit_transform(X)
    with pytest.raises(exceptions.CuratorOnlyError, match="no state of a path of these rows"):
        classifier().draw_path(learnt, Y)


def test_auto_takes_a_path_where_its_states_are_expected_in_the_set():
    """Nothing is guaranteed at this ε; the set of the other rule lies outside ψ altogether."""
    rows = RNG.normal(size=(10_000, 10)) / 4.0
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]
    labels = (RNG.random(10_000) < 1 / (1 + np.exp(-6 * rows @ np.eye(10)[0]))).astype(int)
    settings = {"epsilon": 0.25, "n_draws": 200, "classes": [0, 1], "random_state": 0}
    chosen = RashomonClassifier(**settings).fit(rows, labels)
    assert chosen.plan_.mechanism == "langevin" and chosen.plan_.hit_rate_bound == 0
    assert "3 to 5 times smaller" in chosen.plan_.reason and chosen.plan_.weakness
    other = RashomonClassifier(**settings, mechanism="ellipsoid").fit(rows, labels)
    assert chosen.rashomon_set_.hit_rate > 0.4 > other.rashomon_set_.hit_rate + 0.3
    few = RashomonClassifier(**settings).plan(1_000, 10)
    assert few.mechanism != "langevin"
