"""Settings every test runs under, and the dashboard as a process."""

import os

# Before numpy is imported: on a small machine the threads of BLAS fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import inspect
import itertools
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from hypothesis import is_hypothesis_test, settings

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from tests.patience import until

_SAME_EVERYWHERE: dict[str, Any] = {"deadline": None, "derandomize": True, "print_blob": True}
settings.register_profile("ci", max_examples=30, **_SAME_EVERYWHERE)
settings.register_profile("laws", max_examples=100, **_SAME_EVERYWHERE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Looking for circles after every 700 new objects takes a twentieth of all time.
gc.set_threshold(50_000, 20, 50)

HERE = Path(__file__).parent
HEAR_WARNINGS = {"test_warnings.py", "test_preflight.py"}


def _laws_alone(config):
    return str(config.option.markexpr).strip() == "law"


def _is_law(marks):
    return any(mark.name == "law" for mark in marks)


def _without_laws(mark):
    """A parametrisation without the sets of parameters that are laws."""
    if mark.name != "parametrize":
        return mark
    names, values, *others = mark.args
    values = list(values)  # of a generator, too
    quick = [not _is_law(getattr(value, "marks", ())) for value in values]
    options = dict(mark.kwargs)
    if isinstance(options.get("ids"), list | tuple):
        options["ids"] = list(itertools.compress(options["ids"], quick))
    return pytest.mark.parametrize(
        names, list(itertools.compress(values, quick)), *others, **options
    ).mark


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, obj):
    """Make no tests of laws where ``-m "not law"`` would throw them away: they are a third."""
    marks = list(getattr(obj, "pytestmark", ())) if inspect.isfunction(obj) else []
    if not marks or str(collector.config.option.markexpr).strip() != "not law":
        return None
    if _is_law(marks):
        return []
    obj.pytestmark = [_without_laws(mark) for mark in marks]
    parameters = [m.args[1] for m in obj.pytestmark if m.name == "parametrize"]
    return None if all(parameters) else []


def pytest_configure(config):
    """Properties are tried on more examples among the laws, see below."""
    if _laws_alone(config) and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("laws")


ANNOUNCEMENT = "Rashomon Explorer is at "


class RunningDashboard:
    """The command's process, its address and the folder it was started in."""

    def __init__(self, home, command, environment):
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self._log = home.with_suffix(".log")
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                cwd=home,
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def url(self):
        """The address it printed, waited for."""
        self.wait()
        return self.log().split(ANNOUNCEMENT)[1].splitlines()[0]

    def at(self, query):
        """The address with a query of one's own added to its token."""
        return f"{self.url}&{query}"

    @property
    def token(self):
        return urlsplit(self.url).query.removeprefix("token=")

    @property
    def port(self):
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def log(self):
        """What the process and its kernels have printed so far."""
        return self._log.read_text()

    def kernels(self):
        """The kernels now running, the preheated one included."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if _is_kernel(child)]

    def wait(self):
        """Return once the command has said where it is, and fail with its log if it does not."""
        until(self._announced, "the dashboard to start", self.log)

    def stop(self):
        """Interrupt it as Ctrl-C does and return its exit status."""
        self.process.send_signal(signal.SIGINT)
        try:
            until(lambda: self.process.poll() is not None, "the dashboard to stop", self.log)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def _announced(self):
        if self.process.poll() is not None:
            pytest.fail(f"the dashboard did not start:\n{self.log()}", pytrace=False)
        return ANNOUNCEMENT in self.log() and self.log().endswith("\n")


@pytest.fixture(scope="session")
def start_dashboard():
    """Start the command in a folder of its own, without opening a browser unless asked to."""
    started = []

    def start(
        home, *arguments, program=(sys.executable, "-m", "rashomon_explorer"), environment=None
    ):
        words = arguments or ("--no-browser", "--port", str(free_port()))
        started.append(RunningDashboard(home, [*program, *words], environment or {}))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.stop()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for doctests in the package alone: tests have none."""
    found = yield
    return [one for one in found if type(one).__name__ != "DoctestModule"]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Plans that a module makes when it is imported are of small tables, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark properties as laws where laws alone run, leave slow tests out, silence weak plans.

    The plans of tests are of small tables, which no budget suits; doctests keep the warning.
    """
    quiet = pytest.mark.filterwarnings(
        "ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning",
        "ignore::rashomon_explorer.exceptions.HopelessDrawWarning",
        "ignore::rashomon_explorer.exceptions.RadiusBindsWarning",  # whose classes are separated
    )
    if not os.environ.get("SLOW") and str(config.option.markexpr).strip() == "not law":
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    for item in items:
        if _laws_alone(config) and is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("law")
        if HERE in item.path.parents and item.path.name not in HEAR_WARNINGS:
            item.add_marker(quiet, append=False)


def free_port():
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _is_kernel(process):
    try:
        return "ipykernel_launcher" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
