"""Bars are seen where somebody looks, and only there."""

import io
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from sklearn.base import clone

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer._utils import progress as module
from rashomon_explorer._utils.progress import progress, tally


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_SECONDS", seconds)
    assert list(progress(range(4), "counting")) == [0, 1, 2, 3]
    return stream.getvalue()


def test_a_terminal_sees_what_is_done_and_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = written(monkeypatch, Terminal(), 0.0)
    assert "counting" in shown and "/4" in shown


@pytest.mark.parametrize(("stream", "seconds"), [(Terminal, 2.0), (io.StringIO, 0.0)])
def test_quick_work_and_streams_that_nobody_watches_stay_quiet(
    monkeypatch: pytest.MonkeyPatch, stream: Callable[[], io.StringIO], seconds: float
) -> None:
    assert written(monkeypatch, stream(), seconds) == ""


def test_a_kernel_is_a_notebook_and_a_plain_shell_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, expected in ((SimpleNamespace(kernel=None), True), (SimpleNamespace(), False)):
        ipython = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        assert module._in_notebook() is expected


def test_an_error_and_an_early_end_pass_through() -> None:
    assert next(progress([1, 2], "one of two")) == 1
    with pytest.raises(ZeroDivisionError):
        [1 / one for one in progress([1, 0], "dividing")]


def test_items_that_do_not_know_their_number_are_given_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    assert list(progress(iter("abc"), "spelling", total=3)) == ["a", "b", "c"]
    assert "/3" in stream.getvalue()


def test_a_tally_moves_as_it_is_told_and_hides_where_another_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for shown in (True, False):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(module, "_SECONDS", 0.0)
        with tally(5, "drawing", shown=shown) as done:
            for count in (0, 0, 2, 5):
                done(count)
        assert ("drawing" in stream.getvalue() and "/5" in stream.getvalue()) is shown


class Watcher:
    """A callback of scikit-learn, which shows the work in its own way."""

    def setup(self, estimator: object, context: object) -> None:
        """Nothing to prepare."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: object, context: object, **fitted: object) -> bool:
        """Go on."""
        return False


def test_a_fit_shows_its_draws_in_a_terminal_unless_a_callback_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    clf = RashomonClassifier(mechanism="exact", classes=[0, 1], n_draws=7, random_state=0)
    for callbacks, shown in (((), True), ((Watcher(),), False)):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        clf.set_callbacks(*callbacks).fit([[0.5], [-0.5]] * 20, [1, 0] * 20)
        assert ("drawing" in stream.getvalue() and "/7" in stream.getvalue()) is shown


def test_the_steps_of_one_model_are_shown_unless_its_callback_shows_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    one = {"n_draws": 1, "epsilon": 4.0, "delta": 1e-6, "random_state": 0}
    chain = RashomonClassifier(mechanism="langevin_average", classes=[0, 1], **one)
    watched = clone(chain).set_callbacks(Watcher())
    descent = DPClassifier(mechanism="noisy_descent", classes=[0, 1], delta=1e-6)
    for made, shown in ((chain, True), (watched, False), (descent, True)):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        made.fit([[0.5], [-0.5]] * 20, [1, 0] * 20)
        assert ("steps" in stream.getvalue()) is shown
