"""What a selection leaves of models and people, and what is proved of the set on screen."""

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.datasets import load_csv
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.exact_answers import ExactAnswers
from rashomon_explorer.explorer.group_columns import group_columns, group_labels
from rashomon_explorer.measures import declared_problem, exact_coefficient_ranges


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 200), "debt": rng.uniform(0, 1, 200)})
    frame["sex"] = np.where(rng.random(200) < 0.5, "f", "m")
    frame["repaid"] = np.where(frame["age"] / 90 + rng.normal(0, 0.3, 200) > frame["debt"], 1, 0)
    frame.to_csv(home / "loans.csv", index=False)
    with pytest.warns(UserWarning, match="learnt from the rows"):
        data = load_csv(home / "loans.csv", target="repaid", sensitive=["sex"], learn_bounds=True)
    explorer = Explorer(data=data, home=home)
    for name, value in {"psi": 0.3, "n_draws": 12, "sampler": "hit_and_run"}.items():
        setattr(explorer.state, name, value)
    explorer.draw()
    return explorer


@pytest.fixture
def drawn(once):
    models, rows = once.rashomon_set, once.session.rows
    yield once
    once.session.rows = rows
    with once.state.hold_trait_notifications():
        once.state.rashomon_set = models
        once.state.pick_nothing()


def test_sensitive_columns_come_first_and_numbers_are_put_in_quarters(drawn):
    learnt = drawn.data
    assert group_columns(learnt) == ("sex", "age", "debt")
    quarters = group_labels(learnt, "age")
    assert quarters.nunique() == 4 and quarters.value_counts().min() > 35
    assert set(group_labels(learnt, "sex")) == {"f", "m"}
    with pytest.raises(KeyError, match="no column 'home'"):
        group_labels(learnt, "home")


def test_groups_and_people_and_models_leave_what_they_say(drawn):
    picked, state = drawn.picked, drawn.state
    assert picked.everything and picked.words == "" and picked.models is drawn.rashomon_set
    assert picked.names[1] == "explorer.rows" and len(picked.people) == 200
    women = (drawn.data.frame["sex"] == "f").to_numpy()
    state.groups, state.selection = (("sex", "f"),), (1, 4)
    assert np.array_equal(picked.people, np.flatnonzero(women))
    assert picked.rows.equals(drawn.rows.iloc[np.flatnonzero(women)])
    np.testing.assert_array_equal(picked.models.coef, drawn.rashomon_set.coef[[1, 4]])
    assert picked.words == f"the 2 picked of 12 models · {women.sum()} picked of 200 rows"
    assert eval(picked.names[2], {"explorer": drawn}).equals(drawn.targets[women])
    state.pick_nothing()
    state.people = (3, 5)  # too few to measure by: marked, and nobody is left out
    assert len(picked.people) == 200
    state.people = tuple(range(40))
    assert picked.people.tolist() == list(range(40))


def test_levels_of_one_column_add_up_and_columns_cross(drawn):
    groups = (("sex", "f"), ("sex", "m"))
    drawn.state.groups = groups
    assert len(drawn.picked.people) == 200
    quarter = group_labels(drawn.data, "age").iloc[0]
    drawn.state.groups = (("sex", "f"), ("age", quarter))
    frame = drawn.data.frame
    both = (frame["sex"] == "f") & (group_labels(drawn.data, "age") == quarter)
    assert np.array_equal(drawn.picked.people, np.flatnonzero(both))


def test_exact_answers_are_found_once_and_are_the_librarys(drawn):
    known = exact_coefficient_ranges(
        declared_problem(drawn.estimator, drawn.data.frame, drawn.targets), 0.3
    )
    found = drawn.exact.coefficient_ranges()
    np.testing.assert_allclose(found.to_numpy(), known.to_numpy(), atol=1e-9)
    assert drawn.exact.coefficient_ranges() is found
    drawn.state.rashomon_set = drawn.rashomon_set[:5]
    assert drawn.exact.coefficient_ranges() is not found


def test_where_nothing_is_proved_it_says_why(drawn):
    assert drawn.exact.why_not == ""
    rows, drawn.session.rows = drawn.session.rows, None
    assert "targets" in ExactAnswers(drawn.session).why_not
    drawn.session.rows = rows
    drawn.state.rashomon_set = None
    assert "linear models" in drawn.exact.why_not
