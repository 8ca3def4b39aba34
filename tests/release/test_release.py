"""A release: charged before rows are read, never exact, with error bars that hold."""

import json
import math
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import Ledger, PublicBoundsScaler, RashomonClassifier, exceptions
from rashomon_explorer._utils.taint import mark
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.measures import ambiguity
from rashomon_explorer.measures.multiplicity import score_std
from rashomon_explorer.privacy.guarantee import ONE_BY_ONE
from rashomon_explorer.release import (
    Excess,
    GroupGaps,
    LeastPsi,
    Losses,
    SoftHits,
    plan_release,
    release,
)
from rashomon_explorer.release.catalogue import QUERIES, REFUSED
from rashomon_explorer.release.multiplicity import MultiplicityQuery
from rashomon_explorer.release.plan import QueryCost
from rashomon_explorer.release.query import PublicShape
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.release.run import _answer
from rashomon_explorer.release.statistic import (
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    Gap,
    Measured,
    Noise,
    RateStatistic,
    on_grid,
)
from rashomon_explorer.sets import from_predictions
from tests.release.cases import Unreadable, models_of

MODELS = models_of()
RNG = np.random.default_rng(0)
N = 4_000
X = RNG.uniform(-1, 1, (N, 2))
Y = (X[:, 0] + 0.3 * RNG.normal(size=N) > 0).astype(int)
GROUPS = np.where(X[:, 1] + 0.3 * RNG.normal(size=N) > 0, "a", "b")
EVERYTHING = ("ambiguity", "discrepancy", "range_width", "losses", "reliance", "selection_gap")


def _released(queries=EVERYTHING, models=MODELS, y=Y, **settings):
    settings = {"epsilon": 1.0, "delta": 1e-6, "ledger": None, **settings}
    settings = {"groups": GROUPS, "categories": ("a", "b"), **settings}
    return release(models, settings.pop("X", X), y, queries=queries, **settings)


def test_numbers_are_near_the_exact_ones_and_never_equal_to_them():
    exact = ambiguity(MODELS.labels(X))
    found = [_released(["ambiguity"])["ambiguity"] for _ in range(20)]
    assert all(number.noisy != exact for number in found)
    assert np.mean([number.noisy for number in found]) == pytest.approx(exact, abs=0.002)
    assert 0 < found[0].standard_error < 0.002


def test_all_queries_at_once():
    models = models_of()
    queries = [
        *EVERYTHING,
        Losses("least"),
        GroupGaps("true_positive", over="mean"),
        MultiplicityQuery("delta_ambiguity", tolerance=0.1),
        Excess(radius=4.0),
        SoftHits(width=0.05, radius=4.0, psi=0.5),
    ]
    released = _released(queries, models)
    table = released.table(0.9)
    assert (table["low"] <= table["estimate"]).all() and (table["estimate"] <= table["high"]).all()
    assert table.groupby("query")["price_share"].first().sum() == pytest.approx(1.0)
    assert "noise hides" in released["inner hit rate"].note
    wide = _released([SoftHits(width=0.5, radius=4.0, psi=0.5)], epsilon=50.0)
    assert wide["inner hit rate"].estimate < wide["outer hit rate"].estimate
    assert wide["inner hit rate"].note == "the exact hit rate is at least this"


def test_what_fails_after_the_start_is_spent(tmp_path):
    ledger = Ledger.create(tmp_path / "rows.ledger", epsilon=2.0, delta=1e-6)
    broken = X.copy()
    broken[7, 0] = np.nan
    with pytest.raises(exceptions.FitError) as caught:
        _released(X=broken, ledger=ledger)
    assert "NaN" in caught.value.detail and caught.value.__context__ is None
    assert str(caught.value) == str(exceptions.FitError())
    assert ledger.spent() == pytest.approx(1.0)
    assert [entry.state for entry in ledger.entries()] == ["started"]
    released = _released(ledger=str(ledger.path), epsilon=0.5)
    assert released.charge == 2 and ledger.spent() < 1.5
    entry = ledger.entries()[1]
    assert entry.state == "committed" and set(entry.parameters["queries"]) == set(EVERYTHING)
    with pytest.raises(ValueError, match="X contains NaN"):
        _released(X=broken, ledger=None)


def test_a_cell_that_no_encoded_row_has_is_clipped_and_stops_nothing():
    schema = TableSchema([Numeric("x0", (-1, 1)), Numeric("x1", (-1, 1))])
    clf = RashomonClassifier(epsilon=300.0, n_draws=5, random_state=0, schema=schema)
    models = clf.fit(X, Y).rashomon_set_
    rows = clf.encoder_.transform(pd.DataFrame(X, columns=["x0", "x1"]))
    rows.iloc[0] = 1e3
    with pytest.raises(exceptions.DataError, match="above row_norm"):
        models.scores(rows)
    for query in ("ambiguity", "losses"):
        assert np.isfinite(_released([query], models, X=rows).table()["estimate"]).all()


def test_a_private_baseline_is_excluded_by_the_assumptions():
    """A minimiser given as a public model would be read off the rows for nothing."""
    given = MultiplicityQuery("ambiguity", baseline=(0.0,) * MODELS.coef.shape[1])
    told = _released(queries=[given], ledger=None).guarantee.assumptions
    assert any("baseline's coefficients are public: not the minimiser" in said for said in told)
    constant = MultiplicityQuery("ambiguity", baseline=(0.0, 0.0, -1.0))  # labels every row 0
    one = models_of(n_draws=1)
    found = _released([constant], one, epsilon=50.0)["ambiguity"]
    assert found.estimate == pytest.approx(one.labels(X).mean(), abs=0.01)
    assert constant.definition.endswith("a public model")
    draw = _released(queries=[MultiplicityQuery("ambiguity")], ledger=None).guarantee.assumptions
    assert not any("baseline" in said for said in draw)
    assert any("the release returned" in said and "curator" in said for said in draw)


def test_a_seed_makes_it_reproducible_and_laplace_noise_is_pure():
    pure = _released(delta=0.0)
    assert pure.guarantee.pure_epsilon == 1.0 and pure.cost_text == "ε = 1"
    first, second, third = (_released(random_state=seed) for seed in (1, 1, 2))
    assert str(first) == str(second) != str(third)
    assert first.guarantee.seeded and not _released().guarantee.seeded


def test_the_json_of_a_release_has_estimates_alone():
    released = _released()
    assert "noisy" not in json.dumps(released.to_dict(), allow_nan=False)
    groups = {"groups": np.where(np.arange(N) < 2, "rare", GROUPS)}
    groups["categories"] = ("a", "b", "rare")
    rare = _released(["mean_selection_gap"], **groups, random_state=0)
    assert json.loads(json.dumps(rare.to_dict()))["answers"][0]["values"][2]["estimate"] is None
    with pytest.raises(KeyError, match="no released number"):
        released["ambiguty"]


def test_group_gaps_find_the_gap():
    labels = MODELS.labels(X)
    rates = [labels[1][group == GROUPS].mean() for group in ("a", "b")]
    released = _released(["selection_gap"], epsilon=50.0, random_state=0)
    gap = released["selection rate gap of draw 1"]
    assert gap.estimate == pytest.approx(abs(rates[0] - rates[1]), abs=0.01)
    low, high = gap.interval()
    assert low <= abs(rates[0] - rates[1]) <= high


def test_models_without_a_guarantee_are_refused():
    fit = RashomonClassifier(n_draws=3, row_norm=1.5, random_state=0).fit(X, Y)
    assert _released(["ambiguity"], models=fit.rashomon_set_).n_draws == 3
    fit = RashomonClassifier(mechanism="hit_and_run", n_draws=3, row_norm=1.5, random_state=0)
    with pytest.raises(exceptions.CuratorOnlyError, match="cannot be released"):
        _released(models=fit.fit(X, Y).rashomon_set_)
    theirs = from_predictions(np.tile(Y, (2, 1)), Y)
    with pytest.raises(TypeError, match="needs private draws"):
        _released(models=theirs)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": None}, "give exactly one of"),
        ({"rho": 1.0}, "give exactly one of"),
        ({"epsilon": None, "rho": 1.0}, "delta belongs to epsilon"),
        ({"delta": 1.0}, "delta must be in"),
        *(
            ({"epsilon": None, "delta": 0.0, name: value}, f"{name} must be ")
            for name in ("epsilon", "standard_error", "rho")
            for value in (0, -1, np.inf, np.nan, True, "a")
        ),
        *(({"epsilon": value}, "epsilon must be ") for value in (1e-300, 1e300)),
        *(
            ({"queries": ["ambiguity", "losses"], "weights": weights}, "weights must")
            for weights in ({"ambiguity": 1.0}, {"ambiguity": 1.0, "losses": 0.0})
        ),
        ({"y": Y[:-1]}, "y must have one entry"),
        ({"queries": ["ambiguity", "ambiguity"]}, "name each query once"),
        ({"queries": ["ambiguty"]}, "a query must be one of"),
        ({"queries": []}, "got none"),
        ({"queries": ["delta_ambiguity"]}, "needs options"),
        ({"queries": [MultiplicityQuery("ambiguity", baseline=9)]}, "baseline must be a draw"),
        ({"queries": [MultiplicityQuery("ambiguity", baseline=[1.0])]}, "3 coefficients"),
        ({"queries": [MultiplicityQuery("pattern_count")]}, "measure must be one of"),
        ({"queries": ["losses"], "y": None}, "losses needs y="),
        ({"queries": [Losses("median")]}, "over must be one of"),
        ({"queries": [GroupGaps(over="largest")]}, "difference of ratios"),
        ({"queries": ["selection_gap"], "groups": None, "categories": ()}, "needs groups="),
        ({"queries": [SoftHits(width=0.0, radius=4.0)]}, "width must be finite and > 0"),
        ({"categories": ("a", "a")}, "declare every group once"),
        ({"categories": ()}, "declare every group once"),
        ({"X": X[:, :1]}, r"X must have shape \(n_rows, 2\)"),
        ({"models": models_of(n_draws=1), "queries": ["ambiguity"]}, "at least 2 draws"),
        ({"models": models_of("sign"), "queries": ["rashomon_capacity"]}, "sign link"),
        ({"models": models_of("identity"), "queries": ["ambiguity"]}, "models for classification"),
        *(({"queries": [name]}, rf"{name} is not released: .*\. Use ") for name in REFUSED),
    ],
)
def test_public_errors_read_nothing_and_cost_nothing(settings, words, tmp_path):
    ledger = Ledger.create(tmp_path / "rows.ledger", epsilon=2.0, delta=1e-6)
    with pytest.raises(ValueError, match=words):
        _released(**{"X": Unreadable(X.shape), "ledger": ledger, **settings})
    assert ledger.entries() == []


def test_a_delta_of_one_in_n_warns():
    settings = {"queries": ["ambiguity"], "epsilon": 1.0, "delta": 1 / N}
    with pytest.warns(exceptions.LargeDeltaWarning, match="the record of one person in 4,000"):
        _released(**settings)
    with pytest.warns(exceptions.LargeDeltaWarning, match="the record of one person in 4,000"):
        plan_release(MODELS, N, **settings)


def test_a_plan_says_beforehand_what_the_release_will_have():
    settings = {"queries": EVERYTHING, "epsilon": 1.0, "delta": 1e-6}
    planned = plan_release(MODELS, N, categories=("a", "b"), ledger=False, **settings)
    released = _released()
    assert planned.guarantee.mu == released.guarantee.mu
    noise = planned.table()["standard_error"]
    assert noise["ambiguity"] == released["ambiguity"].standard_error
    with pytest.raises(ValueError, match="n_rows must be a whole number"):
        plan_release(MODELS, 0, **settings)
    with pytest.raises(TypeError, match="baseline must be the index"):
        MultiplicityQuery("ambiguity", baseline="best")


@pytest.mark.parametrize("query", ["score_std", "score_variance", "range_width", "reliance"])
def test_what_no_record_moves_says_nothing_of_the_rows_in_its_last_bits(query):
    """Draws that coincide have a standard deviation of 0, and of 1e-17 in doubles."""
    same = models_of(coef=np.repeat([[0.7, -0.3, 0.1]], 3, axis=0))
    models = same if query != "reliance" else models_of(coef=np.zeros((3, 3)))
    rng = np.random.default_rng(0)
    tables = [(rng.normal(size=(50, 2)), rng.integers(0, 2, 50)) for _ in range(4)]
    settings = {"queries": [query], "rho": 0.1, "ledger": None}
    answers = {tuple(n.noisy for n in release(models, *table, **settings)) for table in tables}
    assert len(answers) == 1
    assert np.abs([*answers]).max() < 1e-12
    # The control: the exact value in doubles does depend on the rows.
    exact = {float(score_std(same.scores(rows)).mean()) for rows, _ in tables}
    assert len(exact) > 1


def test_a_sensitivity_below_the_rounding_is_refused_before_rows_are_read():
    """Two draws 2⁻²⁰ apart, rows of norm 1e-6: their scores differ by a rounding error."""
    coef = np.array([[1.0, 0.5, 0.2], [1.0 + 2.0**-20, 0.5, 0.2]])
    models = replace(models_of(coef=coef), row_norm=1e-6)
    with pytest.raises(ValueError, match="close to rounding errors"):
        release(models, Unreadable(X.shape), queries=["range_width"], rho=0.1, ledger=None)
    with pytest.raises(ValueError, match="close to rounding errors"):
        plan_release(models, 100_000, queries=["range_width"], rho=0.1)


def test_rows_that_carry_learnt_bounds_are_refused_before_the_charge(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(exceptions.PrivacyLeakWarning):
        learnt = PublicBoundsScaler(bounds="learn").fit_transform(X)
    models = RashomonClassifier(n_draws=2, epsilon=50.0, classes=[0, 1]).fit(X / 9, y)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-6)
    asked = {"queries": ["ambiguity"], "epsilon": 1.0}
    public = models.rashomon_set_.release()
    marked = mark(X.copy(), "computed from the rows")
    for rows, book in ((marked, ledger), (learnt, ledger), (learnt, None)):
        with pytest.raises(exceptions.CuratorOnlyError, match="computed from the rows"):
            release(public, rows, y, ledger=book, **asked)
    assert ledger.entries() == []
    assert ONE_BY_ONE in release(public, X / 9, ledger=None, **asked).guarantee.assumptions


RUNS = 4_000
NOISES = (Noise(0.05), Noise(0.05, LAPLACE))
# Three standard deviations of a share of 4,000 runs.
SLACK = 3 * math.sqrt(0.9 * 0.1 / RUNS)


def _covered(truth, make, confidence=0.9):
    rng = np.random.default_rng(0)
    ends = [make(rng).interval(confidence) for _ in range(RUNS)]
    return np.mean([low <= truth <= high for low, high in ends])


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.law)
@pytest.mark.parametrize("truth", [0.5, 0.02, 0.0])
def test_intervals_of_measured_numbers_cover(noise, truth):
    def make(rng):
        noisy = float(on_grid(truth + noise.draw(rng, 1), noise)[0])
        return Measured("share", noisy, noise, 0.0, 1.0)

    share = _covered(truth, make)
    assert share >= 0.9 - SLACK
    if truth == 0.5:
        assert share <= 0.9 + SLACK
        noise = replace(noise, scale=2 * noise.scale)  # the control: half the noise in the interval
        assert _covered(truth, lambda rng: replace(make(rng), noise=NOISES[0])) < 0.7


def test_no_interval_shrinks_to_a_point_at_the_end_of_the_range():
    noise = Noise(0.05)
    low, high = Measured("share", -0.4, noise, 0.0, 1.0).interval()
    assert low == 0.0 and high == pytest.approx(noise.quantile(0.95))
    noise = Noise(4.0)
    low, high = RateStatistic("rate", 90.0, 100.0, noise, noise, 500).interval()
    assert low < 0.95 and high == 1.0


@pytest.mark.parametrize("noise", [Noise(4.0), Noise(4.0, LAPLACE)], ids=lambda n: n.law)
@pytest.mark.parametrize(("size", "rate"), [(400, 0.3), (30, 0.9), (5, 0.2), (0, 0.5)])
def test_intervals_of_rates_and_of_gaps_cover_also_in_tiny_groups(noise, size, rate):
    def one(rng, size, rate):
        excess, rows = np.array([(rate - 0.5) * size, size]) + noise.draw(rng, 2)
        return RateStatistic("rate", excess, rows, noise, noise, n_rows=1000)

    share = _covered(rate, lambda rng: one(rng, size, rate))
    assert share >= 0.9 - SLACK
    if size == 400 and noise.kind == GAUSSIAN:
        assert share <= 0.9 + SLACK
        gap = _covered(0.15, lambda rng: Gap("gap", (one(rng, 200, rate), one(rng, 60, 0.45))))
        assert gap >= 0.9


def test_a_group_that_noise_hides_is_not_known():
    noise = Noise(10.0)
    rate = RateStatistic("few", 4.0, 12.0, noise, noise, n_rows=1000)
    assert math.isnan(rate.estimate) and math.isnan(rate.standard_error)
    assert rate.interval() == (0.0, 1.0)
    assert "hides the size of the" in rate.note
    gap = Gap("gap", (rate, RateStatistic("many", 0.0, 800.0, noise, noise, n_rows=1000)))
    assert math.isnan(gap.estimate) and "few" in gap.note
    assert gap.interval()[0] == 0.0


def test_standard_error_of_a_rate_is_what_simulation_says():
    noise, rng = Noise(4.0), np.random.default_rng(1)
    rates = [
        RateStatistic("rate", *(np.array([-60.0, 300.0]) + noise.draw(rng, 2)), noise, noise, 1000)
        for _ in range(RUNS)
    ]
    spread = np.std([rate.estimate for rate in rates])
    assert np.mean([rate.standard_error for rate in rates]) == pytest.approx(spread, rel=0.05)


def test_rows_error_is_binomial_for_shares_and_an_upper_bound_for_other_means():
    share = Measured("share", 0.2, Noise(1e-9), 0.0, 1.0, n_mean=100)
    assert share.rows_error == pytest.approx(math.sqrt(0.2 * 0.8 / 100))
    terms = np.random.default_rng(0).beta(2, 8, size=100_000)
    mean = Measured("mean", terms.mean(), Noise(1e-9), 0.0, 1.0, n_mean=100)
    assert terms.std() / 10 < mean.rows_error
    assert math.isnan(Measured("max", 0.2, Noise(0.1), 0.0, 1.0).rows_error)


ASKED = {
    **QUERIES,
    "delta_ambiguity": lambda: MultiplicityQuery("delta_ambiguity", tolerance=0.1),
    "soft_hits": lambda: SoftHits(width=0.1, radius=4.0),
    "excess": lambda: Excess(over="each", radius=4.0),
    "psi_label_of": lambda: LeastPsi(label_of=[[0.4, -0.9]]),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_hopeless_answer_is_told_before_a_charge(name, tmp_path):
    """Whatever the kind of answer: refused or warned about, and with a filter nothing is spent."""
    ledger = Ledger.create(tmp_path / "data.ledger")
    query = ASKED[name]()
    models = replace(MODELS, plan=MODELS.plan.with_numbers(radius=4.0))
    delta = 0.0 if query.noise_kind == GUMBEL else 1e-7
    settings = {"queries": [query], "delta": delta, "categories": ("a", "b")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", exceptions.HiddenAnswerWarning)
        with pytest.raises(
            (exceptions.HiddenAnswerWarning, ValueError), match=r"noise|score_threshold"
        ):
            release(models, Unreadable(X.shape), Y, GROUPS, epsilon=1e-4, ledger=ledger, **settings)
    assert ledger.entries() == []
    # Negative control: with a large budget nothing is hidden.
    assert plan_release(models, N, epsilon=100.0, **settings).hidden == {}


@pytest.mark.parametrize("n_draws", [1, 3])
def test_what_is_told_to_be_hidden_is_hidden_whatever_the_rows_say(n_draws):
    """Every interval of such a number contains the middle of its range; else some do not."""
    models = models_of(n_draws=n_draws)
    public = PublicShape(models, N, True)
    query = Losses()
    names, low, high, *_ = query.coordinates(public)
    widths = high - low
    for scale, hidden in ((float(np.max(widths)), True), (float(np.min(widths)) / 8, False)):
        noise = Noise(scale)
        assert bool(query.hidden(public, noise)) == hidden
        ends = query.statistics(np.asarray(low), noise, public)
        a, b = np.transpose([one.interval() for one in ends])
        middle = (np.asarray(low) + high) / 2
        assert ((a <= middle) & (middle <= b)).all() == hidden, names


def test_a_plan_takes_an_unfitted_estimator_with_a_table_or_a_schema():
    schema = TableSchema([Numeric("a", (-1, 1)), Numeric("b", (-1, 1))])
    settings = {"queries": ["psi_avoiding"], "epsilon": 1.0}
    every = RashomonClassifier(psi=0.02, radius=4.0, classes=(0, 1), schema=schema)
    table = pd.DataFrame(X, columns=["a", "b"])
    plans = [plan_release(every, rows, **settings) for rows in (N, table)]
    assert plans[0].noises == plans[1].noises and plans[0].public.n_rows == N
    bare = every.set_params(schema=None, row_norm=1.5)
    assert plan_release(bare, table, **settings).public.columns == ("a", "b")
    with pytest.raises(ValueError, match="pass the table in place of n_rows"):
        plan_release(bare, N, **settings)


@pytest.mark.parametrize(("name", "delta"), [("GaussianNoise", 1e-6), ("LaplaceNoise", 0.0)])
def test_files_of_earlier_versions_name_noise_by_its_law(name, delta):
    released = _released(["ambiguity", "losses"], delta=delta, random_state=0)
    text = json.dumps(released_values(released))
    earlier = text.replace('"kind": "Noise"', f'"kind": "{name}"')
    assert earlier != text
    assert from_released_values(json.loads(earlier)).table().equals(released.table())


def test_released_values_are_on_the_public_grid_of_their_noise():
    noise, kept = Noise(0.3), []
    query = SimpleNamespace(
        name="one",
        definition="",
        noisy=lambda rows, noise, add_noise: add_noise(np.array([0.1, 2 / 3]), None),
        statistics=lambda values, noise, public: kept.append(values) or (),
    )
    rows = SimpleNamespace(public=None)
    _answer(query, QueryCost(noise, 1.0), rows, np.random.default_rng(0), False)
    (values,) = kept
    assert np.array_equal(values * 4096, np.round(values * 4096)) and values[0] != 0.1
