"""Which way the package's imports run, and what importing it costs."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rashomon_explorer"

# Lowest floor first. A module imports from floors below its own and from its own folder.
FLOORS = [
    {"exceptions", "_utils"}, {"data"}, {"rows"}, {"privacy"}, {"problem"}, {"mechanisms"},
    {"papers", "testing"}, {"sets"}, {"trees", "networks"}, {"measures", "estimators"}, {"release"},
    {"plots"}, {"report"}, {"audits"}, {"explorer"}, {"server"}, {"__init__"}, {"cli"},
    {"__main__"},
]  # fmt: skip
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""Modules by dotted name, with ``.__init__`` for a folder's own."""


_BY_NAME = re.compile(r"rashomon_explorer(\.\w+)+(:\w+)?")
"""A module, or a name in it, in a string: what `import_module` takes."""


@cache  # three tests read every module
def _imported(source, package):
    """Dotted names that a module of `package` imports anywhere, also by strings."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            above = f"{package}.".startswith(f"{node.value}.")  # for files, or entry points
            if _BY_NAME.fullmatch(node.value) and not above:
                found.append(node.value.replace(":", "."))
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            near = parents[: len(parents) + 1 - node.level] if node.level else []
            base = ".".join([*near, *([node.module] if node.module else [])])
            found += [f"{base}.{alias.name}" for alias in node.names]
    return tuple(found)


def _rooms(source, package=PACKAGE.name):
    """Rooms of the package that a module imports; names of its door are of ``__init__``."""
    words = [name.split(".") for name in _imported(source, package)]
    rooms = {one[1] if one[1:] else "__init__" for one in words if one[0] == PACKAGE.name}
    return {room if room in FLOOR else "__init__" for room in rooms}


def _arrows_back(source, room, package=PACKAGE.name):
    return sorted(to for to in _rooms(source, package) - {room} if FLOOR[to] >= FLOOR[room])


def _files(source, package, files):
    """Those of `files` that a module imports; ``folder.name`` is of the folder if it is no file."""
    names = _imported(source, package)
    return {name if name in files else name.rpartition(".")[0] for name in names} & set(files)


def _circle(sources):
    """Files that import each other, if any do."""
    named = {name.removesuffix(".__init__"): name for name in sources}
    arrows = {
        short: _files(sources[name], name.rpartition(".")[0], named) - {short}
        for short, name in named.items()
    }
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []


def test_imports_run_one_way():
    for name, source in SOURCES.items():
        room, package = name.split(".")[1], name.rpartition(".")[0]
        assert room in FLOOR, f"{room} has no floor: give it one here and in docs/architecture.md"
        assert _arrows_back(source, room, package) == [], name


def test_the_door_alone_knows_the_extension():
    packages = {name: name.rpartition(".")[0] for name in SOURCES}
    asking = {name for name in SOURCES if "papers" in _rooms(SOURCES[name], packages[name])}
    assert {name.split(".")[1] for name in asking} == {"papers", "__init__"}


def test_no_files_import_each_other_in_a_circle():
    assert _circle(SOURCES) == []


@pytest.mark.parametrize(
    "closing",
    [
        "from p.a import f",
        "from p import a",
        "from . import a",
        "from .a import f",
        "def late():\n    from p.a import f",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import f",
    ],
)
def test_a_circle_of_files_is_caught(closing):
    sources = {"p.__init__": "", "p.a": "from p.b import g", "p.b": "from p.c import h"}
    assert _circle({**sources, "p.c": "import numpy"}) == []
    assert _circle({**sources, "p.c": closing}) == ["p.a", "p.b", "p.c"]
    own = {"p.__init__": "from p.a import f", "p.a": "from p import name", "p.b": "import p"}
    assert _circle(own) == ["p", "p.a"]


@pytest.mark.parametrize(
    ("source", "room", "package", "expected"),
    [
        ("import rashomon_explorer.explorer", "privacy", "", ["explorer"]),
        ("def f():\n    from rashomon_explorer import RashomonSet", "mechanisms", "", ["__init__"]),
        ("from rashomon_explorer import sets", "mechanisms", "", ["sets"]),
        ("from ..problem import Problem", "rows", "rashomon_explorer.rows", ["problem"]),
        ("from .base import Loss", "problem", "rashomon_explorer.problem.losses", []),
        ("from rashomon_explorer.measures import ambiguity", "estimators", "", ["measures"]),
        ("import_module('rashomon_explorer.papers.constants')", "mechanisms", "", ["papers"]),
        ("entries = {'x': 'rashomon_explorer.sets.base:Set'}", "rows", "", ["sets"]),
    ],
)
def test_an_arrow_back_is_caught(source, room, package, expected):
    assert _arrows_back(source, room, package) == expected


FOLDERS = sorted(name.removesuffix(".__init__") for name in SOURCES if name.endswith(".__init__"))
# Each code in a process of its own, forked from one that holds libraries which any room may load.
_FORKED = """
import importlib, joblib, numpy, os, pandas, scipy.optimize, sys
def names(folder):
    room = importlib.import_module(folder)
    return [getattr(room, name) for name in getattr(room, "__all__", [])]
for code in sys.argv[1:]:
    if (child := os.fork()) == 0:
        exec(code)
        print(*sys.modules, flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed: {code}")
"""


def _forked(*codes):
    """Modules that each code loads."""
    command = [sys.executable, "-c", _FORKED, *codes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_every_room_has_the_names_that_it_exports():
    rooms = [importlib.import_module(folder) for folder in FOLDERS]
    exported = [(room, name) for room in rooms for name in getattr(room, "__all__", [])]
    assert [name for room, name in exported if not hasattr(room, name)] == []


@pytest.mark.law
def test_every_room_imports_alone():
    assert len(_forked(*(f"names({folder!r})" for folder in FOLDERS))) == len(FOLDERS)


_ARRAYS = """
import numpy as np
from rashomon_explorer import measures
from rashomon_explorer.measures import fairness, multiplicity
labels, y, groups = np.array([[0, 0, 1, 1], [0, 1, 1, 1]]), [0, 1, 0, 1], list("aabb")
measures.ambiguity(labels), measures.disagreement(labels), multiplicity.cohen_kappa(labels)
measures.rashomon_capacity(labels), multiplicity.score_std(labels)
measures.fairness_gaps(labels, y, groups), measures.frontier([0.1, 0.2], losses=[0.3, 0.2])
measures.importance_spread(labels, list("abcd"))
measures.ConfidenceSequence().update(labels.mean(axis=1))
"""
_ALL_OF_PRIVACY = """
import importlib, pkgutil
from rashomon_explorer import privacy
for module in pkgutil.walk_packages(privacy.__path__, "rashomon_explorer.privacy."):
    importlib.import_module(module.name)
assert privacy.compose([privacy.gdp(0.1), privacy.bounded_range(0.2)]).epsilon(1e-6) > 0
"""
_PAGE = {"plots", "report", "explorer", "server", "cli", "IPython", "ipywidgets", "plotly"}
_ABOVE_PRIVACY = set(FLOOR) - {"privacy", "_utils", "exceptions", "__main__"}
_MODELS = {"problem", "mechanisms", "papers", "sets", "trees", "estimators", "sklearn"}
_HEAVY = _PAGE - set(FLOOR) | {"voila", "jupyter_client", "anywidget", "scipy.stats"}


def _found(modules):
    """Modules, and rooms of the package and libraries that they are of."""
    words = [module.split(".") for module in modules]
    rooms = {word[1] if word[0] == PACKAGE.name and word[1:] else word[0] for word in words}
    return rooms | set(modules)


LOADED = {
    "package": ("import rashomon_explorer", _HEAVY),
    "measures": (
        "import rashomon_explorer.measures",
        _PAGE | _MODELS | {"rows", "data", "privacy"},
    ),
    "arrays": (_ARRAYS, _PAGE | _MODELS | {"data", "release"}),
    "privacy": (_ALL_OF_PRIVACY, _ABOVE_PRIVACY),
    "curves": ("import rashomon_explorer.privacy.tradeoff", {"dp_accounting"}),
    "estimators": (
        "import rashomon_explorer.estimators",
        _PAGE | {"release", "papers", "measures"},
    ),
    "set": ("from rashomon_explorer import RashomonSet", {"sklearn"}),
    "server": ("import rashomon_explorer.server", {"lark"}),
    "page": (
        "from rashomon_explorer import Explorer; Explorer()",
        {"rfc3987_syntax", "nbformat", "voila", "matplotlib"},
    ),
}


@pytest.fixture(scope="module")
def loaded():
    """What each code of ``LOADED`` loads, by its name."""
    modules = _forked(*(code for code, _ in LOADED.values()))
    return dict(zip(LOADED, map(_found, modules), strict=True))


@pytest.mark.parametrize("name", LOADED)
def test_a_room_loads_only_what_it_needs(name, loaded):
    assert loaded[name] & LOADED[name][1] == set()


def test_a_room_that_is_loaded_is_seen(loaded):
    assert {"measures", "numpy", "rashomon_explorer.measures.multiplicity"} <= loaded["arrays"]
    assert {"estimators", "sklearn", "plotly"} <= loaded["estimators"] | loaded["page"]
