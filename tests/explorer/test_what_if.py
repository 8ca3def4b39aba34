"""A person's features stand on their card, can be changed, and show which models answer anew."""

import json

import numpy as np
import pytest

from rashomon_explorer.data import Numeric, TableSchema, YesNo
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.plots import plot_what_if
from rashomon_explorer.plots.person import what_if_table
from tests.explorer.pages import SCHEMA, drawn, held_page, loans_table, set_state


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    return drawn(held_page(tmp_path_factory.mktemp("home")))


@pytest.fixture
def page(private):
    yield private
    private.state.view = "curator"
    private.state.clear_selection()
    assert private.state.alert is None


def _form(page):
    page.state.page = "people"
    return page.cards["person"].controls["features"].widget


def _fields(page):
    return {field["name"]: field for field in _form(page).fields}


def _title(card):
    card.redraw()
    return card.view.figure["layout"]["title"]["text"]


@pytest.mark.slow
def test_the_features_of_a_person_are_those_of_the_table_in_its_units(page):
    table = page.exact.people(page.selected.few)
    width = (table["drawn_high"] - table["drawn_low"]).where(table["drawn_flips"] > 0)
    assert page.session.what_if.person == width.idxmax()  # nobody is selected
    assert f"Person {width.idxmax()}: " in _title(page.cards["person"])
    page.state.people = (7,)
    fields, row = _fields(page), page.data.frame.iloc[7]
    assert set(fields) == {"age", "debt", "home"} and list(fields)[2] == "home"
    assert float(fields["age"]["value"]) == row["age"] and fields["age"]["hint"] == "18 to 90"
    assert fields["home"]["value"] == row["home"]
    assert fields["home"]["options"] == ["own", "rent"]
    np.testing.assert_allclose(page.session.what_if.before, page.rows.iloc[[7]], atol=1e-12)


@pytest.mark.slow
def test_a_change_shows_which_models_answer_otherwise_and_can_be_taken_back(page):
    page.state.people = (7,)
    card, form, models = page.cards["person"], _form(page), page.rashomon_set
    before = _title(card)
    form.do("age", "20")
    form.do("debt", "0.99")
    assert page.state.edits == {"age": "20", "debt": "0.99"}
    other = page.data.frame.iloc[[7]].assign(age=20, debt=0.99)
    rows = np.asarray(page.session.encoder.transform(other))
    inside = models.inside()
    labels = np.stack([inside.labels(page.rows.iloc[[7]]), inside.labels(rows)])[..., 0]
    changed = int((labels[0] != labels[1]).sum())
    verb = "changes" if changed == 1 else "change"
    title = _title(card)
    assert f"changed: {changed} of {inside.n_draws} models {verb} their answer" in title
    table = card.call.table()
    np.testing.assert_allclose(table["after"], inside.scores(rows)[:, 0])
    assert int(table["changes"].sum()) == changed
    form.do("age", _fields(page)["age"]["own"])
    assert page.state.edits == {"debt": "0.99"}
    form.do("")
    assert page.state.edits == {} and _title(card) == before
    form.do("age", "20")
    page.state.people = (8,)  # the changes were those of another person
    assert page.state.edits == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("age", "old", "age must be a number from 18 to 90, got 'old'"),
        ("age", "200", "age must be a number from 18 to 90, got '200'"),
        ("home", "boat", "home must be one of own, rent, got 'boat'"),
        ("moon", "1", "no feature is called 'moon'"),
    ],
)
def test_a_value_that_no_person_has_is_refused_and_the_field_shows_the_last_one(
    page, name, value, reason
):
    page.state.people = (7,)
    count = _form(page).count
    _form(page).do(name, value)
    assert reason in page.state.alert.reason and page.state.edits == {}
    assert _form(page).count == count + 1
    page.state.alert = None


@pytest.mark.slow
def test_in_a_release_the_person_is_made_up_from_the_schema_alone(page):
    page.state.people = (7,)
    card, form = page.cards["person"], _form(page)
    page.state.view = "release"
    fields = {name: field["value"] for name, field in _fields(page).items()}
    assert (fields["age"], fields["debt"], fields["home"]) == ("54", "0.5", "own")
    assert "A made-up person" in _title(card)
    form.do("age", "89")
    assert "A made-up person, changed: " in _title(card)
    values = {name: one.find() for name, one in card.call.arguments.items()}
    assert values["person"] is None and "X" not in values
    released, rows = page.rashomon_set.release(), [values["before"], values["after"]]
    known = plot_what_if(released, *rows, answer=values["answer"])
    assert known.layout.title.text.split("<br>")[0] in _title(card)
    # Negative control: another person, and other rows, change nothing that is shown.
    shown = json.dumps(card.view.figure, default=lambda value: np.asarray(value).tolist())
    with page.session.together():
        page.state.people = (11,)
    form.do("age", "89")
    _title(card)
    again = json.dumps(card.view.figure, default=lambda value: np.asarray(value).tolist())
    assert shown == again


def test_an_unconfirmed_schema_shows_no_made_up_person(tmp_path):
    frame = loans_table().head(200)[["age", "repaid"]]
    learnt = Numeric("age", (18, 90), learnt=("bounds",))
    schema = TableSchema([learnt, YesNo("repaid", ("no", "yes"), role="target")])
    page = Explorer(data=TableEditor("held", frame, schema).data(), home=tmp_path)
    page.draw()
    page.state.people = (7,)
    assert list(_fields(page)) == ["age"]
    page.state.view = "release"
    card = page.cards["person"]
    _title(card)
    assert _fields(page) == {} and not card.lines


@pytest.mark.slow
def test_trees_and_regressions_have_their_own_words(private, tmp_path):
    page = held_page(tmp_path)
    page.state.family, page.state.max_leaves = "trees", 3
    drawn(page)
    page.state.people = (7,)
    assert _fields(page)["home"]["options"] == ["own", "rent"]
    np.testing.assert_array_equal(page.session.what_if.before, page.rows.iloc[[7]])
    _form(page).do("debt", "1")
    assert "models change" in _title(page.cards["person"])
    page.state.view = "release"
    _form(page).do("debt", "1")
    assert "A made-up person, changed: " in _title(page.cards["person"])
    table = what_if_table(private.rashomon_set.release(), [[0.0] * 5], [[0.1] * 5])
    assert len(table) == private.rashomon_set.n_draws and SCHEMA.target.name == "repaid"


@pytest.mark.slow
def test_the_next_conflicting_person_and_what_makes_every_good_model_say_yes(tmp_path):
    page = held_page(tmp_path)
    set_state(page, psi=0.05, n_draws=6, mechanism="hit_and_run", radius=4.0)
    page.draw()
    page.state.page = "people"
    form, what_if = page.cards["person"].controls["features"], page.session.what_if
    conflicting = np.sort(what_if.conflicting)
    page.state.people = (int(conflicting[0]),)
    form.widget.do(":next")
    assert page.state.people == (conflicting[1],)
    form.widget.do(":previous")
    form.widget.do(":previous")
    assert page.state.people == (conflicting[-1],) and form.widget.moves
    form.widget.do(":random")
    assert page.state.people[0] in conflicting
    ends = what_if.variants([{"debt": "1", "age": "18"}, {"debt": "0", "age": "90"}])
    assert page.exact.all_accept(ends)[1:].tolist() == [False, True]
    table = page.exact.people(page.selected.few)
    page.state.people = (int(table["best"].idxmin()),)
    words = form.recourse()
    assert words.startswith("What would make every good model say “repaid = yes”? ")
    for part in words.split("? ")[1].rstrip(".").split(", "):  # by as much each model says yes
        name, by = part.replace("−", "-").split(" ")
        form.widget.do(name, str(float(_fields(page)[name]["own"]) + 1.03 * float(by)))
    assert page.exact.all_accept(what_if.after)[0]
    page.state.view = "release"
    assert form.recourse() == "" and not form.widget.moves
