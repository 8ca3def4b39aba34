"""The adapter to dp-accounting: what it reads is there, and a version without it says so."""

import numpy as np
import pytest

from rashomon_explorer.privacy.tradeoff import Laplace
from rashomon_explorer.privacy.tradeoff.composition import LossMasses

pytest.importorskip("dp_accounting")

SPACING = 0.01


def masses():
    losses = np.arange(-100, 101) * SPACING
    return LossMasses.above(np.asarray(Laplace(0.5).delta(losses)), SPACING)


def test_this_dp_accounting_holds_what_is_read_of_it():
    """Fails, by name, where a new version keeps the masses elsewhere."""
    held = vars(masses().pmf)
    assert {"_probs", "_lower_loss", "_infinity_mass"} <= set(held)


def test_masses_are_those_of_a_law_and_its_profile_is_no_lower():
    found = masses()
    assert found.probs.min() >= 0
    assert found.probs.sum() + found.infinite == pytest.approx(1.0, abs=1e-12)
    losses = (found.first + np.arange(len(found.probs))) * SPACING
    for epsilon in (0.0, 0.105, 0.3, 0.6):
        gain = np.maximum(0.0, -np.expm1(epsilon - losses))
        assert gain @ found.probs + found.infinite >= Laplace(0.5).delta(epsilon) - 1e-12


def test_sums_of_independent_losses_have_the_mean_of_all():
    one, three = masses(), masses().repeated(3, 0.0)
    both = one.joined(one, 0.0).joined(one, 0.0)

    def mean(of):
        return (of.first + np.arange(len(of.probs))) @ of.probs * SPACING

    assert mean(three) == pytest.approx(3 * mean(one), abs=1e-9)
    assert mean(both) == pytest.approx(mean(three), abs=1e-9)
    assert one.repeated(1, 0.0) is one


@pytest.mark.parametrize(
    ("read", "name"),
    [("probs", "_probs"), ("first", "_lower_loss"), ("infinite", "_infinity_mass")],
)
def test_a_version_that_lacks_them_is_refused_by_name(read, name):
    with pytest.raises(ImportError, match=rf"keeps no {name} in object.*accounting\]"):
        getattr(LossMasses(object()), read)
