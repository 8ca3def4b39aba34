"""In the release nothing that was computed from private rows is in what the page sends."""

import json
from typing import Any

import ipywidgets
import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.exceptions import FitError
from rashomon_explorer.explorer.guard import report
from rashomon_explorer.explorer.table import TableEditor
from rashomon_explorer.plots.text import number

SENTINEL = 61.728394
WORD = "quetzal-in-a-cell"

EVERYTHING_IS_SENT = True


def _all_widgets(root: Any) -> set[ipywidgets.Widget]:
    """Every widget of a page, those behind traits included."""
    found, waiting = set(), [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, ipywidgets.Widget) and one not in found:
            found.add(one)
            waiting += [getattr(one, name) for name in one.trait_names() if name != "comm"]
    return found


def _plain(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, default=lambda x: x.tolist() if hasattr(x, "tolist") else str(x)
    )


def _traffic(explorer: Any) -> str:
    """All that a browser which opened the page now would be sent."""
    states = []
    unseen = [list(view.content) for view in explorer.shell.views.values()]
    for widget in _all_widgets([explorer.widget, unseen]):
        names = set(widget.keys) - {"layout", "style", "_esm", "_css", "code", "templates"}
        states.append(_plain({name: widget.get_state(name)[name] for name in names}))
    return "\n".join(states)


def _tells(traffic: str, number: float) -> bool:
    return f"{number:.6f}"[:8] in traffic or f"{np.float32(number):.6f}"[:8] in traffic


@pytest.fixture
def told(explorer, table):
    frame = pd.read_csv(table)
    frame["debt"] = 60 + frame["debt"]
    frame.loc[0, "debt"], frame["note"] = SENTINEL, "plain"
    frame.loc[0, "note"] = WORD
    frame = frame[["age", "debt", "sex", "note", "repaid"]]
    editor = TableEditor.proposed("loans", frame).edited("sex", "role", "sensitive")
    for end, value in {"low": "50", "high": "70", "typical_low": "", "typical_high": ""}.items():
        editor = editor.edited("debt", end, value)
    editor = editor.edited("note", "kind", "anything").confirmed()
    explorer.session.choose(editor.data())
    state = explorer.state
    state.n_draws, state.sampler, state.epsilon, state.psi = 3, "langevin", 1.0, 0.6
    explorer.draw()
    explorer.data_panel.schema.preview.value = True
    for card in explorer.cards.values():
        card._table_button.value = True
        card.redraw()
    report(state, "Paying", FitError(f"row 1 holds {WORD}"))
    return explorer


def test_the_release_holds_no_value_of_a_row(told):
    private = {
        "a cell": lambda text: WORD in text,
        "a number": lambda text: _tells(text, SENTINEL),
        "the best loss": lambda text: f"{number(told.rashomon_set.minimum.value, 4)}</dd>" in text,
        "a draw's loss": lambda text: _tells(text, float(told.rashomon_set.losses[0])),
        "a shape": lambda text: "█" in text,
    }
    curators = _traffic(told)
    seen = {what for what, known in private.items() if known(curators)}
    assert seen >= {"a cell", "a number", "the best loss", "a shape"}  # the control
    told.numbers_panel.view.value = "release"
    sent = _traffic(told)
    assert {what for what, known in private.items() if known(sent)} == set()
    told.numbers_panel.view.value = "curator"
    assert WORD in _traffic(told)
