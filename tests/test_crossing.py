"""A grid of settings loses none: each value is in the fast suite, and every combination a test."""

import itertools

import pytest

from tests.crossing import crossed

AXES = {"loss": ["a", "b", "c", "d"], "beta, psi": [(1.0, 0.0), (2.0, 0.5)], "ridge": [0.0, 0.3, 9]}


def test_every_combination_is_there_and_every_value_runs_always():
    (names, cases) = crossed(AXES).args
    assert names == ["loss", "beta", "psi", "ridge"]
    every = {(a, *b, c) for a, b, c in itertools.product(*AXES.values())}
    assert {case.values for case in cases} == every and len(cases) == len(every)
    always = [case.values for case in cases if not case.marks]
    assert len(always) == 4
    for place, name in enumerate(names):
        assert {case[place] for case in always} == {case[place] for case in every}, name
    assert len({case.id for case in cases}) == len(cases)


def test_marks_and_names_of_single_values_stay():
    named = pytest.param(7.0, id="seven", marks=pytest.mark.filterwarnings("ignore"))
    (_, cases) = crossed({"x": [named, 1.0], "y": [None, len]}).args
    assert [case.id for case in cases] == ["seven-None", "seven-len", "1.0-None", "1.0-len"]
    assert [len(case.marks) for case in cases] == [1, 2, 1, 0]
