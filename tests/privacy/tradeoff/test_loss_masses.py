"""The adapter to dp-accounting: what it reads is there, and a version without it says so."""

from types import SimpleNamespace

import numpy as np
import pytest

from rashomon_explorer.privacy.tradeoff import Laplace
from rashomon_explorer.privacy.tradeoff.composition import connect_dots, masses

pytest.importorskip("dp_accounting")

SPACING = 0.01
LOSSES = np.arange(-100, 101) * SPACING


def test_masses_are_those_of_a_law_and_its_profile_is_no_lower():
    probs, first, infinite = masses(connect_dots(np.asarray(Laplace(0.5).delta(LOSSES)), SPACING))
    assert probs.min() >= 0
    assert probs.sum() + infinite == pytest.approx(1.0, abs=1e-12)
    losses = (first + np.arange(len(probs))) * SPACING
    for epsilon in (0.0, 0.105, 0.3, 0.6):
        gain = np.maximum(0.0, -np.expm1(epsilon - losses))
        assert gain @ probs + infinite >= Laplace(0.5).delta(epsilon) - 1e-12


@pytest.mark.parametrize("name", ["_probs", "_lower_loss", "_infinity_mass"])
def test_a_version_that_lacks_them_is_refused_by_name(name):
    kept = {"_probs": [1.0], "_lower_loss": 0, "_infinity_mass": 0.0}
    with pytest.raises(ImportError, match=rf"keeps no {name} in SimpleNamespace.*accounting\]"):
        masses(SimpleNamespace(**{key: kept[key] for key in kept.keys() - {name}}))
