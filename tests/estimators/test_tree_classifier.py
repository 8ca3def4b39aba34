"""RashomonTreeClassifier: price, promise, ledger, questions, and what leaves."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import Ledger, RashomonTreeClassifier, exceptions
from rashomon_explorer.mechanisms.select import LEAST_HITS
from rashomon_explorer.mechanisms.sparse_trees import coldest, energy_cap, hit_rate_within
from rashomon_explorer.sets import ReleasedTrees
from rashomon_explorer.trees import CountedTrees, TreeClass
from rashomon_explorer.trees.private import gibbs_draws
from tests.estimators.traps import TrapArray
from tests.mechanisms.builders import planned_trees
from tests.trees.listed import errors_of, leaves_of, some_rows, whole_class

N = 4000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(N, 5))
    y = np.where(rng.random(N) < 0.9, X[:, 0] & X[:, 1], rng.integers(0, 2, size=N))
    return X, y


@pytest.fixture(scope="module")
def fitted(table):
    return RashomonTreeClassifier(n_draws=10, max_leaves=4, random_state=0).fit(*table)


class TestPrice:
    @pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize("n_draws", [1, 20])
    @pytest.mark.parametrize("ledger", [False, True])
    def test_all_draws_together_cost_no_more_than_was_asked(self, epsilon, delta, n_draws, ledger):
        public = {"log_size": 10.0, "most_leaves": 5, "psi": 0.02, "ledger": ledger}
        bought = planned_trees(1000, **public, epsilon=epsilon, delta=delta, n_draws=n_draws)
        assert bought.guarantee.epsilon(delta) <= epsilon * (1 + 1e-12)
        # One row moves an energy by β/n either way; the rest of η is rounding.
        assert 2 * bought.beta / 1000 < bought.eta < 2 * bought.beta / 1000 * (1 + 1e-6)
        public |= {"psi": 0.5, "leaf_penalty": 0.1}  # neither changes the cost
        other = planned_trees(1000, **public, epsilon=epsilon, delta=delta, n_draws=n_draws)
        assert other.eta == bought.eta

    def test_rounding_is_paid_for(self):
        assert coldest(1.0, 1000, 0.0, 0.0, walk_rounding=0.1) == pytest.approx(300, rel=1e-6)
        exact, rounded = TreeClass(20, 5), TreeClass(60, 9)
        assert exact.rounding(1000) == 0 < rounded.rounding(1000) < 1e-5
        assert 2.0**53 < rounded.size
        with pytest.raises(ValueError, match="below the rounding error"):
            coldest(1e-12, 1000, 0.0, 0.0, 0.0)

    @pytest.mark.parametrize(("n", "draws"), [(10**6, 20), (30_000, 5), (300, 1)])
    def test_auto_draws_as_many_trees_as_are_guaranteed_to_hit(self, n, draws):
        made = RashomonTreeClassifier(max_leaves=3, delta=0.0, epsilon=0.2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", exceptions.WeakGuaranteeWarning)
            bought = made.plan(n, 10)
            more = made.set_params(n_draws=2 * draws).plan(n, 10)
        assert bought.n_draws == draws
        assert (bought.hit_rate_bound >= LEAST_HITS) == (draws > 1)
        assert draws == 20 or more.hit_rate_bound < LEAST_HITS
        assert ("chosen        a set" if draws > 1 else "chosen        one tree") in repr(bought)


class TestPromise:
    @pytest.mark.parametrize("psi", [0.1, 0.3])
    @pytest.mark.parametrize("beta_n", [1.0, 10.0, 40.0])
    def test_no_table_hits_less_often_than_was_promised(self, psi, beta_n):
        """Exact hit rates of small tables against the promise from the size of the class."""
        trees = whole_class(2, 3)
        public = {"log_size": math.log(len(trees)), "most_leaves": 3, "leaf_penalty": 0.01}
        bought = planned_trees(12, **public, psi=psi, epsilon=4 * beta_n, n_draws=2, hit_rate=0.9)
        for seed in range(6):
            X, y = some_rows(seed, m=2)
            losses = np.array([errors_of(t, X, y) / 12 + 0.01 * leaves_of(t) for t in trees])
            energy = bought.beta * np.maximum(losses - losses.min() - bought.law_psi, 0)
            weights = np.exp(-np.minimum(energy, energy_cap(bought.request.log_size)))
            inside = losses <= losses.min() + psi
            assert weights[inside].sum() / weights.sum() >= bought.hit_rate_bound
            excess = (weights * (losses - losses.min())).sum() / weights.sum()
            assert excess <= bought.excess_bound

    def test_the_promise_is_nearly_attained_by_a_law_with_one_good_tree(self):
        bought = planned_trees(1000, log_size=5.0, most_leaves=3, psi=0.05, epsilon=1.0, n_draws=2)
        others = math.exp(5.0) - 1
        worst = 1 / (1 + others * math.exp(-bought.beta * (0.05 - bought.law_psi)))
        assert bought.hit_rate_bound == pytest.approx(worst, rel=1e-6)
        assert hit_rate_within(bought, 0.05) == bought.hit_rate_bound < hit_rate_within(bought, 0.1)

    def test_one_tree_is_drawn_near_the_best(self):
        one = RashomonTreeClassifier(n_draws=1, delta=0.0).plan(10**6, 10)
        assert one.law_psi == 0 and one.hit_rate_bound > 0.999
        assert one.excess_bound < one.population_bound < one.excess_bound + 0.01


class TestCosts:
    def test_draws_follow_them_at_the_same_price(self, table):
        X, y = table
        settings = {"n_draws": 5, "max_leaves": 3, "random_state": 0}
        dear = RashomonTreeClassifier(costs=[[0, 1], [50, 0]], **settings).fit(X, y)
        assert dear.plan_.eta == RashomonTreeClassifier(**settings).plan(N, 5).eta
        assert any("costs of errors" in told for told in dear.guarantee_.assumptions)
        cost = np.array([[0, 1], [50, 0]])
        for says, tree, loss in zip(
            dear.predict_each(X),
            dear.rashomon_set_.models.trees,
            dear.rashomon_set_.losses,
            strict=True,
        ):
            assert cost[y, says].sum() / (50 * N) + 0.005 * leaves_of(tree) == pytest.approx(loss)
        assert dear.predict(X).mean() > 0.9  # to say 1 of everybody is cheap
        named = RashomonTreeClassifier(costs={1: 50}, **settings).fit(X, y)
        assert named.rashomon_set_.models.trees == dear.rashomon_set_.models.trees


class TestFit:
    def test_draws_are_trees_of_the_class_with_their_losses(self, table, fitted):
        X, y = table
        models = fitted.rashomon_set_
        assert len(models) == 10 and models.complexity().max() <= 4
        for tree, loss in zip(models.models.trees, models.losses, strict=True):
            assert errors_of(tree, X, y) / N + 0.005 * leaves_of(tree) == pytest.approx(loss)
        assert models.hit_rate > 0.8 and models.excess.min() >= 0
        votes = fitted.predict_each(X).mean(axis=0)
        assert np.array_equal(fitted.predict_proba(X)[:, 1], votes)
        assert np.array_equal(fitted.predict(X), (votes > 0.5).astype(int))

    @pytest.mark.parametrize(("epsilon", "n_draws"), [(1000.0, 20), (1e-5, 400)])
    def test_cold_draws_are_best_and_hot_ones_of_the_whole_class(self, table, epsilon, n_draws):
        """Nearly all trees have more errors than the window: they come from the class itself."""
        counted = CountedTrees(*table, max_leaves=3)
        public = {"log_size": counted.trees.log_size, "most_leaves": 3, "psi": 0.0}
        planned = planned_trees(N, **public, epsilon=epsilon, n_draws=n_draws)
        draws = gibbs_draws(counted, planned, np.random.default_rng(0))
        assert np.array_equal([counted.errors(tree) / N for tree in draws.trees], draws.losses)
        best = counted.least if epsilon > 1 else pytest.approx(0.5, abs=0.05)
        assert np.mean(draws.losses) == best


REFUSED = [
    ({"costs": {2: 5}}, "costs name the label 2"),
    ({"costs": [[0, 0.5], [1, 0]]}, "whole numbers"),
    *(({"thresholds": cuts}, "thresholds") for cuts in ([], [math.nan], [1, 1], "high", [True])),
    ({"thresholds": {"none": [1]}}, "thresholds"),
]


class TestLedger:
    @pytest.fixture
    def book(self, tmp_path):
        return Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-5)

    @pytest.mark.parametrize(("settings", "message"), REFUSED)
    def test_bad_settings_are_refused_before_a_charge(self, table, book, settings, message):
        model = RashomonTreeClassifier(classes=[0, 1], max_leaves=2, ledger=book, **settings)
        with pytest.raises(ValueError, match=message):
            model.fit(*table)
        with pytest.raises(
            exceptions.DataError, match="10 leaves on 60 features"
        ):  # too large to be counted
            large = RashomonTreeClassifier(ledger=book, classes=[0, 1], max_leaves=10)
            large.fit(TrapArray(5000, 60), TrapArray(5000))
        assert book.entries() == []

    def test_what_rows_cause_says_nothing_after_the_charge(self, book, table):
        X, y = table
        model = RashomonTreeClassifier(ledger=book, classes=[0, 1], max_leaves=3)
        with pytest.raises(exceptions.FitError) as caught:
            model.fit(X * 7.0, y)
        assert "0 and 1" not in str(caught.value) and "0 and 1" in caught.value.detail
        with pytest.raises(
            exceptions.DataError, match=r"column 'x0' has values other than 0 and 1.*thres"
        ):
            model.set_params(ledger=None).fit(X + 0.5, y)


class TestQuestions:
    def test_thresholds_by_column(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"age": rng.uniform(20, 80, N), "owns": rng.integers(0, 2, N)})
        y = (frame["age"] > 40).astype(int)
        asked = {"thresholds": {"age": [30, 40, 50]}, "max_leaves": 3, "n_draws": 1}
        fitted = RashomonTreeClassifier(**asked).fit(frame, y)
        assert fitted.questions_ == ("age > 30", "age > 40", "age > 50", "owns")
        assert fitted.plan(N, 2).request.log_size == fitted.plan_.request.log_size
        assert fitted.score(frame, y) == 1
        assert fitted.rashomon_set_.scores(frame).shape == (1, N)


def test_only_privately_drawn_trees_are_released(fitted, table, tmp_path):
    X, _ = table
    models = fitted.rashomon_set_
    released = models.release()
    assert np.array_equal(released.scores(X), models.scores(X))
    three = RashomonTreeClassifier(n_draws=2, max_leaves=4, classes=["a", "b", "c"])
    y = np.array(["a", "b", "c"])[X[:, 0] + X[:, 1]]
    assert three.fit(X, y).predict_proba(X).shape == (N, 3) and three.score(X, y) > 0.9
    for name in ("losses", "excess", "hit_rate", "least", "best_scores", "inside"):
        with pytest.raises(exceptions.CuratorOnlyError):
            getattr(released, name)
    released.save(tmp_path / "a.npz")
    again = ReleasedTrees.load(tmp_path / "a.npz")
    assert again.models.trees == released.models.trees
    assert again.guarantee.epsilon(1e-6) == fitted.guarantee_.epsilon(1e-6)
    assert released[:2].guarantee.holds and len(released[:2]) == 2
    for private in (
        lambda: models.inside().release(),
        lambda: models.filter(lambda m: m.losses < 1, reads_rows=False),
        lambda: models.stored(X).release(),
    ):
        with pytest.raises(exceptions.CuratorOnlyError):
            private()
    assert models.filter(lambda m: m.complexity() < 4, reads_rows=False).guarantee.holds


def test_trees_have_five_leaves_or_as_many_as_can_be_counted(table):
    """From public numbers alone; who asks for more is refused, with what would fit."""
    asked = RashomonTreeClassifier(n_draws=1)
    assert asked.plan(32_561, 12).request.most_leaves == 5
    assert asked.plan(32_561, 71).request.most_leaves == 4
    with pytest.raises(ValueError, match="4 leaves or 78 features would fit"):
        asked.set_params(max_leaves=5).plan(32_561, 90)
    assert asked.plan(32_561, 71).request.most_leaves == 5
    assert asked.set_params(max_leaves=None).plan(245, 97).details.memory < 2**30
    X, y = table
    fitted = RashomonTreeClassifier(n_draws=2, random_state=0).fit(X, y)
    five = RashomonTreeClassifier(n_draws=2, max_leaves=5, random_state=0).fit(X, y)
    assert fitted.tree_class_ == five.tree_class_ and fitted.counted(X, y).size(0.02) > 0
    assert (fitted.predict(X) == five.predict(X)).all()
