"""The page with trees: planned, charged, drawn, shown, kept, and shown again."""

import pytest

from rashomon_explorer import Explorer, RashomonTreeClassifier, load_dataset
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.sets import PredictorSet


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    explorer = Explorer(load_dataset("lending"), home=tmp_path_factory.mktemp("home"))
    state = explorer.state
    state.family, state.max_leaves, state.n_draws = "trees", 3, 6
    before = explorer.plan, explorer.draw_panel.price.value
    explorer.plan_panel.explanation.value = True
    explorer.draw()
    return explorer, before


def _words(card):
    card.redraw()
    layout = card.view.figure["layout"]
    said = " ".join(one["text"] for one in layout.get("annotations", ()))
    return said, len(card.view.figure["data"])


def test_the_plan_is_of_trees_and_the_price_is_said(page):
    plan, price = page[1]
    assert isinstance(plan, TreePlan) and plan.n_draws == 6 and plan.most_leaves == 3
    assert "This will spend <b>ε = 4</b>" in price
    assert "trees of at most 3 leaves" in page[0].plan_panel._words.value


def test_draws_are_paid_trees_of_the_tables_own_columns(page):
    explorer, _ = page
    models = explorer.rashomon_set
    assert explorer.state.phase == "done" and isinstance(models, PredictorSet)
    assert models.guarantee.holds and explorer.state.alert is None
    assert explorer.ledger.spent() == pytest.approx(4.0, rel=1e-3)
    assert models.labels(explorer.rows).shape == (6, len(explorer.rows))
    assert explorer.estimator.predict(explorer.data.frame).shape == (len(explorer.rows),)


def test_trees_and_rules_are_shown_and_the_rest_says_where_to_look(page):
    explorer, _ = page
    for name in ("trees", "rules", "losses", "plan", "importance", "decomposition"):
        assert _words(explorer.cards[name])[1] > 0, name
    for name in ("coefficients", "ranges", "pair"):
        said, traces = _words(explorer.cards[name])
        assert "These models are trees" in said and traces == 0
    explorer.cards["rules"].search.value = "no such question"
    assert "0 places" in str(explorer.cards["rules"].next_call().figure().layout.title.text)
    explorer.cards["rules"].search.value = ""
    explorer.cards["rules"].starred.value = True
    assert "No tree has a star" in _words(explorer.cards["rules"])[0]
    explorer.state.favourites = explorer.state.favourites.toggled(2)
    assert _words(explorer.cards["rules"])[1] > 0
    explorer.cards["rules"].starred.value = False


def test_what_is_true_of_all_trees_is_shown_exactly(page):
    explorer, _ = page
    answers, psi = explorer.tree_answers, explorer.state.psi
    sizes = answers.sizes()
    assert sizes[psi].sum() == answers.counted.size(psi) and set(sizes.index) == {1, 2, 3}
    drawn = explorer.rashomon_set
    assert drawn.least == pytest.approx(answers.counted.least)  # the class that draws come from
    explorer.state.people = (5,)
    for name in ("tree_sizes", "tree_flips", "tree_questions", "witness"):
        assert _words(explorer.cards[name])[1] > 0, name
    both = answers.flipping(5)
    said = both.labels(explorer.rows.iloc[[5]])[:, 0]
    assert said[0] != said[1]
    assert both.excess[1] == pytest.approx(answers.flips()["psi"][5])
    table = answers.features()
    for way, column in (("asking", "psi_using"), ("without", "psi_avoiding")):
        losses = getattr(answers, way)(table.index[7]).losses
        assert losses[1] - losses[0] == pytest.approx(table[column].iloc[7], abs=1e-9)
    witness = explorer.cards["witness"]
    for does in reversed(witness.does.options):
        witness.does.value = does
        assert "loses" in witness.next_call().figure().layout.title.text
    explorer.state.view = "release"
    assert "not part of the release" in _words(witness)[0]
    explorer.state.view, explorer.state.people = "curator", ()
    witness.does.value = "flips the label of the selected person"
    assert "Select a person" in _words(witness)[0]


def test_the_release_shows_what_was_paid_and_no_loss(page):
    explorer, _ = page
    explorer.state.view = "release"
    for name in ("trees", "rules"):
        card = explorer.cards[name]
        card.redraw()
        assert card.view.figure["layout"]["meta"]["view"] == "release"
        assert "loss" not in str(card.view.figure["data"])
    explorer.state.view = "curator"
    assert 'rx-paid-band">released<' in explorer.take_panel.receipt.value


def test_kept_trees_are_shown_again_and_linear_models_come_back(page):
    explorer, _ = page
    models, number = explorer.rashomon_set, explorer.state.in_view
    explorer.state.family = "linear"
    assert not isinstance(explorer.plan, TreePlan)
    explorer.session.open_saved(number)
    assert explorer.rashomon_set.models.trees == models.models.trees
    assert "RashomonClassifier" in explorer.model_panel.lines()[1]


@pytest.mark.law
def test_a_fitted_estimator_of_trees_opens(tmp_path):
    data = load_dataset("lending")
    settings = {"schema": data.schema, "n_draws": 2, "max_leaves": 2, "psi": 0.1}
    frame = data.frame
    fitted = RashomonTreeClassifier(**settings).fit(frame, frame[data.schema.target.name])
    explorer = Explorer(fitted, data=data, home=tmp_path)
    assert explorer.rashomon_set.n_draws == 2 and explorer.state.family == "trees"
    with pytest.raises(TypeError, match="got a release"):
        Explorer(fitted.rashomon_set_.release())
