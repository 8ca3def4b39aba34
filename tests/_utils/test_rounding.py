"""One ε has one face, rounded to the safe side; objects show themselves without private numbers."""

import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rashomon_explorer
from rashomon_explorer import RashomonClassifier
from rashomon_explorer._utils.formatting import (
    as_html,
    epsilon_text,
    hit_rate_text,
    left_text,
    rounded_down,
    rounded_up,
)
from rashomon_explorer.cli import main
from rashomon_explorer.exceptions import BudgetExceededError
from rashomon_explorer.explorer.panels.budget import gauge_html
from rashomon_explorer.plots import plot_budget
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.privacy import Guarantee, Ledger, bounded_range, compose, pure

ANY = st.floats(0.0, allow_infinity=False, allow_subnormal=True)
STEP = Fraction(1001, 10**6)


@given(ANY)
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
@example(0.1 + 0.2)
@example(5e-324)
@example(math.nextafter(math.inf, 0.0))
def test_no_price_is_read_back_lower_and_nothing_left_higher_not_by_an_ulp(value):
    assert float(rounded_down(value)) <= value <= float(rounded_up(value))
    if value > 1e-300:
        assert Fraction(rounded_up(value)) <= Fraction(value) * (1 + STEP)
        assert Fraction(rounded_down(value)) >= Fraction(value) * (1 - STEP)


@given(st.floats(1e-300, 1e300))
def test_the_double_itself_lies_between_the_two(value):
    """The double, not only its shortest decimal: but for values that are short decimals."""
    low, high = Fraction(rounded_down(value)), Fraction(rounded_up(value))
    assert low <= Fraction(value) <= high or low == high == Fraction(Decimal(repr(value)))


def test_edges():
    for value in (1e-8, 0.3, 9.999, 12.5, 1234.0, 9_999_000.0):  # short decimals are printed so
        assert float(rounded_up(value)) == float(rounded_down(value)) == value
    assert rounded_up(0.0) == rounded_down(0.0) == "0"
    assert rounded_up(math.inf) == rounded_down(math.inf) == "inf"
    assert rounded_up(math.nan) == "nan"
    assert epsilon_text(math.inf) == left_text(math.inf) == "∞"
    assert rounded_up(1e-6) == "1e-06" and rounded_up(1.2341e-6) == "1.235e-06"
    assert rounded_up(12_341.0) == "12350" and rounded_down(9_999_999.0) == "9.999e+06"
    for hair in (1e-12, 1e-13, 1e-15):  # which twelve digits do not see
        assert rounded_up(1.0 + hair) == "1.001" and rounded_down(1.0 - hair) == "0.9999"
    assert rounded_up(999_999.0) == "1e+06" and rounded_down(-1.23401) == "-1.235"


@given(st.floats(0.0, 1.0))
def test_a_guaranteed_hit_rate_is_never_printed_too_high(rate):
    shown = Fraction(hit_rate_text(rate).removesuffix("%")) / 100
    assert float(shown) <= rate
    assert rate - float(shown) < 0.01
    assert (hit_rate_text(rate) == "100%") == (rate == 1.0)


SPENT, BUDGET = 6.46142, 7.00004
PACKAGE = Path(rashomon_explorer.__file__).parent
# Two budgets that differ, perhaps in their last digits.
NO_PRICES = {"privacy/ledger/rows.py"}


def test_one_ledger_tells_one_price(tmp_path, capsys):
    ledger = Ledger.create(tmp_path / "told.ledger", epsilon=BUDGET, delta=0.0)
    ledger.reserve(pure(SPENT)).commit()
    main(["ledger", "show", str(ledger.path)])
    with pytest.raises(BudgetExceededError) as refused:
        ledger.reserve(pure(1.0))
    account = SimpleNamespace(spent=ledger.spent(), budget=BUDGET, delta=0.0)
    page = SimpleNamespace(
        account=account, plan=None, data=ledger, rashomon_set=None, spent=False, uncharged=None
    )
    told = {
        "gauge": gauge_html(page),
        "figure": plot_budget(ledger).to_json(),
        "words": f"{cost_text(SPENT)}, {left_text(ledger.remaining)}, {cost_text(BUDGET)}",
        "command line": capsys.readouterr().out,
    }
    for where, words in told.items():
        assert "6.462" in words and "6.47" not in words, where
        assert "7.001" in words, where
    for where in ("gauge", "words", "command line"):
        assert "0.5386" in told[where], where
    assert "7.001" in str(refused.value) and "0.5386" in str(refused.value)


def test_no_price_is_rounded_anywhere_else():
    """A format such as ``{epsilon:.3g}`` rounds to the nearest, which may be too low."""
    home_made = re.compile(r"(?:ε ?= ?|epsilon=)\{[^{}]*:[^{}]*[gf]\}|ε ?= ?\{number\(")
    found = {
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if home_made.search(path.read_text(encoding="utf-8"))
    }
    assert found - NO_PRICES == set()


RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (80, 2))
Y = (X[:, 0] > 0).astype(int)


def _fitted(**settings):
    exact = {"mechanism": "exact", "radius": 4.0, "ridge": 0.0, "row_norm": 1.0}
    return RashomonClassifier(**{"epsilon": 50.0, "n_draws": 4, **exact, **settings}).fit(X, Y)


def test_what_was_asked_for_comes_first_where_it_holds_and_survives_a_file():
    said = str(_fitted(epsilon=4.0).guarantee_)
    assert re.search(r"^ε = 4 at δ = 1e-6 \([^(]*[\d.]+-DP", said)
    plain = bounded_range(0.5)
    asked = replace(plain, requested=(0.5, 1e-6))
    for one in (asked, asked.with_seed()):
        assert str(one).startswith("ε = 0.5 at δ = 1e-6")
    assert str(replace(asked, requested=(0.4, 1e-6))).startswith("0.5-DP")
    assert compose([asked]).requested == (0.5, 1e-6)
    assert compose([asked, asked]).requested is None
    assert Guarantee.from_dict(asked.to_dict()).requested == (0.5, 1e-6)
    assert "asked" not in plain.to_dict()  # older files are read
    assert Guarantee.from_dict(plain.to_dict()) == asked


def test_only_the_curators_set_says_what_rows_say():
    models = _fitted().rashomon_set_
    assert "curator" in repr(models) and "radius binds" in repr(models)
    assert "curator" not in repr(models.release())
    rows, noise = RNG.uniform(-0.5, 0.5, (300, 1)), RNG.integers(0, 2, 300)
    free = RashomonClassifier(epsilon=50.0, radius=4.0, n_draws=1, mechanism="exact")
    assert free.fit(rows, noise).rashomon_set_.notes == ()


def test_markup_stays_text():
    assert "<b>" not in as_html("<b>", [("<i>", "<script>")])
