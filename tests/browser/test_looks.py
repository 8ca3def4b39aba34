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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast_and_figures_follow_the_theme(
    browser: Any, dashboard: Any, theme: str
) -> None:
    page = Page(browser, dashboard, f"?theme={theme}")
    page.data("breast_cancer")
    page.draw()
    page.drawn()
    page.wait(lambda: page.traces("people").get("best model", 0) > 0, "the figures")
    assert page.run("document.body.dataset.jpThemeLight") == str(theme == "light").lower()
    assert browser.execute_script(_CONTRAST) == []
    assert page.alert == ""
    # Negative control: the measure sees a grey word on the card.
    browser.execute_script("document.querySelector('.rx-note').style.color = '#777777'")
    assert browser.execute_script(_CONTRAST)


def test_figures_follow_a_theme_that_changes_under_them(browser: Any, dashboard: Any) -> None:
    page = Page(browser, dashboard)
    ink = "document.querySelector('.rx-plot-area')._fullLayout.font.color"
    light = page.run(ink)
    browser.execute_script("document.body.dataset.jpThemeLight = 'false'")
    page.wait(lambda: page.run(ink) != light, "light ink")


def test_nothing_scrolls_sideways_on_a_phone(browser: Any, dashboard: Any) -> None:
    size = browser.get_window_size()
    try:
        browser.set_window_size(420, 900)
        page = Page(browser, dashboard)
        page.data("monks1")
        page.draw()
        page.drawn()
        page.wait(lambda: page.traces("people"), "the figures")
        assert page.run("innerWidth") == 420
        wide = page.run(
            "[...document.querySelectorAll('.rx-app, .rx-card, .rx-plot-area, html, body')]"
            ".filter((n) => n.scrollWidth > n.clientWidth + 1 || n.clientWidth > 420)"
            ".map((n) => n.className)"
        )
        assert wide == []
        assert len({card.location["x"] for card in page.shown(".rx-card")}) == 1
    finally:
        browser.set_window_size(size["width"], size["height"])


def test_no_button_sends_a_figure_anywhere(browser: Any, dashboard: Any) -> None:
    page = Page(browser, dashboard)
    titles = page.run(
        "[...new Set([...document.querySelectorAll('.rx-plot-area')]"
        ".flatMap((gd) => gd._context.modeBarButtons.flat()))]"
    )
    assert set(titles) <= {"zoom2d", "pan2d", "select2d", "lasso2d", "resetScale2d", "toImage"}
