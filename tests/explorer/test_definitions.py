"""Words of the page: every number has a definition, and figures say what they were drawn with."""

import asyncio

import pytest

from rashomon_explorer.explorer.html import DEFINITIONS, defined, table_html
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit
from rashomon_explorer.plots.figures import FIGURES


def test_every_word_of_a_figure_is_defined():
    for spec in FIGURES.values():
        assert all(defined(term) for term in spec.terms), spec.name
    for word, meant in DEFINITIONS.items():
        assert meant.meaning and word == word.lower(), word


def test_figures_define_their_numbers_and_say_what_they_were_drawn_with(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.psi = 0.6
    explorer.draw()
    card = explorer.cards["losses"]
    card._meaning_button.value = True
    assert "hit rate" in card._meaning.value and "explorer.rashomon_set" in card._meaning.value
    assert card._settings.value == ""
    explorer.state.psi = 0.5
    assert card._settings.value == "drawn with ψ = 0.6"
    assert explorer.cards["plan"]._settings.value == ""  # follows the sliders
    explorer.state.psi = 0.6
    assert card._settings.value == ""
    assert 'title="share of the draws' in explorer.numbers_panel.facts.value


def test_headings_of_tables_carry_definitions():
    import pandas as pd

    told = table_html(pd.DataFrame({"excess": [0.1], "<b>": [1]}), "Losses")
    assert '<abbr class="rx-term" title="loss of a model above' in told and "<b>" not in told


def test_a_file_is_made_when_it_is_asked_for(monkeypatch):
    sent, failed = [], []
    button = Download(
        "Save", "a note", lambda: lambda: FileInTransit("a.txt", b"paid"), failed.append
    )
    monkeypatch.setattr(button, "send", lambda *told, buffers: sent.append((*told, buffers)))

    async def pressed():
        button._receive(button, {"type": "asked"}, None)
        assert button.making
        button._receive(button, {"type": "asked"}, None)  # once is enough
        await button._task

    asyncio.run(pressed())
    mime = "application/octet-stream"
    assert sent == [({"type": "file", "name": "a.txt", "mime": mime}, [b"paid"])]
    assert not button.making and not failed
    button._prepare = lambda: 1 / 0
    button._receive(button, {"type": "asked"}, None)
    assert isinstance(failed[0], ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        button.fetch()
