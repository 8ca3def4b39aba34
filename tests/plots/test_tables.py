"""The numbers behind the figures."""

import numpy as np
import pytest

from rashomon_explorer.plots import tables
from rashomon_explorer.privacy import Ledger, bounded_range


def test_tables_of_draws_hold_what_the_set_holds(models, rows):
    losses = tables.losses_table(models)
    np.testing.assert_allclose(losses["excess"], models.excess)
    assert losses["within ψ"].mean() == models.hit_rate
    np.testing.assert_array_equal(tables.coefficients_table(models.release()), models.coef)
    importance = tables.importance_table(models, rows.X, rows.y)
    assert list(importance.index) == ["age", "debt", "luck"]
    assert (importance["min"] <= importance["median"]).all()
    assert "best" in importance


def test_people_by_group_add_up_to_everyone(models, rows):
    everyone = tables.people_table(models, rows.X)
    split = tables.people_table(models, rows.X, rows.groups)
    assert split["people"].sum() == everyone["people"].sum() == 300
    weighted = (split["ambiguity"] * split["people"]).sum() / 300
    assert weighted == pytest.approx(everyone["ambiguity"].iloc[0])


def test_charges_add_up_to_the_ledger(tmp_path):
    with Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=1e-6) as ledger:
        for _ in range(2):
            ledger.reserve(bounded_range(eta=1.0), note="look").commit()
        table = tables.charges_table(ledger.entries(), 1e-6)
        assert table["ε in total"].iloc[-1] == pytest.approx(ledger.spent())
        assert list(table["state"]) == ["committed", "committed"]
