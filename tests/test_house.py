"""What `.ci/house.py`, which `make lint` runs, finds in the house is found."""

import ast
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "house.py"
house = SimpleNamespace(**runpy.run_path(str(SCRIPT)))


@pytest.mark.parametrize(
    ("figure", "target", "message"),
    [
        (1021, {"lines": 1000}, "merge or remove"),
        (1020, {"lines": 1000}, ""),
        (11, {"lines": 10}, "merge or remove"),
        (10, {"lines": 10}, ""),
        (1, {}, "lines has no target"),
    ],
)
def test_a_figure_above_its_ceiling_is_reported(figure, target, message):
    findings = house.above_targets({"lines": figure}, target)
    assert len(findings) == bool(message) and all(message in text for text in findings)


SOURCE = '''"""Doc."""
__all__ = ["a"]
import os


class A: ...
class B:
    class A: ...


def _once():  # a comment
    """Doc."""
    from rashomon_explorer.privacy import gdp
    found = import_module("rashomon_explorer.papers")
    return gdp, found


_once()
'''


def test_every_figure_counts_what_it_names():
    tree = ast.parse(SOURCE)
    assert house.code_lines(SOURCE, tree) == 10 and house.exported_names(tree) == {"a"}
    assert house.syntax_figures({"p.a": tree}) == {
        "import_lines": 2,
        "imports_in_functions": 1,
        "rooms_imported_by_a_string": 1,
        "class_names_used_twice": 1,
        "one_caller_functions": 1,
        "role_locals_per_1000": 500,
    }


@pytest.mark.parametrize(("reason", "found"), [("", ["Returns", "Raises"]), ("\n        Why.", [])])
def test_a_section_without_words_is_noticed(reason, found):
    sections = "Returns\n    -------\n    float{0}\n\n    Raises\n    ------\n    ValueError{0}"
    source = f'def give():\n    """Give it.\n\n    {sections}\n    """\n'
    bare = [text.split()[2] for text in house.bare_sections(ast.parse(source.format(reason)))]
    assert bare == found
