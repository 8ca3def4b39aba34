"""Reports in a real browser that has no network: figures drawn, nothing asked for, no errors."""

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.report import report

pytestmark = pytest.mark.browser

DRAWN = "return document.body.dataset.figures"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (300, 3))
    y = (X[:, 0] + 0.2 * rng.normal(size=300) > 0).astype(int)
    clf = RashomonClassifier(psi=0.05, epsilon=400.0, n_draws=15, random_state=0).fit(X, y)
    folder, models = tmp_path_factory.mktemp("reports"), clf.rashomon_set_
    groups = np.where(rng.random(300) < 0.5, "<b>north</b>", "south")
    return {
        "curator": report(models, folder / "curator.html", X, y, groups=groups),
        "release": report(models.release(), folder / "release.html"),
    }


@pytest.fixture
def offline(browser):
    browser.get("about:blank")  # what another page still sends as it closes is sent by now
    browser.execute_cdp_cmd("Network.enable", {})
    cut = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", cut)
    try:
        yield browser
    finally:
        back = {**cut, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", back)
        browser.get("about:blank")


@pytest.mark.parametrize("edition", ["curator", "release"])
def test_a_report_is_whole_without_a_network(edition, reports, offline):
    offline.requests()
    offline.console_errors()
    offline.get(reports[edition].as_uri())
    told = offline.until(lambda: offline.execute_script(DRAWN), "the figures")
    drawn, wanted = map(int, told.split(" of "))
    assert drawn == wanted > 3
    traces = "return [...document.querySelectorAll('.plot')].every(p => p.querySelector('.trace'))"
    assert offline.execute_script(traces)
    assert offline.console_errors() == []
    inner = ("data:", "blob:")
    assert [one for one in offline.requests() if not one.startswith(inner)] == [
        reports[edition].as_uri()
    ]
    tried = offline.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "fetch('http://127.0.0.1:9/').then(() => done('sent'), error => done(String(error)))"
    )
    assert "TypeError" in tried  # what would leave it is refused
    assert any("Content Security Policy" in line for line in offline.console_errors())


def test_a_report_fits_a_telephone_in_the_dark(reports, browser):
    size = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    try:
        browser.get(reports["curator"].as_uri())
        browser.until(lambda: browser.execute_script(DRAWN), "the figures")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 420
        ink = "return getComputedStyle(document.querySelector('.gtitle')).fill"
        assert browser.execute_script(ink) == "rgb(232, 234, 239)"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
