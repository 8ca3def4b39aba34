"""A penalty chosen privately, on the page: its price, its draws, and what tuning would tell."""

import json

import numpy as np
import pytest

from rashomon_explorer.estimators import audit_tuning
from rashomon_explorer.exceptions import PrivacyLeakWarning, SamplerError
from rashomon_explorer.explorer.paid import Tuned
from rashomon_explorer.privacy import pure


@pytest.fixture
def page(explorer, cancer):
    explorer.session.choose(cancer)
    return explorer


def test_the_curator_sees_the_landscape_and_what_ordinary_tuning_tells(page):
    card = page.cards["penalties"]
    page.show("penalties")
    card.redraw()
    figure = card.view.figure
    names = [trace.get("name", "") for trace in figure["data"]]
    assert "validation loss" in names and "probability of a draw" in names
    assert any(name.startswith("selected by RidgeCV") for name in names)
    assert "not private" in json.dumps(figure["layout"])
    table = card.call.table()
    assert table["probability"].sum() == pytest.approx(1) and table["within ψ"].any()


def test_the_release_shows_what_was_paid_for_and_no_loss(page):
    card = page.cards["penalties"]
    page.state.view = "release"
    card.redraw()
    assert "No penalty was drawn yet" in json.dumps(card.view.figure, ensure_ascii=False)
    page.state.tuned = Tuned(
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


def test_several_classes_are_told_why_not(explorer):
    from rashomon_explorer.data import load_dataset

    explorer.session.choose(load_dataset("wine"))
    assert "a binary or numeric target" in explorer.tuning_panel.price.value
    assert explorer.tuning_panel.button.disabled


def test_the_audit_is_of_the_law_that_is_drawn_and_bounded_by_its_price(page):
    search = page.tuner.make_search()
    with pytest.warns(PrivacyLeakWarning, match="for the curator"):
        found = audit_tuning(search, page.rows, page.data.y)
    assert 0 < found.odds <= found.plan.eta
    weights = np.exp(
        -found.plan.beta * np.maximum(found.losses - found.losses.min() - found.psi, 0)
    )
    np.testing.assert_allclose(found.law, weights / weights.sum(), atol=1e-9)
    assert found.plain == found.penalties[found.losses.argmin()] and found.good.any()
    assert 0 <= found.ridge_moved <= found.ridge_of == 20
    with (
        pytest.raises(SamplerError, match="one penalty on a grid"),
        pytest.warns(PrivacyLeakWarning),
    ):
        audit_tuning(
            search.set_params(penalty="group", groups=[[0], [*range(1, 30)]]),
            page.rows,
            page.data.y,
        )


def test_one_row_of_few_moves_an_ordinary_choice():
    """As the notebook shows: of forty rows some decide alone, and a private draw hides them."""
    from rashomon_explorer import DPBilevelSearch

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 1))
    y = np.clip(0.35 * X[:, 0] + 0.5 * rng.standard_normal(40), -1, 1)
    search = DPBilevelSearch("ridge", bounds=(0.001, 1.0), refit=None, epsilon=1.0, delta=0.0)
    with pytest.warns(PrivacyLeakWarning):
        found = audit_tuning(search, X, y)
    assert found.plain_moved > 0 and found.ridge_moved > 0 and found.odds <= 1.0
