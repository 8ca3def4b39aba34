"""Bars are seen where somebody looks, and only there."""

import io
import sys

import pytest
from sklearn.base import clone

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer._utils import progress as module
from rashomon_explorer._utils.progress import progress, tally


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
    with tally(5, "drawing") as done, tally(6, "sampling", shown=False) as hidden:
        for count in (0, 0, 2, 5):
            done(count)
            hidden(count)
    text = found.getvalue()
    assert all((word in text) == shown for word in ("counting", "/4", "drawing", "/5"))
    assert "sampling" not in text
    with pytest.raises(ZeroDivisionError):
        [1 / one for one in progress([1, 0], "dividing")]


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
    one = {"n_draws": 1, "epsilon": 4.0, "delta": 1e-6, "random_state": 0}
    chain = RashomonClassifier(mechanism="langevin_average", classes=[0, 1], **one)
    descent = DPClassifier(mechanism="noisy_descent", classes=[0, 1], delta=1e-6)
    for model, callbacks, words in (
        (draws, (), ("drawing", "/7")),
        (chain, (), ("steps",)),
        (descent, (), ("steps",)),
        (draws, (Watcher(),), ()),
        (chain, (Watcher(),), ()),
    ):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        clone(model).set_callbacks(*callbacks).fit([[0.5], [-0.5]] * 20, [1, 0] * 20)
        text = stream.getvalue()
        assert all(word in text for word in words) and (words or "steps" not in text)
        assert words or "drawing" not in text
