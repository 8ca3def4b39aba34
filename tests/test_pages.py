"""Every line of Python in the pages of docs/ does what the page says; every link has its target."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NAMES = [str(page.relative_to(DOCS).with_suffix("")) for page in PAGES]
TOLERANT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_pages_show_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for the files that examples write
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=TOLERANT)
    assert outcome.failed == 0


def anchors(page: Path) -> set[str]:
    """Anchors of a page: its headings as GitHub spells them, and those set by hand."""
    text = page.read_text(encoding="utf-8")
    titles = [title.strip().lower() for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    spelled = {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}
    return spelled | set(re.findall(r'<a id="([^"]+)">', text))


def broken_links(page: Path) -> list[str]:
    """Relative links of a page whose file or anchor does not exist."""
    found = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)", page.read_text("utf-8"))
    broken = []
    for file, anchor in found:
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{file}#{anchor}")
    return broken


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=[*NAMES, "README"])
def test_every_link_has_its_page_and_anchor(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    """Negative control of the test above."""
    (tmp_path / "b.md").write_text("## A title, here\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md#a-title-here) [2](b.md#other) [3](c.md)\n", encoding="utf-8")
    assert broken_links(page) == ["b.md#other", "c.md#"]


def test_the_index_of_the_theory_has_every_section_that_is_cited() -> None:
    """Docstrings, messages and stored guarantees cite sections of docs/theory.md by number."""
    index = (DOCS / "theory.md").read_text(encoding="utf-8")
    sections: dict[str, str] = {}
    for page in sorted((DOCS / "theory").glob("*.md")):
        assert f"(theory/{page.name})" in index
        for number in re.findall(r"^## (\d+)\. ", page.read_text("utf-8"), re.MULTILINE):
            assert number not in sections, (number, page.name, sections[number])
            sections[number] = page.name
    listed = set(re.findall(r"§(\d+)", index))
    assert listed == set(sections)
    sources = [*(ROOT / "rashomon_explorer").rglob("*.py"), *PAGES]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    cited = set(re.findall(r"theory(?:\.md)?(?:\]\([\w./]+\))? §(\d+)", text))
    assert len(cited) > 10 and cited <= set(sections)


@pytest.mark.parametrize("place", ["README.md", "apps/explorer.ipynb"])
def test_what_the_front_page_and_the_notebook_import_is_there(place: str) -> None:
    text = (ROOT / place).read_text(encoding="utf-8")
    lines = re.findall(r"from rashomon_explorer[\w.]* import [\w, ]+", text)
    assert lines
    exec("\n".join(lines), {})
