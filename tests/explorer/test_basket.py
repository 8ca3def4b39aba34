"""The basket and the bundle: what leaves was paid for, and is made of what leaves alone."""

import asyncio
import errno
import json
import time
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.explorer import Explorer, bundle, score
from rashomon_explorer.explorer.release import AGGREGATES
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit
from rashomon_explorer.plots import plot_losses
from rashomon_explorer.plots.text import cost_text, number
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.sets import ReleasedSet
from tests.explorer.pages import press, set_state, unzipped

PNG, SVG = b"\x89PNG\r\n\x1a\n...", b"<svg class='main-svg'></svg>"


@pytest.fixture(scope="module")
def page(tmp_path_factory, cancer):
    """A set with an aggregate that was paid for."""
    page = Explorer(data=cancer, home=tmp_path_factory.mktemp("home"))
    set_state(page, n_draws=4, mechanism="langevin", psi=0.2, epsilon=1.0)
    page.draw()
    _release(page, "ambiguity")
    assert page.state.alert is None
    return page


def _release(page, *names):
    page.basket_panel.table.ticked = dict.fromkeys(names, 1.0)
    press(page.basket_panel)


def test_chosen_models_leave_only_with_a_statement(page):
    panel = page.basket_panel
    page.state.selection = (1, 3)
    panel.which.value = "selected"
    assert "selected by private figures cannot be released" in panel.price.value
    assert panel.button.disabled
    with pytest.raises(CuratorOnlyError):
        page.take_panel.bundle.fetch()
    panel.stated.value = True
    contents = page.aggregates.contents(panel.checked_draws())
    models = json.loads(bundle._models_json(contents.linear))
    assert len(models["coefficients"]) == 2 and "filtered" in models["chosen"][0]
    assumed = contents.models.guarantee.to_dict()["assumptions"]
    assert any("without regard to private rows" in one for one in assumed)
    page.state.selection = ()
    assert panel.which.value == "all"


@pytest.mark.law
def test_the_bundle_is_used_without_the_page(page, tmp_path):
    files, models = unzipped(page.take_panel.bundle.fetch().content), page.rashomon_set
    plain, rows = json.loads(files["models.json"]), page.rows.head(50)
    assert np.allclose(score.scores(plain, rows), models.scores(rows), atol=1e-12)
    (tmp_path / "models.npz").write_bytes(files["models.npz"])
    assert np.array_equal(ReleasedSet.load(tmp_path / "models.npz").coef, models.coef)
    together = json.loads(files["guarantee.json"])["together"]["epsilon"]
    assert cost_text(together) in files["README.txt"].decode()
    assert json.loads(files["aggregates.json"])[0]["answers"][0]["query"] == "ambiguity"
    assert b"ambiguity" in files["report.html"] and b"noise" in files["definitions.json"]
    assert {"schema.toml", "score.py", "figures/coefficients.html"} <= set(files)
    public = json.loads(files["ledger.json"])
    assert "who" not in json.dumps(public) and public["spent"] == page.ledger.spent()
    assert b"who" in page.ledger_panel.export.fetch().content


@pytest.mark.slow
def test_figures_are_made_of_what_leaves_alone(page, tmp_path):
    """Figures can be made again from the files of models and aggregates: they tell nothing more."""
    contents = page.aggregates.contents()
    files = unzipped(bundle.bundle(contents))
    (tmp_path / "models.npz").write_bytes(files["models.npz"])
    paid = [json.loads(json.dumps(released_values(one.released))) for one in contents.purchases]
    purchases = tuple(
        replace(one, released=from_released_values(values))
        for one, values in zip(contents.purchases, paid, strict=True)
    )
    assert purchases == contents.purchases
    bought = [one.released.guarantee for one in purchases]
    alone = replace(contents, purchases=())
    assert contents.guarantees == (*alone.guarantees, *bought) and contents.total > alone.total
    assert alone.guarantees == (contents.models.guarantee,) and len(bought) == 1
    models = ReleasedSet.load(tmp_path / "models.npz")
    outside = replace(
        contents, models=models, purchases=purchases, schema=None, constants=None, account=None
    )
    again = {name: figure.to_json() for name, figure in bundle.figures(outside).items()}
    assert set(again) == {"coefficients", "one_record", "aggregates_1"}
    for name, figure in again.items():
        assert json.loads(files[f"figures/{name}.json"]) == json.loads(figure)
        assert name in page.take_panel.bundle._prepare()().figures


@pytest.mark.slow
def test_the_same_contents_give_the_same_bytes(page, cancer, monkeypatch):
    first = bundle.bundle(page.aggregates.contents())
    monkeypatch.setattr("time.localtime", lambda *_: time.struct_time((2031, *[1] * 8)))
    again = Explorer(data=cancer, home=page.session.home)
    again.session.replan()
    files, others = unzipped(first), unzipped(bundle.bundle(again.aggregates.contents()))
    assert [name for name in files if files[name] != others.get(name)] == []
    pages = [files[name] for name in files if name.startswith("figures/") and name[-4:] == "html"]
    assert len(pages) == 3 and all(b'<div id="' in one for one in pages)


def test_a_figure_of_private_rows_may_not_leave(page, monkeypatch):
    curator = plot_losses(page.rashomon_set)
    monkeypatch.setattr(bundle.plots, "plot_tradeoff", lambda *_: curator)
    with pytest.raises(CuratorOnlyError, match="one_record reads private rows"):
        page.take_panel.bundle.fetch()


@pytest.mark.slow
def test_pictures_of_its_own_figures_are_in_the_bundle_and_no_others(page):
    contents = page.aggregates.contents()
    drawn = {"coefficients.png": PNG, "coefficients.svg": SVG, "one_record.png": PNG}
    others = {"losses.png": PNG, "../coefficients.png": PNG, "coefficients.exe": b"MZ"}
    others["one_record.svg"] = b"<script>"
    files = unzipped(bundle.bundle(contents, {**drawn, **others}))
    plain = unzipped(bundle.bundle(contents))
    assert set(files) - set(plain) == {f"figures/{name}" for name in drawn}
    assert files["figures/coefficients.png"] == PNG
    assert b"PNG for slides" in files["README.txt"] and b"PNG" not in plain["README.txt"]


@pytest.mark.slow
def test_groups_with_declared_levels_can_be_bought(explorer, table):
    editor = TableEditor.proposed("loans", pd.read_csv(table))
    explorer.session.choose(editor.edited("sex", "role", "sensitive").confirmed().data())
    set_state(explorer, n_draws=2, mechanism="langevin", epsilon=1.0)
    explorer.draw()
    panel = explorer.basket_panel
    assert panel.group.value == "sex"
    panel.group.value = "no groups"
    refused = {row["name"] for row in panel.table.rows if row["why"]}
    in_rows = {name for name, one in AGGREGATES.items() if one.in_rows}
    assert refused == {*in_rows, "psi_n_trees"}  # these models are linear
    panel.group.value = "sex"
    panel.table.ticked = {"group_sizes": 1.0, "mean_selection_gap": 2.0}
    press(panel)
    (bought,) = explorer.state.releases
    assert bought.released["rows of f"].estimate > 0 and bought.group == "sex"
    assert bought.released.charge == explorer.ledger.entries()[-1].id
    assert panel.button.description == "Release aggregates" and not panel.table.ticked
    assert cost_text(bought.adds) in explorer.take_panel.receipt.value


def test_a_share_whose_noise_would_hide_the_answer_is_not_sold(page):
    panel, charges = page.basket_panel, len(page.ledger.entries())
    panel.table.ticked = {"coefficients": 1.0, "ambiguity": 1.0}
    assert "coefficients would be hidden by the noise" in panel.action.why_not
    assert panel.action.selected is None and panel.button.disabled
    panel.table.ticked = {"ambiguity": 1.0}
    assert not panel.action.why_not and len(page.ledger.entries()) == charges
    panel.table.ticked = {}


def test_noise_is_stated_as_a_95_percent_interval_and_warned_of_where_it_hides_the_answer(page):
    panel = page.basket_panel
    for epsilon, warning in ((9.0, ""), (0.01, ": too noisy to tell")):
        panel.epsilon.value, panel.table.ticked = epsilon, {"ambiguity": 1.0}
        half = panel.action.selected.plan.costs[0].noise.quantile(0.95)
        (noise,) = (row["noise"] for row in panel.table.rows if row["noise"])
        assert noise == f"± {number(half, 2, 'up')}{warning}"
    panel.epsilon.value, panel.table.ticked = 0.5, {}


def test_what_rows_cause_is_one_error_and_stays_spent(page):
    charges, bought, rows = len(page.ledger.entries()), page.state.releases, page.session.rows
    page.session.rows = rows.assign(**{rows.columns[0]: np.nan})
    _release(page, "ambiguity")
    page.session.rows = rows
    assert "The privacy cost stays spent." in page.state.alert.reason
    entries = page.ledger.entries()
    assert len(entries) == charges + 1 and entries[-1].state == "started"
    assert page.state.releases == bought and not page.basket_panel.table.disabled
    page.state.alert = None


@pytest.mark.slow
def test_what_cannot_be_kept_is_shown_reported_and_written_later(page, cancer, monkeypatch):
    no_space = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    before, charges = page.state.releases, len(page.ledger.entries())
    with monkeypatch.context() as patch:
        patch.setattr("rashomon_explorer._utils.files.write_new_file", no_space)
        _release(page, "mean_loss")
        bought = page.state.releases[-1]
        assert "No space left" in page.state.alert.reason
        assert len(page.ledger.entries()) == charges + 1 == bought.released.charge
        page.state.rashomon_set = page.state.rashomon_set.rethreshold(0.3)
        assert page.state.releases == (*before, bought)  # still full: it stays on screen
    page.state.alert = None
    for psi in (0.2, 0.3):  # written once
        page.state.rashomon_set = page.state.rashomon_set.rethreshold(psi)
        assert page.state.releases == (*before, bought)
    again = Explorer(data=cancer, home=page.session.home)
    assert (
        again.state.releases == page.state.releases and len(again.ledger.entries()) == charges + 1
    )


def test_a_purchase_that_was_read_from_its_file_meanwhile_is_shown_once(page):
    page.basket_panel.table.ticked = {"ambiguity": 1.0}
    bought = page.aggregates.order()()
    page.aggregates._follow()
    page.aggregates.receive(bought)
    assert [one.released.charge for one in page.state.releases].count(bought.released.charge) == 1


def test_a_file_that_cannot_be_made_is_reported_and_a_script_makes_it_at_once():
    failed, file = [], FileInTransit("a", b"x")

    async def press(prepare):
        button = Download("Save", "a file", prepare, failed.append)
        button._receive(button, {"type": "asked"}, None)
        while button.making:
            await asyncio.sleep(0.01)

    for prepare in (lambda: 1 / 0, lambda: lambda: 1 / 0):
        asyncio.run(press(prepare))
    assert [type(one) for one in failed] == [ZeroDivisionError] * 2
    assert Download("Save", "", lambda: lambda: file, print).fetch() == file
