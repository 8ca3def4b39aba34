"""The dashboard's page as the tests speak of it."""

import json

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from rashomon_explorer.explorer.panels.data import DataPanel
from rashomon_explorer.plots.figures import FIGURES as SPECS

FIGURES = {
    "losses": "set", "map": "set", "importance": "features", "people": "people", "bounds": "set",
    "promise": "plan", "plan": "plan", "budget": "release", "aggregates": "release",
    "columns": "data", "tradeoff": "release",
}  # fmt: skip
"""The view of each figure of linear models."""

OF_TREES = {
    "dots": "people", "tree_questions": "features", "tree_use": "set", "tree_sizes": "set",
    "tree_parity": "people", "trees": "set", "rules": "set", "witness": "set", "tree_list": "set",
}  # fmt: skip
"""The view of each figure of sparse trees."""

_VIEWS = {**FIGURES, **OF_TREES, "people_ranges": "people", "dots": "set"}
_CALLED = {name: spec.short or spec.title for name, spec in SPECS.items()}

_TRACES = """
const count = (trace) => trace.x ? trace.x.length : (trace._length ?? 0);
const gd = document.querySelector(`.rx-plot-area[data-figure="${arguments[0]}"]`);
return gd?._fullData && gd.offsetWidth
  ? Object.fromEntries(gd._fullData.map((trace) => [trace.name, count(trace)])) : null;
"""


_LINK = "document.querySelector(`.rx-tabs a[href='#${arguments[0]}']`)"

# Chooses a figure or panel that shares its place with others, by what its tab says.
_PICK = """(() => {
  const tabs = document.querySelectorAll(`.rx-view-${arguments[0]} .rx-slot-choice button`);
  for (const tab of tabs)
    if (tab.textContent.replaceAll('\u00a0', ' ').trim() === arguments[1]) tab.click();
})()"""

# On a phone some places have a line that opens them.
_UNFOLD = """(() => {
  const figure = document.querySelector(`.rx-plot-area[data-figure='${arguments[0]}']`);
  const line = figure?.closest('.rx-folds:not([data-open])')?.querySelector('.rx-fold button');
  if (line?.checkVisibility()) line.click();
})()"""


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


class Page:
    """One visit."""

    def __init__(self, browser, dashboard, query=""):
        self.browser = browser
        browser.get("about:blank")  # an address that differs by its # alone is no new visit
        browser.get(dashboard.at(query) if query else dashboard.url)
        self.wait(lambda: self.shown(".rx-draw"), "the first view")

    def go(self, view):
        """Turn to a view by its link."""
        self.wait(lambda: self.run(_LINK, view), f"the link to {view}")
        if self.run("document.querySelector('.rx-app').dataset.page") != view:
            self.run(f"{_LINK}.click()", view)
            there = "document.querySelector('.rx-app').dataset.page === arguments[0]"
            self.wait(lambda: self.run(there, view), f"the view {view}")
        # What stands in a view comes when it is first seen.
        filled = "document.querySelector(`.rx-view-${arguments[0]} .rx-slot > *`)"
        self.wait(lambda: self.run(f"Boolean({filled})", view), f"what stands in {view}")

    def open(self, step, unfolded="true"):
        """Open a line of the rail, or close it."""
        lines = ".rx-step-line button"
        button = self.wait(
            lambda: next((b for b in self.shown(lines) if b.text == step), None), f"the line {step}"
        )
        if button.get_attribute("aria-expanded") != unfolded:
            self.run("arguments[0].scrollIntoView({block: 'center'})", button)
            button.click()

    def wait(self, condition, what):
        return self.browser.until(condition, what)

    def kernel(self, dashboard):
        """The process behind this page; others are kept ready for the next visits."""
        script = "document.getElementById('jupyter-config-data').textContent"
        known = json.loads(self.run(script))["kernelId"]
        return next(one for one in dashboard.kernels() if known in " ".join(one.cmdline()))

    def traces(self, figure):
        """Points of every trace that the browser has drawn, by the trace's name."""
        self.see(figure)
        return self.browser.execute_script(_TRACES, figure) or {}

    def see(self, figure):
        """Bring a figure into sight."""
        self.go(_VIEWS[figure])
        if not self._sees(figure):
            self.run(_PICK, _VIEWS[figure], _CALLED[figure])
            self.wait(lambda: self.run(_UNFOLD, figure) or self._sees(figure), figure)

    def _sees(self, figure):
        place = f".rx-plot-area[data-figure='{figure}']"
        return bool(self.run("document.querySelector(arguments[0])?.offsetWidth", place))

    def run(self, expression, *arguments):
        return self.browser.execute_script(f"return {expression}", *arguments)

    def words(self, figure):
        """All text inside a figure."""
        self.see(figure)
        return self.text(f".rx-plot:has([data-figure='{figure}'])")

    def text(self, selector):
        return self.run("(document.querySelector(arguments[0]) ?? {}).textContent ?? ''", selector)

    @property
    def status(self):
        return self.text(".rx-status")

    @property
    def alert(self):
        """All alerts that say something."""
        said = "[...document.querySelectorAll('[role=alert]')].map((n) => n.textContent)"
        return self.run(f"{said}.filter(Boolean).join(' ')")

    def shown(self, selector):
        found = self.browser.find_elements(By.CSS_SELECTOR, selector)
        return [element for element in found if element.is_displayed()]

    def button(self, words):
        return self.wait(
            lambda: next((b for b in self.shown("button") if b.text.startswith(words)), None),
            f"a button that says {words!r}",
        )

    def choose(self, label, option):
        """Pick the option that starts with these words in the list of that name.

        A list that was opened just now is shown when the program has answered.
        """
        chosen = f"the list {label!r} to offer {option!r}"
        self.wait(lambda: self._chosen(label, option), chosen)

    def _chosen(self, label, option):
        for box in self.shown(".widget-dropdown"):
            if box.find_element(By.CSS_SELECTOR, "label").text == label:
                for choice in box.find_elements(By.CSS_SELECTOR, "option"):
                    if choice.text.startswith(option):
                        choice.click()
                        return True
        return False

    def slider(self, label):
        if label.startswith("Budget"):
            self.go("plan")
        elif not label.startswith("How "):
            self.open("More")
        place = f"input[type=range][aria-label^='{label}']"
        self.wait(lambda: len(self.shown(place)) == 1, f"one slider called {label!r}")
        return self.shown(place)[0]

    def press(self, element, key, times=1):
        """Use the keyboard only."""
        self.browser.execute_script("arguments[0].focus()", element)
        element.send_keys(key * times)

    def type_number(self, label, number):
        slider = self.slider(label)
        box = slider.parent.execute_script(
            "return arguments[0].parentElement.querySelector('input[type=text]')", slider
        )
        self.replace(box, number)

    def plan(self, mechanism="exact", epsilon="4", draws="20"):
        """Ask for draws of a mechanism; exact ones have a price each, unlike a path."""
        self.open("More")
        self.choose("Mechanism", mechanism)
        self.type_number("How private?", epsilon)
        self.type_number("How many?", draws)
        self.open("More", "false")
        self.readable(f"Draw {draws} models")

    def replace(self, box, text):
        """Type over what a box holds."""
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text, Keys.TAB)

    def _data_panel(self):
        self.go("data")
        self.run(_PICK, "data", DataPanel.title)
        self.wait(lambda: self.shown(".rx-view-data .rx-schema"), "the data panel")

    def data(self, name):
        self._data_panel()
        self.choose("Data set", name)
        self.wait(lambda: f"{name}:" in self.status, f"{name} to be loaded")

    def upload(self, path):
        self._data_panel()
        self.choose("Data set", "your own table")
        # Not the dictionary's, which stands there until the table before has gone.
        own = ".rx-schema > .rx-file input"
        self.wait(lambda: self.shown(own), "the file input")[0].send_keys(str(path))
        self.wait(lambda: path.name in self.status or self.alert, "the file to be read")

    def declare(self, dictionary):
        """Paste a data dictionary for an uploaded table, confirm the rest and use the table."""
        self.wait(lambda: self.shown(".rx-form tbody tr"), "the form")
        if not self.shown(".rx-dictionary textarea"):
            self.button("Data dictionary").click()
        self.wait(lambda: self.shown(".rx-dictionary textarea"), "the dictionary")
        box = self.shown(".rx-dictionary textarea")[0]
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(dictionary, Keys.TAB)
        self.button("Apply dictionary").click()
        self.button("Confirm all").click()
        self.wait(
            lambda: "To be confirmed" not in self.text(".rx-schema:has(.rx-form)"),
            "the marks to go",
        )
        self.button("Use this table").click()

    def field(self, column, field):
        """Click a value of the schema table, and return the field that it becomes."""
        rows = [row for row in self.shown(".rx-form tbody tr") if row.text.startswith(column)]
        cell = rows[0].find_element(By.CSS_SELECTOR, f"[data-fields~='{field}']")
        if not cell.find_elements(By.TAG_NAME, "input"):
            cell.click()
        return cell.find_element(By.CSS_SELECTOR, f"[data-field='{field}']")

    def readable(self, words):
        """Wait until a label with a price has stood long enough to be read: a press buys it."""
        button = "[...document.querySelectorAll('.rx-offer button[data-offer]:enabled')]"
        shown = f"{button}.some((one) => one.textContent.startsWith(arguments[0]))"
        self.wait(lambda: self.run(shown, words), f"an offer {words!r}")

    def _press_draw(self):
        self.readable("Draw ")
        before = self.status, self.alert
        self.button("Draw ").click()
        done = "a draw, a question or a refusal"
        self.wait(lambda: self.shown(".rx-ask") or (self.status, self.alert) != before, done)

    def draw(self):
        """Press Draw, and yes where the page asks whether so little is worth the price."""
        for _ in range(3):  # a label that was older than the last setting sells nothing
            self._press_draw()
            if "press again" not in self.status:
                break
        unread = "!document.querySelector('.rx-ask .rx-offer button:not([data-offer])')"
        self.wait(lambda: self.run(unread), "an answer that could be read")
        for answer in self.shown(".rx-ask button")[:1]:
            answer.click()

    def drawn(self):
        self.wait(lambda: self.status.startswith("Drew"), "the draw to end")
        return self.status

    def draw_inside(self, data):
        """Draw from a data set so that some draws are in the set and every figure has something."""
        self.data(data)  # a budget is set once, so that each test draws from its own
        # Settings at which about half of the draws of so few rows are in the set.
        self.type_number("How good?", "0.1")
        self.type_number("Budget ε", "100")
        self.plan(epsilon="50")
        self.draw()
        self.drawn()
        self.wait(lambda: self.traces("people").get("best model", 0) > 0, "the figures")

    def check_contrast(self):
        """Fail where ink and ground are closer than 4.5 : 1; a grey word is the control."""
        assert self.browser.execute_script(_CONTRAST) == [] and self.alert == ""
        shown = "(node) => node.checkVisibility() && node.textContent.trim()"
        note = f"[...document.querySelectorAll('.rx-note')].find({shown}).style.color"
        self.browser.execute_script(f"{note} = '#777777'")
        assert self.browser.execute_script(_CONTRAST)
        self.browser.execute_script(f"{note} = ''")
