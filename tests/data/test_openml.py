"""OpenML tables on small stand-ins with OpenML's own column names, dtypes and levels."""

import io
from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets
from sklearn.utils import Bunch

from rashomon_explorer.data import load_dataset
from rashomon_explorer.exceptions import DataError

# Small tables with one value outside on purpose: that this is said has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")


def nominal(frame):
    """Give the text columns the category dtype, as ``fetch_openml(as_frame=True)`` does."""
    text = frame.columns.difference(frame.select_dtypes("number").columns)
    return frame.astype(dict.fromkeys(text, "category"))


ADULT = """\
age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,\
capital-gain,capital-loss,hours-per-week,native-country
25,Private,226802,11th,7,Never-married,Machine-op-inspct,Own-child,Black,Male,\
0,0,40,United-States
18,,103497,Some-college,10,Never-married,,Own-child,White,Female,\
0,0,30,
44,Self-emp-inc,160323,Some-college,10,Married-civ-spouse,Exec-managerial,Husband,White,Male,\
7688,0,99,Outlying-US(Guam-USVI-etc)
"""

BANK_MARKETING = """\
V1,V2,V3,V4,V5,V6,V7,V8,V9,V10,V11,V12,V13,V14,V15,V16
58,management,married,tertiary,no,2143,yes,no,unknown,5,may,261,1,-1,0,unknown
44,technician,single,secondary,no,-29,yes,no,cellular,5,nov,151,1,92,4,failure
33,admin.,divorced,unknown,yes,102127,no,yes,telephone,31,dec,76,63,871,275,success
"""


def adult():
    data = pd.read_csv(io.StringIO(ADULT))
    target = pd.Series(["<=50K", "<=50K", ">50K"], name="class", dtype="category")
    return Bunch(data=nominal(data), target=target, details={"id": "1590", "version": "2"})


def compas():
    data = pd.DataFrame(
        {
            "sex": [1.0, 0.0, 1.0],
            "age": [34.0, 24.0, 97.0],
            "juv_fel_count": [0.0, 0.0, 1.0],
            "juv_misd_count": [0.0, 1.0, 0.0],
            "juv_other_count": [0.0, 1.0, 0.0],
            "priors_count": [0.0, 4.0, 14.0],
            "age_cat_25-45": [1.0, 0.0, 0.0],
            "age_cat_Greaterthan45": [0.0, 0.0, 1.0],
            "age_cat_Lessthan25": [0.0, 1.0, 0.0],
            "race_African-American": [1.0, 1.0, 0.0],
            "race_Caucasian": [0.0, 0.0, 1.0],
            "c_charge_degree_F": [1.0, 1.0, 0.0],
            "c_charge_degree_M": [0.0, 0.0, 1.0],
        }
    )
    target = pd.Series(["1", "1", "0"], name="twoyearrecid", dtype="category")
    return Bunch(data=data, target=target, details={"id": "42193", "version": "3"})


def german_credit():
    data = pd.DataFrame(
        {
            "checking_status": ["<0", "0<=X<200", "no checking"],
            "duration": [6.0, 48.0, 12.0],
            "credit_history": [
                "critical/other existing credit",
                "existing paid",
                "no credits/all paid",
            ],
            "purpose": ["radio/tv", "furniture/equipment", "new car"],
            "credit_amount": [1169.0, 5951.0, 2096.0],
            "savings_status": ["no known savings", "<100", "500<=X<1000"],
            "employment": [">=7", "1<=X<4", "unemployed"],
            "installment_commitment": [4.0, 2.0, 2.0],
            "personal_status": ["male single", "female div/dep/mar", "male mar/wid"],
            "other_parties": ["none", "co applicant", "guarantor"],
            "residence_since": [4.0, 2.0, 3.0],
            "property_magnitude": ["real estate", "no known property", "life insurance"],
            "age": [67.0, 22.0, 49.0],
            "other_payment_plans": ["none", "bank", "stores"],
            "housing": ["own", "for free", "rent"],
            "existing_credits": [2.0, 1.0, 1.0],
            "job": ["skilled", "unskilled resident", "high qualif/self emp/mgmt"],
            "num_dependents": [1.0, 1.0, 2.0],
            "own_telephone": ["yes", "none", "none"],
            "foreign_worker": ["yes", "yes", "no"],
        }
    )
    target = pd.Series(["good", "bad", "good"], name="class", dtype="category")
    return Bunch(data=nominal(data), target=target, details={"id": "31", "version": "1"})


def bank_marketing():
    data = pd.read_csv(io.StringIO(BANK_MARKETING))
    target = pd.Series(["1", "2", "1"], name="Class", dtype="category")
    return Bunch(data=nominal(data), target=target, details={"id": "1461", "version": "1"})


TABLES = {
    "adult": (1590, adult, 42),
    "compas": (42193, compas, 10),
    "german_credit": (31, german_credit, 56),
    "bank_marketing": (1461, bank_marketing, 47),
}


@pytest.fixture
def openml(monkeypatch):
    """Stand in for the network: a dict of data_id to the Bunch (or error) to answer with."""
    answers = {data_id: table() for data_id, table, _ in TABLES.values()}

    def fetch_openml(*, data_id, as_frame, **ignored):
        assert as_frame is True
        if isinstance(answers[data_id], Exception):
            raise answers[data_id]
        return answers[data_id]

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch_openml)
    return answers


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_encoded_to_its_declared_columns(openml, name):
    data = load_dataset(name)
    assert data.X.shape == (3, TABLES[name][2])
    assert list(data.bounds) == data.feature_names
    assert all(data.X[column].between(*data.bounds[column]).all() for column in data.X)
    assert not data.bounds_learnt
    assert len(data.sensitive) == 3


def test_adult(openml):
    data = load_dataset("adult")
    assert (data.y.tolist(), data.classes) == ([0, 0, 1], ["<=50K", ">50K"])
    assert data.X["workclass=unknown"].tolist() == [0.0, 1.0, 0.0]
    assert data.X["occupation=Exec-managerial"].tolist() == [0.0, 0.0, 1.0]
    assert data.sensitive["native-country"].tolist()[:2] == ["United-States", "unknown"]
    assert data.sensitive["sex"].tolist() == ["Male", "Female", "Male"]
    assert not any("fnlwgt" in c or "race" in c or c == "education" for c in data.X)


def test_adult_without_a_column_that_openml_marks_as_ignored(openml):
    openml[1590]["data"] = openml[1590]["data"].drop(columns="fnlwgt")
    assert load_dataset("adult").X.shape == (3, 42)


def test_compas(openml):
    data = load_dataset("compas")
    assert (data.y.tolist(), data.classes) == ([1, 1, 0], ["not re-arrested", "re-arrested"])
    assert data.y.name == "two_year_recid"
    assert data.sensitive["sex"].tolist() == ["Male", "Female", "Male"]
    assert data.sensitive["race"].tolist() == ["African-American"] * 2 + ["Caucasian"]
    assert not any("race" in column or column == "sex" for column in data.X)
    assert data.X["age"].tolist() == [34.0, 24.0, 90.0]
    for word in ("ProPublica", "biased", "1906.04711", "real people"):
        assert word in data.DESCR


@pytest.mark.parametrize("dtype", ["category", "int64"])
def test_compas_whatever_dtype_its_flags_have(openml, dtype):
    data = openml[42193]["data"]
    flags = ["sex", "race_African-American", "age_cat_25-45"]
    data = data.astype(dict.fromkeys(flags, "int64")).astype(dict.fromkeys(flags, dtype))
    openml[42193]["data"] = data
    assert load_dataset("compas").sensitive["sex"].tolist() == ["Male", "Female", "Male"]


def test_german_credit(openml):
    data = load_dataset("german_credit")
    assert (data.y.tolist(), data.classes) == ([1, 0, 1], ["bad", "good"])
    assert data.sensitive["personal_status"].tolist()[1] == "female div/dep/mar"
    assert data.X["checking_status=<0"].tolist() == [1.0, 0.0, 0.0]


def test_quotes_that_openml_leaves_around_a_level_are_taken_off(openml):
    data = openml[31]["data"]
    data["checking_status"] = pd.Series(["'<0'", "'no checking'", "'<0'"], dtype="category")
    assert load_dataset("german_credit").X["checking_status=<0"].tolist() == [1.0, 0.0, 1.0]


def test_bank_marketing(openml):
    data = load_dataset("bank_marketing")
    assert (data.y.tolist(), data.classes) == ([0, 1, 0], ["no", "yes"])
    assert data.sensitive["marital"].tolist() == ["married", "single", "divorced"]
    assert "duration" not in data.X
    assert data.X["balance"].tolist() == [2143.0, -29.0, 100_000.0]
    assert data.X["month=dec"].tolist() == [0.0, 0.0, 1.0]


def test_the_positive_class_can_be_chosen(openml):
    assert load_dataset("german_credit", positive="bad").y.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "error",
    [
        URLError("Name or service not known"),
        TimeoutError("timed out"),
        IncompleteRead(b""),
        ValueError("md5 checksum of local file does not match"),
    ],
)
@pytest.mark.parametrize("name", TABLES)
def test_without_a_network_the_error_says_how_to_get_the_table(openml, name, error):
    data_id = TABLES[name][0]
    openml[data_id] = error
    with pytest.raises(DataError) as caught:
        load_dataset(name)
    message = str(caught.value)
    for part in (name, f"data_id {data_id}", "load_csv(", "get_data_home()", "network"):
        assert part in message
    assert caught.value.__cause__ is error


def test_an_unseen_level_is_named(openml):
    openml[1590]["data"]["sex"] = pd.Series(["Male", "Other", "Male"], dtype="category")
    with pytest.raises(DataError, match="column 'sex' has level 'Other' at row 2"):
        load_dataset("adult")


def test_a_missing_category_is_refused_where_no_level_stands_for_it(openml):
    openml[31]["data"]["job"] = pd.Series(["skilled", None, "skilled"], dtype="category")
    with pytest.raises(DataError, match="column 'job' has a missing value at row 2"):
        load_dataset("german_credit")


def test_a_missing_number_is_refused(openml):
    openml[31]["data"]["age"] = [30.0, np.nan, 40.0]
    with pytest.raises(DataError, match="column 'age' has no value at row 2"):
        load_dataset("german_credit")


def test_another_table_under_the_pinned_number_is_refused(openml):
    openml[1590]["data"] = openml[1590]["data"].drop(columns="age")
    with pytest.raises(DataError, match="table for 'adult' lacks 'age'; its columns are"):
        load_dataset("adult")


@pytest.mark.parametrize(("key", "value"), [("version", "9"), ("id", "7")])
def test_another_version_is_refused(openml, key, value):
    openml[1590]["details"][key] = value
    with pytest.raises(DataError, match=f"returned {key} {value} for 'adult', which is pinned to"):
        load_dataset("adult")


def test_a_new_column_of_the_table_is_not_passed_on_silently(openml):
    openml[31]["data"]["extra"] = 1.0
    with pytest.raises(DataError, match="no public bounds or categories are declared for 'extra'"):
        load_dataset("german_credit")


def test_scikit_learn_accepts_how_it_is_asked_and_a_dead_network_is_told_in_words(
    monkeypatch, tmp_path
):
    """The real fetch_openml, with only the network taken away."""
    asked = []

    def no_network(request, **options):
        asked.append(getattr(request, "full_url", request))
        raise URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    with pytest.warns(UserWarning, match="network error"):
        with pytest.raises(DataError, match=r"could not be fetched: .*no route to host"):
            load_dataset("adult")
    assert any("1590" in url for url in asked)
