"""Record what the package gives, or compare two records."""

import argparse
import json
import sys
from pathlib import Path

from comparison.plain import without_text
from comparison.settings import record


def main() -> int:
    """Write a record, or print the settings that differ; 1 if any does."""
    parser = argparse.ArgumentParser(prog="python -m comparison")
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--words", action="store_true", help="compare messages too")
    options = parser.parse_args()
    if options.action == "record":
        found = record()
        options.files[0].write_text(json.dumps(found, indent=0, sort_keys=True))
        errors = sum(isinstance(one, dict) and "error" in one for one in found.values())
        print(f"{len(found)} settings, {errors} of them end in an error")
        return 0
    before, after = (json.loads(path.read_text()) for path in options.files)
    kept = (lambda value: value) if options.words else without_text
    lost = sorted(before.keys() - after.keys())
    new = sorted(after.keys() - before.keys())
    other = sorted(k for k in before.keys() & after.keys() if kept(before[k]) != kept(after[k]))
    for title, names in (("lost", lost), ("new", new), ("different", other)):
        for name in names:
            print(title, name)
    print(f"{len(before)} settings: {len(other)} differ, {len(lost)} lost, {len(new)} new")
    return 1 if lost or other else 0


if __name__ == "__main__":
    sys.exit(main())
