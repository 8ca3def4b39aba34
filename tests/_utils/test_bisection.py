"""Halving: the end that is returned was seen to hold, and is next to where the condition turns."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer._utils.bisection import bisect

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
