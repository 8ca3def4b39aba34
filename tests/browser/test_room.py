"""Figures keep their room, views keep few controls, words keep apart, and a first visit is told."""

import pytest

from rashomon_explorer.explorer.state import PAGES
from tests.browser.pages import Page

pytestmark = pytest.mark.browser

LAPTOP, DESKTOP, PHONE = (1280, 800), (1920, 1080), (420, 860)
COLUMN = 700  # pixels of a notebook's output

# Visible part of an element, through all boxes that scroll around it.
_SEEN = """
const shown = (n) => n.checkVisibility({visibilityProperty: true})
  && getComputedStyle(n).clipPath === 'none';
const part = (n) => { const r = n.getBoundingClientRect();
  const b = {left: Math.max(0, r.left), top: Math.max(0, r.top),
    right: Math.min(innerWidth, r.right), bottom: Math.min(innerHeight, r.bottom)};
  for (let p = n.parentElement; p; p = p.parentElement) {
    const {overflow, display} = getComputedStyle(p);
    if (overflow === 'visible' || display === 'contents') continue;
    const q = p.getBoundingClientRect();
    b.left = Math.max(b.left, q.left); b.right = Math.min(b.right, q.right);
    b.top = Math.max(b.top, q.top); b.bottom = Math.min(b.bottom, q.bottom); }
  return b; };
const within = (b) => b.right - b.left > 2 && b.bottom - b.top > 2;
const app = document.querySelector('.rx-app');
"""

# A dial, a row of tabs, and a list of ticks or of fields are one control each.
_CONTROLS = f"""{_SEEN}
const one = (n) => n.closest('.rx-dial, .widget-toggle-buttons, .rx-choices, .rx-fields') ?? n;
const kinds = 'button, a[href], select, input, textarea, summary, [role=slider]';
return [...new Set([...app.querySelectorAll(kinds)]
  .filter((n) => shown(n) && !n.closest('.rx-skips') && within(part(n)))
  .map(one))].map((n) => n.ariaLabel || n.textContent.slice(0, 30) || n.outerHTML.slice(0, 60));"""

_FIGURES = f"""{_SEEN}
return Object.fromEntries([...app.querySelectorAll('.rx-plot-area')].filter(shown)
  .map((n) => [n.dataset.figure, n._fullLayout?._size.h ?? 0]));"""

# Words that are cut by their own box, drop-downs that are narrower than their choice, and words
# that lie on other words, on the page and within a figure.
_COLLISIONS = f"""{_SEEN}
const found = [];
const own = (n) => [...n.childNodes].filter((c) => c.nodeType === 3 && c.textContent.trim());
const canvas = document.createElement('canvas').getContext('2d');
for (const n of [...app.querySelectorAll('select:not([multiple])')].filter(shown)) {{
  const style = getComputedStyle(n);
  canvas.font = style.font;
  const room = n.clientWidth - parseFloat(style.paddingLeft);
  const chosen = n.selectedOptions[0]?.text ?? '';
  if (canvas.measureText(chosen).width > room) found.push(['narrow', chosen]);
}}
const texts = [...app.querySelectorAll('*')].filter((n) => own(n).length && shown(n)
  && !n.closest('svg, style, select, textarea, .rx-skips, thead'));
const boxes = [];
for (const n of texts) {{
  const overflow = getComputedStyle(n).overflowX;
  if (overflow === 'hidden' && n.clientWidth && n.scrollWidth > n.clientWidth + 1
    && getComputedStyle(n).textOverflow !== 'ellipsis')
    found.push(['cut', n.textContent.slice(0, 40)]);
  const {{left, right, top, bottom}} = part(n);
  const range = document.createRange();
  for (const word of own(n)) {{
    range.selectNodeContents(word);
    for (const r of range.getClientRects())
      if (r.left >= left - 1 && r.right <= right + 1 && r.top >= top - 1 && r.bottom <= bottom + 1)
        boxes.push([r, n, word.textContent.trim().slice(0, 30)]);
  }}
}}
for (const n of [...app.querySelectorAll('.rx-plot-area svg text')].filter(shown)) {{
  const r = n.getBoundingClientRect(), b = n.closest('.rx-plot-area').getBoundingClientRect();
  if (r.left < b.left - 1 || r.right > b.right + 1) found.push(['cut', n.textContent]);
  if (within(part(n))) boxes.push([r, n, n.textContent.slice(0, 30)]);
}}
const fixed = (n) => n.closest('.rx-topbar, .rx-links, .rx-goal-panel');
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2.5
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3.5;
boxes.forEach(([a, n, one], k) => boxes.slice(k + 1).forEach(([b, m, two]) => {{
  if (n !== m && !n.contains(m) && !m.contains(n) && !fixed(n) === !fixed(m) && meet(a, b))
    found.push([one, two]);
}}));
return found;"""


@pytest.fixture(scope="module")
def page(browser, dashboard):
    """One visit for the tests below, in their order, with models to look at."""
    visit = Page(browser, dashboard, "theme=light")
    visit.data("breast_cancer")
    visit.plan()
    visit.draw()
    visit.drawn()
    visit.wait(lambda: visit.traces("losses").get("draw"), "the draws")
    yield visit
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def _resize(page, size, column=0):
    """Set the size of the window, or of a column in a notebook's page, which is no page of ours."""
    page.run(_IN_A_COLUMN, f"{column}px" if column else "")
    screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    page.wait(lambda: page.run("innerWidth") == size[0], "the size")


_IN_A_COLUMN = """((width) => {
  document.body.dataset.voila = width ? '' : 'voila';
  document.querySelector('.rx-app').style.width = width;
})(arguments[0])"""


def _ask(page, script):
    return page.browser.execute_script(script)


def test_the_map_is_large_the_bar_one_line_and_every_view_has_few_controls(page):
    _resize(page, LAPTOP)
    page.see("map")
    page.wait(lambda: _ask(page, _FIGURES)["map"] >= 420, "the map to be large")
    page.type_number("How many?", "19")  # a banner above every view: the figures show the last draw
    for view in PAGES:
        page.go(view)
        assert page.run("document.querySelector('.rx-topbar').offsetHeight") <= 56
        controls = _ask(page, _CONTROLS)
        assert len(controls) <= 36, f"{view} has {len(controls)}: {controls}"
    page.go("set")
    tops = "[...document.querySelectorAll('.rx-numbers .rx-fact')].map((n) => n.offsetTop)"
    assert len(set(page.run(tops))) == 1  # one row


def test_the_schema_shows_ten_columns_as_text_that_becomes_a_field(page):
    page.go("data")
    within = f"{_SEEN} return [...app.querySelectorAll('.rx-form tbody tr')].filter((n) => {{"
    within += "const b = part(n); return b.bottom - b.top > 20; }).length;"
    page.wait(lambda: _ask(page, within) >= 10, "ten columns")
    assert not page.shown(".rx-form :is(input, select)")
    box = page.field("mean radius", "high")
    assert box.get_attribute("aria-label") == "Upper bound of mean radius"
    page.press(box, "\ue00c")  # Escape
    page.wait(lambda: not page.shown(".rx-form :is(input, select)"), "text again")
    labels = [label.text.split("\n")[0] for label in page.shown(".rx-form-choices > *")]
    assert labels[0].startswith("Predicted column") and labels[1].startswith("Sensitive columns")


def test_an_axis_makes_room_for_marks_that_come_after_the_figure(page):
    page.see("people_ranges")
    for display, room in (("none", 48), ("", 72)):
        page.run(_DISPLAY_OF_MARKS, display)
        page.wait(lambda at=room: page.run(_BELOW) == at, f"{room} pixels below the axis")


_DISPLAY_OF_MARKS = """((display) => {
  for (const n of document.querySelectorAll('.rx-kinds')) n.style.display = display;
})(arguments[0])"""
_BELOW = "document.querySelector('[data-figure=people_ranges]')._fullLayout._size.b"


@pytest.mark.parametrize(
    ("size", "column"), [(LAPTOP, 0), (LAPTOP, COLUMN), (DESKTOP, 0), (PHONE, 0)]
)
def test_words_keep_apart_and_are_not_cut(page, size, column):
    _resize(page, size, column)
    areas = {}
    for view in PAGES:
        page.go(view)
        try:
            page.wait(lambda: _ask(page, _COLLISIONS) == [], f"the words of {view} at {size}")
        except pytest.fail.Exception as failed:
            raise AssertionError((view, _ask(page, _COLLISIONS))) from failed
        page.wait(lambda: min(_ask(page, _FIGURES).values(), default=160) >= 160, f"room in {view}")
        areas |= _ask(page, _FIGURES)
    assert not column or page.run("document.querySelector('.rx-app').scrollWidth") == column
    if size == DESKTOP:
        assert min(areas.values()) > 200  # cards grow, below a banner too


def test_a_first_visit_is_told_what_the_page_is_about(page):
    _resize(page, LAPTOP)
    page.run("document.querySelector('.rx-help').click()")
    page.wait(lambda: len(page.shown(".rx-intro li")) == 3, "the introduction, beside models too")
    assert "A Rashomon set is" in page.text(".rx-intro")
    for stop in range(1, 5):
        page.wait(lambda at=stop: f"{at} of 4" in page.text(".rx-tour:popover-open"), "a stop")
        assert page.shown(".rx-tour-stop")
        page.button("Done" if stop == 4 else "Next").click()
    page.wait(lambda: not page.shown(".rx-tour"), "its end")
    assert page.run("localStorage.getItem('rashomon-explorer-introduction')") == "seen"
    page.button("Tour").click()
    page.button("Skip").click()
    page.wait(lambda: not page.shown(".rx-tour-stop"), "the tour to be skipped")
    page.run("document.querySelector('[aria-label=\"Hide this introduction\"]').click()")
    assert not page.shown(".rx-intro")
