"""Work under way: BLAS is held to one thread and let go, and bars are seen where somebody looks."""

import io
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_limits

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer._utils import progress as module
from rashomon_explorer._utils import threads as cores
from rashomon_explorer._utils.progress import progress, tally
from rashomon_explorer.measures import exact_ranges
from rashomon_explorer.problem.problem import Problem

X = np.random.default_rng(0).uniform(-0.4, 0.4, (300, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def _threads():
    pools = ThreadpoolController().select(user_api="blas").info()
    return {pool["num_threads"] for pool in pools}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2):
        yield


def test_inner_blocks_neither_lift_nor_leave_a_limit():
    assert _threads() == {2}
    with cores.one_blas_thread():
        with cores.one_blas_thread():
            assert _threads() == {1}
        assert _threads() == {1}
    with pytest.raises(ZeroDivisionError), cores.one_blas_thread():
        raise ZeroDivisionError
    assert _threads() == {2}


def test_overlapping_threads_leave_what_they_found():
    # The second to begin finds one thread: putting that back would leave it so for ever.
    begun, other_begun = threading.Event(), threading.Event()

    def other():
        begun.wait(10)
        with cores.one_blas_thread():
            other_begun.set()
            time.sleep(0.1)

    worker = threading.Thread(target=other)
    worker.start()
    with cores.one_blas_thread():
        begun.set()
        other_begun.wait(10)
    worker.join()
    assert _threads() == {2}


@pytest.mark.parametrize("mechanism", ["exact", pytest.param("hit_and_run", marks=pytest.mark.law)])
def test_a_whole_fit_and_its_minimum_run_on_one_blas_thread(mechanism, monkeypatch):
    seen = set()
    for name in ("eigh", "norm"):
        plain = getattr(np.linalg, name)

        def watched(*args, plain=plain, **kwargs):
            inside = sys._getframe(1).f_globals["__name__"]
            if "rejection" in inside or "minimum" in inside or "hit_and_run" in inside:
                seen.update(_threads())
            return plain(*args, **kwargs)

        monkeypatch.setattr(np.linalg, name, watched)
    RashomonClassifier(epsilon=200, n_draws=2, mechanism=mechanism, random_state=0).fit(X, Y)
    exact_ranges(Problem(X, 2.0 * Y - 1), 0.01)
    assert seen == {1}


def test_a_process_uses_no_more_cores_than_it_may():
    allowed = {**os.environ, "LOKY_MAX_CPU_COUNT": "1"}
    source = "from rashomon_explorer._utils.threads import cores; print(cores())"
    out = subprocess.run(
        [sys.executable, "-c", source], env=allowed, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "1"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        """Yes."""
        return True


@pytest.mark.parametrize(
    ("stream", "seconds", "shown"),
    [(Terminal, 0.0, True), (Terminal, 2.0, False), (io.StringIO, 0.0, False)],
    ids=["a terminal", "quick work", "nobody watches"],
)
def test_a_terminal_sees_what_is_done_and_other_streams_stay_quiet(
    monkeypatch, stream, seconds, shown
):
    found = stream()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(module, "_SECONDS", seconds)
    assert list(progress(iter("abcd"), "counting", total=4)) == [*"abcd"]
    with tally(5, "drawing") as done, tally(6, "sampling", visible=False) as hidden:
        for count in (0, 0, 2, 5):
            done(count)
            hidden(count)
    text = found.getvalue()
    assert all((word in text) == shown for word in ("counting", "/4", "drawing", "/5"))
    assert "sampling" not in text


@pytest.mark.parametrize("where", ["terminal", "notebook"])
def test_a_bar_appears_while_the_first_item_runs_and_goes_when_it_is_stopped(monkeypatch, where):
    found = Terminal() if where == "terminal" else io.StringIO()
    if where == "notebook":
        shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None))
        monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(module, "_SECONDS", 0.05)
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_REFRESHES", 0.05)
    with pytest.raises(KeyboardInterrupt):
        for _ in progress("ab", "slow"):
            while "0/2" not in found.getvalue():  # the limit of the test's time, if it never is
                time.sleep(0.05)
            raise KeyboardInterrupt
    assert not module._OPEN
    assert found.getvalue().rstrip("\r ").endswith("]")  # taken away, not left

    with pytest.raises(ZeroDivisionError):
        [1 / one for one in progress([1, 0], "dividing")]


def test_work_in_a_thread_shows_no_bar(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    worker = threading.Thread(target=lambda: list(progress([1, 2], "counting")))
    worker.start()
    worker.join()
    assert found.getvalue() == ""


class Watcher:
    """A callback of scikit-learn, which shows the work in its own way."""

    def setup(self, estimator, context):
        """Nothing to prepare."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, **fitted):
        """Go on."""
        return False


def test_a_fit_shows_its_draws_or_steps_in_a_terminal_unless_a_callback_does(monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    draws = RashomonClassifier(mechanism="exact", classes=[0, 1], n_draws=7, random_state=0)
    chain = DPClassifier(mechanism="noisy_descent", classes=[0, 1], delta=1e-6)
    minimiser = DPClassifier(mechanism="objective_perturbation", classes=[0, 1], delta=1e-6)
    for model, callbacks, words in (
        (draws, (), ("drawing", "/7")),
        (chain, (), ("steps",)),
        (minimiser, (), ("digits of the minimum",)),
        (draws, (Watcher(),), ()),
        (chain, (Watcher(),), ()),
    ):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        clone(model).set_callbacks(*callbacks).fit([[0.5], [-0.5]] * 20, [1, 0] * 20)
        text = stream.getvalue()
        assert all(word in text for word in words) and (words or "steps" not in text)
        assert words or "drawing" not in text
