"""What a ledger shows as spent: at most the ε of every plan, at least the exact cost of all."""

import itertools
import math

import numpy as np
import pytest

from rashomon_explorer import DPClassifier, DPRegressor, Ledger, RashomonClassifier
from rashomon_explorer.estimators.tree_classifier import RashomonTreeClassifier
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.explorer.account import read_account
from rashomon_explorer.mechanisms.langevin.sampled_plan import least_noise
from rashomon_explorer.mechanisms.request import cost_at_order
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.privacy import Guarantee, bounded_range, gdp, pure, tradeoff, zcdp
from rashomon_explorer.privacy.conversions import gdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.ledger.totals import Spending, Totals, running_epsilon

DELTA = 1e-6
BINARY = {"classes": [0, 1], "delta": DELTA}
LINEAR = BINARY | {"family": "linear"}
RULES = [
    {"epsilon": 8.0}, {"epsilon": 1.0}, {"epsilon": 5.0, "accounting": "rdp", "order": 16.0},
    {"epsilon": 5.0, "accounting": "gdp"},
]  # fmt: skip


def planned(kind, ledger, epsilon, **settings):
    return kind(epsilon=epsilon, ledger=ledger, **settings).plan(3_000, 4)


def check_contract(tmp_path, rule, kind, epsilon, **settings):
    ledger = Ledger.create(
        tmp_path / f"{len(list(tmp_path.iterdir()))}.ledger", delta=DELTA, **rule
    )
    plan = planned(kind, ledger, epsilon, **settings)
    before = ledger.epsilon_after(plan.guarantee)
    ledger.reserve(plan.guarantee).start()
    spent = ledger.spent()
    assert spent == before == read_account(ledger.path, (9.0, DELTA)).spent
    assert spent == charges_table(ledger.entries(), DELTA, rule=ledger.totals).iloc[-1, -1]
    assert plan.epsilon == epsilon and ledger.remaining == rule["epsilon"] - spent
    assert plan.guarantee.epsilon(DELTA) <= spent * (1 + 1e-9) <= epsilon * (1 + 2e-9)
    assert spent >= 0.9 * epsilon
    return spent


@pytest.mark.parametrize(
    ("rule", "mechanism", "standardize"),
    [
        *((rule, "objective_perturbation", None) for rule in RULES),
        *((RULES[0], name, None) for name in ("output_perturbation", "last_iterate", "exact")),
        *((RULES[0], name, "private") for name in ("objective_perturbation", "noisy_descent")),
    ],
    ids=str,
)
def test_a_fit_is_shown_at_the_epsilon_it_was_planned_for(tmp_path, rule, mechanism, standardize):
    settings = LINEAR | {"mechanism": mechanism, "standardize": standardize}
    check_contract(tmp_path, rule, DPClassifier, 0.8, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "last_sampled_state"},
        *(
            pytest.param(settings, marks=pytest.mark.law)
            for settings in (
                {"mechanism": "last_sampled_state", "standardize": "private"},
                {"mechanism": "noisy_sgd", "loss": "hinge"},
                {"mechanism": "noisy_sgd", "loss": "hinge", "standardize": "private"},
            )
        ),
    ],
    ids=str,
)
def test_sampled_steps_are_shown_at_their_epsilon_too(tmp_path, settings):
    """Counted at the order of a budget of 8 alone they would be shown at 3.37."""
    pytest.importorskip("dp_accounting")
    settings = LINEAR | {"standardize": None} | settings
    spent = check_contract(tmp_path, {"epsilon": 8.0}, DPClassifier, 0.5, **settings)
    assert spent > 0.97 * 0.5


@pytest.mark.law
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_fit_is_shown_at_most_at_its_epsilon(tmp_path, rule):
    pytest.importorskip("dp_accounting")
    mechanisms = ["auto", "noisy_sgd", "smooth_sgd", "langevin_clipped", "localised_gaussian"]
    mechanisms += ["last_sampled_state", "last_iterate", "objective_perturbation"]
    cases = [
        (DPClassifier, LINEAR | {"loss": loss, "mechanism": mechanism, "standardize": scale})
        for loss in ("logistic", "hinge", "smoothed_hinge")
        for mechanism in mechanisms
        for scale in ("auto", None, "private")
    ]
    numeric = {"target_bounds": (-1, 1), "delta": DELTA}
    cases += [(DPRegressor, numeric | {"loss": loss}) for loss in ("squared", "absolute")]
    cases += [(RashomonClassifier, BINARY | {"n_draws": 20}), (RashomonTreeClassifier, BINARY)]
    tried = 0
    for (kind, settings), epsilon in itertools.product(cases, (0.3, 1.0)):
        try:
            check_contract(tmp_path, rule, kind, epsilon, **settings)
        except SamplerError:
            continue
        tried += 1
    assert tried > 60


def tilted(epsilon):
    """Objective perturbation planned for a ledger, with a jump that has no zCDP."""
    order, most = cost_at_order(epsilon, DELTA, True)
    shape = tradeoff.GaussianObjectivePerturbation(0.0, 0.02 * epsilon, True)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        fits = tradeoff.GaussianObjectivePerturbation(middle, shape.jump, True).renyi(order) <= most
        low, high = (middle, high) if fits else (low, middle)
    curve = tradeoff.GaussianObjectivePerturbation(low, shape.jump, True)
    return Guarantee("tradeoff", "tilted", curve=curve, requested=(epsilon, DELTA))


PLANS = {
    "zcdp": lambda epsilon: zcdp(zcdp_rho(epsilon, DELTA)),
    "gdp": lambda epsilon: gdp(math.sqrt(2 * zcdp_rho(epsilon, DELTA))),
    "tilted": tilted,
    "pure": pure,
}


@pytest.mark.parametrize("seed", range(6))
def test_no_charge_raises_the_total_by_more_than_its_epsilon(seed):
    rng = np.random.default_rng(seed)
    names = rng.choice(list(PLANS), 6)
    epsilons = rng.choice([0.01, 0.1, 0.5, 1.5], 6)
    charges = [PLANS[name](float(epsilon)) for name, epsilon in zip(names, epsilons, strict=True)]
    totals = running_epsilon(charges, DELTA, totals=Totals(order=4.0))
    assert np.all(np.diff(totals) <= epsilons * (1 + 1e-6)) and np.all(np.diff(totals) >= 0)
    spending = Spending(Totals(order=4.0))
    for charge in charges:
        spending = spending.plus(charge)
    assert spending.epsilon(DELTA) == pytest.approx(totals[-1], rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_charges_whose_epsilons_add_up_to_the_budget_are_accepted(tmp_path, seed):
    rng = np.random.default_rng(seed)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=6.0, delta=DELTA)
    for share in rng.dirichlet(np.ones(4)):
        name = rng.choice(["zcdp", "gdp", "tilted"])
        ledger.reserve(PLANS[name](6.0 * max(float(share), 1e-3) * 0.998)).start()
    assert 0 < ledger.spent() <= 6.0


PARTS = {
    "Gaussian": [gdp(0.3)] * 8, "pure": [pure(0.2)] * 20, "both": [gdp(0.3)] * 4 + [pure(0.3)] * 3,
}  # fmt: skip


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_the_total_is_at_least_what_composition_costs_exactly(parts):
    pytest.importorskip("dp_accounting")
    shown = running_epsilon(parts, DELTA, totals=Totals(order=4.0))[-1]
    curves = [
        tradeoff.Gaussian(part.mu)
        if math.isfinite(part.mu)
        else tradeoff.Approximate(part.pure_epsilon)
        for part in parts
    ]
    exact = tradeoff.compose_tradeoffs(curves).epsilon(DELTA)
    assert exact <= shown <= 1.25 * exact


def test_half_of_the_divergences_would_be_less_than_the_cost():
    """The control: eight Gaussian releases cost √8·μ exactly."""
    halves = [zcdp(0.3**2 / 4)] * 8
    shown = running_epsilon(halves, DELTA, totals=Totals(order=4.0))[-1]
    assert shown < gdp_epsilon(math.sqrt(8) * 0.3, DELTA)


def test_the_noise_of_sampled_steps_is_planned_for_the_order_of_their_epsilon():
    pytest.importorskip("dp_accounting")
    noise, guarantee = least_noise(0.5, DELTA, orders=(cost_at_order(0.5, DELTA, True),))
    total = running_epsilon([guarantee], DELTA, totals=Totals(order=4.0))[-1]
    assert 0.99 * 0.5 < total <= 0.5 and noise > 50


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_one_charge_is_shown_at_its_whole_epsilon(name, epsilon):
    shown = running_epsilon([PLANS[name](epsilon)], DELTA, totals=Totals(order=4.0))[-1]
    assert 0.95 * epsilon < shown <= epsilon * (1 + 1e-9)


def test_equal_charges_of_a_file_add_up(tmp_path):
    ledger, charge = Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=DELTA), tilted(0.5)
    for _ in range(3):
        ledger.reserve(charge).start()
    shown = running_epsilon([charge] * 3, DELTA, totals=ledger.totals)
    assert ledger.spent() == pytest.approx(shown[-1], rel=1e-12) and shown[-1] > 1.5 * shown[1]


def test_what_the_rule_accepts_is_shown_within_the_budget(tmp_path):
    """Its divergence of exact draws is sharper than the zCDP that plans count."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=DELTA)
    draw = bounded_range(1.0)
    while ledger.can_afford(draw):
        ledger.reserve(draw).start()
    count = len(ledger.entries())
    assert running_epsilon([draw] * count, DELTA, totals=ledger.totals)[-1] > 8.0
    assert ledger.spent() <= 8.0 < ledger.epsilon_after(draw)


def test_what_a_file_counts_is_what_its_entries_add_up_to(tmp_path):
    """Read by equal guarantees; of a run with two entries only the zCDP adds up."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=DELTA)
    for guarantee in (gdp(0.1), bounded_range(0.2), gdp(0.1), tilted(0.3)):
        ledger.reserve(guarantee, parameters={"note": "extends"}).start()
    ledger.reserve(gdp(0.1)).void()
    part = ledger.reserve(gdp(0.1))
    part.start()
    ledger.reserve(gdp(0.3), extends=part).start()
    spending = Spending.from_entries(ledger.entries(), ledger.totals, ledger.budget)
    assert spending == ledger._spending() and spending.epsilon() == ledger.spent()
    assert [count for _, count in spending.charges] == [2, 1, 1, 1, 1]
