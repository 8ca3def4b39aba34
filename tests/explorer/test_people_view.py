"""People, groups and features: numbers against the library, and one selection for all figures."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import measures
from rashomon_explorer.explorer.selection import group_columns, group_labels, large_coefficients
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.plots import registry
from rashomon_explorer.plots.figures import FIGURES


def _shown(page, name):
    page.show(name)
    return page.cards[name]


def _title(card):
    return card.view.figure["layout"]["title"]["text"]


def test_who_flips_and_from_which_psi_on_is_what_the_library_proves(loans):
    models, rows = loans.rashomon_set, loans.rows.to_numpy()
    problem = set_problem(models, loans.rows, loans.targets)
    table = _shown(loans, "people_ranges").call.table()
    known = measures.exact_flips(problem, models.psi, loans.rows)["flips"].to_numpy()
    np.testing.assert_array_equal(table["flips"] == "yes", known)
    place = int(np.flatnonzero(~known)[0]) if not known.all() else 0
    flip = loans.exact.person(place)["flip"]
    assert flip == measures.flip_psi(problem, rows[place])
    assert (flip.lower >= models.psi * 0.99) or known[place]
    row = next(row for row in loans.people_table.table.rows if row["id"] == place)
    assert row["cells"][0] == str(place) and "flips" in row["cells"][5]


@pytest.mark.slow
def test_a_row_of_the_table_a_dot_and_a_group_are_one_selection(loans):
    state, table = loans.state, loans.people_table.table
    state.page = "people"
    table.picked = [12]
    assert state.people == (12,)
    loans.cards["people_ranges"].view.clicked = {"id": 30, "at": 1}
    assert state.people == (30,) and table.picked == [30]
    loans.people_headline.column.value = "sex"
    loans.people_headline.group.value = "f"
    assert state.groups == (("sex", "f"),)
    assert table.note == f"{int((loans.data.frame['sex'] == 'f').sum())} of 200 people"
    state.clear_selection()
    assert loans.people_headline.group.value == "everyone" and table.picked == []
    state.rashomon_set = loans.rashomon_set[[int(np.argmin(loans.rashomon_set.excess))]]


def test_every_column_tells_groups_apart_the_sensitive_one_first(loans):
    columns = ("sex", "home", "age", "debt")
    assert group_columns(loans.data) == loans.people_headline.column.options == columns
    groups, models = group_labels(loans.data, "age"), loans.rashomon_set
    assert groups.nunique() == 4 and groups.value_counts().min() > 35
    with pytest.raises(KeyError, match="no column 'moon'"):
        group_labels(loans.data, "moon")
    burden = measures.multiplicity_by_person_group(models, loans.rows, groups)["ambiguity"]
    # Of all 200 people it was asked, so that the exact ambiguity is at least what draws show.
    exact = loans.exact.ambiguity_by(loans.selected.everyone, "age")
    assert (exact >= burden.drop("all rows").reindex(exact.index) - 1e-12).all()


@pytest.mark.slow
def test_a_selection_leaves_what_it_says_and_importance_is_of_it(loans):
    selected, state, rows = loans.selected, loans.state, loans.rows
    assert selected.everything and selected.words == "" and selected.models is loans.rashomon_set
    assert selected.names[1] == "explorer.rows" and len(selected.people) == 200
    assert "all 200 rows" in _title(_shown(loans, "importance"))
    women = (loans.data.frame["sex"] == "f").to_numpy()
    with loans.session.together():
        state.groups, state.selection = (("sex", "f"),), (1, 4)
    assert np.array_equal(selected.people, np.flatnonzero(women))
    assert selected.rows.equals(rows.iloc[np.flatnonzero(women)])
    np.testing.assert_array_equal(selected.models.coef, loans.rashomon_set.coef[[1, 4]])
    assert selected.words == f"2 of 12 models selected · {women.sum()} of 200 rows selected"
    assert eval(selected.names[2], {"explorer": loans}).equals(loans.targets[women])
    assert f"all {women.sum()} rows" in _title(loans.cards["importance"])
    state.clear_selection()
    state.people = (3, 5)  # too few to measure by: marked, and nobody is left out
    assert len(selected.people) == 200
    state.people = tuple(range(40))
    assert selected.people.tolist() == list(range(40))
    state.people, state.groups = (), (("sex", "f"), ("sex", "m"))  # levels of a column add up
    assert len(selected.people) == 200
    quarters = group_labels(loans.data, "age")  # and columns cross
    state.groups = (("sex", "f"), ("age", quarters.iloc[0]))
    both = women & (quarters == quarters.iloc[0])
    assert np.array_equal(selected.people, np.flatnonzero(both))


OF_MODELS = [
    name
    for name, spec in FIGURES.items()
    if {"models", "tree class"} & {*spec.needs} and "linear" in spec.families
]


def _described(card):
    """What a figure is computed from, and what its caption says of the selection; not drawn."""
    call = card.next_call()
    keys = {name: (one.line, one.key) for name, one in call.arguments.items()}
    named = {name: key for name, key in keys.items() if type(key[1]) is not object}
    return named, " · ".join(card._scope(call)), bool(call.lines)


@pytest.mark.parametrize("name", OF_MODELS)
def test_every_figure_follows_the_selection_or_says_what_it_is_of(loans, name):
    card, state, seen = loans.cards.placed(name), loans.state, []
    women = tuple(np.flatnonzero(loans.data.frame["sex"] == "f")[:40])
    for models, people in (((), (3,)), ((1, 4), (3,)), ((), (*women, 3))):
        with loans.session.together():
            state.selection, state.people = models, people
        seen.append(_described(card))
    (before, _, drawn), (of_models, models_words, _), (of_people, people_words, _) = seen
    if not drawn:
        return
    says = ("not only the selected models", "2 of 12 models selected")
    assert not _is_same(of_models, before) or any(words in models_words for words in says)
    reads_rows = {"rows", "exact", "tree class"} & {*card.spec.needs} and name != "person"
    followed = not _is_same(of_people, before) or "40 of 200" in people_words
    assert followed or not reads_rows or "not only the selected ones" in people_words


def _is_same(named, others):
    return registry._is_same(tuple(sorted(named)), tuple(sorted(others))) and all(
        registry._is_same(named[name], others[name]) for name in named
    )


def test_the_table_and_the_headline_of_people_are_of_the_selected_models(loans):
    state, table = loans.state, loans.people_table.table
    state.page = "people"
    place = [c["name"] for c in table.columns].index("sampled")
    before = [row["cells"][place] for row in table.rows]
    assert "of all draws" not in loans.numbers_panel.facts.value
    state.selection = (1, 4)
    assert "the other numbers are of all draws" in loans.numbers_panel.facts.value
    models = loans.rashomon_set[[1, 4]]
    known = measures.ranges.people_ranges(models, loans.rows)
    found = loans.exact.people(loans.selected.few)
    np.testing.assert_allclose(found["drawn_low"], known["drawn_low"])
    assert [row["cells"][place] for row in table.rows] != before
    assert "2 of 12 models selected" in loans.people_headline.words.value


@pytest.mark.parametrize("name", [n for n, spec in FIGURES.items() if spec.selects])
def test_a_drag_selects_where_models_or_people_are_shown_and_never_zooms(loans, name):
    card = loans.cards[name]
    card.redraw()
    assert card.view.figure["layout"]["dragmode"] in ("select", False)
    if not card.lines:
        return
    assert card.view.figure["layout"]["dragmode"] == "select"
    shown = [t for t in card.view.figure["data"] if t.get("customdata") is not None]
    assert shown or card.view.figure["data"][0]["type"] == "histogram"


def test_a_bar_is_all_of_its_models_and_a_bar_of_a_group_is_the_group(loans):
    card, state = loans.cards["losses"], loans.state
    card.view.clicked = {"id": 4, "ids": [4, 2, 7], "at": 1}
    assert state.selection == (2, 4, 7)
    card.view.clicked = {"id": 4, "ids": [4, 2, 7], "at": 2}
    assert state.selection == ()
    state.group_column = "sex"
    loans.cards["burden"].view.clicked = {"id": "f", "ids": ["f"], "at": 3}
    assert state.groups == (("sex", "f"),)


def test_exact_answers_are_found_once_and_are_the_librarys_or_say_why_not(loans):
    problem = measures.declared_problem(loans.estimator, loans.data.frame, loans.targets)
    known, found = measures.exact_coefficient_ranges(problem, 0.3), loans.exact.coefficient_ranges()
    pd.testing.assert_frame_equal(found, known, atol=1e-9)
    assert loans.exact.coefficient_ranges() is found
    problem = loans.exact.problem
    loans.state.rashomon_set = loans.rashomon_set.rethreshold(0.1)
    narrow = loans.exact.coefficient_ranges()
    assert loans.exact.problem is problem  # of which another ψ asks for other ends
    assert (narrow["high"] < found["high"]).all() and loans.exact.why_not == ""


def test_an_intercept_is_no_large_coefficient():
    """Large: at least a tenth of the model's largest, two of three here, and none of a zero."""
    coef = np.array([[1.0, 0.1, 0.09, 50.0], [0.0, 0.0, 0.0, 1.0]])
    assert large_coefficients(SimpleNamespace(coef=coef, outputs=1)).tolist() == [2, 0]
    two = SimpleNamespace(coef=np.hstack([coef[:1], coef[:1]]), outputs=2)
    assert large_coefficients(two).tolist() == [4]
