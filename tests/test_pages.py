"""Every line of Python in the pages of docs/ and benchmarks/ does what the page says."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
RESULTS = sorted((ROOT / "benchmarks").rglob("*.md"))
TOLERANT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LINK = re.compile(
    r"\]\(((?:(?:\.\./)*[\w/-]+\.\w+)?)(?:#([\w-]+))?\)"
)  # not the brackets of a formula
FRONT_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, *RESULTS], ids=lambda page: page.stem)
def test_pages_show_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for the files that examples write
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=TOLERANT)
    assert outcome.failed == 0


def test_snippets_of_the_front_page_run_twice_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```", FRONT_PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(snippets) >= 3
    for _ in range(2):
        names: dict[str, object] = {}
        for snippet in snippets:
            exec(snippet, names)
    printed = capsys.readouterr().out
    assert printed.count("0.028") == 2  # the figure in the comment beside it
    assert printed.count("20 models") == 2


def test_links_of_the_front_page_and_of_the_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *PAGES, *RESULTS]:
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            place = page.parent / target if target else page
            assert place.exists(), (page.name, target)
            if anchor:
                assert anchor in _anchors(place.read_text(encoding="utf-8")), (page.name, anchor)


def _anchors(text: str) -> set[str]:
    """Anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(([\w-]+\.md)\)", index)
    assert sorted(listed) == sorted(page.name for page in PAGES if page.name != "README.md")


def test_what_the_notebook_imports_is_there() -> None:
    text = (ROOT / "apps" / "explorer.ipynb").read_text(encoding="utf-8")
    lines = re.findall(r"from rashomon_explorer[\w.]* import [\w, ]+", text)
    assert lines
    exec("\n".join(lines), {})
