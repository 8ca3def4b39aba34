"""Chains are seen while they run, change no draw, and are the curator's alone."""

import asyncio

import numpy as np
import pytest

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer._utils import progress
from rashomon_explorer._utils.progress import ChainState, watch_chains
from rashomon_explorer.explorer import drawing
from rashomon_explorer.plots.losses import plot_chains, scale_reduction
from tests.explorer.pages import held_page, set_state
from tests.plots.conftest import title_of

RNG = np.random.default_rng(5)
X = RNG.uniform(-0.7, 0.7, (400, 2))
Y = (X @ [1.0, -0.5] + RNG.normal(0, 0.3, 400) > 0).astype(int)


@pytest.fixture(autouse=True)
def every_step_is_looked_at(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LOOKS", 0.0)
    monkeypatch.setattr(progress, "_SHARE", 0)


@pytest.mark.parametrize(
    "estimator",
    [
        RashomonClassifier(mechanism="langevin", n_draws=3, epsilon=2.0, delta=1e-6),
        RashomonClassifier(mechanism="langevin_clipped", n_draws=3, epsilon=2.0, delta=1e-6),
        RashomonClassifier(mechanism="hit_and_run", n_draws=3, psi=0.1),
        pytest.param(
            DPClassifier(loss="hinge", mechanism="noisy_sgd", epsilon=2.0, delta=1e-6),
            marks=pytest.mark.law,
        ),
        DPClassifier(mechanism="noisy_descent", epsilon=0.1, delta=1e-6),
        DPClassifier(mechanism="last_iterate", epsilon=2.0, delta=1e-6),
        DPClassifier(loss="hinge", mechanism="localised_gaussian", epsilon=2.0, delta=1e-6),
        RashomonClassifier(mechanism="ellipsoid", n_draws=3, epsilon=6.0, delta=1e-6),
    ],
    ids=lambda one: one.mechanism,
)
@pytest.mark.filterwarnings("ignore")
def test_watched_chains_make_the_same_models_and_end_at_their_losses(estimator):
    estimator.set_params(random_state=0)
    alone = np.array(estimator.fit(X, Y).encoded_coef_)
    looks = []
    with watch_chains(looks.append):
        watched = estimator.fit(X, Y)
    np.testing.assert_array_equal(watched.encoded_coef_, alone)
    last, steps = looks[-1], [one.step for one in looks]
    assert steps == sorted(set(steps)), "chains of simulated tables are not the table's"
    if estimator.mechanism not in ("hit_and_run", "langevin"):  # these end with the last draw
        assert last.step == last.n_steps
    assert (last.excess >= -1e-12).all()
    if estimator.mechanism == "langevin_clipped":  # averages of the last step are the draws
        excess = watched.rashomon_set_.excess
        np.testing.assert_allclose(np.sort(last.averages), np.sort(excess), atol=1e-5)
    if estimator.mechanism == "noisy_sgd":
        assert 0 <= last.batch < 400 and np.isfinite(last.step_size)
    if estimator.mechanism == "hit_and_run":
        assert 0 < last.acceptance <= 1


def test_looks_take_a_tenth_of_the_time_and_nobody_looks_unasked(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr(progress, "_SHARE", 10)
    monkeypatch.setattr(progress.time, "perf_counter", lambda: clock[0])

    def slow():
        clock[0] += 1.0
        return ChainState(1, 2, np.zeros(1), np.empty(0))

    def run(seen):
        look = progress.ChainLooks()
        for _ in range(100):
            clock[0] += 0.5
            look(slow)
        return len(seen)

    assert run([]) == 0
    seen = []
    with watch_chains(seen.append):
        assert run(seen) in (5, 6)  # each second of a look is followed by ten without one


def test_mixing_is_near_one_for_equal_chains_and_large_for_separate_ones():
    values = RNG.normal(size=(400, 6))
    assert scale_reduction(values) == pytest.approx(1.0, abs=0.02)
    assert scale_reduction(values + np.arange(6)) > 1.5
    assert scale_reduction(values + np.linspace(0, 9, 400)[:, None]) > 1.5
    assert scale_reduction(np.ones((8, 2))) == 1.0


@pytest.mark.slow
def test_the_page_shows_the_chains_and_then_the_map(tmp_path):
    page = held_page(tmp_path)
    set_state(page, mechanism="langevin_clipped", n_draws=4, epsilon=6.0, page="set")
    slot, shown = page.shell.views["set"].slots[0], []
    page.state.observe(lambda _: shown.append(slot.choice.value), "chains")
    page.draw()
    card, state = page.cards["chains"], page.state
    assert len(state.chains) > 8 and card.view.figure["data"]
    assert slot.names[slot.choice.value] == "map"
    assert {slot.names[one] for one in shown} == {"chains"}
    title = title_of(plot_chains(state.chains, 0.02))
    assert "4 chains" in title and "step size" in title and "all rows a step" in title
    assert "R̂" in title and "not private" in title
    state.view = "release"
    card.redraw()
    assert not card.lines and not card.view.figure["data"]
    state.view = "curator"
    page.session.choose(page.data)
    assert state.chains == ()


def test_progress_speaks_of_the_mechanism_that_runs(tmp_path):
    page = held_page(tmp_path)
    said = {}
    for name in ("langevin", "hit_and_run", "exact", "ellipsoid"):
        set_state(page, mechanism=name, epsilon=4.0, n_draws=2, psi=0.1)
        job = drawing.DrawJob(None, None)
        job.checking = False
        page.state.chains = ()
        said[name] = drawing.progress(job, page.state)
    assert "rejects proposals" in said["exact"]
    assert not any("reject" in said[name] for name in ("langevin", "hit_and_run", "ellipsoid"))
    page.state.chains = (ChainState(120, 2_000, np.zeros(4), np.zeros(4)),)
    assert drawing.progress(job, page.state).startswith("Step 120 of 2,000 of 4 chains")


def test_chains_reach_the_page_while_a_worker_runs(tmp_path):
    async def scenario():
        page = held_page(tmp_path)
        set_state(page, mechanism="langevin_clipped", n_draws=4, epsilon=6.0, page="set")
        seen = []
        page.state.observe(lambda change: seen.append(page.state.phase), "chains")
        page.draw()
        await page.drawing.wait_until_idle()
        assert set(seen) & {"reserved", "drawing"}
        page.widget.close()

    asyncio.run(scenario())
