"""Plans that promise next to nothing say so, once, and name what would promise more."""

import math
import warnings
from threading import Thread

import pytest

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.bounds.hit_rate import guaranteed_hit_rate
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning.options import plan_options
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.suggestions import (
    improvement_messages,
    next_improvement,
    suppress_weak_warnings,
)
from rashomon_explorer.mechanisms.planning.weakness import WEAK_HIT_RATE, weak_guarantee_reason
from rashomon_explorer.problem.losses import LOSSES, zero_model_loss
from rashomon_explorer.problem.losses.squared import SquaredLoss

ROWS = {"p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "delta": 1e-6}


def _quietly(*args, **kwargs):
    with suppress_weak_warnings():
        return plan(*args, **{**ROWS, **kwargs})


def test_a_plan_below_a_fifth_warns_once_and_names_the_ways_out():
    with pytest.warns(WeakGuaranteeWarning) as caught:
        weak = plan(5_000, **ROWS, epsilon=1.0, n_draws=20)
    assert len(caught) == 1 and caught[0].filename == __file__
    told = str(caught[0].message)
    assert weak.hit_rate_bound < WEAK_HIT_RATE
    for way in ("ε = ", "rows", "ψ = "):
        assert way in told
    strong = plan(5_000_000, **{**ROWS, "delta": 1e-8}, epsilon=1.0, n_draws=20)
    assert strong.hit_rate_bound >= WEAK_HIT_RATE and weak_guarantee_reason(strong) == ""


def test_the_line_is_at_a_fifth():
    n = 30_000
    low, high = 0.1, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        weak = _quietly(n, epsilon=middle).hit_rate_bound < 0.2
        low, high = (middle, high) if weak else (low, middle)
    with pytest.warns(WeakGuaranteeWarning):
        plan(n, **ROWS, epsilon=low * (1 - 1e-6))
    plan(n, **ROWS, epsilon=high * (1 + 1e-6))


def test_whoever_names_a_hit_rate_is_not_told_that_it_is_small():
    assert plan(50_000, **ROWS, hit_rate=0.05).hit_rate_bound >= 0.05


def test_options_compare_weak_plans_without_a_warning():
    plan_options(100, **ROWS, ridge=0.1, epsilon=0.1)


@pytest.mark.parametrize("n", [100, 3_000])
def test_without_width_the_excess_bound_is_held_against_the_model_of_zeros(n):
    rows = {**ROWS, "psi": 0.0}
    weak = 11 / _quietly(n, psi=0.0, epsilon=1.0).beta >= math.log(2)
    assert weak == (n == 100)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan(n, **rows, epsilon=1.0)
    assert len(caught) == weak
    assert all("model of zeros has at most 0.69" in str(one.message) for one in caught)


def test_a_path_that_promises_no_more_than_zeros_says_so():
    with pytest.warns(WeakGuaranteeWarning, match="model of zeros"):
        plan_path(100, **ROWS, epsilon=1.0)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_loss_of_zeros_by_hand(name):
    by_hand = {"logistic": math.log(2), "squared": 0.5, "hinge": 1.0, "absolute": 1.0}
    classes = LOSSES[name]().outputs + 1
    known = {**by_hand, "softmax": math.log(classes)}
    if name in known:
        assert zero_model_loss(LOSSES[name]()) == pytest.approx(known[name])
    assert zero_model_loss(SquaredLoss(target_bound=2.0)) == pytest.approx(2.0)


def test_a_thread_that_is_quiet_does_not_quiet_another():
    heard = []

    def listen():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan(100, **ROWS, epsilon=1.0)
        heard.extend(caught)

    with suppress_weak_warnings():
        thread = Thread(target=listen)
        thread.start()
        thread.join()
        plan(100, **ROWS, epsilon=1.0)
    assert [one.category for one in heard] == [WeakGuaranteeWarning]


def _numbers(planned, **settings):
    """What each wish names, as settings of another plan."""
    words = (
        improvement_messages(planned, **settings)[0]
        .removesuffix(".")
        .replace(" or ", " ")
        .split(", ")
    )
    found = {}
    for way in words:
        if "rows" in way:
            found["n"] = int(way.split(" rows")[0].replace(",", "").split()[-1])
        elif "draw" in way and "same" in way:
            found["n_draws"] = int(way.split(" draw")[0].replace(",", ""))
        elif "=" in way:
            name, value = way.split("takes ")[-1].split(" = ")
            key = {"ε": "epsilon", "ψ": "psi"}.get(name.strip(), name.strip())
            found[key] = float(value.split()[0].replace(",", ""))
    told = next_improvement(planned, **settings)
    assert {remedy.setting: remedy.value for remedy in told.remedies} == found
    return found


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_every_way_out_reaches_what_it_promises(loss, ledger):
    start = {"loss": loss, "epsilon": 4.0, "n_draws": 20, "ledger": ledger, "radius": 3.0}
    planned = _quietly(50_000, **start)
    wanted = next(r for r in (0.5, 0.8, 0.9, 0.95, 0.99) if r > planned.hit_rate_bound)
    ways = _numbers(planned, ridge=True)
    assert {"epsilon", "n_draws", "n", "psi"} <= set(ways)
    assert ("ridge" in ways) <= (not ledger)
    for name, value in ways.items():
        extra = {"certificate": "best"} if name == "ridge" else {}
        changed = {"n": 50_000, **start, **extra, name: value}
        better = _quietly(changed.pop("n"), **changed)
        # Four digits are shown: a hair is lost to rounding at most.
        assert better.hit_rate_bound >= wanted * (1 - 1e-3), name


def test_another_certificate_is_priced_again_at_every_change():
    start = {"epsilon": 4.0, "n_draws": 20, "ridge": 1.0, "certificate": "best", "p": 40}
    planned = _quietly(20_000, **start)
    assert planned.certificate != "oscillation"
    ways = _numbers(planned)
    assert {"epsilon", "n", "psi"} <= set(ways)
    for name in set(ways) - {"ridge"}:
        changed = {"n": 20_000, **start, name: ways[name]}
        better = _quietly(changed.pop("n"), **changed)
        assert better.hit_rate_bound > planned.hit_rate_bound, name


def test_the_plan_has_the_sharp_excess_bound():
    planned = plan(50_000, **ROWS, epsilon=4.0)
    share = guaranteed_hit_rate(11, planned.beta, 0.02)
    assert planned.excess_bound == pytest.approx(11 / planned.beta + 0.02 * 11 / 12 * share)
    assert planned.excess_bound < 11 / planned.beta + 0.02
