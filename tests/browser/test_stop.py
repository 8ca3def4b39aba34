"""Stop answers at once, also while the sampler finds nothing."""

from typing import Any

import pytest

from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = pytest.mark.browser


def test_stop_keeps_what_was_drawn_and_what_was_spent(browser: Any, dashboard: Any) -> None:
    page = Page(browser, dashboard)
    # 64 features and a sharp law: the exact sampler accepts one proposal in many thousands.
    page.choose("Data set", "digits")
    page.wait(lambda: "digits:" in page.status, "digits")
    page.type_number("Budget ε", "100")
    page.type_number("Privacy price", "50")
    page.type_number("Draws", "500")
    page.button("Draw 500").click()
    page.wait(lambda: page.status.startswith(("Drawing:", "Looking")), "the sampler at work")
    assert not page.button("Draw 500").is_enabled()
    assert page.shown("progress")
    page.button("Stop").click()
    page.wait(lambda: page.button("Draw 500").is_enabled(), "the end of the draw")
    assert page.status.startswith("Stopped")
    assert Ledger.open(dashboard.home / "digits.ledger").spent() == pytest.approx(50.0)
    assert page.text(".rx-spent-value") == "50"
