"""Wrong orders that take a real browser to press: one page, one after the other, a ledger of 100.

What needs no browser stands in `tests/explorer/orders.py`, with more of them.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from rashomon_explorer.explorer.state import PAGES
from rashomon_explorer.plots.text import what_is_left
from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = [pytest.mark.browser, pytest.mark.law]

# In one turn of the browser: the program hears of the second when the first is on its way. Words
# are of a button, #words of an address, words=words of a list and what is chosen from it.
_AT_ONCE = """
const seen = (places) => [...document.querySelectorAll(places)].filter((n) => n.checkVisibility());
const pressed = [];
for (const words of arguments[0]) {
  if (words.startsWith('#')) { location.hash = words; continue; }
  const [name, chosen] = words.split('=');
  if (chosen === undefined) {
    const button = seen('button')
      .find((one) => one.textContent.startsWith(words) && !one.disabled);
    if (button) pressed.push(words);
    button?.click();
    continue;
  }
  const list = seen('.widget-dropdown').find((one) => one.textContent.includes(name))
    .querySelector('select');
  const said = [...list.options].map((one) => one.text.replaceAll('\u00a0', ' '));
  list.selectedIndex = said.findIndex((one) => one.startsWith(chosen));
  if (list.selectedIndex < 0) throw new Error(`${chosen} is not among ${said}`);
  list.dispatchEvent(new Event('change', {bubbles: true}));
}
return pressed;"""
_FILLED = """PAGE => document.querySelector('.rx-app').dataset.page === PAGE
  && document.querySelector(`.rx-view-${PAGE}`).childElementCount > 0"""
BUDGET = 100.0
TABLE = "lending"


class Visit:
    """The page, and the ledger that it has to agree with."""

    def __init__(self, page: Page, running: Any) -> None:
        self.page, self.running = page, running
        self.charges = 0

    def at_once(self, *words: str) -> list[str]:
        """Press all of them and return the buttons that were there and could be pressed."""
        return list(self.page.browser.execute_script(_AT_ONCE, list(words)))

    def left(self, table: str = TABLE) -> float:
        path = self.running.home / f"{table}.ledger"
        return Ledger.open(path).remaining if path.exists() else BUDGET

    def entries(self, table: str = TABLE) -> list[Any]:
        path = self.running.home / f"{table}.ledger"
        return Ledger.open(path).entries() if path.exists() else []

    def settles(self, charges: int) -> None:
        """Wait until nothing is under way, and see that page and ledger agree."""
        page, self.charges = self.page, self.charges + charges
        page.wait(lambda: len(self.entries()) == self.charges, f"{self.charges} charges")
        self.rests()
        assert "Traceback" not in self.running.log()
        assert page.browser.console_errors() == []

    def rests(self, table: str = TABLE) -> None:
        """Wait until the page has heard of the end of all that its program does for a table.

        A program is ahead of its page: a receipt, an enabled button and the name of a table may be
        those of before. What the ledger says comes last of what a charge brings.
        """
        page = self.page
        page.wait(lambda: {one.state for one in self.entries(table)} <= {"committed"}, "commits")
        page.wait(lambda: page.text(".rx-bar-data") == table, f"the table {table}")
        left = f"left {what_is_left(self.left(table))}"
        page.wait(lambda: page.text(".rx-bar-gauge").endswith(left), left)
        page.wait(lambda: page.run("!document.querySelector('.rx-progress progress')"), "rest")
        page.wait(lambda: page.button("Draw ").is_enabled(), "a page that draws")


@pytest.fixture(scope="module")
def visit(browser: Any, start_dashboard: Any, tmp_path_factory: Any) -> Iterator[Visit]:
    running = start_dashboard(tmp_path_factory.mktemp("orders"))
    running.wait()
    page = Page(browser, running)
    browser.console_errors()
    page.type_number("Budget ε", f"{BUDGET:g}")
    page.wait(lambda: page.text(".rx-bar-gauge").endswith("left 100"), "the budget")
    yield Visit(page, running)


def test_saved_before_any_draw_nothing_leaves(visit: Visit) -> None:
    visit.at_once("Save", "Save")
    assert not visit.page.button("Save").is_enabled()
    visit.settles(charges=0)
    assert visit.page.alert == "" and not (visit.running.home / "lending.ledger").exists()


def test_a_table_of_ones_own_without_a_file_changes_nothing(visit: Visit) -> None:
    visit.page.data("lending")
    visit.at_once("Data set=your own table", "Use this table")
    visit.at_once("Data set=lending")
    visit.page.wait(lambda: "lending: 50,000 rows" in visit.page.status, "the table")
    visit.settles(charges=0)


def test_addresses_faster_than_views_end_at_the_last(visit: Visit) -> None:
    for _ in range(3):
        visit.at_once(*(f"#{view}" for view in PAGES), "#set")
    visit.page.wait(lambda: visit.page.run(f"({_FILLED})('set')"), "the last view")
    visit.page.browser.back()
    visit.page.wait(lambda: visit.page.run("location.hash") != "#set", "the view before")
    here = "document.querySelector('.rx-app').dataset.page === location.hash.slice(1)"
    visit.page.wait(lambda: visit.page.run(here), "address and view to agree")
    visit.settles(charges=0)


def test_keys_faster_than_plans_end_at_the_last(visit: Visit) -> None:
    page = visit.page
    page.go("plan")
    slider = page.slider("Privacy cost")
    before = page.text(".rx-lead dd")
    page.press(slider, Keys.ARROW_RIGHT, 8)
    page.press(slider, Keys.ARROW_LEFT, 8)
    page.wait(lambda: slider.get_attribute("aria-valuetext") == "4 in total", "the slider")
    page.wait(lambda: page.text(".rx-lead dd") == before, "the plan of the last key")
    visit.settles(charges=0)


def test_draw_pressed_twice_at_once_is_charged_once(visit: Visit) -> None:
    visit.at_once("Draw ", "Draw ")
    assert "Drew 20 models" in visit.page.drawn()
    assert visit.page.alert == "" or "a draw is running" in visit.page.alert  # in words
    visit.settles(charges=1)


def test_the_release_a_draw_and_another_view_at_once(visit: Visit) -> None:
    visit.at_once("Release", "Draw ", "#features", "#people")
    visit.settles(charges=1)
    assert visit.page.traces("coefficients").get("best model") is None  # the release, as asked
    visit.at_once("Curator")
    visit.page.wait(lambda: visit.page.traces("losses").get("draw") == 20, "the losses")
    visit.settles(charges=0)


def test_a_draw_and_a_drag_at_once(visit: Visit) -> None:
    page = visit.page
    page.see("plan")
    page.run(
        "document.querySelector('.rx-handle').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    )
    visit.at_once("Draw ")
    page.run(
        "document.querySelector('.rx-handle').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    )
    visit.settles(charges=1)
    page.type_number("Privacy cost", "4")


def test_stop_pressed_with_draw_leaves_a_page_that_draws(visit: Visit) -> None:
    page = visit.page
    visit.at_once("Draw ")
    page.wait(lambda: len(visit.entries()) > visit.charges, "the charge")
    visit.at_once("Stop", "Draw ")
    page.wait(lambda: not page.button("Stop").is_enabled(), "the draw to end")
    visit.settles(charges=len(visit.entries()) - visit.charges)


def test_two_kept_sets_at_once_end_at_the_last(visit: Visit) -> None:
    visit.at_once("Set in view=Draw 2", "Set in view=Draw 1")
    shown = "document.querySelector('.rx-sets select').selectedOptions[0].text.slice(0, 6)"
    visit.page.wait(lambda: visit.page.run(shown).endswith("1"), "the last that was chosen")
    visit.settles(charges=0)


def test_a_bundle_twice_then_the_release(visit: Visit) -> None:
    visit.at_once("Save", "Save", "Release")
    saving = "document.querySelector('.rx-topbar .rx-saver button')?.disabled"
    visit.page.wait(lambda: not visit.page.run(saving), "the bundle")
    visit.at_once("Curator")
    visit.settles(charges=0)
    assert visit.page.alert == ""


def test_yes_to_paying_and_to_drawing_at_once(visit: Visit) -> None:
    page = visit.page
    page.go("release")
    tick = "document.querySelector('.rx-choices input[type=checkbox]')"
    page.wait(lambda: page.run(f"Boolean({tick})"), "the aggregates")
    page.run(f"{tick}.click()")
    page.wait(lambda: page.button("Release 1 aggregate"), "a price")
    page.button("Release 1 aggregate").click()
    page.button("Spend ε")
    visit.at_once("Spend ε", "Draw ")
    page.wait(lambda: page.status.startswith(("Drew", "Released")), "one of them")
    page.wait(lambda: not page.shown(".rx-progress progress"), "the draw to end")
    visit.settles(charges=len(visit.entries()) - visit.charges)
    assert visit.charges >= 1


def test_other_data_and_a_draw_at_once(visit: Visit) -> None:
    page = visit.page
    page.go("data")
    visit.at_once("Data set=monks1", "Draw ")
    page.wait(lambda: visit.entries("monks1"), "the other data's charge")
    visit.rests("monks1")
    page.drawn()
    visit.at_once("#data")
    page.wait(lambda: page.shown(".rx-view-data .rx-schema"), "the data panel")
    visit.at_once("Data set=lending")
    visit.settles(charges=0)


def test_a_page_closed_in_a_draw_finds_its_charge_again(visit: Visit) -> None:
    assert visit.at_once("Draw ") == ["Draw "]
    visit.page.wait(lambda: len(visit.entries()) > visit.charges, "the charge")
    page = Page(visit.page.browser, visit.running)  # the same address again
    left = f"left {what_is_left(visit.left())}"
    page.wait(lambda: page.text(".rx-bar-gauge").endswith(left), left)
    assert len(visit.entries()) == visit.charges + 1 and page.alert == ""
