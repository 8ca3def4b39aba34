"""A first schema: what it reads off the rows, and that all of it is marked."""

import re

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import TableSchema, propose_schema
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, YesNo
from rashomon_explorer.exceptions import DataError


def frame_of(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "age": np.where(np.arange(n) == 5, 6, np.arange(n)),  # or it would count the rows
            "home": rng.choice(["own", "rent", "free"], n),
            "status": rng.integers(1, 5, n),
            "pets": rng.integers(0, 2, n),
            "member": rng.integers(0, 2, n).astype(bool),
            "country": ["NL"] * n,
            "sex": rng.choice(["f", "m"], n),
            "repaid": rng.choice(["no", "yes"], n),
        }
    )
    frame.loc[5, "home"] = None
    return frame


def propose(frame=None, **options):
    asked = {"target": "repaid", "sensitive": ["sex"], "categorical": ["status"], **options}
    return propose_schema(frame_of() if frame is None else frame, **asked)


def test_what_is_proposed():
    all_of = ("kind", "levels", "missing")
    assert propose() == TableSchema(
        [
            IgnoredColumn("id", learnt=("role",)),
            Numeric(
                "age",
                (0, 199),
                typical=tuple(np.quantile(np.arange(200), [0.05, 0.95])),
                learnt=("kind", "bounds", "typical", "missing"),
            ),
            Categorical("home", ("free", "own", "rent"), missing="indicator", learnt=all_of),
            Categorical("status", (1, 2, 3, 4), learnt=all_of),
            YesNo("pets", (0, 1), learnt=all_of),
            YesNo("member", (False, True), learnt=all_of),
            IgnoredColumn("country", learnt=("role",)),
            YesNo("sex", ("f", "m"), role="sensitive", learnt=all_of),
            YesNo("repaid", role="target", learnt=all_of),
        ]
    )


def test_whatever_a_record_can_change_is_marked():
    """For each proposal that another record would change, the change is in what is learnt."""
    frame = frame_of()
    base = propose(frame)
    changes = {
        "age": [1e6, -7, None, "old"],
        "home": ["boat", "own"],
        "pets": [2, None],
        "status": [9],
        "country": ["BE", None],
        "id": ["c0"],
        "repaid": ["maybe"],
    }
    for name, values in changes.items():
        for value in values:
            other = frame.astype({name: object})
            other.loc[5, name] = value
            before, after = base[name], propose(other)[name]
            differing = {
                field
                for field in before.to_dict() | after.to_dict()
                if before.to_dict().get(field) != after.to_dict().get(field)
            } - {"learnt"}
            assert not differing or set(before.learnt) & {"kind", "role", *differing}, (name, value)
            assert before.unconfirmed and after.unconfirmed


def test_it_is_written_for_an_editor_and_never_over_a_file(tmp_path):
    path = tmp_path / "loans.toml"
    proposed = propose(path=path)
    text = path.read_text()
    assert TableSchema.load(path) == proposed and proposed.leak
    edited = re.sub(r"learnt = \[.*\]\n", "", text)
    path.write_text(edited)
    assert TableSchema.load(path) == proposed.confirm(*proposed) and not TableSchema.load(path).leak
    with pytest.raises(DataError, match="exists already and may have been edited"):
        propose(path=path)


@pytest.mark.parametrize(
    ("values", "typical"),
    [
        ([0] * 97 + [1, 1, 40], (0.0, 1.39)),  # most are 0: the tails are thinner
        ([0] * 9999 + [1, 2], None),
        ([1, 2, 3, 4] * 25, None),  # all of the bounds
    ],
)
def test_the_typical_range_of_a_column_that_is_nearly_constant(values, typical):
    found = propose_schema(pd.DataFrame({"x": values}))["x"].typical
    assert found == (None if typical is None else pytest.approx(typical))


def test_codes_in_other_clothes():
    frame = pd.DataFrame(
        {
            "spelt": ["1", "2", "?", "3"] * 5,
            "mixed": ["1", 2, "x", 2.0] * 5,
            "empty": [None] * 20,
            "count": ["1", "1", "1", "2 or more"] * 4 + ["unknown"] * 4,  # one number among words
            "rate": [0.1, np.inf, 0.2, 0.3] * 5,
            "year": list(range(20)),
        }
    )
    proposed = propose_schema(frame, categorical=["year"], target="rate")
    assert proposed["spelt"].bounds == (1, 3) and proposed["spelt"].missing == "indicator"
    assert proposed["mixed"].kind == "numeric"
    assert proposed["count"].levels == ("1", "2 or more", "unknown")
    assert proposed["empty"] == IgnoredColumn("empty", learnt=("role",))
    assert proposed["year"].levels == tuple(range(20))
    assert proposed["rate"].levels[:2] == (0.1, 0.2) and proposed["rate"].role == "target"
    assert propose_schema(frame.assign(y=np.arange(20) / 7 + 1), target="y").target_bounds is None
    many = pd.DataFrame({"x": range(30), "y": np.arange(30) / 7})
    assert propose_schema(many, target="y").target_bounds == (0.0, 29 / 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "repayed"}, "target names 'repayed', which is not a column (did you mean 'rep"),
        ({"sensitive": "sex"}, "sensitive must be a list of column names, got the str 'sex'"),
        ({"ignore": ["ids"]}, "ignore names 'ids', which is not a column"),
        ({"ignore": ["sex"]}, "column 'sex' is sensitive and ignore: choose one role"),
        ({"frame": [[1, 2]]}, "a schema is proposed for a DataFrame, got list"),
    ],
)
def test_what_cannot_be_proposed(options, message):
    with pytest.raises(DataError, match=re.escape(message)):
        propose(**options)


def test_numbers_that_count_the_rows_are_left_out_and_said_to_be_learnt():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": rng.permutation(200) + 1000,
            "income": rng.choice(100_000, 200, replace=False),
            "age": rng.integers(18, 90, 200),
            "half": np.arange(200) / 2,
        }
    )
    schema = propose_schema(frame)
    kinds = {name: schema[name].role for name in frame}
    assert kinds == {"id": "ignore", "income": "feature", "age": "feature", "half": "feature"}
    assert schema.unconfirmed["id"] == ("role",)
    assert propose_schema(frame.head(20))["id"].role == "feature"
    assert propose_schema(frame, categorical=["id"])["id"].role == "ignore"  # too many levels
    assert propose_schema(frame, target="id")["id"].role == "target"


DATES = [
    ["2019-01", "2019-02", "2020-12"], ["2019-01-05", "2019-01-06", "2020-12-31"],
    ["05.01.2019", "31.12.2020", "1.2.2021"], ["01/05/2019", "12/31/2020", "2/1/2021"],
    ["2019-01-05 10:00", "2019-01-06T11:30:05Z", "2020-12-31"],
]  # fmt: skip
CODES = [
    ["2019-13", "2019-02", "2020-12"],  # no month
    ["19-01", "19-02", "20-12"],
    ["A-2019", "B-2019", "C-2020"],
]


@pytest.mark.parametrize("cells", [*DATES, *CODES], ids=lambda cells: cells[0])
def test_dates_are_no_levels(cells):
    frame = pd.DataFrame({"when": cells * 20, "x": range(60), "y": ["a", "b", "a"] * 20})
    schema = propose_schema(frame, target="y")
    assert isinstance(schema["when"], IgnoredColumn if cells in DATES else Categorical)
    assert cells in CODES or "role" in schema.unconfirmed.get("when", ("role",))
    # Who says that they are levels is believed.
    assert isinstance(propose_schema(frame, target="y", categorical=["when"])["when"], Categorical)
