"""Private sets of networks beside one network trained by DP-SGD, and beside no privacy.

Accuracy on the 30 % of the rows that a split keeps away. The network has one hidden layer of 32
tanh units everywhere. The peer's cell is its best of four settings by that accuracy itself, which
favours it; ours has its defaults.
"""

import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from benchmarks.declared import Declared, loaders
from benchmarks.machine import machine
from benchmarks.measured import write_result
from benchmarks.peers import PYTHON
from rashomon_explorer import DPClassifier, RashomonNetworkClassifier

RESULTS = Path(__file__).parent / "results" / "networks.json"
TABLES = ("digits", "lending", "adult", "default_credit", "compas")
BUDGETS = (1.0, 4.0, 8.0)
DELTA = 1e-5
MOST_ROWS = 40_000
_UNITS = 32
_BATCH = 512
_SEEDS = 5  # networks without privacy
_PEER_SECONDS = 3_600
_PEER = Path(__file__).with_name("networks_peer.py")


def measure(splits: int, names: tuple[str, ...] = (), folder: str = "") -> dict[str, Any]:
    """Measure the tables that are there; without Opacus in the peers' environment, ours alone."""
    found = loaders(folder)
    measured: dict[str, Any] = {"machine": machine(), "splits": splits, "delta": DELTA}
    measured["tables"] = [
        _measure(found[name]().sampled(MOST_ROWS), splits)
        for name in names or TABLES
        if name in found
    ]
    return measured


def write(measured: dict[str, Any]) -> None:
    """Write the result."""
    write_result(RESULTS, measured)


def lines(measured: dict[str, Any]) -> list[str]:
    """Return a table of accuracies."""
    head = (
        "table            ε  mean of set  last state  linear   DP-SGD (replaced / added or removed)"
    )
    printed = [head]
    for table in measured["tables"]:
        free, ambiguous = table["not_private"], table["not_private_ambiguity"]
        printed.append(f"{table['table']}: without privacy {free:.3f}, {ambiguous:.3f} ambiguous")
        for cell in table["cells"]:
            printed.append(
                f"{table['table']:15} {cell['epsilon']:2g}  {cell['mean']:.3f}  {cell['last']:.3f}"
                f"  {cell['linear']:.3f}  {cell.get('replaced')} {cell.get('added or removed')}"
                f"  ambiguous {cell['ambiguity']:.3f}, within psi {cell['share']}"
            )
    return printed


def _measure(table: Declared, splits: int) -> dict[str, Any]:
    everything, targets = np.arange(len(table.rows)), table.targets
    # Columns of about unit size, as the networks of the package take them.
    rows = table.rows * np.sqrt(len(table.schema.features))
    fits = [
        np.sort(train_test_split(everything, test_size=0.3, random_state=s, stratify=targets)[0])
        for s in range(splits)
    ]
    seeds = _not_private(rows, targets, fits[0])
    peers = _peer_cells(rows, targets, fits)
    cells = []
    for epsilon in BUDGETS:
        ours = [_ours(table, fit, seed, epsilon) for seed, fit in enumerate(fits)]
        cell: dict[str, Any] = {name: _rounded([o[name] for o in ours]) for name in ours[0]}
        for peer in peers:
            if peer["epsilon"] == epsilon:
                score = _rounded(peer["scores"])
                cell[peer["rows"]] = max(score, cell.get(peer["rows"], 0.0))
        cells.append({"epsilon": epsilon, **cell})
    return {
        "table": table.name,
        "n": len(fits[0]),
        "columns": rows.shape[1],
        **seeds,
        "cells": cells,
    }


def _rounded(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


def _held_out(table: Declared, fit: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.setdiff1d(np.arange(len(table.rows)), fit)


def _ours(table: Declared, fit: NDArray[np.intp], seed: int, epsilon: float) -> dict[str, float]:
    """Accuracies of one set and of one private linear model, and how much the set disagrees."""
    test = _held_out(table, fit)
    budget: dict[str, Any] = {
        "epsilon": epsilon, "delta": DELTA, "schema": table.schema, "random_state": seed
    }  # fmt: skip
    rows, labels = table.frame.iloc[fit], table.labels.iloc[fit]
    unseen, answers = table.frame.iloc[test], table.labels.iloc[test].to_numpy()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = RashomonNetworkClassifier(**budget).fit(rows, labels)
        seconds = time.process_time() - start
        linear = DPClassifier(**budget).fit(rows, labels)
    each = network.classes_[network.rashomon_set_.labels(unseen)]
    share = network.rashomon_set_.released_share()
    return {
        "mean": network.score(unseen, answers),
        "last": float((each[-1] == answers).mean()),
        "states": float((each == answers).mean()),
        "linear": linear.score(unseen, answers),
        "ambiguity": float((each != each[-1]).any(axis=0).mean()),
        "share": network.rashomon_set_.hit_rate,
        "share_low": share.low,
        "share_high": share.high,
        "seconds": seconds,
    }


def _not_private(
    rows: NDArray[np.float64], targets: NDArray[Any], fit: NDArray[np.intp]
) -> dict[str, float]:
    """Accuracy of a network without privacy, and the people on whom five seeds do not agree."""
    test = np.setdiff1d(np.arange(len(rows)), fit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = np.array(
            [
                MLPClassifier((_UNITS,), activation="tanh", max_iter=30, random_state=seed)
                .fit(rows[fit], targets[fit])
                .predict(rows[test])
                for seed in range(_SEEDS)
            ]
        )
    return {
        "not_private": _rounded((labels == targets[test]).mean(axis=1).tolist()),
        "not_private_ambiguity": round(float((labels != labels[0]).any(axis=0).mean()), 4),
    }


def _peer_cells(
    rows: NDArray[np.float64], targets: NDArray[Any], fits: list[NDArray[np.intp]]
) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(
            file,
            rows=rows,
            targets=targets,
            splits=np.array(fits),
            epsilons=np.array(BUDGETS),
            delta=DELTA,
            batch=_BATCH,
            units=_UNITS,
        )
        try:
            done = subprocess.run(
                [PYTHON, _PEER, file],
                capture_output=True,
                text=True,
                check=True,
                timeout=_PEER_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            print(f"without Opacus: {getattr(error, 'stderr', '') or error}")
            return []
    cells: list[dict[str, Any]] = json.loads(done.stdout)
    return cells
