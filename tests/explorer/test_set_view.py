"""The view Set: ψ moved over stored draws, models selected, kept and compared."""

import stat

import numpy as np
import pytest

from rashomon_explorer.explorer import Explorer
from tests.explorer.pages import set_state
from tests.report.conftest import numbers_of


def _dots(page, card):
    return next(t for t in page.cards[card].view.figure["data"] if t["name"] == "draw")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory, cancer):
    page = Explorer(data=cancer, home=tmp_path_factory.mktemp("home"))
    set_state(page, psi=0.6, n_draws=12, mechanism="exact")
    page.draw()
    return page


@pytest.fixture
def page(drawn):
    """The draws as they were made, in the curator's view."""
    models = drawn.rashomon_set
    yield drawn
    set_state(drawn, psi=0.6)
    drawn.state.rashomon_set = models.rethreshold(models.plan.psi)
    set_state(drawn, view="curator", selection=(), inside_only=True)
    assert drawn.state.alert is None


@pytest.mark.slow
def test_psi_moves_over_the_stored_draws_and_every_count_follows(page):
    models, dial = page.rashomon_set, page.model_panel.dials["psi"]
    middle, spent = float(sorted(models.excess)[5]) * (1 + 1e-9), page.ledger.spent()
    dial.value = middle
    now = page.rashomon_set
    assert now.psi == middle and now.n_draws == models.n_draws
    assert now.hit_rate == sum(models.excess <= middle) / 12 == 0.5
    assert "6 of 12 inside ψ" in page.numbers_panel.facts.value
    assert page.ledger.spent() == spent
    assert now.release().psi == 0.6 and now.guarantee == models.guarantee
    page.state.inside_only = False
    assert len(numbers_of(_dots(page, "map")["x"])) == 12
    best = int(np.argmin(models.excess))
    page.state.selection = (best,)
    for name in ("map", "losses"):  # what is not selected fades
        dots = _dots(page, name)
        seen = np.array(numbers_of(dots["marker"]["opacity"])) > 0.5
        assert np.array(numbers_of(dots["customdata"]))[seen].tolist() == [best]


def _column(page, name):
    column = next(c for c in page.models_panel.table.columns if c["name"] == name)
    return np.frombuffer(column["values"])


def test_every_model_has_a_row_with_its_numbers(page):
    models, panel = page.rashomon_set, page.models_panel
    page.state.page = "set"
    assert panel.table.count == 12
    right = (models.labels(page.rows) == np.asarray(page.targets)).mean(axis=1)
    away = np.linalg.norm(models.coef - models.best, axis=1)
    for name, expected in {"excess": models.excess, "accuracy": right, "away": away}.items():
        assert np.allclose(_column(page, name), expected)
    assert _column(page, "inside").sum() == round(12 * models.hit_rate)
    page.model_panel.dials["psi"].value = 0.01
    assert _column(page, "inside").sum() == round(12 * page.rashomon_set.hit_rate)
    page.state.view = "release"
    assert [c["name"] for c in panel.table.columns] == ["large", "away"]
    assert (
        not any(c["curator"] for c in panel.table.columns) and "curator" not in panel.summary.html
    )


def test_rules_and_ticks_select_models_for_every_figure(page):
    models, panel, state = page.rashomon_set, page.models_panel, page.state
    panel.menu.chosen = "Most different"
    first, second = state.selection
    inside = models.coef[models.excess <= models.psi]
    widest = max(np.linalg.norm(a - b) for a in inside for b in inside)
    assert np.linalg.norm(models.coef[first] - models.coef[second]) >= widest / 2
    assert panel.table.picked == sorted(state.selection)
    panel.table.picked = [1, 4]  # as the browser ticks
    assert state.selection == (1, 4)
    state.clear_selection()
    assert panel.table.picked == []


def test_stars_and_notes_are_kept_with_the_set(page):
    table, state, kept = page.models_panel.table, page.state, page.session.set_store
    table.do("star", 3)
    table.do("note", 3, "least unfair")
    assert table.starred == [3] and table.notes == {"3": "least unfair"}
    assert kept.favourites(state.in_view).starred == (3,)
    set_state(page, selection=(3,), view="release")  # what was selected and noted read private rows
    assert table.starred == [] and table.notes == {} and state.selection == ()
    state.view = "curator"
    assert table.starred == [3]
    path = kept._favourites(state.in_view)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page.session.open_saved(state.in_view)
    assert table.notes == {"3": "least unfair"}
    path.write_text("{")
    number, state.in_view = state.in_view, 0
    state.in_view = number
    assert table.starred == []
