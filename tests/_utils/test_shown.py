"""Objects show themselves in a few aligned lines; nothing private in what may leave."""

import re
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer._utils.formatting import as_html
from rashomon_explorer.privacy import Guarantee, Ledger, bounded_range, compose

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
    free = RashomonClassifier(epsilon=500.0, radius=1e6, n_draws=1)
    rows, noise = RNG.uniform(-0.5, 0.5, (300, 1)), RNG.integers(0, 2, 300)
    assert free.fit(rows, noise).rashomon_set_.notes == ()


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_a_ledger_that_is_gone_says_so_in_its_repr(tmp_path, lost):
    with Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=1e-6) as ledger:
        pass
    ledger.path.unlink()
    if lost == "empty":
        ledger.path.touch()
    assert "unreadable" in repr(ledger)


def test_markup_stays_text():
    assert "<b>" not in as_html("<b>", [("<i>", "<script>")])
