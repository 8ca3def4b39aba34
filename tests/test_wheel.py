"""The wheel works where the checkout is not: data files, command and dashboard."""

import shutil
import subprocess
import sys
import urllib.request
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.patience import LONG

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parent.parent
_FIRST_ANSWER = """
from importlib.util import find_spec
import rashomon_explorer
from rashomon_explorer import DPClassifier, Ledger, load_dataset
assert not any(map(find_spec, ("hypothesis", "plotly", "voila")))
assert load_dataset("south_german_credit").X.shape == (1000, 45)
data = load_dataset("lending")
Ledger.create("a.ledger", epsilon=1.0, delta=1e-6)
model = DPClassifier(epsilon=1.0, classes=[0, 1], row_norm=1.5, ledger="a.ledger")
model.fit(data.X, data.y)
print(rashomon_explorer.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the source distribution beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    """The ``bin`` folder of a fresh environment that has the wheel.

    What it requires is linked from the environment of the tests, which pip has installed by the
    same declarations; what the tests need besides is not there.
    """
    place = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", place)
    _pip(place, "install", "--quiet", "--no-compile", "--no-deps", "--no-index", wheel)
    _link_requirements(place, extra="")
    return place / "bin"


@pytest.fixture(scope="module")
def app(core):
    """The same environment once it has what the page requires, for the tests below the core's."""
    _link_requirements(core.parent, extra="app")
    _pip(core.parent, "check")
    return core


def _pip(place, *arguments):
    _run(sys.executable, "-m", "pip", "--python", place / "bin" / "python", *arguments)


def _link_requirements(place, extra):
    (metadata,) = place.rglob("rashomon_explorer-*.dist-info")
    for required in _dependencies(Distribution.at(metadata), extra):
        _link(required, place)


def _dependencies(dependent, extra):
    """What a distribution requires, and what that requires, and so on; not itself."""
    found = {}
    waiting = [one for wanted in {"", extra} for one in _required(dependent, wanted)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in found:
            found[name, extra] = distribution(name)
            waiting += _required(found[name, extra], extra)
    return list({one.name: one for one in found.values()}.values())


def _required(dependent, extra):
    for line in dependent.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            yield from ((name, each) for each in ("", *requirement.extras))


def _link(installed, place):
    """Link the files of a distribution into another environment; a package's folder as one."""
    files = installed.files or ()
    for path in {file if file.parts[0] == ".." else PurePosixPath(file.parts[0]) for file in files}:
        here = Path(str(installed.locate_file(path))).absolute()
        if here.is_relative_to(sys.prefix) and here.exists() and here.name != "__pycache__":
            there = place / here.relative_to(sys.prefix)
            there.parent.mkdir(parents=True, exist_ok=True)
            if not there.exists():
                there.symlink_to(here)


def test_the_wheel_holds_every_asset_and_nothing_of_the_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    prefix = "rashomon_explorer/_assets/"
    packed = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
    cited = {*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "theory").glob("*.md")}
    assert packed == {
        path.relative_to(ROOT).as_posix()
        for folder in ("apps", "datasets")
        for path in [*(ROOT / folder).rglob("*"), *cited]
        if path.is_file() and ".ipynb_checkpoints" not in path.parts
    }
    assert "rashomon_explorer/py.typed" in names
    assert not [name for name in names if "test" in name.removesuffix("/testing.py")]


def test_the_container_builds_the_same_wheel_from_what_it_is_given(wheel, tmp_path):
    """Its COPY lines hold all that the build needs, and nothing else is in the folder."""
    given = tmp_path / "build"
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY") and "--from" not in line:
            for name in line.split()[1:-1]:
                source, target = ROOT / name, given / name
                target.parent.mkdir(exist_ok=True)
                copy = shutil.copytree if source.is_dir() else shutil.copy
                copy(source, target)
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, given)
    (built,) = tmp_path.glob("*.whl")
    names, same = (set(zipfile.ZipFile(one).namelist()) for one in (built, wheel))
    assert {name for name in names ^ same if "__pycache__" not in name} == set()


def test_the_core_works_elsewhere(core, tmp_path):
    """Without the packages of the page, which the command names."""
    listed = _run(core / "rashomon-explorer", "datasets", cwd=tmp_path)
    assert "lending" in listed
    where = _run(core / "python", "-c", _FIRST_ANSWER, cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(core.parent)


def test_the_dashboard_starts_elsewhere(app, tmp_path, start_dashboard):
    dashboard = start_dashboard(tmp_path / "home", program=[app / "rashomon-explorer"])
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with visitor.open(dashboard.url, timeout=LONG) as answer:
        page = answer.read().decode()
    assert "application/vnd.jupyter.widget-view+json" in page
    assert dashboard.kernels()[0].exe() == Path(sys.executable).resolve().as_posix()
    assert str(app) in dashboard.kernels()[0].cmdline()[0]
    assert dashboard.stop() == 0


def _run(*command, cwd=None):
    """Run `command` away from the checkout and return what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd or Path(sys.prefix),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
