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


def test_nothing_of_a_tree_is_cut_on_a_phone(page: Page) -> None:
    phone = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        for figure in ("witness", "trees"):
            page.see(figure)
            page.wait(lambda at=figure: page.run(_FITS, at), f"{figure} to fit")
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


_FITS = """(() => {
  const gd = document.querySelector(`[data-figure="${arguments[0]}"]`);
  const {left, right} = gd.getBoundingClientRect();
  const said = [...gd.querySelectorAll('.textpoint text, .annotation text')];
  const inside = (box) => box.left >= left && box.right <= right;
  return right - left < 420 && said.length > 0
    && said.every((text) => inside(text.getBoundingClientRect()));
})()"""


def test_thresholds_are_typed_and_what_equal_rates_cost_follows(page: Page) -> None:
    page.open("Model")
    page.button("Thresholds").click()
    page.wait(lambda: page.shown(".rx-thresholds input"), "the boxes")
    page.replace(page.shown(".rx-thresholds input")[0], "0.1")
    page.wait(lambda: "28 questions" in page.text(".rx-class-size"), "the class to be smaller")
    page.wait(lambda: page.traces("tree_parity"), "traces of tree_parity")
    assert "no tree does better" in page.words("tree_parity") and page.alert == ""


def test_trees_leave_for_what_the_button_says(page: Page) -> None:
    page.go("release")
    tick = "document.querySelector('.rx-choices input[type=checkbox]')"
    page.wait(lambda: page.run(f"Boolean({tick})"), "the aggregates")
    page.run(f"{tick}.click()")
    pay = page.wait(lambda: page.button("Release 1 aggregate (ε"), "a price")
    price = pay.text.removeprefix("Release 1 aggregate (").removesuffix(")")
    pay.click()
    page.button("Spend ε").click()
    page.wait(lambda: page.status.startswith("Released"), "the purchase")
    assert price in page.text(".rx-receipt") and page.alert == ""
    assert page.button("Save the bundle").is_enabled()
    assert page.browser.console_errors() == []
