"""A room shows a list that one can read, and the rooms below it; docs name what is there."""

import importlib
import inspect
import pkgutil
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rashomon_explorer
from rashomon_explorer import exceptions, measures
from rashomon_explorer.plots.figures import FIGURES

ROOMS = {
    "measures": {"decomposition", "fairness", "importance", "multiplicity", "ranges", "reliance"},
    "mechanisms": set(),
    "privacy": {"audit", "composition", "ledger", "tradeoff"},
    "problem.losses": set(),
    "problem.lower_bounds": set(),
    "release": set(),
}
MOST = {"measures": 51, "mechanisms": 26, "privacy": 28}
PACKAGE = Path(measures.__file__).parents[1]
MAP = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")


def room(name):
    return importlib.import_module(f"rashomon_explorer.{name}")


@pytest.mark.parametrize("name", sorted(ROOMS))
def test_a_room_shows_a_short_list_with_docstrings_and_the_rooms_below(name):
    exported, shown = room(name).__all__, dir(room(name))
    assert sorted(shown) == sorted({*exported, *ROOMS[name]})
    assert len(exported) <= MOST.get(name, len(exported))
    for one in shown:
        found = getattr(room(name), one)
        if one in exported and (callable(found) or isinstance(found, ModuleType)):
            assert (found.__doc__ or "").strip(), one


def test_every_file_that_the_map_names_is_there():
    """In docs/architecture.md a name is from the top, or from a folder of the one before it."""
    named = re.findall(r"`([\w/]+(?:\.py|/))`", MAP)
    assert len(named) > 20
    here = PACKAGE
    for name in named:
        found = [root / name for root in (PACKAGE, here, *here.parents) if (root / name).exists()]
        assert found, f"docs/architecture.md names {name}, which is not there"
        here = found[0] if found[0].is_dir() else found[0].parent


def test_the_walk_names_functions_that_are_there_in_at_most_nine_rooms():
    walk = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)` \|", MAP, re.MULTILINE)
    assert 0 < len(walk) <= 9
    for file, function in walk:
        assert f"def {function}(" in (PACKAGE / file).read_text(encoding="utf-8"), (file, function)


def test_all_names_can_be_imported_without_the_extra_for_the_page(monkeypatch):
    whole = runpy.run_path(str(PACKAGE / "__init__.py"))["__all__"]
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert set(whole) - set(runpy.run_path(str(PACKAGE / "__init__.py"))["__all__"]) == {"Explorer"}


SHOWN = {
    plotter.__name__
    for spec in FIGURES.values()
    for plotter in (spec.plot, spec.code, spec.release_plot)
    if plotter is not None
}
"""Functions of figures, for which page and report print the line of Python that draws them."""


def exported(package=rashomon_explorer):
    """Classes and functions of this package that its rooms export."""
    rooms = [entry.name for entry in pkgutil.iter_modules(package.__path__)]
    for name in ["", *(f".{name}" for name in rooms if not name.startswith("_"))]:
        module = importlib.import_module(package.__name__ + name)
        for item in (getattr(module, name) for name in getattr(module, "__all__", [])):
            is_code = inspect.isclass(item) or inspect.isroutine(item)
            if is_code and item.__module__.startswith(package.__name__):
                yield item


def has_example(item):
    return ">>> " in (item.__doc__ or "")


def test_every_exported_class_and_function_has_an_example():
    """Errors and warnings stand in docs/errors.md, and figures are shown where they are drawn."""
    without = {item for item in exported() if not has_example(item)}
    assert not has_example(exported) and len(without) < 40
    elsewhere = {item for item in without if item.__name__ in SHOWN}
    elsewhere |= {item for item in without if item.__module__ == exceptions.__name__}
    assert sorted(item.__name__ for item in without - elsewhere) == []
