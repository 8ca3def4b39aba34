"""What keeps the page alive with thousands of models: nothing is measured twice."""

from dataclasses import replace
from functools import wraps

import numpy as np
import pytest

from rashomon_explorer.plots import plot_coefficients
from rashomon_explorer.plots.text import edges


def test_five_thousand_dots_are_numbers_and_no_names():
    drawn = edges(np.arange(5_000) % 7 == 0, 3, 0.8)
    assert drawn["color"].dtype == np.float32 and drawn["width"].shape == (5_000,)


def test_a_brush_measures_nothing_again(loans, monkeypatch):
    measured = []
    cards = [loans.cards[name] for name in ("importance", "profile", "gaps")]

    def counting(measure):
        @wraps(measure)
        def counted(*args, **kwargs):
            measured.append(measure.__name__)
            return measure(*args, **kwargs)

        return counted

    for card in cards:
        monkeypatch.setattr(card, "spec", replace(card.spec, measure=counting(card.spec.measure)))
    for card in cards:
        card.redraw()  # what is measured for another test's page ends here
    measured.clear()
    for chosen in ((1, 2), (3,), ()):
        loans.state.selection = chosen
        for card in cards:
            card.redraw()
            assert card.lines, card.spec.name
    assert not measured
    loans.state.groups = (("sex", "f"),)
    for card in cards:
        card.redraw()
    assert sorted(measured) == [
        "importances",
        "profiles",
    ]  # gaps are between all groups, whoever is picked


def test_tables_of_people_stay_as_they_are_while_models_are_picked(loans):
    loans.state.page = "people"
    rows = loans.people_table.table.rows
    loans.state.selection = (2,)
    assert loans.people_table.table.rows is rows


@pytest.mark.parametrize("chosen", [(), (1, 2)])
def test_what_is_drawn_says_which_are_picked(loans, chosen):
    dots = plot_coefficients(loans.rashomon_set, highlight=chosen).data[0]
    assert np.flatnonzero(np.asarray(dots.marker.line.color)).tolist() == list(chosen)
