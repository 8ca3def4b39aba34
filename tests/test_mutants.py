"""The list of wrong constants does not rot; what they break is for `make mutants`."""

import ast
from dataclasses import replace

import pytest

from mutants.__main__ import main
from mutants.mutation import ROOT, StaleMutationError, load
from mutants.runner import Result, _Place, run
from mutants.table import TABLE, table, write
from tests.each import each

MUTATIONS = load()


def test_every_mutation_still_applies_exactly_once():
    each(MUTATIONS, _check_mutation, name=lambda one: f"{one.file}: {one.claim}")


def _check_mutation(mutation):
    ast.parse(mutation.applied())
    assert mutation.claim and mutation.tests
    for test in mutation.tests:
        assert (ROOT / test.partition("::")[0]).exists(), test


def test_there_are_enough_and_none_twice():
    assert len(MUTATIONS) >= 60
    assert len({(one.file, one.old, one.new) for one in MUTATIONS}) == len(MUTATIONS)


def test_text_that_is_gone_or_twice_is_refused():
    with pytest.raises(StaleMutationError, match="is there 0 times"):
        replace(MUTATIONS[0], old="no such text").applied()
    with pytest.raises(StaleMutationError, match="must be there once"):
        next(run([replace(MUTATIONS[0], old="e")]))


OWN = """
tests = ["tests/_utils/test_rounding.py::test_edges"]

[[mutation]]
file = "rashomon_explorer/_utils/formatting.py"
old = "_SOMETHING else 0.0"
new = "_SOMETHING else 0.1"
claim = "no test of the list looks at what is left"

[[mutation]]
file = "rashomon_explorer/_utils/formatting.py"
old = "_rounded(value, ROUND_CEILING)"
new = "_rounded(value, ROUND_FLOOR)"
claim = "prices are rounded up"
"""


@pytest.mark.law
def test_a_list_of_ones_own_runs_on_a_copy(tmp_path, capsys):
    """One that is caught and one that is not, and the tree stays as it was."""
    source = ROOT / "rashomon_explorer/_utils/formatting.py"
    kept = source.read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(OWN, encoding="utf-8")
    assert main([str(own), "--workers", "1"]) == 1
    told = capsys.readouterr()
    assert "2 wrong constants: 1 caught, 1 survived." in told.out
    assert "1/2" in told.err and "2/2" in told.err
    assert source.read_text(encoding="utf-8") == kept


def test_a_test_that_fails_anyway_catches_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_Place, "outcome", lambda *_: 4)  # as where there is no such test
    own = tmp_path / "own.toml"
    own.write_text(OWN, encoding="utf-8")
    assert main([str(own), "--workers", "1"]) == 2
    assert "must pass on the unchanged tree" in capsys.readouterr().err


def test_the_table_says_what_was_caught_and_why_others_may_survive(tmp_path):
    one, other, last = MUTATIONS[:3]
    results = [
        Result(one, caught_by="tests/exact/test_paths.py"),
        Result(replace(other, reason="it says less and never more")),
        Result(replace(last, reason="")),
    ]
    told = table(results)
    assert "3 wrong constants: 1 caught, 2 survived." in told
    assert "`exact/test_paths.py`" in told and "it says less" in told and "**SURVIVED**" in told
    page = tmp_path / "build" / "mutants.md"
    write(results, page)
    assert page.read_text(encoding="utf-8") == f"# Mutations\n\n{told}"


def test_the_table_is_written_outside_the_documentation():
    """`make mutants` leaves every tracked file as it is."""
    assert TABLE == ROOT / "build" / "mutants.md"
    assert "build/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    assert "`build/mutants.md`" in page and len(page.split()) <= 1_800
