"""Measure the samplers and write ``results/samplers.json`` and a table."""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import exact, langevin, scaling
from benchmarks.machine import machine

RESULTS = Path(__file__).parent / "results" / "samplers.json"


def main() -> None:
    """Run every measurement once, in this process, on this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="time of one measurement")
    seconds = parser.parse_args().seconds
    results = {
        "machine": machine(),
        "exact": exact.measure(seconds),
        "langevin": langevin.measure(seconds),
        "n_slope": round(scaling.slope_in_rows(seconds), 3),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for name in ("exact", "langevin"):
        _print_table(name, results[name])
    print(f"\nslope of cost against rows: {results['n_slope']}")


def _print_table(name: str, rows: list[dict[str, Any]]) -> None:
    columns = list(rows[0])
    widths = [max(len(c), *(len(str(row[c])) for row in rows)) for c in columns]
    print(f"\n{name}")
    print("  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True)))
    for row in rows:
        print("  ".join(str(row[c]).rjust(w) for c, w in zip(columns, widths, strict=True)))


if __name__ == "__main__":
    main()
