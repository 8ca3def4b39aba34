"""The declaration as an object and as files."""

import copy
import pickle
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer import TableSchema
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, Ordered, YesNo
from rashomon_explorer.exceptions import DataError

SCHEMA = TableSchema(
    [
        IgnoredColumn("id"),
        Numeric("age", (18, 100), typical=(20, 70), unit="years", missing="indicator"),
        Categorical("home", ["own", "rent"], unknown="other", description='"quoted"\n\x7f'),
        Ordered("grade", [1, 2, 3], missing="fill", missing_values=[-9, "none"]),
        YesNo("marital-status ü.", (False, True)),
        IgnoredColumn("sex", role="sensitive"),
        YesNo("repaid", role="target", learnt=["levels"]),
    ]
)

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
names = text.filter(lambda name: name.strip())
levels = st.one_of(
    st.lists(text, min_size=2, max_size=5, unique_by=str.strip),
    st.lists(st.integers(-(2**60), 2**60), min_size=2, max_size=5, unique=True),
    st.just([False, True]),
)


@st.composite
def schemas(draw):
    def column(name):
        low, width = draw(st.floats(-1e6, 1e6)), draw(st.floats(0.1, 1e6))
        missing = draw(st.sampled_from(["unexpected", "fill", "indicator", "refuse"]))
        kind = draw(st.sampled_from([Numeric, Categorical, Ordered, IgnoredColumn]))
        if kind is Numeric:
            return Numeric(name, (low, low + width), missing=missing, learnt=["bounds"])
        return (
            IgnoredColumn(name)
            if kind is IgnoredColumn
            else kind(name, draw(levels), missing=missing)
        )

    return TableSchema([column(n) for n in draw(st.lists(names, max_size=5, unique=True))])


@given(schemas())
def test_files_say_the_same(schema):
    if len(schema):
        assert TableSchema.from_dict(schema.to_dict()) == schema
        assert TableSchema.from_toml(schema.to_toml()) == schema
        assert tomllib.loads(schema.to_toml()) == schema.to_dict()
    assert pickle.loads(pickle.dumps(schema)) == copy.deepcopy(schema) == schema


def test_it_is_read_from_files_by_their_ending(tmp_path):
    path = tmp_path / "a.toml"
    SCHEMA.save(path)
    assert TableSchema.from_schema_or_path(str(path)) == TableSchema.load(path) == SCHEMA
    with pytest.raises(DataError, match="exists already and may have been edited"):
        SCHEMA.save(path)
    SCHEMA.save(path, overwrite=True)
    dictionary = tmp_path / "a.csv"
    dictionary.write_text(
        "Variable,Type,Min,Max,Typical low,Typical high,Values,Role,Missing,Missing values\n"
        "age,numeric,18,100,20,70,,,indicator,-1|-9\n"
        "\n"
        "grade,ordered,,,,,1|2|3,,fill,\n"
        "code,categorical,,,,,01|02,sensitive,,\n"
    )
    assert TableSchema.load(dictionary) == TableSchema(
        [
            Numeric(
                "age", (18, 100), typical=(20, 70), missing="indicator", missing_values=[-1, -9]
            ),
            Ordered("grade", [1, 2, 3], missing="fill"),
            Categorical("code", ["01", "02"], role="sensitive"),
        ]
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", "", "must end in one of '.toml', '.csv'"),
        ("a.toml", "[columns", "the schema is not TOML"),
        ("a.toml", "name = 1", 'must have a table "columns"'),
        ("a.toml", "x = 1\n[columns.a]\nkind = 'anything'", 'a schema has only "columns"'),
        ("a.toml", "[columns]\na = 1", "column 'a' must be a table of settings, got 1"),
        ("a.toml", "[columns.a]", "column 'a' must declare its kind, one of 'numeric'"),
        ("a.toml", "[columns.a]\nkind = 'numeric'", "of kind 'numeric' must declare its 'bounds'"),
        (
            "a.toml",
            "[columns.a]\nkind = 'numeric'\nbound = [0, 1]",
            "column 'a' of kind 'numeric' has no setting 'bound' (did you mean 'bounds'?)",
        ),
        ("a.csv", "", "the data dictionary is empty"),
        ("a.csv", "name,low\n", "the data dictionary's header must have 'kind'"),
        ("a.csv", "name,kind,lov\n", "header has 'lov' (did you mean 'low'?)"),
        ("a.csv", "name,kind,type\n", "has 'kind' twice"),
        ("a.csv", "name,kind\na\n", "line 2 of the data dictionary has 1 cells, expected 2"),
        ("a.csv", "name,kind\na,anything\na,anything\n", "line 3 of the data dictionary names 'a'"),
        ("a.csv", "name,kind\n,anything\n", "line 2 of the data dictionary names no column"),
        ("a.csv", "name,kind,low,high\na,numeric,1,x\n", "has 'x' for high, expected a number"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=re.escape(message)):
        TableSchema.load(path)


def test_files_that_cannot_be_read_or_written(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    for work, message in (
        (lambda: TableSchema.load(tmp_path / "none.toml"), "cannot read"),
        (lambda: TableSchema.load(tmp_path / "latin.toml"), "is not UTF-8"),
        (lambda: SCHEMA.save(tmp_path / "none" / "a.toml"), "cannot write"),
        (lambda: SCHEMA.save(tmp_path / "a.csv"), r"must end in '\.toml' to hold"),
        (lambda: TableSchema.from_schema_or_path({}), "or the path of its file, got dict"),
    ):
        with pytest.raises(DataError, match=message):
            work()


def test_what_follows_from_it():
    assert list(SCHEMA) == [column.name for column in SCHEMA.columns] and len(SCHEMA) == 7
    assert [column.name for column in SCHEMA.features] == list(SCHEMA)[1:5]
    assert SCHEMA.encoded_names == (
        *("age", "age=(missing)", "home=own", "home=rent", "home=(other)"),
        *("grade", "marital-status ü."),
    )
    assert SCHEMA.feature_groups == {
        "age": ("age", "age=(missing)"),
        "home": ("home=own", "home=rent", "home=(other)"),
    }
    assert SCHEMA.sensitive == ("sex",) and SCHEMA.classes == ("no", "yes")
    assert SCHEMA.target_bounds is None and SCHEMA.refusing == ()
    number = TableSchema([Numeric("y", (0, 9), role="target")])
    assert number.target_bounds == (0.0, 9.0) and number.classes is None
    strict = TableSchema([Numeric("a", (0, 1), missing="refuse"), Ordered("b", "xyz".split("y"))])
    assert strict.refusing == ("a",)


def test_only_what_a_person_says_is_confirmed():
    schema = TableSchema(
        [
            Numeric("age", (20, 44), typical=(21, 40), learnt=["kind", "bounds", "typical"]),
            Categorical("home", ["own", "rent"], learnt=["kind", "levels"]),
            IgnoredColumn("sex", role="sensitive", learnt=["kind"]),
            IgnoredColumn("id", learnt=["role"]),
        ]
    )
    assert set(schema.unconfirmed) == {"age", "home", "id"} and schema.leak
    said = schema.declare("age", bounds=(18, 90))
    assert said.unconfirmed["age"] == ("typical",) and said["age"].bounds == (18, 90)
    assert said.confirm("age", only=["kind"]).unconfirmed["age"] == ("typical",)
    done = said.confirm("age", "home").declare("id", role="ignore")
    assert done.unconfirmed == {} and done.leak == ""
    assert schema.confirm(*schema).leak == ""
    assert schema.unconfirmed["age"] == ("kind", "bounds", "typical")  # it is immutable
    changed = schema.declare("age", kind="categorical", levels=[1, 2])
    assert changed["age"] == Categorical("age", [1, 2])
    for work, message in (
        (lambda: schema.confirm(), "unconfirmed are 'age', 'home', 'sex', 'id'"),
        (lambda: schema.confirm("agee"), r"no column 'agee' \(did you mean 'age'\?\)"),
        (lambda: schema.declare("age", bound=(1, 2)), "has no setting 'bound'"),
        (lambda: schema.declare("age", kind="number"), "kind of column 'age' must be one of"),
        (lambda: schema.declare("age", kind="categorical"), "must declare its 'levels'"),
    ):
        with pytest.raises(DataError, match=message):
            work()
    marked = TableSchema([Numeric("status", (1, 4), missing="indicator", learnt=["missing"])])
    kept = {"missing": "indicator", "learnt": ["missing"]}  # another kind takes what fits it
    codes = marked.declare("status", kind="categorical", levels=[1, 2, 3, 4])["status"]
    assert codes == Categorical("status", [1, 2, 3, 4], **kept)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([Numeric("a", (0, 1)), Numeric("a", (0, 2))], "column 'a' occurs 2 times"),
        ([YesNo("a", role="target"), YesNo("b", role="target")], "can be the target, got 'a', 'b'"),
        ([Categorical("a", ["x", "y"]), Numeric("a=x", (0, 1))], "column 'a=x' occurs 2 times"),
        (["a"], "columns must be declared columns, got 'a'"),
        ({"a": {"kind": "anything"}}, "pass a dict to from_dict"),
    ],
)
def test_columns_that_do_not_go_together(columns, message):
    with pytest.raises(DataError, match=re.escape(message)):
        TableSchema(columns)
