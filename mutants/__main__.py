"""Which wrong constants do the tests notice? See ``python -m mutants --help``."""

import argparse
import sys
from pathlib import Path

from mutants.mutation import StaleMutationError, load
from mutants.runner import UntestableError, run
from mutants.table import table, write


def main(arguments: list[str] | None = None) -> int:
    """Run the lists and print what happened; 1 if something survived without a reason."""
    options = _parser().parse_args(arguments)
    mutations = [one for one in load(options.lists) if options.only in f"{one.file} {one.claim}"]
    if not mutations:
        print(f"no mutation has {options.only!r} in its file or claim", file=sys.stderr)
        return 2
    results = []
    try:
        for result in run(mutations, workers=options.workers, timeout=options.timeout):
            results.append(result)
            fate = result.caught_by or result.broken or "SURVIVED"
            done = f"{len(results)}/{len(mutations)}"
            print(f"{done} {result.mutation.file}: {fate}", file=sys.stderr)
    except (StaleMutationError, UntestableError) as stale:
        print(stale, file=sys.stderr)
        return 2
    if options.write:
        write(results)
    print(table(results))
    open_ones = [r for r in results if r.broken or (r.survived and not r.mutation.reason)]
    return 1 if open_ones else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument(
        "lists",
        nargs="*",
        type=Path,
        help="TOML files with [[mutation]] tables: file, old, new, claim and tests; by default "
        "all of mutants/lists",
    )
    parser.add_argument("--only", default="", help="those with this text in their file or claim")
    parser.add_argument("--workers", type=int, default=2, help="copies of the tree (2)")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a mutation (300)")
    parser.add_argument("--write", action="store_true", help="write build/mutants.md too")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
