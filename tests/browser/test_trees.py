"""One visit to trees: counted before a draw, drawn and paid for, and looked at one by one."""

from typing import Any

import pytest

from tests.browser.pages import Page

pytestmark = [pytest.mark.browser, pytest.mark.law]


@pytest.fixture(scope="module")
def page(browser: Any, dashboard: Any) -> Page:
    """One visit for the tests below, in their order."""
    return Page(browser, dashboard)


def test_all_trees_are_counted_before_anything_is_drawn(page: Page) -> None:
    page.open("Model")
    page.wait(lambda: "sparse trees" in [one.text for one in page.shown("option")], "the families")
    page.choose("Models", "sparse trees")
    for figure in ("tree_sizes", "tree_questions", "tree_flips", "witness"):
        page.wait(lambda figure=figure: page.traces(figure), f"traces of {figure}")
    assert "trees are within ψ" in page.words("tree_sizes")
    assert "loses" in page.words("witness") and page.alert == ""


def test_drawn_trees_and_their_rules_are_shown(page: Page) -> None:
    page.draw()
    page.drawn()
    for figure in ("trees", "rules"):
        page.wait(lambda figure=figure: page.traces(figure), f"traces of {figure}")
    assert "yes to the left" in page.words("trees")
    assert page.alert == "" and page.browser.console_errors() == []
