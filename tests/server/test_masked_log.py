"""The server's log holds no token, however an address spells it, and no message of an error."""

import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from rashomon_explorer.server.dashboard import LOGGERS, TokenMask, mask_tokens
from rashomon_explorer.server.pages import is_template_file

TOKEN = "s3cret/+=token"


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[logging.LogRecord]]:
    """Records of the loggers, whatever a server of an earlier test has set on them."""
    kept, disabled = _Kept(), logging.root.manager.disable
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logger = logging.getLogger(name)
        fresh = {"handlers": [kept], "filters": [], "propagate": False, "disabled": False}
        for attribute, value in fresh.items():
            monkeypatch.setattr(logger, attribute, value)
        logger.setLevel(logging.DEBUG)
    logging.disable(logging.NOTSET)
    yield kept.records
    logging.disable(disabled)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def masked(log: list[logging.LogRecord]) -> None:
    mask_tokens(TOKEN)


@pytest.mark.parametrize("name", LOGGERS)
@pytest.mark.parametrize(
    "text",
    [
        f"500 GET /voila/templates/x?token={TOKEN} (127.0.0.1) 2ms",
        f"500 GET /x?token={quote(TOKEN, safe='')}&theme=dark",
        f"GET /login?next={quote('/?token=' + quote(TOKEN, safe=''), safe='')}",
        f"HTTPServerRequest(uri='/x?theme=dark&token={TOKEN}', version='HTTP/1.1')",
        f"header token {TOKEN}",
    ],
)
def test_a_token_is_masked(
    name: str, text: str, masked: None, log: list[logging.LogRecord]
) -> None:
    logging.getLogger(name).error("%s", text)
    said = log[-1].getMessage()
    assert TOKEN not in said and quote(TOKEN, safe="") not in said and "s3cret" not in said
    assert said.split("token")[0] == text.split("token")[0]


def test_without_the_mask_it_is_there(log: list[logging.LogRecord]) -> None:
    logging.getLogger(LOGGERS[0]).error("GET /x?token=%s", TOKEN)
    assert TOKEN in log[-1].getMessage()


def test_other_parts_of_an_address_stay() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 0, "GET /x?token=abc&y=1#z", (), None)
    assert TokenMask("").filter(record)
    assert record.getMessage() == "GET /x?token=[secret]&y=1#z"


def test_an_errors_message_is_not_logged(masked: None, log: list[logging.LogRecord]) -> None:
    try:
        raise ValueError(TOKEN)
    except ValueError as error:
        logging.getLogger("tornado.application").error("it failed", exc_info=error)
    written = logging.Formatter().format(log[-1])
    assert "ValueError (message withheld)" in written and TOKEN not in written


@pytest.mark.parametrize("path", ["base/static/voila.js", "explorer/static/a/b-c_1.css"])
def test_files_of_templates_are_known(path: str) -> None:
    assert is_template_file(path)


@pytest.mark.parametrize(
    "path",
    [
        *("", "x", "x/y", "x/y/z", "static", "x/static", "x/static/"),
        *("../static/x", "x/../../static/x", "x/static/../y", "x/static/..", "x/static/a\0b"),
    ],
)
def test_what_names_no_file_is_not_taken_apart(path: str) -> None:
    assert not is_template_file(path)
