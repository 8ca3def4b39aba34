"""The files around the code agree with each other and name no place but their own."""

import os
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUNTIME = [Requirement(text) for text in [*PROJECT["dependencies"], *EXTRAS["app"]]]
TEST = [Requirement(text) for text in EXTRAS["test"]]

# What conda-forge calls a package where it is not what the Python package index calls it.
CONDA_NAMES = {"jupyter-client": "jupyter_client"}

# What git ignores; a copy without git is searched too, so that the list stands here.
MADE_HERE = {".git", "build", "dist", "__pycache__", ".ipynb_checkpoints", ".hypothesis"}
# No pattern here and no example below matches itself, for this file is searched as well.
ADDRESS = re.compile(r"[a-z]+:/[/]|git[+]|file[:]")
ELSEWHERE = re.compile(
    r"(?<![\w.])/(work|root|farm|home)/\w|index[-]url|find[-]links|pypi[.]org/simple"
)


def _conda():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    section = text.split("dependencies:\n")[1].split("  - pip:\n")[0]
    asked = [Requirement(line.removeprefix("  - ")) for line in section.splitlines()]
    return {requirement.name: requirement.specifier for requirement in asked}


def _pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}


def _made_here(name):
    return name in MADE_HERE or "_cache" in name or name.startswith(".venv")


def _texts():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not _made_here(name)]
        for path in (Path(folder, name) for name in files if not _made_here(name)):
            try:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def test_conda_and_pip_ask_for_the_same():
    conda = _conda()
    assert conda.pop("python") == SpecifierSet(PROJECT["requires-python"])
    assert conda.pop("pip") == SpecifierSet()
    assert conda == {CONDA_NAMES.get(r.name, r.name): r.specifier for r in RUNTIME}


def test_every_direct_dependency_is_pinned_within_its_bounds():
    pins = _pins()
    for one in [*RUNTIME, *TEST]:
        assert pins[canonicalize_name(one.name)] in one.specifier, one.name
    for one in RUNTIME:
        assert any(bound.operator == ">=" for bound in one.specifier), one.name
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert not ADDRESS.search(text)
    assert PROJECT["name"] not in pins
    for line in text.splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.+!]+", line), line


def test_no_file_names_an_index_or_a_place_on_a_machine():
    assert [name for name, text in _texts() if ELSEWHERE.search(text)] == []


@pytest.mark.parametrize(
    "words",
    [("see /root", "data"), ("pip --index-", "url x"), ("'/home", "me'"), ("pypi.org", "simple")],
)
def test_a_place_on_a_machine_is_seen(words):
    assert ELSEWHERE.search(("" if words[0].endswith("-") else "/").join(words))


def test_every_dependency_is_argued_for_once():
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    to_run, to_test = text.split("## To test and build")
    for section, requirements in [(to_run, RUNTIME), (to_test, TEST)]:
        rows = re.findall(r"^\| ([a-z][\w-]*) \| (.*) \|$", section, flags=re.MULTILINE)
        rows = [(name, argument) for name, argument in rows if name != "package"]
        assert sorted(name for name, _ in rows) == sorted(one.name for one in requirements)
        assert all(argument.endswith(".") for _, argument in rows)


def test_the_makefile_names_folders_that_git_knows():
    """A folder with nothing but compiled files is absent from a clone."""
    words = (ROOT / "Makefile").read_text(encoding="utf-8")
    (rooms,) = re.findall(r"^UPPER := .*tests/%,(.*)\) rashomon_explorer$", words, re.MULTILINE)
    (waiting,) = re.findall(r"^WAITING := (.*)$", words, re.MULTILINE)
    for place in [*(f"tests/{room}" for room in rooms.split()), *waiting.split()]:
        assert (ROOT / place).suffix == ".py" or [*(ROOT / place).glob("test_*.py")], place


def test_doctests_run_in_one_process_alone():
    """Where no folder is named pytest takes those of its settings, whatever it is to ignore."""
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"\$\(PYTEST\) -m \"not law\" (.*)", rules)
    rooms = [words.split("$(patsubst")[0].strip() for words in commands]
    assert sorted(rooms) == ["$(TESTS)", "$(UPPER)", "$(WAITING)", "tests"]
