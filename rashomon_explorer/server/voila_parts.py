"""Voilà's own scripts in one file: a browser asks once for what it needs at once."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_MAIN = "voila.js"
_ASKED = re.compile(r"\b\w\.e\((\d+)\)")


def joined_parts(folders: Sequence[str | Path]) -> bytes:
    r"""Return the scripts that Voilà's first script asks for before it does anything.

    Parameters
    ----------
    folders : sequence of path
        Where Voilà's scripts are; the first that has a file counts.

    Returns
    -------
    bytes
        A script that the page runs before the first one, which then finds its parts and asks for
        none. They are fifty or so, one after another over six connections. Empty where the first
        script is not built in the way that is known: it asks for its parts by itself then.

    Notes
    -----
    A part is a list of functions, of which none runs before it is asked for. Each stands in a
    function of its own, since ``"use strict"`` is said at the head of some.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name, code in {"voila.js": "r.e(7)", "7.voila.js": "push([[7]])"}.items():
    ...         _ = (Path(folder) / name).write_text(code)
    ...     joined_parts([folder])
    b'(()=>{push([[7]])\n})();\n'
    """
    main = _found(_MAIN, folders)
    if main is None:
        return b""
    asked = dict.fromkeys(_ASKED.findall(main.read_text(encoding="utf-8")))
    return b"".join(b"(()=>{" + part.read_bytes() + b"\n})();\n" for part in _parts(asked, folders))


def _parts(asked: Iterable[str], folders: Sequence[str | Path]) -> Iterable[Path]:
    """Find those that are files; others are shared between bundles and have no file."""
    found = (_found(f"{number}.{_MAIN}", folders) for number in asked)
    return (part for part in found if part is not None)


def _found(name: str, folders: Sequence[str | Path]) -> Path | None:
    return next((path for folder in folders if (path := Path(folder) / name).is_file()), None)
