"""The view Set: ψ moved over stored draws, models picked, kept and compared."""

import base64
import stat

import numpy as np
import pytest


def numbers(sent):
    """An array as the browser is sent it."""
    if isinstance(sent, dict):
        return np.frombuffer(base64.b64decode(sent["bdata"]), sent["dtype"])
    return np.asarray(sent)


def dots_of(explorer, card):
    return next(t for t in explorer.cards[card].view.figure["data"] if t["name"] == "draw")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory, cancer):
    from rashomon_explorer.explorer import Explorer

    explorer = Explorer(data=cancer, home=tmp_path_factory.mktemp("home"))
    explorer.state.psi, explorer.state.n_draws, explorer.state.mechanism = 0.6, 12, "exact"
    explorer.draw()
    return explorer


@pytest.fixture
def explorer(drawn):
    """The draws as they were made, in the curator's view."""
    models = drawn.rashomon_set
    yield drawn
    drawn.state.rashomon_set = models.rethreshold(models.plan.psi)
    drawn.state.view, drawn.state.selection = "curator", ()
    assert drawn.state.alert is None


def test_psi_moves_over_the_stored_draws_and_every_count_follows(explorer):
    models, control = explorer.rashomon_set, explorer.cards["losses"].threshold
    middle = float(sorted(models.excess)[5]) * (1 + 1e-9)
    spent = explorer.ledger.spent()
    control.dial.value = middle
    now = explorer.rashomon_set
    assert now.psi == middle and now.n_draws == models.n_draws
    assert now.hit_rate == sum(models.excess <= middle) / 12 == 0.5
    assert (
        "6 of 12 models lie within"
        in explorer.cards["losses"].view.figure["layout"]["title"]["text"]
    )
    assert "6 of 12 inside ψ" in explorer.numbers_panel.facts.value
    assert "guaranteed at ψ = 0.6" in explorer.numbers_panel.facts.value
    assert explorer.ledger.spent() == spent
    assert now.release().psi == 0.6 and now.guarantee == models.guarantee


def test_in_the_release_psi_is_not_offered(explorer):
    control = explorer.cards["losses"].threshold
    assert control.widget.layout.display is None
    explorer.state.view = "release"
    assert control.widget.layout.display == "none"


def test_draws_outside_are_hidden_and_counted_unless_asked_for(explorer):
    cloud = explorer.cards["coefficients"]
    explorer.cards["losses"].threshold.dial.value = float(sorted(explorer.rashomon_set.excess)[5])
    assert "outside ψ hidden" in cloud.view.figure["layout"]["title"]["text"]
    explorer.state.inside_only = False
    assert len(numbers(dots_of(explorer, "coefficients")["x"])) == 12
    assert "◆" in cloud.view.figure["layout"]["title"]["text"]
    explorer.state.inside_only = True


def test_what_is_not_picked_fades(explorer):
    picked = int(np.argmin(explorer.rashomon_set.excess))
    explorer.state.selection = (picked,)
    for name in ("coefficients", "losses"):
        dots = dots_of(explorer, name)
        seen = numbers(dots["marker"]["opacity"]) > 0.5
        assert numbers(dots["customdata"])[seen].tolist() == [picked]


def test_draws_stand_inside_exact_ranges_and_picked_ones_are_ringed(explorer):
    explorer.state.selection = (int(np.argmin(explorer.rashomon_set.excess)),)
    card = explorer.cards["ranges"]
    card.redraw()
    figure = card.view.figure
    assert "can have either sign" in figure["layout"]["title"]["text"]
    names = [trace["name"] for trace in figure["data"]]
    assert "exact range" in names and "selected draws" in names
    exact = explorer.exact.coefficient_ranges()
    inside = explorer.rashomon_set.inside().coef
    assert (inside >= exact["low_outer"].to_numpy() - 1e-9).all()
    problem = explorer.exact.problem
    explorer.cards["losses"].threshold.dial.value = 0.3
    assert explorer.exact.problem is problem and explorer.exact.psi == 0.3
    explorer.state.view = "release"
    card.redraw()
    assert "released at ε = 4" in str(card.view.figure["layout"]["shapes"])


def _column(explorer, name):
    column = next(c for c in explorer.models_panel.table.columns if c["name"] == name)
    return np.frombuffer(column["values"])


def test_every_model_has_a_row_with_its_numbers(explorer):
    models, panel = explorer.rashomon_set, explorer.models_panel
    explorer.state.page = "set"
    assert panel.table.count == 12
    assert np.allclose(_column(explorer, "excess"), models.excess)
    assert _column(explorer, "inside").sum() == round(12 * models.hit_rate)
    right = (models.labels(explorer.rows) == np.asarray(explorer.targets)).mean(axis=1)
    assert np.allclose(_column(explorer, "accuracy"), right)
    assert np.allclose(_column(explorer, "away"), np.linalg.norm(models.coef - models.best, axis=1))
    assert "of 12 models within ψ, accuracy" in panel.said.html
    explorer.cards["losses"].threshold.dial.value = 0.01
    assert _column(explorer, "inside").sum() == round(12 * explorer.rashomon_set.hit_rate)
    explorer.state.view = "release"
    assert [c["name"] for c in panel.table.columns] == ["large", "away"]
    assert not any(c["curator"] for c in panel.table.columns) and "curator" not in panel.said.html


def test_rules_and_ticks_pick_models_for_every_figure(explorer):
    models, panel = explorer.rashomon_set, explorer.models_panel
    simple, near, apart = panel.pickers
    near.click()
    away = np.linalg.norm(models.coef - models.best, axis=1)
    away[models.excess > models.psi] = np.inf
    assert explorer.state.selection == tuple(np.argsort(away, kind="stable")[:5])
    assert panel.table.picked == sorted(explorer.state.selection)
    apart.click()
    first, second = explorer.state.selection
    inside = models.coef[models.excess <= models.psi]
    widest = max(np.linalg.norm(a - b) for a in inside for b in inside)
    assert np.linalg.norm(models.coef[first] - models.coef[second]) >= widest / 2
    simple.click()
    large = _column(explorer, "large")
    assert large[list(explorer.state.selection)].max() <= np.sort(large)[: models.n_draws][-1]
    panel.table.picked = [1, 4]  # as the browser ticks
    assert explorer.state.selection == (1, 4)
    explorer.state.pick_nothing()
    assert panel.table.picked == []


def test_stars_and_notes_are_kept_with_the_set(explorer, tmp_path):
    table, state = explorer.models_panel.table, explorer.state
    table.do("star", 3)
    table.do("note", 3, "least unfair")
    assert table.starred == [3] and table.notes == {"3": "least unfair"}
    kept = explorer.session.set_store
    assert kept.favourites(state.in_view).starred == (3,)
    state.selection, state.view = (3,), "release"  # what was picked and noted read private rows
    assert table.starred == [] and table.notes == {} and state.selection == ()
    state.view = "curator"
    assert table.starred == [3]
    path = kept._favourites(state.in_view)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    explorer.session.open_saved(state.in_view)
    assert table.notes == {"3": "least unfair"}
    path.write_text("{")
    explorer.session.open_saved(state.in_view)
    state.in_view, before = 0, state.in_view
    state.in_view = before
    assert table.starred == [] and state.alert is None


def test_two_models_stand_side_by_side(explorer):
    models, card = explorer.rashomon_set, explorer.cards["pair"]
    card.redraw()
    assert "tick them in the table" in str(card.view.figure["layout"])
    explorer.state.selection = (2, 5)
    card.redraw()
    labels = models.labels(explorer.rows)[[2, 5]]
    count = int((labels[0] != labels[1]).sum())
    title = card.view.figure["layout"]["title"]["text"]
    assert f"({count:,} people)" in title
    assert f"{(labels[0] == np.asarray(explorer.targets)).mean():.1%}" in title
    table = card.call.table()
    assert np.allclose(table["difference"], table["draw 5"] - table["draw 2"])
    assert table["difference"].abs().is_monotonic_decreasing
    explorer.state.selection = (2,)
    card.redraw()
    assert "best model" in [trace.get("name") for trace in card.view.figure["data"]]
    explorer.state.view = "release"
    card.redraw()
    assert "Select two models" in str(card.view.figure["layout"])
    explorer.state.selection = (2, 5)
    card.redraw()
    assert "The largest difference is in" in card.view.figure["layout"]["title"]["text"]
    assert "released at ε = 4" in str(card.view.figure["layout"]["shapes"])


def test_two_sets_are_compared(explorer):
    card, first = explorer.cards["sets"], explorer.rashomon_set
    card.redraw()
    assert "With two sets" in str(card.view.figure["layout"])
    other = explorer.session.set_store.keep(first[[0, 1, 2]], explorer.state.drawn_settings)
    explorer.state.kept = explorer.session.set_store.all()
    card.redraw()
    assert card._other.value == other.number
    title = card.view.figure["layout"]["title"]["text"]
    assert "times as wide as draw 2" in title or "about as wide" in title
    table = card.call.table()
    low, high = first.coef.min(axis=0), first.coef.max(axis=0)
    three = first.coef[:3]
    inside = three.min(axis=0), three.max(axis=0)
    if first.hit_rate == 1:
        assert np.allclose(table["overlap"], (inside[1] - inside[0]) / (high - low))
    assert table["overlap"].between(0, 1).all()
    explorer.session.set_store.delete(other.number)
    explorer.state.kept = explorer.session.set_store.all()
