"""The files around the code agree with each other and name no place but their own."""

import json
import os
import re
import runpy
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import rashomon_explorer

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


def _conda_bounds():
    return {CONDA_NAMES.get(one.name, one.name): one.specifier for one in RUNTIME}


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
    assert conda == _conda_bounds()


def test_the_recipe_for_conda_asks_for_the_same():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    asked = [one for output in recipe["outputs"] for one in output["requirements"]["run"]]
    asked = [Requirement(text) for text in asked if "$" not in text]
    found = {one.name: one.specifier for one in asked}
    assert found == {"python": SpecifierSet(PROJECT["requires-python"]), **_conda_bounds()}
    assert recipe["context"]["version"] == rashomon_explorer.__version__


def test_the_address_is_a_placeholder_in_one_place():
    named = {name for name, text in _texts() if "github.com/OWNER" in text}
    assert named <= {"pyproject.toml", "PKG-INFO", "tests/test_packaging.py"}  # of an sdist
    assert all("OWNER" in address for address in PROJECT["urls"].values())


def test_workflows_run_what_is_there():
    """Their own commands, and scripts that a shell can parse."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    jobs = [yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"] for path in workflows]
    steps = [step for one in jobs for job in one.values() for step in job.get("steps", ())]
    commands = "\n".join(step.get("run", "") for step in steps)
    named = set(re.findall(r"(?<![\w/])(?:\.ci|tests)/[\w./]+", commands))
    assert {".ci/run", ".ci/matrix", ".ci/release"} <= named
    assert [name for name in named if not (ROOT / name).exists()] == []
    for script in (".ci/run", ".ci/matrix", ".ci/release"):
        assert subprocess.run(["bash", "-n", ROOT / script], check=False).returncode == 0


def test_a_tag_publishes_after_the_tests_with_actions_that_cannot_change():
    workflows = {path.stem: path for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    text = "".join(path.read_text(encoding="utf-8") for path in workflows.values())
    used = re.findall(r"uses: (.*)", text)
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+|\./\.github/workflows/tests\.yml")
    assert len(used) > 10 and [action for action in used if not pinned.fullmatch(action)] == []
    assert text.count("actions/checkout@") == text.count("persist-credentials: false") > 4
    jobs = yaml.safe_load(workflows["release"].read_text(encoding="utf-8"))["jobs"]
    assert jobs["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert set(jobs["publish"]["needs"]) == {"tests", "build", "image"}
    assert sum("id-token" in job.get("permissions", {}) for job in jobs.values()) == 1


def test_links_of_the_readme_are_absolute_in_the_metadata():
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["ReadmeHook"](str(ROOT), {})
    metadata = {"urls": PROJECT["urls"]}
    hook.update(metadata)
    links = re.findall(r"\]\(([^)]*)\)", metadata["readme"]["text"])
    assert len(links) > 5 and [link for link in links if not link.startswith("https:")] == []
    assert f"{PROJECT['urls']['Homepage']}/raw/main/docs/dashboard.png" in links


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert version("rashomon-explorer") == rashomon_explorer.__version__


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


BY_NAME = re.compile(r"install (?!\./)[^\n]{0,40}\brashomon[-_]explorer(?![\w./]*/)")


def test_nothing_says_to_install_a_name_that_nobody_has_registered():
    """Whoever registers it first would run code beside private rows; the clone has no such name."""
    assert BY_NAME.search("pip install 'rashomon" + "-explorer[app]'")
    assert [name for name, text in _texts() if BY_NAME.search(text)] == []


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
    (waiting,) = re.findall(r"^WAITING := (.*)$", words, re.MULTILINE)
    for place in waiting.split():
        assert (ROOT / place).suffix == ".py" or [*(ROOT / place).glob("test_*.py")], place


def test_the_published_site_lists_its_versions_newest_first(tmp_path):
    for name in ("dev", "0.2.0", "0.10.0", "assets"):
        (tmp_path / name).mkdir()
    subprocess.run([ROOT / ".ci" / "versions", tmp_path, "https://docs.example.org/"], check=True)
    versions = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [each["version"] for each in versions] == ["dev", "0.10.0", "0.2.0"]
    assert versions[1]["preferred"] and versions[2]["url"] == "https://docs.example.org/0.2.0/"
    assert "url=0.10.0/" in (tmp_path / "index.html").read_text(encoding="utf-8")
