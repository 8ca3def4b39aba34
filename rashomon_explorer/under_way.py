"""A word from a page's program to its server: a draw is under way, do not end me yet."""

import os
from pathlib import Path

FOLDER_VARIABLE = "RASHOMON_EXPLORER_UNDER_WAY"
"""Environment variable with the folder of the marks; without it nobody asks."""


def mark_under_way(drawing: bool) -> None:
    """Say whether this process draws what has been paid for.

    >>> mark_under_way(True)
    >>> mark_under_way(False)
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is None:
        return
    mark = _mark(Path(folder), os.getpid())
    if drawing:
        mark.touch()
    else:
        mark.unlink(missing_ok=True)


def is_under_way(folder: Path, process: int) -> bool:
    """Return whether a process, by its id, has said that it draws."""
    return _mark(folder, process).exists()


def _mark(folder: Path, process: int) -> Path:
    return folder / f"{process}.drawing"
