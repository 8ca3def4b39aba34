"""How near the minimiser must lie before noise hides what it is off."""

import numpy as np

import rashomon_explorer.mechanisms.one_model as output_perturbation
from rashomon_explorer import DPClassifier


def test_a_noisy_minimisers_gap_is_that_of_the_distance_that_was_paid_for(monkeypatch):
    asked = []

    def refined(problem, minimum, tolerance):
        asked.append((tolerance, problem.m))
        return minimum

    monkeypatch.setattr(output_perturbation, "refined", refined)
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (400, 2))
    one = DPClassifier(mechanism="output_perturbation", epsilon=4.0, radius=4.0, random_state=0)
    one.fit(X, (X[:, 0] > 0).astype(int))
    [(tolerance, m)] = asked
    assert tolerance == m * one.plan_.settings.solver**2 / 2
