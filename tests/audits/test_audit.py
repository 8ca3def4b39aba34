"""The audit of one model: its numbers, its summary, what it takes and refuses."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from rashomon_explorer import audit, measures
from rashomon_explorer.audits import Audit, answers
from rashomon_explorer.data import TableSchema
from rashomon_explorer.measures.reliance import class_reliance
from tests.audits.conftest import encoder


@pytest.fixture(scope="module")
def problem(people, pipeline):
    """The last step's problem, made by hand."""
    X, y = people
    return measures.penalised_problem(pipeline[-1], pipeline[:-1].transform(X), y)


@pytest.fixture(scope="module")
def rows(people, pipeline):
    return pipeline[:-1].transform(people[0])


def test_the_numbers_are_those_of_the_measures(found, problem, rows, people):
    X, _ = people
    psi = measures.relative_psi(problem, 0.02)
    assert found.psi == pytest.approx(psi) and found.kind == "exact" and isinstance(found, Audit)
    flips = measures.exact_flips(problem, psi, rows)
    assert found.flips["flips"].to_numpy().tolist() == flips["flips"].tolist()
    assert found.flips.index.equals(X.index) and 0 < flips["flips"].mean() < 1
    can = flips["flips"].to_numpy()
    low, high = measures.flip_psi(problem, rows[can])
    assert np.allclose(found.flips.loc[can, "psi_low"], low)
    assert np.allclose(found.flips.loc[can, "psi_high"], high) and (high <= psi * 1.01).all()
    assert (found.flips.loc[~can, "psi_low"] == found.psi).all()
    gap = measures.exact_group_gap(problem, psi, rows, X["crew"])
    assert np.allclose(found.gaps[["low", "high"]], gap[["low_outer", "high_outer"]], atol=1e-6)
    scores = measures.exact_score_ranges(problem, psi, rows[:5])
    ours = found.scores(X.head())
    assert np.allclose(ours["low"], 1 / (1 + np.exp(-scores["low_outer"])), rtol=1e-2)
    assert (ours["low"] <= ours["fitted"]).all() and (ours["fitted"] <= ours["high"]).all()
    counts = found.decided["flips"].groupby(X["crew"]).sum()
    assert found.groups["flips"].to_dict() == counts.to_dict()
    assert found.groups["share_of_flips"].sum() == pytest.approx(1)
    reliance = measures.model_reliance(problem, features={"age": [0, 2], "fare": [1]})
    assert np.allclose(found.reliance.loc[["age", "fare"], "fitted"], reliance.iloc[0], atol=1e-6)
    some = found.models[:5]
    drawn = measures.model_reliance(some, rows, people[1], features={"fare": [1]})
    ends = found.reliance.loc["fare"]
    assert ends["low"] <= drawn["fare"].min() and drawn["fare"].max() <= ends["high_attained"]


def test_coefficients_are_in_the_units_of_the_table(found, pipeline, problem, people):
    """The fitted ones predict from raw values; the ranges are those of scaled directions."""
    X, _ = people
    table = found.coefficients
    (sex,) = [name for name in table.index if name.startswith("sex=")]
    level = sex.removeprefix("sex=").split(" vs ")[0]
    values = {
        "age": X["age"].fillna(X["age"].median()),
        "fare": X["fare"],
        "age=missing": X["age"].isna(),
        sex: X["sex"] == level,
        "port=C vs S": X["port"] == "C",
        "port=Q vs S": X["port"] == "Q",
        "intercept": 1.0,
    }
    score = sum(table.loc[name, "fitted"] * value for name, value in values.items())
    assert set(table.index) == set(values)
    assert np.allclose(score, pipeline.decision_function(X), atol=1e-4)
    spread = pipeline[0].named_transformers_["pipeline"][-1].scale_
    own = measures.exact_coefficient_ranges(problem, found.psi)
    expected = own.loc["x1", "high_outer"] / spread[1]
    assert table.loc["fare", "high"] == pytest.approx(expected, rel=1e-5)
    settled = (table["low"] > 0) | (table["high"] < 0)
    assert (table["settled"] == settled).all() and set(table["sign"]) <= {"+", "−", "either"}


def test_uniform_models_lie_in_the_set_and_fill_it(found):
    """On the quadratic bowl of a ridge regression the excess over ψ has the law U^(2/p)."""
    assert found.models.hit_rate == 1 and found.models.n_draws == 200
    ratio = found.flips["conflict_ratio"]
    assert (ratio[~found.flips["flips"]] == 0).all() and 0 < ratio.max() <= 1
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    y = X @ [1, 0, -1, 2] + rng.normal(size=80)
    other = audit(Ridge().fit(X, y), X, y, tolerance=0.05, n_models=2000, random_state=0)
    share = (other.models.losses - other.problem.minimum.value) / other.psi
    law = share ** (other.problem.p / 2)
    assert abs(law.mean() - 0.5) < 5 / np.sqrt(12 * 2000)
    assert np.allclose(other.models.coef.mean(axis=0), other.problem.minimum.theta, atol=0.02)


def test_decide_or_abstain_labels_only_whom_no_good_model_flips(found, people, pipeline):
    X, _ = people
    labels = found.decide_or_abstain(X)
    settled = ~found.flips["flips"]
    assert labels.notna().equals(settled)
    assert (labels[settled] == pipeline.predict(X)[settled]).all()


def test_summary_repr_and_html_say_the_same(found):
    table, text, html = found.summary(), repr(found), found._repr_html_()
    flips = int(table.loc["people who can flip", "value"])
    assert f"{flips} of 300 people" in text and f"{flips} of 300 people" in html
    assert len(text.splitlines()) <= 21 and "not private" in text and "not private" in html
    assert "<script" not in html
    assert set(table["known"]) == {"exact", "measured", "count", "chosen"}


def test_names_are_escaped(people):
    X, y = people
    evil = "<script>x</script>"
    X = X[["age", "fare"]].fillna(40).rename(columns={"age": evil})
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    groups = pd.Series(np.where(X["fare"] > 30, evil, "b"), X.index, name=evil)
    html = audit(model, X, y, groups=groups, tolerance="1%")._repr_html_()
    assert evil not in html and "&lt;script&gt;" in html


def test_a_regression_has_ranges_and_no_labels(regression):
    model, X, y = regression
    found = audit(model, X, y, groups=X[["crew"]], tolerance="1%")
    table = found.summary()
    assert "median range" in table.index and "people who can flip" not in table.index
    assert np.allclose(found.scores(X)["fitted"], model.predict(X), atol=1e-6)
    reliance = found.reliance
    assert reliance.attrs["mark"] == "exact"
    drawn = measures.model_reliance(
        found.models[:20], found.answers.rows, y, features={"fare": [1]}
    )["fare"]
    assert (reliance.loc["fare", "low"] <= drawn).all()
    assert (drawn <= reliance.loc["fare", "high"]).all()
    assert "Arbitrary" in repr(found) and "Arbitrary" in found._repr_html_()
    with pytest.raises(TypeError, match="labels need classes"):
        _ = found.flips


@pytest.mark.slow
def test_reliance_is_proved_where_it_takes_seconds_and_says_where_it_is_sampled(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    found = audit(model, X, y, tolerance="1%", random_state=0)
    assert found.answers.has_exact_reliance
    monkeypatch.setattr(class_reliance, "_MOST_SECONDS", 0.1)
    sampled = found.reliance
    assert sampled.attrs["mark"] == "sampled: 32 models"
    proved = measures.model_class_reliance(found.problem, psi=found.psi, seconds=0)
    proved = proved.loc[sampled.index]
    assert (proved["lower"] <= sampled["low"] + 1e-9).all()
    assert (sampled["high"] <= proved["upper"] + 1e-9).all()


@pytest.mark.parametrize(("scores", "n", "size"), [(1, 10**6, (4, 10**6)), (2, 10**4, (4, 721))])
def test_a_sample_of_reliance_takes_seconds_on_any_table(scores, n, size):
    problem = SimpleNamespace(n=n, loss=SimpleNamespace(outputs=scores))
    assert answers.reliance_size(problem, 12, 200) == size
    assert answers.reliance_size(SimpleNamespace(n=150, loss=problem.loss), 4, 9)[1] == 150


def test_reliance_on_a_sample_of_the_rows_says_so(monkeypatch):
    X, y = load_wine(return_X_y=True, as_frame=True)
    found = audit(LogisticRegression().fit(scale(X), y), scale(X), y, tolerance="1%")
    monkeypatch.setattr(answers, "_FEWEST_ROWS", 50)
    monkeypatch.setattr(answers, "_SAMPLED_SECONDS", 0.01)
    assert found.reliance.attrs["mark"] == "sampled: 4 models on 50 of 178 rows"


@pytest.mark.parametrize("form", ["frame", "array", "polars", "search", "labels"])
def test_every_form_of_table_and_model_gives_the_same_audit(form):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    model, rows, targets = make_pipeline(StandardScaler(), LogisticRegression()), X, y
    if form == "array":
        rows, targets = X.to_numpy(), y.to_numpy()
    if form == "polars":
        polars = pytest.importorskip("polars")
        rows, targets = polars.DataFrame(X.to_dict("list")), polars.Series(y.to_numpy())
    if form == "labels":
        targets = y.map({0: "sick", 1: "well"})
    if form == "search":
        model = GridSearchCV(model, {"logisticregression__C": [1.0]}, cv=2)
    fitted = model.fit(X, y) if form == "polars" else model.fit(rows, targets)
    found = audit(fitted, rows, targets, tolerance="1%")
    own = measures.penalised_problem(LogisticRegression().fit(scale(X), y), scale(X), y)
    expected = measures.exact_flips(own, measures.relative_psi(own, 0.01), scale(X))["flips"]
    assert found.decided["flips"].tolist() == expected.tolist()
    assert len(found.coefficients) == 7 and (found.coefficients["low"] < 0).any()


def test_another_model_is_compared(found, people):
    X, y = people
    near = make_pipeline(encoder(), LogisticRegression(C=1.5, max_iter=1000, tol=1e-8)).fit(X, y)
    far = make_pipeline(encoder(), LogisticRegression(C=0.01, max_iter=1000)).fit(X, y)
    one, other = found.compare(near), found.compare(far)
    assert one.inside and not other.inside and 0 < one.excess < found.psi < other.excess
    changed = other.changed
    assert (changed["fitted label"] != changed["other label"]).all() and len(changed) > 0
    assert set(one.changed.index) <= set(found.flips.index[found.flips["flips"]])
    assert "not one of the good models" in repr(other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X.drop(columns="sex"), y), "X lacks the columns ['sex']"),
        (lambda X, y: (X, y[:-1]), "y must hold one target for each of 300 rows"),
        (lambda X, y: (X.iloc[:150], y[:150]), "the rows that it was fitted to"),
        (lambda X, y: (X, y.mask(y == "lived")), "y has no value at row"),
        (lambda X, y: (X, y.replace("lived", "saved")), "y must hold the labels"),
    ],
)
def test_wrong_rows_are_refused_with_words(people, pipeline, change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        audit(pipeline, *change(*people), tolerance="1%")


def test_wrong_models_and_groups_are_refused(people, pipeline):
    X, y = people
    with pytest.raises(TypeError, match="got the class LogisticRegression"):
        audit(LogisticRegression, X, y)
    with pytest.raises(TypeError, match="a list or mapping of them or of their predictions"):
        audit(np.zeros((2, len(y))), X, y)
    with pytest.raises(ValueError, match="not fitted"):
        audit(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="groups='nobody' is no column"):
        audit(pipeline, X, y, groups="nobody", tolerance="1%")
    with pytest.raises(ValueError, match="groups='b' is no column of X, and not one group"):
        audit(pipeline, X, y, groups=["crew", "b"], tolerance="1%")
    with pytest.raises(ValueError, match="one group for each of 300 rows, got 3"):
        audit(pipeline, X, y, groups=[1, 2, 3], tolerance="1%")
    with pytest.raises(ValueError, match="unknown feature 'height'"):
        _ = audit(pipeline, X, y, features=["height"], tolerance="1%").importance


def test_the_public_numbers_of_rashomon_py():
    """.0281195 of people with thirty columns at 1 %; with ten, see the tests of tolerances."""
    X, y = load_breast_cancer(return_X_y=True)
    all_ = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    share = audit(all_, X, y, tolerance="1%").summary().loc["ambiguity", "value"]
    assert share == pytest.approx(0.0281195, abs=1e-7)


@pytest.mark.parametrize(("times", "is_sold"), [(1, False), (40, True)])
@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
def test_the_code_for_a_release_sells_no_answer_that_the_noise_hides(
    found, people, times, is_sold, tmp_path, capsys
):
    """Of 300 people nothing is charged; of 12,000 all is answered."""
    assert f"psi={found.psi:.3g}" in found.release_code
    X, y = (pd.concat([part] * times).reset_index(drop=True) for part in people)
    code = found.release_code.replace('"audit.', f'"{tmp_path}/audit.')
    draft, release = code.split("# 2.")
    names = {"X": X, "y": y}
    exec(draft, names)
    schema = TableSchema.load(tmp_path / "audit.toml")
    schema.confirm(*schema).save(tmp_path / "audit.toml", overwrite=True)
    exec("# 2." + release, names)
    assert ("psi without sex " in capsys.readouterr().out) == is_sold
    assert (tmp_path / "audit.ledger").exists() == is_sold
    if is_sold:
        assert len(names["ledger"].entries()) == 1
