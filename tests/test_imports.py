"""Which way the package's imports run, what importing it costs, and how short the notebooks are."""

import ast
import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.each import each

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rashomon_explorer"

# Lowest floor first. A module imports from floors below its own and from its own folder.
FLOORS = [
    {"exceptions", "_utils"},
    {"data"},
    {"rows"},
    {"privacy"},
    {"problem"},
    {"mechanisms"},
    {"papers"},
    {"sets"},
    {"trees"},
    {"measures", "estimators"},
    {"release"},
    {"plots"},
    {"report"},
    {"explorer"},
    {"server"},
    {"cli"},
    {"__main__"},
    {"__init__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

HEAVY = ["voila", "jupyter_client", "IPython", "ipywidgets", "anywidget", "plotly", "scipy.stats"]


def _room(module: str) -> str:
    """``rashomon_explorer.plots.theme`` is in the room ``plots``."""
    words = module.split(".")
    return words[1] if len(words) > 1 else "__init__"


@cache  # three tests look at every file
def _imports(source: str) -> list[ast.Import | ast.ImportFrom]:
    nodes = ast.walk(ast.parse(source))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def _imported_modules(source: str, package: str) -> list[str]:
    """Modules of this package that `source`, a module of `package`, imports anywhere."""
    found = []
    for node in _imports(source):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) + 1 - node.level], *base.split(".")])
                base = base.rstrip(".")
            if base == PACKAGE.name:
                rooms = [alias.name if alias.name in FLOOR else "" for alias in node.names]
                found += [f"{base}.{room}".rstrip(".") for room in rooms]
            else:
                found.append(base)
    return [module for module in found if module.split(".")[0] == PACKAGE.name]


def _imported_files(source: str, package: str, files: Collection[str]) -> set[str]:
    """Those of `files` that `source`, a module of `package`, imports anywhere.

    ``from folder import name`` is of the file ``folder.name`` if there is one, of the folder's
    ``__init__`` if not; what is for type checkers alone counts too.
    """
    found: list[str] = []
    for node in _imports(source):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            parents = package.split(".")
            near = parents[: len(parents) + 1 - node.level] if node.level else []
            base = ".".join([*near, *([node.module] if node.module else [])])
            deeper = [f"{base}.{alias.name}" for alias in node.names]
            found += [name if name in files else base for name in deeper]
    return {name for name in found if name in files}


def _circles(sources: Mapping[str, str]) -> list[list[str]]:
    """Files, by dotted name with ``.__init__`` for a folder's own, that import each other."""
    named = {name.removesuffix(".__init__"): name for name in sources}
    arrows = {}
    for short, name in named.items():
        package = name.rpartition(".")[0]
        arrows[short] = _imported_files(sources[name], package, named) - {short}
    reached = {name: _reached(name, arrows) for name in arrows}
    circles = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in arrows
        if name in reached[name]
    }
    return sorted(sorted(circle) for circle in circles)


def _reached(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    """Every file that one imports, or that what it imports does."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _arrows_back(source: str, room: str, package: str = "rashomon_explorer") -> list[str]:
    rooms = {_room(module) for module in _imported_modules(source, package)}
    return sorted(to for to in rooms - {room} if FLOOR[to] >= FLOOR[room])


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_imports_run_one_way() -> None:
    each(_modules(), _check_arrows, name=lambda path: str(path.relative_to(PACKAGE)))


def _check_arrows(path: Path) -> None:
    place = path.relative_to(PACKAGE)
    room = place.parts[0].removesuffix(".py")
    assert room in FLOOR, f"{room} has no floor: give it one here and in docs/architecture.md"
    package = ".".join([PACKAGE.name, *place.parts[:-1]])
    assert _arrows_back(path.read_text(encoding="utf-8"), room, package) == []


def test_nothing_of_the_product_imports_what_is_kept_to_compare_with() -> None:
    asking = {
        path.relative_to(PACKAGE).parts[0]
        for path in _modules()
        for module in _imported_modules(path.read_text(encoding="utf-8"), PACKAGE.name)
        if _room(module) == "papers"
    }
    assert asking == {"papers"}


def test_no_files_import_each_other_in_a_circle() -> None:
    sources = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in _modules()
    }
    assert _circles(sources) == []


@pytest.mark.parametrize(
    "closing",
    [
        "from p.a import f",
        "import p.a",
        "from p import a",
        "from . import a",
        "from .a import f",
        "def late():\n    from p.a import f",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import f",
    ],
)
def test_a_circle_of_files_is_caught(closing: str) -> None:
    sources = {"p.__init__": "", "p.a": "from p.b import g", "p.b": "from p.c import h"}
    assert _circles({**sources, "p.c": "import numpy"}) == []
    assert _circles({**sources, "p.c": closing}) == [["p.a", "p.b", "p.c"]]


def test_a_folders_own_file_closes_a_circle_too() -> None:
    sources = {"p.__init__": "from p.a import f", "p.a": "from p import name", "p.b": "import p"}
    assert _circles(sources) == [["p", "p.a"]]


@pytest.mark.parametrize(
    ("source", "room", "package", "expected"),
    [
        ("from rashomon_explorer.plots.theme import BLUE", "problem", "", ["plots"]),
        ("import rashomon_explorer.explorer", "privacy", "", ["explorer"]),
        ("def f():\n    from rashomon_explorer import RashomonSet", "mechanisms", "", ["__init__"]),
        ("from rashomon_explorer import sets", "mechanisms", "", ["sets"]),
        ("from ..problem import Problem", "rows", "rashomon_explorer.rows", ["problem"]),
        ("from .. import problem", "rows", "rashomon_explorer.rows", ["problem"]),
        ("from .base import Loss", "problem", "rashomon_explorer.problem.losses", []),
        (
            "from rashomon_explorer.problem.losses import Loss\nimport numpy",
            "mechanisms",
            "",
            [],
        ),
        ("from rashomon_explorer.measures import ambiguity", "estimators", "", ["measures"]),
    ],
)
def test_an_arrow_back_is_caught(source: str, room: str, package: str, expected: list[str]) -> None:
    assert _arrows_back(source, room, package) == expected


FOLDERS = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "rashomon_explorer").rglob("__init__.py")
)
# Each in a process of its own, forked from one that holds other libraries only.
_EACH_ALONE = """
import importlib, os, sys
import anywidget, ipywidgets, numpy, pandas, plotly.graph_objects, scipy.optimize, scipy.stats
import sklearn.linear_model, sklearn.model_selection, sqlite3
failed = []
for folder in sys.argv[1:]:
    if (child := os.fork()) == 0:
        room = importlib.import_module(folder)
        [getattr(room, name) for name in getattr(room, "__all__", [])]
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(folder)
print(*failed)
"""


@pytest.mark.parametrize(
    "folders",
    [
        [folder for folder in FOLDERS if folder.count(".") == 1],
        pytest.param(
            [folder for folder in FOLDERS if folder.count(".") > 1], marks=pytest.mark.law
        ),
    ],
    ids=["rooms", "folders"],
)
def test_every_room_imports_alone(folders: list[str]) -> None:
    """With every name that it exports."""
    command = [sys.executable, "-c", _EACH_ALONE, *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


# Rooms of the package, and other libraries, that a statement may load, and those that it may not.
_ARRAYS = """
import numpy as np
from rashomon_explorer import measures
from rashomon_explorer.measures import fairness, multiplicity
labels, y, groups = np.array([[0, 0, 1, 1], [0, 1, 1, 1]]), [0, 1, 0, 1], list("aabb")
measures.ambiguity(labels), measures.disagreement(labels), multiplicity.cohen_kappa(labels)
measures.rashomon_capacity(labels), measures.by_group("score_std", labels, groups)
measures.fairness_gaps(labels, y, groups), measures.frontier([0.1, 0.2], losses=[0.3, 0.2])
measures.importance_spread(labels, list("abcd")), measures.rashomon_ratio([0.1, 0.2], psi=0.1)
measures.disagreement_decomposition(labels, inside=np.array([True, True]))
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


def _loaded(code: str) -> set[str]:
    """Rooms of the package, and other libraries, that some code loads in a process of its own."""
    code += "\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [module.split(".") for module in done.stdout.split()]
    return {one[1] if one[0] == PACKAGE.name and one[1:] else one[0] for one in names}


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("import rashomon_explorer.measures", _PAGE | _MODELS | {"rows", "data", "privacy"}),
        (_ARRAYS, _PAGE | _MODELS | {"data", "release"}),
        (_ALL_OF_PRIVACY, _ABOVE_PRIVACY),
        ("import rashomon_explorer.estimators", _PAGE | {"release", "papers", "measures"}),
    ],
    ids=["measures", "measures of arrays", "privacy", "estimators"],
)
def test_a_room_loads_only_what_it_needs(code: str, refused: set[str]) -> None:
    assert _loaded(code) & refused == set()


def test_a_room_that_is_loaded_is_seen() -> None:
    assert {"measures", "sets", "numpy"} <= _loaded("import rashomon_explorer.measures.reliance")


def test_importing_the_package_is_cheap() -> None:
    code = f"import rashomon_explorer, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_a_set_imports_no_estimators_of_others() -> None:
    code = "from rashomon_explorer import RashomonSet; import sys; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_starting_the_server_builds_no_grammars_of_addresses() -> None:
    code = "import rashomon_explorer.server, sys; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_cheapness_test_sees_an_import() -> None:
    code = f"import ipywidgets, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ipywidgets" in done.stdout


def _notebooks() -> list[Path]:
    return sorted(path for path in (ROOT / "apps").glob("*.ipynb"))


def test_the_explorer_is_a_notebook() -> None:
    assert ROOT / "apps" / "explorer.ipynb" in _notebooks()


@pytest.mark.parametrize("path", _notebooks(), ids=lambda path: path.name)
def test_notebooks_are_short_and_saved_without_output(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert len(cells) <= 3 or path.name != "explorer.ipynb"
    for cell in cells:
        lines = "".join(cell["source"]).splitlines()
        assert len(lines) <= 10 or cell["cell_type"] == "markdown"
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
