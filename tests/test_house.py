"""The project stays within `tests/house_budget.toml`, and docstrings say more than types."""

import ast
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rashomon_explorer"
BUDGET = tomllib.loads((ROOT / "tests" / "house_budget.toml").read_text(encoding="utf-8"))
# A number far above what is measured no longer holds anything back.
SLACK = 0.02
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}


def exported_names(text):
    """Names of a module's ``__all__``."""
    return {
        name
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        for name in ast.literal_eval(node.value)
    }


def public_classes(text):
    """Public classes that a module defines."""
    nodes = ast.walk(ast.parse(text))
    return [n.name for n in nodes if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]


def modules_loaded(module):
    """Modules of the package that importing one loads, in a process of its own."""
    code = (
        f"import sys; import {module}; "
        "print(sum(m.split('.')[0] == 'rashomon_explorer' for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def measured():
    """Figures of the project by the names of the budget."""
    rooms = [text for name, text in SOURCES.items() if name.endswith(".__init__")]
    docs = ROOT / "docs"
    pages = [*docs.glob("*.md"), *docs.glob("theory/*.md")]
    words = [len(page.read_text(encoding="utf-8").split()) for page in pages]
    classes = [name for text in SOURCES.values() for name in public_classes(text)]
    tests = (ROOT / "tests").rglob("*.py")
    return {
        "package_lines": sum(text.count("\n") for text in SOURCES.values()),
        "package_files": len(SOURCES),
        "import_lines": sum(
            node.end_lineno - node.lineno + 1
            for text in SOURCES.values()
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
        ),
        "root_modules": len([p for p in PACKAGE.glob("*.py") if not p.name.startswith("__")]),
        "exported_names": len(set().union(*map(exported_names, rooms))),
        "class_names_used_twice": len({name for name in classes if classes.count(name) > 1}),
        "test_lines": sum(path.read_text(encoding="utf-8").count("\n") for path in tests),
        "docs_words": sum(words),
        "longest_page_words": max(words),
        "readme_lines": (ROOT / "README.md").read_text(encoding="utf-8").count("\n"),
        "modules_loaded_by_measures": modules_loaded("rashomon_explorer.measures"),
        "modules_loaded_by_estimators": modules_loaded("rashomon_explorer.estimators.linear"),
    }


def findings(figures, budget):
    """Figures above their budget, and budgets that may fall."""
    found = [f"{name} has no budget" for name in figures.keys() - budget.keys()]
    for name, limit in budget.items():
        figure = figures[name]
        if figure > limit:
            found.append(
                f"{name} is {figure:,}, budget {limit:,}: merge or remove as much, or raise the "
                "budget in a commit that says by how much and why"
            )
        elif figure < limit * (1 - SLACK) - 1:
            found.append(f"{name} is {figure:,}, budget {limit:,}: lower the budget")
    return found


def test_the_project_is_within_its_budget():
    assert findings(measured(), BUDGET) == []


@pytest.mark.parametrize(
    ("figure", "budget", "message"),
    [
        (101, {"lines": 100}, "merge or remove"),
        (90, {"lines": 100}, "lower the budget"),
        (100, {"lines": 100}, ""),
        (1, {}, "lines has no budget"),
    ],
)
def test_a_figure_beside_its_budget_is_reported(figure, budget, message):
    found = findings({"lines": figure}, budget)
    assert len(found) == bool(message) and all(message in one for one in found)
    assert exported_names('__all__ = ["a", "b"]\nc = 1') == {"a", "b"}
    assert public_classes("class A:\n    class B: ...\nclass _C: ...") == ["A", "B"]


def test_folders_hold_topics_that_are_named_by_words():
    """A folder has at least three modules or folders beside its ``__init__``."""
    topics = {
        folder: [*folder.glob("[!_]*.py"), *folder.glob("*/__init__.py")]
        for folder in {path.parent for path in PACKAGE.rglob("__init__.py")}
    }
    assert {str(folder): len(found) for folder, found in topics.items() if len(found) < 3} == {}
    assert [name for name in SOURCES if not re.fullmatch(r"[a-z_.]+", name)] == []


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


def test_sections_of_docstrings_say_more_than_a_type():
    found = {name: silent(text) for name, text in SOURCES.items()}
    assert {name: where for name, where in found.items() if where} == {}


@pytest.mark.parametrize(
    ("reason", "found"), [("", ["give: Returns", "give: Raises"]), ("\n        Why.", [])]
)
def test_a_section_without_words_is_noticed(reason, found):
    sections = "Returns\n    -------\n    float{0}\n\n    Raises\n    ------\n    ValueError{0}"
    source = f'def give():\n    """Give it.\n\n    {sections}\n    """\n'
    assert silent(source.format(reason)) == found
