"""One program that counts or lists good trees, ours or another's: how many, how long, what memory.

Prints one JSON object. The clock starts when the program is imported.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def main() -> None:
    """List the trees of one table with one program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=sorted(_PROGRAMS))
    parser.add_argument("file", help="rows and targets (.npz)")
    parser.add_argument("penalty", type=float)
    parser.add_argument("depth", type=int, help="most questions on a path")
    parser.add_argument("share", type=float, help="ψ as a share of the least objective")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.load(options.file) as given:
        rows, targets = given["rows"], given["targets"]
    said, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # they print
    run = _PROGRAMS[options.program]()
    imported = _peak_mib()
    wall, cpu = time.perf_counter(), time.process_time()
    report = run(rows, targets, options.penalty, options.depth, options.share)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sys.stdout = said
    report |= {"s": round(wall, 3), "cpu_s": round(cpu, 3)}
    report |= {"peak_mib": _peak_mib(), "imported_mib": imported}
    print("\n" + json.dumps(report))


def _peak_mib() -> int:
    """Most memory of this process so far; getrusage would count its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return round(int(kib) / 1024)


Run = Callable[[Any, Any, float, int, float], dict[str, Any]]


def _ours() -> Run:
    from rashomon_explorer.trees import CountedTrees

    def run(rows: Any, targets: Any, penalty: float, depth: int, share: float) -> dict[str, Any]:
        settings = {"max_leaves": 2**depth, "max_depth": depth, "leaf_penalty": penalty}
        counted = CountedTrees(rows, targets, convention="treefarms", **settings)
        return {"trees": counted.size(share * counted.least), "least": counted.least}

    return run


def _treefarms() -> Run:
    from treefarms import TREEFARMS

    def run(rows: Any, targets: Any, penalty: float, depth: int, share: float) -> dict[str, Any]:
        settings = {
            "regularization": penalty,
            "rashomon_bound_multiplier": share,
            "depth_budget": depth + 1,  # it counts the leaf
        }
        model = TREEFARMS(settings)
        model.fit(pd.DataFrame(rows), pd.Series(targets, name="y"))
        return {"trees": int(model.get_tree_count())}

    return run


def _arborenum() -> Run:
    from arborenum import ArborEnum

    return _counting(ArborEnum)


def _praxis() -> Run:
    from praxis import PRAXIS

    return _counting(PRAXIS)


def _counting(program: Callable[[], Any]) -> Run:
    def run(rows: Any, targets: Any, penalty: float, depth: int, share: float) -> dict[str, Any]:
        model = program()
        settings = {"lambda_reg": penalty, "depth_budget": depth, "rashomon_mult": share}
        model.fit(rows, targets, majority_leaf_only=True, **settings)
        return {"trees": int(model.count_trees())}

    return run


_PROGRAMS: dict[str, Callable[[], Run]] = {
    "counted here": _ours,
    "treefarms": _treefarms,
    "arborenum": _arborenum,
    "tree-praxis": _praxis,
}


if __name__ == "__main__":
    main()
