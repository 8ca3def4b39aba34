"""Theorems of shifted interpolation: published figures, formulas as printed, preconditions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.langevin.accounting import last_iterate_guarantee
from rashomon_explorer.papers import batch_theorems, theorems
from rashomon_explorer.privacy import Guarantee

MNIST = {"sensitivity": 2 / 3, "batch_size": 1, "sigma": 1.0}
STEP = {"sensitivity": 2.0, "sigma": 0.5}
DOMAIN = {"diameter": 1.0, "step_size": 0.5, "smoothness": 4.0}
SMOOTH = {"ridge": 0.5, "smoothness": 4.0, "step_size": 0.25}


@pytest.mark.parametrize(
    ("epochs", "ours", "composed", "renyi"),
    [(50, 4.34, 30.51, 5.82), (100, 5.60, 49.88, 7.61), (200, 7.58, 83.83, 9.88)],
)
def test_table_1(epochs, ours, composed, renyi):
    last = batch_theorems.cyclic_strongly_convex(
        **MNIST, contraction=0.9999, batches_per_epoch=40, epochs=epochs
    )
    assert round(last.epsilon(1e-5), 2) == ours
    # "GDP Composition" is Theorem 4.4, μ = (L/(bσ))√E, converted exactly.
    path = batch_theorems.cyclic_composition(**MNIST, epochs=epochs)
    assert round(path.epsilon(1e-5), 2) == composed
    older = batch_theorems.cyclic_strongly_convex_renyi(
        **MNIST, contraction=0.9999, batches_per_epoch=40, epochs=epochs
    )
    assert round(older.epsilon(1e-5), 2) == renyi


def test_a_convex_body_tells_less_than_its_range_from_ld_677_on():
    """§5: (2LD, 0)-DP is the weaker by total variation where LD > .677."""

    def apart(product):
        known = theorems.exponential_mechanism_convex(lipschitz=product, diameter=1.0)
        return known.delta(0.0) - math.tanh(product)

    assert apart(0.676) > 0 > apart(0.677)


def theorem(name):
    return getattr(theorems, name, None) or getattr(batch_theorems, name)


GD = {**STEP, "n": 50, "n_steps": 30}
CYCLIC = {**STEP, "batch_size": 5, "epochs": 30}
SGD = {**STEP, "n": 200, "batch_size": 5, "n_steps": 30}
CALLS = {
    "gd_composition": (GD, "4.1"),
    "gd_strongly_convex": ({**GD, "contraction": 0.9}, "4.2"),
    "gd_convex": ({**GD, **DOMAIN, "n_steps": 300}, "4.3"),
    "cyclic_composition": (CYCLIC, "4.4"),
    "cyclic_strongly_convex": ({**CYCLIC, "batches_per_epoch": 10, "contraction": 0.9}, "4.5"),
    "cyclic_convex": ({**CYCLIC, **DOMAIN, "batches_per_epoch": 10}, "4.6"),
    "sgd_composition": (SGD, "4.8"),
    "sgd_strongly_convex": ({**SGD, "contraction": 0.5}, "4.9"),
    "sgd_convex": ({**SGD, **DOMAIN, "n_steps": 300}, "4.10"),
    "lmc": ({"sensitivity": 0.5, "ridge": 1.0, "smoothness": 3.0, "step_size": 0.5}, "5.1"),
    "exponential_mechanism_strongly_convex": ({"sensitivity": 0.5, "ridge": 4.0}, "5.2"),
    "exponential_mechanism_convex": ({"lipschitz": 0.5, "diameter": 2.0}, "5.4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_theorem_gives_a_whole_guarantee(name):
    settings, number = CALLS[name]
    paid = theorem(name)(**settings)
    assert number in paid.theorem and "Bok, Su and Altschuler" in paid.theorem
    assert len(paid.assumptions) > 1
    assert math.isfinite(paid.mu) and paid.holds
    epsilon = paid.epsilon(1e-5)
    assert paid.delta(epsilon) <= 1e-5 * (1 + 1e-9)
    assert 0 < paid.tradeoff(0.1) <= 0.9
    assert Guarantee.from_dict(paid.to_dict()) == paid
    smaller = {
        key: value / 2 if key in ("sensitivity", "lipschitz") else value
        for key, value in settings.items()
    }
    if name not in ("gd_convex", "cyclic_convex"):
        assert theorem(name)(**smaller).epsilon(1e-5) < epsilon


@given(st.floats(0.05, 5.0), st.integers(1, 200), st.floats(0.05, 5.0))
def test_theorem_4_3_is_what_the_path_certificate_proves_but_rounded(sensitivity, n, diameter):
    steps = 10 * math.ceil(diameter * n / (0.5 * sensitivity)) + 10  # so that 4.1 is no match
    domain = {"diameter": diameter, "step_size": 0.5, "smoothness": 4.0}
    printed = theorems.gd_convex(sensitivity=sensitivity, n=n, sigma=0.5, n_steps=steps, **domain)
    shift = sensitivity / (n * 0.5)
    sharp = last_iterate_guarantee(
        beta=1.0,
        sensitivity=2 * shift,
        step_size=0.5,
        n_steps=steps,
        contraction=1.0,
        diameter=diameter / (0.5 * 0.5),
    )
    assert sharp.mu <= printed.mu * (1 + 1e-9)
    assert printed.mu**2 <= sharp.mu**2 + shift**2 * (1 + 1e-9) + 1e-12


def test_langevin_is_gradient_descent_with_one_row():
    energy = {"ridge": 1.0, "smoothness": 3.0, "step_size": 0.5}
    limit = theorems.lmc(sensitivity=0.5, **energy)
    sigma, contraction = math.sqrt(2 / 0.5), theorems.contraction_factor(**energy)
    for steps in (1, 10, 10_000):
        finite = theorems.gd_strongly_convex(
            sensitivity=0.5, n=1, sigma=sigma, n_steps=steps, contraction=contraction
        )
        assert finite.mu <= limit.mu * (1 + 1e-12)
    assert finite.mu == pytest.approx(limit.mu)
    tiny = theorems.lmc(sensitivity=0.5, ridge=4.0, smoothness=9.0, step_size=1e-9)
    exact = theorems.exponential_mechanism_strongly_convex(sensitivity=0.5, ridge=4.0)
    assert tiny.mu == pytest.approx(exact.mu) == 0.25  # the limit of small steps


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("gd_composition", {"n": 0}, "n must be a whole number"),
        ("gd_composition", {"sigma": 0.0}, "sigma must be finite and > 0"),
        ("gd_composition", {"sensitivity": math.nan}, "sensitivity must be finite"),
        ("gd_composition", {"n_steps": 1.5}, "n_steps must be a whole number"),
        ("gd_strongly_convex", {"contraction": 1.0}, r"contraction must be in \[0, 1\)"),
        ("contraction_factor", {"step_size": 0.5}, r"step_size must be below 2/smoothness = 0\.5"),
        ("contraction_factor", {"ridge": 5.0}, "ridge must be at most smoothness"),
        ("gd_convex", {"step_size": 0.6}, r"step_size must be at most 2/smoothness = 0\.5"),
        ("gd_convex", {"n_steps": 49}, r"diameter·n/\(step_size·sensitivity\) = 50, got 49"),
        ("gd_convex", {"diameter": math.inf}, "diameter must be finite"),
        ("cyclic_convex", {"epochs": 4}, "epochs must be at least"),
        ("cyclic_strongly_convex", {"batches_per_epoch": 0}, "batches_per_epoch must be"),
        ("sgd_composition", {"batch_size": 201}, "batch_size must be at most n = 200"),
        ("sgd_strongly_convex", {"n_steps": 1}, "n_steps must be at least 2"),
        ("sgd_strongly_convex", {"tau": 0}, "tau must be from 1 to n_steps - 1"),
        ("sgd_convex", {"tau": 300}, "tau must be from 0 to n_steps - 1"),
        ("lmc", {"step_size": 0.6}, r"2/\(smoothness \+ ridge\) = 0\.5"),
        ("exponential_mechanism_convex", {"step_size": 0.1}, "smoothness must be given"),
        ("exponential_mechanism_convex", {"lipschitz": -1.0}, "lipschitz must be finite"),
    ],
)
def test_the_precondition_that_fails_is_named(name, change, message):
    with pytest.raises(ValueError, match=message):
        theorem(name)(**{**CALLS.get(name, [SMOOTH])[0], **change})
