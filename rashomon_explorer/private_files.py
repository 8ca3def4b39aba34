"""Files and folders that their owner's account alone can read, whatever the process's umask."""

import os
import stat
from contextlib import suppress
from pathlib import Path

_OWN_FILE, _OWN_FOLDER = 0o600, 0o700
_OTHERS, _GROUP_AND_OTHERS = 0o007, 0o077


def private_opener(path: str, flags: int) -> int:
    """Open a file for ``open(..., opener=...)`` so that only its owner can read it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes"
    ...     with open(path, "w", opener=private_opener) as file:
    ...         oct(stat.S_IMODE(path.stat().st_mode))
    '0o600'
    """
    opened = os.open(path, flags, _OWN_FILE)
    with suppress(OSError):
        os.chmod(path, _OWN_FILE)
    return opened


def write_private(path: Path, text: str) -> None:
    """Write a text file that its owner's account alone can read."""
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write(text)


def create_private(path: Path) -> None:
    """Create an empty file for its owner alone; FileExistsError where there is one."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWN_FILE))
    with suppress(OSError):  # a umask can take from the owner; a file system may know no rights
        os.chmod(path, _OWN_FILE)


def private_folder(path: Path) -> None:
    """Create a folder for its owner alone, or take an existing one away from all others."""
    path.mkdir(mode=_OWN_FOLDER, exist_ok=True)
    tighten(path)


def tighten(path: Path, *, shared: bool = False) -> bool:
    """Take the rights of other accounts from a file or folder of this account's.

    Never opens the file: closing it would drop the locks that SQLite holds on it in this process.

    Parameters
    ----------
    path : Path
    shared : bool, default=False
        Whether the group keeps its rights where it may write: several curators share the file.

    Returns
    -------
    bool
        Whether anything was taken.
    """
    with suppress(OSError):  # gone, another account's, or on a file system that is read-only
        found = path.stat()
        grouped = shared and found.st_mode & stat.S_IWGRP
        excess = found.st_mode & (_OTHERS if grouped else _GROUP_AND_OTHERS)
        if excess and _is_own(found):
            os.chmod(path, stat.S_IMODE(found.st_mode) & ~excess)
            return True
    return False


def _is_own(found: os.stat_result) -> bool:
    # Windows has no such accounts; there a folder's access list decides.
    return hasattr(os, "geteuid") and found.st_uid == os.geteuid()
