"""The page's log: its owner's file, which names types and places of errors and quotes no cell."""

import logging
import os
import stat

import pytest

from rashomon_explorer.exceptions import places
from rashomon_explorer.explorer.messages import LOGGER, error_boundary, log_failures_to
from rashomon_explorer.explorer.state import ExplorerState

CELL = "HIV positive: patient 4711"


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(LOGGER, "handlers", [])
    path = tmp_path / "rashomon-explorer.log"
    before = os.umask(0o022)
    log_failures_to(path)
    yield path
    os.umask(before)
    for handler in LOGGER.handlers:
        handler.close()


def _reads(cell):
    return float(cell)


def _hides(cell):
    try:
        _reads(cell)
    except ValueError as error:
        raise KeyError(cell) from error


def _while(cell):
    try:
        _reads(cell)
    except ValueError:
        raise RuntimeError(cell)  # noqa: B904


def _several(cell):
    raise ExceptionGroup(cell, [ValueError(cell), ExceptionGroup(cell, [TypeError(cell)])])


def _noted(cell):
    error = OSError(28, cell, cell)
    error.add_note(cell)
    raise error


FAILURES = {
    _reads: ["ValueError"], _hides: ["ValueError", "KeyError"],
    _while: ["ValueError", "RuntimeError"], _several: ["ExceptionGroup", "ValueError", "TypeError"],
    _noted: ["OSError (ENOSPC"],
}  # fmt: skip


@pytest.mark.parametrize("fails", FAILURES, ids=lambda fails: fails.__name__)
def test_types_and_places_are_logged_for_the_owner_and_no_cell(fails, log):
    state = ExplorerState()
    log.write_text("of an older version\n")
    log.chmod(0o644)
    error_boundary(state, "Loading", fails)(CELL)
    written = log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert written.startswith("of an older version\n")
    assert "HIV" not in written and "4711" not in written
    assert "Loading failed" in written and f"{__file__}:" in written
    assert f"in {fails.__name__}" in written
    assert [name for name in FAILURES[fails] if name not in written] == []
    assert state.alert.failed == "Loading"  # the curator's page still says why


def test_a_plain_trace_would_quote_the_cell_and_no_other_handler_or_logger_does(log, caplog):
    try:
        _reads(CELL)
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "", (), (None, error, None))
        assert CELL in logging.Formatter().formatException((ValueError, error, None))
        assert CELL not in places(error)
        LOGGER.getChild("somewhere").error("it failed", exc_info=error)
        LOGGER.error("it failed", exc_info=error)
    assert LOGGER.filter(record) and record.exc_info is None
    written = log.read_text()
    assert written.count("ValueError (message withheld)") == 2 and CELL not in written
    assert CELL not in logging.Formatter().format(caplog.records[-1])


def test_a_chain_in_a_circle_ends():
    one, two = ValueError(CELL), TypeError(CELL)
    one.__context__, two.__context__ = two, one
    withheld = "(message withheld)"
    assert " ".join(places(one).split()) == f"TypeError {withheld} ValueError {withheld}"
