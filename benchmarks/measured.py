"""The commit that each result was measured at, and whether what it measures has changed since.

    python -m benchmarks.measured

lists them. ``write_result`` writes ``results/NAME.json`` and enters both; ``SOURCES`` names what it
measures. A result whose sources change fails a test until it is measured again, or its entry in
``results/measured.json`` says why it is ``"stale"``; benchmarks/README.md then says it, too.
"""

import ast
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "measured.json"

_DRAWS = ("rashomon_explorer/mechanisms", "rashomon_explorer/problem")
_FITS = (*_DRAWS, "rashomon_explorer/estimators", "rashomon_explorer/data")
_MECHANISMS = "rashomon_explorer/mechanisms"
_TREES = ("rashomon_explorer/trees", "benchmarks/binary_tables.py")
SOURCES: dict[str, tuple[str, ...]] = {
    "exact": (
        *(f"{_MECHANISMS}/{part}" for part in ("exact.py", "rejection", "target.py")),
        "rashomon_explorer/problem",
        "benchmarks/exact.py",
        "benchmarks/problems.py",
    ),
    "networks": (
        "rashomon_explorer/networks",
        "benchmarks/networks.py",
        "benchmarks/networks_peer.py",
    ),
    "one_model": _FITS,
    "page": ("rashomon_explorer/explorer", "rashomon_explorer/server", "rashomon_explorer/plots"),
    "paths": _FITS,
    "population_rates": _DRAWS,
    "private_trees": (*_TREES, *_FITS, "benchmarks/private_trees.py"),
    "rates": (*_DRAWS, "rashomon_explorer/papers"),
    "rule": _FITS,
    "samplers": (
        f"{_MECHANISMS}/langevin",
        f"{_MECHANISMS}/target.py",
        "rashomon_explorer/problem",
        "rashomon_explorer/privacy/ledger",
        "rashomon_explorer/privacy/tradeoff",
        "rashomon_explorer/measures/multiplicity",
        "rashomon_explorer/measures/ranges",
        *(f"benchmarks/{name}.py" for name in ("langevin", "measures", "ranges")),
    ),
    "scale": (*_FITS, "rashomon_explorer/rows"),
    "trees": (*_TREES, "benchmarks/trees.py", "benchmarks/trees_peer.py"),
    "tuning": (
        f"{_MECHANISMS}/penalties",
        f"{_MECHANISMS}/finite_grid.py",
        "rashomon_explorer/problem",
        "benchmarks/tuning.py",
    ),
    "utility": _FITS,
    "ways": _FITS,
}
"""Files and folders whose code each result measures."""


def write_result(file: Path, result: Any) -> None:
    """Write a result that was measured just now; among the results, enter its commit."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if file.parent == RESULTS:
        record(file.stem)


def record(name: str) -> None:
    """Enter the current commit and code of a result."""
    entries = read()
    commit = _git("rev-parse", "--short=8", "HEAD")
    changed = _git("status", "--porcelain", "--", *SOURCES[name])
    entries[name] = {"commit": commit + "+" * bool(changed), "code": code_digest(*SOURCES[name])}
    FILE.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n", encoding="utf-8")


def read() -> dict[str, dict[str, str]]:
    """Commit, code and staleness of each result."""
    entries: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return entries


def faults() -> list[str]:
    """List the results without an entry, and those whose code has changed unsaid."""
    entries = read()
    written = {file.stem for file in RESULTS.glob("*.json")} - {FILE.stem}
    lines = [
        f"results/{name}.json has no entry in {FILE.name}: write it with measured.write_result"
        for name in sorted(written - set(entries))
    ]
    for name in sorted(written & set(entries)):
        entry = entries[name]
        if not entry.get("stale") and entry.get("code") != code_digest(*SOURCES[name]):
            lines.append(
                f"the code of {SOURCES[name]} is not that of {entry['commit']}, which results/"
                f'{name}.json measured: measure again, or say "stale": "why" in {FILE.name} and '
                "in benchmarks/README.md"
            )
    return lines


def code_digest(*sources: str) -> str:
    """Digest of names, constants and structure of modules, without comments and docstrings."""
    digest = hashlib.sha256()
    for source in sources:
        path = ROOT / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{file.relative_to(ROOT)}\n".encode())
            for line in _code(ast.parse(file.read_text(encoding="utf-8"))):
                digest.update(line.encode())
    return digest.hexdigest()[:16]


def _code(tree: ast.Module) -> list[str]:
    """Kind of each node, and its names and constants."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            del node.body[0]
    lines = []
    for node in ast.walk(tree):
        simple = str | bytes | int | float | complex
        fields = [field for field in ast.iter_fields(node) if isinstance(field[1], simple)]
        lines.append(f"{type(node).__name__} {fields}\n")
    return lines


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Print a line for each result."""
    entries: dict[str, Any] = read()
    for name, entry in entries.items():
        print(f"{name:18} {entry['commit']:10} {entry.get('stale', 'current')}")
    print(*faults(), sep="\n")


if __name__ == "__main__":
    main()
