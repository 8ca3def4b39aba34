"""Fit everything that charges a ledger on rows in protected memory: a program of its own.

Until a charge is started the pages can be neither read nor written: whoever tries, in whatever
language, ends the process (SIGSEGV). Prints a line of JSON for each fit.
"""

import ctypes
import json
import mmap
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer import Ledger
from rashomon_explorer.exceptions import BudgetExceededError
from rashomon_explorer.privacy import Charge, pure
from rashomon_explorer.rows import chunk_rows
from tests.estimators.charged import CHARGED, IN_CHUNKS, public_rows

PROT_NONE, PROT_READ = 0, 1
_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Protected:
    """Arrays in pages of their own."""

    def __init__(self):
        self._pages: list[tuple[int, int]] = []

    def hold(self, values):
        pages = mmap.mmap(-1, max(values.nbytes, 1))
        held = np.frombuffer(pages, dtype=values.dtype).reshape(-1)[: values.size]
        held = held.reshape(values.shape)
        held[...] = values
        self._pages.append((held.ctypes.data, len(pages)))
        return held

    def protect(self, how):
        for address, length in self._pages:
            if _mprotect(address, length, how):
                raise OSError(ctypes.get_errno(), "mprotect")


SOURCES: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "arrays": lambda X, y: (X, y),
    "a frame": lambda X, y: (pd.DataFrame(X, columns=["a", "b"], copy=False), y),
    "chunked arrays": lambda X, y: (chunk_rows(X, y), None),
}


def main(folder):
    warnings.simplefilter("ignore")
    start = Charge.start
    for kind, source in SOURCES.items():
        for name, run in (IN_CHUNKS if kind == "chunked arrays" else CHARGED).items():
            if kind == "a frame" and name != "RashomonClassifier":
                continue  # every fit reads a frame by the same adapter
            memory = Protected()
            X, y = source(*map(memory.hold, public_rows()))

            def opened(charge, memory=memory):
                start(charge)
                memory.protect(PROT_READ)

            Charge.start = opened  # type: ignore[method-assign]
            memory.protect(PROT_NONE)
            said: dict[str, Any] = {"fit": f"{name} of {kind}"}
            print(json.dumps({"begun": said["fit"]}), flush=True)
            spent = Ledger.create(folder / f"{name} {kind} spent", epsilon=1.0, delta=1e-5)
            spent.reserve(pure(1.0))
            try:
                run(spent, X, y)
            except BudgetExceededError:
                said["refused"] = len(spent.entries())
            ledger = Ledger.create(folder / f"{name} {kind}", epsilon=9.0, delta=1e-5)
            run(ledger, X, y)
            said["states"] = [entry.state for entry in ledger.entries()]
            print(json.dumps(said), flush=True)
    if "--negative-control" in sys.argv:
        memory = Protected()
        rows = memory.hold(public_rows()[0])
        memory.protect(PROT_NONE)
        print(rows.sum())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
