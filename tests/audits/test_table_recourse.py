"""Recourse in the columns of the table: beside a search over the table's own values."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from rashomon_explorer import audit, measures
from rashomon_explorer.audits.table_recourse import MISSING_COST, _Answers

NUMBERS = ["income", "debt"]


def table(n=400, missing=False):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(3, 0.6, n),
            "debt": rng.integers(0, 12, n),
            "home": rng.choice(["own", "rent", "free"], n),
        }
    )
    score = np.log(X.income) - 0.1 * X.debt + 0.7 * (X.home == "own") - 2.8
    if missing:
        X.loc[::4, "income"] = np.nan
    return X, pd.Series((score + 0.3 * rng.logistic(size=n) > 0).astype(int), name="loan")


def on_numbers(*steps):
    return make_column_transformer((make_pipeline(*steps), NUMBERS), (OneHotEncoder(), ["home"]))


QUANTILES = "averaged_inverted_cdf"
ENCODERS = {
    "scaled": on_numbers(StandardScaler()),
    "log": on_numbers(FunctionTransformer(np.log1p), StandardScaler()),
    "bins": on_numbers(KBinsDiscretizer(5, encode="ordinal", quantile_method=QUANTILES)),
    "ordinal": make_column_transformer((StandardScaler(), NUMBERS), (OrdinalEncoder(), ["home"])),
    "imputed": on_numbers(SimpleImputer(add_indicator=True), StandardScaler()),
    "products": on_numbers(StandardScaler(), PolynomialFeatures(2, include_bias=False)),
    "union": on_numbers(
        FeatureUnion([("one", StandardScaler()), ("two", FunctionTransformer(np.sqrt))])
    ),
}


def audited(encoder, missing=False, **options):
    X, y = table(missing=missing)
    model = make_pipeline(encoder, LogisticRegression(C=1.0, max_iter=5000, tol=1e-8)).fit(X, y)
    return model, X, y, audit(model, X, y, tolerance="0.3%", **options)


def worst(found, rows):
    """Least log-odds over the set."""
    encoded = found.inputs.model.encoded(rows)
    return measures.exact_score_ranges(found.problem, found.psi, encoded)["low_outer"].to_numpy()


def cheapest(found, model, person, values):
    """Cheapest change among the values of each column, as every good model decides."""
    X = found.inputs.model.table
    grid = np.array(np.meshgrid(*values.values())).reshape(len(values), -1).T
    tried = pd.concat([person] * len(grid), ignore_index=True)
    cost = np.zeros(len(grid))
    for column, new in zip(values, grid.T, strict=True):
        own = person[column].iloc[0]
        tried[column] = pd.Series(new).infer_objects()
        if column == "home":
            cost += new != own
        elif pd.isna(own):
            cost += MISSING_COST + np.abs(new.astype(float) - X[column].median()) / X[column].std(
                ddof=0
            )
        else:
            cost += np.abs(new.astype(float) - own) / X[column].std(ddof=0)
    accepted = (worst(found, tried) >= 0) & (model.predict(tried) == 1)
    return cost[accepted].min(initial=np.inf)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_cheapest_change_is_that_of_a_search_over_the_table(name):
    model, X, _, found = audited(ENCODERS[name])
    income = [X["income"], np.linspace(*X["income"].agg(["min", "max"]), 300)]
    income = np.unique(np.concatenate(income))[::3]
    homes = {"debt": np.arange(12), "home": np.array(["own", "rent", "free"])}
    for pool in ({"income": income}, homes):
        check_changes(found, model, X[model.predict(X) == 0].iloc[:2], pool)


def check_changes(found, model, refused, pool):
    columns = [*pool]
    answer = found.recourse(refused, columns)
    for place, person in enumerate(answer.people.itertuples()):
        values = {column: pool[column].astype(object) for column in columns}
        least = cheapest(found, model, refused.iloc[[place]], values)
        assert (person.status == "found") == np.isfinite(least)
        if person.status == "found":
            assert person.cost <= least * 1.002 + 1e-6
            assert columns == ["income"] or person.cost == pytest.approx(least, rel=1e-6)
            new = refused.iloc[[place]].assign(**{c: answer.rows[c].iloc[place] for c in columns})
            assert model.predict(new)[0] == 1 and worst(found, new)[0] >= -1e-6
            assert new["debt"].iloc[0] == round(new["debt"].iloc[0])
            assert person.one_cost <= person.cost + 1e-6


def test_a_missing_value_is_shown_as_missing_and_a_new_one_ends_it():
    model, X, _, found = audited(ENCODERS["imputed"], missing=True)
    refused = X[(model.predict(X) == 0) & X["income"].isna()].iloc[:5]
    answer = found.recourse(refused, "income")
    reached = answer.people["status"] == "found"
    assert reached.any() and answer.changes["old"].isna().all()
    new = refused.assign(income=answer.rows["income"])[reached]
    assert new["income"].notna().all() and (model.predict(new) == 1).all()
    far = (new["income"] - X["income"].median()).abs() / X["income"].std(ddof=0)
    assert answer.people["cost"][reached].to_numpy() == pytest.approx((1 + far).to_numpy())
    assert "income missing → " in repr(found.recourse(refused[reached].iloc[[0]], "income"))


@pytest.mark.slow
def test_what_cannot_change_or_be_accepted_is_said():
    model, X, y, found = audited(ENCODERS["log"], wanted=1)
    refused = X[model.predict(X) == 0]
    accepted = X[found.flips["label"].eq(1) & ~found.flips["flips"]]
    already = found.recourse(accepted.iloc[:2], ["income"])
    assert set(already.people["status"]) == {"already accepted"} and not len(already.changes)
    one = found.recourse(refused.iloc[[0]], ["income"], bounds={"income": (0, 500)})
    assert re.match(r"person .*income.*every good model \(0\.3 %", repr(one), re.DOTALL)
    assert len(repr(found.recourse(refused.iloc[:6], ["debt"])).splitlines()) == 8
    with pytest.raises(ValueError, match="unknown column 'height'"):
        found.recourse(refused, "height")
    with pytest.raises(ValueError, match="wanted must be one of the labels"):
        found.recourse(refused, ["debt"], wanted="saved")
    fixed = found.recourse(refused.iloc[:3], ["debt"], directions={"debt": "up"})
    assert set(fixed.people["status"]) == {"impossible"}
    with pytest.raises(TypeError, match="a regression has none"):
        audit(make_pipeline(ENCODERS["log"], Ridge()).fit(X, y), X, y).recourse(refused, ["debt"])


def test_a_column_of_no_use_and_one_of_texts_are_refused_by_name():
    X, y = table()
    X = X.assign(note=[f"n{place}" for place in range(len(X))], idle=1.0 * np.arange(len(X)))
    counted = make_column_transformer(
        (StandardScaler(), NUMBERS),
        (FunctionTransformer(lambda d: d.apply(lambda c: c.str.len())), ["note"]),
    )
    model = make_pipeline(counted, LogisticRegression(max_iter=5000)).fit(X, y)
    found = audit(model, X, y, tolerance="1%")
    with pytest.raises(ValueError, match="'idle' changes nothing"):
        found.recourse(X.iloc[:1], ["idle"])
    with pytest.raises(ValueError, match="'note': it has 400 different values"):
        found.recourse(X.iloc[:1], ["note"])


@pytest.mark.slow
def test_a_threshold_and_a_named_class_decide():
    X, y = table()
    wanted, y = "approved", pd.Series(np.where(y == 1, "approved", "denied"), name="loan")
    model = make_pipeline(ENCODERS["log"], LogisticRegression(max_iter=5000, tol=1e-8))
    model = FixedThresholdClassifier(model, threshold=0.7, pos_label=wanted).fit(X, y)
    found = audit(model, X, y, tolerance="0.3%")
    refused = X[model.predict(X) != wanted].iloc[:3]
    for columns in (["income"], ["debt", "home"]):
        answer = found.recourse(refused, columns)
        reached = answer.people["status"] == "found"
        new = refused.assign(**{column: answer.rows[column] for column in columns})[reached]
        assert reached.any() and (model.predict(new) == wanted).all()
        assert (worst(found, new) >= np.log(0.7 / 0.3) - 1e-6).all()


def test_a_change_is_given_only_if_the_good_models_and_predict_accept_it():
    scores, accepted = np.array([1.0, -1.0, 1.0, -1.0]), np.array([True, True, False, False])
    task = SimpleNamespace(
        changed=lambda rows, places: np.array(places),
        encode=lambda rows: rows,
        accepts=lambda rows: accepted[rows],
        worst=SimpleNamespace(margin=0.0, worst=lambda rows, needed: (scores[rows], None, None)),
    )
    answers = _Answers.nothing(5)
    answers.status[:4], answers.numbers[:4], answers.rows[:4] = "found", 2.0, [["new"]] * 4
    answers.confirm(task, range(5))
    assert answers.status.tolist() == ["found", *["undecided"] * 4]
    assert answers.rows == [["new"], *[None] * 4]
    assert answers.numbers[0, 2] == 1.0 and np.isnan(answers.numbers[1:]).all()


@pytest.mark.parametrize("name", ["scaled", "log"])
def test_bounds_and_directions_hold_in_the_programme_and_on_the_grid(name):
    model, X, _, found = audited(ENCODERS[name])
    refused = X[model.predict(X) == 0].iloc[:2]
    free = found.recourse(refused, ["income"])
    up = found.recourse(refused, ["income"], directions={"income": "up"})
    assert up.people["cost"].to_numpy() == pytest.approx(free.people["cost"].to_numpy(), rel=1e-3)
    below = (0.0, float(0.9 * free.rows["income"].min()))
    for limits in ({"bounds": {"income": below}}, {"directions": {"income": "down"}}):
        none = found.recourse(refused, ["income"], **limits)
        assert set(none.people["status"]) == {"impossible"}
