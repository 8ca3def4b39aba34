"""Releases of undeclared columns: sensitivity by brute force, laws by integration, controls."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from rashomon_explorer.data.columns import Categorical, IgnoredColumn, Numeric, YesNo
from rashomon_explorer.mechanisms import table_preparation
from rashomon_explorer.mechanisms.table_preparation import PreparationPlan, densest, release_columns
from rashomon_explorer.privacy.conversions import gdp_delta


@pytest.fixture
def rng():
    return np.random.default_rng(0)


CELLS = [None, np.nan, "", "NA", 0, -0.0, 3, 4.0, "4", -4.5, 1e300, -math.inf, 1e-300, True, "True",
         "a", " a ", "b", 2**70, "1,5"]  # fmt: skip
PLANS = [PreparationPlan(900, k, *cost) for k in (1, 7) for cost in [(0.2, 5e-7), (3.0, 1e-3)]]


def counts_of(cells, coded=False):
    """Every count that a release may show, by its name; numbers of a second release included."""
    read = table_preparation._Cells.of(pd.Series(cells, dtype=object), coded)
    fixed = {("entry", j): int(count) for j, count in enumerate(read.counts) if count}
    return fixed | {("level", text): int(n) for text, n in read.texts.value_counts().items()}


def moved(before, after):
    return [abs(before.get(key, 0) - after.get(key, 0)) for key in {*before, *after}]


@pytest.mark.parametrize("coded", [False, True])
def test_a_replaced_cell_moves_two_counts_of_its_column_by_one(coded):
    """Δ₁ = 2 and Δ₂ = √2 of one column, over all pairs of cells; every cell counts once."""
    rest = ["a", 1, None]
    most = 0
    for old, new in itertools.product(CELLS, repeat=2):
        before, after = (counts_of([*rest, cell], coded) for cell in (old, new))
        assert sum(before.values()) == sum(after.values()) == 4
        change = moved(before, after)
        assert sum(change) <= 2 and sum(step**2 for step in change) <= 2
        most = max(most, sum(change))
    assert most == 2


def test_a_cell_is_read_alike_whatever_type_the_rest_gives_the_column():
    for values in ([1.0, 2.0], [1, 2], [True, False], pd.array([1, None], dtype="Int64")):
        plain = pd.Series(values)
        mixed = pd.concat([plain.astype(object), pd.Series(["text"], dtype=object)])
        alone = table_preparation._Cells.of(plain, False)
        beside = table_preparation._Cells.of(mixed.reset_index(drop=True), False)
        assert np.array_equal(alone.numbers, beside.numbers[:2], equal_nan=True)
        assert list(alone.texts) == list(beside.texts)[:-1]


@pytest.mark.parametrize("planned", PLANS)
def test_gaussian_noise_and_rare_levels_take_half_of_delta_each(planned):
    """Two releases of sensitivity √(2k) compose to μ; k levels of one record add (1 + e^ε)kq."""
    mu = math.sqrt(2 * (2 * planned.k) / planned.scale(planned.k) ** 2)
    assert gdp_delta(mu, planned.epsilon) <= planned.delta / 2
    assert gdp_delta(mu, planned.epsilon) == pytest.approx(planned.delta / 2, rel=1e-3)
    # Fewer columns in the second release: less noise at the same cost.
    assert planned.scale(1) ** 2 * planned.k == pytest.approx(planned.scale(planned.k) ** 2)

    def lost(threshold):
        shown = norm.sf((threshold - 0.5 - 1) / planned.scale(planned.k))  # rounded to integers
        return planned.k * shown * (1 + math.exp(planned.epsilon))

    assert lost(planned.threshold) <= planned.delta / 2
    control = planned.threshold - max(1, 0.1 * planned.scale(planned.k))
    assert lost(control) > planned.delta / 2


def pmf(scale, points):
    """Law of the difference of two geometric variables."""
    decay = math.exp(-1 / scale)
    return (1 - decay) / (1 + decay) * decay ** np.abs(points)


@pytest.mark.parametrize("k", [1, 3])
def test_the_ratio_of_both_pure_releases_is_at_most_e_to_epsilon(k):
    """Exact laws on the integers: 2k counts move by 1 in each of two releases; half fails."""
    planned = PreparationPlan(900, k, 0.4, 0.0)
    points = np.arange(-400, 401)

    def worst(scale):
        step = np.log(pmf(scale, points) / pmf(scale, points - 1)).max()
        return 2 * (2 * k) * step

    assert worst(planned.scale(k)) <= planned.epsilon
    assert worst(planned.scale(k)) == pytest.approx(planned.epsilon, rel=1e-6)
    assert worst(planned.scale(k) / 2) > 1.9 * planned.epsilon
    assert planned.threshold == math.inf


def test_noise_has_the_law_that_is_charged(rng):
    for delta in (0.0, 1e-6):
        planned = PreparationPlan(900, 2, 2.0, delta)
        scale = planned.scale(2)
        drawn = table_preparation._noisy(np.zeros(200_000, dtype=int), scale, planned, rng)
        assert (drawn == np.rint(drawn)).all()
        assert drawn.std() == pytest.approx(planned.deviation(2), rel=0.02)
        law = pmf(scale, 0) if delta == 0 else norm.cdf(0.5 / scale) - norm.cdf(-0.5 / scale)
        assert (drawn == 0).mean() == pytest.approx(law, abs=0.004)


def test_a_level_of_one_record_is_as_rare_as_is_charged(rng):
    """The whole release, at a δ that is large enough to count; a lower threshold shows more."""
    planned = PreparationPlan(4, 1, 1.0, 0.4)
    chance = planned.delta / 2 / (1 + math.e)
    cells = table_preparation._Cells.of(pd.Series(["rare", 1.0, 1.0, 1.0]), False)

    def share(planned):
        shown = [table_preparation._noisy_kind(cells, planned, rng).levels for _ in range(1_000)]
        return np.mean(["rare" in levels for levels in shown])

    assert share(planned) <= chance + 4 * math.sqrt(chance / 1_000)
    assert share(PreparationPlan(4, 1, 1.0, 0.9)) > chance


def test_the_densest_interval_is_that_of_brute_force(rng):
    for _ in range(50):
        gains = rng.normal(size=12)
        start, stop, total = densest(gains)
        best = max(gains[i:j].sum() for i in range(12) for j in range(i + 1, 13))
        assert total == pytest.approx(best) == pytest.approx(gains[start:stop].sum())


@pytest.mark.slow
def test_what_is_released_describes_the_columns(rng):
    n = 60_000
    columns = {
        "age": rng.integers(18, 80, n).astype(float),
        "change": rng.normal(0, 2.0, n),
        "year": rng.integers(1990, 2020, n),
        "below": -np.exp(rng.normal(3, 0.3, n)),
        "flag": rng.random(n) < 0.4,
        "code": rng.choice([1, 2, 3], n),
        "home": np.where(np.arange(n) < 3, "castle", rng.choice(["own", "rent", "free"], n)),
        "one": np.where(rng.random(n) < 0.3, "yes", np.arange(n).astype(str) + "x"),
        "key": np.arange(n).astype(str) + "x",
        "nothing": np.full(n, np.nan),
    }
    columns["age"][: n // 10] = np.nan
    table = {name: pd.Series(values) for name, values in columns.items()}
    planned = PreparationPlan(n, len(table), 0.5, 1e-6)
    found = {c.name: c for c in release_columns(table, planned, rng, categorical=["code"])}
    age, change, year = found["age"], found["change"], found["year"]
    for column in (age, change, year, found["below"]):
        assert isinstance(column, Numeric)
    assert 16 <= age.usual[0] <= 20 and 75 <= age.usual[1] <= 90 and age.missing == "indicator"
    assert -8 <= change.usual[0] <= -2 and 2 <= change.usual[1] <= 8 and change.missing == "fill"
    assert 1950 <= year.usual[0] <= 1990 and 2019 <= year.usual[1] <= 2048
    assert found["below"].value_bounds[1] <= 0
    assert isinstance(found["flag"], YesNo) and found["flag"].texts == ["False", "True"]
    assert isinstance(found["code"], Categorical) and found["code"].texts == ["1", "2", "3"]
    home, single = found["home"], found["one"]
    assert home.texts == ["free", "own", "rent"] and "home=(other)" in home.encoded_names
    assert isinstance(single, YesNo) and single.texts == ["not yes", "yes"]
    for name in ("key", "nothing"):
        assert isinstance(found[name], IgnoredColumn)
    pure = release_columns(table, PreparationPlan(n, len(table), 0.5, 0.0), rng)
    assert [c.kind for c in pure if c.name in ("age", "home")] == ["numeric", "anything"]
