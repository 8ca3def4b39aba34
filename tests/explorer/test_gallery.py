"""A figure is made when it is first seen or asked for, and drawn while somebody would notice."""

import pytest

from rashomon_explorer.explorer import Explorer


@pytest.fixture(scope="module")
def page(cancer, tmp_path_factory):
    return Explorer(data=cancer, home=tmp_path_factory.mktemp("gallery"))


def test_a_page_opens_with_the_figures_of_its_first_view(page):
    assert set(page.cards._made) == {"plan", "promise"}
    assert len(page.cards) > 20 and "gaps" in page.cards and "no such" not in page.cards
    with pytest.raises(KeyError):
        page.cards["no such"]


def test_a_view_makes_what_stands_in_it_and_keeps_it(page):
    page.state.page = "data"
    assert "columns" not in page.cards._made  # behind the form, which was chosen
    page.show("columns")
    card = page.cards._made["columns"]
    assert card.shown and card.view.figure["data"]
    page.state.page = "plan"
    page.show("columns")
    assert page.cards._made["columns"] is card


def test_out_of_sight_a_figure_waits_until_somebody_looks_or_asks(page):
    page.state.page = "plan"
    card = page.cards._made["plan"]
    page.state.epsilon = 2.0
    seen = card.view.rev
    page.state.page = "release"
    page.state.epsilon = 3.0
    assert card.view.rev == seen
    page.state.page = "plan"
    assert card.view.rev == seen + 1
    page.state.page = "release"
    assert page.cards["plan"] is card and card.view.rev == seen + 1
    page.state.epsilon = 4.0  # a program asked for it, and finds it as it is now
    assert card.view.rev == seen + 2
