"""PrivateSearch: who sees which rows, what it costs, what is kept, and what is refused."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import rashomon_explorer as rx
from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.estimators import private_search
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.exceptions import PrivacyLeakWarning, SamplerError, WeakGuaranteeWarning
from rashomon_explorer.mechanisms.penalties.mechanisms import validation_rows
from rashomon_explorer.mechanisms.selection import Candidate
from rashomon_explorer.privacy import approximate, gdp, pure
from rashomon_explorer.privacy.conversions import zcdp_rho

TREES = rx.RashomonTreeClassifier(thresholds=0.0, n_draws=1, classes=[0, 1])
GRID = {"max_leaves": [2, 3, 4]}


def trees(**settings):
    return rx.PrivateSearch(TREES, GRID, **{"epsilon": 8.0, "random_state": 0, **settings})


@pytest.mark.parametrize("mechanism", ["every", "geometric", "logarithmic"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_mechanism_keeps_its_cost_and_finds_a_good_model(X, labels, mechanism, delta):
    search = trees(mechanism=mechanism, delta=delta, epsilon=50.0, mean_fits=12)
    fitted = search.fit(X, labels)
    assert fitted.guarantee_.epsilon(delta) <= 50.0
    assert fitted.guarantee_.epsilon(delta) == pytest.approx(50.0, rel=1e-6)
    assert fitted.guarantee_.seeded and fitted.plan_ == search.plan(*X.shape)
    assert fitted.best_params_ == {"max_leaves": GRID["max_leaves"][fitted.best_index_]}
    assert fitted.best_estimator_.get_params()["epsilon"] == fitted.plan_.each[0]
    assert fitted.score(X, labels) > 0.75
    assert np.array_equal(fitted.predict_proba(X), fitted.best_estimator_.predict_proba(X))
    assert hasattr(fitted, "estimators_") == (mechanism == "every")
    kept = {name for name in vars(fitted) if name.endswith("_")}
    assert not any("score" in name or "loss" in name or "cv_results" in name for name in kept)
    again = clone(search).fit(X, labels)
    assert again.best_params_ == fitted.best_params_


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
def test_a_score_reads_the_scoring_rows_alone(frame, bounds):
    """The two sides are disjoint and complete, and a loss is a mean over one of them."""
    rows, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
    X = pd.DataFrame(rows, columns=["a", "b"]) if frame else rows
    scoring = np.isin(np.arange(12), [1, 4, 6, 11])
    numeric = bounds is not None
    table = TableAdapter(rx.DPRegressor(target_bounds=(-1, 1)), X, y, numeric=numeric)
    sides = private_search.TrainValidationSplit(table, scoring, bounds)
    read = []

    class Model:
        def predict(self, given):
            read.append(np.asarray(given))
            return np.ones(len(given))

    loss = sides.loss(Model())
    assert np.array_equal(sides.fitted[0], rows[~scoring])
    assert np.array_equal(sides.fitted[1], y[~scoring])
    assert np.array_equal(np.concatenate(read), rows[scoring])
    assert loss == np.mean(y[scoring] != 1) == 0.5 != np.mean(y[[1, 4, 6]] != 1)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_one_row_moves_a_score_by_no_more_than_is_paid_for(X, labels, targets, kind):
    """Δ = 1/n_val: the losses that a fit hands to the pick, whatever one scoring row holds."""
    seen = []

    class Spy:
        def draw(self, losses, rng):
            seen.append(np.array(losses))
            return 0

    search: Any = trees(mechanism="every")
    y, wild = labels, [0, 1]
    if kind == "numbers":
        model = rx.DPRegressor(target_bounds=(-1, 1), mechanism="output_perturbation", radius=1.0)
        search = rx.PrivateSearch(model, {"ridge": [0.1, 1.0]}, mechanism="every", random_state=0)
        y, wild = targets, [-1e6, 1e6]
    candidates = search._candidates()
    planned = search._plan_search(*X.shape, candidates)
    object.__setattr__(planned, "pick", Spy())
    search._plan_search = lambda *_: planned
    place = int(np.flatnonzero(validation_rows(len(X), search.val_fraction))[3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target in wild:
            for row in [np.zeros(3), np.full(3, 1e9)]:
                rows, other = X.copy(), np.array(y)
                rows[place], other[place] = row, target
                search.fit(rows, other)
    moved = np.ptp(np.array(seen), axis=0)
    assert (moved <= 1 / planned.n_val + 1e-12).all() and moved.max() > 0


def test_noise_of_a_score_is_worth_the_price_of_a_run(X, labels, monkeypatch):
    """Laplace noise of scale Δ/ε₀, ε₀ half or a third of ε, and the least noisy score is kept."""

    class Spy:
        def __init__(self):
            self.scales = []

        def integers(self, high):
            return len(self.scales) % 2

        def logseries(self, p):
            return 3

        def laplace(self, scale):
            self.scales.append(scale)
            return [5.0, -5.0, 0.0][len(self.scales) - 1]

    search = trees(mechanism="logarithmic", epsilon=4.0, delta=0.0)
    monkeypatch.setattr(private_search.Fits, "_fitted", lambda self, one: one.max_leaves)
    candidates = search._candidates()
    planned = search._plan_search(*X.shape, candidates)
    sides = type("Sides", (), {"loss": lambda self, model: 0.5})()
    spy = Spy()
    place, best, _ = private_search.Fits(sides, candidates, planned, spy, seeded=True).best()
    assert spy.scales == pytest.approx([1 / (36 * 2.0)] * 3)
    assert place == 1 and best == 3


def planned(kind, mechanism, delta, k=4):
    class Plan:
        excess_bound = 0.1

    def plan_at(each):
        return tuple(Candidate({}, Plan(), kind(*each)) for _ in range(k))

    request = private_search.SearchRequest(800, 200, epsilon=1.0, delta=delta, k=k)
    return private_search.planned_search(request, plan_at, mechanism)


def test_costs_of_all_fits_add_up():
    """k costs of Gaussian DP, of pure DP and with a δ of their own: never above (ε, δ)."""
    paid = planned(lambda e, d: pure(e), "every", 0.0)
    assert paid.each[0] == pytest.approx(1 / 4) and paid.guarantee.epsilon(0.0) <= 1.0
    assert paid.pick.name == "permute_and_flip" and paid.pick.epsilon == pytest.approx(1.0)
    assert paid.score_regret == pytest.approx(2 / 200 * np.log(4))
    budget, gaussian = zcdp_rho(1.0, 1e-6), planned(lambda e, d: gdp(e / 4), "every", 1e-6)
    assert gaussian.guarantee.rho == pytest.approx(budget, rel=1e-3)
    assert gaussian.guarantee.rho <= budget and gaussian.guarantee.epsilon(1e-6) <= 1.0
    assert gaussian.pick.epsilon**2 / 8 == pytest.approx(budget)
    loose = planned(approximate, "every", 1e-6)
    assert loose.guarantee.epsilon(1e-6) <= 1.0 and 4 * loose.each[0] <= 1.0
    best = planned(lambda e, d: pure(e), "logarithmic", 0.0)
    assert best.each[0] == pytest.approx(1 / 2) and best.mean_fits == pytest.approx(40)
    with pytest.raises(SamplerError, match="is not pure DP"):
        planned(lambda e, d: gdp(e), "geometric", 1e-6)


def test_auto_takes_what_promises_most_and_says_why():
    model = rx.PrivateSearch(TREES, {"psi": [0.0] * 8}, epsilon=0.5, delta=0.0)
    planned = model.plan(5_000, 4)
    assert {one.mechanism for one in planned.options} == {"every", "geometric", "logarithmic"}
    assert planned.selection_bound == min(one.selection_bound for one in planned.options)
    few = rx.PrivateSearch(TREES, {"psi": [0.0, 0.01]}, epsilon=0.5, delta=0.0).plan(5_000, 4)
    assert few.mechanism == "every"
    with pytest.warns(WeakGuaranteeWarning, match="even for its best candidate"):
        rx.PrivateSearch(TREES, GRID, epsilon=0.01).plan(100, 4)


def test_estimators_of_several_kinds_and_one_charge(X, labels, targets, ledger):
    others = [rx.RashomonClassifier(n_draws=2, ridge=0.1, radius=2.0), rx.DPClassifier(radius=2.0)]
    search = rx.PrivateSearch(
        TREES, {"estimator": others}, mechanism="every", epsilon=20.0, random_state=0
    )
    fitted = search.fit(X, labels)
    assert [type(one) for one in fitted.estimators_] == [rx.RashomonClassifier, rx.DPClassifier]
    trees(ledger=ledger.path, epsilon=4.0, random_state=None).fit(X, labels)
    (entry,) = ledger.entries()
    assert entry.state == "committed" and entry.parameters["n_val"] == 36
    assert "only the curator may see" not in str(entry.guarantee)
    assert "the labels that occur in y are public" in fitted.guarantee_.assumptions
    for one, planned in zip(fitted.estimators_, fitted.plan_.candidates, strict=True):
        assert one.guarantee_.rho == planned.guarantee.rho
        assert one.guarantee_.pure_epsilon == planned.guarantee.pure_epsilon
    ridges = rx.DPBilevelSearch(bounds=(0.1, 10.0), target_bounds=(-1, 1))
    search = rx.PrivateSearch(ridges, {"refit_share": [0.3, 0.7]}, epsilon=9.0, random_state=0)
    assert search.fit(X, targets).guarantee_.epsilon(1e-6) <= 9.0


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        (TREES, {"epsilon": [1.0]}, "which the search sets"),
        (TREES, {"nonsense": [1]}, "Invalid parameter"),
        (TREES, {"estimator": [TREES, rx.DPRegressor()]}, "all classifiers or all regressors"),
        (clone(TREES).set_params(ledger="x"), GRID, "give it the ledger"),
        (rx.PrivateSearch(TREES, GRID), {}, "must be private estimators"),
        (rx.RashomonClassifier(mechanism="hit_and_run"), {"psi": [0.1]}, "curator only"),
        (rx.DPBilevelSearch(bounds=(0.1, 10.0)), {"refit": [None]}, "has no predict method"),
    ],
)
def test_bad_candidates_are_refused(estimator, grid, message):
    with pytest.raises((TypeError, ValueError), match=message):
        rx.PrivateSearch(estimator, grid, mechanism="every").plan(200, 3)


def test_a_schema_and_pipelines(X, labels):
    frame = pd.DataFrame({"age": 40 + 30 * X[:, 0], "home": np.where(X[:, 1] > 0, "own", "rent")})
    declared = rx.TableSchema([Numeric("age", (0, 100)), Categorical("home", ["own", "rent"])])
    model = rx.RashomonTreeClassifier(schema=declared, n_draws=1, thresholds={"age": 50})
    search = rx.PrivateSearch(model, {"max_leaves": [2, 3]}, epsilon=30.0, random_state=0)
    fitted = search.fit(frame, labels)
    assert fitted.guarantee_.epsilon(1e-6) <= 30.0 and fitted.predict(frame).shape == (120,)
    assert fitted.plan_.each == search.plan(120).each
    assert fitted.feature_names_in_.tolist() == ["age", "home"]
    with pytest.warns(PrivacyLeakWarning):
        learnt = make_pipeline(rx.PublicBoundsScaler("learn"), trees(mechanism="every"))
        assert not learnt.fit(X, labels)[-1].guarantee_.holds
