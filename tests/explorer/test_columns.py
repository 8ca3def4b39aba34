"""Private centres and spreads on the page: the same as in Python, for one price."""

import json

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.data import load_csv
from rashomon_explorer.explorer.dataset import BY_THE_RULE
from rashomon_explorer.explorer.export import bundle, score


@pytest.fixture
def page(explorer, tmp_path):
    """Two narrow columns of 1,500 people, and one model by the rule, at δ = 0."""
    rng = np.random.default_rng(5)
    age, debt = rng.uniform(40, 50, 1500), rng.uniform(0.2, 0.3, 1500)
    repaid = np.where((age - 45) / 10 + rng.normal(0, 0.3, 1500) > (debt - 0.25) * 10, "yes", "no")
    frame = pd.DataFrame({"age": age, "debt": debt, "repaid": repaid})
    frame.to_csv(tmp_path / "narrow.csv", index=False)
    declared = {"bounds": {"age": (0, 100), "debt": (0, 1)}, "classes": ["no", "yes"]}
    explorer.session.choose(load_csv(tmp_path / "narrow.csv", target="repaid", **declared))
    for name, value in {**BY_THE_RULE, "delta": 0.0, "epsilon": 2.0}.items():
        setattr(explorer.state, name, value)
    return explorer


def test_one_model_of_the_page_is_that_of_python_columns_and_all(page):
    plan, state = page.plan, page.state
    assert plan.columns is not None and "centred and scaled" in page.plan_panel.facts.value
    given = {"psi": state.psi, "epsilon": 2.0, "classes": (0, 1)}
    norm = page.session.make_estimator().row_norm
    same = RashomonClassifier(**given, delta=0.0, row_norm=norm, ledger="a.ledger")
    assert same.plan(*state.data.X.shape) == plan
    assert state.account.affordable(plan) == pytest.approx(2.0)
    page.draw()
    models = page.rashomon_set
    assert state.alert is None and models.scale is not None
    assert page.ledger.spent() == pytest.approx(2.0)
    assert "scaled" in page.numbers_panel.facts.value
    plain = json.loads(
        bundle._models_json(page.aggregates.contents(page.basket_panel.checked_draws()))
    )
    rows = 3 * page.rows.head(40)  # some are long
    assert plain["version"] == 2
    np.testing.assert_allclose(score.scores(plain, rows), models.scores(rows), atol=1e-12)
