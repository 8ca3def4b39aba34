"""On a phone each view is at most two screens high, and fingers and eyes find all of it."""

import pytest

from rashomon_explorer.explorer.state import PAGES
from tests.browser.pages import FIGURES, OF_TREES, Page

pytestmark = pytest.mark.browser

PHONE = (420, 860)

_HEIGHT = "document.querySelector('#rendered_cells').scrollHeight"

# Whatever stands beyond the sides, and not in a box of its own that scrolls.
_BEYOND = """
const held = (node) => { for (let box = node.parentElement; box && !box.matches('.rx-app');
  box = box.parentElement) if (getComputedStyle(box).overflowX !== 'visible') return true; };
return [...document.querySelectorAll('.rx-app *')].filter((node) => {
  const box = node.getBoundingClientRect();
  return box.width > 1 && (box.right > innerWidth + 1 || box.left < -1)
    && !node.closest('.rx-skips') && !held(node);
}).map((node) => node.outerHTML.slice(0, 80));"""

# Buttons, links and boxes that a finger misses, and letters that are too small to be read.
_SMALL = """
const app = document.querySelector('.rx-app');
const seen = (node) => node.checkVisibility() && getComputedStyle(node).clipPath === 'none';
const own = (node) => [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
const pressed = 'button, a, select, summary, [role=slider], input:not([type=file])';
const missed = [...app.querySelectorAll(pressed)].filter((node) => {
  const {width, height} = node.getBoundingClientRect();
  return seen(node) && !node.disabled && !node.closest('.rx-skips, svg')
    && Math.min(width, height) < 23.5;
});
const letters = [...app.querySelectorAll('*')].filter((node) => seen(node) && own(node)
  && !node.matches('style, option, .rx-shape') && !node.closest('.xtick, .ytick')
  && parseFloat(getComputedStyle(node).fontSize) < 11);
return [...missed, ...letters].map((node) => node.outerHTML.slice(0, 120));"""

# Every word of a figure stands within it.
_WHOLE = """(() => {
  const gd = document.querySelector(`[data-figure="${arguments[0]}"]`);
  const {left, right} = gd.getBoundingClientRect();
  const said = [...gd.querySelectorAll('.textpoint text, .annotation text')];
  const inside = (box) => box.left >= left && box.right <= right;
  return right - left < 420 && said.length > 0
    && said.every((text) => inside(text.getBoundingClientRect()));
})()"""

_TREES = "document.querySelector('.rx-step-line').textContent.includes('trees of at most')"


@pytest.fixture(scope="module")
def page(browser, dashboard):
    """One visit for the tests below, in their order."""
    visit = Page(browser, dashboard, "theme=light")
    visit.data("diabetes")  # a table of its own, so that nobody else spends its budget
    screen = {"width": PHONE[0], "height": PHONE[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    visit.wait(lambda: visit.run("innerWidth") == PHONE[0], "the size")
    yield visit
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def _fits(page):
    for view in PAGES:
        page.go(view)
        page.wait(lambda: page.run(_HEIGHT) <= 2 * PHONE[1], f"{view} to be two screens at most")
        page.wait(lambda: page.browser.execute_script(_BEYOND) == [], f"{view} as wide as a phone")
        assert page.browser.execute_script(_SMALL) == [], view
        draw = page.shown(".rx-draw")[0].rect
        assert draw["y"] + draw["height"] <= PHONE[1] and draw["height"] >= 44


def test_each_view_is_two_screens_at_most_and_draw_follows_the_dials(page):
    _fits(page)
    tops = "[...document.querySelectorAll('.rx-topbar, .rx-tabs a')].map((n) => n.offsetTop)"
    assert len(set(page.run(tops)[1:])) == 1  # one line
    stops = """[...document.querySelectorAll('.rx-app :is(a, button, select, input)')]
      .filter((node) => node.checkVisibility() && !node.disabled)
      .findIndex((node) => node.matches('.rx-draw'))"""
    assert 0 < page.run(stops) < 15  # the first is a link to it
    page.plan()
    page.draw()
    page.drawn()
    page.wait(lambda: page.traces("losses").get("draw"), "the draws")
    _fits(page)


def test_what_has_no_room_opens_and_closes(page):
    page.go("plan")
    menu = page.shown(".rx-topbar .rx-fold button")[0]
    assert not page.shown(".rx-topbar .rx-saver button")
    menu.click()
    assert page.shown(".rx-topbar .rx-saver button") and page.shown(".rx-spent-value")
    assert menu.get_attribute("aria-expanded") == "true"
    menu.send_keys("\ue00c")  # Escape
    page.wait(lambda: not page.shown(".rx-topbar .rx-saver button"), "the menu to close")
    more = page.shown(".rx-goal-panel > .rx-fold button")[0]
    assert not page.shown(".rx-goal")
    more.click()
    assert page.shown(".rx-goal") and page.shown(".rx-price .rx-note")
    more.click()
    budget = next(b for b in page.shown(".rx-folds > .rx-fold button") if "Budget" in b.text)
    assert not page.shown(".rx-view-plan .rx-gauge")
    page.run("arguments[0].scrollIntoView({block: 'center'})", budget)
    budget.click()
    assert page.shown(".rx-view-plan .rx-gauge")
    budget.click()


@pytest.mark.law
def test_every_figure_has_room(page):
    page.plan()
    page.draw()
    page.drawn()  # also where no earlier test of this page has drawn
    for figure in FIGURES:
        _has_room(page, figure)


@pytest.mark.law
def test_views_of_trees_are_two_screens_at_most(page):
    page.data("monks2")
    page.choose("Estimator", "Sparse trees")
    page.wait(lambda: page.run(_TREES), "trees to be chosen")
    _fits(page)
    page.draw()
    page.drawn()
    _fits(page)
    for figure in OF_TREES:
        page.wait(lambda at=figure: page.traces(at), f"traces of {figure}")
        _has_room(page, figure)
        if figure in ("witness", "trees"):
            page.wait(lambda at=figure: page.run(_WHOLE, at), f"nothing of {figure} to be cut")
    assert page.alert == "" and page.browser.console_errors() == []


def _has_room(page, figure):
    """See that its view stays two screens high, unless somebody opened a line for it."""
    page.see(figure)
    line = page.shown(f".rx-folds:has([data-figure='{figure}']) > .rx-fold button")
    if line:
        page.run("arguments[0].click()", line[0])
    page.wait(lambda: page.run(_HEIGHT) <= 2 * PHONE[1], f"{figure} to have room")
