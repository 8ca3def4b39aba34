"""Every sum side by side: each true, the least counted, and a reason where there is none."""

import builtins
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import (
    approximate,
    bounded_range,
    compose,
    composition_report,
    gdp,
    least_epsilon,
    pure,
    rdp,
    repeated_bounded_range,
    zcdp,
)
from rashomon_explorer.privacy.notions import no_guarantee

DELTA = 1e-6
QUICK = ["as stated", "pure", "zCDP", "GDP", "RDP"]
PARTS = st.one_of(
    st.floats(0.01, 2).map(pure),
    st.floats(0.01, 2).map(bounded_range),
    st.floats(0.001, 0.3).map(zcdp),
    st.floats(0.01, 2).map(gdp),
    st.builds(approximate, st.floats(0.01, 1), st.floats(1e-9, 1e-8)),
)


def by_name(parts, **options):
    return {row.method: row for row in composition_report(parts, DELTA, **options)}


def truth_of_independent_pairs(etas, epsilon, rng):
    """δ(ε) of one two-valued pair for each η, by brute force over all outcomes."""
    first, second = np.ones(1), np.ones(1)
    for eta in etas:
        t = eta * rng.random()
        high = math.expm1(t - eta) / math.expm1(-eta)
        laws = np.array([high, 1 - high])
        first = np.outer(first, laws).ravel()
        second = np.outer(second, laws * np.exp([-t, eta - t])).ravel()
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def test_the_least_comes_first_and_is_the_answer():
    draws = [bounded_range(0.5)] * 20
    rows = composition_report(draws, DELTA)
    applying = [row.epsilon for row in rows if row.applies]
    assert applying == sorted(applying)
    assert least_epsilon(draws, DELTA) == rows[0].epsilon == min(applying)
    assert rows[0].method == "bounded range, adaptive"
    assert all(row.epsilon == math.inf and row.why for row in rows if not row.applies)
    assert least_epsilon(draws, DELTA, adaptive=False) == pytest.approx(
        repeated_bounded_range(0.5, 20).epsilon(DELTA)
    )


def test_independent_sums_are_for_who_says_so():
    rows = by_name([bounded_range(0.5)] * 3)
    for name in ("bounded range, independent", "PLD, independent"):
        assert "may depend on what earlier ones returned" in rows[name].why
        assert by_name([bounded_range(0.5)] * 3, adaptive=False)[name].applies


@pytest.mark.parametrize("etas", [(0.3, 0.3, 1.0, 1.0), (0.2, 0.4, 0.8, 1.6), (1.0,) * 4])
def test_no_sum_is_below_the_truth(etas):
    rng = np.random.default_rng(0)
    for row in composition_report([bounded_range(e) for e in etas], 0.02, adaptive=False):
        if row.applies:
            reached = [truth_of_independent_pairs(etas, row.epsilon, rng) for _ in range(200)]
            assert max(reached) <= 0.02 * (1 + 1e-9), row.method


def test_half_the_prices_are_caught_by_every_sum():
    rng, etas = np.random.default_rng(0), (1.0,) * 5
    for row in composition_report([bounded_range(e / 2) for e in etas], 1e-3, adaptive=False):
        if row.applies:
            reached = [truth_of_independent_pairs(etas, row.epsilon, rng) for _ in range(200)]
            assert max(reached) > 1e-3, row.method


@given(st.lists(PARTS, min_size=1, max_size=4), PARTS, st.randoms())
@settings(max_examples=25, deadline=None)
def test_sums_are_monotone_and_free_of_order(parts, new, shuffled):
    before = {r.method: r.epsilon for r in composition_report(parts, DELTA, methods=QUICK[1:])}
    more = [new, *parts]
    shuffled.shuffle(more)
    after = {r.method: r.epsilon for r in composition_report(more, DELTA, methods=QUICK[1:])}
    ordered = composition_report([*parts, new], DELTA, methods=QUICK[1:])
    for row in ordered:
        assert after[row.method] == pytest.approx(row.epsilon, rel=1e-12)
        assert row.epsilon >= before[row.method] * (1 - 1e-12)


@given(st.lists(PARTS, max_size=5))
@settings(max_examples=40, deadline=None)
def test_the_least_is_never_above_plain_composition(parts):
    rows = composition_report(parts, DELTA, methods=QUICK)
    assert rows[0].epsilon <= compose(parts).epsilon(DELTA) * (1 + 1e-12)


def test_parts_without_a_common_notion_are_translated():
    parts = [gdp(0.5), pure(0.3), bounded_range(1.0)]
    rows = by_name(parts)
    assert "1 of 3 parts have no finite pure ε" in rows["pure"].why
    assert rows["PLD"].epsilon < rows["RDP"].epsilon < rows["zCDP"].epsilon
    assert rows["GDP"].applies and compose(parts).mu == math.inf
    orders = by_name([rdp([2, 4, 8, 16], [0.1, 0.2, 0.4, 0.8]), gdp(0.5)])
    assert [name for name, row in orders.items() if row.applies] == ["RDP"]
    assert "no trade-off function is known for Rényi" in orders["PLD"].why


def test_unequal_ranges_are_grouped_or_rounded_up():
    parts = [bounded_range(0.5)] * 10 + [bounded_range(0.2)] * 30
    tried = ["zCDP", "PLD, independent", "bounded range, independent"]
    rows = by_name(parts, adaptive=False, methods=tried)
    assert rows["PLD, independent"].epsilon < rows["zCDP"].epsilon
    assert rows["bounded range, independent"].epsilon == pytest.approx(
        repeated_bounded_range(0.5, 40).epsilon(DELTA)
    )
    mixed = by_name([repeated_bounded_range(0.5, 8), gdp(1.0)])
    assert mixed["PLD"].epsilon < 0.95 * mixed["zCDP"].epsilon
    assert "1 of 2 parts have no bounded range" in mixed["bounded range, adaptive"].why


def test_parts_with_a_delta_of_their_own():
    rows = by_name([approximate(0.5, 4e-7), gdp(0.5)])
    assert rows["GDP"].epsilon == pytest.approx(0.5 + gdp(0.5).epsilon(6e-7))
    for row in composition_report([approximate(0.5, 2e-6), gdp(0.5)], DELTA):
        assert not row.applies and "exceeds the total" in row.why


def test_nothing_and_no_guarantee():
    assert least_epsilon([], 0.0) == 0.0
    assert least_epsilon([pure(1.0), no_guarantee("chain")], DELTA) == math.inf
    assert least_epsilon([zcdp(0.1)], 0.0) == math.inf
    assert least_epsilon([pure(1.0)] * 2, 0.0) == 2.0


def test_what_is_too_much_work_says_so():
    rows = by_name([bounded_range(0.01)] * 401, methods=["bounded range, adaptive"])
    assert rows["bounded range, adaptive"].why.startswith("too much work: count must be at most")


def test_without_dp_accounting_the_rest_still_counts(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    rows = by_name([pure(0.1)] * 30)
    assert "rashomon-explorer[accounting]" in rows["PLD"].why
    assert rows["zCDP"].applies and by_name([gdp(1.0)] * 2)["PLD"].applies


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: composition_report([pure(1.0)], 1.0), "delta must be in"),
        (
            lambda: composition_report([pure(1.0)], 0.1, methods=["magic"]),
            "methods must be a subset",
        ),
        (lambda: composition_report([pure(1.0)], 0.1, methods=[]), "methods must be a subset"),
    ],
)
def test_what_is_out_of_range_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_figures_in_the_documentation_are_true():
    page = (Path(__file__).parents[3] / "docs" / "composition.md").read_text(encoding="utf-8")
    names = ["pure", "GDP", "PLD", "zCDP", "RDP"]
    names += ["bounded range, adaptive", "bounded range, independent"]
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.| ]+) \|$", page, flags=re.MULTILINE)
    assert len(rows) == 5
    for eta, figures in rows:
        sums = by_name([bounded_range(float(eta))] * 20, adaptive=False, methods=names)
        for name, printed in zip(names, figures.split(" | "), strict=True):
            assert 0 <= float(printed) + 1e-9 - sums[name].epsilon < 1.1e-3, (eta, name)
