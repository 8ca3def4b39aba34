"""Dashboard behind `jupyter-server-proxy`, for launchers of JupyterLab and JupyterHub."""

import secrets
import sys
from typing import Any

from rashomon_explorer.server.settings import TOKEN_VARIABLE

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
