"""RashomonTreeClassifier: price, promise, ledger, questions, and what leaves."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, StandardScaler

from rashomon_explorer import (
    Ledger,
    RashomonSet,
    RashomonTreeClassifier,
    TableSchema,
    privacy_leaks,
)
from rashomon_explorer.data import Categorical, Numeric, Ordered, YesNo
from rashomon_explorer.exceptions import (
    CuratorOnlyError,
    DataError,
    FitError,
    WeakGuaranteeWarning,
)
from rashomon_explorer.measures import multiplicity_table
from rashomon_explorer.mechanisms.planning.options import LEAST_HITS
from rashomon_explorer.mechanisms.planning.trees import coldest, energy_cap, plan_trees
from rashomon_explorer.sets import ReleasedTrees
from rashomon_explorer.trees import CountedTrees, TreeClass
from rashomon_explorer.trees.private import gibbs_draws
from tests.estimators.traps import TrapArray
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
        bought = plan_trees(1000, **public, epsilon=epsilon, delta=delta, n_draws=n_draws)
        assert bought.guarantee.epsilon(delta) <= epsilon * (1 + 1e-12)
        # One row moves an energy by β/n either way; the rest of η is rounding.
        assert 2 * bought.beta / 1000 < bought.eta < 2 * bought.beta / 1000 * (1 + 1e-6)

    def test_rounding_is_paid_for(self):
        assert coldest(1.0, 1000, 0.0, 0.0, walk_rounding=0.1) == pytest.approx(300, rel=1e-6)
        exact, rounded = TreeClass(20, 5), TreeClass(60, 9)
        assert exact.rounding(1000) == 0 < rounded.rounding(1000) < 1e-5
        assert 2.0**53 < rounded.size
        with pytest.raises(ValueError, match="below the rounding error"):
            coldest(1e-12, 1000, 0.0, 0.0, 0.0)

    def test_the_leaf_penalty_and_psi_change_no_price(self):
        public = {"log_size": 10.0, "most_leaves": 5, "epsilon": 1.0}
        etas = [
            plan_trees(1000, **public, psi=psi, leaf_penalty=penalty).eta
            for psi in (0.0, 0.5)
            for penalty in (0.0, 0.1)
        ]
        assert len(set(etas)) == 1

    @pytest.mark.parametrize(("n", "draws"), [(10**6, 20), (30_000, 5), (300, 1)])
    def test_auto_draws_as_many_trees_as_are_guaranteed_to_hit(self, n, draws):
        made = RashomonTreeClassifier(max_leaves=3, delta=0.0, epsilon=0.2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakGuaranteeWarning)
            bought = made.plan(n, 10)
            more = made.set_params(n_draws=2 * draws).plan(n, 10)
        assert bought.n_draws == draws
        assert (bought.hit_rate_bound >= LEAST_HITS) == (draws > 1)
        assert draws == 20 or more.hit_rate_bound < LEAST_HITS

    def test_many_rows_are_planned_without_a_row(self):
        bought = RashomonTreeClassifier(epsilon=0.1, n_draws=5).plan(10**5, 20)
        assert bought.hit_rate_bound >= 0.89 and bought.law_psi > 0


class TestPromise:
    @pytest.mark.parametrize("psi", [0.1, 0.3])
    @pytest.mark.parametrize("beta_n", [1.0, 10.0, 40.0])
    def test_no_table_hits_less_often_than_was_promised(self, psi, beta_n):
        """Exact hit rates of small tables against the promise from the size of the class."""
        trees = whole_class(2, 3)
        public = {"log_size": math.log(len(trees)), "most_leaves": 3, "leaf_penalty": 0.01}
        bought = plan_trees(12, **public, psi=psi, epsilon=2 * beta_n, hit_rate=0.9)
        for seed in range(6):
            X, y = some_rows(seed, m=2)
            losses = np.array([errors_of(t, X, y) / 12 + 0.01 * leaves_of(t) for t in trees])
            energy = bought.beta * np.maximum(losses - losses.min() - bought.law_psi, 0)
            weights = np.exp(-np.minimum(energy, energy_cap(bought.log_size)))
            inside = losses <= losses.min() + psi
            assert weights[inside].sum() / weights.sum() >= bought.hit_rate_bound
            excess = (weights * (losses - losses.min())).sum() / weights.sum()
            assert excess <= bought.excess_bound

    def test_the_promise_is_nearly_attained_by_a_law_with_one_good_tree(self):
        bought = plan_trees(1000, log_size=5.0, most_leaves=3, psi=0.05, epsilon=0.5)
        others = math.exp(5.0) - 1
        worst = 1 / (1 + others * math.exp(-bought.beta * (0.05 - bought.law_psi)))
        assert bought.hit_rate_bound == pytest.approx(worst, rel=1e-6)
        assert bought.hit_rate(0.05) == bought.hit_rate_bound < bought.hit_rate(0.1)

    def test_a_weak_plan_says_what_would_do(self):
        with pytest.warns(WeakGuaranteeWarning, match=r"ε = .* would guarantee 90 %"):
            weak = RashomonTreeClassifier(n_draws=1, delta=0.0).plan(200, 10)
        wanted = RashomonTreeClassifier(n_draws=1, delta=0.0, hit_rate=0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wanted.set_params(epsilon=30.0).plan(200, 10)
        assert weak.law_psi == 0

    def test_no_wish_is_no_warning(self):
        plan = RashomonTreeClassifier(hit_rate=0.0).plan(200, 10)
        assert plan.law_psi == plan.psi


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

    def test_bad_ones_are_refused_before_a_ledger_is_charged(self, table, tmp_path):
        book = Ledger.create(tmp_path / "book.db", epsilon=2.0, delta=1e-5)
        clf = RashomonTreeClassifier(costs={2: 5}, classes=[0, 1], ledger=book)
        with pytest.raises(ValueError, match="costs name the label 2"):
            clf.fit(*table)
        assert book.entries() == []
        with pytest.raises(ValueError, match="whole numbers"):
            RashomonTreeClassifier(costs=[[0, 0.5], [1, 0]]).plan(100, 5)


class TestFit:
    def test_draws_are_trees_of_the_class_with_their_losses(self, table, fitted):
        X, y = table
        models = fitted.rashomon_set_
        assert len(models) == 10 and models.complexity().max() <= 4
        for tree, loss in zip(models.models.trees, models.losses, strict=True):
            assert errors_of(tree, X, y) / N + 0.005 * leaves_of(tree) == pytest.approx(loss)
        assert models.hit_rate > 0.8 and models.excess.min() >= 0

    def test_it_predicts_by_the_most_votes(self, table, fitted):
        X, _ = table
        votes = fitted.predict_each(X).mean(axis=0)
        assert np.array_equal(fitted.predict_proba(X)[:, 1], votes)
        assert np.array_equal(fitted.predict(X), (votes > 0.5).astype(int))

    def test_measures_take_the_set(self, table, fitted):
        X, _ = table
        found = multiplicity_table(fitted.rashomon_set_, X)
        assert len(found) > 5

    def test_psi_0_is_the_private_sparse_tree(self, table):
        one = RashomonTreeClassifier(psi=0.0, n_draws=1, max_leaves=3, epsilon=2.0).fit(*table)
        assert one.plan_.law_psi == 0 and one.rashomon_set_.excess[0] < 0.01

    def test_a_leak_is_named(self):
        pipe = make_pipeline(StandardScaler(), RashomonTreeClassifier(thresholds=0.0))
        assert privacy_leaks(pipe) == [
            "standardscaler: StandardScaler is not known to transform each row independently"
        ]
        assert privacy_leaks(make_pipeline(Binarizer(), RashomonTreeClassifier())) == []

    def test_very_cold_draws_are_best(self, table):
        X, y = table
        counted = CountedTrees(X, y, max_leaves=3)
        public = {"log_size": counted.trees.log_size, "most_leaves": 3}
        planned = plan_trees(N, **public, psi=0.0, epsilon=1000.0, n_draws=20)
        draws = gibbs_draws(counted, planned, np.random.default_rng(0))
        assert set(draws.losses) == {counted.least}

    def test_very_hot_draws_are_of_the_whole_class(self, table):
        """Nearly all trees have more errors than the window: they come from the class itself."""
        X, y = table
        counted = CountedTrees(X, y, max_leaves=3)
        public = {"log_size": counted.trees.log_size, "most_leaves": 3}
        planned = plan_trees(N, **public, psi=0.0, epsilon=1e-5, n_draws=400)
        draws = gibbs_draws(counted, planned, np.random.default_rng(0))
        found = [counted.errors(tree) / N for tree in draws.trees]
        assert np.array_equal(found, draws.losses)
        assert np.mean(found) == pytest.approx(0.5, abs=0.05)


class TestLedger:
    def test_what_rows_cause_says_nothing_after_the_charge(self, tmp_path, table):
        X, y = table
        Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-5)
        asked = RashomonTreeClassifier(ledger=tmp_path / "a.ledger", classes=[0, 1], max_leaves=3)
        with pytest.raises(FitError) as caught:
            asked.fit(X * 7.0, y)
        assert "0 and 1" not in str(caught.value) and "0 and 1" in caught.value.detail

    def test_too_large_a_class_is_refused_before_the_charge(self, tmp_path):
        Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-5)
        path = tmp_path / "a.ledger"
        asked = RashomonTreeClassifier(ledger=path, classes=[0, 1], max_leaves=10)
        with pytest.raises(DataError, match="10 leaves on 60 features"):
            asked.fit(TrapArray(5000, 60), TrapArray(5000))
        assert Ledger.open(path).entries() == []


class TestQuestions:
    def test_numbers_need_thresholds(self, table):
        X, y = table
        with pytest.raises(DataError, match=r"column 'x0' has values other than 0 and 1.*thres"):
            RashomonTreeClassifier(max_leaves=3).fit(X + 0.5, y)

    def test_thresholds_by_column(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"age": rng.uniform(20, 80, N), "owns": rng.integers(0, 2, N)})
        y = (frame["age"] > 40).astype(int)
        asked = {"thresholds": {"age": [30, 40, 50]}, "max_leaves": 3, "n_draws": 1}
        fitted = RashomonTreeClassifier(**asked).fit(frame, y)
        assert fitted.questions_ == ("age > 30", "age > 40", "age > 50", "owns")
        assert fitted.plan(N, 2).log_size == fitted.plan_.log_size
        assert fitted.score(frame, y) == 1
        assert fitted.rashomon_set_.scores(frame).shape == (1, N)

    @pytest.mark.parametrize("thresholds", [[], [math.nan], [1, 1], "high", {"none": [1]}, [True]])
    def test_bad_thresholds_are_refused(self, table, thresholds):
        with pytest.raises(ValueError, match="thresholds"):
            RashomonTreeClassifier(thresholds=thresholds, max_leaves=2).fit(*table)

    def test_a_schema_makes_the_questions(self, tmp_path):
        schema = TableSchema(
            [
                Numeric("age", (0, 120), typical=(20, 60)),
                Categorical("home", ["own", "rent", "free"]),
                Ordered("grade", ["low", "mid", "high"], missing="indicator"),
                YesNo("married"),
                YesNo("repaid", role="target"),
            ]
        )
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "age": rng.uniform(20, 60, N),
                "home": rng.choice(["own", "rent", "free"], N),
                "grade": rng.choice(np.array(["low", "mid", "high"]), N),
                "married": rng.choice(["no", "yes"], N),
            }
        )
        y = np.where(frame["home"] == "own", "yes", "no")
        Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-5)
        asked = RashomonTreeClassifier(
            schema=schema, max_leaves=3, n_draws=3, ledger=tmp_path / "a.ledger"
        )
        fitted = asked.fit(frame, y)
        assert fitted.questions_[:4] == ("age > 30", "age > 40", "age > 50", "home=own")
        assert len(fitted.questions_) == 3 + 3 + 3 + 1
        assert asked.plan(N).log_size == fitted.plan_.log_size
        assert fitted.score(frame, y) > 0.95
        encoded = fitted.encoder_.transform(frame)
        assert (fitted.rashomon_set_.labels(encoded) == (fitted.predict_each(frame) == "yes")).all()
        assert len(multiplicity_table(fitted.rashomon_set_, encoded)) > 5

    def test_three_classes(self, table):
        X, _ = table
        y = np.array(["a", "b", "c"])[X[:, 0] + X[:, 1]]
        fitted = RashomonTreeClassifier(n_draws=2, max_leaves=4, classes=["a", "b", "c"]).fit(X, y)
        assert fitted.predict_proba(X).shape == (N, 3) and fitted.score(X, y) > 0.9


class TestRelease:
    def test_what_leaves_holds_no_loss(self, fitted, table, tmp_path):
        X, _ = table
        released = fitted.rashomon_set_.release()
        assert np.array_equal(released.labels(X), fitted.rashomon_set_.labels(X))
        assert np.array_equal(released.scores(X), fitted.rashomon_set_.scores(X))
        for name in ("losses", "excess", "hit_rate", "least", "best_scores", "inside"):
            with pytest.raises(CuratorOnlyError):
                getattr(released, name)
        released.save(tmp_path / "a.npz")
        again = ReleasedTrees.load(tmp_path / "a.npz")
        assert again.models.trees == released.models.trees
        assert again.guarantee.epsilon(1e-6) == fitted.guarantee_.epsilon(1e-6)
        assert released[:2].guarantee.holds and len(released[:2]) == 2

    def test_a_choice_by_losses_cannot_leave(self, fitted):
        models = fitted.rashomon_set_
        with pytest.raises(CuratorOnlyError, match="private rows"):
            models.inside().release()
        with pytest.raises(CuratorOnlyError):
            models.filter(lambda m: m.losses < 1, reads_rows=False)
        assert models.filter(lambda m: m.complexity() < 4, reads_rows=False).guarantee.holds

    def test_others_models_cannot_leave(self, fitted, table):
        X, _ = table
        models = fitted.rashomon_set_
        stored = replace(models.stored(X))
        with pytest.raises(CuratorOnlyError, match="only trees"):
            stored.release()

    def test_the_curators_set_is_saved_and_read(self, fitted, table, tmp_path):
        fitted.rashomon_set_.save(tmp_path / "a.npz")
        again = RashomonSet.load(tmp_path / "a.npz")
        assert np.array_equal(again.losses, fitted.rashomon_set_.losses)
        assert again.guarantee.holds


def test_trees_have_five_leaves_or_as_many_as_can_be_counted(table):
    """From public numbers alone; who asks for more is refused, with what would fit."""
    asked = RashomonTreeClassifier(n_draws=1)
    assert asked.plan(32_561, 12).most_leaves == 5
    assert asked.plan(32_561, 71).most_leaves == 4
    with pytest.raises(ValueError, match="4 leaves fit"):
        asked.set_params(max_leaves=5).plan(32_561, 71)
    X, y = table
    fitted = RashomonTreeClassifier(n_draws=2, random_state=0).fit(X, y)
    five = RashomonTreeClassifier(n_draws=2, max_leaves=5, random_state=0).fit(X, y)
    assert fitted.tree_class_ == five.tree_class_ and fitted.counted(X, y).size(0.02) > 0
    assert (fitted.predict(X) == five.predict(X)).all()
