"""The dashboard's page: seconds to its first figure, and what thousands of models cost it."""

import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from benchmarks.machine import machine
from benchmarks.measured import write_result

RESULTS = Path(__file__).parent / "results" / "page.json"
LIMITS = {"preheated": 2.0, "cold": 6.0, "megabytes": 8.0, "updates": 5.0}
"""Seconds to the first figure, HTTP and socket together, figures drawn anew a second at least."""

_PROBE = (Path(__file__).parent / "page_probe.js").read_text(encoding="utf-8")
_ROOT = Path(__file__).resolve().parents[1]
_OURS = ("-m", "rashomon_explorer", "--no-browser", "--port")
_LIVE = ("-m", "benchmarks.live_page")
_WAIT = 180.0
_QUIET = 2.5  # seconds without work after which a program is ready
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,800",
)
_HTTP = """return ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""
_DRAW = """const seen = [...document.querySelectorAll("button")].filter((b) => b.offsetWidth);
const draw = seen.find((b) => b.textContent.startsWith("Draw "));
draw.click();
return performance.timeOrigin + performance.now();"""


def measure(visits: int = 3) -> dict[str, Any]:
    """Open pages, each with a server and a browser of its own, and draw on one of many models."""
    return {
        "machine": machine(),
        "load": os.getloadavg()[0],
        "preheated": _visits(visits, ready=True),
        "cold": _visits(visits, ready=False),
        "live": _live(),
    }


def write(measured: dict[str, Any]) -> None:
    """Write the figures beside the others."""
    write_result(RESULTS, measured)


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Say each figure beside its limit; a ratio below 1 is within it."""
    yield f"load of the machine when it began: {measured['load']:.1f}"
    for name in ("preheated", "cold"):
        found, limit = measured[name], LIMITS[name]
        work = ", ".join(f"{who} {used:.2f}" for who, used in found["cpu"].items())
        yield (
            f"first figure, {name}: {found['seconds']:.2f} s of {limit:g} "
            f"(ratio {found['seconds'] / limit:.2f}); CPU seconds: {work}"
        )
    live = measured["live"]
    yield (
        f"{live['models']:,} models × {live['people']:,} people drawn in {live['seconds']:.1f} s: "
        f"{live['updates']:.1f} updates a second of {LIMITS['updates']:g} at least "
        f"(ratio {LIMITS['updates'] / max(live['updates'], 1e-9):.2f})"
    )
    yield (
        f"loaded by then: {live['megabytes']:.1f} MB of {LIMITS['megabytes']:g} as they are sent "
        f"(ratio {live['megabytes'] / LIMITS['megabytes']:.2f}), HTTP {live['http']:.1f} of them; "
        f"the socket's {live['unpacked']:.1f} before packing; kernel {live['kernel_mib']} MiB"
    )


def _visits(times: int, *, ready: bool) -> dict[str, Any]:
    found = [_visit(ready) for _ in range(times)]
    middle = statistics.median(one["seconds"] for one in found)
    whose = found[0]["cpu"]
    return {
        "seconds": round(middle, 3),
        "all": [round(one["seconds"], 3) for one in found],
        "cpu": {who: statistics.median(one["cpu"][who] for one in found) for who in whose},
    }


def _visit(ready: bool) -> dict[str, Any]:
    """Open the page once: with its program waiting for it, or as soon as the server answers."""
    with _browser() as browser, _server(_OURS, ready=ready) as (url, server, _):
        before = _used(browser, server)
        asked = time.time()
        browser.get(url)
        first = _until(lambda: browser.execute_script("return __told.first"), "the first figure")
        after = _used(browser, server)
        cpu = {who: round(after[who] - before.get(who, 0.0), 2) for who in after}
        return {"seconds": first / 1000 - asked, "cpu": cpu}


def _live() -> dict[str, Any]:
    """Draw thousands of models and count what the browser draws meanwhile."""
    from benchmarks.live_page import MODELS, PEOPLE

    with _browser() as browser, _server(_LIVE, ready=True) as (url, server, port):
        browser.get(url)
        _until(lambda: browser.execute_script("return __told.first"), "the first figure")
        time.sleep(_QUIET)
        began = browser.execute_script(_DRAW)
        ended = _until(lambda: _ended(browser), "the end of the draw")
        time.sleep(_QUIET)
        told = browser.execute_script("return __told")
        drawn = [at for at, name in told["drawn"] if began <= at <= ended and name == "losses"]
        return {
            "models": MODELS,
            "people": PEOPLE,
            "seconds": round((ended - began) / 1000, 2),
            "updates": round(1000 * len(drawn) / (ended - began), 2),
            "megabytes": round(_sent(port) / 1e6, 2),
            "http": round(browser.execute_script(_HTTP) / 1e6, 2),
            "unpacked": round(told["socket"] / 1e6, 2),
            "kernel_mib": max(one.memory_info().rss for one in server.children()) >> 20,
        }


def _ended(browser: Chrome) -> float | None:
    said = browser.execute_script("return __told.status")
    return next((at for at, words in said if words.startswith("Drew ")), None)


def _sent(port: int) -> int:
    """Count bytes that the server sent over the connections that are open; needs iproute2."""
    command = ["ss", "-tinH", "sport", "=", f":{port}"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sum(map(int, re.findall(r"bytes_sent:(\d+)", told)))


@contextmanager
def _browser() -> Iterator[Chrome]:
    """Start a browser that has seen nothing before."""
    profile = tempfile.mkdtemp(prefix="profile-")
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    browser = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.get("about:blank")
        probe = {"source": f"{{{_PROBE}}}"}
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", probe)
        yield browser
    finally:
        browser.quit()
        shutil.rmtree(profile, ignore_errors=True)


@contextmanager
def _server(module: Sequence[str], *, ready: bool) -> Iterator[tuple[str, psutil.Process, int]]:
    """Start a dashboard in an empty folder: its address, its process and its port."""
    with tempfile.TemporaryDirectory(prefix="home-") as home, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        log = Path(home) / "log"
        places = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])
        with log.open("w") as told:
            process = subprocess.Popen(
                [sys.executable, *module, str(port)],
                cwd=home,
                env={**os.environ, "PYTHONPATH": places},
                stdout=told,
                stderr=told,
            )
        try:
            url = _until(lambda: re.search(r"http://\S+", log.read_text()), "the server")[0]
            server = psutil.Process(process.pid)
            if ready:
                _until(lambda: _waits(server), "a program that waits")
            yield url, server, port
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_WAIT)


def _waits(server: psutil.Process) -> bool:
    """Whether a program has been made and has nothing more to do."""
    before = [_seconds(one) for one in server.children()]
    time.sleep(_QUIET)
    after = [_seconds(one) for one in server.children()]
    return bool(after) and min(after) > 1 and sum(after) - sum(before) < 0.05 * _QUIET


def _used(browser: Chrome, server: psutil.Process) -> dict[str, float]:
    """Add up CPU seconds so far of the page, the browser around it, the server and programs."""
    used = {"page": 0.0, "browser": 0.0, "server": _seconds(server), "program": 0.0}
    for one in psutil.Process(browser.service.process.pid).children(recursive=True):
        used["page" if "--type=renderer" in _words(one) else "browser"] += _seconds(one)
    used["program"] = sum(_seconds(one) for one in server.children())
    return used


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def _until(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + _WAIT
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{what} did not come in {_WAIT:g} s")
