"""Trees leave the page as linear models do: priced, paid for, and used without it."""

import io
import json
import zipfile

import numpy as np
import pytest

from rashomon_explorer import load_dataset
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.export import score_trees
from rashomon_explorer.explorer.export.basket import AGGREGATES
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.sets import ReleasedTrees
from tests.explorer.pressing import price_on


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    explorer = Explorer(load_dataset("lending"), home=tmp_path_factory.mktemp("home"))
    state = explorer.state
    state.family, state.max_leaves, state.n_draws, state.epsilon = "trees", 3, 12, 1.0
    explorer.draw()
    return explorer


def _paid(page):
    if not page.state.paid:
        page.basket_panel.table.ticked = {"ambiguity": 1.0, "mean_loss": 1.0, "group_sizes": 1.0}
        page.basket_panel.question.yes.click()
    return page.state.paid[0]


def test_aggregates_of_trees_cost_what_the_button_says(page):
    panel = page.basket_panel
    assert panel.group.value == "group" and "can be exported at no" in panel.price.value
    panel.table.ticked = {"ambiguity": 1.0, "mean_loss": 1.0, "group_sizes": 1.0}
    before, promised = page.ledger.spent(), price_on(panel.button)
    bought = _paid(page)
    assert page.state.alert is None
    assert cost_text(page.ledger.spent() - before) == promised
    assert promised in page.take_panel.receipt.value
    loss = bought.released["mean loss of the draws"]
    exact = (page.rashomon_set.labels(page.rows) != np.asarray(page.targets)).mean()
    assert abs(loss.estimate - exact) < 6 * loss.noise.deviation


def test_what_is_not_known_of_trees_is_said_in_words(page):
    rows = {row["name"]: row for row in page.basket_panel.table.rows}
    refused = {name for name, row in rows.items() if row["why"]}
    assert refused == {"soft_hits", "mean_excess", "largest_excess", "clipped_share"}
    assert set(rows) == set(AGGREGATES)
    assert "linear models" in rows["soft_hits"]["why"]


def test_the_same_trees_give_the_same_bytes(page):
    _paid(page)
    fetch = page.take_panel.bundle.fetch
    assert fetch().content == fetch().content


def test_the_bundle_of_trees_is_used_without_the_page(page, tmp_path):
    _paid(page)
    archive = zipfile.ZipFile(io.BytesIO(page.take_panel.bundle.fetch().content))
    held = {name: archive.read(name) for name in archive.namelist()}
    plain, models = json.loads(held["trees.json"]), page.rashomon_set
    assert "losses" not in plain and "loss 0." not in held["figures/trees.html"].decode()
    own = TableSchema.from_toml(held["schema.toml"].decode())
    frame = page.data.frame.head(200)
    rows = UnitEncoder(own.declare("repaid", role="ignore")).transform(frame)
    said = score_trees.labels(plain, rows)
    assert np.array_equal(said, np.array(page.data.classes)[models.labels(page.rows.head(200))])
    (tmp_path / "trees.npz").write_bytes(held["trees.npz"])
    again = ReleasedTrees.load(tmp_path / "trees.npz")
    assert again.models.trees == models.models.trees and again.classes == ("no", "yes")
    assert again.guarantee.epsilon(1e-6) == models.guarantee.epsilon(1e-6)
    assert held["trees.txt"].decode().count("tree ") == 12
    assert again.text(11) in held["trees.txt"].decode()
    assert held["dot/tree_11.dot"].decode() == again.dot(11) + "\n"
    together = json.loads(held["guarantee.json"])["together"]["epsilon"]
    words = held["README.txt"].decode()
    assert cost_text(together, 1e-6) in words and "12 trees of 50,000 rows" in words
    assert {name for name in held if name in words} >= {"trees.json", "trees.txt", "score.py"}
    assert json.loads(held["aggregates.json"])[0]["answers"][0]["query"] == "ambiguity"
    assert {"figures/rules.html", "figures/one_record.json", "definitions.json"} <= set(held)
    assert b"ambiguity" in held["report.html"] and b"income_index" in held["report.html"]


def test_chosen_trees_leave_only_with_a_statement(page):
    panel = page.basket_panel
    page.state.selection = (1, 3)
    panel.which.value = "selected"
    assert "selected by private figures cannot be released" in panel.price.value
    panel.stated.value = True
    given = page.aggregates.contents(panel.checked_draws())
    assert given.models.n_draws == 2 and "filtered" in given.models.steps[0]
    assert given.purchases == ()
    page.state.selection, panel.stated.value = (), False


def test_what_was_bought_of_trees_is_there_again(page):
    bought = _paid(page)
    again = Explorer(load_dataset("lending"), home=page.session.home)
    assert again.state.paid == (bought,) and "ambiguity" in again.take_panel.receipt.value


def test_leaves_speak_the_tables_own_words(page):
    card = page.cards["trees"]
    card.redraw()
    assert {one.get("name") for one in card.view.figure["data"]} >= {"no", "yes"}
