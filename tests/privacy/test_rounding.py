import math

from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.privacy.rounding import rounded_down, rounded_up

POSITIVE = st.floats(1e-300, 1e300)
HAIR = 1e-11


@given(POSITIVE)
def test_a_price_is_never_printed_too_low_nor_far_too_high(value: float) -> None:
    assert value * (1 - HAIR) <= float(rounded_up(value)) <= value * (1 + 1.001e-3)


@given(POSITIVE)
def test_what_is_left_is_never_printed_too_high_nor_far_too_low(value: float) -> None:
    assert value * (1 - 1.001e-3) <= float(rounded_down(value)) <= value * (1 + HAIR)


@given(st.integers(1, 9999), st.integers(-8, 3))
def test_a_short_decimal_is_printed_as_it_is(digits: int, power: int) -> None:
    value = float(f"{digits}e{power}")
    assert float(rounded_up(value)) == float(rounded_down(value)) == value


def test_edges() -> None:
    assert rounded_up(0.0) == rounded_down(0.0) == "0"
    assert rounded_up(math.inf) == rounded_down(math.inf) == "inf"
