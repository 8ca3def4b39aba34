"""The price that a weak plan of trees names is about the one that promises what it says."""

import re
import warnings

import pytest

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.planning.advice import warn_if_weak_trees
from rashomon_explorer.mechanisms.planning.trees import plan_trees

PUBLIC = {"log_size": 14.6, "most_leaves": 5, "psi": 0.02, "hit_rate": 0.9}


def test_the_named_price_promises_nine_tenths_and_nine_tenths_of_it_do_not():
    weak = plan_trees(6907, epsilon=0.05, **PUBLIC)
    with pytest.warns(WeakGuaranteeWarning) as heard:
        warn_if_weak_trees(weak)
    named = float(re.search(r"ε = ([\d.]+)", str(heard[0].message))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plan_trees(6907, epsilon=1.001 * named, **PUBLIC).hit_rate_bound >= 0.899
        assert plan_trees(6907, epsilon=0.9 * named, **PUBLIC).hit_rate(0.02) < 0.9
