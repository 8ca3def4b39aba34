"""The measured rates as pictures in SVG, on log–log paper."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rates import TABLES
from rashomon_explorer.papers.theorems import RATES

FOLDER = Path(__file__).resolve().parent / "results" / "rates"
_MANY = 30  # points that are a curve: no mark each
_WIDTH, _HEIGHT, _LEFT, _TOP, _KEY = 420, 300, 58, 26, 220
# Okabe and Ito's colours, told apart by most eyes, and a mark each for those that cannot.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_AXES = {"n": "rows n", "p": "parameters p", "ε": "privacy ε"}
_FILES = {"n": "n", "p": "p", "ε": "epsilon"}

Line = tuple[str, Sequence[float], Sequence[float]]
BOTH = (True, True)


def write(measured: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write a picture for each table, notion and axis."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        for axis, file in _FILES.items():
            found = [
                one
                for one in measured["sweeps"]
                if (one["table"], one["axis"]) == (table, axis) and one["slope"] is not None
            ]
            title = f"{table} table: mean excess against {_AXES[axis]}"
            picture = drawn(list(_lines(found, axis)), title, _AXES[axis])
            (folder / f"{table}-{file}.svg").write_text(picture, encoding="utf-8")


def _lines(found: list[dict[str, Any]], axis: str) -> Iterator[Line]:
    """Make a line a method, at δ = 0 or above, and one of the lower bound's slope."""
    for one in found:
        notion = "" if one["delta"] == 0 else ", δ > 0"
        yield one["method"] + notion, one["places"], one["excess"]
    if not found:
        return
    places = found[0]["places"]
    problem = "strongly convex" if TABLES[found[0]["table"]].ridge else "convex"
    lower = RATES[problem, "pure", "rows"].lower
    assert lower is not None  # the papers state both
    power = lower["npε".index(axis)]
    least = min(min(one["excess"]) for one in found)
    yield (
        f"slope {power:+g} (lower bound's)",
        places,
        [0.6 * least * (x / places[-1 if power < 0 else 0]) ** power for x in places],
    )


def drawn(lines: list[Line], title: str, across: str, log: tuple[bool, bool] = BOTH) -> str:
    """Draw lines, by default on log–log paper; ``log`` says which axes have logarithms."""
    xs = [x for _, places, _ in lines for x in places]
    ys = [y for *_, values in lines for y in values]
    x_range, y_range = (min(xs), max(xs)), (min(ys), max(ys))

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + _WIDTH * _share(x, x_range, log[0]),
            _TOP + _HEIGHT * (1 - _share(y, y_range, log[1])),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _KEY}" '
        f'height="{_TOP + _HEIGHT + 44}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="16" font-size="13">{title}</text>',
        *_grid(x_range, y_range, at, log[1]),
        f'<text x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 36}">{across}</text>',
    ]
    for number, (name, places, values) in enumerate(lines):
        parts += _line(name, [at(x, y) for x, y in zip(places, values, strict=True)], number)
    return "\n".join([*parts, "</svg>", ""])


def _share(value: float, ends: tuple[float, float], log: bool) -> float:
    here, low, high = (math.log(x) if log else x for x in (value, *ends))
    return 0.02 + 0.96 * (here - low) / ((high - low) or 1.0)


def _grid(
    x_range: tuple[float, float], y_range: tuple[float, float], at: Any, log: bool
) -> Iterator[str]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    frame = f'x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}"'
    yield f'<rect {frame} fill="none" stroke="#888"/>'
    for name, level in _powers(y_range) if log else _evenly(y_range):
        _, y = at(x_range[0], level)
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'
    for x in x_range:
        place, _ = at(x, y_range[0])
        yield f'<text x="{place:.1f}" y="{bottom + 16}" text-anchor="middle">{x:,g}</text>'


def _powers(ends: tuple[float, float]) -> Iterator[tuple[str, float]]:
    for power in range(math.ceil(math.log10(ends[0])), math.floor(math.log10(ends[1])) + 1):
        yield f"1e{power}", 10.0**power


def _evenly(ends: tuple[float, float]) -> Iterator[tuple[str, float]]:
    for k in range(5):
        level = ends[0] + k / 4 * (ends[1] - ends[0])
        yield f"{level:.3g}", level


def _line(name: str, points: list[tuple[float, float]], number: int) -> Iterator[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    dash = ' stroke-dasharray="5 4"' if "δ" in name or "slope" in name else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>'
    if "slope" not in name and len(points) < _MANY:
        yield from (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in points
        )
    place, y = _LEFT + _WIDTH + 10, _TOP + 10 + 15 * number
    ends = f'x1="{place}" x2="{place + 18}" y1="{y}" y2="{y}"'
    yield f'<line {ends} stroke="{colour}" stroke-width="1.6"{dash}/>'
    yield f'<text x="{place + 24}" y="{y + 4}">{name}</text>'
