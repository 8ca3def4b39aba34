"""What docs/rashomon-set.md shows is what happens."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rashomon-set.md"


def test_the_examples_on_the_page_run() -> None:
    flags = doctest.ELLIPSIS
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8", optionflags=flags)
    assert found.attempted > 10
    assert found.failed == 0
