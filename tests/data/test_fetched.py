"""Fetched tables, on small stand-ins with the source's own column names, dtypes and levels."""

import io
import zipfile
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

# By name: text, target's name and labels, OpenML's number and version, and encoded columns.
TABLES = {
    "adult": (ADULT, "class", ["<=50K", "<=50K", ">50K"], 1590, 2, 42),
    "compas": (COMPAS, "twoyearrecid", ["1", "1", "0"], 42193, 3, 10),
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
    data = openml[1461]["data"]
    data["V4"] = pd.Series(["'primary'", "'unknown'", "'primary'"], dtype="category")
    assert load_dataset("bank_marketing").X["education=primary"].tolist() == [1.0, 0.0, 1.0]
    assert load_dataset("bank_marketing", positive="no").y.tolist() == [1, 0, 1]
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


@pytest.mark.parametrize(("name", "error"), zip([*TABLES, "adult"], ERRORS, strict=True))
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
        ("bank_marketing", "V5", ["no", None, "yes"], "'default' has a missing value at row"),
        ("bank_marketing", "V1", [30.0, np.nan, 40.0], "column 'age' has no value at row 2"),
        ("bank_marketing", "extra", [1.0] * 3, "has 'extra', which the schema does not declare"),
        ("adult", "age", None, "table for 'adult' lacks 'age'; its columns are"),
    ],
)
def test_another_table_or_cell_is_refused(openml, name, column, cells, message):
    fetched, numeric = openml[TABLES[name][3]], column in ("V1", "extra")
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


# Four persons whom ACSIncome keeps, each beside one whom a single rule of adult_filter leaves out.
ACS = """\
RT,SERIALNO,PWGTP,AGEP,COW,MAR,RELP,SCHL,SEX,WKHP,OCCP,PINCP,POBP,RAC1P
P,1,12,17,1,5,2,16,1,1,10,101,6,1
P,2,12,16,1,5,2,16,1,1,10,101,6,1
P,3,1,44,9,1,0,24,2,99,9920,50000,303,9
P,4,0,44,9,1,0,24,2,99,9920,50000,303,9
P,5,30,99,6,3,17,1,2,40,499,50001,72,2
P,6,30,99,6,3,17,1,2,40,499,100,72,2
P,7,30,60,2,2,1,21,1,40,500,200000,100,6
P,8,30,60,2,2,1,21,1,0,500,200000,100,6
P,9,30,60,,2,1,21,1,,,,100,6
"""


@pytest.fixture
def acs(monkeypatch, tmp_path):
    """Function that writes the file of a state where a fetch would leave it."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))

    def write(state, text, name="psam_p06.csv"):
        path = tmp_path / "acs-2018-1-year" / f"csv_p{state}.zip"
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("ACS2018_PUMS_README.pdf", b"not a table")
            archive.writestr(name, text)
        return path

    return write


def test_acs_income_has_the_rows_target_and_columns_of_folktables(acs):
    acs("ca", ACS)
    acs("tx", ACS.replace(",17,1,5,", ",18,1,5,"), name="psam_p48.csv")
    data = load_dataset("acs_income")
    assert data.y.tolist() == [0, 0, 1, 1] and data.classes == ["<=50K", ">50K"]
    assert data.frame["AGEP"].tolist() == [17, 44, 99, 60]
    assert load_dataset("acs_income", state="TX").frame["AGEP"].tolist()[0] == 18
    names = ["AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P", "income"]
    assert list(data.frame) == names and data.X.shape == (4, 68)
    assert data.frame["OCCP"].tolist() == ["MGR", "unemployed", "MGR", "BUS"]
    places = ["United States", "Americas", "US islands", "Europe"]
    assert data.frame["POBP"].tolist() == places
    assert data.sensitive["SEX"].tolist() == ["Male", "Female", "Female", "Male"]
    races = ["White", "Two or more races", "Black or African American", "Asian"]
    assert data.sensitive["RAC1P"].tolist() == races
    assert data.X[["SCHL", "WKHP", "RELP=17"]].iloc[2].tolist() == [0.0, 40.0, 1.0]


def test_acs_income_without_a_network_or_from_another_file_is_refused_in_words(acs, monkeypatch):
    def no_network(url, timeout):
        raise URLError("no route to host")

    monkeypatch.setattr("rashomon_explorer.data.catalog.urlopen", no_network)
    with pytest.raises(DataError, match=r"csv_pny\.zip could not be fetched: .*no route.*save it"):
        load_dataset("acs_income", state="NY")
    with pytest.raises(DataError, match="state must be two letters"):
        load_dataset("acs_income", state="../ca")
    for text, name, wrong in (
        (ACS.replace("RELP", "RELSHIPP"), "psam_p06.csv", "lacks 'RELP'"),
        (ACS, "ss13pca.csv", "not a file of persons of 2018: delete it"),
    ):
        acs("ca", text, name)
        with pytest.raises(DataError, match=wrong):
            load_dataset("acs_income")
    acs("ca", ACS).write_text("<html>moved</html>")
    with pytest.raises(DataError, match="File is not a zip file"):
        load_dataset("acs_income")
