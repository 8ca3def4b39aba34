"""plotly.js for a browser that has not asked a program for it yet."""

import gzip
from functools import cache
from hashlib import sha256

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import authenticated

from rashomon_explorer.figure_library import plotly_module

PLOTLY_FILE = "plotly.mjs"
"""Its name under the dashboard's address."""


@cache
def packed_plotly() -> tuple[bytes, str]:
    """Return the file as it is sent and its mark; made once, which takes a moment."""
    packed = gzip.compress(plotly_module(), compresslevel=6, mtime=0)
    return packed, f'"{sha256(packed).hexdigest()}"'


class PlotlyFile(JupyterHandler):
    """The figure library, which a browser reads while the program behind the page gets ready.

    It is the same for everybody; whoever may not see the page does not get it either.
    """

    @authenticated
    def get(self) -> None:
        """Send it, or say that what the browser has is still right."""
        packed, etag = packed_plotly()
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
