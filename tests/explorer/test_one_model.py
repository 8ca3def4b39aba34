"""One model instead of a set: its price is what the ledger charges, and it predicts alone."""

import asyncio
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
from rashomon_explorer.plots.text import at_most, cost_text
from tests.explorer.pressing import price_on


@pytest.fixture
def page(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.goal = "one"
    return explorer


def test_the_price_on_the_button_is_what_the_ledger_charges(page):
    panel = page.goal_panel
    assert page.draw_panel.widget.layout.display == "none"
    promised = price_on(panel.one.button)
    assert at_most(page.state.one_plan.excess_bound) in panel.one.price.value
    panel.one.button.click()
    assert page.state.alert is None and page.state.page == "release"
    assert cost_text(page.ledger.spent()) == promised
    (entry,) = page.ledger.entries()
    assert entry.state == "committed" and entry.note.startswith("DPClassifier")
    made = page.state.one_model
    assert made.mechanism == page.state.one_plan.mechanism
    assert made.why in page.one_panel.result.value
    assert {name for name, _ in made.others} >= {"gibbs", "output_perturbation"}
    assert page.session.rows.columns[0] in page.one_panel.result.value
    again = Explorer(data=page.data, home=page.session.home)
    assert again.state.one_model == made and again.state.rashomon_set is None


def test_past_the_budget_nothing_is_made(page):
    page.state.epsilon = 50.0
    assert (
        page.goal_panel.one.button.disabled and "Over the budget" in page.goal_panel.one.price.value
    )
    page.goal_panel.one.button.click()
    assert page.state.alert is not None and page.state.one_model is None
    assert "nothing was spent" in page.state.alert.reason and page.ledger is None


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


def test_the_bundle_and_a_page_that_stays_alive(page):
    async def pressed():
        page.goal_panel.one.button.click()
        assert page.goal_panel.one.button.disabled and page.goal_panel.goal.disabled
        page.goal_panel.one.action.start()  # once is enough
        await page.goal_panel.one.action.task.task

    asyncio.run(pressed())
    assert len(page.ledger.entries()) == 1
    archive = zipfile.ZipFile(io.BytesIO(page.one_panel.bundle.fetch().content))
    held = {name: archive.read(name) for name in archive.namelist()}
    assert json.loads(held["model.json"])["columns"] == list(page.rows.columns)
    assert b"objective_perturbation" in held["README.txt"] and "schema.toml" in held
    page.state.goal = "set"
    assert page.state.one_plan is None and page.draw_panel.widget.layout.display is None


def test_a_model_that_cannot_be_kept_is_shown_and_reported(page, monkeypatch):
    def full(*_args, **_named):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rashomon_explorer.explorer.set_store.write_new_file", full)
    page.goal_panel.one.button.click()
    made = page.state.one_model
    assert made is not None and made.why in page.one_panel.result.value
    assert page.state.alert.failed == "Saving one model"
    assert "No space left" in page.state.alert.reason and "save the bundle" in page.state.alert.kept
    assert page.state.message.startswith("Made one model") and len(page.ledger.entries()) == 1
    monkeypatch.undo()
    page.state.alert = None
    page.goal_panel.one.button.click()
    assert page.state.alert is None


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
