"""A press in a real browser buys what its button showed: keys and mouse, faster than the page."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = pytest.mark.browser

_STATED = """[...document.querySelectorAll('.rx-price')]
  .some((one) => one.textContent.includes('ε = 7.5: press again'))"""


@pytest.fixture
def page(browser, dashboard):
    page = Page(browser, dashboard)
    page.data("south_german_credit")  # nobody else spends its budget
    page.plan("ellipsoid")  # a path would cost less than is typed
    page.type_number("How good?", "0.5")
    page.readable("Draw 20 models")
    return page


def _charges(dashboard):
    found = {}
    for path in dashboard.home.glob("*.ledger"):
        with Ledger.open(path) as ledger:
            found[path.name] = len(ledger.entries())
    return found


def test_a_press_while_another_table_loads_buys_nothing(page, dashboard):
    before = _charges(dashboard)
    page.go("data")
    draw, mouse = page.button("Draw 20 models"), ActionChains(page.browser, duration=0)
    page.choose("Data set", "lending")
    mouse.move_to_element(draw).click().perform()
    page.wait(lambda: "lending" in page.text(".rx-bar-data"), "the other table")
    page.wait(lambda: page.shown(".rx-draw")[0].is_enabled(), "the end of loading")
    assert _charges(dashboard) == before and not page.status.startswith("Dr")


def test_a_typed_setting_and_a_click_buy_nothing_until_the_new_price_was_read(page, dashboard):
    before = _charges(dashboard)
    box = page.browser.execute_script(
        "return arguments[0].parentElement.querySelector('input[type=text]')",
        page.slider("How private?"),
    )
    draw = page.button("Draw 20 models (ε = 4)")
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys("7.5")
    ActionChains(page.browser, duration=0).click(draw).perform()  # the blur sends the number
    page.wait(lambda: "The price is now ε = 7.5: press again" in page.status, "the refusal")
    page.wait(lambda: page.run(_STATED), "the price of now, beside the button")
    assert _charges(dashboard) == before
    assert page.button("Draw 20 models (ε = 7.5)").is_enabled()
    # Three clicks and a key that is held down are one press.
    page.readable("Draw 20 models (ε = 7.5)")
    mouse = ActionChains(page.browser, duration=0)
    mouse.click(draw).click(draw).click(draw).perform()
    yes = "a draw, or a question"
    page.wait(lambda: page.shown(".rx-ask button") or page.status.startswith("Drew"), yes)
    for answer in page.shown(".rx-ask button")[:1]:
        assert _charges(dashboard) == before
        page.browser.execute_script("arguments[0].focus()", answer)
        ActionChains(page.browser).key_down(Keys.ENTER).key_down(Keys.ENTER).key_up(
            Keys.ENTER
        ).perform()
    page.drawn()
    assert _charges(dashboard) == {
        **before,
        "south_german_credit.ledger": before.get("south_german_credit.ledger", 0) + 1,
    }
