"""Every line of Python in the pages of docs/ does what the page says."""

import doctest
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs").glob("*.md"))
TOLERANT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_show_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for the files that examples write
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=TOLERANT)
    assert outcome.failed == 0


@pytest.mark.parametrize("place", ["README.md", "apps/explorer.ipynb"])
def test_what_the_front_page_and_the_notebook_import_is_there(place: str) -> None:
    text = (PAGES[0].parents[1] / place).read_text(encoding="utf-8")
    lines = re.findall(r"from rashomon_explorer[\w.]* import [\w, ]+", text)
    assert lines
    exec("\n".join(lines), {})
