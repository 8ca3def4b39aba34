"""Every sum side by side: each true, the least counted, and a reason where there is none."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import composition_report, least_epsilon
from rashomon_explorer.privacy.composition import compose, rdp, repeated_bounded_range
from rashomon_explorer.privacy.conversions import bounded_range_mu, pure_mu
from rashomon_explorer.privacy.notions import (
    approximate,
    bounded_range,
    gdp,
    no_guarantee,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.tradeoff import Approximate, BoundedRange, Gaussian
from tests.privacy.analysts import any_pair, product_delta

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


def test_the_least_comes_first_and_is_the_answer():
    draws = [bounded_range(0.5)] * 20
    rows = composition_report(draws, DELTA)
    applying = [row.epsilon for row in rows if row.applies]
    assert applying == sorted(applying)
    assert least_epsilon(draws, DELTA) == rows[0].epsilon == min(applying)
    assert rows[0].method == "bounded range, adaptive"
    assert all(row.epsilon == math.inf and row.why for row in rows if not row.applies)
    least = least_epsilon(draws, DELTA, adaptive=False)
    assert least == pytest.approx(repeated_bounded_range(0.5, 20).epsilon(DELTA))
    both = by_name(draws[:3]), by_name(draws[:3], adaptive=False)
    for name in ("bounded range, independent", "PLD, independent"):
        assert "may depend on what earlier ones returned" in both[0][name].why
        assert both[1][name].applies


@pytest.mark.parametrize(
    ("etas", "share", "delta"),
    [
        *((etas, 1.0, 0.02) for etas in ((0.3, 0.3, 1.0, 1.0), (0.2, 0.4, 0.8, 1.6), (1.0,) * 4)),
        ((1.0,) * 5, 0.5, 1e-3),  # the control: half the costs
    ],
)
def test_no_sum_is_below_the_truth_and_half_the_costs_are_caught(etas, share, delta):
    rng = np.random.default_rng(0)
    parts = [bounded_range(share * eta) for eta in etas]
    for row in composition_report(parts, delta, adaptive=False):
        if row.applies:
            tries = ([any_pair(rng, eta, 2) for eta in etas] for _ in range(200))
            reached = [product_delta(pairs, row.epsilon) for pairs in tries]
            assert (max(reached) <= delta * (1 + 1e-9)) == (share == 1), row.method


@given(st.lists(PARTS, min_size=1, max_size=4), PARTS, st.randoms())
@settings(max_examples=25, deadline=None)
def test_sums_are_monotone_free_of_order_and_not_above_plain_composition(parts, new, shuffled):
    before = {r.method: r.epsilon for r in composition_report(parts, DELTA, methods=QUICK[1:])}
    more = [new, *parts]
    shuffled.shuffle(more)
    after = {r.method: r.epsilon for r in composition_report(more, DELTA, methods=QUICK[1:])}
    for row in composition_report([*parts, new], DELTA, methods=QUICK[1:]):
        assert after[row.method] == pytest.approx(row.epsilon, rel=1e-12)
        assert row.epsilon >= before[row.method] * (1 - 1e-12)
    least = composition_report(parts, DELTA, methods=QUICK)[0].epsilon
    assert least <= compose(parts).epsilon(DELTA) * (1 + 1e-12)


def test_parts_without_a_common_notion_are_translated():
    rows = by_name([gdp(0.5), pure(0.3), bounded_range(1.0)])
    assert "1 of 3 parts have no finite pure ε" in rows["pure"].why
    assert rows["PLD"].epsilon < rows["RDP"].epsilon < rows["zCDP"].epsilon
    assert rows["GDP"].applies
    orders = by_name([rdp([2, 4, 8, 16], [0.1, 0.2, 0.4, 0.8]), gdp(0.5)])
    assert [name for name, row in orders.items() if row.applies] == ["RDP"]
    assert "no trade-off function is known for Rényi" in orders["PLD"].why


def test_unequal_ranges_are_grouped_or_rounded_up():
    parts = [bounded_range(0.5)] * 10 + [bounded_range(0.2)] * 30
    tried = ["zCDP", "PLD, independent", "bounded range, independent"]
    rows = by_name(parts, adaptive=False, methods=tried)
    assert rows["PLD, independent"].epsilon < rows["zCDP"].epsilon
    exact = repeated_bounded_range(0.5, 40).epsilon(DELTA)
    assert rows["bounded range, independent"].epsilon == pytest.approx(exact)
    mixed = by_name([repeated_bounded_range(0.5, 8), gdp(1.0)])
    assert mixed["PLD"].epsilon < 0.95 * mixed["zCDP"].epsilon
    assert "1 of 2 parts have no bounded range" in mixed["bounded range, adaptive"].why
    many = by_name([bounded_range(0.01)] * 401, methods=["bounded range, adaptive"])
    assert many["bounded range, adaptive"].why.startswith("too much work: count must be at most")


def test_parts_with_a_delta_of_their_own_and_without_a_guarantee():
    rows = by_name([approximate(0.5, 4e-7), gdp(0.5)])
    assert rows["GDP"].epsilon == pytest.approx(0.5 + gdp(0.5).epsilon(6e-7))
    for row in composition_report([approximate(0.5, 2e-6), gdp(0.5)], DELTA):
        assert not row.applies and "exceeds the total" in row.why
    assert least_epsilon([], 0.0) == 0.0
    assert least_epsilon([pure(1.0), no_guarantee("chain")], DELTA) == math.inf
    assert least_epsilon([zcdp(0.1)], 0.0) == math.inf
    assert least_epsilon([pure(1.0)] * 2, 0.0) == 2.0


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


ALPHAS = np.concatenate([np.logspace(-14, -0.3, 300), 1 - np.logspace(-14, -0.3, 300)])


@pytest.mark.parametrize(
    ("mu", "curve"), [(pure_mu, Approximate), (bounded_range_mu, BoundedRange)]
)
@given(size=st.floats(1e-6, 30.0))
def test_the_gaussian_that_pure_dp_and_bounded_range_imply_is_the_highest_below(mu, curve, size):
    assert np.all(Gaussian(mu(size))(ALPHAS) <= curve(size)(ALPHAS) + 1e-14)
    middle = 1 / (1 + math.exp(size if curve is Approximate else size / 2))  # both curves equal α
    assert curve(size)(middle) == pytest.approx(middle)
    assert Gaussian(0.999 * mu(size))(middle) > curve(size)(middle)
    assert mu(0.0) == 0 and mu(math.inf) == math.inf
    assert pure_mu(1e-4 * (1 - 1e-9)) == pytest.approx(pure_mu(1e-4), rel=1e-7)
