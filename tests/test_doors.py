"""What a room shows is what is meant to be used: a list one can read, and the rooms below it."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from rashomon_explorer import measures

ROOMS = {
    "measures": {
        "decomposition",
        "fairness",
        "importance",
        "multiplicity",
        "ranges",
        "reliance",
    },
    "mechanisms": set(),
    "privacy": {"audit", "composition", "ledger", "tradeoff"},
    "problem.losses": set(),
    "problem.lower_bounds": set(),
    "release": set(),
}


def room(name: str) -> ModuleType:
    return importlib.import_module(f"rashomon_explorer.{name}")


@pytest.mark.parametrize("name", sorted(ROOMS))
def test_a_room_shows_its_list_and_the_rooms_below(name: str) -> None:
    shown = dir(room(name))
    assert set(shown) == {*room(name).__all__, *ROOMS[name]}
    assert len(set(shown)) == len(shown)
    assert all(hasattr(room(name), one) for one in shown)


@pytest.mark.parametrize(("name", "most"), [("measures", 50), ("mechanisms", 26), ("privacy", 28)])
def test_a_list_is_short_enough_to_be_read(name: str, most: int) -> None:
    assert len(room(name).__all__) <= most


@pytest.mark.parametrize("name", measures.__all__)
def test_a_measure_is_in_one_room_or_in_the_file_on_stopping(name: str) -> None:
    rooms = [room(f"measures.{one}") for one in sorted(ROOMS["measures"])]
    homes = [one for one in rooms if name in one.__all__]
    assert len(homes) <= 1
    homes += [
        one for one in (room("measures.inputs"), room("measures.stopping")) if hasattr(one, name)
    ]
    assert homes and all(getattr(one, name) is getattr(measures, name) for one in homes)


@pytest.mark.parametrize("name", sorted(ROOMS))
def test_everything_that_is_shown_says_what_it_is(name: str) -> None:
    for one in room(name).__all__:
        found = getattr(room(name), one)
        if callable(found) or isinstance(found, ModuleType):
            assert (found.__doc__ or "").strip(), one


def test_every_file_that_the_map_names_is_there() -> None:
    """In docs/architecture.md a name is from the top, or from a folder of the one before it."""
    package = Path(measures.__file__).parents[1]
    page = (package.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+(?:\.py|/))`", page)
    assert len(named) > 20
    here = package
    for name in named:
        found = [root / name for root in (package, here, *here.parents) if (root / name).exists()]
        assert found, f"docs/architecture.md names {name}, which is not there"
        here = found[0] if found[0].is_dir() else found[0].parent


def test_the_walk_names_functions_that_are_there_in_at_most_nine_rooms() -> None:
    package = Path(measures.__file__).parents[1]
    page = (package.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)` \|", page, re.MULTILINE)
    assert 0 < len(walk) <= 9
    for file, function in walk:
        assert f"def {function}(" in (package / file).read_text(encoding="utf-8"), (file, function)
