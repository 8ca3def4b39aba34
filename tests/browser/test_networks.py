"""A set of networks is drawn on the page for what its button shows."""

import os
import time
from pathlib import Path

import pytest

from tests.browser.pages import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def dashboard(own_dashboard):
    return own_dashboard


def test_networks_are_drawn_for_the_cost_on_the_button(browser, dashboard):
    page = Page(browser, dashboard)
    page.choose("Estimator", "Neural network")

    def offer():
        return next((one.text for one in page.shown(".rx-draw") if "100 models" in one.text), "")

    cost = page.wait(offer, "the cost of a hundred networks").split("(")[1].split(")")[0]
    _look(page, "planned")
    page.draw()
    page.wait(lambda: "Drew 100 models" in page.status, "a hundred networks")
    assert cost in page.status
    for view in ("set", "features", "people", "plan", "release"):
        page.go(view)
        time.sleep(float(os.environ.get("SECONDS_SHOWN", "0")))
        _look(page, view)
        assert "could not be" not in page.text(f".rx-view-{view}")


def _look(page, name):
    if folder := os.environ.get("SCREENS"):
        page.browser.save_screenshot(str(Path(folder) / f"networks-{name}.png"))
