"""docs/theory/: its examples run, its links have a target, and every cited section exists."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "docs" / "theory.md"
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
MOST_WORDS = 2_600


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run_and_a_page_is_short(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


def broken_links(page: Path) -> list[str]:
    """Relative links of a page whose file or anchor does not exist."""
    found = re.findall(r"\]\(([\w/.-]+\.md)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8"))
    broken = []
    for file, anchor in found:
        target = page.parent / file
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{file}#{anchor}")
    return broken


def anchors(page: Path) -> set[str]:
    """Anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.stem)
def test_every_link_has_its_page_and_anchor(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    """Negative control of the test above."""
    (tmp_path / "b.md").write_text("## A title, here\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md#a-title-here) [2](b.md#other) [3](c.md)\n", encoding="utf-8")
    assert broken_links(page) == ["b.md#other", "c.md#"]


def test_the_index_has_every_page_and_every_cited_section() -> None:
    """Docstrings, messages and stored guarantees cite sections of docs/theory.md by number."""
    index = INDEX.read_text(encoding="utf-8")
    sections: dict[str, str] = {}
    for page in PAGES:
        assert f"(theory/{page.name})" in index
        for number in re.findall(r"^## (\d+)\. ", page.read_text("utf-8"), re.MULTILINE):
            assert number not in sections, (number, page.name, sections[number])
            sections[number] = page.name
    assert set(re.findall(r"§(\d+)", index)) == set(sections)
    sources = [*(ROOT / "rashomon_explorer").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    cited = set(re.findall(r"theory(?:\.md)?(?:\]\([\w./]+\))? §(\d+)", text))
    assert len(cited) > 10 and cited <= set(sections)
