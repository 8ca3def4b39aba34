"""Plans that guarantee next to nothing warn, once, and suggestions reach what they name."""

import math
import re
import warnings
from threading import Thread

import pytest

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning import suggestions
from rashomon_explorer.mechanisms.planning.options import plan_options
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.trees import plan_trees
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.losses import LOSSES, zero_model_loss

ROWS = {"p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "delta": 1e-6}


def quiet_plan(**settings):
    with suggestions.suppress_weak_warnings():
        return plan(**{**ROWS, **settings})


def heard(call, *args, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **settings)
    return [one for one in caught if one.category is WeakGuaranteeWarning]


def test_a_plan_below_a_fifth_warns_once_and_names_what_improves_it():
    (warning,) = heard(plan, 5_000, **ROWS, epsilon=1.0, n_draws=20)
    assert warning.filename == __file__
    assert all(word in str(warning.message) for word in ("ε = ", "rows", "ψ = "))
    low, high = 0.1, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        weak = quiet_plan(n=30_000, epsilon=middle).hit_rate_bound < 0.2
        low, high = (middle, high) if weak else (low, middle)
    assert heard(plan, 30_000, **ROWS, epsilon=low * (1 - 1e-6))
    assert not heard(plan, 30_000, **ROWS, epsilon=high * (1 + 1e-6))
    assert weak_guarantee_reason(quiet_plan(n=30_000, epsilon=high)) == ""


def test_small_hit_rates_that_are_requested_or_compared_do_not_warn():
    assert not heard(plan, 50_000, **ROWS, hit_rate=0.05)
    assert not heard(plan_options, 100, **ROWS, ridge=0.1, epsilon=0.1)


@pytest.mark.parametrize(("n", "weak"), [(100, True), (3_000, False)])
def test_without_width_the_excess_bound_is_held_against_the_model_of_zeros(n, weak):
    assert (11 / quiet_plan(n=n, psi=0.0, epsilon=1.0).beta >= math.log(2)) == weak
    found = heard(plan, n, **{**ROWS, "psi": 0.0}, epsilon=1.0)
    assert len(found) == weak
    assert all("model of zeros has at most 0.69" in str(one.message) for one in found)
    assert len(heard(plan_path, n, **ROWS, epsilon=1.0)) == 1


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_loss_of_zeros_by_hand(name):
    by_hand = {"logistic": math.log(2), "squared": 0.5, "hinge": 1.0, "absolute": 1.0}
    known = {**by_hand, "softmax": math.log(LOSSES[name]().outputs + 1)}
    if name in known:
        assert zero_model_loss(LOSSES[name]()) == pytest.approx(known[name])


def test_a_thread_that_is_quiet_does_not_quiet_another():
    found = []
    with suggestions.suppress_weak_warnings():
        thread = Thread(target=lambda: found.extend(heard(plan, 100, **ROWS, epsilon=1.0)))
        thread.start()
        thread.join()
        assert not heard(plan, 100, **ROWS, epsilon=1.0)
    assert len(found) == 1


def improvements(planned, **settings):
    """Suggested changes by setting, which the message states in the same numbers."""
    found = suggestions.next_improvement(planned, **settings)
    (message,) = suggestions.improvement_messages(planned, **settings)
    for one in found.remedies:
        text = f"{one.value:,.0f}" if one.setting in ("n", "n_draws") else f"= {one.value:.9g}"
        assert text in message, one
    return {one.setting: one.value for one in found.remedies}


def changed(settings, name, value):
    return {**settings, name: int(value) if name in ("n", "n_draws") else value}


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_every_suggestion_reaches_what_it_says(loss, ledger):
    start = {"n": 50_000, "loss": loss, "epsilon": 4.0, "n_draws": 20, "ledger": ledger}
    planned = quiet_plan(**start, radius=3.0)
    goal = next(r for r in (0.5, 0.8, 0.9, 0.95, 0.99) if r > planned.hit_rate_bound)
    found = improvements(planned, ridge=True)
    assert {"epsilon", "n_draws", "n", "psi"} <= set(found)
    assert ("ridge" in found) <= (not ledger)
    for name, value in found.items():
        extra = {"certificate": "best"} if name == "ridge" else {}
        better = quiet_plan(**changed({**start, "radius": 3.0, **extra}, name, value))
        # Four digits are shown: a hair is lost to rounding at most.
        assert better.hit_rate_bound >= goal * (1 - 1e-3), name


def test_another_certificate_is_priced_again_at_every_change():
    start = {"n": 20_000, "epsilon": 4.0, "n_draws": 20, "ridge": 1.0, "p": 40}
    start["certificate"] = "best"
    planned = quiet_plan(**start)
    assert planned.certificate != "oscillation"
    found = improvements(planned)
    assert {"epsilon", "n", "psi"} <= set(found)
    for name, value in found.items():
        better = quiet_plan(**changed(start, name, value))
        assert better.hit_rate_bound > planned.hit_rate_bound, name


@pytest.mark.parametrize(("ridge", "psi"), [(0.0, 0.005), (0.1, 1e-4)])
def test_suggestions_for_draws_at_psi_zero_are_enough_and_hardly_more(ridge, psi):
    kind = MECHANISMS["unthresholded"]
    start = {**ROWS, "n": 10_000, "ridge": ridge, "psi": psi, "epsilon": 4.0, "n_draws": 5}

    def hit_rate(settings):
        return kind.plan_for(Request(**settings, loss="logistic")).hit_rate_bound

    weak = kind.plan_for(Request(**start, loss="logistic"))
    (message,) = suggestions.improvement_messages(weak)
    rate = float(re.search(r"For (\d+) %", message)[1]) / 100
    found = improvements(weak)
    assert {"epsilon", "n", "psi"} <= set(found)
    for name in ("epsilon", "n", "psi"):
        assert hit_rate(changed(start, name, found[name])) >= rate - 1e-9
        less = start[name] + 0.98 * (found[name] - start[name])
        assert hit_rate(changed(start, name, less)) < rate


def test_the_cost_that_a_weak_plan_of_trees_names_is_about_the_least_that_suffices():
    public = {"n": 6907, "log_size": 14.6, "most_leaves": 5, "psi": 0.02, "hit_rate": 0.9}
    (warning,) = heard(suggestions.warn_if_weak, plan_trees(epsilon=0.05, **public), "this plan")
    cost = float(re.search(r"ε = ([\d.]+)", str(warning.message))[1])
    assert plan_trees(epsilon=1.001 * cost, **public).hit_rate_bound >= 0.899
    assert plan_trees(epsilon=0.9 * cost, **public).hit_rate(0.02) < 0.9
