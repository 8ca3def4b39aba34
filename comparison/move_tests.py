"""Move the tests beside the rooms that they test: ``python comparison/move_tests.py ROOT``."""

import re
import subprocess
import sys
from pathlib import Path

FOLDERS = {
    "blocks": "rows",
    "schema": "data",
    "datasets": "data",
    "losses": "problem",
    "domains": "problem",
    "envelopes": "problem/lower_bounds",
    "planning": "mechanisms/planning",
    "samplers": "mechanisms/samplers",
    "one_model": "mechanisms/one_model",
    "tuning": "mechanisms/penalties",
    "theory": "papers",
    "rashomon_set": "sets",
}
FILES = {
    "selection/test_laws.py": "mechanisms/test_selection.py",
    "test_target.py": "mechanisms/test_target.py",
    "test_diagnostics.py": "sets/test_diagnostics.py",
    **{f"test_{name}.py": f"server/test_{name}.py" for name in ("cli", "team", "masked_log")},
    "test_voila_parts.py": "server/test_voila_parts.py",
    **{f"test_{name}.py": f"problem/test_{name}.py" for name in ("constants", "minimum")},
    "test_problem.py": "problem/test_problem.py",
    "test_threshold.py": "problem/test_threshold.py",
    "test_search.py": "_utils/test_bisection.py",
    "test_secure_noise.py": "release/test_secure_noise.py",
    **{
        f"test_{name}.py": f"_utils/test_{name}.py"
        for name in (
            "arrays containers cores durable_files private_files progress randomness rounding "
            "one_rounding shown validation figure_library"
        ).split()
    },
}
TEXT = {".py", ".toml", ".md", ".yml", ".map", ""}


def main(root: Path) -> None:
    """Move, then rewrite every path and import that names a moved file."""
    tests = root / "tests"
    git = (root / ".git").exists()
    moved: dict[str, str] = {}

    def move(old: Path, new: Path) -> None:
        new.parent.mkdir(parents=True, exist_ok=True)
        if new.exists():
            raise SystemExit(f"{old} and {new} collide")
        if git:
            subprocess.run(["git", "-C", root, "mv", old, new], check=True)
        else:
            old.rename(new)
        moved[str(old.relative_to(root))] = str(new.relative_to(root))

    for old, new in FILES.items():
        if (tests / old).exists():
            move(tests / old, tests / new)
    for old, new in FOLDERS.items():
        for path in sorted((tests / old).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                move(path, tests / new / path.relative_to(tests / old))
    pairs = dict(moved)
    pairs |= {f"tests/{old}": f"tests/{new}" for old, new in FOLDERS.items()}
    dotted = {
        old.removesuffix(".py").replace("/", "."): new.removesuffix(".py").replace("/", ".")
        for old, new in pairs.items()
    }
    keys = sorted(pairs, key=len, reverse=True)
    slashes = re.compile(r"(?<![\w/])(" + "|".join(map(re.escape, keys)) + r")(?![\w])")
    dots = re.compile(
        r"(?<![\w.])(" + "|".join(re.escape(k) for k in sorted(dotted, key=len, reverse=True)) + r")(?![\w])"
    )
    listed = subprocess.run(
        ["git", "-C", root, "ls-files"] if git else ["find", root, "-type", "f"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()
    for name in listed:
        path = root / name
        if path.suffix not in TEXT or "comparison" in path.parts or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new = slashes.sub(lambda m: pairs[m[1]], text)
        new = dots.sub(lambda m: dotted[m[1]], new)
        if new != text:
            path.write_text(new, encoding="utf-8")
    for old, new in moved.items():
        path = root / new
        deeper = new.count("/") - old.count("/")
        if deeper and path.suffix == ".py" and "__file__" in path.read_text(encoding="utf-8"):
            print(f"{new}: {deeper} deeper, uses __file__")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
