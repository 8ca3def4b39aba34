"""docs/figures.md lists every figure, as the registry declares it."""

import inspect
from pathlib import Path

from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.registry import FigureSpec

PAGE = Path(__file__).parents[2] / "docs" / "figures.md"


def _call(function: object, inner: str = "", result: str = "") -> str:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    names = [one.name for one in parameters if one.default is one.empty and one.kind != 4]
    written = ", ".join(inner if name == result else name for name in names)
    return f"{function.__name__}({written})"  # type: ignore[attr-defined]


def _row(spec: FigureSpec) -> str:
    inner = "" if spec.measure is None else _call(spec.measure)
    line = _call(spec.code) if spec.code else _call(spec.plot, inner, spec.result)
    public = "yes" if "release" in spec.audience else "no"
    return f"| {spec.title} | `{line}` | {public} |"


def test_the_page_lists_every_figure() -> None:
    rows = "\n".join(map(_row, FIGURES.values()))
    assert rows in PAGE.read_text(encoding="utf-8"), f"write these rows into {PAGE}:\n{rows}"
