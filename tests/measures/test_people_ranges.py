"""Ranges of people's answers: draws inside the exact ends, flips as they are proved."""

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.measures import exact_flips
from rashomon_explorer.measures.ranges import people_ranges, set_problem


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (300, 2))
    return X, X[:, 0] + rng.normal(0, 0.3, 300)


def test_draws_lie_inside_what_is_proved_and_flips_agree(table):
    X, y = table[0], (table[1] > 0).astype(int)
    fitted = RashomonClassifier(psi=0.05, epsilon=60.0, n_draws=40, random_state=0).fit(X, y)
    models = fitted.rashomon_set_
    problem, few = set_problem(models, X, y), X[:40]
    found = people_ranges(models, few, problem)
    inside = models.inside()
    scores, best = inside.scores(few), models.best_scores(few)
    np.testing.assert_allclose(found["drawn_low"], scores.min(axis=0))
    assert (found["exact_low"] <= found["drawn_low"] + 1e-9).all()
    assert (found["exact_high"] >= found["drawn_high"] - 1e-9).all()
    # Whom a draw inside flips, the set flips; a range across 1/2 and a flip are one thing.
    share = ((scores > 0.5) != (best > 0.5)).mean(axis=0)
    np.testing.assert_allclose(found["drawn_flips"], share)
    assert (found.loc[share > 0, "flips"] == "yes").all()
    known = exact_flips(problem, models.psi, few)["flips"].to_numpy()
    assert ((found["flips"] == "yes") == known).all() and 0 < known.mean() < 1
    crosses = (found["exact_low"] < 0.5) & (found["exact_high"] > 0.5)
    assert (crosses == known).mean() > 0.9


def test_a_regressions_ends_are_in_the_units_of_its_target(table):
    X, y = table[0], 10 + 5 * np.clip(table[1], -1, 1)
    fitted = RashomonRegressor(
        psi=0.05, epsilon=60.0, n_draws=20, target_bounds=(5.0, 15.0), random_state=0
    ).fit(X, y)
    models = fitted.rashomon_set_
    found = people_ranges(models, X[:9], set_problem(models, X, y))
    assert "flips" not in found and "drawn_flips" not in found
    assert (found["exact_low"] <= found["best"]).all()
    assert (found["exact_low"] <= found["drawn_low"] + 1e-9).all()
    np.testing.assert_allclose(found["best"], models.best_scores(X[:9]))
