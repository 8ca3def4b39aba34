from pathlib import Path

import pytest

from rashomon_explorer.data import list_datasets, load_csv, load_dataset
from rashomon_explorer.data.catalog import read_catalog
from rashomon_explorer.exceptions import DataError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "datasets.md"


def test_the_list_has_every_promised_name():
    assert set(list_datasets()["name"]) == {
        "lending",
        "breast_cancer",
        "diabetes",
        "wine",
        "digits",
        "monks1",
        "monks2",
        "monks3",
        "adult",
        "compas",
        "german_credit",
        "bank_marketing",
    }
    assert list(list_datasets().columns) == [
        "name",
        "task",
        "rows",
        "features",
        "source",
        "description",
    ]


def test_the_catalogue_s_sizes_are_those_of_the_tables(offline):
    entry = read_catalog()[offline.name]
    assert offline.X.shape == (entry.rows, entry.features)


def test_loads_are_independent_copies():
    first, second = load_dataset("lending"), load_dataset("lending")
    first.X.iloc[0, 0] = 99.0
    first.bounds["income_index"] = (0.0, 1.0)
    first.classes.append("x")
    third = load_dataset("lending")
    for other in (second, third):
        assert other.X.iloc[0, 0] != 99.0
        assert other.bounds["income_index"] == (-0.5, 0.5)
        assert other.classes == ["no", "yes"]


def test_an_unknown_name_lists_the_names_and_a_close_one():
    with pytest.raises(DataError, match=r"'lendng' \(did you mean 'lending'\?\); the names are"):
        load_dataset("lendng")


def test_a_class_that_is_not_there_is_refused():
    with pytest.raises(DataError, match="positive='class_9' is not a class of target column 'cul"):
        load_dataset("wine", positive="class_9")


def test_a_regression_has_no_positive_class():
    with pytest.raises(DataError, match="positive=1 is for classification"):
        load_dataset("diabetes", positive=1)


def test_a_data_set_written_to_csv_and_declared_alike_loads_alike():
    data = load_dataset("wine")
    text = data.X.assign(cultivar=data.y.map(dict(enumerate(data.classes)))).to_csv(index=False)
    own = load_csv(text.encode(), target="cultivar", bounds=data.bounds, name="wine")
    assert (own.y == data.y).all()
    assert own.classes == data.classes
    assert abs(own.X - data.X).max().max() < 1e-9
    assert own.bounds == data.bounds


def test_the_page_about_data_sets_has_every_one_and_its_size():
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    for entry in read_catalog().values():
        [row] = [row for row in rows if row.startswith(f"| `{entry.name}` ")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1:4] == [entry.task, f"{entry.rows:,}", str(entry.features)]
