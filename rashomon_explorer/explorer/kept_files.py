"""Files of paid results beside a ledger: listed and read; only damaged ones are put aside."""

import json
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rashomon_explorer.durable_files import make_folder, put_aside, write_new_file
from rashomon_explorer.explorer.guard import LOGGER

T = TypeVar("T")
Failed = Callable[[OSError], object]

_NO_TEXT = (json.JSONDecodeError, UnicodeDecodeError)
_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def log_unread(error: OSError) -> None:
    """Log that a file cannot be read at the moment."""
    LOGGER.error("a file of paid results cannot be read now", exc_info=error)


def file_names(folder: Path) -> list[str]:
    """Names in a folder; none where there is no folder.

    Raises
    ------
    OSError
        If the folder cannot be read at the moment.
    """
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


class NumberedFiles:
    """One file a result: ``0001.model``, ``0002.model``, …; two pages may write at once.

    Parameters
    ----------
    folder : pathlib.Path
        It appears with the first file.
    before, after : str
        What stands before and after the number in a name.
    """

    def __init__(self, folder: Path, before: str, after: str) -> None:
        self.folder = folder
        self._before, self._after = before, after

    def paths(self) -> list[Path]:
        """Files that are not put aside, oldest first.

        Raises
        ------
        OSError
            If the folder cannot be read at the moment.
        """
        numbers = sorted(number for number, aside in self._numbered() if not aside)
        return [self.folder / self._name(number) for number in numbers]

    def add(self, text: str) -> None:
        """Write one more.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        make_folder(self.folder)
        content = text.encode()
        # The number of a file that was put aside is not given again.
        first = 1 + max((number for number, _ in self._numbered()), default=0)
        write_new_file(self.folder, self._name, first, lambda file: file.write(content))

    def _name(self, number: int) -> str:
        return f"{self._before}{number:04d}{self._after}"

    def _numbered(self) -> list[tuple[int, str]]:
        before, after = re.escape(self._before), re.escape(self._after)
        ours = re.compile(rf"{before}(\d{{4,}}){after}(\.\d+\.damaged)?")
        found = map(ours.fullmatch, file_names(self.folder))
        return [(int(match[1]), match[2] or "") for match in found if match]


def read_file(
    path: Path, parse: Callable[[str], T], failed: Failed = log_unread, *, aside: bool = True
) -> T | None:
    """Parse a JSON file; None where there is none, or none that can be used.

    Parameters
    ----------
    path : pathlib.Path
    parse : callable
        Makes the result from the file's text.
    failed : callable, default=log_unread
        Called with an error of the file system, which may pass: the file stays as it is.
    aside : bool, default=True
        Whether a file that holds no JSON is put aside. What another version of the package wrote
        may parse as JSON and mean nothing here: it stays.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        failed(error)
        return None
    try:
        return parse(content.decode())
    except _NOT_OURS as error:
        level = logging.ERROR if aside else logging.INFO
        LOGGER.log(level, "%s could not be read", path, exc_info=error)
        if aside and isinstance(error, _NO_TEXT):
            _put_aside(path)
        return None


def _put_aside(path: Path) -> None:
    try:
        LOGGER.error("%s is damaged; it is now called %s", path, put_aside(path))
    except OSError as error:  # another page was first, or the folder is read-only
        LOGGER.error("%s is damaged and could not be put aside", path, exc_info=error)
