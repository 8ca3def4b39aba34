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


COMPAS = """\
sex,age,juv_fel_count,juv_misd_count,juv_other_count,priors_count,age_cat_25-45,\
age_cat_Greaterthan45,age_cat_Lessthan25,race_African-American,race_Caucasian,c_charge_degree_F,\
c_charge_degree_M
1.0,34.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,1.0,0.0,1.0,0.0
0.0,24.0,0.0,1.0,1.0,4.0,0.0,0.0,1.0,1.0,0.0,1.0,0.0
1.0,97.0,1.0,0.0,0.0,14.0,0.0,1.0,0.0,0.0,1.0,0.0,1.0
"""

GERMAN_CREDIT = """\
checking_status,duration,credit_history,purpose,credit_amount,savings_status,employment,\
installment_commitment,personal_status,other_parties,residence_since,property_magnitude,age,\
other_payment_plans,housing,existing_credits,job,num_dependents,own_telephone,foreign_worker
<0,6,critical/other existing credit,radio/tv,1169,no known savings,>=7,\
4,male single,none,4,real estate,67,bank,own,2,skilled,1,yes,yes
0<=X<200,48,existing paid,furniture/equipment,5951,<100,1<=X<4,\
2,female div/dep/mar,co applicant,2,no known property,22,stores,for free,1,unskilled resident,1,\
none,yes
no checking,12,no credits/all paid,new car,2096,500<=X<1000,unemployed,\
2,male mar/wid,guarantor,3,life insurance,49,none,rent,1,high qualif/self emp/mgmt,2,none,no
"""

# By name: text, target's name and labels, OpenML's number and version, and encoded columns.
TABLES = {
    "adult": (ADULT, "class", ["<=50K", "<=50K", ">50K"], 1590, 2, 42),
    "compas": (COMPAS, "twoyearrecid", ["1", "1", "0"], 42193, 3, 10),
    "german_credit": (GERMAN_CREDIT, "class", ["good", "bad", "good"], 31, 1, 56),
    "bank_marketing": (BANK_MARKETING, "Class", ["1", "2", "1"], 1461, 1, 47),
}


def fetched(text, target, labels, number, version, _):
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])
    target = pd.Series(labels, name=target, dtype="category")
    details = {"id": str(number), "version": str(version)}
    return Bunch(data=nominal(frame), target=target, details=details)


@pytest.fixture
def openml(monkeypatch):
    """Stand in for the network: a dict of data_id to the Bunch (or error) to answer with."""
    answers = {table[3]: fetched(*table) for table in TABLES.values()}

    def fetch_openml(*, data_id, as_frame, **ignored):
        assert as_frame is True
        if isinstance(answers[data_id], Exception):
            raise answers[data_id]
        return answers[data_id]

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch_openml)
    return answers


# Labels, classes, and some columns of features and of what models do not see.
EXPECTED = {
    "adult": (
        ([0, 0, 1], ["<=50K", ">50K"]),
        {"workclass=unknown": [0, 1, 0], "occupation=Exec-managerial": [0, 0, 1]},
        {"sex": ["Male", "Female", "Male"]},
        ("fnlwgt", "race"),
    ),
    "compas": (
        ([1, 1, 0], ["not re-arrested", "re-arrested"]),
        {"age": [34, 24, 90]},
        {"sex": ["Male", "Female", "Male"], "race": ["African-American"] * 2 + ["Caucasian"]},
        ("race", "sex"),
    ),
    "german_credit": (
        ([1, 0, 1], ["bad", "good"]),
        {"checking_status=<0": [1, 0, 0]},
        {"personal_status": ["male single", "female div/dep/mar", "male mar/wid"]},
        ("personal_status",),
    ),
    "bank_marketing": (
        ([0, 1, 0], ["no", "yes"]),
        {"balance": [2143, -29, 100_000], "month=dec": [0, 0, 1]},
        {"marital": ["married", "single", "divorced"]},
        ("duration", "marital"),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_encoded_to_its_declared_columns(openml, name):
    data = load_dataset(name)
    assert data.X.shape == (3, TABLES[name][-1]) and len(data.sensitive) == 3
    assert list(data.bounds) == data.feature_names and not data.bounds_learnt
    assert all(data.X[column].between(*data.bounds[column]).all() for column in data.X)
    target, features, sensitive, hidden = EXPECTED[name]
    assert (data.y.tolist(), data.classes) == target
    for column, values in features.items():
        assert data.X[column].tolist() == values
    for column, values in sensitive.items():
        assert data.sensitive[column].tolist() == values
    assert not any(word in column for word in hidden for column in data.X)


def test_what_openml_may_do_otherwise_and_that_another_version_is_refused(openml):
    openml[1590]["data"] = openml[1590]["data"].drop(columns="fnlwgt")  # marked as ignored
    assert load_dataset("adult").X.shape == (3, 42)
    data = openml[31]["data"]
    data["checking_status"] = pd.Series(["'<0'", "'no checking'", "'<0'"], dtype="category")
    assert load_dataset("german_credit").X["checking_status=<0"].tolist() == [1.0, 0.0, 1.0]
    assert load_dataset("german_credit", positive="bad").y.tolist() == [0, 1, 0]
    flags = ["sex", "race_African-American", "age_cat_25-45"]
    for dtype in ("int64", "category"):
        openml[42193]["data"] = openml[42193]["data"].astype(dict.fromkeys(flags, dtype))
        assert load_dataset("compas").sensitive["sex"].tolist() == ["Male", "Female", "Male"]
    for key, value in (("version", "9"), ("id", "7")):
        details = openml[1590]["details"]
        openml[1590]["details"] = {**details, key: value}
        with pytest.raises(DataError, match=f"returned {key} {value} for 'adult', which is pinned"):
            load_dataset("adult")
        openml[1590]["details"] = details


ERRORS = [
    *(URLError("Name or service not known"), TimeoutError("timed out"), IncompleteRead(b"")),
    ValueError("md5 checksum of local file does not match"),
]


@pytest.mark.parametrize(("name", "error"), zip(TABLES, ERRORS, strict=True))
def test_without_a_network_the_error_says_how_to_get_the_table(openml, name, error):
    data_id = TABLES[name][3]
    openml[data_id] = error
    with pytest.raises(DataError) as caught:
        load_dataset(name)
    message = str(caught.value)
    for part in (name, f"data_id {data_id}", "load_csv(", "get_data_home()", "network"):
        assert part in message
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("name", "column", "cells", "message"),
    [
        ("adult", "sex", ["Male", "Other", "Male"], "column 'sex' has level 'Other' at row 2"),
        ("german_credit", "job", ["skilled", None, "skilled"], "'job' has a missing value at row"),
        ("german_credit", "age", [30.0, np.nan, 40.0], "column 'age' has no value at row 2"),
        ("german_credit", "extra", [1.0] * 3, "has 'extra', which the schema does not declare"),
        ("adult", "age", None, "table for 'adult' lacks 'age'; its columns are"),
    ],
)
def test_another_table_or_cell_is_refused(openml, name, column, cells, message):
    fetched, numeric = openml[TABLES[name][3]], column in ("age", "extra")
    values = pd.Series(cells, dtype=None if numeric else "category")
    fetched["data"] = fetched["data"].drop(columns=column, errors="ignore")
    if cells is not None:
        fetched["data"][column] = values
    with pytest.raises(DataError, match=message):
        load_dataset(name)


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
