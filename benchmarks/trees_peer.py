"""Others' programs that list good trees, where they are installed; imports nothing of the package.

Prints one JSON object: how many trees, how long, and the most memory the process had.
"""

import argparse
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
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
    wall, cpu = time.perf_counter(), time.process_time()
    report = _PROGRAMS[options.program](
        rows, targets, options.penalty, options.depth, options.share
    )
    sys.stdout = said
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report |= {
        "s": round(time.perf_counter() - wall, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mib": round(most),
    }
    print("\n" + json.dumps(report))


def _treefarms(rows: Any, targets: Any, penalty: float, depth: int, share: float) -> dict[str, Any]:
    from treefarms import TREEFARMS

    settings = {
        "regularization": penalty,
        "rashomon_bound_multiplier": share,
        "depth_budget": depth + 1,  # it counts the leaf
    }
    model = TREEFARMS(settings)
    model.fit(pd.DataFrame(rows), pd.Series(targets, name="y"))
    return {"trees": int(model.get_tree_count())}


def _counting(kind: str) -> Callable[..., dict[str, Any]]:
    def run(rows: Any, targets: Any, penalty: float, depth: int, share: float) -> dict[str, Any]:
        if kind == "arborenum":
            from arborenum import ArborEnum as Program
        else:
            from praxis import PRAXIS as Program
        model = Program()
        settings = {"lambda_reg": penalty, "depth_budget": depth, "rashomon_mult": share}
        model.fit(rows, targets, majority_leaf_only=True, **settings)
        count = int(model.count_trees())
        told = [model.get_tree_paths_str(place) for place in range(min(count, 2000))]
        idle = sum(_has_idle_question(*one) for one in told)
        return {"trees": count, "with_idle_questions": idle if count <= 2000 else None}

    return run


def _has_idle_question(paths: list[str], says: Any) -> bool:
    """Whether two leaves of one question say the same."""
    known = dict(zip(paths, np.asarray(says).tolist(), strict=True))

    def beside(path: str) -> str:
        *above, last = path.strip("[]").split(", ")
        return f"[{', '.join([*above, ('-' if last[0] == '+' else '+') + last[1:]])}]"

    return any(known.get(beside(path)) == label for path, label in known.items())


_PROGRAMS: dict[str, Callable[..., dict[str, Any]]] = {
    "treefarms": _treefarms,
    "arborenum": _counting("arborenum"),
    "tree-praxis": _counting("tree-praxis"),
}


if __name__ == "__main__":
    main()
