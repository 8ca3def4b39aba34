"""The view Set: ψ moved over stored draws, models picked, kept and compared."""

import base64

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
    explorer.state.psi, explorer.state.n_draws, explorer.state.sampler = 0.6, 12, "exact"
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
    explorer.state.selection = (3,)
    for name in ("coefficients", "losses"):
        dots = dots_of(explorer, name)
        seen = numbers(dots["marker"]["opacity"]) > 0.5
        assert numbers(dots["customdata"])[seen].tolist() == [3]
