"""Settings of the server, and of `jupyter-server-proxy`. Needs no package of the dashboard."""

import os
import secrets
import sys
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

TOKEN_VARIABLE = "RASHOMON_EXPLORER_TOKEN"
"""Environment variable with a fixed token instead of a new random one."""

DEFAULT_PORT = 8866
LOOPBACK = "127.0.0.1"
MOST_PAGES = 16  # default limit on open pages; the kernel of each page takes about 250 MB


@dataclass(frozen=True)
class Serving:
    """Address, authentication and limits of the server."""

    home: Path
    ip: str = LOOPBACK
    port: int = DEFAULT_PORT
    port_retries: int = 0
    browse: bool = False
    base_url: str = "/"
    any_host: bool = False
    token: str = field(default="", repr=False)
    told: bool = True
    most_pages: int = MOST_PAGES
    demo: bool = False
    frame_ancestors: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        return f"?token={self.token}" if self.token and self.told else ""


def is_loopback(ip: str) -> bool:
    return ip_address(ip).is_loopback


SHORTEST_TOKEN = 24  # fewest characters of a token that protects an address others can reach


def token_problem(token: str, any_host: bool) -> str:
    if not any_host or len(token) >= SHORTEST_TOKEN:
        return ""
    return (
        f"{TOKEN_VARIABLE} has {len(token)} characters and can be guessed from the network, "
        f"expected at least {SHORTEST_TOKEN}: leave it unset for a new one, use a longer one, or "
        f"serve this machine only (--ip {LOOPBACK} without --any-host)"
    )


def take_token() -> tuple[str, bool]:
    """Return the token and whether it is new; remove it from the kernels' environment."""
    token = os.environ.pop(TOKEN_VARIABLE, "")
    return (token, False) if token else (secrets.token_urlsafe(24), True)


_NAME = "rashomon-explorer"
_SECONDS = 60


def proxied_dashboard() -> dict[str, Any]:
    """Return settings for `jupyter-server-proxy`, which finds this function by its entry point."""
    token = secrets.token_urlsafe(24)
    command = [sys.executable, "-m", "rashomon_explorer", "--no-browser", "--any-host"]
    return {
        "command": [*command, "--port", "{port}", "--base-url", f"{{base_url}}{_NAME}/"],
        "environment": {TOKEN_VARIABLE: token},
        "request_headers_override": {"Authorization": f"token {token}"},
        "absolute_url": True,
        "timeout": _SECONDS,
        "launcher_entry": {"title": "Rashomon Explorer"},
    }
