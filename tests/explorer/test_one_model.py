"""One model instead of a set: its price is what the ledger charges, and it predicts alone."""

import errno
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rashomon_explorer.data import load_dataset
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.export import score
from rashomon_explorer.explorer.paid import paid_model


@pytest.fixture
def page(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.goal = "one"
    return explorer


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "diabetes"])
@pytest.mark.law
def test_what_leaves_predicts_as_the_estimator_does(explorer, name):
    data = load_dataset(name)
    explorer.session.choose(data)
    explorer.state.goal = "one"
    rows = explorer.rows
    fitted = explorer.single.make_estimator().set_params(random_state=0).fit(rows, data.y)
    made = paid_model(fitted, data, list(rows.columns), 1.0)
    alone = score.scores(made.model, rows)[0]
    own = fitted.predict(rows) if name == "diabetes" else fitted.predict_proba(rows)
    own = own[:, 1] if name == "breast_cancer" else own
    assert np.allclose(alone, own, atol=1e-9)


def test_the_result_and_its_bundle(page):
    assert page.draw_panel.widget.layout.display == "none"
    page.goal_panel.one.button.click()
    made, shown = page.state.one_model, page.one_panel.result.value
    assert page.state.page == "release" and made.mechanism == page.state.one_plan.mechanism
    assert made.why in shown and page.session.rows.columns[0] in shown
    assert {name for name, _ in made.others} >= {"unthresholded", "output_perturbation"}
    archive = zipfile.ZipFile(io.BytesIO(page.one_panel.bundle.fetch().content))
    held = {name: archive.read(name) for name in archive.namelist()}
    assert json.loads(held["model.json"])["columns"] == list(page.rows.columns)
    assert b"objective_perturbation" in held["README.txt"] and "schema.toml" in held
    page.state.goal = "set"
    assert page.state.one_plan is None and page.draw_panel.widget.layout.display is None


def test_the_newest_model_that_can_be_read_is_shown(page, monkeypatch):
    page.goal_panel.one.button.click()
    made, folder = page.state.one_model, page.session.home / "breast_cancer.sets"
    (folder / "0007.model").write_text("{")
    again = Explorer(data=page.data, home=page.session.home)
    assert again.state.one_model == made and (folder / "0007.model.1.damaged").exists()
    (folder / "0008.model").write_text('{"version": 9}')  # a newer version's
    session = again.session
    session.forget()
    session.choose(page.data)
    assert again.state.one_model == made and (folder / "0008.model").exists()

    def away(_path):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", away)
        session.forget()
        session.choose(page.data)
        assert again.state.one_model is None  # and no older one in its place
        assert "Input/output" in again.state.alert.reason
    session.forget()
    session.choose(page.data)
    assert again.state.one_model == made and again.state.alert is None
