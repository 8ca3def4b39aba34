"""Results of statsmodels: exact sets whose ranges are its profile likelihood intervals."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from rashomon_explorer import audit

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")
BINOMIAL = sm.families.Binomial()
QUANTILE = chi2.ppf(0.95, 1)
FORMULA = "y ~ age + np.log(fare) + C(port)"


def raw_table(n=150):
    rng = np.random.default_rng(3)
    columns = {"age": rng.normal(40, 12, n), "fare": rng.gamma(2.0, 20.0, n)}
    table = pd.DataFrame({**columns, "port": rng.choice(["C", "Q", "S"], n)})
    score = 0.05 * (table["age"] - 40) - (table["port"] == "S")
    return table.assign(y=(rng.logistic(size=n) < score).astype(int))


TABLE = raw_table()
WEIGHT = np.random.default_rng(4).uniform(0.5, 2.0, len(TABLE))
TIMES = np.random.default_rng(5).integers(1, 4, len(TABLE))


def parameter_of(name):
    return re.sub(r"^port=(.)$", r"C(port)[T.\1]", name.replace("intercept", "Intercept"))


def profile_of_logit(result, name, value, **options):
    """Twice the log-likelihood lost if one coefficient has a value, by a refit with an offset."""
    exog = pd.DataFrame(result.model.exog, columns=result.model.exog_names)
    rest = exog.drop(columns=name)
    offset = exog[name] * value
    rest = sm.GLM(result.model.endog, rest, BINOMIAL, offset=offset, **options).fit(tol=1e-12)
    return 2 * (result.llf - rest.llf)


@pytest.mark.parametrize("options", [None, {}, {"freq_weights": TIMES}, {"var_weights": WEIGHT}])
def test_ranges_of_a_logit_are_its_profile_intervals(options):
    if options is None:
        result, options = smf.logit(FORMULA, TABLE).fit(disp=0), {}
    else:
        result = smf.glm(FORMULA, TABLE, family=BINOMIAL, **options).fit(tol=1e-12)
    found = audit(result, TABLE, TABLE["y"])
    assert found.kind == "exact" and f"({FORMULA})" in str(found)
    assert list(found.coefficients.index) == [
        "port=Q",
        "port=S",
        "age",
        "np.log(fare)",
        "intercept",
    ]
    for name, row in found.coefficients.iterrows():
        parameter = parameter_of(name)
        assert row["fitted"] == pytest.approx(result.params[parameter])
        for end in ("low", "high"):
            lost = profile_of_logit(result, parameter, row[end], **options)
            assert lost == pytest.approx(QUANTILE, rel=1e-4)
    wald = result.conf_int().loc["age", 1]  # another interval, which the profile tells apart
    assert profile_of_logit(result, "age", wald, **options) != pytest.approx(QUANTILE, rel=1e-3)
    assert found.tolerances()["level"][1] == pytest.approx(0.95)
    assert (found.flips["label"] == (result.predict(TABLE) >= 0.5)).all()


@pytest.mark.parametrize("kind", ["ols", "wls", "glm"])
def test_ranges_of_least_squares_are_profile_intervals_in_closed_form(kind):
    """n·log(RSS/min RSS), with the variance profiled out; the design is an array with names."""
    design = sm.add_constant(TABLE[["age", "fare"]], prepend=False)
    target, weights = TABLE["fare"] ** 0.5 + TABLE["y"], WEIGHT if kind == "wls" else 1.0
    models = {"ols": sm.OLS, "glm": sm.GLM}
    if kind == "wls":
        result = sm.WLS(target, design, weights=WEIGHT).fit()
    else:
        result = models[kind](target, design).fit()
    found = audit(result, design, target)
    assert audit(result, TABLE, target).coefficients.equals(found.coefficients)
    rss = (weights * (target - result.fittedvalues) ** 2).sum()
    unit = np.linalg.inv((design.T * weights) @ design)
    half = np.sqrt(np.diag(unit) * rss * np.expm1(QUANTILE / len(design)))
    table = found.coefficients
    assert list(table.index) == ["age", "fare", "intercept"]
    assert (table["high"] - table["fitted"]).to_numpy() == pytest.approx(half, rel=1e-6)
    assert (table["fitted"] - table["low"]).to_numpy() == pytest.approx(half, rel=1e-6)
    assert found.scores(TABLE.head(3))["fitted"].to_numpy() == pytest.approx(
        result.predict(design.head(3)).to_numpy()
    )


def test_an_array_is_taken_with_and_without_its_constant():
    rows = TABLE[["age", "fare"]].to_numpy()
    result = sm.Logit(TABLE["y"].to_numpy(), sm.add_constant(rows)).fit(disp=0)
    both = [audit(result, X, TABLE["y"].to_numpy()) for X in (rows, sm.add_constant(rows))]
    assert both[0].coefficients.equals(both[1].coefficients)
    assert list(both[0].coefficients.index) == ["x1", "x2", "intercept"]
    bare = sm.Logit(TABLE["y"], TABLE[["age", "fare"]]).fit(disp=0)
    assert list(audit(bare, TABLE, TABLE["y"]).coefficients.index) == ["age", "fare"]


def test_the_rest_of_an_audit_speaks_of_the_table():
    result = smf.logit("y ~ age * fare + port", TABLE).fit(disp=0)
    found = audit(result, TABLE, TABLE["y"], groups="port", tolerance="without port", n_models=20)
    smaller = smf.logit("y ~ age * fare", TABLE).fit(disp=0)
    assert found.psi == pytest.approx((result.llf - smaller.llf) / len(TABLE), rel=1e-4)
    assert set(found.importance.index) == {"age", "fare", "age + fare", "port"}
    assert len(found.rates) == 3
    assert audit(result, TABLE, TABLE["y"], tolerance="cv").psi > found.psi
    new = TABLE.head(2).assign(age=90.0)
    assert found.flips_of(new)["label"].tolist() == (result.predict(new) >= 0.5).tolist()


def fitted(kind="logit", formula="y ~ age + fare", table=TABLE, **options):
    return getattr(smf, kind)(formula, table, **options)


GAPS = TABLE.assign(age=TABLE["age"].where(TABLE.index % 10 > 0))


@pytest.mark.parametrize(
    ("result", "table", "y", "text"),
    [
        (fitted("probit").fit(disp=0), TABLE, TABLE["y"], "got Probit.*sets.from_predictions"),
        (fitted("glm", family=sm.families.Poisson()).fit(), TABLE, TABLE["y"], "the log link"),
        (fitted("glm", family=BINOMIAL, offset=WEIGHT).fit(), TABLE, TABLE["y"], "an offset"),
        (fitted().fit_regularized(alpha=2.0, disp=0), TABLE, TABLE["y"], "a penalty or constr"),
        (fitted().fit(disp=0), TABLE, 1 - TABLE["y"], "results.model.endog"),
        (fitted().fit(disp=0), TABLE, TABLE["y"].map({0: "no", 1: "yes"}), "results.model.endog"),
        (fitted().fit(disp=0), TABLE.assign(age=TABLE["fare"]), TABLE["y"], "another design"),
        (fitted().fit(disp=0), TABLE.drop(columns="age"), TABLE["y"], "lacks the columns"),
        (fitted(table=GAPS).fit(disp=0), GAPS, GAPS["y"], "rows with missing values"),
    ],
)
def test_what_is_no_such_likelihood_or_has_other_rows_is_refused(result, table, y, text):
    with pytest.raises((TypeError, ValueError), match=text):
        audit(result, table, y)


def test_weights_are_read_from_the_result():
    result = fitted("glm", family=BINOMIAL, freq_weights=TIMES).fit()
    assert audit(result, TABLE, TABLE["y"], sample_weight=TIMES).kind == "exact"
    with pytest.raises(ValueError, match="read from the result"):
        audit(result, TABLE, TABLE["y"], sample_weight=WEIGHT)
    with pytest.warns(match="converge"):
        stopped = fitted().fit(maxiter=1, disp=0)
    with pytest.raises(ValueError, match="maxiter"):
        audit(stopped, TABLE, TABLE["y"])
