"""The server's log holds no token, however an address spells it, and no message of an error."""

import logging
from urllib.parse import quote

import pytest

from rashomon_explorer.server.dashboard import LOGGERS, TokenMask, mask_tokens
from rashomon_explorer.server.serving import is_template_file

TOKEN = "s3cret/+=token"


@pytest.fixture
def log(monkeypatch):
    """Records of the loggers, whatever a server of an earlier test has set on them."""
    kept, records, disabled = logging.Handler(), [], logging.root.manager.disable
    kept.emit = records.append
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logger = logging.getLogger(name)
        fresh = {"handlers": [kept], "filters": [], "propagate": False, "disabled": False}
        for attribute, value in fresh.items():
            monkeypatch.setattr(logger, attribute, value)
        logger.setLevel(logging.DEBUG)
    logging.disable(logging.NOTSET)
    yield records
    logging.disable(disabled)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


TEXTS = [
    f"500 GET /voila/templates/x?token={TOKEN} (127.0.0.1) 2ms",
    f"500 GET /x?token={quote(TOKEN, safe='')}&theme=dark",
    f"GET /login?next={quote('/?token=' + quote(TOKEN, safe=''), safe='')}",
    f"HTTPServerRequest(uri='/x?theme=dark&token={TOKEN}', version='HTTP/1.1')",
    f"header token {TOKEN}",
]


@pytest.mark.parametrize("name", LOGGERS)
def test_a_token_is_masked_and_without_the_mask_it_is_there(name, log):
    logging.getLogger(name).error("GET /x?token=%s", TOKEN)
    assert TOKEN in log[-1].getMessage()
    mask_tokens(TOKEN)
    for text in TEXTS:
        logging.getLogger(name).error("%s", text)
        said = log[-1].getMessage()
        assert TOKEN not in said and quote(TOKEN, safe="") not in said and "s3cret" not in said
        assert said.split("token")[0] == text.split("token")[0]


def test_other_parts_of_an_address_stay():
    record = logging.LogRecord("x", logging.ERROR, "", 0, "GET /x?token=abc&y=1#z", (), None)
    assert TokenMask("").filter(record)
    assert record.getMessage() == "GET /x?token=[secret]&y=1#z"


def test_an_errors_message_is_not_logged(log):
    mask_tokens(TOKEN)
    try:
        raise ValueError(TOKEN)
    except ValueError as error:
        logging.getLogger("tornado.application").error("it failed", exc_info=error)
    written = logging.Formatter().format(log[-1])
    assert "ValueError (message withheld)" in written and TOKEN not in written


def test_what_names_no_file_of_a_template_is_not_taken_apart():
    assert all(map(is_template_file, ("base/static/voila.js", "explorer/static/a/b-c_1.css")))
    others = ("", "x", "x/y", "x/y/z", "static", "x/static", "x/static/", "../static/x")
    others += ("x/../../static/x", "x/static/../y", "x/static/..", "x/static/a\0b")
    assert not [path for path in others if is_template_file(path)]
