"""Last states of steps that expand or jump: exact laws in one dimension, and what is too little."""

import numpy as np
import pytest

from rashomon_explorer.papers.instances import rough_last_state_mu
from rashomon_explorer.privacy.conversions import gdp_delta
from tests.mechanisms import chains

EPSILONS = (0.0, 0.5, 1.0, 2.0)


def laws(step, shift, noise, n_steps):
    """Laws of the last states on [−½, ½] of noisy projected steps from 0, a shift apart."""
    places = np.linspace(-0.5, 0.5, 401)
    ends = step(places) + shift / 2, step(places) - shift / 2
    return [chains.last_law(places, one, noise, n_steps) for one in ends]


CASES = {
    "expands": (lambda x: 1.05 * x, {"expansion": 1.05}),
    "jumps": (lambda x: x + 0.02 * np.sign(x), {"expansion": 1.0, "jump": 0.04}),
    "waves": (lambda x: x + 0.02 * np.sin(5 * x), {"expansion": 1.1}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_steps", [1, 10, 200])
def test_exact_laws_of_neighbours_are_within_the_price(case, n_steps):
    step, how = CASES[case]
    shift, noise = 0.04, 0.2
    pair = laws(step, shift, noise, n_steps)
    mu = rough_last_state_mu(**how, shift=shift, noise=noise, diameter=1.0, n_steps=n_steps)
    for epsilon in EPSILONS:
        most = gdp_delta(mu, epsilon) if mu else 0.0
        assert chains.delta(*pair, epsilon) <= most + 1e-6


def test_less_is_caught():
    """Negative control: one step as if its shift were a tenth less."""
    shift, noise = 0.04, 0.05
    found = chains.delta(*laws(lambda x: x, shift, noise, 1), 0.5)
    mu = rough_last_state_mu(expansion=1.0, shift=shift, noise=noise, diameter=1.0, n_steps=1)
    assert gdp_delta(0.9 * mu, 0.5) < found <= gdp_delta(mu, 0.5) + 1e-4


def test_it_stops_growing_and_a_network_or_a_hinge_never_gets_there():
    """Why no method is offered by it: the path is cheaper for as many steps as one takes."""
    slope, smooth, pace, n, diameter = 1.0, 10.0, 0.1, 1000, 10.0
    shift = 2 * pace * slope / n

    def mu(steps, **how):
        return rough_last_state_mu(**how, shift=shift, noise=1.0, diameter=diameter, n_steps=steps)

    smooth_steps = {"expansion": 1 + pace * smooth}
    limit = mu(10**12, **smooth_steps)
    assert limit == mu(10**14, **smooth_steps)
    assert (limit / shift) ** 2 > 10**8  # steps after which hiding the path wins
    hinge = {"expansion": 1.0, "jump": pace * slope}
    assert (mu(10**14, **hinge) / shift) ** 2 > 10**5


def test_contracting_steps_are_sent_elsewhere():
    with pytest.raises(ValueError, match="expansion must be >= 1"):
        rough_last_state_mu(expansion=0.9, shift=1.0, noise=1.0, diameter=1.0, n_steps=1)
