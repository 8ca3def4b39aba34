"""What a privacy budget buys on ordinary tables: shares of the gain of a model without privacy.

A score is accuracy (R² for a regression) on the 30 % of the rows that a split keeps away. Its share
of the gain is 0 for the constant model, the most frequent class or the mean, and 1 for
scikit-learn's linear model without privacy. All methods have the same public bounds: ours as a
schema, the peers as encoded rows with the bound of each column, or of the norm, which is 1.
"""

import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from benchmarks.adassp import adassp
from benchmarks.declared import DESCRIBED, Declared, loaders
from benchmarks.machine import machine
from benchmarks.measured import write_result
from benchmarks.peers import PYTHON, ROOT
from rashomon_explorer import DPClassifier, DPRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.problem import add_intercept

RESULTS = Path(__file__).parent / "results" / "utility.json"
BUDGETS = (0.1, 1.0, 4.0)
DELTAS = (1e-6, 0.0)
MOST_ROWS = 12_000
USELESS, GOOD = 0.2, 0.8
_PEER_SECONDS = 3_600
_AUTO = "auto"
_NAMED: dict[str, dict[str, Any]] = {
    "linear": {"family": "linear"},
    "trees": {"family": "trees"},
    "objective_perturbation": {"mechanism": "objective_perturbation"},
    "moments": {"mechanism": "moments"},
}
_PEERS = {
    True: tuple(
        f"diffprivlib {name}" for name in ("logistic regression", "naive Bayes", "tree", "forest")
    ),
    False: ("diffprivlib linear regression",),
}


class Scores(NamedTuple):
    """Held-out scores of a method, one a split, and how many of its fits warned."""

    method: str
    epsilon: float
    delta: float
    values: list[float]
    mechanism: str = ""
    warned: int = 0


def measure(splits: int = 20, names: tuple[str, ...] = (), folder: str = "") -> dict[str, Any]:
    """Measure all tables that are there, or those that are named, beside those of earlier runs."""
    found = loaders(folder)
    absent = [name for name in names or tuple(DESCRIBED) if name not in found]
    if absent:
        print(f"no file in the folder, so they are left out: {', '.join(absent)}")
    wanted = [name for name in names or tuple(found) if name in found]
    measured: dict[str, Any] = {"machine": machine(), "splits": splits, "cells": _others(wanted)}
    for name in wanted:
        start = time.process_time()
        measured["cells"] += measure_table(found[name]().sampled(MOST_ROWS), splits)
        write(measured)
        print(f"{name}: {time.process_time() - start:.0f} CPU seconds, without diffprivlib's")
    return measured


def _others(names: list[str]) -> list[dict[str, Any]]:
    """Entries of an earlier run, of tables that are not to be measured again."""
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return [entry for entry in before.get("cells", []) if entry["table"] not in names]


def measure_table(table: Declared, splits: int) -> list[dict[str, Any]]:
    """One entry a method, ε and δ."""
    stratify = table.targets if table.classes else None
    everything = np.arange(len(table.rows))
    fits = [
        np.sort(train_test_split(everything, test_size=0.3, random_state=s, stratify=stratify)[0])
        for s in range(splits)
    ]
    floor, ceiling = (np.array(_reference(table, fits, constant=c)) for c in (True, False))
    gain = float((ceiling - floor).mean())
    return [
        {
            "table": table.name,
            "classes": table.classes,
            "n": len(fits[0]),
            "columns": table.rows.shape[1],
            "constant": round(float(floor.mean()), 4),
            "not_private": round(float(ceiling.mean()), 4),
            **_summary(scores, floor, gain),
        }
        for scores in (*_ours(table, fits), *_peers(table, fits))
        if np.isfinite(scores.values).any()
    ]


def _summary(scores: Scores, floor: FloatArray, gain: float) -> dict[str, Any]:
    values = np.where(np.isnan(scores.values), floor, scores.values)  # gave up: as the constant
    shares = (values - floor) / gain
    useless, good = int((shares < USELESS).sum()), int((shares > GOOD).sum())
    return {
        "method": scores.method,
        "epsilon": scores.epsilon,
        "delta": scores.delta,
        "mechanism": scores.mechanism,
        "score": round(float(values.mean()), 4),
        "share": round(float(shares.mean()), 4),
        "error": round(float(shares.std(ddof=len(shares) > 1) / np.sqrt(len(shares))), 4),
        "useless": useless,
        "good": good,
        "warned": scores.warned,
    }


def _reference(table: Declared, fits: list[NDArray[Any]], *, constant: bool) -> list[float]:
    """Scores without privacy, of a constant or of a linear model."""
    rows, targets = table.encoded, table.targets
    if table.classes:
        linear: Any = LogisticRegression(C=100.0, max_iter=2_000)
        model = DummyClassifier() if constant else linear
    else:
        model = DummyRegressor() if constant else Ridge(alpha=1e-3)
    return [
        model.fit(rows[fit], targets[fit]).score(rows[test], targets[test])
        for fit, test in _both(table, fits)
    ]


def _both(table: Declared, fits: list[NDArray[Any]]) -> Iterator[tuple[NDArray[Any], ...]]:
    for fit in fits:
        yield fit, np.setdiff1d(np.arange(len(table.rows)), fit)


def _ours(table: Declared, fits: list[NDArray[Any]]) -> Iterator[Scores]:
    for method, settings in {_AUTO: {}, **_NAMED}.items():
        if method in (("moments",) if table.classes else ("linear", "trees")):
            continue
        for delta in DELTAS:
            for epsilon in BUDGETS:
                budget = {"epsilon": epsilon, "delta": delta}
                yield _of_estimator(table, fits, method, budget | settings)


def _of_estimator(
    table: Declared, fits: list[NDArray[Any]], method: str, settings: dict[str, Any]
) -> Scores:
    kind: Any = DPClassifier if table.classes else DPRegressor
    values, mechanisms, warned = [], [], 0
    for seed, (fit, test) in enumerate(_both(table, fits)):
        model = kind(schema=table.schema, random_state=seed, **settings)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(table.frame.iloc[fit], table.labels.iloc[fit])
                values.append(model.score(table.frame.iloc[test], table.labels.iloc[test]))
        except SamplerError:  # it gave up, or does not apply
            values.append(float("nan"))
            continue
        mechanisms.append(model.plan_.mechanism)
        warned += model.plan_.weakness != ""
    chosen = max(mechanisms, key=mechanisms.count, default="")
    return Scores(method, settings["epsilon"], settings["delta"], values, chosen, warned)


def _peers(table: Declared, fits: list[NDArray[Any]]) -> Iterator[Scores]:
    found = diffprivlib_scores(
        table.encoded, table.targets, fits, BUDGETS, _PEERS[table.classes > 0], table.column_bounds
    )
    for name, by_budget in found.items():
        for epsilon, values in by_budget.items():
            yield Scores(name, float(epsilon), 0.0, values)
    if not table.classes:
        for epsilon in BUDGETS:
            yield Scores("AdaSSP", epsilon, DELTAS[0], _adassp_scores(table, fits, epsilon))


def _adassp_scores(table: Declared, fits: list[NDArray[Any]], epsilon: float) -> list[float]:
    rows = add_intercept(table.rows)
    bounds = {"row_bound": np.sqrt(2), "target_bound": 1.0, "delta": DELTAS[0]}
    scores = []
    for seed, (fit, test) in enumerate(_both(table, fits)):
        rng = np.random.default_rng(seed)
        theta = adassp(rows[fit], table.targets[fit], epsilon=epsilon, rng=rng, **bounds)
        scores.append(float(r2_score(table.targets[test], rows[test] @ theta)))
    return scores


def diffprivlib_scores(
    rows: FloatArray,
    targets: NDArray[Any],
    fits: list[NDArray[Any]],
    epsilons: tuple[float, ...],
    only: tuple[str, ...],
    bounds: Any,
    norm: float = 1.0,
) -> dict[str, dict[str, list[float]]]:
    """Held-out scores by model and ε, from diffprivlib's own environment; {} without it."""
    if not PYTHON.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        given = {"epsilons": epsilons, "only": only, "bounds": bounds, "norm": norm}
        np.savez(file, rows=rows, targets=targets, splits=fits, **given)
        command = [str(PYTHON), "-m", "benchmarks.utility_peer", str(file)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=_PEER_SECONDS
        )
    if done.returncode:
        print(f"diffprivlib stopped: {done.stderr.strip().splitlines()[-1:]}")
        return {}
    found: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    write_result(file, measured)


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out counts, and the share of the gain ± its standard error, a method a line."""
    yield (
        f"Shares of the gain, {measured['splits']} splits: 0 is the constant model, 1 "
        "scikit-learn's linear model without privacy\n"
    )
    yield from _counts(measured["cells"])
    for name in dict.fromkeys(one["table"] for one in measured["cells"]):
        yield from _table_lines([one for one in measured["cells"] if one["table"] == name])


def _counts(cells: list[dict[str, Any]]) -> Iterator[str]:
    """How often auto is within a standard error of the best others, and what plans warned of."""
    losses = []
    for delta in DELTAS:
        autos = [one for one in cells if one["method"] == _AUTO and one["delta"] == delta]
        for kind in ("named mechanism", "peer"):
            better = [one for auto in autos for one in _better(auto, cells, kind)]
            yield (
                f"- δ = {delta:g}: `auto` is within one standard error of the best {kind} in "
                f"{len(autos) - len(better)} of {len(autos)} cells."
            )
            losses += better
    for kind in ("useless", "good"):
        fits = sum(one[kind] for one in cells if one["method"] == _AUTO)
        warned = sum(one[kind] for one in cells if one["method"] == _AUTO and one["warned"])
        yield f"- `auto` warned of {warned} of {fits} {kind} fits."
    yield f"- Useless is a share below {USELESS:g}, good one above {GOOD:g}.\n"
    if losses:
        yield "| `auto` is beaten at | δ | ε | by | its share | of `auto` |"
        yield "|---|---|---|---|---|---|"
    yield from losses


def _better(auto: dict[str, Any], cells: list[dict[str, Any]], kind: str) -> Iterator[str]:
    """Line of the best other method, if it is better by more than auto's standard error."""
    same = [one for one in cells if all(one[k] == auto[k] for k in ("table", "epsilon"))]
    others = [
        one
        for one in same
        if (one["method"] in _NAMED) == (kind != "peer")
        and one["method"] != _AUTO
        and one["delta"] <= auto["delta"]
    ]
    best = max(others, key=lambda one: one["share"], default=None)
    if best is not None and best["share"] - auto["share"] > auto["error"]:
        where = (auto["table"], f"{auto['delta']:g}", f"{auto['epsilon']:g}", best["method"])
        yield "| " + " | ".join((*where, _cell(best, 3), _cell(auto, 3))) + " |"


def _table_lines(cells: list[dict[str, Any]]) -> Iterator[str]:
    one = cells[0]
    scored = "accuracy" if one["classes"] else "R²"
    yield f"\n## {one['table']}\n"
    yield (
        f"{one['n']:,} rows to fit × {one['columns']} columns; {scored} of the constant model "
        f"{one['constant']:.3f}, without privacy {one['not_private']:.3f}.\n"
    )
    yield "| method | δ | " + " | ".join(f"ε = {e:g}" for e in BUDGETS) + " |"
    yield "|---|---" + "|---" * len(BUDGETS) + "|"
    for method, delta in dict.fromkeys((one["method"], one["delta"]) for one in cells):
        some = [one for one in cells if (one["method"], one["delta"]) == (method, delta)]
        yield f"| {method} | {delta:g} | " + " | ".join(_cell(one) for one in some) + " |"


def _cell(one: dict[str, Any], digits: int = 2) -> str:
    if one["share"] < -10:
        return "below −10"
    told = f"{one['share']:.{digits}f} ± {one['error']:.{digits}f}"
    return told + " (warned)" * (one["warned"] > 0)
