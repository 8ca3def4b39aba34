"""Voilà application that serves the dashboard, with tokens masked in its logs."""

import asyncio
import logging
import os
import re
import signal
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, quote_plus

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.utils import url_path_join
from tornado.ioloop import IOLoop
from tornado.web import HTTPError
from voila.app import Voila
from voila.request_info_handler import RequestInfoSocketHandler
from voila.static_file_handler import TemplateStaticFileHandler
from voila.tornado.handler import TornadoVoilaHandler

from rashomon_explorer._utils.assets import DEMO_VARIABLE, HOME_VARIABLE, asset_path
from rashomon_explorer.exceptions import without_messages
from rashomon_explorer.server import serving as handlers
from rashomon_explorer.server.settings import LOOPBACK, Serving

LOGGERS = ("tornado.access", "tornado.application", "tornado.general", "asyncio", "Dashboard")
"""Loggers that write addresses or errors of requests."""

_IN_ADDRESS = re.compile(r"(token(?:=|%3D|%253D))[^&\s'\"#]+", re.IGNORECASE)
_MASK = "[secret]"


class TokenMask(logging.Filter):
    """Log filter that masks tokens and reduces tracebacks to types and places."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._written = {token, quote(token, safe=""), quote_plus(token)} - {""}

    def filter(self, record: logging.LogRecord) -> bool:
        without_messages(record)
        text = record.getMessage()
        for token in self._written:
            text = text.replace(token, _MASK)
        record.msg, record.args = _IN_ADDRESS.sub(rf"\1{_MASK}", text), None
        return True


def mask_tokens(token: str) -> None:
    mask = TokenMask(token)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(mask)


_KILL_ATTEMPTS = 50

ANYWHERE = ("", "0.0.0.0", "::")
"""Addresses that stand for all network interfaces of this machine, including loopback."""


_IN_PLACE: Mapping[Any, Any] = {
    TornadoVoilaHandler: handlers.LimitedPages,
    TemplateStaticFileHandler: handlers.TemplateFile,
}
"""Replacements of Voilà's handlers.

`RequestInfoSocketHandler` is omitted: the page does not use it, and it requires no token.
"""


class RunningInterpreter(KernelSpecManager):
    """Kernel specifications with the native kernel only, which runs this interpreter."""

    def _kernel_dirs_default(self) -> list[str]:
        return []


class Dashboard(Voila):
    """Voilà application that serves ``explorer.ipynb`` at ``/`` as ``voila.json`` configures."""

    # Otherwise an unreadable voila.json would start a server without security headers.
    raise_config_file_errors = True

    def __init__(self, serving: Serving, **traits: Any) -> None:
        apps = asset_path("apps")
        super().__init__(
            root_dir=str(apps),
            notebook_path=str(apps / "explorer.ipynb"),
            config_file_paths=[str(apps)],
            ip=serving.ip,
            port=serving.port,
            port_retries=serving.port_retries,
            base_url=serving.base_url,
            token=serving.token,
            identity_provider_class=handlers.Visitors,
            **traits,
        )
        self._serving = serving

    def init_settings(self) -> dict[str, Any]:
        headers = self.tornado_settings["headers"]
        policy = headers["Content-Security-Policy"]
        ancestors = " ".join(["frame-ancestors 'self'", *self._serving.frame_ancestors])
        headers["Content-Security-Policy"] = policy.replace("frame-ancestors 'self'", ancestors)
        self.tornado_settings.update(
            allow_remote_access=self._serving.any_host, most_pages=self._serving.most_pages
        )
        return cast(dict[str, Any], super().init_settings())

    def init_handlers(self) -> list[Any]:
        files = [
            (url_path_join(self.base_url, re.escape(name)), handlers.PackedFile, {"packed": packed})
            for name, packed in self._files().items()
        ]
        return [(path, handlers.in_words(kind), options) for path, kind, options in files] + [
            (rule[0], handlers.in_words(_IN_PLACE.get(rule[1], rule[1])), *rule[2:])
            for rule in super().init_handlers()
            if rule[1] is not RequestInfoSocketHandler
        ]

    def start(self) -> None:
        threading.Thread(target=self._pack, daemon=True).start()
        IOLoop.current().add_callback(self._announce)
        super().start()

    def _files(self) -> Mapping[str, Callable[[], handlers.Packed]]:
        return handlers.packed_files(tuple(self.static_paths))

    def _pack(self) -> None:
        for packed in self._files().values():
            packed()

    def stop(self) -> None:
        # A second Ctrl-C during this call would leave kernels running.
        for number in _stop_signals():
            signal.signal(number, signal.SIG_IGN)
        # Use this loop, not a new one as Voilà does: kernels that are starting wait on it.
        self.ioloop.run_sync(self._kill_kernels)

    async def _kill_kernels(self) -> None:
        for _ in range(_KILL_ATTEMPTS):
            try:
                # After a graceful shutdown, a kernel that is starting prints a traceback. Killing
                # is safe: the ledger already reserves the cost of uncommitted draws.
                await self.kernel_manager.shutdown_all(now=True)
                return
            except HTTPError:
                # A requested kernel has not started yet.
                await asyncio.sleep(0.1)

    def _announce(self) -> None:
        loop = IOLoop.current()
        for number in _stop_signals():
            signal.signal(number, lambda *_: loop.add_callback_from_signal(loop.stop))
        here = LOOPBACK if self.ip in ANYWHERE else self.ip
        address = f"{self._url(here)}{self._serving.query}"
        print(f"Rashomon Explorer is at {address}", flush=True)
        if self._serving.browse:
            # In this thread, a browser that runs in the terminal would block the server.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def serve(serving: Serving) -> None:
    # Tornado's warnings, such as late messages of ended kernels, do not help users.
    logging.getLogger("tornado").setLevel(logging.ERROR)
    mask_tokens(serving.token)
    os.umask(0o077)  # inherited by kernels: only this account can read their files
    with tempfile.TemporaryDirectory(prefix="rashomon-explorer-") as scratch:
        os.environ.update(kernel_environment(scratch, serving.home, demo=serving.demo))
        dashboard = Dashboard(serving, connection_dir_root=scratch)
        dashboard.initialize([])
        dashboard.start()


def kernel_environment(scratch: str, home: Path, *, demo: bool = False) -> dict[str, str]:
    """Environment of the server and its kernels."""
    return {
        # These keep Jupyter and IPython from reading the user's configuration.
        "JUPYTER_PATH": str(asset_path("apps/jupyter")),
        "JUPYTER_DATA_DIR": scratch,
        "JUPYTER_CONFIG_DIR": scratch,
        "IPYTHONDIR": scratch,
        # glibc gives blocks from this size on back at once: a kernel then takes 330 MB for 530.
        "MALLOC_MMAP_THRESHOLD_": os.environ.get("MALLOC_MMAP_THRESHOLD_", "1000000"),
        HOME_VARIABLE: scratch if demo else str(home),
        **({DEMO_VARIABLE: "1"} if demo else {}),
    }


def _stop_signals() -> list[signal.Signals]:
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    return [signal.Signals[name] for name in names if hasattr(signal, name)]
