"""From a fit over draws and tables to a report a table in blocks is never held."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, resource, sys
import numpy as np

n, d, folder = int(sys.argv[1]), 20, sys.argv[2]
if os.fork():  # pages that were written count as this program's: another one reads
    _, status = os.wait()
    sys.exit(os.waitstatus_to_exitcode(status))
if not os.path.exists(f"{folder}/x.npy"):
    X = np.lib.format.open_memmap(f"{folder}/x.npy", "w+", dtype=float, shape=(n, d))
    y = np.lib.format.open_memmap(f"{folder}/y.npy", "w+", dtype="i1", shape=(n,))
    rng = np.random.default_rng(0)
    for low in range(0, n, 100_000):
        part = rng.uniform(-0.2, 0.2, (min(100_000, n - low), d))
        X[low : low + len(part)] = part
        y[low : low + len(part)] = part[:, :4].sum(axis=1) + rng.normal(0, 0.3, len(part)) > 0
    sys.exit(0)

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.rows import chunk_rows
from rashomon_explorer.rows.chunked import keep_chunks
from rashomon_explorer.measures import multiplicity_table
from rashomon_explorer.report import report

keep_chunks.__globals__["CACHE_BYTES"] = 2**24  # or the whole table would be kept ready
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
X, y = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in "xy")
rows = chunk_rows(X, y)
own = {"n_draws": 2, "mechanism": "exact", "radius": 2.0, "epsilon": 8.0, "classes": (0, 1)}
models = RashomonClassifier(psi=0.02, **own).fit(rows).rashomon_set_
assert len(multiplicity_table(models, rows))
groups = (np.arange(n) % 3).astype("i1")
report(models, f"{folder}/card.html", rows, groups=groups, interactive=False)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 2**10)
"""


@pytest.mark.law
def test_two_million_rows_take_less_memory_than_their_numbers(tmp_path):
    """Their numbers are 320 MiB; at 10⁷ rows it took .95 GiB, imports and blocks kept included."""
    for _ in range(2):  # made, then read
        asked = [sys.executable, "-c", PROGRAM, "2000000", str(tmp_path)]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
    mebibytes = float(done.stdout)
    assert mebibytes < 250  # imports of figures and of the report included
