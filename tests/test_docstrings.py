"""Sections of docstrings say more than a type."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "rashomon_explorer"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def silent(source):
    """Returns that are types alone, and errors without the reason for them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        _, *sections = SECTION.split(ast.get_docstring(node) or "")
        for title, text in zip(sections[::2], sections[1::2], strict=True):
            indented = [line.startswith(" ") for line in text.splitlines() if line.strip()]
            bare = any(not one and not after for one, after in pairwise([*indented, False]))
            if (title in ("Returns", "Yields") and not any(indented)) or (
                title == "Raises" and bare
            ):
                found.append(f"{node.name}: {title}")
    return found


def test_no_section_is_a_type_alone():
    found = {path.name: silent(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert len(found) > 100 and {name: where for name, where in found.items() if where} == {}


@pytest.mark.parametrize(
    ("reason", "found"), [("", ["give: Returns", "give: Raises"]), ("\n        Why.", [])]
)
def test_a_section_without_words_is_noticed(reason, found):
    sections = "Returns\n    -------\n    float{0}\n\n    Raises\n    ------\n    ValueError{0}"
    source = f'def give():\n    """Give it.\n\n    {sections}\n    """\n'
    assert silent(source.format(reason)) == found
