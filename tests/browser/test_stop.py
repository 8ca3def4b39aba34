"""Stop answers at once, also while the sampler finds nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rashomon_explorer.privacy import Ledger
from tests.browser.pages import Page

pytestmark = pytest.mark.browser


def test_stop_keeps_what_was_drawn_and_what_was_spent(
    browser: Any, dashboard: Any, tmp_path: Path
) -> None:
    page = Page(browser, dashboard)
    names = [f"x{k}" for k in range(60)]
    page.upload(_noise(tmp_path / "noise.csv", names))
    page.declare("\n".join(f"{name}: -1, 1" for name in names))
    page.wait(lambda: "noise: 400 rows" in page.status, "the file")
    # 60 columns of noise on a wide ball: the exact sampler finds nothing, which is foretold once.
    page.button("More settings").click()
    page.type_number("Radius", "32")
    page.type_number("Budget ε", "100")
    page.type_number("Privacy price", "100")
    page.type_number("Draws", "5")
    page.draw()
    page.wait(lambda: "did not come" in page.alert, "the warning")
    assert not (dashboard.home / "noise.ledger").exists()
    page.draw()
    page.wait(lambda: page.status.startswith(("Drawing:", "Looking")), "the sampler at work")
    assert not page.button("Draw ").is_enabled()
    assert page.shown("progress")
    page.button("Stop").click()
    page.wait(lambda: page.button("Draw ").is_enabled(), "the end of the draw")
    assert page.status.startswith("Stopped")
    assert Ledger.open(dashboard.home / "noise.ledger").spent() == pytest.approx(100.0)
    assert page.text(".rx-spent-value") == "100"


def _noise(path: Path, names: list[str]) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        ",".join([*(f"{value:.3f}" for value in rng.uniform(-1, 1, len(names))), word])
        for word in rng.choice(["no", "yes"], 400)
    ]
    path.write_text("\n".join([",".join([*names, "target"]), *rows]), encoding="utf-8")
    return path
