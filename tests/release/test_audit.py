"""Releases of neighbours, run many times, stay within the claim, and with half the noise do not."""

import numpy as np
import pytest

from rashomon_explorer.privacy import audit
from rashomon_explorer.release import GroupGaps, plan, release
from rashomon_explorer.release.noise import GaussianNoise, LaplaceNoise
from tests.release.cases import B, models_of, table_of

MODELS = models_of(coef=[[2.0, 0.0, 0.0]] * 3)
RIGHT, WRONG = ([B, 0.0], 1, "a"), ([B, 0.0], 0, "b")
NEIGHBOURS = table_of([RIGHT, RIGHT]), table_of([RIGHT, WRONG])
GAUSSIAN, LAPLACE = {"mu": 2.0}, {"epsilon": 2.0}
CASES = {
    "losses": (["losses"], GAUSSIAN),
    "two at once": (["least_loss", "mean_accuracy"], GAUSSIAN),
    "groups": ([GroupGaps("accuracy")], GAUSSIAN),
    "least loss": (["least_loss"], LAPLACE),  # a vector's corners are too rare to sample
}


def _mechanism(queries, price):
    def noisy(records, rng):
        released = release(
            MODELS,
            *records,
            categories=("a", "b"),
            queries=queries,
            ledger=None,
            random_state=int(rng.integers(2**62)),
            **price,
        )
        return np.array([value for number in released for value in _values(number)])

    return noisy


def _values(number):
    rates = getattr(number, "rates", None)
    if rates is None:
        return [number.noisy]
    return [value for rate in rates for value in (rate.size, rate.excess)]


def _audit(queries, price, n_runs=2_000):
    claim = release(
        MODELS, *NEIGHBOURS[0], categories=("a", "b"), queries=queries, ledger=None, **price
    ).guarantee
    return audit.monte_carlo(
        _mechanism(queries, price),
        *NEIGHBOURS,
        claim=claim,
        n_runs=n_runs,
        confidence=0.9999,
        random_state=0,
    )


@pytest.mark.law
@pytest.mark.parametrize("name", CASES)
def test_a_release_stays_within_its_claim(name):
    queries, price = CASES[name]
    found = _audit(queries, price)
    assert not found.broken
    # The neighbours are the worst there are: little of the claim is left unused.
    assert found.mu > 1.2 if price is GAUSSIAN else found.epsilon() > 1.4


@pytest.mark.law
@pytest.mark.parametrize(
    ("name", "noise"), [("losses", GaussianNoise), ("least loss", LaplaceNoise)]
)
def test_half_the_noise_is_caught(name, noise, monkeypatch):
    full = plan.release_costs

    def half(*given, **settings):
        priced, guarantee = full(*given, **settings)
        return tuple(type(p)(noise(p.noise.scale / 2), p.share) for p in priced), guarantee

    monkeypatch.setattr(plan, "release_costs", half)
    assert _audit(*CASES[name]).broken
