"""One model, or a penalty, instead of a set: results, bundles, and what tuning would tell."""

import errno
import json
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from rashomon_explorer import DPBilevelSearch, RashomonClassifier
from rashomon_explorer.data import load_csv, load_dataset
from rashomon_explorer.estimators import audit_tuning
from rashomon_explorer.exceptions import PrivacyLeakWarning, SamplerError
from rashomon_explorer.explorer import Explorer, bundle, score
from rashomon_explorer.explorer.paid import Tuned, paid_model
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.privacy import pure
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


def test_the_curator_sees_what_tuning_tells_and_the_release_what_was_paid(cancer_page):
    page, card = cancer_page, cancer_page.cards["penalties"]
    page.show("penalties")
    card.redraw()
    assert card.call.table()["probability"].sum() == pytest.approx(1)
    page.state.view = "release"
    card.redraw()
    assert "No penalty was drawn yet" in json.dumps(card.view.figure, ensure_ascii=False)
    page.state.penalty_result = Tuned(
        penalties=(0.5, 2.0, 2.0),
        bounds=(0.1, 10.0),
        mechanism="exponential",
        promised="",
        guarantee=pure(1.0),
        delta=0.0,
        adds=1.0,
    )
    card.redraw()
    (trace,) = card.view.figure["data"]
    assert list(trace["x"]) == [0.5, 2.0, 2.0]
    assert card.call.table()["draws"].tolist() == [1, 2]


def test_the_audit_is_of_the_law_that_is_drawn_and_bounded_by_its_price(cancer_page):
    search, rows, y = cancer_page.tuner.make_search(), cancer_page.rows, cancer_page.data.y
    with pytest.warns(PrivacyLeakWarning, match="for the curator"):
        found = audit_tuning(search, rows, y)
    assert 0 < found.odds <= found.plan.eta
    excess = np.maximum(found.losses - found.losses.min() - found.psi, 0)
    weights = np.exp(-found.plan.beta * excess)
    np.testing.assert_allclose(found.law, weights / weights.sum(), atol=1e-9)
    assert found.plain == found.penalties[found.losses.argmin()] and found.good.any()
    assert 0 <= found.ridge_moved <= found.ridge_of == 20
    grouped = search.set_params(penalty="group", groups=[[0], [*range(1, 30)]])
    with pytest.warns(PrivacyLeakWarning), pytest.raises(SamplerError, match="penalty on a grid"):
        audit_tuning(grouped, rows, y)


def test_one_row_of_few_moves_an_ordinary_choice():
    """As the notebook shows: of forty rows some decide alone, and a private draw hides them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 1))
    y = np.clip(0.35 * X[:, 0] + 0.5 * rng.standard_normal(40), -1, 1)
    known = {"bounds": (0.001, 1.0), "target_bounds": (-1, 1), "refit": None}
    search = DPBilevelSearch("ridge", **known, epsilon=1.0, delta=0.0)
    with pytest.warns(PrivacyLeakWarning):
        found = audit_tuning(search, X, y)
    assert found.plain_moved > 0 and found.ridge_moved > 0 and found.odds <= 1.0
