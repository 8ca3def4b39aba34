"""One dot a person, and exact results of public rows before any draw."""

import numpy as np
import pandas as pd

from rashomon_explorer.data import load_csv, load_dataset
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.measures import exact_flips
from rashomon_explorer.plots.dots import label_kinds, plot_dots
from rashomon_explorer.plots.theme import BLUE, GREY, ORANGE


def test_a_dot_has_the_colour_of_its_answers_and_psi_changes_nothing_else():
    bounds = {"lower": [0.0, 0.1, 0.5, 0.3], "upper": [0.01, 0.2, np.inf, 0.31]}
    table = pd.DataFrame({"label": [True, False, True, False], **bounds}, index=[7, 3, 9, 1])
    figure, wider = (plot_dots(table, psi, labels=("bad", "good")) for psi in (0.05, 0.4))
    assert list(figure.data[0].marker.color) == [ORANGE, GREY, BLUE, GREY]
    assert list(wider.data[0].marker.color) == [ORANGE, ORANGE, BLUE, ORANGE]
    assert figure.layout.title.text.startswith("1 of 4 people: good models disagree")
    assert plot_dots(table, 0.15).layout.title.text.startswith("at least 1 of 4")  # undecided
    assert label_kinds(pd.DataFrame({"share": [0.0, 0.5, 1.0]}), 0.1).tolist() == [2, 1, 0]


def test_public_rows_are_answered_exactly_before_a_draw_and_rows_of_a_file_are_not(tmp_path):
    page = Explorer(data=load_dataset("south_german_credit"), home=tmp_path)
    dots, exact = page.cards["dots"], page.session.exact
    cards = [dots, page.cards["map"], page.cards["ranges"]]
    for psi in (0.002, 0.02):
        page.state.psi = psi
        dots.redraw()
        table, colours = dots.call.table(), dots.view.figure["data"][0]["marker"]["color"]
        proved = exact_flips(exact.problem, psi, page.rows.loc[table.index])
        np.testing.assert_array_equal(np.asarray(colours) == ORANGE, proved["flips"])
        np.testing.assert_array_equal(table["label"], proved["label"] == 1)
    problem, page.state.epsilon = exact.problem, 2.0
    assert exact.problem is problem and page.ledger is None
    page.state.radius = 2.0  # negative control: another set
    assert exact.problem is not problem and exact.problem.domain.radius == 2.0

    def shown():
        for card in cards:
            card.redraw()
        return [bool(card.view.figure["data"]) and not card.call.is_message for card in cards]

    assert shown() == [True, True, True]
    page.state.view = "release"
    assert shown() == [False, False, False]
    page.state.view = "curator"
    page.data.frame.to_csv(tmp_path / "credit.csv", index=False)
    page.session.choose(load_csv(tmp_path / "credit.csv", schema=page.data.schema))
    assert exact.why_not and shown() == [False, False, False]
