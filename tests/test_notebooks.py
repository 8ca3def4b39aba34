"""The guided notebooks do what they say, cell by cell."""

import ast
import json
from pathlib import Path

import pytest

APPS = Path(__file__).resolve().parents[1] / "apps"
GUIDED = (
    "first_look",
    "privacy_budget",
    "one_private_model",
    "tuning",
    "auditing_a_model",
    "sparse_trees",
)


def _run(source, space):
    """Run a cell; its last line's value is what the notebook would show."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)
    )


@pytest.mark.parametrize("name", GUIDED)
def test_a_guided_notebook_runs_and_shows_something(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    cells = json.loads((APPS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    shown = [_run(source, space) for source in sources]
    assert sum(value is not None for value in shown) >= 2
    assert list(tmp_path.iterdir()) == []


def test_every_notebook_is_tested():
    assert {path.stem for path in APPS.glob("*.ipynb")} == {*GUIDED, "explorer"}
