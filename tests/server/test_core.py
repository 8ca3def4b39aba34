"""The package without the packages of the extra ``app``, hidden from a process of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.test_imports import FLOOR, PACKAGE, SOURCES

_APP = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]["app"]
_HIDE = """
import sys
for name in {names}:
    sys.modules[name] = None
"""
_COMMAND = "from rashomon_explorer.cli import main; sys.exit(main({words}))"
_INSTALL = "pip install '.[app]'"
_PAGE = {"plots", "report", "explorer", "server", "__main__"}
_FIGURES = {f"rashomon_explorer.audits.{name}" for name in ("figures", "document")}


def _names():
    distributions = [text.partition(">")[0] for text in _APP]
    return [*(name.replace("-", "_") for name in distributions), "jupyter_server", "IPython"]


def _without_app(code, folder):
    command = [sys.executable, "-c", _HIDE.format(names=_names()) + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_says_what_to_install(tmp_path):
    done = _without_app(_COMMAND.format(words=[]), tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("rashomon-explorer: The dashboard needs voila, ")
    assert done.stderr.endswith(f"{_INSTALL}\n") and done.stderr.count("\n") == 1


_ROOMS = """
for room in ({rooms}):
    try:
        exec(room)
    except ImportError as error:
        assert {install!r} in str(error), error
    else:
        raise AssertionError(room)
"""


def test_all_but_the_page_runs_and_the_page_says_what_to_install(tmp_path):
    modules = [name.removesuffix(".__init__") for name in SOURCES]
    core = [name for name in modules if {*name.split(".")[1:2]} <= set(FLOOR) - _PAGE]
    code = "".join(f"import {name}\n" for name in sorted({*core} - _FIGURES))
    rooms = ("rashomon_explorer.explorer", "rashomon_explorer.plots", "rashomon_explorer.report")
    listed = ", ".join(repr(f"import {room}") for room in rooms)
    code += _ROOMS.format(
        rooms=f"'from rashomon_explorer import Explorer', {listed}", install=_INSTALL
    )
    code += _COMMAND.format(words=["ledger", "create", "a.ledger"])
    done = _without_app(code, tmp_path)
    assert len(core) > 150 and done.returncode == 0, done.stderr
    assert Path(tmp_path, "a.ledger").exists()
