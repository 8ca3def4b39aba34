import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets

from rashomon_explorer.data import LOADERS
from rashomon_explorer.data.bunch import check_bounds
from rashomon_explorer.data.catalog import read_catalog
from rashomon_explorer.exceptions import DataError

ENTRIES = list(read_catalog().values())
REAL = ("breast_cancer", "diabetes", "wine")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_is_complete_and_has_a_loader(entry):
    assert entry.loader in LOADERS
    assert entry.task in ("classification", "regression")
    assert (entry.target_bounds is None) == (entry.task == "classification")
    for text in (entry.description, entry.source, entry.licence, entry.details):
        assert text
    for column, pair in entry.bounds.items():
        check_bounds(pair, column)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_number_of_features_follows_from_the_declarations(entry):
    if entry.bounds_of_every_feature is None:
        levels = sum(
            len(levels)
            for column, levels in entry.categories.items()
            if column not in entry.sensitive
        )
        assert entry.features == len(entry.bounds) + levels


@pytest.mark.parametrize("name", REAL)
def test_bounds_are_usual_ranges_and_not_read_off_the_rows(name):
    entry = read_catalog()[name]
    function = getattr(sklearn_datasets, entry.options["function"])
    raw = function(as_frame=True, **entry.options.get("arguments", {}))
    for column, (low, high) in entry.bounds.items():
        values = raw.data[column]
        assert values.between(low, high).mean() >= 0.99, column
        if values.nunique() > 2:
            assert low != values.min() or low == 0, column
            assert high != values.max(), column
        # round: at most three significant digits
        assert float(f"{high:.3g}") == high, column
        assert float(f"{low:.3g}") == low, column


def test_the_target_bounds_of_diabetes_are_not_its_extremes():
    target = sklearn_datasets.load_diabetes(as_frame=True).target
    low, high = read_catalog()["diabetes"].target_bounds
    assert target.between(low, high).all()
    assert low < target.min()
    assert high > target.max()


ENTRY = """
[iris]
loader = "sklearn"
task = "classification"
target = "species"
rows = 150
features = 4
description = "Irises."
source = "Fisher 1936"
licence = "public"
bounds_of_every_feature = [0, 10]
[iris.options]
function = "load_iris"
"""


def test_adding_a_data_set_is_one_entry(tmp_path):
    path = tmp_path / "catalog.toml"
    path.write_text(ENTRY)
    entry = read_catalog(path)["iris"]
    frame = LOADERS[entry.loader](entry)
    assert isinstance(frame, pd.DataFrame)
    bounds = entry.declaration(list(frame.columns)).bounds
    assert set(bounds) == set(frame.columns) - {"species"}
    assert np.unique(frame["species"]).tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (ENTRY.replace("target =", "tarqet ="), "entry 'iris' has unknown keys 'tarqet'"),
        (ENTRY.replace('target = "species"', ""), "entry 'iris' is incomplete: .*'target'"),
    ],
)
def test_a_broken_entry_is_named(tmp_path, broken, message):
    path = tmp_path / "catalog.toml"
    path.write_text(broken)
    with pytest.raises(DataError, match=message):
        read_catalog(path)
