"""A report in its place: whole or not at all."""

import os
import tempfile
from os import PathLike
from pathlib import Path


def refuse_existing(path: str | PathLike[str], overwrite: bool) -> Path:
    """Return where to write, before hours are spent on what would not be written."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already: choose another name or overwrite=True")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is no folder: make it first")
    return target


def write_text(target: Path, text: str, *, public: bool) -> None:
    """Write beside the place and move there; what is not public, its owner alone can read."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644 if public else 0o600)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
