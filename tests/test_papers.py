"""docs/papers.md: what it names is there, and every row has a test or a reason."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| statement")
]


@cache
def named_in(file):
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def found(name):
    """Object of a dotted name below the package: the longest module, and what is in it."""
    words = name.split(".")
    for cut in range(len(words), 0, -1):
        try:
            known = importlib.import_module(".".join(["rashomon_explorer", *words[:cut]]))
        except ModuleNotFoundError:
            continue
        for word in words[cut:]:
            known = getattr(known, word)
        return known
    raise ModuleNotFoundError(name)


def test_every_statement_has_code_and_a_test_or_a_reason():
    assert len(re.findall(r"^## ", PAGE, re.MULTILINE)) == 6 and len(ROWS) > 90
    for statement, code, *tests in ROWS:
        if code.startswith("not here: "):
            assert len(code) > 20 and not any(tests), statement
            continue
        named = re.findall(r"`([\w.]+\.\w+)`", code)
        assert statement and named and all(found(name) is not None for name in named), statement
        cited = re.findall(r"`([\w/]+\.py)::(\w+)`", tests[0])
        assert cited and all(test in named_in(file) for file, test in cited), statement


def test_a_name_that_is_gone_is_noticed():
    with pytest.raises(AttributeError):
        found("papers.instances.no_such_thing")
    assert "test_no_such_thing" not in named_in("test_papers.py")
