"""The dashboard's page as the tests speak of it."""

import json
from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

FIGURES = ("losses", "coefficients", "importance", "people", "bounds", "plan", "budget")

_TRACES = """
const count = (trace) => trace.x ? trace.x.length : (trace._length ?? 0);
return [...document.querySelectorAll('.rx-plot-area')].map((gd) => gd._fullData
  ? Object.fromEntries(gd._fullData.map((trace) => [trace.name, count(trace)])) : null);
"""


class Page:
    """One visit."""

    def __init__(self, browser: Any, dashboard: Any, query: str = "") -> None:
        self.browser = browser
        browser.get(dashboard.url + query)
        self.wait(lambda: all(traces is not None for traces in self._all()), "seven figures")

    def _all(self) -> list[dict[str, int] | None]:
        found = self.browser.execute_script(_TRACES)
        return found if len(found) == len(FIGURES) else [None]

    def wait(self, condition: Any, what: str) -> Any:
        return self.browser.until(condition, what)

    def kernel(self, dashboard: Any) -> Any:
        """The process behind this page; others are kept ready for the next visits."""
        script = "document.getElementById('jupyter-config-data').textContent"
        known = json.loads(self.run(script))["kernelId"]
        return next(one for one in dashboard.kernels() if known in " ".join(one.cmdline()))

    def traces(self, figure: str) -> dict[str, int]:
        """Points of every trace that the browser has drawn, by the trace's name."""
        return self._all()[FIGURES.index(figure)] or {}

    def run(self, expression: str, *arguments: Any) -> Any:
        return self.browser.execute_script(f"return {expression}", *arguments)

    def words(self, figure: str) -> str:
        """All text inside a figure."""
        number = FIGURES.index(figure)
        return self.run(f"document.querySelectorAll('.rx-plot-area')[{number}].textContent")

    def text(self, selector: str) -> str:
        return self.run("(document.querySelector(arguments[0]) ?? {}).textContent ?? ''", selector)

    @property
    def status(self) -> str:
        return self.text(".rx-status")

    @property
    def alert(self) -> str:
        return self.text("[role=alert]")

    def shown(self, selector: str) -> list[WebElement]:
        found = self.browser.find_elements(By.CSS_SELECTOR, selector)
        return [element for element in found if element.is_displayed()]

    def button(self, words: str) -> WebElement:
        return self.wait(
            lambda: next((b for b in self.shown("button") if b.text.startswith(words)), None),
            f"a button that says {words!r}",
        )

    def choose(self, label: str, option: str) -> None:
        """Pick the option that starts with these words in the list of that name."""
        for box in self.shown(".widget-dropdown"):
            if box.find_element(By.CSS_SELECTOR, "label").text == label:
                for choice in box.find_elements(By.CSS_SELECTOR, "option"):
                    if choice.text.startswith(option):
                        choice.click()
                        return
        raise AssertionError(f"no list {label!r} offers {option!r}")

    def slider(self, label: str) -> WebElement:
        place = f"input[type=range][aria-label^='{label}']"
        self.wait(lambda: len(self.shown(place)) == 1, f"one slider called {label!r}")
        return self.shown(place)[0]

    def press(self, element: WebElement, key: str, times: int = 1) -> None:
        """Use the keyboard only."""
        self.browser.execute_script("arguments[0].focus()", element)
        element.send_keys(key * times)

    def type_number(self, label: str, number: str) -> None:
        slider = self.slider(label)
        box = slider.parent.execute_script(
            "return arguments[0].parentElement.querySelector('input[type=text]')", slider
        )
        self.replace(box, number)

    def replace(self, box: WebElement, text: str) -> None:
        """Type over what a box holds."""
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text, Keys.TAB)

    def data(self, name: str) -> None:
        self.choose("Data set", name)
        self.wait(lambda: f"{name}:" in self.status, f"{name} to be loaded")

    def upload(self, path: Path) -> None:
        self.choose("Data set", "your own table")
        self.wait(lambda: self.shown(".rx-file input"), "the file input")[0].send_keys(str(path))
        self.wait(lambda: path.name in self.status or self.alert, "the file to be read")

    def declare(self, dictionary: str) -> None:
        """Paste a data dictionary for an uploaded table, confirm the rest and use the table."""
        self.wait(lambda: self.shown(".rx-form tbody tr"), "the form")
        box = self.shown(".rx-dictionary textarea")[0]
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(dictionary, Keys.TAB)
        self.button("Take it over").click()
        self.button("Confirm all").click()
        self.wait(lambda: "To be confirmed" not in self.text(".rx-schema"), "the marks to go")
        self.button("Use this table").click()

    def draw(self) -> None:
        self.button("Draw ").click()

    def drawn(self) -> str:
        self.wait(lambda: self.status.startswith("Drew"), "the draw to end")
        return self.status
