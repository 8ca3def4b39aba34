"""One model instead of a set: its result, its file and its bundle."""

import errno
import json
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.data import load_csv, load_dataset
from rashomon_explorer.explorer import Explorer, bundle, score
from rashomon_explorer.explorer.paid import paid_model
from rashomon_explorer.mechanisms.request import AUTO
from tests.explorer.pages import set_state, unzipped


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "diabetes"])
@pytest.mark.law
def test_what_leaves_predicts_as_the_estimator_does(explorer, name):
    data = load_dataset(name)
    explorer.session.choose(data)
    explorer.state.goal = "one"
    rows = explorer.rows
    fitted = explorer.single.make_estimator().set_params(random_state=0).fit(rows, data.y)
    alone = score.scores(paid_model(fitted, data, list(rows.columns), 1.0).model, rows)[0]
    own = fitted.predict(rows) if name == "diabetes" else fitted.predict_proba(rows)
    own = own[:, 1] if name == "breast_cancer" else own
    assert np.allclose(alone, own, atol=1e-9)


@pytest.mark.slow
def test_the_newest_model_that_can_be_read_is_shown_and_its_bundle_stands_alone(
    cancer_page, monkeypatch
):
    page = cancer_page
    page.state.goal = "one"
    assert page.draw_panel.widget.layout.display == "none"
    page.goal_panel.one.button.click()
    made = page.state.one_model
    assert page.state.page == "release" and made.mechanism == page.state.one_plan.mechanism
    files = unzipped(page.one_model_panel.bundle.fetch().content)
    assert json.loads(files["model.json"])["columns"] == list(page.rows.columns)
    assert b"objective_perturbation" in files["README.txt"] and "schema.toml" in files
    page.state.goal = "set"
    assert page.state.one_plan is None and page.draw_panel.widget.layout.display is None

    folder = page.session.home / "breast_cancer.sets"
    (folder / "0007.model").write_text("{")
    again = Explorer(data=page.data, home=page.session.home)
    assert again.state.one_model == made and (folder / "0007.model.1.damaged").exists()
    (folder / "0008.model").write_text('{"version": 9}')  # a newer version's
    session = again.session

    def reopened():
        session.forget()
        session.choose(page.data)
        return again.state.one_model

    away = Mock(side_effect=OSError(errno.EIO, "Input/output error"))
    assert reopened() == made and (folder / "0008.model").exists()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", away)
        assert reopened() is None  # and no older one in its place
        assert "Input/output" in again.state.alert.reason
    assert reopened() == made and again.state.alert is None


@pytest.mark.slow
def test_one_model_of_the_page_is_that_of_python_columns_and_all(explorer, tmp_path):
    """Two narrow columns of 1,500 people, and one model by the rule, at δ = 0."""
    rng = np.random.default_rng(5)
    age, debt = rng.uniform(40, 50, 1500), rng.uniform(0.2, 0.3, 1500)
    repaid = np.where((age - 45) / 10 + rng.normal(0, 0.3, 1500) > (debt - 0.25) * 10, "yes", "no")
    rows = zip(age, debt, repaid, strict=True)
    lines = ["age,debt,repaid", *(f"{a},{d},{r}" for a, d, r in rows)]
    (tmp_path / "narrow.csv").write_text("\n".join(lines))
    declared = {"bounds": {"age": (0, 100), "debt": (0, 1)}, "classes": ["no", "yes"]}
    explorer.session.choose(load_csv(tmp_path / "narrow.csv", target="repaid", **declared))
    set_state(explorer, **dict.fromkeys(("radius", "ridge", "n_draws", "mechanism"), AUTO))
    set_state(explorer, delta=0.0, epsilon=2.0)
    plan, state = explorer.plan, explorer.state
    assert plan.columns is not None and "centred and scaled" in explorer.plan_panel.facts.value
    norm = explorer.session.make_estimator().row_norm
    same = RashomonClassifier(
        psi=state.psi, epsilon=2.0, classes=(0, 1), delta=0.0, row_norm=norm, ledger="a.ledger"
    )
    assert same.plan(*state.data.X.shape) == plan
    assert state.account.affordable(plan) == pytest.approx(2.0)
    explorer.draw()
    models = explorer.rashomon_set
    assert state.alert is None and models.scale is not None
    assert explorer.ledger.spent() == pytest.approx(2.0)
    assert "scaled" in explorer.numbers_panel.facts.value
    plain = json.loads(bundle._models_json(explorer.aggregates.contents().linear))
    rows = 3 * explorer.rows.head(40)  # some are long
    assert plain["version"] == 2
    np.testing.assert_allclose(score.scores(plain, rows), models.scores(rows), atol=1e-12)
