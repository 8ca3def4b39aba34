"""A path walks on the page: its states grow, the meter rises with them, and Stop ends both."""

import os
from pathlib import Path

import pytest

from tests.browser.pages import Page

pytestmark = pytest.mark.browser

_DOTS = """
const gd = document.querySelector(`.rx-plot-area[data-figure="map"]`);
const trace = gd?._fullData?.find((one) => one.name === 'draw');
return gd?.offsetWidth && trace?.x ? trace.x.length : 0;
"""
_VIEW = "document.querySelector('.rx-view-set').textContent"
_STOP = """(() => {
  const buttons = [...document.querySelectorAll('.rx-stop')];
  const stop = buttons.find((one) => one.offsetWidth && !one.disabled);
  stop?.click();
  return Boolean(stop);
})()"""


@pytest.fixture(scope="module")
def dashboard(own_dashboard):
    return own_dashboard


def test_a_path_is_seen_walking_and_stopped(browser, dashboard):
    page = Page(browser, dashboard)
    page.plan("one Langevin path", draws="400")
    page.type_number("How good?", "0.005")
    counts, titles = [], []

    def walks():
        counts.append(page.browser.execute_script(_DOTS))
        titles.append(page.run(_VIEW))
        if folder := os.environ.get("SCREENS"):
            page.browser.save_screenshot(str(Path(folder) / f"path{len(counts):02d}.png"))
        # Dots and title come one after the other; without Stop the path has ended.
        return counts[-1] > 4 and ("of one path" in titles[-1] or not page.run(_STOP))

    for _ in range(3):  # on a loaded machine a path may have ended before its states are seen
        counts.clear()
        page.draw()
        page.wait(walks, "states of the path")
        if page.run(_STOP):
            break
    page.wait(lambda: "Stopped after" in page.status, "the end of the path")
    assert "of one path" in titles[-1] and "spent" in titles[-1]
    assert counts == sorted(counts)
    page.wait(lambda: "best model" in (page.traces("map") or {}), "the best model, after the end")
