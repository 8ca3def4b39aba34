"""Handlers of compressed scripts and template files."""

import gzip
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from posixpath import normpath

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, authenticated
from voila.static_file_handler import TemplateStaticFileHandler

from rashomon_explorer._utils.assets import plotly_module

_MAIN = "voila.js"
_ASKED = re.compile(r"\b\w\.e\((\d+)\)")


def joined_parts(folders: Sequence[str | Path]) -> bytes:
    r"""Return the scripts that Voilà's main script loads first, joined into one."""
    main = _found(_MAIN, folders)
    if main is None:
        return b""
    numbers = dict.fromkeys(_ASKED.findall(main.read_text(encoding="utf-8")))
    return b"".join(
        b"(()=>{" + part.read_bytes() + b"\n})();\n" for part in _parts(numbers, folders)
    )


def _parts(numbers: Iterable[str], folders: Sequence[str | Path]) -> Iterable[Path]:
    """Paths of the numbered scripts; those shared between bundles have no file."""
    paths = (_found(f"{number}.{_MAIN}", folders) for number in numbers)
    return (part for part in paths if part is not None)


def _found(name: str, folders: Sequence[str | Path]) -> Path | None:
    return next((path for folder in folders if (path := Path(folder) / name).is_file()), None)


Packed = tuple[bytes, str]  # compressed content of a file, and its ETag


@cache
def packed_plotly() -> Packed:
    """Return the compressed plotly library; cached, because compression is slow."""
    return _packed(plotly_module())


@cache
def packed_parts(folders: tuple[str, ...]) -> Packed:
    """Return Voilà's scripts from these folders as one compressed file."""
    return _packed(joined_parts(folders))


def _packed(code: bytes) -> Packed:
    packed = gzip.compress(code, compresslevel=6, mtime=0)
    return packed, f'"{sha256(packed).hexdigest()}"'


class PackedFile(JupyterHandler):
    """Handler of a compressed script, which browsers load while the kernel starts."""

    def initialize(self, packed: Callable[[], Packed]) -> None:
        self._made = packed

    @authenticated
    def get(self) -> None:
        """Send the file, or status 304 if the browser's copy is current."""
        packed, etag = self._made()
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.set_header("Cache-Control", "private, no-cache")
        self.set_header("Etag", etag)
        if self.check_etag_header():
            self.set_status(304)
            self.finish()
            return
        self.set_header("Content-Encoding", "gzip")
        self.finish(packed)

    def compute_etag(self) -> str | None:
        """Return None, which keeps the ETag set by `get`."""
        return None


def packed_files(folders: tuple[str, ...]) -> Mapping[str, Callable[[], Packed]]:
    """Return a factory for each file name below the dashboard's address."""
    return {"plotly.mjs": packed_plotly, "voila-parts.js": lambda: packed_parts(folders)}


_FILE = re.compile(r"[A-Za-z0-9][\w.-]*/static/[^\0]+")


class TemplateFile(TemplateStaticFileHandler):
    """Handler of template files; Voilà's own raises ValueError for other addresses."""

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of ``<template>/static/<file>``; 404 for anything else."""
        if not is_template_file(url_path):
            raise HTTPError(404)
        return str(super().parse_url_path(url_path))


def is_template_file(path: str) -> bool:
    r"""Whether a path below ``/voila/templates/`` can be that of a template file."""
    return all(_FILE.fullmatch(candidate) for candidate in (path, normpath(path)))
