"""Paths of networks that are shown as they run, stopped, and continued: what is charged."""

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonNetworkClassifier
from rashomon_explorer.estimators import path as path_module
from rashomon_explorer.estimators.path import STOPPED
from rashomon_explorer.networks import Network, ReleasedNetworks
from rashomon_explorer.privacy import adaptive_epsilon

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (400, 2))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.1).astype(int)
SETTINGS = {"n_draws": 10, "n_losses": 4, "n_steps": 40, "epsilon": 2.0, "classes": [0, 1]}


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of one table in two ledgers


@pytest.fixture(autouse=True)
def _whole_parts(monkeypatch):
    monkeypatch.setattr(path_module, "_BLOCKS", 1)


def ledger_of(folder, name="path"):
    return Ledger.create(folder / f"{name}.ledger", epsilon=8.0, delta=1e-6)


def classifier(**changed):
    settings = {**SETTINGS, "model": Network((3,)), "random_state": 0}
    return RashomonNetworkClassifier(**{**settings, **changed})


def states_of(ledger):
    return [entry.state for entry in ledger.entries()]


@pytest.mark.parametrize("batch_size", [None, 100])
def test_a_whole_path_is_the_fit_at_its_cost(tmp_path, batch_size):
    ledger, other = ledger_of(tmp_path), ledger_of(tmp_path, "fit")
    clf = classifier(ledger=ledger, batch_size=batch_size)
    with clf.draw_path(X, Y, n_parts=7) as path:
        assert ledger.spent() == pytest.approx(2.0, abs=5e-3)  # the whole is reserved
        shown = np.concatenate(list(path))
    assert states_of(ledger) == ["committed"] * 8  # seven parts, and the losses
    fitted = classifier(ledger=other, batch_size=batch_size).fit(X, Y)
    assert ledger.spent() == pytest.approx(other.spent(), rel=1e-6)
    models, same = clf.rashomon_set_, fitted.rashomon_set_
    np.testing.assert_array_equal(models.parameters, shown)
    np.testing.assert_array_equal(models.parameters, same.parameters)
    np.testing.assert_array_equal(models.released_losses, same.released_losses)
    assert clf.guarantee_.epsilon(1e-6) == fitted.guarantee_.epsilon(1e-6)


def test_a_stop_is_charged_for_what_began_and_for_the_losses(tmp_path):
    ledger = ledger_of(tmp_path)
    clf = classifier(ledger=ledger)
    with clf.draw_path(X, Y, n_parts=10) as path:
        while path.n_steps_run < 28:
            next(path)
    assert states_of(ledger) == ["committed"] * 7 + ["voided"] * 3 + ["committed"]
    part = path._steps.part(path.n_steps_run)
    spent = adaptive_epsilon([part, path._steps.last], 1e-6)
    assert ledger.spent() == pytest.approx(spent, rel=1e-6) and spent < 1.9
    models = clf.rashomon_set_
    assert models.n_draws == 4 and np.isfinite(models.released_losses).all()
    assert STOPPED in clf.guarantee_.assumptions and clf.guarantee_.mu == path.plan.guarantee.mu
    early = classifier(ledger=ledger_of(tmp_path, "early"))
    with early.draw_path(X, Y, n_parts=10):
        pass
    assert set(states_of(early.ledger)) == {"voided"} and not hasattr(early, "plan_")


def test_a_failing_step_leaves_the_losses_unreleased_and_uncharged(tmp_path, monkeypatch):
    ledger = ledger_of(tmp_path)
    clf = classifier(ledger=ledger)
    path = clf.draw_path(X, Y, n_parts=4)
    next(path)
    monkeypatch.setattr(type(path), "_advance", lambda *_: 1 / 0)
    with pytest.raises(Exception, match="curator"):
        next(path)
    path.stop()
    assert states_of(ledger)[-1] == "voided" and states_of(ledger)[:3] == ["committed"] * 3
    assert clf.rashomon_set_.n_draws == 5 and np.isnan(clf.rashomon_set_.released_losses).all()


@pytest.mark.parametrize("batch_size", [None, 100])
def test_a_saved_path_is_continued_for_its_further_steps_and_losses(tmp_path, batch_size):
    ledger = ledger_of(tmp_path)
    clf = classifier(ledger=ledger, batch_size=batch_size).fit(X, Y)
    clf.rashomon_set_.release().save(tmp_path / "models.npz")
    models = ReleasedNetworks.load(tmp_path / "models.npz")
    again = classifier(ledger=ledger, batch_size=batch_size)
    with again.continue_path(models, X, Y, n_draws=6, n_parts=3) as path:
        further = np.concatenate(list(path))
    assert states_of(ledger) == ["committed"] * 5
    both, plan = again.rashomon_set_, again.plan_
    np.testing.assert_array_equal(both.parameters, np.concatenate([models.parameters, further]))
    np.testing.assert_array_equal(both.released_losses[:10], models.released_losses)
    assert np.isfinite(both.released_losses).sum() == 8
    assert plan.loss_deviation == pytest.approx(models.plan.loss_deviation, rel=1e-12)
    assert (plan.n_draws, plan.burn_in, plan.n_losses) == (16, models.plan.burn_in, 8)
    parts = [clf.plan_.guarantee, path._steps.part(12), path._steps.last]
    if batch_size is None:
        assert ledger.spent() == pytest.approx(adaptive_epsilon(parts, 1e-6), rel=1e-3)
    assert 2.0 < ledger.spent() < 3.0
    cost = again.guarantee_.epsilon(1e-6)
    assert 2.0 < cost <= plan.epsilon < 1.01 * cost and both.release().guarantee.holds
    with pytest.raises(ValueError, match="settings that it was drawn with"):
        classifier(model=Network(())).continue_path(models, X, Y, n_draws=6)
    with pytest.raises(ValueError, match=r"300 rows.*400"):
        again.continue_path(models, X[:300], Y[:300], n_draws=6)
