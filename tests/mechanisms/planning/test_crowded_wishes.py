"""What would let draws at ψ = 0 hit a set of another ψ more often, said as it is."""

import re

import pytest

from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.suggestions import improvement_messages
from rashomon_explorer.mechanisms.request import Request

ROWS = {"n": 10_000, "p": 11, "loss": "logistic"}
BUDGET = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6, "n_draws": 5}


@pytest.mark.parametrize(("ridge", "psi"), [(0.0, 0.005), (0.1, 1e-4)])
def test_what_is_wished_of_draws_at_psi_zero_is_enough_and_hardly_more(
    ridge: float, psi: float
) -> None:
    rows = {**ROWS, "ridge": ridge, "psi": psi}
    kind = MECHANISMS["unthresholded"]
    weak = kind.plan_for(Request(**rows, **BUDGET))
    told = improvement_messages(weak)[0]
    rate = float(re.search(r"For (\d+) %", told)[1]) / 100
    changes = {"epsilon": r"ε = ([\d.]+)", "n": r"([\d,]+) rows", "psi": r"ψ = ([\d.]+)"}
    for name, words in changes.items():
        value = float(re.search(words, told)[1].replace(",", ""))
        start = {**rows, **BUDGET}[name]
        changed = {**rows, **BUDGET, name: int(value) if name == "n" else value}
        assert (
            MECHANISMS["unthresholded"].plan_for(Request(**changed)).hit_rate_bound >= rate - 1e-9
        )
        less = start + 0.98 * (value - start)
        changed[name] = int(less) if name == "n" else less
        assert kind.plan_for(Request(**changed)).hit_rate_bound < rate
