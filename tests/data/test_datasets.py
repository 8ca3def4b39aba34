"""The catalogue: its entries, and what its loaders give without a network."""

import hashlib
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets
from sklearn.linear_model import LogisticRegression

from rashomon_explorer.data import catalog
from rashomon_explorer.exceptions import DataError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "your-table.md"
ENTRIES = catalog.read_catalog()
FETCHED = {"adult", "compas", "bank_marketing", "acs_income"}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.name)
def test_every_entry_is_complete_has_a_loader_and_stands_on_the_page(entry):
    assert entry.loader in catalog.LOADERS
    assert entry.task in ("classification", "regression")
    assert (entry.schema.target_bounds is None) == (entry.task == "classification")
    assert all((entry.description, entry.source, entry.licence, entry.details))
    assert entry.features == len(entry.schema.encoded_names) and not entry.schema.leak
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    [row] = [line for line in lines if line.startswith(f"| `{entry.name}` ")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:4] == [entry.task, f"{entry.rows:,}", str(entry.features)]


def test_the_list_has_every_name(offline):
    found = catalog.list_datasets()
    assert list(found.columns) == ["name", "task", "rows", "features", "source", "description"]
    assert set(found["name"]) == set(ENTRIES) and offline.name in set(ENTRIES) - FETCHED
    entry = ENTRIES[offline.name]
    assert offline.X.shape == (entry.rows, entry.features)


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "wine", "digits"])
def test_rows_are_scikit_learns_and_bounds_are_usual_ranges_and_not_read_off_them(name):
    data = catalog.load_dataset(name)
    arguments = {"scaled": False} if name == "diabetes" else {}
    raw = getattr(sklearn_datasets, f"load_{name}")(as_frame=True, **arguments)
    np.testing.assert_array_equal(data.X.to_numpy(), raw.data)
    np.testing.assert_array_equal(data.y.to_numpy(), raw.target)
    bounds = {} if name == "digits" else data.bounds  # a pixel is one of 4 × 4 dots by definition
    for column, (low, high) in bounds.items():
        values = raw.data[column]
        assert values.between(low, high).mean() >= 0.99, column
        if values.nunique() > 2:
            assert low != values.min() or low == 0, column
            assert high != values.max(), column
        # Round: at most three significant digits.
        assert float(f"{high:.3g}") == high and float(f"{low:.3g}") == low, column
    if name == "diabetes":
        low, high = data.target_bounds
        assert low < raw.target.min() and raw.target.max() < high


def test_the_shipped_table_is_its_source_with_codes_as_labels():
    """Shares of the code table by Groemping (2019), and groups that say what they are."""
    entry, data = ENTRIES["south_german_credit"], catalog.load_dataset("south_german_credit")
    path = ROOT / "datasets" / entry.options["file"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SOUTH_GERMAN
    codes = pd.read_csv(path)
    assert data.frame["status"].value_counts()["200 DM or more, or salary for a year"] == 394
    assert data.frame["purpose"].value_counts()["vacation"] == (codes.purpose == 8).sum()
    assert data.frame["credit_history"].value_counts()["delays in the past"] == 40
    assert data.y.sum() == 700 and data.classes == ["bad", "good"]
    for name, levels in entry.levels.items():  # one label a code, in the order of the codes
        if name in codes:
            places = pd.Categorical(data.frame[name], levels, ordered=True).codes
            assert len(set(codes[name] - places)) == 1 and places.min() >= 0, name
    groups = data.sensitive
    assert (groups.age_group == "25 or younger").to_numpy().sum() == (codes.age <= 25).sum() == 190
    assert (groups.foreign_worker == "yes").sum() == 37
    assert not any("status_sex" in name for name in (*data.frame, *data.feature_names))
    assert "Sex cannot be recovered" in data.DESCR and "CC BY 4.0" in data.DESCR


SOUTH_GERMAN = "a4e28e9ca9e250ca619b052f73bf63c1f4ab9c8e883a2b944f68251ed55a02f3"

IRIS = """
[iris]
loader = "sklearn"
task = "classification"
rows = 150
features = 4
description = "Irises."
source = "Fisher 1936"
licence = "public"
[iris.options]
function = "load_iris"
[iris.columns]
"petal width (cm)" = { kind = "numeric", bounds = [0, 10] }
species = { kind = "categorical", levels = ["setosa", "versicolor", "virginica"], role = "target" }
"""


def test_adding_a_data_set_is_one_entry_and_a_broken_one_is_named(tmp_path):
    path = tmp_path / "catalog.toml"
    path.write_text(IRIS)
    entry = catalog.read_catalog(path)["iris"]
    frame = catalog.LOADERS[entry.loader](entry)
    assert isinstance(frame, pd.DataFrame)
    assert [column.name for column in entry.schema.features] == ["petal width (cm)"]
    assert np.unique(frame["species"]).tolist() == ["setosa", "versicolor", "virginica"]
    for number, (broken, message) in enumerate(
        (
            (IRIS.replace("task =", "tazk ="), "entry 'iris' has unknown keys 'tazk'"),
            (IRIS.replace("rows = 150", ""), "entry 'iris' is incomplete: .*'rows'"),
        )
    ):
        (tmp_path / f"{number}.toml").write_text(broken)
        with pytest.raises(DataError, match=message):
            catalog.read_catalog(tmp_path / f"{number}.toml")


def test_loads_are_independent_copies():
    first, second = catalog.load_dataset("lending"), catalog.load_dataset("lending")
    first.X.iloc[0, 0] = 99.0
    first.bounds["income_index"] = (0.0, 1.0)
    first.classes.append("x")
    for other in (second, catalog.load_dataset("lending")):
        assert other.X.iloc[0, 0] != 99.0
        assert other.bounds["income_index"] == (-0.5, 0.5)
        assert other.classes == ["no", "yes"]


@pytest.mark.parametrize(
    ("name", "positive", "message"),
    [
        ("lendng", None, r"'lendng' \(did you mean 'lending'\?\); the names are"),
        ("wine", "class_9", "positive='class_9' is not a class of target column 'cul"),
        ("diabetes", 1, "positive=1 is for classification"),
    ],
)
def test_a_name_or_class_that_is_not_there_is_refused(name, positive, message):
    with pytest.raises(DataError, match=message):
        catalog.load_dataset(name, positive=positive)
    with pytest.raises(DataError, match="state='TX' is for 'acs_income', got 'wine'"):
        catalog.load_dataset("wine", state="TX")


# The published definitions, over tuples (a1, ..., a6), written apart from the package.
PUBLISHED = {
    "monks1": (216, lambda a: a[0] == a[1] or a[4] == 1),
    "monks2": (142, lambda a: a.count(1) == 2),
    "monks3": (228, lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3)),
}
ROBOTS = list(itertools.product((1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2)))


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_robot_occurs_once_with_its_published_label(name):
    data, (positives, rule) = catalog.load_dataset(name), PUBLISHED[name]
    robots = [
        tuple(int(column.split("=")[1]) for column, value in row.items() if value == 1)
        for row in data.X.to_dict("records")
    ]
    assert sorted(robots) == ROBOTS
    assert data.y.tolist() == [int(rule(robot)) for robot in robots]
    assert data.y.sum() == positives
    assert set(data.bounds.values()) == {(0.0, 1.0)}


CHECKSUM = "b3b7630cf14fed127a54344f8777b0c510021dd62f8fb666f75f6e4b381efc96"
TRUE = np.array(list(catalog.LENDING_COEFFICIENTS.values()))


def with_intercept(X):
    return np.column_stack([X, np.ones(len(X))])


def z_scores(design, y, coefficients):
    """Distance of the maximum-likelihood fit from ``coefficients`` in standard errors."""
    fit = LogisticRegression(C=1e8, tol=1e-8, fit_intercept=False, max_iter=1000).fit(design, y)
    chance = fit.predict_proba(design)[:, 1]
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    return (fit.coef_[0] - coefficients) / np.sqrt(np.diag(np.linalg.inv(information)))


def digest(data):
    rows = np.rint(data.X.to_numpy() * 1e6).astype("<i8")
    group = (data.sensitive["group"] == "B").to_numpy()
    parts = (rows, data.y.to_numpy().astype("<i8"), group.astype("<i8"))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_the_checksum_is_that_of_these_rows_and_notices_one_label():
    assert digest(catalog.load_dataset("lending")) == CHECKSUM
    changed = catalog.load_dataset("lending")
    changed.y.iloc[123] = 1 - changed.y.iloc[123]
    assert digest(changed) != CHECKSUM


def test_the_true_coefficients_and_no_others_are_recovered():
    """Also with the group as a feature, which adds nothing once the features are known."""
    lending = catalog.load_dataset("lending")
    group = (lending.sensitive["group"] == "B").to_numpy(float)
    design = np.column_stack([with_intercept(lending.X), group])
    assert np.abs(z_scores(design, lending.y, np.append(TRUE, 0.0))).max() < 4
    for position in (0, 5, 10):  # negative control
        wrong = TRUE.copy()
        wrong[position] += 0.4
        assert np.abs(z_scores(design[:, :-1], lending.y, wrong)[position]) > 4
