"""CSV files of one's own: what is read, what becomes of it, and the line that cannot be used."""

import csv
import io
import re
import warnings
from itertools import cycle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.data import Numeric, TableSchema, load_csv, propose_schema
from rashomon_explorer.data.csv import detect_separator, parse_csv, read_text
from rashomon_explorer.data.numerals import NumberMarks
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning, RowsClippedWarning

# Small tables with one value outside on purpose: that this is said has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")

TEXT = "name,city\nJosé,Köln\n"
BYTES = TEXT.encode()


@pytest.mark.parametrize(
    "source",
    [
        *(BYTES, bytearray(BYTES), memoryview(BYTES), io.BytesIO(BYTES), io.StringIO(TEXT)),
        *(b"\xef\xbb\xbf" + BYTES, io.StringIO("\ufeff" + TEXT)),
        *(BYTES.replace(b"\n", b"\r\n"), BYTES.replace(b"\n", b"\r")),
    ],
    ids=["bytes", "bytearray", "memoryview", "binary", "text", "BOM", "text BOM", "crlf", "cr"],
)
def test_every_kind_of_source_gives_the_same_text(source):
    assert read_text(source) == TEXT


@pytest.mark.parametrize(
    ("content", "offset", "line"),
    [
        (b"a,b\r\n1,2\r\n3,caf\xe9\r\n", 15, 3),
        (b"caf\xe9,b\n1,2\n", 3, 1),
        (b"a,b\r1,\xff\r", 6, 2),
    ],
)
def test_what_is_not_utf8_is_named_by_byte_and_line(content, offset, line, tmp_path):
    message = f"not UTF-8: byte 0x{content[offset]:02x} at byte offset {offset}, line {line}."
    with pytest.raises(DataError, match=re.escape(message)):
        read_text(content)
    (tmp_path / "rows.csv").write_bytes(content)
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        with pytest.raises(DataError, match="open it in binary"):
            read_text(file)


# A leading letter keeps pandas from taking a cell for a number; inner text may need quotes.
word = st.text(st.sampled_from('ab",\n é'), max_size=6).map(lambda text: f"w{text}w")
plain_word = st.text(st.sampled_from("abé "), max_size=6).map(lambda text: f"w{text}w")


def write(rows, blanks):
    """CSV text with blank lines before some rows, and the line where every row starts."""
    stream = io.StringIO()
    stream.write("x,word\n")
    lines = []
    for row, blank in zip(rows, blanks, strict=True):
        stream.write("  \n" * blank)
        lines.append(stream.getvalue().count("\n") + 1)
        csv.writer(stream, lineterminator="\n").writerow(row)
    return stream.getvalue(), lines


def tables(words):
    rows = st.lists(st.tuples(st.integers(-(10**9), 10**9), words), min_size=1, max_size=8)
    return rows.flatmap(
        lambda rows: st.tuples(
            st.just(rows), st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
        )
    )


@given(st.one_of(tables(word), tables(plain_word)), st.booleans(), st.data())
def test_cells_and_lines_come_back_and_a_ragged_row_is_named_by_its_line(table, final, data):
    rows, blanks = table
    text, lines = write(rows, blanks)
    parsed = parse_csv(text if final else text.removesuffix("\n"))
    assert list(parsed.frame.columns) == ["x", "word"]
    assert list(parsed.frame.itertuples(index=False, name=None)) == rows
    assert parsed.lines.tolist() == lines
    ragged = data.draw(st.integers(0, len(rows) - 1))
    cells = data.draw(st.sampled_from([("only",), ("one", "two", "three")]))
    text, lines = write([*rows[:ragged], cells, *rows[ragged + 1 :]], blanks)
    message = f"line {lines[ragged]} has {len(cells)} values, but the header names 2 columns"
    with pytest.raises(DataError, match=message):
        parse_csv(text)


def test_blank_lines_spaces_text_columns_and_words_for_missing():
    table = parse_csv("\n \n\n a , b \n\n 1 , 2\n")
    assert (table.frame.to_dict("list"), table.lines.tolist()) == ({"a": [1], "b": [2]}, [6])
    assert table.row_name(0) == "line 6"
    assert parse_csv("a,b\n01,2\n", text_columns=["a"]).frame["a"].tolist() == ["01"]
    assert parse_csv("a,b\nNA,2\n,3\n").frame["a"].tolist() == ["NA", ""]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_table_is_the_same_whatever_separates_its_values(separator, quoted):
    rows = [["age", "home", "rate"], ["20", "own", "1.5"], ["44", "to rent", "2"], ["", "x", "0"]]
    rows[1][1] = f'"o{separator}wn"' if quoted else "own"
    table = parse_csv("\n".join(separator.join(row) for row in rows) + "\n")
    assert table.frame["age"].tolist() == ["20", "44", ""]
    assert table.frame["home"].tolist() == [rows[1][1].strip('"'), "to rent", "x"]
    assert table.frame["rate"].tolist() == [1.5, 2, 0] and table.lines.tolist() == [2, 3, 4]
    assert bool(table.written) == (separator != ",")
    # The separator is that of most lines and not of most columns.
    assert detect_separator("a;b;c,d\n1,2\n3,4\n") == ","


def test_decimal_commas_are_numbers_and_text_with_commas_stays_text():
    text = "rate;gap;place;code\n1,5;2,5;a,b;1,2\n-3;;1,5 km;2,3\n+0,25;1,5;c;x\n"
    table = parse_csv(text, text_columns=["code"])
    assert table.frame["rate"].tolist() == [1.5, -3, 0.25]
    assert table.frame["gap"].tolist() == ["2.5", "", "1.5"]  # read as numbers with one missing
    assert table.frame["place"].tolist() == ["a,b", "1,5 km", "c"]
    assert table.frame["code"].tolist() == ["1,2", "2,3", "x"]
    assert table.written == "separated by semicolons with decimal commas"
    # Among commas "1,5" is two values, and quoted it is one number.
    assert parse_csv('rate,b\n"1,5",2\n').frame["rate"].tolist() == [1.5]


TWO_WAYS = {"1,549": (1549, 1.549), "1.549": (1549, 1.549)}


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("cell", TWO_WAYS)
def test_a_number_that_can_be_read_two_ways_is_asked_for_with_both_readings(cell, separator):
    text = f"income{separator}paid\n{cell}{separator}yes\n987{separator}no\n"
    with pytest.raises(DataError, match=rf"{cell} is 1549 \(.* or 1\.549 \(decimal .*decimal='"):
        parse_csv(text)
    mark = "." if "." in cell else ","
    other = {".": ",", ",": "."}[mark]
    for decimal, value in zip((other, mark), TWO_WAYS[cell], strict=True):
        frame = parse_csv(text, marks=NumberMarks(decimal)).frame
        assert frame["income"].tolist() == [value, 987]
    # Negative controls: a cell that can be read one way shows what the mark means, and text stays.
    assert parse_csv(f"{text}{cell}{other}5{separator}no\n").frame["income"][0] == 1549
    assert parse_csv(f"{text}0{mark}5{separator}no\n").frame["income"][0] == 1.549
    assert parse_csv(text, text_columns=["income"]).frame["income"][0] == cell


def test_among_commas_one_decimal_point_in_the_file_shows_what_a_point_is():
    assert parse_csv("a,b\n1.549,0.5\n987,2\n").frame["a"].tolist() == [1.549, 987]
    assert parse_csv('a,b\n"1,549",0.5\n987,2\n').frame["a"].tolist() == [1549, 987]
    for text in ("a,b\n1.549,5\n987,2\n", 'a,b\n1.549,"0,5"\n987,"2,5"\n'):
        with pytest.raises(DataError, match="two ways"):
            parse_csv(text)
    # Marks that contradict each other in one column are asked for, too.
    with pytest.raises(DataError, match="two ways"):
        parse_csv("a;b\n1,5;x\n1.5;y\n1,549;z\n")


MARKS = [(".", ""), (".", ","), (".", " "), (".", "'"), (",", ""), (",", "."), (",", "\u00a0")]


def in_dialect(number, decimal, thousands, digits):
    """A number as a spreadsheet of this dialect writes it."""
    text = f"{number:,.{digits}f}" if digits else f"{number:,}"
    return text.translate({ord(","): thousands, ord("."): decimal})


@given(
    st.lists(
        st.tuples(st.integers(-(10**7), 10**7), st.integers(-(10**7), 10**7), word),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(MARKS),
    st.integers(0, 4),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_table_in_any_dialect_is_read_right_or_refused(
    rows, separator, marks, digits, encoding, line_end, stated
):
    stream = io.StringIO()
    stream.write(f"sep={separator}{line_end}" * stated)
    writer = csv.writer(stream, delimiter=separator, lineterminator=line_end)
    writer.writerow(["whole", "part", "word", "paid"])
    parts = [second / 10**digits if digits else second for _, second, _ in rows]
    for (first, _, text), part, paid in zip(rows, parts, cycle(["no", "yes"]), strict=False):
        numbers = in_dialect(first, *marks, 0), in_dialect(part, *marks, digits)
        writer.writerow([*numbers, text, paid])
    content = stream.getvalue().encode(encoding)
    declared = {
        "target": "paid",
        "classes": ["no", "yes"],
        "bounds": {"whole": (-(10**8), 10**8), "part": (-(10**8), 10**8)},
        "drop": ["word"],
    }
    decimal, thousands = marks
    for told in ({}, {"decimal": decimal, "thousands": thousands or None}):
        try:
            data = load_csv(content, **declared, **told)
        except DataError:
            assert not told, "refused though its marks are declared"
            continue
        assert data.X["whole"].tolist() == [first for first, *_ in rows]
        assert data.X["part"].tolist() == parts


@pytest.mark.parametrize(
    "cells",
    [
        *(["01067", "80331"], ["007", "12"], ["1e5", "3e7", "12"], ["+4915112345", "12"]),
        *(["18_25", "26_35"], ["１２", "３４"], ["١٢", "٣"], ["9" * 19, "1"], ["0x1F", "2"]),
    ],
)
def test_codes_and_other_digits_stay_text(cells):
    rows = "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells * 30))
    table = parse_csv(f"code,y\n{rows}")
    assert table.frame["code"].tolist() == cells * 30
    for frame in (table.frame, pd.DataFrame({"code": cells * 30, "y": [0, 1] * len(cells) * 15})):
        assert propose_schema(frame, target="y")["code"].kind != "numeric"


def test_a_column_that_is_declared_numeric_may_have_leading_zeros_and_powers():
    rows = b"code,y\n007,0\n1e2,1\n"
    data = load_csv(rows, target="y", bounds={"code": (0, 1000)}, classes=[0, 1])
    assert data.X["code"].tolist() == [7.0, 100.0]
    with pytest.raises(DataError, match="line 2 is not a number"):
        load_csv(rows.replace(b"007", b"0_7"), target="y", bounds={"code": (0, 9)}, classes=[0, 1])


def test_a_stated_separator_long_fields_and_files_cut_in_half():
    text = f"sep=;\nage;note,x\n20;{'n' * 140_000}\n"
    table = parse_csv(text)
    assert list(table.frame) == ["age", "note,x"] and table.lines.tolist() == [3]
    assert csv.field_size_limit() == 131_072
    with pytest.raises(DataError, match="states the separator 'x'"):
        parse_csv("sep=x\naxb\n1x2\n")
    cut = "a;b\n1;yes\n".encode("utf-16")
    assert read_text(cut) == "a;b\n1;yes\n"
    with pytest.raises(DataError, match=f"half a character at byte offset {len(cut) - 2} of"):
        read_text(cut[:-1])


@pytest.mark.parametrize(
    "marks", [{"decimal": ";"}, {"thousands": ".."}, {"decimal": ".", "thousands": "."}]
)
def test_marks_that_are_none_are_refused(marks):
    with pytest.raises(DataError, match=r"must be|must differ"):
        NumberMarks(**marks)


ROWS = b"""age,income,home,sex,repaid
20,1.5,rent,f,no
44,2.5,own,m,yes
95,-1,own,f,yes
"""
DECLARED = {
    "target": "repaid", "sensitive": ["sex"], "bounds": {"age": (18, 90), "income": (0, 10)},
    "categories": {"home": ["own", "rent", "none"]},
}  # fmt: skip
AGE = {"age": (18, 90)}


def load(rows=ROWS, **changes):
    return load_csv(rows, **{**DECLARED, **changes})


def test_a_table_is_loaded_as_declared(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_bytes(ROWS)
    assert load(path).name == "loans" and load(str(path), name="mine").name == "mine"
    with path.open("rb") as upload:
        with pytest.warns(RowsClippedWarning, match="'age'.*Curator"):
            data = load(upload)
    assert data.X.to_dict("list") == {
        "age": [20.0, 44.0, 90.0],
        "income": [1.5, 2.5, 0.0],
        "home=own": [0.0, 1.0, 1.0],
        "home=rent": [1.0, 0.0, 0.0],
        "home=none": [0.0, 0.0, 0.0],
    }
    assert (data.y.tolist(), data.classes) == ([0, 1, 1], ["no", "yes"])
    assert data.sensitive["sex"].tolist() == ["f", "m", "f"]
    assert data.bounds["home=none"] == (0.0, 1.0) and not data.bounds_learnt
    assert (data.name, data.task) == ("csv", "classification")


def test_a_regression_target_is_clipped_and_dropped_columns_are_gone_whatever_is_in_them():
    data = load(target="income", bounds=AGE, drop=["repaid"], target_bounds=(0, 2))
    assert (data.task, data.y.tolist(), data.classes) == ("regression", [1.5, 2.0, 0.0], None)
    data = load(ROWS.replace(b"2.5", b"oops"), drop=["income"], bounds=AGE)
    assert "income" not in data.X


def test_the_lacking_bounds_come_as_a_skeleton_without_values():
    with pytest.raises(DataError) as caught:
        load(bounds={}, categories={})
    message = str(caught.value)
    assert "bounds={'age': (low, high), 'income': (low, high)}" in message
    assert "categories={'home': ['level', 'level']}" in message
    for value in ("20", "44", "95", "1.5", "2.5", "rent", "own"):
        assert value not in message


def test_learnt_bounds_warn_and_are_marked():
    declared = load().schema
    learnt = Numeric("income", (-1, 2.5), missing="refuse", learnt=["bounds"])
    columns = [learnt if column.name == "income" else column for column in declared.columns]
    with pytest.warns(PrivacyLeakWarning, match=r"computed from the rows.*income \(bounds\)"):
        data = load_csv(ROWS, schema=TableSchema(columns))
    assert data.bounds_learnt and "no privacy guarantee" in data.DESCR
    assert data.bounds["income"] == (-1.0, 2.5) and data.bounds["age"] == (18.0, 90.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        assert not load().bounds_learnt  # nothing where all is declared


def swap(old, new):
    return ROWS.replace(old, new)


@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        # The file.
        (TEXT.encode("utf-32"), {}, "looks like UTF-32 (byte offset 0, line 1)"),
        (b"PK\x03\x04rest", {}, "looks like a zip or spreadsheet file"),
        (b"a,b\n1,\x00\n", {}, "line 2 holds a NUL character"),
        ("a,b\n1,2\n", {}, "pass the CSV text as bytes, text.encode()"),
        ("no/such/file.csv", {}, "cannot read 'no/such/file.csv': No such file or directory"),
        (3, {}, "expected a path, bytes or an open file to read a CSV from, got int"),
        (pd.DataFrame({"age": [1]}), {}, "load_csv(frame.to_csv(index=False).encode(), ...)"),
        (b"\n \n\n", {}, "the file is empty"),
        (b"\na,b", {}, "has a header (line 2) and no rows"),
        (b"a, a\n1,2\n", {}, "in the header on line 1, column 'a' occurs 2 times"),
        (b"a,,c\n1,2,3\n", {}, "column 2 of 3 has no name in the header on line 1"),
        (b"a;b\n1;2\n1;2;3\n", {}, "put a value that contains a semicolon in double quotes"),
        (b'a,"b\n1,2\n', {}, "the header on line 1 cannot be read"),
        (b'a,b\n1,2\n3,"x\n', {}, "line 3 cannot be read (unexpected end of data): check its"),
        # Cells.
        (swap(b"44", b"?"), {}, "at line 3, where '?' stands for a missing value (1 missing"),
        (swap(b"own,m", b"boat,m"), {}, "column 'home' has level 'boat' at line 3"),
        (ROWS, {"classes": ["no", "late"]}, "'yes'"),
        # Declarations.
        (ROWS, {"target": None}, "name the column to predict"),
        (ROWS, {"bounds": [(0, 1)]}, "bounds must be a dict with columns as keys, got list"),
        (ROWS, {"drop": ["id"]}, "drop names 'id', which is not a column"),
    ],
)
def test_bad_input_is_refused_with_the_column_or_the_line(rows, changes, message):
    small = {"target": "t", "sensitive": (), "bounds": {}, "categories": {}}
    changes = {**small, **changes} if isinstance(rows, bytes) and rows[:3] == b"a,t" else changes
    with pytest.raises(DataError, match=re.escape(message)):
        load(rows, **changes)


def test_declared_classes_are_the_labels_whatever_the_rows_hold():
    data = load(classes=["yes", "no", "maybe"])
    assert data.classes == ["yes", "no", "maybe"] and data.y.tolist() == [1, 0, 0]
    assert data.schema["repaid"].learnt == () and data.schema.classes == ("yes", "no", "maybe")
    assert load(classes=["no", "yes"], positive="no").classes == ["yes", "no"]
    coded = load(ROWS.replace(b"no\n", b"0\n").replace(b"yes\n", b"1\n"), classes=[0, 1])
    assert (coded.y.tolist(), coded.classes) == ([0, 1, 1], [0, 1])


@pytest.mark.parametrize("positive", [None, "yes"])
def test_labels_that_nobody_declared_carry_a_mark(positive):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        data = load(positive=positive)
    assert data.schema["repaid"].learnt == ("levels",) and not data.bounds_learnt
    assert "inferred from the rows" in data.DESCR
    assert "inferred" not in load(classes=["no", "yes"]).DESCR
    again = load_csv(ROWS, schema=TableSchema.from_toml(data.schema.to_toml()))
    assert again.schema["repaid"].learnt == ("levels",)
    with pytest.raises(DataError, match="the schema declares these already: leave classes out"):
        load_csv(ROWS, schema=data.schema, classes=["no", "yes"])
