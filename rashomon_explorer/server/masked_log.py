"""The server's log without its visitors' tokens."""

import logging
import re
from urllib.parse import quote, quote_plus

from rashomon_explorer.exceptions import without_messages

LOGGERS = ("tornado.access", "tornado.application", "tornado.general", "asyncio", "Dashboard")
"""What writes addresses or errors of requests: tornado, the event loop, and the dashboard."""

_IN_ADDRESS = re.compile(r"(token(?:=|%3D|%253D))[^&\s'\"#]+", re.IGNORECASE)
_MASK = "[secret]"


class TokenMask(logging.Filter):
    """Replaces tokens in a record's text, and a trace by types and places."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._written = {token, quote(token, safe=""), quote_plus(token)} - {""}

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; it is always logged."""
        without_messages(record)
        record.msg, record.args = self._masked(record.getMessage()), None
        return True

    def _masked(self, text: str) -> str:
        for token in self._written:
            text = text.replace(token, _MASK)
        return _IN_ADDRESS.sub(rf"\1{_MASK}", text)


def mask_tokens(token: str) -> None:
    """Keep tokens out of everything that the server logs."""
    mask = TokenMask(token)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(mask)
