"""The three kinds of number, and what the chip says of a selection."""

from types import SimpleNamespace

import pytest

from rashomon_explorer.explorer.html import EXACT, MARKS, marks_html
from rashomon_explorer.explorer.panels.card import SelectionChip
from rashomon_explorer.explorer.state import ExplorerState


def test_the_three_marks_differ_in_sign_name_and_meaning():
    for part in ("sign", "name", "meaning"):
        assert len({getattr(mark, part) for mark in MARKS}) == 3
    assert marks_html(EXACT).count("<abbr") == 1 and EXACT.meaning[:20] in marks_html(EXACT)


def test_the_chip_counts_what_is_picked_and_clears_it():
    state = ExplorerState()
    chip = SelectionChip(state)
    assert chip.widget.layout.display == "none"
    state.rashomon_set = SimpleNamespace(n_draws=335)
    state.selection, state.people = (1, 2, 3), (4, 5)
    state.groups = (("sex", "<f>"), ("sex", "m"))
    assert chip.words.html == "3 of 335 models · sex = &lt;f&gt; or m · 2 people"
    state.view = "release"
    assert chip.words.html == "3 of 335 models"
    state.view = "curator"
    chip.clear.click()
    assert (state.selection, state.people, state.groups) == ((), (), ())
    assert chip.widget.layout.display == "none"


@pytest.mark.parametrize("name", ["selection", "people", "groups"])
def test_each_kind_of_selection_shows_the_chip(name):
    state = ExplorerState(rashomon_set=SimpleNamespace(n_draws=2))
    chip = SelectionChip(state)
    setattr(state, name, (("sex", "f"),) if name == "groups" else (1,))
    assert chip.widget.layout.display is None
