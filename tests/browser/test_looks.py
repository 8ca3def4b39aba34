"""In the light, wide and narrow: the page stays readable. In the dark: `test_dark.py`."""

import pytest

from tests.browser.pages import FIGURES, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser, dashboard):
    """One visit for the tests below."""
    return Page(browser, dashboard, "theme=light")


def test_text_has_contrast_in_the_light(page):
    assert page.run("document.body.dataset.jpThemeLight") == "true"
    page.draw_inside("wine")
    page.check_contrast()


def test_no_button_sends_a_figure_anywhere(page):
    for figure in FIGURES:
        page.see(figure)
        titles = page.wait(lambda at=figure: page.browser.execute_script(_BUTTONS, at), figure)
        assert set(titles) <= {"zoom2d", "pan2d", "select2d", "lasso2d", "resetScale2d"}


_BUTTONS = """
const gd = document.querySelector(`[data-figure="${arguments[0]}"]`);
return gd._context?.modeBarButtons.flat();
"""


def test_a_figure_is_saved_as_a_picture_without_leaving_the_page(page):
    page.see("aggregates")  # without numbers there is no picture
    save = "document.querySelector('[data-figure=aggregates]').closest('.rx-figure')"
    save = f"{save}.querySelector('.rx-png')"
    page.wait(lambda: "nothing is drawn yet" in page.run(f"{save}?.title ?? ''"), "the reason")
    page.see("plan")
    page.browser.requests()
    card = "document.querySelector('[data-figure=plan]').closest('.rx-figure')"
    page.wait(
        lambda: page.run(f"{card}.querySelector('.rx-png')?.disabled === false"), "its button"
    )
    page.run(f"{card}.querySelector('.rx-png').click()")
    saved = f"{card}.querySelector('[data-saved]')?.dataset.saved"
    assert page.wait(lambda: page.run(saved), "the picture") == "plan.png"
    assert page.browser.outside_hosts() == set()


def test_figures_follow_a_theme_that_changes_under_them(page):
    before = page.run("location.hash")
    page.run("document.querySelector('.rx-skip').click()")  # the first tab leads to Draw
    there = "document.activeElement.closest('.rx-draw-card')?.querySelector('.rx-draw') != null"
    assert page.run(there) and page.run("location.hash") == before
    page.see("plan")
    ink = "document.querySelector('[data-figure=plan]')._fullLayout.font.color"
    light = page.run(ink)
    page.browser.execute_script("document.body.dataset.jpThemeLight = 'false'")
    page.wait(lambda: page.run(ink) != light, "ink for a dark page")
    page.browser.execute_script("document.body.dataset.jpThemeLight = 'true'")
    page.wait(lambda: page.run(ink) == light, "ink for a light page again")


_TOO_WIDE = """[...document.querySelectorAll('.rx-app, .rx-card, .rx-plot-area, html, body')]
  .filter((n) => n.scrollWidth > n.clientWidth + 1 || n.clientWidth > 420)
  .map((n) => n.className)"""


def test_nothing_scrolls_sideways_on_a_phone(page):
    size = page.browser.get_window_size()
    try:
        page.browser.set_window_size(420, 900)
        page.wait(lambda: page.run("innerWidth") == 420, "the narrow window")
        assert page.traces("people")
        page.wait(lambda: page.run(_TOO_WIDE) == [], "nothing to be wider than the window")
        assert len({card.location["x"] for card in page.shown(".rx-slot")}) == 1
    finally:
        page.browser.set_window_size(size["width"], size["height"])
