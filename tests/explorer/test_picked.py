"""What a selection leaves of models and people, and what is proved of the set on screen."""

from types import SimpleNamespace

import numpy as np
import pytest

from rashomon_explorer.explorer.answers import ExactAnswers
from rashomon_explorer.explorer.model_inputs import group_columns, group_labels
from rashomon_explorer.explorer.selection import large_coefficients
from rashomon_explorer.measures import declared_problem, exact_coefficient_ranges


def test_sensitive_columns_come_first_and_numbers_are_put_in_quarters(loans):
    learnt = loans.data
    assert group_columns(learnt) == ("sex", "home", "age", "debt")
    quarters = group_labels(learnt, "age")
    assert quarters.nunique() == 4 and quarters.value_counts().min() > 35
    assert set(group_labels(learnt, "sex")) == {"f", "m"}
    with pytest.raises(KeyError, match="no column 'moon'"):
        group_labels(learnt, "moon")


def test_groups_and_people_and_models_leave_what_they_say(loans):
    picked, state = loans.selected, loans.state
    assert picked.everything and picked.words == "" and picked.models is loans.rashomon_set
    assert picked.names[1] == "explorer.rows" and len(picked.people) == 200
    women = (loans.data.frame["sex"] == "f").to_numpy()
    with loans.session.together():
        state.groups, state.selection = (("sex", "f"),), (1, 4)
    assert np.array_equal(picked.people, np.flatnonzero(women))
    assert picked.rows.equals(loans.rows.iloc[np.flatnonzero(women)])
    np.testing.assert_array_equal(picked.models.coef, loans.rashomon_set.coef[[1, 4]])
    assert picked.words == f"2 of 12 models selected · {women.sum()} of 200 rows selected"
    assert eval(picked.names[2], {"explorer": loans}).equals(loans.targets[women])
    state.pick_nothing()
    state.people = (3, 5)  # too few to measure by: marked, and nobody is left out
    assert len(picked.people) == 200
    state.people = tuple(range(40))
    assert picked.people.tolist() == list(range(40))


def test_levels_of_one_column_add_up_and_columns_cross(loans):
    groups = (("sex", "f"), ("sex", "m"))
    loans.state.groups = groups
    assert len(loans.selected.people) == 200
    quarter = group_labels(loans.data, "age").iloc[0]
    loans.state.groups = (("sex", "f"), ("age", quarter))
    frame = loans.data.frame
    both = (frame["sex"] == "f") & (group_labels(loans.data, "age") == quarter)
    assert np.array_equal(loans.selected.people, np.flatnonzero(both))


def test_exact_answers_are_found_once_and_are_the_librarys(loans):
    known = exact_coefficient_ranges(
        declared_problem(loans.estimator, loans.data.frame, loans.targets), 0.3
    )
    found = loans.exact.coefficient_ranges()
    np.testing.assert_allclose(found.to_numpy(), known.to_numpy(), atol=1e-9)
    assert loans.exact.coefficient_ranges() is found
    problem = loans.exact.problem
    loans.state.rashomon_set = loans.rashomon_set.rethreshold(0.1)
    narrow = loans.exact.coefficient_ranges()
    assert loans.exact.problem is problem  # of which another ψ asks for other ends
    assert (narrow["high"] < found["high"]).all()


def test_where_nothing_is_proved_it_says_why(loans):
    assert loans.exact.why_not == ""
    rows, loans.session.rows = loans.session.rows, None
    assert "targets" in ExactAnswers(loans.session).why_not
    loans.session.rows = rows
    loans.state.rashomon_set = None
    assert "linear models" in loans.exact.why_not


def test_an_intercept_is_no_large_coefficient():
    """Large: at least a tenth of the model's largest, two of three here, and none of a zero."""
    coef = np.array([[1.0, 0.1, 0.09, 50.0], [0.0, 0.0, 0.0, 1.0]])
    counted = large_coefficients(SimpleNamespace(coef=coef, outputs=1))
    assert counted.tolist() == [2, 0]
    two = large_coefficients(SimpleNamespace(coef=np.hstack([coef[:1], coef[:1]]), outputs=2))
    assert two.tolist() == [4]
