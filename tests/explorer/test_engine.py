"""The worker: progress, Stop, errors, and an event loop that stays awake."""

import asyncio
import time

import numpy as np
import pytest

from rashomon_explorer.estimators import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.explorer.drawing import DrawJob


def _scaled(data):
    return PublicBoundsScaler(data.bounds).fit_transform(data.X)


@pytest.fixture(scope="module")
def slow():
    """Rows and a law for which exact draws do not come."""
    rng = np.random.default_rng(0)
    asked = {"psi": 0.02, "epsilon": 100.0, "n_draws": 1, "radius": 32.0}
    estimator = RashomonClassifier(**asked, mechanism="exact")
    return estimator, rng.uniform(-1, 1, (400, 60)) / np.sqrt(60), rng.integers(0, 2, 400)


def test_partial_sets_grow_until_all_draws_are_made(cancer):
    seen = []
    estimator = RashomonClassifier(n_draws=15, mechanism="exact")
    job = DrawJob(estimator, _scaled(cancer), cancer.y)
    publish = job._publish
    job._publish = lambda partial: (publish(partial), seen.append(job.latest.n_draws))
    job.start()
    assert job.wait()
    assert seen == list(range(1, 16))
    assert job.error is None
    assert job.latest is job.estimator.rashomon_set_
    assert job.latest.n_draws == 15


@pytest.mark.law
def test_stop_ends_a_sampler_that_finds_nothing(slow):
    job = DrawJob(*slow)
    job.start()
    while not job.beats and job.running:
        time.sleep(0.01)
    job.stop()
    beats = job.beats
    assert job.wait()
    assert job.beats <= beats + 2  # the one it was at, and one that met the question
    assert isinstance(job.error, SamplerError)


def test_an_error_is_kept_and_the_callback_taken_off(cancer):
    estimator = RashomonClassifier(n_draws=5, psi=-1.0)
    job = DrawJob(estimator, _scaled(cancer), cancer.y)
    job.start()
    assert job.wait()
    assert "psi" in str(job.error)
    assert not getattr(estimator, "_skl_callbacks", [])


@pytest.mark.law
def test_the_event_loop_stays_awake_beside_the_sampler(slow):
    async def worst_gap():
        job, gaps = DrawJob(*slow), []
        job.start()
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
    job = DrawJob(RashomonClassifier(), np.zeros((3, 1)), [0, 1, 1])
    job.stop()
    with pytest.raises(SamplerError, match="stopped before the first draw"):
        job._read(np.zeros((3, 1)), [0, 1, 1])
    job.latest = object()
    job._read(np.zeros((3, 1)), [0, 1, 1])
    assert job.rows_read == 3
