"""A trial on simulated rows never stands between the page and its reader."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from rashomon_explorer.exceptions import BudgetExceededError, SamplerError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer import drawing as foreteller
from rashomon_explorer.mechanisms.samplers import feasibility as preflight
from tests.explorer.pressing import press

_BEATS = 5


class _Trial:
    """A trial that ends when the page's loop has gone on for a while, or when it gave up on it."""

    def __init__(self, told="", patience=30.0):
        self.told, self.patience = told, patience
        self.page_went_on = threading.Event()
        self.heard = []

    def __call__(self, planned):
        self.heard.append(self.page_went_on.wait(self.patience))
        return self.told

    @contextmanager
    def heartbeat(self):
        async def beat():
            for _ in range(_BEATS):
                await asyncio.sleep(0.01)
            self.page_went_on.set()

        task = asyncio.get_running_loop().create_task(beat())
        yield
        task.cancel()


def _put(monkeypatch, trial):
    monkeypatch.setattr(foreteller, "infeasibility_message", trial)
    return trial


def _wide(cancer, tmp_path):
    explorer = Explorer(data=cancer, home=tmp_path)
    explorer.state.psi = 0.6
    return explorer


def test_the_page_goes_on_while_draws_are_foretold(tmp_path, cancer, monkeypatch):
    trial = _put(monkeypatch, _Trial())

    async def scenario():
        explorer = _wide(cancer, tmp_path)
        panel = explorer.draw_panel
        with trial.heartbeat():
            press(panel)
            assert explorer.state.phase == "foretelling" and explorer.state.busy
            assert panel.button.disabled and not panel.stop.disabled
            assert "Nothing is charged yet" in panel.status.html
            assert "reserved" not in panel.price.value and not panel.progress.value
            assert explorer.ledger is None
            await explorer.wait_until_idle()
        assert explorer.state.alert is None and explorer.state.phase == "done"
        assert explorer.rashomon_set.n_draws == 20 and len(explorer.ledger.entries()) == 1
        explorer.widget.close()

    asyncio.run(scenario())
    assert trial.heard and all(trial.heard)


def test_a_trial_on_the_loop_would_be_seen(tmp_path, cancer, monkeypatch):
    """Negative control: without a worker the page stands still until the trial gives up."""
    trial = _put(monkeypatch, _Trial("No draw would come.", patience=0.2))

    async def scenario():
        explorer = _wide(cancer, tmp_path)
        with trial.heartbeat(), pytest.raises(SamplerError, match="No draw would come"):
            explorer.drawing.prepare()
        explorer.widget.close()

    asyncio.run(scenario())
    assert trial.heard == [False]


def test_stop_ends_the_waiting_at_once_and_charges_nothing(tmp_path, cancer, monkeypatch):
    trial = _put(monkeypatch, _Trial("No draw would come."))

    async def scenario():
        explorer = _wide(cancer, tmp_path)
        panel = explorer.draw_panel
        press(panel)
        panel.stop.click()
        assert not explorer.state.busy and not panel.button.disabled
        assert "Stopped before anything was charged" in panel.status.html
        press(panel)  # goes on with the trial that is under way
        assert explorer.state.phase == "foretelling" and trial.heard == []
        panel.stop.click()
        trial.page_went_on.set()
        await explorer.wait_until_idle()
        assert explorer.state.alert is None and explorer.ledger is None
        explorer.widget.close()

    asyncio.run(scenario())
    assert len(trial.heard) <= 1


def test_what_is_foretold_reaches_the_alert_and_is_told_once(tmp_path, cancer, monkeypatch):
    trial = _put(monkeypatch, _Trial("No draw would come."))
    trial.page_went_on.set()

    async def scenario():
        explorer = _wide(cancer, tmp_path)
        explorer.draw()
        await explorer.wait_until_idle()
        assert explorer.state.alert.failed == "Drawing"
        assert "No draw would come. Nothing was charged." in explorer.state.alert.reason
        assert explorer.ledger is None and not explorer.state.busy
        explorer.draw()
        assert explorer.state.phase == "reserved"
        await explorer.wait_until_idle()
        assert explorer.rashomon_set.n_draws == 20
        explorer.widget.close()

    asyncio.run(scenario())


def test_a_setting_that_changes_meanwhile_is_tried_as_well(tmp_path, cancer, monkeypatch):
    seen = []
    monkeypatch.setattr(
        foreteller, "infeasibility_message", lambda planned: seen.append(planned.psi) or ""
    )

    async def scenario():
        explorer = _wide(cancer, tmp_path)
        explorer.draw()
        explorer.state.psi = 0.5
        await explorer.wait_until_idle()
        assert explorer.state.phase == "done" and set(seen) == {0.6, 0.5}
        assert explorer.state.drawn_settings["psi"] == 0.5
        explorer.widget.close()

    asyncio.run(scenario())


def test_rows_are_simulated_in_the_worker_alone(tmp_path, cancer, monkeypatch):
    where, simulated = [], preflight.simulated

    def seen(*law):
        where.append(threading.current_thread() is threading.main_thread())
        return simulated(*law)

    monkeypatch.setattr(preflight, "simulated", seen)
    preflight._tried_on.cache_clear()

    async def scenario():
        explorer = _wide(cancer, tmp_path)
        explorer.draw()
        await explorer.wait_until_idle()
        assert explorer.state.phase == "done"
        explorer.widget.close()

    asyncio.run(scenario())
    assert where and not any(where)


@pytest.mark.law
def test_where_nothing_is_tried_errors_are_raised_at_once(tmp_path, cancer, monkeypatch):
    async def scenario():
        few = Explorer(home=tmp_path)
        few.draw()
        assert few.state.phase == "reserved"
        few.stop()
        await few.wait_until_idle()
        explorer = _wide(cancer, tmp_path)
        explorer.state.epsilon = 9.0
        with pytest.raises(BudgetExceededError):
            explorer.draw()
        few.widget.close()
        explorer.widget.close()

    asyncio.run(scenario())
