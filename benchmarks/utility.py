"""What a budget buys on ordinary tables: every way beside its peers, by the same declared bounds.

Accuracy (R² for a regression) on the 30 % of the rows that a split keeps away; hit rate and mean
excess of the models on the 70 % they were fitted to, over the least loss in a ball of radius 16.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from benchmarks.declared import Declared, loaders
from benchmarks.machine import machine
from benchmarks.peers import PYTHON, ROOT
from benchmarks.ways import WAYS, Made, Task, Way, run
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem

RESULTS = Path(__file__).parent / "results" / "utility.json"
BUDGETS = (0.1, 1.0, 4.0)
DELTAS = (0.0, 1e-6)
PSI = 0.02
_PEER = "diffprivlib"
_WIDE = 16.0
_PEER_SECONDS = 3_600


def measure(
    splits: int = 20, names: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Measure all tables and ways, or those that are named; what is done is written on the way."""
    found = loaders()
    ways = tuple(way for way in WAYS if way.name in (only or _names()))
    measured: dict[str, Any] = {"machine": machine(), "psi": PSI, "tables": _others(names)}
    for name in names or tuple(found):
        measured["tables"] += measure_table(found[name](), splits, ways)
        write(measured)
    return measured


def _names() -> tuple[str, ...]:
    return tuple(way.name for way in WAYS)


def _others(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Entries of an earlier run, of tables that are not to be measured again."""
    if not names or not RESULTS.exists():
        return []
    before = json.loads(RESULTS.read_text(encoding="utf-8"))["tables"]
    return [entry for entry in before if entry["table"] not in names]


def measure_table(table: Declared, splits: int, ways: tuple[Way, ...]) -> list[dict[str, Any]]:
    """One entry a way, ε and δ."""
    trials = [_Trial(table, seed) for seed in range(splits)]
    made = {(_PEER, 0.0, e): results for e, results in _peer(table, trials)}
    for way in ways:
        for delta in DELTAS if way.private else (0.0,):
            if way.serves(table.classes, delta):
                for epsilon in BUDGETS if way.private else (0.0,):
                    tasks = (trial.task(epsilon, delta) for trial in trials)
                    made[way.name, delta, epsilon] = list(_until_hopeless(way, tasks))
    seconds = {
        e: np.median([one.seconds for one in made[_PEER, 0.0, e]])
        for e in BUDGETS
        if (_PEER, 0.0, e) in made
    }
    return [
        {
            "table": table.name,
            "n": len(trials[0].fit),
            "columns": table.rows.shape[1],
            "splits": splits,
            "way": name,
            "delta": delta,
            "epsilon": epsilon,
            **_summary(trials, results),
            "seconds": _seconds(results),
            "seconds_over_peer": _ratio(results, seconds.get(epsilon or BUDGETS[0])),
        }
        for (name, delta, epsilon), results in made.items()
    ]


def _until_hopeless(way: Way, tasks: Iterator[Task]) -> Iterator[Made]:
    """Stop where public numbers call it hopeless: every split has the same ones."""
    skipped = None
    for task in tasks:
        made = skipped or run(way, task)
        skipped = made if made.skipped else None
        yield made


class _Trial:
    """One split of a table, and how good models of it are."""

    def __init__(self, table: Declared, seed: int) -> None:
        self.table, self.seed = table, seed
        stratify = table.targets if table.classes else None
        self.fit, self.test = train_test_split(
            np.arange(len(table.rows)), test_size=0.3, random_state=seed, stratify=stratify
        )
        self._problem = _problem(table.rows[self.fit], table.targets[self.fit], table.classes)

    def task(self, epsilon: float, delta: float) -> Task:
        """Return what a way is given."""
        rows, targets = self.table.rows[self.fit], self.table.targets[self.fit]
        return Task(rows, targets, self.table.classes, epsilon, delta, self.seed)

    def accuracy(self, models: FloatArray) -> float:
        """Of the mean prediction of the models (K, outputs, d + 1)."""
        rows, targets = self.table.rows[self.test], self.table.targets[self.test]
        scores = np.einsum("nd,kod->kno", np.column_stack([rows, np.ones(len(rows))]), models)
        if not self.table.classes:
            return float(r2_score(targets, scores.mean(axis=0)[:, 0]))
        if self.table.classes == 2:
            return float(((expit(scores).mean(axis=0)[:, 0] > 0.5) == targets).mean())
        return float((softmax(scores, axis=2).mean(axis=0).argmax(axis=1) == targets).mean())

    def excess(self, models: FloatArray) -> FloatArray:
        """Loss of each model above the least."""
        relative = models - models[:, :1] if self.table.classes > 2 else models
        kept = relative[:, 1:] if self.table.classes > 2 else relative
        theta = kept.reshape(len(models), -1).T
        return np.asarray(self._problem.value(theta) - self._problem.minimum.value)


def _problem(rows: FloatArray, targets: NDArray[Any], classes: int) -> Problem:
    if classes == 2:
        return Problem(rows, 2.0 * targets - 1, radius=_WIDE)
    if classes:
        return Problem(rows, targets, loss=SoftmaxLoss(classes), radius=_WIDE)
    return Problem(rows, targets, loss="squared", radius=_WIDE)


def _summary(trials: list[_Trial], results: list[Made]) -> dict[str, Any]:
    pairs = [(trial, one.models) for trial, one in zip(trials, results, strict=True)]
    good = [(trial, models) for trial, models in pairs if models is not None]
    said = {
        "refused": sum(bool(one.refused) for one in results),
        "skipped": next((one.skipped for one in results if one.skipped), ""),
    }
    if not good:
        return {"accuracy": None, "error": None, "hit_rate": None, "excess": None, **said}
    accuracy = np.array([trial.accuracy(models) for trial, models in good])
    excess = np.concatenate([trial.excess(models) for trial, models in good])
    return {
        "accuracy": round(float(accuracy.mean()), 4),
        "error": round(float(accuracy.std(ddof=len(good) > 1) / np.sqrt(len(good))), 4),
        "hit_rate": round(float((excess <= PSI).mean()), 3),
        "excess": round(float(excess.mean()), 4),
        **said,
    }


def _seconds(results: list[Made]) -> float | None:
    some = [one.seconds for one in results if one.models is not None]
    return round(float(np.median(some)), 3) if some else None


def _ratio(results: list[Made], peer: float | None) -> float | None:
    own = _seconds(results)
    return round(own / peer, 2) if own is not None and peer else None


def _peer(table: Declared, trials: list[_Trial]) -> Iterator[tuple[float, list[Made]]]:
    """Fit diffprivlib in its own environment; without it there is nothing to compare with."""
    if not PYTHON.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        file, found = Path(folder) / "table.npz", Path(folder) / "models.npz"
        fits = [trial.fit for trial in trials]
        np.savez(
            file,
            rows=table.rows,
            targets=table.targets,
            classes=table.classes,
            splits=fits,
            epsilons=BUDGETS,
        )
        command = [str(PYTHON), "-m", "benchmarks.utility_peer", str(file), str(found)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=_PEER_SECONDS
        )
        if done.returncode:
            print(f"{_PEER} stopped: {done.stderr.strip().splitlines()[-1:]}")
            return
        with np.load(found) as arrays:
            models, seconds = arrays["models"], arrays["seconds"]
    for k, epsilon in enumerate(BUDGETS):
        some = slice(k * len(trials), (k + 1) * len(trials))
        yield (
            epsilon,
            [Made(m[None], float(s)) for m, s in zip(models[some], seconds[some], strict=True)],
        )


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out accuracy ± its standard error, hit rate and excess, a way a line."""
    budgets = "".join(f"{f'ε = {e:g}':>27}" for e in BUDGETS)
    entries = measured["tables"]
    for name in dict.fromkeys(one["table"] for one in entries):
        some = [one for one in entries if one["table"] == name]
        yield f"\n{name}, n = {some[0]['n']:,}, {some[0]['columns']} columns"
        yield f"{'':28}{'δ':>6}{budgets}"
        for way, delta in dict.fromkeys((one["way"], one["delta"]) for one in some):
            cells = [one for one in some if (one["way"], one["delta"]) == (way, delta)]
            yield f"{way:28}{delta:>6g}" + "".join(f"{_cell(one):>27}" for one in cells)


def _cell(one: dict[str, Any]) -> str:
    if one["accuracy"] is None:
        return "skipped" if one["skipped"] else "refused"
    refused = f" ({one['refused']} refused)" if one["refused"] else ""
    return f"{one['accuracy']:.3f} ± {one['error']:.3f} [{one['hit_rate']:.2f}]{refused}"
