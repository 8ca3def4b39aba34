"""Width or noise: exact identities, brute force, a law known by quadrature, and coverage."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from rashomon_explorer import RashomonClassifier, RashomonRegressor, RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import decomposition as d
from rashomon_explorer.measures import disagreement
from rashomon_explorer.measures.decomposition import (
    disagreement_decomposition,
    pair_mean,
    pair_sums,
)
from rashomon_explorer.measures.multiplicity import score_variance
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.trees import label_shares

CUTS = np.linspace(-1.5, 1.5, 61)  # rows: a model θ labels row j by θ > cut j
PARTS = ("total", "width", "noise")


def decompose(values, *, inside, task="classification", groups=None, confidence=0.95):
    """Decomposition of draws by their labels or numbers alone."""
    values, inside = np.asarray(values), np.asarray(inside)
    draws = d.IndependentDraws(inside, 1.0 if task == "classification" else np.inf)
    codes, names = d._group_codes(groups, values.shape[1])
    sums = d.group_sums(task, values, codes)
    hits = d.hit_interval(int(inside.sum()), len(inside), confidence)
    return d.DisagreementDecomposition(
        confidence=confidence,
        psi=0.1,
        table=d.decomposition_table(draws, sums, codes, names, confidence),
        hit_rate=hits,
        n_draws=len(inside),
        guaranteed=False,
    )


def random_models(kind, n=14, rows=9):
    rng = np.random.default_rng(0)
    if kind == "labels":
        return rng.integers(0, 2, (n, rows))
    if kind == "three labels":
        return np.array(["low", "mid", "top"])[rng.integers(0, 3, (n, rows))]
    return rng.random((n, rows))


KINDS = {"labels": "classification", "three labels": "classification", "numbers": "regression"}


def mean_over(task, values, first, second):
    """Mean difference over pairs of one model each of two lists."""
    of_pair = disagreement if task == "classification" else lambda pair: score_variance(pair).mean()
    return np.mean([of_pair(values[[i, j]]) for i, j in product(first, second) if i != j])


@pytest.mark.parametrize("kind", KINDS)
def test_total_and_width_are_means_over_pairs(kind):
    task, values = KINDS[kind], random_models(kind)
    inside, everyone = np.arange(14) % 3 != 0, np.arange(14)
    split = decompose(values, task=task, inside=inside)
    hits = np.flatnonzero(inside)
    assert split.total.value == pytest.approx(mean_over(task, values, everyone, everyone))
    assert split.width.value == pytest.approx(mean_over(task, values, hits, hits))
    assert split.noise.value == pytest.approx(split.total.value - split.width.value)
    assert split.share_of_noise.value == pytest.approx(split.noise.value / split.total.value)
    assert split.hit_rate.value == pytest.approx(inside.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_out_a_draw_is_computing_without_it(kind):
    sums, inside = pair_sums(KINDS[kind], random_models(kind)), np.arange(14) % 3 != 0
    for member in (inside, np.ones(14, dtype=bool)):
        kept = [np.delete(np.arange(14), place) for place in range(14)]
        without = [pair_mean(sums[np.ix_(some, some)], member[some])[0] for some in kept]
        np.testing.assert_allclose(pair_mean(sums, member)[1:], without, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_average_to_the_whole_and_a_person_is_a_group(kind):
    values, inside = random_models(kind, n=20), [True, False] * 10
    groups = pd.Categorical(["b", "a", "b"] * 3, categories=["a", "b", "nobody"])
    options = {"task": KINDS[kind], "inside": inside}
    split = decompose(values, groups=groups, **options)
    people = decompose(values, groups=np.arange(9), **options)
    for name in PARTS:
        value = pytest.approx(getattr(split, name).value, abs=1e-12)
        for table in (split.table[1:].dropna(), people.table[1:]):
            assert np.average(table[name], weights=table["rows"]) == value
    assert split.table["rows"].to_dict() == {"all rows": 9, "a": 3, "b": 6, "nobody": 0}
    assert split.table.loc["nobody"].isna().sum() == 12
    alone = decompose(values[:, [1]], **options)
    assert people.table.loc[1, "noise_low"] == pytest.approx(alone.noise.low, abs=1e-12)


@pytest.fixture(scope="module")
def line():
    """A quadratic loss on a line, whose thresholded law is integrated."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 1))
    return Problem(X, 0.43 * X[:, 0], loss="squared", radius=1.5, row_norm=1.0, intercept=False)


def quadrature(problem, beta, psi):
    """Distribution functions at the cuts of the law and of the uniform one, and the hit rate."""
    theta = np.linspace(-1.5, 1.5, 300_001)
    excess = problem.value(theta[None]) - problem.minimum.value
    densities = np.stack([np.exp(-beta * np.maximum(excess - psi, 0)), excess <= psi])
    total = np.cumsum(densities, axis=1)
    places = np.searchsorted(theta, CUTS, side="right") - 1
    return total[:, places] / total[:, -1:], float(densities[1].sum() / densities[0].sum())


def disagreement_of(cdf):
    """Disagreement of two draws, mean over the cuts."""
    return np.mean(2 * cdf * (1 - cdf), axis=1)


def draws_on_the_line(problem, beta, psi, n_draws, seed):
    target, rng = GibbsTarget(problem, beta=beta, psi=psi), np.random.default_rng(seed)
    drawn = collect(ExactSampler(), target, n_draws, rng)
    return (drawn.coef > CUTS).astype(int), drawn.losses <= problem.minimum.value + psi


def test_exact_draws_are_split_as_quadrature_says(line):
    cdf, hit_rate = quadrature(line, beta=150.0, psi=0.01)
    total, width = disagreement_of(cdf)
    expected = {"total": total, "width": width, "noise": total - width, "hit_rate": hit_rate}
    expected["share_of_noise"] = 1 - width / total
    assert 0.2 < expected["share_of_noise"] < 0.8
    labels, inside = draws_on_the_line(line, 150.0, 0.01, 600, seed=1)
    split = decompose(labels, inside=inside, confidence=0.999)
    for name, value in expected.items():
        estimate = getattr(split, name)
        assert estimate.low < value < estimate.high, name
        assert estimate.high - estimate.low < 0.6 * max(value, 0.2), name
    beyond = draws_on_the_line(line, 150.0, 0.03, 600, seed=1)[1]  # control: hits of another set
    width = decompose(labels, inside=inside | ~beyond, confidence=0.999).width
    assert not width.low < expected["width"] < width.high


@pytest.mark.parametrize(("hits", "n_draws"), [(7, 9), (0, 5), (40, 40), (3, 50)])
def test_the_interval_of_a_hit_rate_is_that_of_clopper_and_pearson(hits, n_draws):
    found = d.hit_interval(hits, n_draws, 0.95)
    exact = binomtest(hits, n_draws).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_without_a_miss_the_interval_holds_what_the_hit_rate_leaves_open():
    """A pair has a miss unless both hit; two statements share the error."""
    values, inside = random_models("labels", n=40), [True] * 40
    found, width = (decompose(values, inside=inside, confidence=c) for c in (0.95, 0.975))
    pairs = 1 - d.hit_interval(40, 40, 0.975).low ** 2
    assert found.noise.value == 0
    assert found.noise.high == pytest.approx(pairs * (1 - width.width.low))
    assert found.noise.low == pytest.approx(-pairs * width.width.high)
    assert found.total.high == pytest.approx(min(1, width.width.high + found.noise.high))
    numbers = decompose(10.0 * values, task="regression", inside=inside)
    assert numbers.noise.high == np.inf
    alike = {"inside": [True, False] * 20}
    same = decompose([[1, 0]] * 40, **alike)
    assert np.isnan(same.share_of_noise.value)


def draw(rng, n_draws, hit_rate):
    """U uniform on [0, 1], Q with exponential tails beyond, both sides alike."""
    inside = rng.random(n_draws) < hit_rate
    away, left = rng.exponential(0.7, n_draws), rng.random(n_draws) < 0.5
    theta = np.where(inside, rng.random(n_draws), np.where(left, -away, 1 + away))
    return (theta[:, None] > CUTS).astype(int), inside


TAIL = np.exp(-np.abs(CUTS - np.clip(CUTS, 0, 1)) / 0.7) / 2
OUTSIDE = np.where(CUTS < 0, TAIL, np.where(CUTS > 1, 1 - TAIL, 0.5))
UNIFORM = np.clip(CUTS, 0, 1)


@pytest.mark.law
@pytest.mark.parametrize(("n_draws", "hit_rate"), [(60, 0.5), (60, 0.85), (200, 0.9), (100, 0.97)])
def test_intervals_hold_as_often_as_they_say_and_those_of_pairs_do_not(n_draws, hit_rate):
    mixed = hit_rate * UNIFORM + (1 - hit_rate) * OUTSIDE
    total, width = disagreement_of(np.stack([mixed, UNIFORM]))
    expected = {"total": total, "width": width, "noise": total - width}
    expected["share_of_noise"] = 1 - width / total
    rng, repeats = np.random.default_rng(0), 600
    held, naive = dict.fromkeys(expected, 0), 0
    for _ in range(repeats):
        labels, inside = draw(rng, n_draws, hit_rate)
        found = decompose(labels, inside=inside)
        for name, value in expected.items():
            held[name] += getattr(found, name).low <= value <= getattr(found, name).high
        matrix = pair_sums("classification", labels) / len(CUTS)
        pairs = matrix[np.triu_indices(len(matrix), 1)]
        naive += abs(pairs.mean() - total) < 1.96 * pairs.std() / np.sqrt(len(pairs))
    # 0.92 is 3.4 standard deviations of 600 repeats below 0.95.
    assert all(count / repeats > 0.92 for count in held.values()), held
    assert naive / repeats < 0.7


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (400, 2)), columns=["age", "debt"], index=range(7, 407))
    return X, (4 * X["age"] - 3 * X["debt"] + rng.normal(scale=0.5, size=400) > 0).astype(int)


SETTINGS = {"psi": 0.05, "epsilon": 40.0, "random_state": 0, "mechanism": "exact", "n_draws": 150}
SETTINGS |= {"radius": 4.0, "ridge": 0.0}


@pytest.fixture(scope="module")
def fit(table):
    return lambda **changed: RashomonClassifier(**{**SETTINGS, **changed}).fit(*table).rashomon_set_


@pytest.fixture(scope="module")
def models(fit):
    found = fit()
    assert 0.05 < 1 - found.hit_rate < 0.95
    return found


def test_a_set_is_split_like_its_arrays(table, models):
    X, inside = table[0], models.losses <= models.least + models.psi
    split = disagreement_decomposition(models, X)
    arrays = decompose(models.labels(X), inside=inside)
    assert (split.total, split.width) == (arrays.total, arrays.width)
    assert (split.n_draws, split.hit_rate.value) == (150, inside.mean())
    assert split.guaranteed and split.psi == models.psi
    assert split.table.attrs["view"].startswith("Curator")


def test_a_regression_has_no_bound_and_grids_split_too(table, fit):
    X, settings = table[0], {**SETTINGS, "n_draws": 60}
    regression = (
        RashomonRegressor(target_bounds=(-1, 1), **settings)
        .fit(X, (2 * X["age"]).clip(-1, 1))
        .rashomon_set_
    )
    split, inside = disagreement_decomposition(regression, X), regression.excess <= SETTINGS["psi"]
    arrays = decompose(regression.scores(X), task="regression", inside=inside)
    assert split.width == arrays.width and split.total == arrays.total
    assert disagreement_decomposition(fit(mechanism="finite_grid", n_draws=60), X).width.value > 0


def test_sets_that_cannot_answer_are_refused(table, fit, models):
    X = table[0]
    with pytest.raises(CuratorOnlyError, match="not available for a release"):
        disagreement_decomposition(models.release(), X)
    for drawn, words in (
        (models.inside(), "must be all draws of a fit.*inside"),
        (fit(mechanism="hit_and_run", n_draws=16), "depend on each other"),
        (replace(models, mechanism="langevin_clipped"), "not proved to be uniform inside"),
        (fit(psi=0.0, n_draws=20), "none of the 20 draws is in the Rashomon set"),
    ):
        with pytest.raises(ValueError, match=words):
            disagreement_decomposition(drawn, X)
    with pytest.raises(ValueError, match="X is required"):
        disagreement_decomposition(models, None)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_trees_are_split_up_to_the_threshold_of_their_law_as_all_trees_are():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(90, 3))
    y = np.where(rng.random(90) < 0.75, X[:, 0] | X[:, 1], rng.integers(0, 2, size=90))
    settings = {"psi": 0.205, "max_leaves": 3, "leaf_penalty": 0.01, "n_draws": 300, "delta": 1e-6}
    settings |= {"epsilon": 12.0, "hit_rate": 0.06, "random_state": 0}
    clf = RashomonTreeClassifier(**settings).fit(X, y)
    models, law_psi = clf.rashomon_set_, clf.plan_.law_psi
    split = disagreement_decomposition(models, X, confidence=0.9999)
    assert 0 < split.psi == law_psi < 0.9 * models.psi and split.hit_rate.value < models.hit_rate

    def width(psi):
        return 1 - (label_shares(clf.counted(X, y), psi, X) ** 2).sum(axis=1).mean()

    assert split.width.low <= width(law_psi) <= split.width.high < split.width.low + 0.1
    # The control: draws inside ψ are not taken to be uniform where they are not.
    naive = decompose(models.labels(X), inside=models.excess <= models.psi, confidence=0.9999)
    assert not naive.width.low <= width(models.psi) <= naive.width.high
    for drawn, words in (
        (models.inside(), "must be all draws of a fit"),
        (replace(models, planned=None), "not proved to be uniform"),
        (replace(models, independent=False), "depend on each other"),
    ):
        with pytest.raises(ValueError, match=words):
            disagreement_decomposition(drawn, X)
