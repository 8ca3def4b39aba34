"""The real command and a real Chromium, started once for all browser tests.

`dashboard` is ``python -m rashomon_explorer`` in an empty folder: ``.url``, ``.log()``, ``.home``
and ``.kernels()``, see ``tests/conftest.py``. `browser` is Chromium with a few helpers beside
selenium's own: ``.until``, ``.requests``, ``.outside_hosts`` and ``.console_errors``.
"""

import json
import shutil
import threading
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psutil
import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.patience import LONG, Patience, until

T = TypeVar("T")

FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1400,1000
""".split()


_SAYS = """
const places = '.rx-status, [role=alert], .rx-draw, .rx-progress, .rx-bar-data, .rx-kernel-lost';
return [...document.querySelectorAll(places)].map((n) => n.textContent).join(' | ');
"""

# What there is to read, in short: a page that gets on changes it.
_STATE = """
const text = document.documentElement?.textContent ?? '';
let sum = 0;
for (let k = 0; k < text.length; k++) sum = (31 * sum + text.charCodeAt(k)) | 0;
return [location.href, document.readyState, document.querySelectorAll('*').length, sum];
"""

IDLE = 50.0
"""Seconds after which a page on which nothing happens is given up."""
_KERNELS = 0.03
"""Share of a core that several idle kernels and servers use together, and more."""
_BROWSER = "chrom"  # chromium and chromedriver


class Browser(Chrome):
    """Headless Chromium that remembers what it was asked to load."""

    _command: tuple[int, str] | None = None
    _commands = 0
    _hung = ""

    def __init__(self, profile):
        options = ChromeOptions()
        options.binary_location = _program("chromium")
        for flag in [*FLAGS, f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        self._closed = threading.Event()
        super().__init__(options=options, service=Service(_program("chromedriver")))
        threading.Thread(target=self._watch_commands, daemon=True).start()
        self.set_script_timeout(LONG)
        self.set_page_load_timeout(LONG)
        # The tour of a first visit would stand over the page; `test_room.py` takes it.
        seen = "try { localStorage.setItem('rashomon-explorer-introduction', 'seen') } catch {}"
        self.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": seen})
        # The page of a new tab makes requests of its own, which would fill the log.
        self.get("about:blank")
        self.requests()

    def execute(self, driver_command, params=None):
        """Send a command; fail where nothing has happened for a while and no answer came."""
        self._commands += 1
        self._command = self._commands, driver_command
        try:
            return super().execute(driver_command, params)
        except Exception:
            if self._hung:
                pytest.fail(self._hung, pytrace=False)
            raise
        finally:
            self._command = None

    def _watch_commands(self):
        """End a browser that is asked something and neither answers nor works."""
        patience, watched = Patience(idle=IDLE, least=_KERNELS), None
        while not self._closed.wait(1.0):
            command = self._command
            if command is None or command != watched:
                watched = command
                patience.start()
            elif reason := patience.spent():
                told = f"the browser did not answer to {command[1]!r}, and {reason}"
                self._hung = f"{told} ({patience.seen()}): it was ended"
                process = psutil.Process(self.service.process.pid)
                for one in [*process.children(recursive=True), process]:
                    one.kill()
                return

    def quit(self):
        """End it, and whoever watches it."""
        self._closed.set()
        super().quit()

    def until(self, condition, what):
        """Wait for `condition` to return something true and return that."""
        problem: list[Any] = ["it stayed false"]

        def tried():
            try:
                return condition()
            except WebDriverException as error:
                problem[0] = error
                return None

        patience = Patience(idle=IDLE, least=_KERNELS, ignored=_BROWSER, state=self._state)
        return until(tried, what, lambda: f"{problem[0]}; {self._says()}", patience)

    def _state(self):
        try:
            return self.execute_script(_STATE)
        except WebDriverException:
            return None

    def _says(self):
        """What stands on the page, for whoever reads of a wait that failed."""
        try:
            said = self.execute_script(_SAYS)
        except WebDriverException as error:
            return f"the page cannot be asked: {error.msg}"
        return f"the page says {said}"

    def requests(self):
        """Addresses requested, web sockets included, since the last call."""
        addresses = []
        for entry in self.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                addresses.append(message["params"]["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                addresses.append(message["params"]["url"])
        return addresses

    def outside_hosts(self):
        """Hosts other than this machine asked for since the last call of `requests` or this."""
        hosts = {urlsplit(address).hostname for address in self.requests()}
        return {host for host in hosts if host not in (None, "", "127.0.0.1", "localhost")}

    def console_errors(self):
        """What the page logged as severe since the last call."""
        return [e["message"] for e in self.get_log("browser") if e["level"] == "SEVERE"]


@pytest.fixture(scope="session")
def dashboard(start_dashboard, tmp_path_factory):
    """One for files that choose a table of their own: a page comes back to the last table."""
    return start_dashboard(tmp_path_factory.mktemp("dashboard"))


@pytest.fixture(scope="module")
def own_dashboard(start_dashboard, tmp_path_factory):
    """One for a file that needs a first visit, or leaves a page that asks for a file."""
    running = start_dashboard(tmp_path_factory.mktemp("dashboard"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    chromium = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield chromium
    finally:
        chromium.quit()


def _program(name):
    path = shutil.which(name)
    assert path is not None, f"{name} is missing: apt-get install chromium chromium-driver"
    return path
