"""Loss distributions against two other accountants, on Gaussians and on sampled Gaussians."""

import math

import pytest

from rashomon_explorer.privacy.tradeoff import Composition, Gaussian, PoissonSampled

RATE, STEPS, DELTA = 0.01, 1000, 1e-5

# (lower, estimate, upper) of prv-accountant 0.2.0, delta_error 1e-10, at δ = 1e-5:
# PRVAccountant([prv], max_self_compositions=[1000], eps_error=0.01, delta_error=1e-10)
#     .compute_epsilon(delta=1e-5, num_self_compositions=[1000])
# with GaussianMechanism(noise_multiplier=1000**.5), and
# PoissonSubsampledGaussianMechanism(noise_multiplier=1, sampling_probability=.01).
PRV_GAUSSIAN = (4.36718, 4.37718, 4.38718)
PRV_SAMPLED = (1.81824, 1.82824, 1.83840)


def test_a_thousand_gaussians():
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    google = PLDAccountant().compose(GaussianDpEvent(math.sqrt(STEPS)), STEPS)
    ours = Composition(((Gaussian(1 / math.sqrt(STEPS)), STEPS),)).epsilon(DELTA)
    exact = Gaussian(1.0).epsilon(DELTA)
    assert exact == pytest.approx(4.37718, abs=1e-5)
    assert exact <= ours <= exact + 1e-3
    assert google.get_epsilon(DELTA) == pytest.approx(ours, abs=1e-3)
    assert PRV_GAUSSIAN[0] <= exact <= PRV_GAUSSIAN[2]
    assert PRV_GAUSSIAN[1] == pytest.approx(ours, abs=1e-3)


@pytest.mark.parametrize(
    ("relation", "known"), [("add_or_remove", 1.8282), ("replace", 2.8434)], ids=str
)
@pytest.mark.law
def test_a_thousand_sampled_gaussians(relation, known):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    event = dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(1.0))
    neighbours = f"{relation.upper()}_ONE"
    google = PLDAccountant(getattr(dp_accounting.NeighboringRelation, neighbours))
    google.compose(event, STEPS)
    ours = PoissonSampled(1.0, RATE, STEPS, relation).epsilon(DELTA)
    assert google.get_epsilon(DELTA) == pytest.approx(known, abs=1e-4)
    assert google.get_epsilon(DELTA) - 1e-4 <= ours
    # docs/composition.md: 1.828 and 2.843
    assert round(ours, 3) == round(known - 5e-5, 3)
    if relation == "add_or_remove":
        assert PRV_SAMPLED[0] <= ours <= PRV_SAMPLED[2]
        assert PRV_SAMPLED[1] == pytest.approx(ours, abs=1e-3)
