"""Scripts of the page for a browser that has no program yet: made once, and sent packed."""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import authenticated

from rashomon_explorer.figure_library import plotly_module
from rashomon_explorer.server.voila_parts import joined_parts

Packed = tuple[bytes, str]
"""A file as it is sent, and its mark."""


@cache
def packed_plotly() -> Packed:
    """Return the figure library; made once, which takes a moment."""
    return _packed(plotly_module())


@cache
def packed_parts(folders: tuple[str, ...]) -> Packed:
    """Return Voilà's scripts of these folders in one."""
    return _packed(joined_parts(folders))


def _packed(code: bytes) -> Packed:
    packed = gzip.compress(code, compresslevel=6, mtime=0)
    return packed, f'"{sha256(packed).hexdigest()}"'


class PackedFile(JupyterHandler):
    """A script, which a browser reads while the program behind the page gets ready.

    It is the same for everybody; whoever may not see the page does not get it either.
    """

    def initialize(self, packed: Callable[[], Packed]) -> None:
        """Know what makes the file."""
        self._made = packed

    @authenticated
    def get(self) -> None:
        """Send it, or say that what the browser has is still right."""
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
        """Leave the one that was set."""
        return None


def packed_files(folders: tuple[str, ...]) -> Mapping[str, Callable[[], Packed]]:
    """Name the files under the dashboard's address, and what makes each.

    Parameters
    ----------
    folders : tuple of str
        Where Voilà's scripts are.

    Examples
    --------
    >>> sorted(packed_files(()))
    ['plotly.mjs', 'voila-parts.js']
    """
    return {"plotly.mjs": packed_plotly, "voila-parts.js": lambda: packed_parts(folders)}
