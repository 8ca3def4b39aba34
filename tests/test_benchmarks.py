"""The benchmarks run to their end and write what they promise."""

import json

import pytest

from benchmarks import __main__ as bench
from benchmarks import exact, langevin, scaling
from benchmarks.problems import logistic_problem


@pytest.mark.parametrize("place", ["inside", "sphere"])
@pytest.mark.parametrize(("n", "p"), [(2_000, 5), (6_000, 10)])
def test_problems_have_their_minimiser_where_they_say(n, p, place):
    assert logistic_problem(n, p, place).minimum.on_boundary == (place == "sphere")


def test_a_small_run_writes_every_key(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results" / "samplers.json")
    monkeypatch.setattr("sys.argv", ["benchmarks", "--seconds", "0.05"])
    monkeypatch.setattr(exact, "SIZES", [(2_000, 5, "inside", 1.0), (2_000, 5, "sphere", 1.0)])
    monkeypatch.setattr(langevin, "SIZES", [(500, 5, 8)])
    monkeypatch.setattr(scaling, "ROWS", (1_000, 2_000))
    bench.main()
    written = json.loads(bench.RESULTS.read_text())
    assert set(written) == {"machine", "exact", "langevin", "n_slope"}
    assert [entry["boundary"] for entry in written["exact"]] == [False, True]
    assert all(0 < entry["acceptance"] <= 1 for entry in written["exact"])
    assert written["langevin"][0]["chain_steps_per_second"] > 0
    assert "slope of cost against rows" in capsys.readouterr().out
