"""Light and dark, wide and narrow: the page stays readable."""

from typing import Any

import pytest

from tests.browser.pages import Page

pytestmark = pytest.mark.browser

_CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const light = (c) => { const f = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045
  ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126*f[0] + 0.7152*f[1] + 0.0722*f[2]; };
const ground = (node) => { for (; node; node = node.parentElement) {
  const c = rgba(getComputedStyle(node).backgroundColor); if (c[3] === 255) return c; }
  return [255, 255, 255, 255]; };
const poor = [];
for (const node of document.querySelectorAll('.rx-app *')) {
  const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !node.offsetParent && !node.closest('svg')) continue;
  if (node.closest(':disabled') || ['OPTION', 'STYLE'].includes(node.tagName)) continue;
  const style = getComputedStyle(node);
  const ink = node.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(rgba(ink)), light(ground(node))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push([node.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
}
return poor;
"""


def test_text_has_contrast_in_the_dark(browser: Any, dashboard: Any) -> None:
    page = Page(browser, dashboard, "?theme=dark")
    assert page.run("document.body.dataset.jpThemeLight") == "false"
    _draw(page, "breast_cancer")
    _check_contrast(page)


@pytest.fixture(scope="module")
def page(browser: Any, dashboard: Any) -> Page:
    """One visit for the tests below."""
    return Page(browser, dashboard, "?theme=light")


def test_no_button_sends_a_figure_anywhere(page: Page) -> None:
    titles = page.run(
        "[...new Set([...document.querySelectorAll('.rx-plot-area')]"
        ".flatMap((gd) => gd._context.modeBarButtons.flat()))]"
    )
    assert set(titles) <= {"zoom2d", "pan2d", "select2d", "lasso2d", "resetScale2d", "toImage"}


def test_text_has_contrast_in_the_light(page: Page) -> None:
    assert page.run("document.body.dataset.jpThemeLight") == "true"
    _draw(page, "monks1")
    _check_contrast(page)


def test_figures_follow_a_theme_that_changes_under_them(page: Page) -> None:
    ink = "document.querySelector('.rx-plot-area')._fullLayout.font.color"
    light = page.run(ink)
    page.browser.execute_script("document.body.dataset.jpThemeLight = 'false'")
    page.wait(lambda: page.run(ink) != light, "light ink")
    page.browser.execute_script("document.body.dataset.jpThemeLight = 'true'")
    page.wait(lambda: page.run(ink) == light, "dark ink again")


def test_nothing_scrolls_sideways_on_a_phone(page: Page) -> None:
    size = page.browser.get_window_size()
    try:
        page.browser.set_window_size(420, 900)
        page.wait(lambda: page.run("innerWidth") == 420, "the narrow window")
        assert page.traces("people")
        page.wait(lambda: _too_wide(page) == [], "nothing to be wider than the window")
        assert len({card.location["x"] for card in page.shown(".rx-card")}) == 1
    finally:
        page.browser.set_window_size(size["width"], size["height"])


def _draw(page: Page, data: str) -> None:
    page.data(data)  # a budget is set once, so that each test draws from its own
    # Settings at which about half of the draws of so few rows are in the set.
    page.type_number("Threshold ψ", "0.1")
    page.type_number("Budget ε", "100")
    page.type_number("Privacy price", "50")
    page.draw()
    page.drawn()
    page.wait(lambda: page.traces("people"), "the figures")


def _check_contrast(page: Page) -> None:
    page.wait(lambda: page.traces("people").get("best model", 0) > 0, "the figures")
    assert page.browser.execute_script(_CONTRAST) == []
    assert page.alert == ""
    # Negative control: the measure sees a grey word on the card.
    page.browser.execute_script("document.querySelector('.rx-note').style.color = '#777777'")
    assert page.browser.execute_script(_CONTRAST)
    page.browser.execute_script("document.querySelector('.rx-note').style.color = ''")


def _too_wide(page: Page) -> list[str]:
    return page.run(
        "[...document.querySelectorAll('.rx-app, .rx-card, .rx-plot-area, html, body')]"
        ".filter((n) => n.scrollWidth > n.clientWidth + 1 || n.clientWidth > 420)"
        ".map((n) => n.className)"
    )
