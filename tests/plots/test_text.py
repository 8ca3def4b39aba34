"""Bounds in words are never better than the bounds: they are read back and compared."""

import math
import re
from html import unescape

import numpy as np

from rashomon_explorer._utils import formatting
from rashomon_explorer.plots import text
from rashomon_explorer.plots.budget import tradeoff_table
from rashomon_explorer.plots.guarantees import GuaranteeRow
from rashomon_explorer.privacy import pure

RNG = np.random.default_rng(0)
SHARES = [
    *(0.0, 1.0, 0.1455, 0.545, 0.00049, 0.0005, 0.00999, 0.99, 0.9996, 1 - 1e-9, 1e-9),
    *RNG.uniform(size=400), *(1 - 10 ** RNG.uniform(-8, 0, 200)), *10 ** RNG.uniform(-8, 0, 200),
]  # fmt: skip
VALUES = [
    *(0.0, 4.0, 0.2, 1e-6, 9.995, 999.95, 0.00099999, 999_999.5, 1234.5),
    *10 ** RNG.uniform(-9, 9, 600),
]
HAIR = 1e-15  # of the product of a share and 100


def _read(words):
    """The number that a reader takes from words such as ``≥ 14%`` or ``ε = 6.47``."""
    found = re.fullmatch(r"(?:[≥≤] |ε = )?([\d.,e+-]+)(%?)", words)
    assert found, words
    value = float(found[1].replace(",", ""))
    return value / 100 if found[2] else value


def test_a_share_is_rounded_to_the_side_that_is_true():
    for share in SHARES:
        low, high = _read(text.at_least(share)), _read(text.at_most(share, share=True))
        assert low <= share * (1 + HAIR) and high >= share * (1 - HAIR), share
        assert high - low <= 0.0101, share
        assert low - HAIR <= _read(text.percent(share)) <= high + HAIR, share


def test_a_number_is_rounded_to_the_side_that_is_true():
    for value in VALUES:
        low, high = _read(text.at_least(value, share=False)), _read(text.at_most(value))
        assert low <= value <= high, value
        assert high - low <= 0.0101 * value
        left, paid = _read(formatting.left_text(value)), _read(text.cost_text(value))
        assert left <= value <= paid <= high and paid - max(left, low) <= 0.0101 * value
        if value < 1e-6:  # which is what rounding leaves of a budget that was spent whole
            assert left == 0
        else:
            assert low <= left and paid - left <= 0.00101 * value
        assert len(re.sub(r"e.*|\D", "", text.number(value)).strip("0")) <= 3, value


def test_negative_control_the_nearest_number_is_no_bound():
    assert any(_read(text.percent(share)) > share for share in SHARES)
    assert any(_read(text.number(value)) < value for value in VALUES)


def test_signs_infinities_and_hairs():
    assert text.sentence("no row is read") == "No row is read."
    assert text.sentence("ε = 4 at δ = 1e-6") == "ε = 4 at δ = 1e-6."  # a symbol has no capital
    curve = tradeoff_table(pure(800.0))["misses at least"]  # a cost past the range of doubles
    assert curve.iloc[0] == 1.0 and (curve.iloc[1:] == 0.0).all()
    ends = [text.number(-1.2345, rounding=side) for side in ("down", "up")]
    assert ends == ["−1.24", "−1.23"]
    assert text.cost_text(math.inf) == "ε = ∞"
    assert text.number(math.nan) == text.percent(math.nan) == "unknown"
    assert formatting.left_text(8.0 - 7.3) == "0.7" and text.cost_text(0.1 + 0.2) == "ε = 0.3001"
    assert text.cost_text(4.0, 1.2341e-6) == "ε = 4 at δ = 1.24e-6"
    assert text.at_least(0.29) == "≥ 29%"  # 100 · 0.29 is below 29 in doubles


def test_promises_are_written_on_their_side():
    assert GuaranteeRow("", "", "≥", 0.1455, is_share=True).promised == "≥ 14%"
    assert GuaranteeRow("", "", "≤", 0.1401, is_share=True).promised == "≤ 15%"
    assert GuaranteeRow("", "", "≤", 0.02341).promised == "≤ 0.0235"
    assert GuaranteeRow("", "", "≥", 0.02349).promised == "≥ 0.0234"


def test_names_that_differ_still_differ_when_cut():
    names = [f"selection rate gap of draw {k} in group <{g}>" for k in range(20) for g in "ab"]
    assert len(set(text.short_names(names))) == len(names)
    assert all(len(unescape(name)) <= 24 for name in text.short_names(names[:2]))
    tails = [f"a name that is long, {k}, and longer than is shown" for k in range(12)]
    assert len(set(text.short_names(tails, 16))) == 12
    assert text.short_names(["same", "same"]) == ["same", "same"]
