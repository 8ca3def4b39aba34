"""Public constants against brute force over rows and models."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.problem import Problem

RADII = st.floats(0.1, 4)
NORMS = st.floats(0.1, 2)
RIDGES = st.sampled_from([0.0, 0.7])
LOSS = st.sampled_from(["logistic", "squared", "hinge", "smoothed_hinge", "absolute"])


def unit_circle(points):
    angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
    return np.array([np.cos(angle), np.sin(angle)])


def disc(radius):
    return np.hstack([radius * share * unit_circle(36) for share in (0.0, 0.3, 0.7, 1.0)])


@given(LOSS, RADII, NORMS, RIDGES, st.integers(1, 4))
def test_no_replacement_of_a_record_moves_the_loss_by_more(loss, radius, norm, ridge, n):
    constants = Constants.of(loss, n=n, p=2, domain=Ball(radius), row_bound=norm, ridge=ridge)
    theta = disc(radius)
    rows = np.hstack([norm * unit_circle(12), 0.5 * norm * unit_circle(4)]).T
    labelled = get_loss(loss).task == "classification"
    targets = (-1.0, 1.0) if labelled else (-1.0, 0.2, 1.0)
    own = {"loss": loss, "radius": radius, "row_norm": norm, "ridge": ridge, "intercept": False}
    values = [
        Problem([*[rows[0]] * (n - 1), row], [*[1.0] * (n - 1), target], **own).value(theta)
        for row, target in itertools.product(rows, targets)
    ]
    spans = [float(np.ptp(a - b)) for a, b in itertools.combinations(values, 2)]
    assert max(spans) <= constants.osc * (1 + 1e-9)
    if labelled or radius * norm <= 1:
        assert max(spans) >= constants.osc * (1 - 1e-9)  # opposite rows attain it
    else:
        assert max(spans) >= constants.osc * 0.8


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n": 0}, "must be a whole number, at least 1"),
        ({"row_bound": 1e110, "domain": Ball(1e-60)}, "could be as long as 1e.110"),
        ({"row_bound": 1e-60, "domain": Ball(1e110)}, "could be as long as 1e.110"),
        ({"row_bound": 0.0}, "row_bound must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"loss": "zero_one"}, "loss must be one of"),
        ({"loss": "softmax", "p": 5}, "multiple of the loss's 2 scores per row, got p=5"),
    ],
)
def test_errors_name_the_parameter(bad, message):
    good = {"loss": "logistic", "n": 10, "p": 2, "domain": Ball(1.0), "row_bound": 1.0}
    with pytest.raises(ValueError, match=message):
        Constants.of(**{**good, **bad})


def test_the_charged_oscillation_has_the_gap_it_allows_and_kinks_a_coarser_one():
    for loss, share in (("hinge", 1e-3), ("absolute", 1e-3), ("smoothed_hinge", 1e-6)):
        constants = Constants.of(loss, n=50, p=3, domain=Ball(2.0), row_bound=1.0)
        assert constants.gap_tolerance == share * constants.osc
        assert constants.charged_oscillation == constants.osc + 2 * constants.gap_tolerance
        assert math.isinf(constants.M) == (share == 1e-3)


def test_another_domain_has_the_constants_of_the_ball_around_it():
    lens = Intersection(Shifted(Ball(5.0), (1.0, 2.0)), Ball(4.0))
    around = Ball(lens.radius)
    inside, outside = (
        Constants.of("logistic", n=9, p=2, domain=domain, row_bound=1.0, ridge=0.2)
        for domain in (lens, around)
    )
    assert inside == outside
    with pytest.raises(ValueError, match="domain has 2 parameters, got p=3"):
        Constants.of("logistic", n=9, p=3, domain=lens, row_bound=1.0)


def test_the_whole_row_has_the_intercepts_one():
    assert row_bound(0.75, intercept=True) == 1.25
    assert row_bound(0.75, intercept=False) == 0.75
    with pytest.raises(ValueError, match="row_norm"):
        row_bound(-1.0, intercept=True)
