"""A CSV file of one's own: a bad one is explained, a good one is drawn from."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.pages import Page

pytestmark = pytest.mark.browser


def test_bad_csv_is_explained_with_its_column_then_the_good_one_loads(
    browser: Any, dashboard: Any, tmp_path: Path
) -> None:
    page = Page(browser, dashboard)
    bad = tmp_path / "bad.csv"
    bad.write_text("age,income,repaid\n20,1000,yes\n30,many,no\n40,3000,yes\n")
    page.upload(bad)
    page.declare("age: 18, 90\nincome: 0, 9000")
    page.wait(lambda: "'income'" in page.alert, "the bad column")
    assert "line 3" in page.alert
    assert "Traceback" not in page.text("body")

    page.declare("age: 18 to 90\nincome: 0, 9000")
    page.wait(lambda: "18 to 90" in page.alert, "the bad line of the bounds")

    good = tmp_path / "good.csv"
    rows = [f"{20 + i % 60},{1000 + 37 * i % 8000},{'yes' if i % 3 else 'no'}" for i in range(300)]
    good.write_text("\n".join(["age,income,repaid", *rows]))
    page.upload(good)
    page.declare("age: 18, 90\nincome: 0, 9000")
    page.wait(lambda: "good: 300 rows" in page.status, "the good file")
    assert page.alert == ""
    page.draw()
    page.drawn()
    assert (dashboard.home / "good.ledger").is_file()
