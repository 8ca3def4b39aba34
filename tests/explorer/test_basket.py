"""The basket: the price on the button is what the ledger charges, and what leaves was paid for."""

import errno
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.export import bundle, score
from rashomon_explorer.explorer.export.basket import AGGREGATES
from rashomon_explorer.explorer.export.purchases import Purchases
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.sets import ReleasedSet
from tests.explorer.pressing import price_on


@pytest.fixture(scope="module")
def page(tmp_path_factory, cancer):
    return _drawn(cancer, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def bought(tmp_path_factory, cancer):
    """A page with an aggregate that was paid for, whatever other tests did before."""
    page = _drawn(cancer, tmp_path_factory.mktemp("bought"))
    _ticked(page, "ambiguity").question.yes.click()
    assert page.state.alert is None
    return page


def _drawn(cancer, home):
    explorer = Explorer(data=cancer, home=home)
    for name, value in {"n_draws": 4, "mechanism": "langevin", "psi": 0.2, "epsilon": 1.0}.items():
        setattr(explorer.state, name, value)
    explorer.draw()
    return explorer


def _ticked(page, *names):
    page.basket_panel.table.ticked = dict.fromkeys(names, 1.0)
    return page.basket_panel


def test_the_price_on_the_button_is_what_the_ledger_charges(page):
    panel = _ticked(page, "ambiguity", "mean_accuracy", "mean_excess")
    before = page.ledger.spent()
    promised = price_on(panel.button)
    panel.button.click()
    assert promised in panel.question.yes.description
    assert page.ledger.spent() == before  # asks once
    panel.question.yes.click()
    assert page.state.alert is None
    added = page.ledger.spent() - before
    assert cost_text(added) == promised
    entry = page.ledger.entries()[-1]
    asked = "release: ambiguity, mean_accuracy, mean_excess"
    assert (entry.state, entry.note) == ("committed", asked)
    bought = page.state.paid[-1]
    assert bought.released.charge == entry.id and bought.adds == pytest.approx(added)
    assert promised in page.take_panel.receipt.value
    assert panel.button.description == "Release aggregates" and not panel.table.ticked
    assert "ambiguity" in page.ledger_panel.charges.value


def test_every_aggregate_of_the_basket_can_be_had_or_says_why_not(page):
    basket = page.aggregates.basket((), 0.5)
    refused = {name for name in AGGREGATES if basket.why_not(name)}
    assert refused == {name for name, one in AGGREGATES.items() if one.in_rows}
    assert all("choose a column under Groups" in basket.why_not(name) for name in refused)
    rows = {row["name"]: row for row in page.basket_panel.table.rows}
    assert rows["group_sizes"]["why"] and not rows["ambiguity"]["why"]


def test_what_rows_cause_is_one_error_and_stays_spent(page):
    panel = _ticked(page, "ambiguity")
    charges = len(page.ledger.entries())
    rows = page.session.rows
    page.session.rows = rows.assign(**{rows.columns[0]: np.nan})
    panel.button.click()
    panel.question.yes.click()
    page.session.rows = rows
    assert "The privacy cost stays spent." in page.state.alert.reason
    entries = page.ledger.entries()
    assert len(entries) == charges + 1 and entries[-1].state == "started"
    assert len(page.state.paid) == 1 and not panel.table.disabled
    page.state.alert = None


def test_chosen_models_leave_only_with_a_statement(page):
    panel = page.basket_panel
    page.state.selection = (1, 3)
    panel.which.value = "selected"
    assert (
        "selected by private figures cannot be released" in panel.price.value
        and panel.button.disabled
    )
    with pytest.raises(CuratorOnlyError):
        page.take_panel.bundle.fetch()
    panel.stated.value = True
    given = page.aggregates.contents(panel.checked_draws())
    held = json.loads(bundle._models_json(given))
    assert len(held["coefficients"]) == 2 and "filtered" in held["chosen"][0]
    assumed = json.loads(bundle._guarantee(given))["models"]["assumptions"]
    assert any("without regard to private rows" in one for one in assumed)
    page.state.selection = ()
    assert panel.which.value == "all"


def _unzipped(page):
    archive = zipfile.ZipFile(io.BytesIO(page.take_panel.bundle.fetch().content))
    return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.law
def test_the_bundle_is_used_without_the_page(bought, tmp_path):
    page, held = bought, _unzipped(bought)
    models = page.rashomon_set
    plain = json.loads(held["models.json"])
    rows = page.rows.head(50)
    assert np.allclose(score.scores(plain, rows), models.scores(rows), atol=1e-12)
    (tmp_path / "models.npz").write_bytes(held["models.npz"])
    assert np.array_equal(ReleasedSet.load(tmp_path / "models.npz").coef, models.coef)
    together = json.loads(held["guarantee.json"])["together"]["epsilon"]
    assert cost_text(together) in held["README.txt"].decode()
    assert json.loads(held["aggregates.json"])[0]["answers"][0]["query"] == "ambiguity"
    assert b"ambiguity" in held["report.html"] and b"noise" in held["definitions.json"]
    assert {"schema.toml", "score.py", "figures/coefficients.html"} <= set(held)
    public = json.loads(held["ledger.json"])
    assert "who" not in json.dumps(public) and public["spent"] == page.ledger.spent()
    assert b"who" in page.ledger_panel.export.fetch().content


def test_what_was_bought_is_there_again_on_a_new_page(bought, cancer):
    page = bought
    released = page.state.paid[0].released
    assert from_released_values(json.loads(json.dumps(released_values(released)))) == released
    again = Explorer(data=cancer, home=page.session.home)
    assert again.state.paid == page.state.paid != ()
    again.session.delete_saved(again.state.in_view)
    assert again.state.paid == () and not list(page.session.home.glob("*.sets/*.paid"))


def test_groups_with_declared_levels_can_be_bought(explorer, table):
    editor = TableEditor.proposed("loans", pd.read_csv(table))
    editor = editor.edited("sex", "role", "sensitive").confirmed()
    explorer.session.choose(editor.data())
    explorer.state.n_draws, explorer.state.mechanism, explorer.state.epsilon = 2, "langevin", 1.0
    explorer.draw()
    panel = explorer.basket_panel
    assert panel.group.value == "sex"
    panel.table.ticked = {"group_sizes": 1.0, "mean_selection_gap": 2.0}
    panel.question.yes.click()
    assert explorer.state.alert is None
    assert explorer.state.paid[0].released["rows of f"].estimate > 0
    assert explorer.state.paid[0].group == "sex"


def _no_space(*_args, **_named):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_cannot_be_kept_is_shown_reported_and_written_later(page, cancer, monkeypatch):
    before, charges = page.state.paid, len(page.ledger.entries())
    with monkeypatch.context() as patch:
        patch.setattr("rashomon_explorer.explorer.set_store.files.write_new_file", _no_space)
        _ticked(page, "mean_loss").question.yes.click()
        bought = page.state.paid[-1]
        alert = page.state.alert
        assert "No space left" in alert.reason and "save the bundle" in alert.kept
        assert "Released 1 number" in page.state.message
        assert len(page.ledger.entries()) == charges + 1 == bought.released.charge
        page.state.rashomon_set = page.state.rashomon_set.rethreshold(0.3)
        assert page.state.paid == (*before, bought)  # still full: it stays on screen
    page.state.alert = None
    page.state.rashomon_set = page.state.rashomon_set.rethreshold(0.2)
    assert page.state.paid == (*before, bought)
    page.state.rashomon_set = page.state.rashomon_set.rethreshold(0.3)
    assert page.state.paid == (*before, bought)  # written once
    again = Explorer(data=cancer, home=page.session.home)
    assert again.state.paid == page.state.paid and len(again.ledger.entries()) == charges + 1


def test_an_error_of_keeping_that_nobody_thought_of_loses_no_numbers(page, monkeypatch):
    def broken(*_args):
        raise TypeError("not JSON")

    count = len(page.state.paid)
    with monkeypatch.context() as patch:
        patch.setattr(Purchases, "add", broken)
        _ticked(page, "mean_excess").question.yes.click()
    assert len(page.state.paid) == count + 1 and "not JSON" in page.state.alert.reason
    page.state.alert = None


def test_purchases_that_cannot_be_read_now_are_there_when_the_set_is_opened_next(
    tmp_path, cancer, monkeypatch
):
    def away(_path):
        raise OSError(errno.EMFILE, "Too many open files")

    page = _drawn(cancer, tmp_path)
    _ticked(page, "ambiguity").question.yes.click()
    number, bought = page.state.in_view, page.state.paid
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", away)
        page.state.in_view = 0
        page.state.in_view = number
        assert page.state.paid == () and "Too many open files" in page.state.alert.reason
        assert "read again" in page.state.alert.kept
    page.state.in_view = 0
    page.session.open_saved(number)
    assert page.state.paid == bought != ()


def test_a_purchase_that_was_read_from_its_file_meanwhile_is_shown_once(page):
    panel = _ticked(page, "ambiguity")
    bought = page.aggregates.order()()
    page.aggregates._follow()
    page.aggregates.receive(bought)
    assert [one.released.charge for one in page.state.paid].count(bought.released.charge) == 1
    panel.table.ticked = {}
