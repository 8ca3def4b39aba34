"""The list of wrong constants does not rot; what they break is for `make mutants`."""

import ast
from dataclasses import replace

import pytest

from mutants.__main__ import main
from mutants.mutation import ROOT, StaleMutationError, load
from mutants.runner import _Place, run

MUTATIONS = load()


def test_every_mutation_still_applies_exactly_once():
    assert len(MUTATIONS) >= 60
    assert len({(one.file, one.old, one.new) for one in MUTATIONS}) == len(MUTATIONS)
    for one in MUTATIONS:
        ast.parse(one.applied())
        assert one.claim and one.tests, one.file
        for test in one.tests:
            assert (ROOT / test.partition("::")[0]).exists(), f"{one.claim}: {test}"


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


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    return str(path)


@pytest.mark.law
def test_a_list_of_ones_own_runs_on_a_copy(own, capsys):
    """One that is caught and one that is not, and the tree stays as it was."""
    source = ROOT / "rashomon_explorer/_utils/formatting.py"
    before = source.read_text(encoding="utf-8")
    assert main([own, "--workers", "1"]) == 1
    printed = capsys.readouterr()
    assert "2 wrong constants: 1 caught, 1 survived." in printed.out
    assert source.read_text(encoding="utf-8") == before


def test_a_test_that_fails_anyway_catches_nothing(own, capsys, monkeypatch):
    monkeypatch.setattr(_Place, "outcome", lambda *_: 4)  # as where there is no such test
    assert main([own, "--workers", "1"]) == 2
    assert "must pass on the unchanged tree" in capsys.readouterr().err
