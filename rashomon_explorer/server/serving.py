"""Server settings: address, authentication, and limit on open pages."""

import os
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

TOKEN_VARIABLE = "RASHOMON_EXPLORER_TOKEN"
"""Environment variable with a fixed token instead of a new random one."""

DEFAULT_PORT = 8866
LOOPBACK = "127.0.0.1"
MOST_PAGES = 16
"""Pages open at once by default: each has a program of its own of about 250 MB."""


@dataclass(frozen=True)
class Serving:
    """Where the dashboard listens, and for whom."""

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

    @property
    def query(self) -> str:
        """What stands behind the address that is printed."""
        return f"?token={self.token}" if self.token and self.told else ""


def is_loopback(ip: str) -> bool:
    """Whether only programs on this machine reach it."""
    return ip_address(ip).is_loopback


def take_token() -> tuple[str, bool]:
    """Return the token to ask for, and whether it is new; kernels are not to inherit it."""
    given = os.environ.pop(TOKEN_VARIABLE, "")
    return (given, False) if given else (secrets.token_urlsafe(24), True)
