"""What editors and type checkers see of `from rashomon_explorer import ...`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rashomon_explorer
from rashomon_explorer import estimators
from rashomon_explorer._utils.imports import _typed_imports
from rashomon_explorer.estimators.docstrings import SHARED

ROOT = Path(rashomon_explorer.__file__).parents[1]
LAZY = "data estimators measures mechanisms papers sets".split()
LAZY += [f"measures.{one}" for one in "fairness importance multiplicity ranges reliance".split()]

PROGRAM = """\
import numpy as np
import rashomon_explorer
from rashomon_explorer import DPClassifier, RashomonClassifier, audit

model = DPClassifier(epsilon=1.0, classes=[0, 1]).fit(np.zeros((3, 2)), np.zeros(3))
reveal_type(model)
reveal_type(model.predict)
reveal_type(RashomonClassifier().fit)
reveal_type(audit)
reveal_type(rashomon_explorer.measures.ambiguity)
DPClassifier(epsilon="wrong")
"""
REVEALED = [
    'type is "rashomon_explorer.estimators.one_model.DPClassifier"',
    'type is "def (X: ',
    r'type is "def \(X: .*\| rashomon_explorer.rows.chunked.ChunkedRows, y: .*RashomonClassifier"',
    r'type is "def \(model: .*-> rashomon_explorer.audits.result.Audit"',
    r'type is "def \(labels: .*-> float"',
    'Argument "epsilon" to "DPClassifier" has incompatible type "str"; expected "float"',
]


@pytest.mark.law
def test_mypy_in_strict_mode_sees_types_and_parameters(tmp_path):
    pytest.importorskip("mypy")
    readme = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S
    )
    program, manual = tmp_path / "program.py", tmp_path / "manual.py"
    program.write_text(PROGRAM, encoding="utf-8")
    manual.write_text("\n".join(readme), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*command, program, manual],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("program.py")]
    assert len(lines) == len(REVEALED), done.stdout + done.stderr
    for line, expected in zip(lines, REVEALED, strict=True):
        assert re.search(expected if "\\" in expected else re.escape(expected), line), line
    of_readme = [line for line in done.stdout.splitlines() if line.startswith("manual.py")]
    assert not [line for line in of_readme if "**dict[str, object]" not in line], of_readme


def test_an_editor_completes_names_and_signatures():
    jedi = pytest.importorskip("jedi")

    def script(code):
        return jedi.Script(code, project=jedi.Project(ROOT))

    code = "from rashomon_explorer import DP"
    assert {one.name for one in script(code).complete(1, len(code))} >= {"DPClassifier"}
    code = "import rashomon_explorer\nrashomon_explorer."
    names = {one.name for one in script(code).complete(2, 18) if not one.name.startswith("_")}
    assert {*rashomon_explorer.__all__, "measures", "plots"} <= names
    assert not names & {"Any", "find_spec", "import_module", "spare_addresses"}
    for code, expected in (
        ("from rashomon_explorer import audit\naudit(", "audit(model"),
        ("from rashomon_explorer import load_csv\nload_csv(", "load_csv(source"),
    ):
        (signature,) = script(code).get_signatures(2, len(code.split("\n")[1]))
        assert signature.to_string().startswith(expected)


@pytest.mark.parametrize("room", ["", *LAZY])
def test_a_lazy_room_has_one_list_that_editors_read(room):
    name = ".".join(filter(None, ["rashomon_explorer", room]))
    path = ROOT.joinpath(*name.split("."), "__init__.py")
    package = sys.modules.get(name) or __import__(name, fromlist=["x"])
    names = {known for known, _ in _typed_imports(path.read_text(encoding="utf-8"))} - {"*"}
    assert names <= set(dir(package))
    for one in {*names, *package.__all__}:
        assert getattr(package, one) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("name", [n for n in estimators.__all__ if n[0].isupper()])
def test_the_docstring_in_the_source_can_be_read_and_every_parameter_is_described(name):
    kind = getattr(estimators, name)
    source = Path(sys.modules[kind.__module__].__file__).read_text(encoding="utf-8")
    assert not re.search(r"^ +\{\w+\}", source, re.MULTILINE)
    bare = [
        line
        for line in SHARED
        if re.search(rf"^ *{re.escape(line)}\n *(\w+ : |\n)", kind.__doc__, re.M)
    ]
    assert bare == []
