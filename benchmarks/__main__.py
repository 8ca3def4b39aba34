"""Measure the samplers and write ``results/samplers.json`` and tables."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import exact, langevin, peers, scaling
from benchmarks.machine import machine

RESULTS = Path(__file__).parent / "results" / "samplers.json"
_SIZE = ("n", "p", "K")
_RATIOS = ("xla_ratio", "blackjax_ratio", "mala_ratio")
_IN_FLOAT32 = tuple(f"{name}_peers_in_float32" for name in _RATIOS)


def main() -> None:
    """Run every measurement once, on this machine, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="time of one measurement")
    seconds = parser.parse_args().seconds
    results = {
        "machine": machine(),
        "exact": exact.measure(seconds),
        "langevin": langevin.measure(seconds),
        "peers": peers.measure(seconds),
        "n_slope": round(scaling.slope_in_rows(seconds), 3),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for name in ("exact", "langevin"):
        _print_table(name, results[name])
    _print_peers(results["peers"]["sizes"])
    print(f"\nslope of cost against rows: {results['n_slope']}")


def _print_peers(sizes: list[dict[str, Any]]) -> None:
    _print_table(
        "our chain-steps a second over each peer's, both in float64 (below 1 the peer is faster)",
        sizes,
        (*_SIZE, *_RATIOS, "loop_ratio", "largest_difference"),
    )
    _print_table("the same with ours in float64 and theirs in float32", sizes, _SIZE + _IN_FLOAT32)
    for reason in sorted({size["why_null"] for size in sizes if size["why_null"]}):
        print(f"null because {reason}")


def _print_table(title: str, rows: list[dict[str, Any]], columns: Sequence[str] = ()) -> None:
    columns = columns or list(rows[0])
    cells = [[_text(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    print(f"\n{title}")
    for line in (columns, *cells):
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return f"{value:.1e}" if isinstance(value, float) and 0 < value < 1e-4 else str(value)


if __name__ == "__main__":
    main()
