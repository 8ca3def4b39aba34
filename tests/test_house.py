"""How long a file of the package may be: one noun each, so that it is read in one sitting."""

from collections.abc import Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "rashomon_explorer"

LONGEST = 350  # lines

# Files that are longer, with their lines: a number here may fall and none may be added.
LONGER = {
    "problem.py": 351,
}


def _wrong(lines: Mapping[str, int], longer: Mapping[str, int]) -> list[str]:
    """What is to be done about files that are too long, and about a list that is too generous."""
    grown = [
        f"{name} has {count} lines, more than {longer.get(name, LONGEST)}: split it by noun"
        for name, count in lines.items()
        if count > longer.get(name, LONGEST)
    ]
    shrunk = [
        f"{name} is no longer {most} lines long: lower the number, or take it off the list"
        for name, most in longer.items()
        if lines.get(name, 0) < most
    ]
    return grown + shrunk


def _lines() -> dict[str, int]:
    return {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def test_no_file_is_too_long():
    assert _wrong(_lines(), LONGER) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"new.py": 351}, "split it by noun"),
        ({"known.py": 401}, "split it by noun"),
        ({"known.py": 399}, "lower the number"),
        ({}, "take it off the list"),
    ],
)
def test_long_files_and_stale_numbers_are_caught(lines, said):
    found = _wrong({"known.py": 400, **lines} if lines else {}, {"known.py": 400})
    assert len(found) == 1 and said in found[0]
