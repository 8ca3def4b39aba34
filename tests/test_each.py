"""Cases that fail are named with their reasons, and none hides another."""

import pytest

from tests.each import each


def _small(number: int, limit: int = 3) -> None:
    assert number < limit


def test_every_failing_case_is_named_and_all_are_tried() -> None:
    each([1, 2], _small)
    each([(1, 2), (5, 6)], _small)
    with pytest.raises(pytest.fail.Exception) as told:
        each([1, 7, 2, 9], _small, name=lambda number: f"case {number}")
    assert "2 of 4 cases" in str(told.value)
    assert "case 7: _small" in str(told.value) and "case 9: _small" in str(told.value)
    assert "case 1:" not in str(told.value)


def test_errors_and_refusals_are_failures_and_so_is_nothing_to_check() -> None:
    with pytest.raises(pytest.fail.Exception, match="ZeroDivisionError"):
        each([0], lambda number: 1 / number)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        each([0], _expecting)
    with pytest.raises(AssertionError, match="no case"):
        each([], _small)


def _expecting(_: int) -> None:
    with pytest.raises(ValueError):
        pass
