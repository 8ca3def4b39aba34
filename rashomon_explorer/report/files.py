"""A report in its place: whole or not at all."""

from os import PathLike
from pathlib import Path

from rashomon_explorer.durable_files import replace_file


def refuse_existing(path: str | PathLike[str], overwrite: bool) -> Path:
    """Return where to write, before hours are spent on what would not be written."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already: choose another name or overwrite=True")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is no folder: make it first")
    return target


def write_text(target: Path, text: str, *, public: bool) -> None:
    """Write a report; one that is not public can be read by its owner only."""
    content = text.encode()
    replace_file(target, lambda file: file.write(content), mode=0o644 if public else 0o600)
