"""A script: results are kept by processes that are killed at every call of the file system.

It prints how many calls each act makes, and fails where anything was lost or is there in part.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rashomon_explorer.explorer.release import Purchases
from rashomon_explorer.explorer.set_store import NumberedFiles, SetStore
from tests.explorer.pages import five_models, purchase
from tests.failing_disk import Gate, killed

MODELS = five_models()
BOUGHT = purchase(MODELS)


def _sets(ledger):
    """Every listed set with the number of models that its file holds."""
    sets = SetStore(ledger)
    return [(one.number, sets.open(one.number).n_draws) for one in sets.all()]


def _paid(ledger):
    return [one.released for one in Purchases(SetStore(ledger).purchases_path(1)).all()]


def _files(ledger):
    return NumberedFiles(ledger.with_suffix(".sets"), "", ".model")


def _models(ledger):
    return [path.read_text() for path in _files(ledger).paths()]


Act = tuple[Callable[[Path], object], Callable[[Path], list[Any]]]

KEEPING: dict[str, Act] = {
    "set": (lambda ledger: SetStore(ledger).keep(MODELS, {"psi": 0.1}), _sets),
    "purchase": (lambda ledger: Purchases(SetStore(ledger).purchases_path(1)).add(BOUGHT), _paid),
    "model": (lambda ledger: _files(ledger).add("paid"), _models),
}


def _killed_at(at, act):
    """Do it in a process that is killed at a call; whether it got that far."""
    child = os.fork()
    if child == 0:
        with Gate(at, killed).closed():
            act()
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def _keep_and_kill(keep, there):
    """Kill at the first call, at the second, …, until nothing is left to be killed at."""
    at, died = 0, True
    while died:
        at += 1
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "loans.ledger"
            if at % 2:  # of the others the first result makes the folder
                keep(ledger)
            before = there(ledger)
            died = _killed_at(at, lambda ledger=ledger: keep(ledger))
            after = there(ledger)
            assert after[: len(before)] == before, (at, before, after)
            assert len(after) - len(before) in ((0, 1) if died else (1,)), (at, before, after)
            keep(ledger)  # another page goes on
            assert there(ledger)[: len(after)] == after and len(there(ledger)) == len(after) + 1
            assert not list(Path(folder).rglob("*.damaged"))
    return at - 1


def _delete_and_kill():
    """Kill while a set is deleted: it is there whole or gone, and its number is not given again."""
    at, died = 0, True
    while died:
        at += 1
        with tempfile.TemporaryDirectory() as folder:
            sets = SetStore(Path(folder) / "loans.ledger")
            sets.keep(MODELS, {})
            Purchases(sets.purchases_path(1)).add(BOUGHT)
            died = _killed_at(at, lambda sets=sets: sets.delete(1))
            listed = sets.all()
            if listed:
                assert len(Purchases(sets.purchases_path(1)).all()) == 1
                assert sets.open(1).n_draws == MODELS.n_draws
            assert sets.keep(MODELS, {}).number == 2
            assert len(sets.all()) == len(listed) + 1
            assert died or not listed
    return at - 1


if __name__ == "__main__":
    told = {name: _keep_and_kill(*act) for name, act in KEEPING.items()}
    told["deleting"] = _delete_and_kill()
    json.dump(told, sys.stdout)
