"""Atomic writes of files that only their owner can read."""

import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

_OWN_FILE = 0o600
_OTHERS, _GROUP_AND_OTHERS = 0o007, 0o077


def private_opener(path: str, flags: int) -> int:
    """Open a file for ``open(..., opener=...)`` so that only its owner can read it."""
    opened = os.open(path, flags, _OWN_FILE)
    with suppress(OSError):
        os.chmod(path, _OWN_FILE)
    return opened


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; raise FileExistsError if it exists."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWN_FILE))
    with suppress(OSError):  # a umask may remove the owner's rights; some file systems have none
        os.chmod(path, _OWN_FILE)


def tighten(path: Path, *, shared: bool = False) -> bool:
    """Remove the rights of other accounts from a file or folder owned by this account."""
    with suppress(OSError):  # missing, owned by another account, or on a read-only file system
        status = path.stat()
        grouped = shared and status.st_mode & stat.S_IWGRP
        excess = status.st_mode & (_OTHERS if grouped else _GROUP_AND_OTHERS)
        if excess and _is_own(status):
            os.chmod(path, stat.S_IMODE(status.st_mode) & ~excess)
            return True
    return False


def _is_own(status: os.stat_result) -> bool:
    # Windows has no such accounts; the access list of the folder applies there.
    return hasattr(os, "geteuid") and status.st_uid == os.geteuid()


_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(r"nfs\d?|cifs|smb\d?|smbfs|ceph|lustre|beegfs|afs|9p|fuse\.(?!overlayfs).*")


def network_file_system(path: Path) -> str:
    """Type of the network file system on which a path lies; empty for disks and where unknown."""
    depth, kind = 0, ""
    with suppress(OSError):  # systems without Linux's list
        for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
            mount, _, device = line.partition(" - ")
            folder = Path(mount.split()[4].replace("\\040", " "))
            # Of two mounts at one folder the later hides the earlier.
            if path.is_relative_to(folder) and len(folder.parts) >= depth:
                depth, kind = len(folder.parts), device.split()[0]
    return kind if _NETWORK.fullmatch(kind) else ""


Write = Callable[[BinaryIO], object]

# Errors of file systems without hard links, and of those whose folders cannot be flushed.
_UNSUPPORTED = frozenset(
    {errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
)


def write_new_file(folder: Path, name: Callable[[int], str], first: int, write: Write) -> int:
    """Write a file with the first free number, readable by its owner only; return the number."""
    with _flushed(folder), _temporary(folder, name(first), write) as temporary:
        for number in count(first):
            try:
                _link(temporary, folder / name(number))
            except FileExistsError:
                continue
            return number
    raise AssertionError("numbers do not end")


def replace_file(target: Path, write: Write, *, mode: int = 0o600) -> None:
    """Write or replace a file atomically: a reader gets the old or the new content."""
    with _flushed(target.parent), _temporary(target.parent, target.name, write) as temporary:
        os.chmod(temporary, mode)
        os.replace(temporary, target)


def quarantine_file(path: Path) -> Path:
    """Rename a damaged file to a new name in the same folder, and return that path."""
    with _flushed(path.parent):
        for number in count(1):
            new_path = path.with_name(f"{path.name}.{number}.damaged")
            try:
                _link(path, new_path)
            except FileExistsError:
                continue
            path.unlink(missing_ok=True)
            return new_path
    raise AssertionError("numbers do not end")


def make_folder(folder: Path) -> None:
    """Create a folder if it does not exist, and flush it to disk."""
    if not folder.is_dir():
        with _flushed(folder.parent):
            folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _temporary(folder: Path, name: str, write: Write) -> Iterator[Path]:
    """Write a temporary file, flush it to disk, and delete it at the end."""
    handle, text = tempfile.mkstemp(dir=folder, prefix=f".{name}.")  # readable by its owner only
    temporary = Path(text)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with suppress(OSError):  # a failed cleanup does not undo the write
            os.unlink(temporary)


def _link(source: Path, target: Path) -> None:
    """Link a file to a second name, or move it if links are unsupported; never overwrite."""
    try:
        os.link(source, target)
        return
    except AttributeError:  # in a browser
        pass
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        os.replace(source, target)
    except BaseException:
        os.unlink(target)  # created above, and empty
        raise


@contextmanager
def _flushed(folder: Path) -> Iterator[None]:
    """Flush a folder's entries to disk at the end; raise at the start if it cannot be opened."""
    handle = None
    with _where_supported():
        handle = os.open(folder, os.O_RDONLY)
    try:
        yield
        if handle is not None:
            with _where_supported():
                os.fsync(handle)
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def _where_supported() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
