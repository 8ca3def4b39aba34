"""What the measures offer from the top, and that the rooms below have all of it."""

import importlib

import pytest

from rashomon_explorer import measures
from rashomon_explorer.measures.multiplicity import MEASURES
from tests.each import each

ROOMS = ["decomposition", "fairness", "importance", "multiplicity", "ranges", "reliance"]
FILES = ["inputs", "stopping"]


def room(name):
    return importlib.import_module(f"rashomon_explorer.measures.{name}")


def test_the_list_from_the_top_can_be_read():
    assert len(measures.__all__) <= 50
    assert set(dir(measures)) == {*measures.__all__, *ROOMS}


def test_what_the_top_offers_is_in_one_room_or_a_file_of_its_own():
    each(measures.__all__, _check_home)


def _check_home(name):
    homes = [one for one in map(room, ROOMS) if name in one.__all__]
    assert len(homes) <= 1
    homes += [one for one in map(room, FILES) if hasattr(one, name)]
    assert homes and all(getattr(one, name) is getattr(measures, name) for one in homes)


@pytest.mark.parametrize("name", ROOMS)
def test_a_rooms_list_holds(name):
    assert all(hasattr(room(name), one) for one in room(name).__all__)


def test_every_measure_of_the_registry_is_a_function_of_its_room():
    for name in set(MEASURES) - {"any_pair_discrepancy"}:
        assert callable(getattr(measures.multiplicity, name)), name
