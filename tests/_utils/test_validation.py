"""One check a range, alike everywhere; and halving that ends on the side that holds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.bisection import bisect

INF = math.inf
# For each check: the words of its refusal, and where it may be passed by a finite number.
CHECKS = {
    "check_positive": ("finite and > 0", lambda x: x > 0),
    "check_nonnegative": ("finite and >= 0", lambda x: x >= 0),
    "check_nonnegative_or_infinite": (">= 0", lambda x: x >= 0),
    "check_epsilon": ("epsilon must be ", lambda x: 1e-12 <= x <= 1e9),
    "check_count": ("a whole number, at least 1", lambda x: isinstance(x, int) and x >= 1),
    "check_delta": ("[0, 1)", lambda x: 0 <= x < 1),
    "check_share": ("[0, 1]", lambda x: 0 <= x <= 1),
    "check_inner_share": ("(0, 1)", lambda x: 0 < x < 1),
    "check_strong_convexity": ("finite and > 0", lambda x: x > 0),
}
EVERY = pytest.mark.parametrize("name", CHECKS)


def refusal(name, value):
    """What a check says of a value, or None where it lets it pass."""
    check = getattr(validation, name)
    try:
        if name in ("check_delta", "check_epsilon"):
            check(value)
        elif name == "check_strong_convexity":
            check(value, "Theorem 1")
        else:
            check(it=value)
    except ValueError as error:
        return str(error)
    return None


def test_every_check_is_tried():
    named = {name for name in vars(validation) if name.startswith("check_")}
    assert named == set(CHECKS)


STRANGE = [
    *(True, False, np.True_, math.nan, np.float32("nan"), -INF, 10**400, -(10**400)),
    *(None, "1", [1.0], 1j, np.array([0.5]), Fraction(-1, 2)),
]


@EVERY
@given(x=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70))
def test_numbers_pass_exactly_in_the_range(name, x):
    words, inside = CHECKS[name]
    for value in (x, np.float64(x)) if isinstance(x, float) else (x,):
        said = refusal(name, value)
        assert (said is None) == inside(x)
        assert said is None or (words in said and repr(value) in said)


@EVERY
def test_types_and_infinity(name):
    for strange in STRANGE:
        said = refusal(name, strange)
        assert CHECKS[name][0] in said and len(said) < 200  # and not four hundred digits
    assert (refusal(name, INF) is None) == name.endswith("or_infinite")
    for value in (np.float32(0.5), Fraction(1, 2), 0.5):
        assert (refusal(name, value) is None) == (name != "check_count")
    with pytest.raises(ValueError, match=r"beta must be finite and > 0, got 0\.0"):
        validation.check_positive(alpha=1.0, beta=0.0)  # the value that fails is named


def test_a_count_is_whole_by_type():
    for count in (3.0, np.float64(3.0), Fraction(3)):
        assert "whole number" in refusal("check_count", count)
    for count in (1, 3, np.int32(3), np.uint8(3), 2**200):
        assert refusal("check_count", count) is None


ENDS = st.floats(-1e6, 1e6)


@given(good=ENDS, bad=ENDS, turn=st.floats(0.0, 1.0))
def test_it_ends_within_an_ulp_of_the_turn_on_the_side_that_holds(good, bad, turn):
    place = good + turn * (bad - good)
    inside = (lambda x: x <= place) if good <= bad else (lambda x: x >= place)
    found = bisect(inside, good, bad, halvings=2200)
    assert inside(found) or found == good
    beyond = math.nextafter(found, bad)
    assert found == bad or beyond == bad or not inside(beyond) or inside(bad)


def test_it_tries_no_more_than_it_may_and_stops_where_the_ends_are_near():
    tried = []
    bisect(lambda x: bool(tried.append(x)), 0.0, 1.0, halvings=7)
    assert tried == [2.0**-k for k in range(1, 8)]
    assert bisect(lambda x: x <= 0.3, 0.0, 1.0, halvings=99, width=0.25) == 0.25
