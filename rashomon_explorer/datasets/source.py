"""From a path, bytes or an open file to text; what is not UTF-8 is refused with its place."""

import codecs
import os
from pathlib import Path
from typing import IO, Any

from rashomon_explorer.exceptions import DataError

CsvSource = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | IO[str]

_OTHER_MARKS = {
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"PK\x03\x04": "a zip or spreadsheet file",
    b"\x1f\x8b": "a gzip file",
}


def read_text(source: CsvSource) -> str:
    r"""Read a whole CSV as text with ``\n`` line ends and no byte-order mark.

    A file object may be binary or text. A byte that is not UTF-8 is named by offset and line.

    >>> read_text(b"age\r\n20\r\n")
    'age\n20\n'
    """
    content = _read(source)
    text = content if isinstance(content, str) else _decode(content)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"line {line} holds a NUL character: this is not a CSV file of text")
    return text


def _read(source: Any) -> str | bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str | os.PathLike):
        return _read_file(source)
    if callable(getattr(source, "read", None)):
        try:
            content = source.read()
        except UnicodeDecodeError as error:
            raise DataError(
                f"the file was opened as text and is not {error.encoding}: open it in binary mode, "
                "open(path, 'rb'), to be told the line"
            ) from error
        if isinstance(content, str | bytes):
            return content
    frame = ": a table in memory goes in as load_csv(frame.to_csv(index=False).encode(), ...)"
    raise DataError(
        f"expected a path, bytes or an open file to read a CSV from, got {type(source).__name__}"
        f"{frame * callable(getattr(source, 'to_csv', None))}"
    )


def _read_file(path: str | os.PathLike[str]) -> bytes:
    if isinstance(path, str) and "\n" in path:
        raise DataError(
            "a str is taken for a path, but this one has several lines: pass the CSV text as "
            "bytes, text.encode()"
        )
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {os.fspath(path)!r}: {error.strerror or error}") from error


def _decode(content: bytes) -> str:
    for mark, kind in _OTHER_MARKS.items():
        if content.startswith(mark):
            raise DataError(
                f"the file looks like {kind} (byte offset 0, line 1), but a plain CSV in UTF-8 "
                "is expected: save it as 'CSV UTF-8'"
            )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        line = before.count(b"\n") + 1
        raise DataError(
            f"the file is not UTF-8: byte 0x{content[error.start]:02x} at byte offset "
            f"{error.start}, line {line}. Save it as 'CSV UTF-8', or convert "
            "it, for example with data.decode('latin-1').encode('utf-8')"
        ) from None
