"""The benchmarks run to their end and write what they promise."""

import json
import subprocess
import timeit
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import accountant, exact, langevin, measures, peers, ranges, scaling
from benchmarks.problems import logistic_problem
from rashomon_explorer.privacy import Ledger, adaptive_epsilon, bounded_range
from rashomon_explorer.target import GibbsTarget

RATIOS = ("xla_ratio", "blackjax_ratio", "mala_ratio")
NO_DIFFERENCE = {"energy": 0.0, "gradient": 0.0, "projection": 0.0}


def small_race(lazy: bool = False) -> peers.Race:
    target = GibbsTarget(logistic_problem(500, 5, "sphere"), peers.BETA, peers.PSI, "smooth")
    return peers.Race(target, np.zeros((5, 8)), peers.STEP_SIZE, lazy)


@pytest.fixture
def peer_process(monkeypatch):
    """Stand in for the process with jax: returns what a test puts in ``says``."""
    monkeypatch.setattr(peers, "PYTHON", Path(__file__))
    monkeypatch.setattr(langevin, "SIZES", [(500, 5, 8)])
    monkeypatch.setattr(langevin, "LAZY_SIZES", [(500, 5, 8), (500, 5, 16)])
    monkeypatch.setattr(peers, "MIDDLE_CHAINS", 8)
    says = {"differences": NO_DIFFERENCE, "returncode": 0, "stderr": "", "commands": []}

    def run(command, **options):
        says["commands"].append(command)
        if says["returncode"] == "slow":
            raise subprocess.TimeoutExpired(command, options["timeout"])
        report = {
            "versions": {"jax": "0"},
            "differences": says["differences"],
            "seconds": {"xla": 1.0, "sgld": 2.0, "mala": 4.0},
        }
        return subprocess.CompletedProcess(
            command, says["returncode"], json.dumps(report), says["stderr"]
        )

    monkeypatch.setattr(peers.subprocess, "run", run)
    return says


@pytest.mark.parametrize("place", ["inside", "sphere"])
@pytest.mark.parametrize(("n", "p"), [(2_000, 5), (6_000, 10)])
def test_problems_have_their_minimiser_where_they_say(n, p, place):
    assert logistic_problem(n, p, place).minimum.on_boundary == (place == "sphere")


def test_a_small_run_writes_every_key(monkeypatch, tmp_path, capsys, peer_process):
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results" / "samplers.json")
    monkeypatch.setattr("sys.argv", ["benchmarks", "--seconds", "0.05"])
    monkeypatch.setattr(exact, "SIZES", [(2_000, 5, "inside", 1.0), (2_000, 5, "sphere", 1.0)])
    monkeypatch.setattr(scaling, "ROWS", (1_000, 2_000))
    monkeypatch.setattr(accountant, "ENTRIES", (2, 20))
    monkeypatch.setattr(measures, "MODELS", 20)
    monkeypatch.setattr(measures, "ROWS", 50)
    monkeypatch.setattr(ranges, "ROWS", 500)
    monkeypatch.setattr(ranges, "PEOPLE", 10)
    bench.main()
    written = json.loads(bench.RESULTS.read_text())
    assert set(written) == {
        *("machine", "exact", "langevin", "lazy", "peers", "accountant", "measures", "ranges"),
        *("blackjax_ratio", "xla_ratio", "lazy_speedup", "n_slope"),
    }
    assert [entry["boundary"] for entry in written["exact"]] == [False, True]
    assert all(0 < entry["acceptance"] <= 1 for entry in written["exact"])
    assert [entry["dtype"] for entry in written["langevin"]] == ["float32", "float64"]
    assert written["measures"][0]["measure"] == "all measures"
    assert all(0 <= entry["fraction_of_limit"] < 1 for entry in written["measures"])
    assert {entry["measure"] for entry in written["ranges"]} == {"coefficients", "scores", "flips"}
    assert all(0 < entry["fraction_of_limit"] < 1 for entry in written["ranges"])
    assert all(entry["fraction_of_products"] > 0 for entry in written["langevin"])
    assert written["blackjax_ratio"] == written["peers"]["thresholded"][-1]["blackjax_ratio"] > 0
    assert written["xla_ratio"] == written["peers"]["sizes"][0]["xla_ratio"] > 0
    assert written["lazy_speedup"] == written["lazy"][-1]["lazy_speedup"] > 0
    printed = capsys.readouterr().out
    assert "n_slope: " in printed and "lazy_speedup: " in printed
    assert "xla_ratio" in printed


def test_a_query_does_not_grow_with_the_charges(tmp_path):
    """Ratios alone, of the least of many runs: this machine's speed is nobody's promise."""
    few, many = (accountant.filled(tmp_path / str(n), n) for n in (100, 10_000))
    one, spent = bounded_range(0.01), adaptive_epsilon([bounded_range(0.01)] * 10_000, 1e-6)
    assert len(many.entries()) == 10_000 and many.spent() == spent
    for query in (Ledger.spent, lambda x: x.epsilon_after(one), lambda x: x.can_afford(one)):
        assert least_seconds(query, many) < 10 * least_seconds(query, few)


def least_seconds(query, ledger):
    return min(timeit.repeat(lambda: query(ledger), number=1, repeat=9))


def test_the_accountant_is_measured_against_its_limit_and_against_adding_up(monkeypatch):
    monkeypatch.setattr(accountant, "ENTRIES", (2, 20))
    measured = accountant.measure(0.01)
    assert {(entry["query"], entry["charges"]) for entry in measured["queries"]} == {
        (query, charges)
        for query in ("spent", "epsilon_after", "can_afford", "reserve_and_commit")
        for charges in (2, 20)
    }
    for entry in measured["queries"] + measured["plans"]:
        limit = 1e3 * measured["limit_seconds"]
        assert entry["fraction_of_limit"] == pytest.approx(entry["milliseconds"] / limit, abs=1e-3)
    assert all(entry["fraction_of_recomposing"] > 0 for entry in measured["queries"])
    assert measured["growth"] > 0


def test_a_ratio_is_our_speed_over_theirs(peer_process):
    result = peers.measure(0.01)
    assert [entry["dtype"] for entry in result["sizes"]] == ["float32", "float64"]
    assert [entry["dtype"] for entry in result["thresholded"]] == ["float32", "float64"]
    for entry in result["sizes"] + result["thresholded"]:
        step = entry["K"] / entry["chain_steps_per_second"]
        assert entry["xla_ratio"] == pytest.approx(1.0 / step, rel=2e-3)
        assert entry["blackjax_ratio"] == pytest.approx(2.0 / step, rel=2e-3)
        assert entry["mala_ratio"] == pytest.approx(4.0 / step, rel=2e-3)
        assert entry["loop_ratio"] > 0
        assert entry["why_null"] is None
    assert result["versions"] == {"jax": "0"}
    dtypes = [command[command.index("--dtype") + 1] for command in peer_process["commands"]]
    assert dtypes == ["float32", "float64"] * 2


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"returncode": 1, "stderr": "Traceback\nModuleNotFoundError: no jax\n"}, "no jax"),
        ({"returncode": -9}, "exit status -9"),
        ({"returncode": "slow"}, "took longer"),
        ({"differences": {**NO_DIFFERENCE, "gradient": 1.0}}, "gradient of a peer differs"),
        ({"differences": {**NO_DIFFERENCE, "energy": float("nan")}}, "energy of a peer differs"),
    ],
)
def test_a_peer_that_fails_or_computes_something_else_has_no_ratio(peer_process, setting, reason):
    peer_process.update(setting)
    entry = peers.measure(0.01)["sizes"][0]
    assert [entry[name] for name in RATIOS] == [None] * 3
    assert reason in entry["why_null"]
    assert entry["loop_ratio"] > 0
    assert entry["chain_steps_per_second"] > 0


def test_peers_that_are_not_installed_leave_nulls_and_the_rest_is_measured(
    monkeypatch, peer_process, tmp_path, capsys
):
    monkeypatch.setattr(peers, "PYTHON", tmp_path / ".venv-bench" / "bin" / "python")
    result = peers.measure(0.01)
    assert result["versions"] is None
    assert result["sizes"][0]["xla_ratio"] is None
    assert result["sizes"][0]["loop_ratio"] > 0
    assert peer_process["commands"] == []
    bench._print_peers(result)
    assert "null because float64: the peers are not installed" in capsys.readouterr().out


def test_peers_are_compared_inside_on_the_edge_and_outside_of_the_rashomon_set():
    arrays = peers.peer_arrays(small_race())
    energy = arrays["energy"]
    quadratic = peers.BETA * arrays["width"] / 2
    for part in (energy == 0, (energy > 0) & (energy < quadratic), energy > quadratic):
        assert part.sum() >= 3
    assert np.linalg.norm(arrays["theta"], axis=0).max() < arrays["radius"]
    outside = np.linalg.norm(2 * arrays["theta"], axis=0) > arrays["radius"]
    assert outside.any()


def test_the_arrays_describe_the_target_in_full():
    """Energy and gradient written down once more, from the arrays alone."""
    arrays = peers.peer_arrays(small_race())
    loss = np.logaddexp(0.0, arrays["rows"] @ arrays["theta"]).mean(0)
    beyond = loss - arrays["minimum"] - arrays["psi"]
    width = arrays["width"]
    energy = np.where(beyond < width, beyond**2 / (2 * width), beyond - width / 2) * (beyond > 0)
    np.testing.assert_allclose(arrays["beta"] * energy, arrays["energy"], atol=1e-9)


def test_the_loop_over_models_follows_the_same_gradient():
    race = small_race()
    arrays = peers.peer_arrays(race)
    gradient = peers.gradient_of_one(race.target)
    one_by_one = np.transpose([gradient(theta) for theta in arrays["theta"].T])
    np.testing.assert_allclose(one_by_one, arrays["gradient"], atol=1e-9)


def test_the_package_asks_for_no_peer():
    peers_file = peers.ROOT / "benchmarks" / "requirements-peers.txt"
    names = {line.partition("==")[0] for line in peers_file.read_text().split()} - {"numpy"}
    assert names == {"jax", "blackjax"}
    for file in ("pyproject.toml", "environment.yml", "constraints.txt"):
        text = (peers.ROOT / file).read_text(encoding="utf-8")
        assert not [name for name in names if name in text]


def test_chains_at_home_are_mostly_inside():
    target, first = langevin.at_home(2_000, 5, 64)
    assert first.shape == (5, 64)
    inside = target.problem.value(first) <= target.problem.minimum.value + target.psi
    assert inside.mean() > 0.85
