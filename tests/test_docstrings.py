"""What docstrings promise to a reader: no section that says nothing."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.each import each

PACKAGE = Path(__file__).resolve().parent.parent / "rashomon_explorer"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def _sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Each section's name and its lines."""
    titles = list(SECTION.finditer(doc))
    for place, title in enumerate(titles):
        end = titles[place + 1].start() if place + 1 < len(titles) else len(doc)
        yield title.group(1), [line for line in doc[title.end() : end].splitlines() if line.strip()]


def silent(source: str) -> list[str]:
    """Returns that are types alone, and errors without the reason for them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for title, lines in _sections(ast.get_docstring(node) or ""):
            said = [line.startswith(" ") for line in lines]
            bare = any(not first and not second for first, second in pairwise([*said, False]))
            if (title in ("Returns", "Yields") and not any(said)) or (title == "Raises" and bare):
                found.append(f"{node.name}: {title}")
    return found


def test_no_section_repeats_a_type_and_says_nothing() -> None:
    each(PACKAGE.rglob("*.py"), _check_sections)


def _check_sections(path: Path) -> None:
    assert silent(path.read_text(encoding="utf-8")) == []


def test_a_section_without_words_is_noticed() -> None:
    """Negative control of the test above."""
    sections = "Returns\n    -------\n    float{0}\n\n    Raises\n    ------\n    ValueError{0}"
    source = f'def give():\n    """Give it.\n\n    {sections}\n    """\n'
    assert silent(source.format("")) == ["give: Returns", "give: Raises"]
    assert silent(source.format("\n        In words.")) == []
