"""The thresholded Gibbs law."""

import numpy as np
import pytest

from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem

PROBLEM = Problem([[0.5], [-0.5], [0.2]], [1, -1, -1], radius=2.0)


def test_the_density_is_flat_on_the_set_lower_outside_and_zero_off_the_ball():
    target = GibbsTarget(PROBLEM, beta=30.0, psi=0.05)
    theta = PROBLEM.domain.project(np.random.default_rng(0).standard_normal((2, 500)))
    excess = target.excess(theta)
    log_density = target.log_density(theta * (1 - 1e-9))
    inside = excess <= 0.05 - 1e-6
    assert inside.any() and (~inside).any()
    assert (log_density[inside] == 0).all()
    assert (log_density[~inside] <= 0).all()
    np.testing.assert_allclose(
        log_density[~inside], -30.0 * np.maximum(excess[~inside] - 0.05, 0), atol=1e-5
    )
    assert target.log_density(np.array([[3.0], [0.0]]))[0] == -np.inf


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"beta": 0.0, "psi": 0.1}, "beta must be finite and > 0, got 0.0"),
        ({"beta": np.inf, "psi": 0.1}, "beta must be finite and > 0"),
        ({"beta": 1.0, "psi": -0.1}, "psi must be finite and >= 0, got -0.1"),
    ],
)
def test_parameters_that_define_no_law_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        GibbsTarget(PROBLEM, **setting)
