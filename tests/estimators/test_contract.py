"""One contract of all private estimators."""

import inspect
import math
import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import rashomon_explorer as rx
from rashomon_explorer import exceptions
from rashomon_explorer._utils.validation import MOST_EPSILON
from rashomon_explorer.estimators.feasibility import LEAST_EPSILON
from tests.estimators.charged import CHUNKED, ESTIMATORS, N, public_rows

X, Y = public_rows()
FRAME = pd.DataFrame(X, columns=["age", "debt"])
NAN = np.where(X == X[5, 1], np.nan, X)
INFINITE = np.where(np.isnan(NAN), np.inf, NAN)
TEXT = FRAME.astype(object).assign(debt="HIV")
MORE: dict[str, Callable[..., Any]] = {
    **ESTIMATORS,
    "curator only": lambda **k: rx.RashomonClassifier(
        **{"mechanism": "hit_and_run", "n_draws": 2, "classes": [0, 1], **k}
    ),
    "search of ridge penalties": lambda **k: rx.DPBilevelSearch(
        **{"bounds": (1e-3, 1.0), "target_bounds": (-1, 1), "epsilon": 4.0, **k}
    ),
}
every = pytest.mark.parametrize("name", ESTIMATORS)
every_setting = pytest.mark.parametrize("name", MORE)


@pytest.fixture
def ledger(tmp_path):
    return rx.Ledger.create(tmp_path / "data.ledger", epsilon=20.0, delta=1e-5)


class TestStructure:
    def test_a_parameter_has_one_default(self):
        """The losses differ by task; a search selects one penalty, at ψ = 0 as for one model."""
        by_task = {"loss", "estimator"}
        own = {"DPBilevelSearch": {"psi"}}
        found: dict[str, dict[str, Any]] = {}
        for name, make in ESTIMATORS.items():
            for parameter in inspect.signature(type(make())).parameters.values():
                if parameter.name not in by_task | own.get(name, set()):
                    found.setdefault(parameter.name, {})[name] = parameter.default
        differing = {one: of for one, of in found.items() if len(set(map(repr, of.values()))) > 1}
        assert differing == {}


class TestPlan:
    @every_setting
    @pytest.mark.parametrize(
        "epsilon",
        [0, -1.0, math.inf, math.nan, 1e-300, 1e-10, 1e10, 10**400, "1", None, True],
        ids=lambda value: str(value)[:8],
    )
    def test_an_absurd_epsilon_is_refused_with_one_message_by_plan_and_fit(self, name, epsilon):
        model = MORE[name](epsilon=epsilon)
        messages = set()
        for act in (lambda: model.plan(N, 2), lambda: model.fit(X, Y)):
            with pytest.raises(ValueError, match="'epsilon' parameter") as caught:
                act()
            messages.add(str(caught.value))
        (message,) = messages
        assert "must be a number from 1e-09 to 1e+09, usually 0.1 to 10" in message
        assert 'no privacy? RashomonClassifier or RashomonRegressor with mechanism="hit' in message
        assert f"Got {epsilon!r} instead" in message

    @pytest.mark.law
    @pytest.mark.parametrize("name", sorted({*MORE} - {"PrivateSearch", "curator only"}))
    @pytest.mark.parametrize("epsilon", [LEAST_EPSILON, MOST_EPSILON])
    def test_the_ends_of_the_range_can_be_planned(self, name, epsilon):
        made = MORE[name](epsilon=epsilon, **({"mechanism": "auto"} if "DPC" in name else {}))
        assert made.plan(300, 3).guarantee.epsilon(1e-6) <= epsilon * (1 + 1e-9)

    @every
    def test_a_delta_of_one_in_n_or_more_warns(self, name):
        with pytest.warns(exceptions.LargeDeltaWarning, match="is at least 1/n=0.0033") as caught:
            ESTIMATORS[name](delta=1 / 300).plan(300, 3)
        assert {str(one.filename) for one in caught} == {__file__}
        with warnings.catch_warnings():
            warnings.simplefilter("error", exceptions.LargeDeltaWarning)
            ESTIMATORS[name](delta=1 / 301).plan(300, 3)
            MORE["curator only"](delta=1 / 300).plan(300, 3)

    @every_setting
    def test_a_plan_takes_the_shape_of_a_table(self, name):
        class Unread:
            shape = (N, 2)

            def __len__(self):
                return N

            def __getattr__(self, attribute):
                raise AssertionError(f"{attribute} was read")

        model = MORE[name]()
        tables: list[Any] = [X, FRAME, X.tolist(), Unread()]
        assert {repr(model.plan(table)) for table in tables} == {repr(model.plan(N, 2))}
        assert model.plan(np.int64(N), np.int64(2)) == model.plan(N, 2)
        unknown = pytest.importorskip("dask.dataframe").from_pandas(FRAME, npartitions=2)
        for wrong, message in (
            ((X, Y), r"reads no rows and no targets.*plan\(X\)"),
            ((Y,), "of this ndarray is not known, or not"),
            (("table.csv",), "of this str is not known"),
            ((unknown,), "give a plan the two numbers"),
        ):
            with pytest.raises(TypeError, match=message):
                model.plan(*wrong)


class TestFit:
    @every_setting
    def test_it_keeps_the_plan_the_settings_and_the_rows(self, name):
        model, rows = MORE[name](), X.copy()
        before, settings = model.plan(*X.shape), model.get_params()
        assert model.fit(rows, Y) is model
        assert model.plan_.guarantee.epsilon(1e-6) == before.guarantee.epsilon(1e-6)
        assert model.guarantee_.holds is (name != "curator only")
        assert {k: repr(v) for k, v in model.get_params().items()} == {
            k: repr(v) for k, v in settings.items()
        }
        assert np.array_equal(rows, X)

    @every_setting
    def test_a_seed_repeats_as_a_pickle_does_and_guarantee_and_repr_state_it(self, name):
        one, again = (MORE[name](random_state=3).fit(X, Y) for _ in range(2))
        twin = pickle.loads(pickle.dumps(one))
        assert one.guarantee_.seeded and twin.guarantee_ == one.guarantee_
        for same in (again, twin):
            assert np.array_equal(one.predict(X), same.predict(X))
        assert [attribute for attribute in vars(clone(one)) if attribute.endswith("_")] == []
        line = repr(one).splitlines()[-1]
        assert line.startswith("# fitted: ")
        assert line.endswith("not private" if one.guarantee_.holds else "no guarantee")
        other = MORE[name]()
        assert "fitted" not in repr(other) and not other.fit(X, Y).guarantee_.seeded
        assert "known seed" not in repr(other)

    @every
    def test_a_second_fit_leaves_nothing_of_the_first(self, name):
        model = ESTIMATORS[name](random_state=0).fit(FRAME, Y)
        assert model.feature_names_in_.tolist() == ["age", "debt"]
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(FRAME[["debt", "age"]])
        names = {*vars(model)} - {"feature_names_in_"}
        assert {*vars(model.fit(X, Y))} == names
        assert model.n_features_in_ == 2

    @every
    def test_weights_are_refused_with_the_reason(self, name):
        for weights in ("sample_weight", "class_weight"):
            with pytest.raises(TypeError, match=f"{weights} is not supported: the privacy cost"):
                ESTIMATORS[name]().fit(X, Y, **{weights: np.ones(N)})
        with pytest.raises(TypeError, match="class_weight is not supported"):
            ESTIMATORS[name](class_weight="balanced")
        ESTIMATORS[name]().fit(X, Y, sample_weight=None)

    @every_setting
    @pytest.mark.parametrize(
        ("setting", "wrong"),
        [
            ("n_draws", [0, 1.5, True]),
            ("psi", [-0.1, math.inf, math.nan, "a"]),
            ("delta", [1.0, -0.1, math.nan]),
            ("radius", [0, 1e-9, math.inf]),
            ("row_norm", [0, -1.0, math.inf, "wide"]),
            ("ridge", [-1, 1e7, math.inf, math.nan]),
            ("standardize", ["never"]),
            ("mechanism", ["magic", None]),
            ("schema", [7]),
            ("ledger", [7]),
            ("random_state", ["dice"]),
        ],
    )
    def test_bad_settings_are_refused_by_name(self, name, setting, wrong):
        if setting not in MORE[name]().get_params(deep=False):
            return
        for value in wrong:
            with pytest.raises(ValueError, match=f"'{setting}' parameter"):
                MORE[name](**{setting: value}).fit(X, Y)


class TestLedger:
    @every
    def test_every_fit_is_charged_and_committed_and_predicting_is_free(self, name, ledger):
        model = ESTIMATORS[name](ledger=ledger.path, random_state=0).fit(X, Y)
        assert model.guarantee_.epsilon(1e-6) <= ledger.spent(1e-6) + 1e-9 <= 4.0 + 1e-8
        clone(model).set_params(ledger=ledger).fit(X, Y)
        model.predict(X), model.plan(1000, 2), model.check_rows(X, Y)
        entries = ledger.entries()
        assert [entry.state for entry in entries] == ["committed"] * 2
        assert entries[0].guarantee == model.guarantee_
        assert entries[0].note.startswith(type(model).__name__)
        assert entries[0].parameters["epsilon"] == 4.0

    @every
    def test_a_refused_refit_leaves_ledger_and_models_as_they_were(self, name, tmp_path):
        ledger = rx.Ledger.create(tmp_path / "small.ledger", epsilon=4.1, delta=1e-5)
        model = ESTIMATORS[name](ledger=ledger).fit(FRAME, Y)
        before = {**vars(model)}
        with pytest.raises(exceptions.BudgetExceededError, match="Nothing was drawn"):
            model.fit(X, np.array(["a", "b"])[Y] if hasattr(model, "classes_") else Y)
        assert vars(model) == before
        assert len(ledger.entries()) == 1

    @every
    def test_every_failure_by_rows_is_one_error_and_leaves_the_models(self, name, ledger):
        """NaN, infinity, text and ragged rows give the same message, and no other is chained."""
        model = ESTIMATORS[name](ledger=ledger, epsilon=0.9).fit(FRAME, Y)
        before, texts = {**vars(model)}, set()
        ragged = [[0.0, 0.0]] * (N - 1) + [[0.0]]
        label = np.where(np.arange(N) == 3, "HIV", Y.astype(object))
        rows = {"NaN": NAN, "infinity": INFINITE, "HIV": TEXT, "inhomogeneous": ragged}
        bad = [*((detail, X, Y) for detail, X in rows.items()), ("HIV|nknown|convert", X, label)]
        for detail, X_bad, y_bad in bad:
            with pytest.raises(
                exceptions.FitError, match=r"cost stays spent.*check_rows"
            ) as caught:
                model.fit(X_bad, y_bad)
            error = caught.value
            texts.add((str(error), repr(error), error.args, error.__cause__, error.__context__))
            assert re.search(detail, error.detail), error.detail
        assert len(texts) == 1 and "HIV" not in repr(texts)
        assert [entry.state for entry in ledger.entries()] == ["committed"] + ["started"] * 5
        assert vars(model) == before

    @every
    def test_a_path_without_a_ledger_is_refused_and_none_is_made(self, name, tmp_path):
        with pytest.raises(
            exceptions.LedgerError, match=r"no ledger at .*date\.ledger.*Ledger\.create"
        ):
            ESTIMATORS[name](ledger=str(tmp_path / "date.ledger")).fit(X, Y)
        (tmp_path / "text").write_text("not a ledger " * 100)
        with pytest.raises(exceptions.LedgerError):
            ESTIMATORS[name](ledger=tmp_path / "text").fit(X, Y)
        assert [one.name for one in tmp_path.iterdir()] == ["text"]


class TestCheckRows:
    @every_setting
    def test_rows_that_fit_can_use_pass_and_others_are_named(self, name, ledger):
        model = MORE[name](ledger=ledger)
        model.check_rows(X, Y)
        reasons = {"contains NaN.*schema=": NAN, "could not convert.*schema=": TEXT}
        for reason, rows in reasons.items():
            for look in (model.check_rows, MORE[name]().fit):  # without a ledger a fit says it too
                with pytest.raises(ValueError, match=reason) as caught:
                    look(rows, Y)
                assert not isinstance(caught.value, exceptions.FitError)
        if name in CHUNKED and name != "RashomonTreeClassifier":
            with pytest.warns(UserWarning, match="longer than row_norm=1"):
                model.check_rows(100 * X, Y)
        if hasattr(model, "classes") and not isinstance(model, rx.DPRegressor):
            if getattr(model, "estimator", "logistic") == "logistic":
                with pytest.raises(ValueError, match="y holds 7, which is not among the declared"):
                    model.check_rows(X, np.where(np.arange(N) == 3, 7, Y))
        assert ledger.entries() == []
