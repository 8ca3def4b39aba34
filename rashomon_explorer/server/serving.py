"""Handlers of the server: authentication, error pages, open pages and their kernels, files."""

import gzip
import re
from asyncio import Task, current_task, sleep
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from posixpath import normpath
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlunsplit
from weakref import ReferenceType, ref

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.auth.identity import PasswordIdentityProvider
from jupyter_server.auth.login import LoginFormHandler
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.web import HTTPError, RequestHandler, authenticated
from voila.static_file_handler import TemplateStaticFileHandler
from voila.tornado.handler import TornadoVoilaHandler

from rashomon_explorer._utils.assets import plotly_module

_PAGE, _FULL, _ASK = (
    Path(__file__).with_name(f"{name}.html").read_text(encoding="utf-8")
    for name in ("page", "full", "ask")
)
_ELSEWHERE = (
    "<p>This host name is not allowed. Open the address printed at the start of the dashboard, "
    "or restart it with <code>--any-host</code> to allow other names.</p>"
)
_REFUSED = "<p>{reason}. Open the address printed at the start of the dashboard.</p>"

_LEFT = "<p>You are logged out. The page needs the token again.</p>"

_WRONG = '<p role="alert">Wrong token.</p>'


class InWords(JupyterHandler):
    """Handler with plain error pages, because Jupyter's error templates are not served."""

    def write_error(self, status_code: int, **_: Any) -> None:
        reason = escape(f"{status_code} {self._reason}")
        body = _REFUSED.format(reason=reason) if self.check_host() else _ELSEWHERE
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(_PAGE.format(title="Rashomon Explorer", body=body))


def in_words(handler: type[RequestHandler]) -> type[RequestHandler]:
    """Return the handler, with plain error pages unless it writes its own."""
    if handler.write_error is not JupyterHandler.write_error:
        return handler
    return type(handler.__name__, (InWords, handler), {})


class AskForToken(InWords, LoginFormHandler):
    """Login page for visitors without the token."""

    def _render(self, message: dict[str, str] | None = None) -> None:
        following = self.get_argument("next", default=self.base_url)
        action = f"{self.base_url}login?next={quote(following, safe='')}"
        body = _ASK.format(action=escape(action), problem=_WRONG if message else "")
        self.write(_PAGE.format(title="Rashomon Explorer", body=body))


class Leave(InWords):
    """Logout: deletes the cookie, so the token is needed again."""

    @allow_unauthenticated
    def get(self) -> None:
        self.identity_provider.clear_login_cookie(self)
        self.write(_PAGE.format(title="Rashomon Explorer", body=_LEFT))


class Visitors(PasswordIdentityProvider):
    """Authenticates visitors by the token."""

    def __init__(self, **traits: Any) -> None:
        traits["cookie_name"] = f"rashomon-explorer-{token_hex(8)}"
        super().__init__(**traits, cookie_options={"samesite": "Lax"})
        self.login_handler_class = AskForToken
        self.logout_handler_class = Leave

    def get_token(self, handler: RequestHandler) -> str | None:
        """Return the token, from the header first: one in the address may be a proxy's."""
        header = self.auth_header_pat.match(handler.request.headers.get("Authorization", ""))
        return header.group(2) if header else super().get_token(handler)


class LimitedPages(TornadoVoilaHandler):
    """Handler of the page; limits the number of open pages."""

    async def get(self, path: str | None = None) -> None:
        if self.current_user is not None and "token" in self.request.query_arguments:
            # The visitor has a cookie from here on. A token in the address could be copied, and
            # would be passed to the kernel.
            self.redirect(self._without_token())
            return
        limit = self.settings["most_pages"]
        if self.current_user is not None and self._open() >= limit:
            self.set_status(503)
            self.set_header("Retry-After", "120")
            self.finish(
                _PAGE.format(title="Too many pages are open", body=_FULL.format(most=limit))
            )
            return
        if self.current_user is not None:
            await self.kernel_manager.begun(self._waiting())
        await super().get(path)

    def _without_token(self) -> str:
        parameters = [
            (name, value) for name, value in parse_qsl(self.request.query) if name != "token"
        ]
        return urlunsplit(("", "", self.request.path, urlencode(parameters), ""))

    def _open(self) -> int:
        return len(self.kernel_manager.pages(self._waiting()))

    def _waiting(self) -> list[Task[Any]]:
        return [task for pool in self.kernel_manager._pools.values() for task in pool]


_MOMENT = 0.02  # seconds


class PatientKernels(AsyncMappingKernelManager):
    """Kernel manager that ends idle kernels, with idle time from the first check on."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._asked_about: set[str] = set()
        self._started_by: dict[str, ReferenceType[Task[Any]] | None] = {}

    async def start_kernel(self, *args: Any, **options: Any) -> str:  # type: ignore[override]
        """Start a kernel and record its task, which Voilà's pool holds until assignment."""
        task = current_task()
        kernel_id = str(await super().start_kernel(*args, **options))
        starters = {name: by for name, by in self._started_by.items() if name in self._kernels}
        self._started_by = {**starters, kernel_id: None if task is None else ref(task)}
        return kernel_id

    def pages(self, waiting: list[Task[Any]]) -> list[str]:
        starting_tasks = {name: by() for name, by in self._started_by.items() if by is not None}
        return [name for name in self.list_kernel_ids() if starting_tasks.get(name) not in waiting]

    async def begun(self, waiting: list[Task[Any]]) -> None:
        while waiting and not self._started_by and not any(task.done() for task in waiting):
            await sleep(_MOMENT)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """End the kernel if it is idle; idle time starts at the first call for it."""
        if kernel_id not in self._asked_about:
            self._asked_about.intersection_update(self.list_kernel_ids())
            self._asked_about.add(kernel_id)
            self._kernels[kernel_id].last_activity = datetime.now(UTC)
        await super().cull_kernel_if_idle(kernel_id)


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
    return _packed(plotly_module())


@cache
def packed_parts(folders: tuple[str, ...]) -> Packed:
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
