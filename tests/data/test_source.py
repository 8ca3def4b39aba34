import io
import re

import pytest

from rashomon_explorer.data.csv import read_text
from rashomon_explorer.exceptions import DataError

TEXT = "name,city\nJosé,Köln\n"
BYTES = TEXT.encode()


@pytest.mark.parametrize(
    "source",
    [
        BYTES,
        bytearray(BYTES),
        memoryview(BYTES),
        io.BytesIO(BYTES),
        io.StringIO(TEXT),
        b"\xef\xbb\xbf" + BYTES,
        io.StringIO("\ufeff" + TEXT),
        BYTES.replace(b"\n", b"\r\n"),
        BYTES.replace(b"\n", b"\r"),
    ],
    ids=["bytes", "bytearray", "memoryview", "binary", "text", "BOM", "text BOM", "crlf", "cr"],
)
def test_every_kind_of_source_gives_the_same_text(source):
    assert read_text(source) == TEXT


def test_a_path_may_be_a_str_or_a_path(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(BYTES)
    assert read_text(path) == read_text(str(path)) == TEXT
    with path.open("rb") as file:
        assert read_text(file) == TEXT


@pytest.mark.parametrize(
    ("content", "offset", "line"),
    [
        (b"a,b\n1,2\n3,caf\xe9\n", 13, 3),
        (b"a,b\r\n1,2\r\n3,caf\xe9\r\n", 15, 3),
        (b"caf\xe9,b\n1,2\n", 3, 1),
        (b"a,b\r1,\xff\r", 6, 2),
    ],
)
def test_what_is_not_utf8_is_named_by_byte_and_line(content, offset, line):
    message = f"not UTF-8: byte 0x{content[offset]:02x} at byte offset {offset}, line {line}."
    with pytest.raises(DataError, match=re.escape(message)):
        read_text(content)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (TEXT.encode("utf-16"), "looks like UTF-16 (byte offset 0, line 1)"),
        (b"PK\x03\x04rest", "looks like a zip or spreadsheet file"),
        (b"a,b\n1,\x00\n", "line 2 holds a NUL character"),
        ("a,b\n1,2\n", "pass the CSV text as bytes, text.encode()"),
        ("no/such/file.csv", "cannot read 'no/such/file.csv': No such file or directory"),
        (".", "cannot read '.': Is a directory"),
        (3, "expected a path, bytes or an open file to read a CSV from, got int"),
    ],
)
def test_other_sources_are_refused(source, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read_text(source)


def test_a_file_opened_as_text_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"caf\xe9,b\n")
    with path.open(encoding="utf-8") as file, pytest.raises(DataError, match="open it in binary"):
        read_text(file)
