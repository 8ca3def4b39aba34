"""The server's log holds no token, however an address spells it, and no message of an error."""

import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from rashomon_explorer.server.masked_log import LOGGERS, TokenMask, mask_tokens
from rashomon_explorer.server.template_files import is_template_file

TOKEN = "s3cret/+=token"


@pytest.fixture
def masked() -> Iterator[None]:
    before = {name: list(logging.getLogger(name).filters) for name in LOGGERS}
    mask_tokens(TOKEN)
    yield
    for name, filters in before.items():
        logging.getLogger(name).filters = filters


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
    name: str, text: str, masked: None, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger(name).error("%s", text)
    said = caplog.messages[-1]
    assert TOKEN not in said and quote(TOKEN, safe="") not in said and "s3cret" not in said
    assert said.split("token")[0] == text.split("token")[0]


def test_without_the_mask_it_is_there(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger(LOGGERS[0]).error("GET /x?token=%s", TOKEN)
    assert TOKEN in caplog.messages[-1]


def test_other_parts_of_an_address_stay() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 0, "GET /x?token=abc&y=1#z", (), None)
    assert TokenMask("").filter(record)
    assert record.getMessage() == "GET /x?token=[secret]&y=1#z"


def test_an_errors_message_is_not_logged(masked: None, caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError(TOKEN)
    except ValueError as error:
        logging.getLogger("tornado.application").error("it failed", exc_info=error)
    written = logging.Formatter().format(caplog.records[-1])
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
