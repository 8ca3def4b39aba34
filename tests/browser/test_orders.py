"""Orders of presses that a browser sends faster than its page answers: one page, a ledger of 100.

What needs no browser stands in `tests/explorer/test_orders.py`, with more of them.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from rashomon_explorer.explorer.state import PAGES
from rashomon_explorer.plots.text import what_is_left
from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = [pytest.mark.browser, pytest.mark.law]

# In one turn of the browser: the program hears of the second when the first is on its way. Words
# are of a button, #words of an address, words=words of a list and what is chosen from it.
_AT_ONCE = """
const seen = (places) => [...document.querySelectorAll(places)].filter((n) => n.checkVisibility());
for (const words of arguments[0]) {
  if (words.startsWith('#')) { location.hash = words; continue; }
  const [name, chosen] = words.split('=');
  if (chosen === undefined) {
    seen('button').find((one) => one.textContent.startsWith(words) && !one.disabled)?.click();
    continue;
  }
  const list = seen('.widget-dropdown').find((one) => one.textContent.includes(name))
    .querySelector('select');
  const said = [...list.options].map((one) => one.text.replaceAll('\u00a0', ' '));
  list.selectedIndex = said.findIndex((one) => one.startsWith(chosen));
  list.dispatchEvent(new Event('change', {bubbles: true}));
}"""
_FILLED = """PAGE => document.querySelector('.rx-app').dataset.page === PAGE
  && document.querySelector(`.rx-view-${PAGE}`).childElementCount > 0"""


class Visit:
    """The page, and the ledger that it has to agree with."""

    def __init__(self, page: Page, running: Any) -> None:
        self.page, self.running = page, running
        self.path, self.charges = running.home / "lending.ledger", 0

    def at_once(self, *words: str) -> None:
        self.page.browser.execute_script(_AT_ONCE, list(words))

    def entries(self) -> list[Any]:
        return Ledger.open(self.path).entries() if self.path.exists() else []

    def settles(self, charges: int) -> None:
        """Wait until nothing is under way, and see that page and ledger agree.

        A program is ahead of its page: a receipt and an enabled button may be those of before. What
        the ledger says comes last of what a charge brings.
        """
        page, self.charges = self.page, self.charges + charges
        page.wait(lambda: len(self.entries()) == self.charges, f"{self.charges} charges")
        page.wait(lambda: {one.state for one in self.entries()} <= {"committed"}, "commits")
        remaining = Ledger.open(self.path).remaining if self.path.exists() else 100.0
        left = f"left {what_is_left(remaining)}"
        page.wait(lambda: page.text(".rx-bar-gauge").endswith(left), left)
        page.wait(lambda: page.run("!document.querySelector('.rx-progress progress')"), "rest")
        page.wait(lambda: page.button("Draw ").is_enabled(), "a page that draws")
        assert "Traceback" not in self.running.log()
        assert page.browser.console_errors() == []


@pytest.fixture(scope="module")
def visit(browser: Any, start_dashboard: Any, tmp_path_factory: Any) -> Iterator[Visit]:
    running = start_dashboard(tmp_path_factory.mktemp("orders"))
    running.wait()
    page = Page(browser, running)
    browser.console_errors()
    page.type_number("Budget ε", "100")
    page.wait(lambda: page.text(".rx-bar-gauge").endswith("left 100"), "the budget")
    yield Visit(page, running)


def test_addresses_faster_than_views_end_at_the_last(visit: Visit) -> None:
    for _ in range(3):
        visit.at_once(*(f"#{view}" for view in PAGES), "#set")
    visit.page.wait(lambda: visit.page.run(f"({_FILLED})('set')"), "the last view")
    visit.page.browser.back()
    visit.page.wait(lambda: visit.page.run("location.hash") != "#set", "the view before")
    here = "document.querySelector('.rx-app').dataset.page === location.hash.slice(1)"
    visit.page.wait(lambda: visit.page.run(here), "address and view to agree")
    visit.settles(charges=0)


def test_draw_pressed_twice_at_once_is_charged_once(visit: Visit) -> None:
    visit.at_once("Draw ", "Draw ")
    assert "Drew 20 models" in visit.page.drawn()
    assert visit.page.alert == "" or "a draw is running" in visit.page.alert  # in words
    visit.settles(charges=1)


def test_yes_to_paying_and_to_drawing_at_once(visit: Visit) -> None:
    page = visit.page
    page.release_one_aggregate()
    page.button("Spend ε")
    visit.at_once("Spend ε", "Draw ")
    page.wait(lambda: page.status.startswith(("Drew", "Released")), "one of them")
    page.wait(lambda: not page.shown(".rx-progress progress"), "the draw to end")
    visit.settles(charges=len(visit.entries()) - visit.charges)
    assert visit.charges >= 1


def test_a_page_closed_in_a_draw_finds_its_charge_again(visit: Visit) -> None:
    visit.at_once("Draw ")
    visit.page.wait(lambda: len(visit.entries()) > visit.charges, "the charge")
    page = Page(visit.page.browser, visit.running)  # the same address again
    left = f"left {what_is_left(Ledger.open(visit.path).remaining)}"
    page.wait(lambda: page.text(".rx-bar-gauge").endswith(left), left)
    assert len(visit.entries()) == visit.charges + 1 and page.alert == ""
