"""Rates, their gaps, quality and tolerances of an audit, each number found another way."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from rashomon_explorer import audit, measures
from rashomon_explorer._utils.formatting import percent
from rashomon_explorer.audits.group_rates import Acceptances, newcombe, ratio_range, welch
from rashomon_explorer.audits.summary import accuracy_range
from rashomon_explorer.exceptions import MissingAnswerError
from tests.audits.conftest import encoder


@pytest.fixture(scope="module")
def found(people, pipeline):
    X, y = people
    return audit(pipeline, X, y.rename("fate"), groups="crew", wanted="lived", random_state=0)


@pytest.fixture(scope="module")
def scores(found, people, pipeline):
    """Least and greatest score of each person over the set, and that of the model."""
    assert found.psi == pytest.approx(chi2.ppf(0.95, 1) / 600)
    rows = pipeline[:-1].transform(people[0])
    ranges = measures.exact_score_ranges(found.problem, found.psi, rows)
    return ranges[["low", "high"]].to_numpy().T, pipeline.decision_function(people[0])


def test_rates_lie_between_the_people_whom_all_and_some_good_models_accept(found, scores, people):
    (low, high), _ = scores
    X, y = people
    accepted = pd.Series(found.inputs.model.original.predict(X) == "lived", X.index)
    for name, row in found.rates.iterrows():
        mask = (X["crew"] == name).to_numpy()
        assert row["people"] == mask.sum()
        assert row["base_rate"] == pytest.approx((y[mask] == "lived").mean())
        assert row["fitted"] == pytest.approx(accepted[mask].mean())
        assert row["low"] == pytest.approx((low[mask] > 0).mean())
        assert row["high"] == pytest.approx((high[mask] > 0).mean())
        those = mask & (y == "lived").to_numpy()
        assert row["true_positive_low"] == pytest.approx((low[those] > 0).mean())
        others = mask & (y != "lived").to_numpy()
        assert row["false_positive_high"] == pytest.approx((high[others] > 0).mean())
    no, yes = (found.rates.loc[name] for name in ("no", "yes"))
    gap = found.rate_gaps.loc["crew: no − yes"]
    assert gap["low"] == pytest.approx(no["low"] - yes["high"])
    assert gap["fitted"] == pytest.approx(no["fitted"] - yes["fitted"])
    assert gap["high"] == pytest.approx(no["high"] - yes["low"])
    assert gap["ratio"] == pytest.approx(min(no["fitted"] / yes["fitted"], yes.fitted / no.fitted))
    drawn = found.models.scores(found.answers.rows) > 0.5  # all good models
    assert 0.2 < drawn.mean() < 0.8
    mask = (X["crew"] == "no").to_numpy()
    gaps = drawn[:, mask].mean(axis=1) - drawn[:, ~mask].mean(axis=1)
    assert (gap["low"] <= gaps).all() and (gaps <= gap["high"]).all()
    assert "of fate='lived', by crew" in repr(found)


def test_the_quality_of_the_model_stands_beside_a_constant(found, scores, people, pipeline):
    (low, high), fitted = scores
    X, y = people
    lived = (y == "lived").to_numpy()
    table = found.summary()["value"]
    assert table["accuracy"] == pytest.approx(pipeline.score(X, y))
    assert table["constant accuracy"] == pytest.approx(max(lived.mean(), 1 - lived.mean()))
    assert table["AUC"] == pytest.approx(roc_auc_score(lived, fitted))
    settled = (low > 0) | (high <= 0)
    right = (fitted > 0) == lived
    assert table["least accuracy"] == pytest.approx((settled & right).mean())
    assert table["greatest accuracy"] == pytest.approx((~settled | right).mean())


def test_no_good_regression_has_less_than_the_bound_of_r2(regression):
    model, X, y = regression
    plain = make_pipeline(encoder("first"), LinearRegression()).fit(X, y)
    found = audit(plain, X, y, random_state=0)
    table = found.summary()["value"]
    assert table["R²"] == pytest.approx(r2_score(y, plain.predict(X)))
    drawn = [r2_score(y, scores) for scores in found.models.scores(found.answers.rows)]
    bound = 1 - (1 - table["R²"]) * np.exp(chi2.ppf(0.95, 1) / len(y))
    assert table["least R²"] == pytest.approx(bound) and bound <= min(drawn)
    assert audit(model, X, y).summary().loc["least R²", "value"] < r2_score(y, model.predict(X))


def test_tolerances_are_audits_at_multiples_of_psi(found):
    table = found.tolerances()
    for share, row in table.iterrows():
        other = found.at(found.psi * share)
        assert row["flips"] == other.decided["flips"].sum()
        signs = other.coefficients.drop("intercept")
        assert row["settled_signs"] == signs["settled"].sum() and row["coefficients"] == len(signs)
        assert row["level"] == pytest.approx(chi2.cdf(600 * row["psi"], 1))
    half = table.attrs["half_settled_psi"]
    below, above = (found.at(half * x).coefficients.drop("intercept") for x in (0.98, 1.02))
    assert below["settled"].mean() >= 0.5 > above["settled"].mean()
    lines = [line for line in repr(found).splitlines() if " ψ = " in line]
    for line, share in zip(lines, found.near_tolerances["share"], strict=True):
        assert f"{share:.0%} of people" in line
    assert found.tolerances([0.5, 2]).index.tolist() == [0.5, 2]


def test_intersections_leave_out_small_cells_by_name(people, pipeline):
    X, y = people
    rare = X["crew"].where(np.arange(300) > 6, "rare")
    groups = pd.DataFrame({"sex": X["sex"], "crew": rare})
    found = audit(pipeline, X, y, groups=groups, random_state=0)
    assert list(found.rates.index) == ["female × no", "female × yes", "male × no", "male × yes"]
    sizes = found.rates["people"]
    assert sizes["male × no"] == ((X["sex"] == "male") & (rare == "no")).sum()
    assert len(found.rate_gaps) == 6 and len(found.gaps) == 6
    assert found.rate_gaps.index[0] == "sex × crew: female × no − female × yes"
    assert "too small to compare: female × rare (" in repr(found)
    assert found.groups["people"].sum() == 300
    assert not any("can flip" in line and "fewer" in line for line in repr(found).splitlines())
    groups.iloc[:60, 0] = None
    unknown = audit(pipeline, X, y, groups=groups, random_state=0).rates.index
    missing = [name for name in unknown if "missing" in name]
    assert missing == ["sex missing × no", "sex missing × yes"]
    both = audit(pipeline, X, y, groups=["sex", "crew"], random_state=0)
    assert both.rates["people"].sum() == 300


def test_values_of_a_numeric_column_as_groups_are_noticed(people, pipeline):
    X, y = people
    with pytest.warns(UserWarning, match=r"pass a few bands instead, such as pd.qcut\(X\['fare'\]"):
        found = audit(pipeline, X, y, groups="fare")
    assert "more pairs in .rate_gaps" in repr(found) and len(repr(found).splitlines()) < 40


def test_an_audit_without_an_answer_has_no_such_attribute(people, pipeline, regression):
    plain = audit(pipeline, *people)
    named, unnamed = (audit(pipeline, *people, groups="crew", wanted=w) for w in ("lived", None))
    assert "wanted=" not in repr(named) and "(pass wanted= to name another class)" in repr(unnamed)
    assert not hasattr(plain, "gaps") and not hasattr(plain, "rates")
    with pytest.raises(MissingAnswerError, match="no groups were given"):
        _ = plain.gaps
    model, X, y = regression
    numbers = audit(model, X, y, n_models=20, random_state=0)
    assert not hasattr(numbers, "flips")
    for name, _ in inspect.getmembers(numbers):  # object browsers do this
        assert isinstance(name, str)


def test_people_of_scores_flip_as_in_the_table_of_flips(found, people):
    table = found.scores(people[0])
    assert table[["flips", "decided"]].equals(found.flips[["flips", "decided"]])
    ages, y = people[0][["age"]].fillna(0), people[1]
    sampled = audit(GaussianNB().fit(ages, y), ages, y, n_models=3, random_state=0)
    table = sampled.scores(sampled.inputs.model.table)
    assert table[["flips", "decided"]].equals(sampled.flips[["flips", "decided"]])


def test_scores_of_several_classes_keep_the_names_of_people():
    X = pd.DataFrame({"age": np.arange(30.0)}, index=[f"p{i}" for i in range(30)])
    y = pd.Series(np.repeat(["a", "b", "c"], 10), X.index)
    scores = audit(LogisticRegression(max_iter=1000).fit(X, y), X, y).scores(X.iloc[[7, 25]])
    assert scores.index.tolist() == [(p, c) for p in ("p7", "p25") for c in "abc"]


def test_groups_whom_every_good_model_accepts_have_no_gap():
    X = pd.DataFrame({"age": np.arange(40.0), "part": np.repeat(["a", "b", "c", "d"], 10)})
    y = (X["age"] > 18).astype(int)
    model = LogisticRegression(max_iter=1000, tol=1e-8).fit(X[["age"]], y)
    found = audit(model, X[["age"]], y, groups=X["part"], tolerance=1e-4)
    line = next(line for line in repr(found).splitlines() if "c − d" in line)
    assert "rate 0% to 0%, ratio 1 to 1 (no gap in any good model)" in line


@pytest.mark.parametrize(
    ("share", "text"), [(-0.0026, "−0.3%"), (-0.0001, "0%"), (0.0187, "2%"), (-0.2, "−20%")]
)
def test_percentages_of_small_gaps_have_a_size(share, text):
    assert percent(share) == text


def test_newcombes_interval_is_the_published_one_and_welchs_that_of_the_normal():
    """Newcombe (1998), Table II: 56/70 and 48/80, method 10: .0524 to .3339."""
    low, high = newcombe(np.array([56.0, 48.0]), np.array([70.0, 80.0]), 0.95)
    assert (round(float(low), 4), round(float(high), 4)) == (0.0524, 0.3339)
    low, high = welch(np.array([3.0, 1.0]), np.array([4.0, 9.0]), np.array([100.0, 90.0]), 0.9)
    half = norm.ppf(0.95) * np.sqrt(0.04 + 0.1)
    assert (low, high) == pytest.approx((2 - half, 2 + half))


def test_the_ratio_is_of_the_smaller_to_the_larger_rate_over_a_grid():
    ends = np.array([[0.2, 0.3, 0.5], [0.4, 0.6, 0.7], [0.55, 0.8, 0.9]]).T[:, None, :]
    for i, j in [(0, 1), (1, 2), (0, 2)]:
        first, second = ends[:, 0, i], ends[:, 0, j]
        grid = np.meshgrid(np.linspace(*first[[0, 2]], 301), np.linspace(*second[[0, 2]], 301))
        ratio = np.minimum(grid[0] / grid[1], grid[1] / grid[0])
        low, fitted, high = ratio_range(first[:, None], second[:, None])[:, 0]
        assert fitted == pytest.approx(min(first[1] / second[1], second[1] / first[1]))
        assert (low, high) == pytest.approx((ratio.min(), ratio.max()), abs=5e-3)


def test_data_and_choice_of_model_are_two_intervals(found, people):
    X, _ = people
    table = found.gap_intervals(0.9)
    row = table.loc["crew: no − yes"]
    mask = (X["crew"] == "no").to_numpy()
    accepted = found.inputs.model.original.predict(X) == "lived"
    counts = np.array([accepted[mask].sum(), accepted[~mask].sum()], dtype=float)
    low, high = newcombe(counts, np.array([mask.sum(), (~mask).sum()], dtype=float), 0.9)
    assert (row["data_low"], row["data_high"]) == pytest.approx((low, high))
    models = found.rate_gaps.loc["crew: no − yes"]
    assert (row["models_low"], row["models_high"]) == (models["low"], models["high"])
    with pytest.raises(ValueError, match="confidence"):
        found.gap_intervals(1.0)


def test_people_to_whom_the_model_was_not_fitted_have_the_same_answers(found, people, pipeline):
    X, _ = people
    some = X.iloc[[4, 2, 250, 8]]
    again = found.flips_of(some)
    pd.testing.assert_frame_equal(again, found.flips.loc[some.index], check_names=False)
    new = X.assign(age=X["age"].fillna(30) + 0.5, fare=7.25).set_axis(
        [f"new{i}" for i in range(300)]
    )
    table, ranges = found.flips_of(new), found.scores(new)
    assert table.index.equals(new.index) and ranges.index.equals(new.index)
    assert (table["label"] == pipeline.predict(new)).all()
    crosses = (ranges["low"] <= 0.5) & (ranges["high"] > 0.5)
    assert (table["flips"] == crosses).mean() > 0.99 and 0 < table["flips"].mean() < 1
    drawn = found.models.scores(pipeline[:-1].transform(new)) > 0.5
    other = (drawn != (table["label"] == "lived").to_numpy()).any(axis=0)
    assert table["flips"][other].all() and other.any()
    assert found.recourse(new[table["label"] == "died"].iloc[:2], ["fare"]).people.index.tolist()


def test_a_person_who_is_not_decided_counts_as_both():
    """A label is settled where it is decided and does not flip."""
    classes = ("no", "yes")
    table = pd.DataFrame({"label": [1, 1, 0, 0, 1], "decided": [True, False, True, False, True]})
    table["flips"] = [False, False, False, False, True]
    model = SimpleNamespace(
        targets=np.array(["yes"] * 5),
        classes=classes,
        decision=SimpleNamespace(wanted="yes", scored="yes"),
        codes=table["label"].to_numpy(),
        row_weights=np.ones(5),
        labels=lambda codes: np.asarray(classes)[np.asarray(codes)],
    )
    inputs, answers = SimpleNamespace(model=model), SimpleNamespace(best_decided=table)
    stub = SimpleNamespace(kind="exact", inputs=inputs, answers=answers, decided=table)
    assert accuracy_range(stub) == (1 / 5, 4 / 5)
    everyone = np.ones((1, 5), dtype=bool)
    accepted = Acceptances(stub)
    ends = accepted.ends(accepted.rates(everyone))
    assert ends[:, 0].tolist() == [1 / 5, 3 / 5, 4 / 5]


def _weighted_pair(fit, table, y, times):
    """Audits of rows with whole weights, and of the same rows repeated as often."""
    often = table.loc[table.index.repeat(times)].reset_index(drop=True)
    labels = np.repeat(np.asarray(y), times)
    options = {"groups": "crew", "wanted": "lived", "random_state": 0, "n_models": 20}
    options |= {"tolerance": 0.5} if fit is _listed else {}  # standard errors are of the rows
    weighted = audit(*fit(table, y, times), sample_weight=times, **options)
    return weighted, audit(*fit(often, labels, None), **options)


def _linear(table, y, weight):
    """Scales of the columns, which count rows alike, change nothing without a penalty."""
    model = make_pipeline(encoder("first"), LogisticRegression(C=np.inf, max_iter=2000, tol=1e-9))
    full = table.fillna({"age": 40.0})
    return model.fit(full, y, logisticregression__sample_weight=weight), full, y


def _listed(table, y, weight):
    """Trees that are right for different people, as fitted models."""
    columns = table[["fare", "crew"]]
    rules = [FixedRule(share) for share in (0.6, 0.62, 0.65)]
    return [rule.fit(columns, y) for rule in rules], columns, y


class FixedRule(ClassifierMixin, BaseEstimator):
    """Label by a share of the greatest fare, which repeated rows do not change."""

    def __init__(self, share):
        self.share = share

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X["fare"] > self.share * X["fare"].max()).astype(int)]


@pytest.mark.parametrize("fit", [_linear, _listed])
def test_whole_weights_are_rows_repeated_as_often(people, fit):
    X, y = people
    times = np.random.default_rng(0).integers(1, 4, len(X))
    weighted, repeated = _weighted_pair(fit, X, y, times)
    assert weighted.psi == pytest.approx(repeated.psi, rel=1e-3)
    for name in ("rates", "rate_gaps", "gaps", "groups"):
        first, second = (getattr(found, name) for found in (weighted, repeated))
        shares = first.drop(columns=["people", "flips"], errors="ignore")
        shares = shares.select_dtypes("number")
        assert np.allclose(shares, second[shares.columns], rtol=2e-3, atol=2e-3), name
    assert weighted.groups["people"].sum() == len(X)
    first, second = (found.summary()["value"] for found in (weighted, repeated))
    for name in {"accuracy", "AUC", "constant accuracy", "least accuracy"} & set(second.index):
        assert float(first[name]) == pytest.approx(float(second[name]), abs=5e-3), name
    with pytest.raises(MissingAnswerError, match="counts rows alike"):
        weighted.release_code  # noqa: B018
    assert "by weight" in str(weighted) and "by weight" not in str(repeated)


def test_weights_of_a_survey_count_as_their_effective_number(people):
    """A common factor changes nothing; unequal ones widen every range."""
    X, y = people
    psi = {
        name: audit(*_linear(X, y, weight), sample_weight=weight).psi
        for name, weight in {"none": None, "equal": np.full(len(X), 2.5), "unequal": WEIGHT}.items()
    }
    assert psi["equal"] == pytest.approx(psi["none"])
    kish = WEIGHT.sum() ** 2 / (WEIGHT**2).sum()
    assert psi["unequal"] == pytest.approx(psi["none"] * len(X) / kish)
    with pytest.raises(ValueError, match="sample_weight"):
        audit(*_listed(X, y, None), sample_weight=WEIGHT[:-1])


WEIGHT = np.random.default_rng(1).uniform(0.2, 3.0, 300)
