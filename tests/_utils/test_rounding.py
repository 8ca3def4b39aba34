import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from rashomon_explorer._utils.formatting import (
    epsilon_text,
    hit_rate_text,
    left_text,
    rounded_down,
    rounded_up,
)

ANY = st.floats(0.0, allow_infinity=False, allow_subnormal=True)
STEP = Fraction(1001, 10**6)


@given(ANY)
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
@example(0.1 + 0.2)
@example(5e-324)
@example(math.nextafter(math.inf, 0.0))
def test_no_price_is_read_back_lower_and_nothing_left_higher_not_by_an_ulp(value):
    assert float(rounded_down(value)) <= value <= float(rounded_up(value))
    if value > 1e-300:
        assert Fraction(rounded_up(value)) <= Fraction(value) * (1 + STEP)
        assert Fraction(rounded_down(value)) >= Fraction(value) * (1 - STEP)


@given(st.floats(1e-300, 1e300))
def test_the_double_itself_lies_between_the_two(value):
    """The double, not only its shortest decimal: but for values that are short decimals."""
    low, high = Fraction(rounded_down(value)), Fraction(rounded_up(value))
    assert low <= Fraction(value) <= high or low == high == Fraction(Decimal(repr(value)))


def test_edges():
    for value in (1e-8, 0.3, 9.999, 12.5, 1234.0, 9_999_000.0):  # short decimals are printed so
        assert float(rounded_up(value)) == float(rounded_down(value)) == value
    assert rounded_up(0.0) == rounded_down(0.0) == "0"
    assert rounded_up(math.inf) == rounded_down(math.inf) == "inf"
    assert rounded_up(math.nan) == "nan"
    assert epsilon_text(math.inf) == left_text(math.inf) == "∞"
    assert rounded_up(1e-6) == "1e-06" and rounded_up(1.2341e-6) == "1.235e-06"
    assert rounded_up(12_341.0) == "12350" and rounded_down(9_999_999.0) == "9.999e+06"
    for hair in (1e-12, 1e-13, 1e-15):  # which twelve digits do not see
        assert rounded_up(1.0 + hair) == "1.001" and rounded_down(1.0 - hair) == "0.9999"
    assert rounded_up(999_999.0) == "1e+06" and rounded_down(-1.23401) == "-1.235"


@given(st.floats(0.0, 1.0))
def test_a_guaranteed_hit_rate_is_never_printed_too_high(rate):
    shown = Fraction(hit_rate_text(rate).removesuffix("%")) / 100
    assert float(shown) <= rate
    assert rate - float(shown) < 0.01
    assert (hit_rate_text(rate) == "100%") == (rate == 1.0)
