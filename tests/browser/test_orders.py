"""Three of the wrong orders of `tests/explorer/orders.py`, pressed in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from rashomon_explorer.plots.text import what_is_left
from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = [pytest.mark.browser, pytest.mark.law]

# In one turn of the browser: the program hears of the second when the first is on its way.
_PRESS = """
for (const words of arguments[0]) {
  const all = [...document.querySelectorAll('.rx-draw-card button')];
  all.find((button) => button.offsetParent && button.textContent.startsWith(words)).click();
}"""
PRICE = 4.0


@pytest.fixture
def visit(browser: Any, start_dashboard: Any, tmp_path: Any) -> Iterator[tuple[Page, Any]]:
    running = start_dashboard(tmp_path)
    running.wait()
    page = Page(browser, running)
    browser.console_errors()
    yield page, running
    assert browser.console_errors() == []


def _spent(running: Any) -> float:
    path = running.home / "lending.ledger"
    return Ledger.open(path).spent() if path.exists() else 0.0


def _agrees(page: Page, running: Any) -> bool:
    """Whether the page has settled, and says of the ledger what is in it."""
    left = what_is_left(8.0 - _spent(running))
    return f"left: ε = {left}" in page.status and page.button("Draw ").is_displayed()


def test_draw_pressed_twice_at_once_is_charged_once(visit: tuple[Page, Any]) -> None:
    page, running = visit
    page.browser.execute_script(_PRESS, ["Draw ", "Draw "])
    assert "Drew 20 models" in page.drawn()
    assert page.alert == "" or "a draw is under way" in page.alert  # refused in words
    page.wait(lambda: _agrees(page, running), "page and ledger to agree")
    assert _spent(running) == pytest.approx(PRICE)


def test_stop_pressed_with_draw_leaves_a_page_that_draws(visit: tuple[Page, Any]) -> None:
    page, running = visit
    page.browser.execute_script(_PRESS, ["Draw "])
    page.wait(lambda: page.button("Stop").is_enabled() or "Drew" in page.status, "the draw")
    page.browser.execute_script(_PRESS, ["Stop", "Draw "])
    page.wait(lambda: not page.button("Stop").is_enabled(), "the draw to end")
    page.wait(lambda: page.button("Draw ").is_enabled(), "a page that draws")
    spent = page.text(".rx-spent-value")
    page.wait(lambda: float(page.text(".rx-spent-value")) == pytest.approx(_spent(running)), spent)
    assert 0 < _spent(running) <= 8.0


def test_a_page_closed_in_a_draw_finds_its_charge_again(visit: tuple[Page, Any]) -> None:
    page, running = visit
    page.browser.execute_script(_PRESS, ["Draw "])
    page.wait(lambda: _spent(running) > 0, "the charge")
    Page(page.browser, running)  # the same address again
    page.wait(lambda: page.text(".rx-spent-value") == f"{PRICE:g}", "what was spent")
    assert page.alert == ""
    assert _spent(running) == pytest.approx(PRICE)
