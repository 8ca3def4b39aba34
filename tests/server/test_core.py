"""The package without the packages of the extra ``app``, hidden from a process of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
_INSTALL = "pip install 'rashomon-explorer[app]'"
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


@pytest.mark.parametrize(
    "code",
    [
        "from rashomon_explorer import Explorer",
        "import rashomon_explorer.plots",
        "from rashomon_explorer.report import report",
    ],
)
def test_a_room_of_the_page_says_what_to_install(code, tmp_path):
    done = _without_app(code, tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: ") and _INSTALL in done.stderr


def test_ledgers_need_no_page(tmp_path):
    done = _without_app(_COMMAND.format(words=["ledger", "create", "a.ledger"]), tmp_path)
    assert done.returncode == 0 and Path(tmp_path, "a.ledger").exists(), done.stderr


def test_all_other_modules_need_no_page(tmp_path):
    modules = [name.removesuffix(".__init__") for name in SOURCES]
    core = [name for name in modules if {*name.split(".")[1:2]} <= set(FLOOR) - _PAGE]
    code = "".join(f"import {name}\n" for name in sorted({*core} - _FIGURES))
    done = _without_app(code, tmp_path)
    assert len(core) > 150 and done.returncode == 0, done.stderr
