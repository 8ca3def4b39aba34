import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.data.csv import detect_separator, parse_csv
from rashomon_explorer.exceptions import DataError

# a leading letter keeps pandas from taking a cell for a number; inner text may need quotes
word = st.text(st.sampled_from('ab",\n é'), max_size=6).map(lambda text: f"w{text}w")
plain_word = st.text(st.sampled_from("abé "), max_size=6).map(lambda text: f"w{text}w")
number = st.integers(-(10**9), 10**9)


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
    rows = st.lists(st.tuples(number, words), min_size=1, max_size=8)
    return rows.flatmap(
        lambda rows: st.tuples(
            st.just(rows), st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
        )
    )


@given(st.one_of(tables(word), tables(plain_word)), st.booleans())
def test_cells_and_lines_come_back(table, final_newline):
    rows, blanks = table
    text, lines = write(rows, blanks)
    parsed = parse_csv(text if final_newline else text.removesuffix("\n"))
    assert list(parsed.frame.columns) == ["x", "word"]
    assert list(parsed.frame.itertuples(index=False, name=None)) == rows
    assert parsed.lines.tolist() == lines


@given(st.one_of(tables(word), tables(plain_word)), st.data())
def test_a_ragged_row_is_named_by_its_line(table, data):
    rows, blanks = table
    ragged = data.draw(st.integers(0, len(rows) - 1))
    cells = data.draw(st.sampled_from([("only",), ("one", "two", "three")]))
    rows = [*rows[:ragged], cells, *rows[ragged + 1 :]]
    text, lines = write(rows, blanks)
    message = f"line {lines[ragged]} has {len(cells)} values, but the header names 2 columns"
    with pytest.raises(DataError, match=message):
        parse_csv(text)


def test_blank_lines_may_come_first():
    table = parse_csv("\n \n\na,b\n\n1,2\n")
    assert (table.frame["b"].tolist(), table.lines.tolist()) == ([2], [6])
    assert table.place(0) == "line 6"


def test_names_and_cells_lose_the_spaces_around_them():
    table = parse_csv(" a , b \n 1 , 2\n")
    assert table.frame.to_dict("list") == {"a": [1], "b": [2]}


def test_text_columns_stay_text():
    assert parse_csv("a,b\n01,2\n", text_columns=["a"]).frame["a"].tolist() == ["01"]


def test_a_word_for_missing_is_not_swallowed():
    assert parse_csv("a,b\nNA,2\n,3\n").frame["a"].tolist() == ["NA", ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n \n\n", "the file is empty"),
        ("a,b\n", "has a header (line 1) and no rows"),
        ("\na,b", "has a header (line 2) and no rows"),
        ("a,b\n\n  \n", "has a header (line 1) and no rows"),
        ('"a","b"\n', "has a header (line 1) and no rows"),
        ("a,b,a\n1,2,3\n", "in the header on line 1, column 'a' occurs 2 times"),
        ("a, a\n1,2\n", "in the header on line 1, column 'a' occurs 2 times"),
        ("a,,c\n1,2,3\n", "column 2 of 3 has no name in the header on line 1"),
        (",\n1,2\n", "column 1 of 2 has no name in the header on line 1"),
        ("a,b,\n1,2,\n", "column 3 of 3 has no name"),
        ("a;b\n1;2\n1\n", "line 3 has 1 values, but the header names 2 columns"),
        ("a;b\n1;2\n1;2;3\n", "put a value that contains a semicolon in double quotes"),
        ("a\tb\n1\t2\t3\n", "line 2 has 3 values, but the header names 2 columns"),
        ('a,"b\n1,2\n', "the header on line 1 cannot be read"),
        ('a,b\n1,2\n3,"x\n', "line 3 cannot be read (unexpected end of data): check its quotes"),
        ('a,b\n1,2\n3,"x"y\n', "line 3 cannot be read"),
        ('a,b\n"1,2"\n', "line 2 has 1 values, but the header names 2 columns"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 values, but the header names 2 columns"),
        ("a,b\n1,2\n1\n", "line 3 has 1 values, but the header names 2 columns"),
    ],
)
def test_files_that_are_no_table_are_refused_with_the_line(text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        parse_csv(text)


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


def test_decimal_commas_are_numbers_and_text_with_commas_stays_text():
    text = "rate;gap;place;code\n1,5;2,5;a,b;1,2\n-3;;1,5 km;2,3\n+0,25;1,5;c;x\n"
    table = parse_csv(text, text_columns=["code"])
    assert table.frame["rate"].tolist() == [1.5, -3, 0.25]
    assert table.frame["gap"].tolist() == ["2.5", "", "1.5"]  # read as numbers with one missing
    assert table.frame["place"].tolist() == ["a,b", "1,5 km", "c"]
    assert table.frame["code"].tolist() == ["1,2", "2,3", "x"]
    assert table.written == "separated by semicolons with decimal commas"
    # Negative control: among commas "1,5" is two values, and quoted it is text.
    assert parse_csv('rate,b\n"1,5",2\n').frame["rate"].tolist() == ["1,5"]


def test_the_separator_is_that_of_most_lines_and_not_of_most_columns():
    assert detect_separator("a;b;c,d\n1,2\n3,4\n") == ","
