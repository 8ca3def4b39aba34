"""One ε has one face: on the page, in figures, reports, messages and on the command line."""

import re
from pathlib import Path

import pytest

import rashomon_explorer
from rashomon_explorer import Ledger
from rashomon_explorer.cli import main
from rashomon_explorer.exceptions import BudgetExceededError
from rashomon_explorer.explorer.panels.budget import _gauge
from rashomon_explorer.plots import plot_budget
from rashomon_explorer.plots.text import cost_text, what_is_left
from rashomon_explorer.privacy import pure

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
    told = {
        "gauge": _gauge(ledger.spent(), ledger.spent(), BUDGET, 0.0, short=False),
        "figure": plot_budget(ledger).to_json(),
        "words": f"{cost_text(SPENT)}, {what_is_left(ledger.remaining)}, {cost_text(BUDGET)}",
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
