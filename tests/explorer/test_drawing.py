"""The worker of a draw and the test before it: progress, Stop, errors, and a page that goes on."""

import asyncio
import threading
import time
from contextlib import contextmanager
from unittest.mock import Mock

import numpy as np
import pytest

from rashomon_explorer.data import load_dataset
from rashomon_explorer.estimators import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.explorer import Explorer, drawing
from rashomon_explorer.explorer.drawing import DrawJob, progress
from rashomon_explorer.mechanisms.plans import Plan
from tests.explorer.pages import press


def _started(*job):
    job = DrawJob(*job)
    job.start()
    return job


@pytest.fixture(scope="module")
def rows(cancer):
    return PublicBoundsScaler(cancer.bounds).fit_transform(cancer.X), cancer.y


@pytest.fixture(scope="module")
def slow():
    """Rows and a law for which exact draws do not come."""
    rng = np.random.default_rng(0)
    settings = {"psi": 0.02, "epsilon": 100.0, "n_draws": 1, "radius": 32.0}
    estimator = RashomonClassifier(**settings, mechanism="exact")
    return estimator, rng.uniform(-1, 1, (400, 60)) / np.sqrt(60), rng.integers(0, 2, 400)


def test_partial_sets_grow_until_all_draws_are_made(rows):
    seen, job = [], DrawJob(RashomonClassifier(n_draws=15, mechanism="exact"), *rows)
    publish = job._publish
    job._publish = lambda partial: (publish(partial), seen.append(job.latest.n_draws))
    job.start()
    assert job.wait()
    assert seen == sorted(seen) and set(seen) == set(range(1, 16)) and job.error is None
    assert job.latest is job.estimator.rashomon_set_ and job.latest.n_draws == 15


@pytest.mark.law
def test_stop_ends_a_sampler_that_finds_nothing(slow):
    job = _started(*slow)
    while not job.beats and job.running:
        time.sleep(0.01)
    job.stop()
    beats = job.beats
    assert job.wait()
    assert job.beats <= beats + 2  # the one it was at, and one that met the question
    assert isinstance(job.error, SamplerError)


def test_an_error_is_kept_and_the_callback_taken_off(rows):
    job = _started(RashomonClassifier(n_draws=5, psi=-1.0), *rows)
    assert job.wait() and "psi" in str(job.error)
    assert not getattr(job.estimator, "_skl_callbacks", [])


@pytest.mark.law
def test_the_event_loop_stays_awake_beside_the_sampler(slow):
    async def worst_gap():
        job, gaps = _started(*slow), []
        end = time.process_time() + 1.5
        while job.running and time.process_time() < end:
            before = time.process_time()
            await asyncio.sleep(0.01)
            gaps.append(time.process_time() - before)
        job.stop()
        job.wait()
        assert len(gaps) > 5
        return max(gaps)

    assert asyncio.run(worst_gap()) < 0.5


def test_stop_ends_a_pass_over_the_rows_only_while_there_is_no_draw():
    job, chunk = DrawJob(RashomonClassifier(), None), (np.zeros((3, 1)), [0, 1, 1])
    job.stop()
    with pytest.raises(SamplerError, match="stopped before the first draw"):
        job._read(*chunk)
    job.latest = object()
    job._read(*chunk)
    assert job.rows_read == 3
    state = Mock(requested_draws=2, n_drawn=0, plan=Mock(Plan, passes=41.0, of_trees=False))
    assert "3 rows read. About 41 passes; rows kept in memory" in progress(job, state)


class _Trial:
    """A trial that ends when the page's loop has gone on for a while, or when it gave up on it."""

    def __init__(self, message="", patience=30.0):
        self.message, self.patience = message, patience
        self.page_went_on, self.heard, self.plans = threading.Event(), [], []

    def __call__(self, plan):
        self.plans.append(plan)
        self.heard.append(self.page_went_on.wait(self.patience))
        return self.message

    @contextmanager
    def heartbeat(self):
        async def beat():
            for _ in range(5):
                await asyncio.sleep(0.01)
            self.page_went_on.set()

        task = asyncio.get_running_loop().create_task(beat())
        yield
        task.cancel()


@pytest.fixture
def visit(tmp_path, monkeypatch):
    """Run a scenario on a page of which draws are first tried, by this trial."""

    def visited(scenario, trial=None):
        if trial is not None:
            monkeypatch.setattr(drawing, "infeasibility_message", trial)

        async def run():
            page = Explorer(data=load_dataset("breast_cancer"), home=tmp_path)
            page.state.psi = 0.6
            await scenario(page)
            page.widget.close()

        asyncio.run(run())

    return visited


def test_the_page_goes_on_while_draws_are_foretold(visit):
    trial = _Trial()

    async def scenario(page):
        panel = page.draw_panel
        with trial.heartbeat():
            press(panel)
            assert page.state.phase == "simulating" and page.state.busy
            assert panel.button.disabled and not panel.stop.disabled
            dials = page.model_panel.dials.values()
            assert page.data_panel.name.disabled and all(dial.disabled for dial in dials)
            assert "Nothing is charged yet" in panel.status.html
            assert "reserved" not in panel.price.value and not panel.progress.value
            assert page.ledger is None
            await page.wait_until_idle()
        assert page.state.alert is None and page.state.phase == "done"
        assert not panel.button.disabled and panel.stop.disabled
        assert page.rashomon_set.n_draws == 20 and len(page.ledger.entries()) == 1

    visit(scenario, trial)
    assert trial.heard and all(trial.heard)


def test_a_trial_on_the_loop_would_be_seen(visit):
    """Negative control: without a worker the page stands still until the trial gives up."""
    trial = _Trial("No draw would come.", patience=0.2)

    async def scenario(page):
        with trial.heartbeat(), pytest.raises(SamplerError, match="No draw would come"):
            page.drawing.prepare()

    visit(scenario, trial)
    assert trial.heard == [False]


def test_stop_ends_the_waiting_at_once_and_charges_nothing(visit):
    trial = _Trial("No draw would come.")

    async def scenario(page):
        panel = page.draw_panel
        press(panel)
        panel.stop.click()
        assert not page.state.busy and not panel.button.disabled
        assert "Stopped before anything was charged" in panel.status.html
        press(panel)  # goes on with the trial that is under way
        assert page.state.phase == "simulating" and trial.heard == []
        panel.stop.click()
        trial.page_went_on.set()
        await page.wait_until_idle()
        assert page.state.alert is None and page.ledger is None

    visit(scenario, trial)
    assert len(trial.heard) <= 1


def test_what_is_foretold_reaches_the_alert_and_is_told_once(visit):
    trial = _Trial("No draw would come.")
    trial.page_went_on.set()

    async def scenario(page):
        page.draw()
        page.state.psi = 0.5  # a setting that changes meanwhile is tried as well
        await page.wait_until_idle()
        assert {plan.psi for plan in trial.plans} == {0.6, 0.5}
        assert page.state.alert.failed == "Drawing"
        assert "No draw would come. Nothing was charged." in page.state.alert.reason
        assert page.ledger is None and not page.state.busy
        page.draw()
        assert page.state.phase == "reserved"
        await page.wait_until_idle()
        assert page.rashomon_set.n_draws == 20

    visit(scenario, trial)
