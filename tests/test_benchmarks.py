"""The benchmarks run to their end and write what they promise."""

import json
import subprocess
import timeit
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import __main__ as bench
from benchmarks import (
    accountant,
    declared,
    epsilon,
    exact,
    langevin,
    last_states,
    measured,
    measures,
    networks,
    peers,
    population_rates,
    ranges,
    scaling,
)
from benchmarks.adassp import adassp
from rashomon_explorer.privacy import Ledger, adaptive_epsilon, bounded_range


@pytest.fixture
def peer_process(monkeypatch):
    """Stand in for the process with jax: returns the commands that it was given."""
    monkeypatch.setattr(peers, "PYTHON", Path(__file__))
    monkeypatch.setattr(langevin, "SIZES", [(500, 5, 8)])
    monkeypatch.setattr(langevin, "COLD_SIZES", [(500, 5, 16)])
    monkeypatch.setattr(peers, "MIDDLE_CHAINS", 8)
    report = {"versions": {"jax": "0"}, "seconds": {"xla": 1.0, "sgld": 2.0, "mala": 4.0}}
    report["differences"] = {"energy": 0.0, "gradient": 0.0, "projection": 0.0}
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, json.dumps(report), "")

    monkeypatch.setattr(peers.subprocess, "run", run)
    return commands


def test_results_are_of_this_code_or_say_that_they_are_stale(monkeypatch):
    assert measured.faults() == []
    said = (measured.ROOT / "benchmarks" / "README.md").read_text().split("Stale:")[1]
    stale = {name for name, entry in measured.read().items() if entry.get("stale")}
    assert stale == set(said.split(".\n")[0].replace("`", "").replace(",", "").split())
    for name, entry in measured.read().items():
        assert entry.get("stale") is None or f"`{name}` {entry['commit']}" in said, name
    changed = {**measured.read(), "trees": {"commit": "4fe8bd39", "code": "of another commit"}}
    del changed["rule"]
    monkeypatch.setattr(measured, "read", lambda: changed)
    assert [line.split(".json")[0] for line in measured.faults()[:1]] == ["results/rule"]
    assert "is not that of 4fe8bd39, which results/trees.json measured" in measured.faults()[1]


def test_the_code_of_a_module_is_neither_its_comments_nor_its_docstrings(monkeypatch, tmp_path):
    def digest(text):
        (tmp_path / "module.py").write_text(text)
        return measured.code_digest("module.py")

    monkeypatch.setattr(measured, "ROOT", tmp_path)
    same = ['"""A"""\ndef f(x):\n    return x + 1\n', "def f(x):  # b\n  'C'\n  return (x + 1)\n"]
    others = ["def f(x):\n return x + 2", "def f(x):\n return x - 1", "def f(y):\n return y + 1"]
    assert len({digest(text) for text in same}) == 1
    assert len({digest(text) for text in (*others, same[0])}) == 4


def test_networks_are_measured_without_their_peer(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(networks, "PYTHON", tmp_path / "absent")
    monkeypatch.setattr(networks, "BUDGETS", (4.0,))
    found = networks.measure(1, ("breast_cancer",))
    assert "without Opacus" in capsys.readouterr().out
    cell = found["tables"][0]["cells"][0]
    assert min(cell["mean"], found["tables"][0]["not_private"]) > 0.8
    assert 0 <= cell["share_low"] <= cell["share_high"] <= 1
    assert networks.lines(found)[-1].startswith("breast_cancer")


@pytest.mark.law
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
        *("machine", "langevin", "peers", "accountant", "measures", "ranges"),
        *("blackjax_ratio", "xla_ratio", "n_slope"),
    }
    exact_draws = json.loads(bench.RESULTS.with_name("exact.json").read_text())["sizes"]
    assert [entry["boundary"] for entry in exact_draws] == [False, True]
    assert written["blackjax_ratio"] == written["peers"]["thresholded"][-1]["blackjax_ratio"] > 0
    for entry in written["peers"]["sizes"] + written["peers"]["thresholded"]:
        step = entry["K"] / entry["chain_steps_per_second"]
        for name, seconds in zip(("xla", "blackjax", "mala"), (1.0, 2.0, 4.0), strict=True):
            assert entry[f"{name}_ratio"] == pytest.approx(seconds / step, rel=2e-3)
        assert entry["loop_ratio"] > 0 and entry["why_null"] is None
    assert len(peer_process) == 2
    assert "n_slope: " in capsys.readouterr().out


@pytest.mark.law
def test_a_query_of_a_hundred_times_the_charges_takes_less_than_thirty_times_as_long(tmp_path):
    """Equal charges are counted by an index: reading each of them took 190 times as long."""

    def least_seconds(query, ledger):
        return min(timeit.repeat(lambda: query(ledger), number=1, repeat=9))

    few, many = (accountant.filled(tmp_path / str(n), n) for n in (100, 10_000))
    one, spent = bounded_range(0.01), adaptive_epsilon([bounded_range(0.01)] * 10_000, 1e-6)
    assert len(many.entries()) == 10_000 and many.spent() == spent
    for query in (Ledger.spent, lambda x: x.epsilon_after(one), lambda x: x.can_afford(one)):
        assert least_seconds(query, many) < 30 * least_seconds(query, few)


def test_declared_tables_those_of_a_folder_too_keep_the_bound_of_every_method(
    monkeypatch, tmp_path
):
    lines = ["age,job,own,credit_risk,duration,amount", "41,3,no,1,6,100"]
    lines += ["30,1,yes,1,12,900", "50,2,no,0,24,5000"] * 4
    (tmp_path / "south_german_credit.csv").write_text("\n".join(lines))
    monkeypatch.setenv(declared.FOLDER, str(tmp_path))
    loaders = declared.loaders()
    assert "adult" not in loaders
    tables = ("breast_cancer", "wine", "diabetes", "german_credit")
    for table in (loaders[name]() for name in tables):
        assert np.linalg.norm(table.rows, axis=1).max() <= 1 + 1e-12
        assert (np.abs(table.targets).max() <= 1) if not table.classes else table.classes in (2, 3)
        low, high = table.column_bounds  # of typical ranges, which are the bounds here
        assert (low - 1e-12 <= table.rows).all() and (table.rows <= high + 1e-12).all()
    assert table.rows.shape == (9, 3 + 1 + 3) and set(table.targets) == {0, 1}


def test_the_pictures_of_last_states_show_the_published_table(tmp_path):
    """Table 1 of Bok, Su and Altschuler; and what is drawn is ordered as it is proved."""
    table = {name: dict(zip(x, y, strict=True)) for name, x, y in last_states.by_epochs()}
    shown = [[round(line[epochs], 2) for epochs in (50, 100, 200)] for line in table.values()]
    assert shown == [[4.34, 5.6, 7.58], [5.82, 7.61, 9.88], [30.51, 49.88, 83.83]]
    last, renyi, everything = (np.array(line[2]) for line in last_states.errors())
    assert (last >= renyi - 1e-9).all() and (renyi >= everything - 1e-9).all()
    for number, (_, alpha, second) in enumerate(last_states.gaussian_errors()):
        worst = norm.cdf(norm.isf(alpha) - 0.25 * 2**number)
        np.testing.assert_allclose(second, worst, atol=1e-12)
    last_states.write(tmp_path)
    assert len(list(tmp_path.glob("*.svg"))) == 4


@pytest.mark.parametrize("problem", ["convex", "strongly convex"])
def test_the_risk_of_a_law_is_the_mean_loss_on_all_of_it(problem):
    law, ridge = population_rates._LAWS[problem], 0.0 if problem == "convex" else 2.0
    theta = 0.2 * np.random.default_rng(0).standard_normal((4, 9))
    for mean in (0.25, 1.0):  # of 8 labels of either sign in each direction, or fixed ones
        labels = np.full(64, mean)
        if mean < 1:
            labels = np.repeat([1, 1, 1, 1, 1, -1, -1, -1], 8).astype(float)
        posed = law.posed(labels, 4, ridge)
        excess = posed.value(theta) - posed.minimum.value
        found = [law.excess(one, mean, ridge) for one in theta.T]
        assert found == pytest.approx(excess, abs=1e-9)


@pytest.mark.law
def test_rates_on_a_population_are_measured_by_term(tmp_path):
    sampling = (100, 2, 1e5), (200, 2, 1e5)
    known = {"sweeps": population_rates._sweeps(500, 2, 0.5, 8), "sampling": sampling}
    found = population_rates.measure(3, (replace(population_rates.ROWS[3], **known),))
    privacy = [("privacy", "n", -2.0), ("privacy", "p", 1.0), ("privacy", "ε", -2.0)]
    terms = [(one["term"], one["axis"], one["printed"]) for one in found]
    assert terms == [("sampling", "n", -1.0), *privacy]
    assert all(np.all(np.array(one["risk"]) < one["bound"]) for one in found)
    population_rates.write(found, tmp_path / "found.json")
    assert len(json.loads((tmp_path / "found.json").read_text())) == 4
    assert len(list(population_rates.lines(found))) == 5


def test_adassp_is_least_squares_where_the_price_is_no_matter():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (200, 3))
    targets = rows @ [0.3, -0.2, 0.1] + 0.01 * rng.standard_normal(200)
    bounds = {"row_bound": 1.0, "target_bound": 1.0, "delta": 1e-6, "rng": rng}
    found = adassp(rows, targets, epsilon=1e9, **bounds)
    np.testing.assert_allclose(found, np.linalg.lstsq(rows, targets)[0], atol=1e-4)
    assert np.linalg.norm(adassp(rows, targets, epsilon=1e-3, **bounds)) < 0.5


def test_the_simulated_law_of_the_table_of_epsilons_has_its_base_rate_and_best_accuracy():
    slope, intercept = epsilon.logistic_law()
    chances = 1 / (1 + np.exp(-slope * norm.ppf((np.arange(10_000) + 0.5) / 10_000) - intercept))
    assert chances.mean() == pytest.approx(epsilon.BASE_RATE, abs=1e-3)
    assert np.maximum(chances, 1 - chances).mean() == pytest.approx(0.8, abs=1e-3)
    private, free = epsilon.accuracies(300, 2, seed=0, epsilons=(3.0,))
    assert 0.6 < private <= free + 0.02
