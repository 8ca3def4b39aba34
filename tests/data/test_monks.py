import itertools

import pytest

from rashomon_explorer.data import load_dataset

# the published definitions, over tuples (a1, ..., a6), written apart from the package
PUBLISHED = {
    "monks1": lambda a: a[0] == a[1] or a[4] == 1,
    "monks2": lambda a: a.count(1) == 2,
    "monks3": lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3),
}
POSITIVES = {"monks1": 216, "monks2": 142, "monks3": 228}
ROBOTS = list(itertools.product((1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2)))


def decode(row):
    return tuple(int(name.split("=")[1]) for name, value in row.items() if value == 1)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_robot_occurs_once_with_its_published_label(name):
    data = load_dataset(name)
    robots = [decode(row) for row in data.X.to_dict("records")]
    assert sorted(robots) == ROBOTS
    assert data.y.tolist() == [int(PUBLISHED[name](robot)) for robot in robots]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_number_of_monks_is_the_published_one(name):
    assert load_dataset(name).y.sum() == POSITIVES[name]


def test_the_rules_differ():
    first, second, third = (load_dataset(name).y for name in PUBLISHED)
    assert (first != second).any()
    assert (second != third).any()


def test_columns_are_indicators_with_unit_bounds():
    data = load_dataset("monks1")
    assert data.X.shape == (432, 17)
    assert set(data.bounds.values()) == {(0.0, 1.0)}
    assert (data.X.sum(axis=1) == 6).all()
