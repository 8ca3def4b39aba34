"""Width or noise: exact identities, brute force, a law known by quadrature, and coverage."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import decomposition_by_person as by_person
from rashomon_explorer.measures import disagreement, noise_by_budget
from rashomon_explorer.measures import disagreement_decomposition as decompose
from rashomon_explorer.measures.decomposition.estimates import Mixture, hit_interval, variance
from rashomon_explorer.measures.decomposition.inputs import check_same_set
from rashomon_explorer.measures.decomposition.kernels import Layout, Units, get_pair_measure
from rashomon_explorer.measures.multiplicity import score_variance
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.planning.pricing import affordable_eta
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import from_predictions

CUTS = np.linspace(-1.5, 1.5, 61)  # rows: a model θ labels row j by θ > cut j
PARTS = ("total", "width", "noise")


def pair_means(measure, values):
    prepared = measure.prepare(values)
    return measure.mean(measure.pair_sums(prepared), prepared.shape[1])


def random_models(kind, n=14, rows=9):
    rng = np.random.default_rng(0)
    if kind == "labels":
        return rng.integers(0, 2, (n, rows))
    if kind == "three labels":
        return np.array(["low", "mid", "top"])[rng.integers(0, 3, (n, rows))]
    return rng.random((n, rows)) if kind == "scores" else rng.dirichlet([1, 2, 3], (n, rows))


KINDS = {
    "labels": "disagreement",
    "three labels": "disagreement",
    "scores": "score_variance",
    "class scores": "score_variance",
}


def plain(measure, values):
    if measure == "disagreement":
        return disagreement(values)
    each = score_variance(values)
    return float((each.sum(axis=1) if each.ndim == 2 else each).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_every_term_is_the_mean_over_its_pairs_and_they_add_up(kind):
    measure, values = KINDS[kind], random_models(kind)
    inside = np.arange(14) % 3 != 0
    found, exactly = decompose(values, measure=measure, inside=inside), partial(pytest.approx)
    mixed = [
        plain(measure, values[[i, j]]) for i, j in product(*map(np.flatnonzero, (inside, ~inside)))
    ]
    each = [plain(measure, values[inside]), np.mean(mixed), plain(measure, values[~inside])]
    assert found.parts["value"].tolist() == exactly(each)
    assert found.total.value == exactly(plain(measure, values))
    assert found.width.value == exactly(each[0])
    assert found.noise.value == exactly(found.total.value - found.width.value)
    sums = found.parts[["pairs", "total", "noise"]].sum().tolist()
    assert sums == exactly([1, found.total.value, found.noise.value])
    assert found.share_of_noise.value == exactly(found.noise.value / found.total.value)
    assert found.within_between.sum() == exactly(found.total.value)
    assert found.hit_rate.value == exactly(inside.mean())


def test_the_total_variance_splits_as_the_law_of_total_variance_says():
    rng, inside, shape = np.random.default_rng(1), np.arange(800) < 600, (800, 40)
    scores = np.where(inside[:, None], rng.normal(0.3, 0.1, shape), rng.normal(0.8, 0.2, shape))
    parts = decompose(scores, measure="score_variance", inside=inside).within_between
    assert parts["inside"] == pytest.approx(0.75 * 0.1**2, rel=0.05)
    assert parts["outside"] == pytest.approx(0.25 * 0.2**2, rel=0.05)
    assert parts["between"] == pytest.approx(0.75 * 0.25 * 0.5**2, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("uniform", [True, False])
def test_leaving_out_a_unit_is_computing_without_it(kind, uniform):
    matrix = pair_means(get_pair_measure(KINDS[kind]), random_models(kind))
    inside, chains = np.array([True] * 4 + [False] * 3), np.array([0, 1, 2, 0, 1, 2, 0])
    weights = np.where(inside, 1.0, 0.3)

    def mixture(draws, kept):
        some = np.isin(chains, kept)
        models = np.concatenate([draws, 7 + np.flatnonzero(some)])
        layout = Layout.from_hits(inside[draws], np.searchsorted(kept, chains[some]))
        units = Units.from_matrix(matrix[np.ix_(models, models)], layout)
        ws = np.pad(weights[draws], (0, len(kept)), constant_values=1)
        return Mixture.from_units(units.reweighted(ws), uniform)

    whole = mixture(np.arange(7), np.arange(3))
    without = [mixture(np.delete(np.arange(7), place), np.arange(3)) for place in range(7)]
    without += [mixture(np.arange(7), np.delete(np.arange(3), place)) for place in range(3)]
    for name in ("total", "width", "pairs", "values"):
        single = np.stack([getattr(each, name)[..., 0] for each in without], axis=-1)
        np.testing.assert_allclose(getattr(whole, name)[..., 1:], single, atol=1e-12)


def test_models_of_one_chain_are_never_a_pair():
    values, inside = random_models("labels"), [True, False, False, False]
    found = decompose(values[:4], inside=inside, reference=values[4:], reference_chains=3)
    chain = np.concatenate([[9], np.arange(10) % 3])
    models = np.concatenate([values[:1], values[4:]])
    pairs = [(i, j) for i, j in combinations(range(11), 2) if chain[i] != chain[j]]
    expected = np.mean([disagreement(models[list(pair)]) for pair in pairs])
    assert found.width.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_persons_and_groups_average_to_the_whole(kind):
    values, inside = random_models(kind, n=20), [True, False] * 5
    groups = pd.Categorical(["b", "a", "b"] * 3, categories=["a", "b", "nobody"])
    options = {"measure": KINDS[kind], "inside": inside, "reference_chains": 4}
    found = decompose(values[:10], reference=values[10:], groups=groups, **options)
    persons = by_person(values[:10], reference=values[10:], **options)
    each = found.groups.dropna()
    for name in PARTS:
        value = pytest.approx(getattr(found, name).value, abs=1e-12)
        assert persons[name].mean() == value
        assert np.average(each[name], weights=each["rows"]) == value
    assert found.groups["rows"].to_dict() == {"a": 3, "b": 6, "nobody": 0}
    assert found.groups.loc["nobody"].isna().sum() == 12
    alone = decompose(values[:10, [1]], reference=values[10:, [1]], **options)
    assert persons["noise"].iloc[1] == pytest.approx(alone.noise.value, abs=1e-12)


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


def draws_on_the_line(problem, beta, psi, n_draws, seed, sampler=None):
    target, rng = GibbsTarget(problem, beta=beta, psi=psi), np.random.default_rng(seed)
    drawn = collect(sampler or ExactSampler(), target, n_draws, rng)
    inside = drawn.losses <= problem.minimum.value + psi
    return (drawn.coef > CUTS).astype(int), inside, drawn


@pytest.fixture(scope="module")
def chains(line):
    labels = draws_on_the_line(line, 150.0, 0.01, 320, 2, HitAndRunSampler())[0]
    return {"reference": labels, "reference_chains": 32}


def test_exact_draws_are_split_as_quadrature_says(line, chains):
    cdf, hit_rate = quadrature(line, beta=150.0, psi=0.01)
    total, width = disagreement_of(cdf)
    expected = {"total": total, "width": width, "noise": total - width, "hit_rate": hit_rate}
    expected["share_of_noise"] = 1 - width / total
    assert 0.2 < expected["share_of_noise"] < 0.8
    labels, inside, drawn = draws_on_the_line(line, 150.0, 0.01, 600, seed=1)
    for options in ({}, chains):
        found = decompose(labels, inside=inside, confidence=0.999, **options)
        for name, value in expected.items():
            estimate = getattr(found, name)
            assert estimate.low < value < estimate.high, name
            assert estimate.high - estimate.low < 0.6 * max(value, 0.2), name
    assert abs(found.cross_check) < 4
    beyond = drawn.losses <= line.minimum.value + 3 * 0.01  # control: hits of another set
    found = decompose(labels, inside=beyond, **chains)
    assert found.cross_check > 4 and "do not describe the same set" in str(found)


@pytest.mark.parametrize(("hits", "n_draws"), [(7, 9), (0, 5), (40, 40), (3, 50)])
def test_the_interval_of_a_hit_rate_is_that_of_clopper_and_pearson(hits, n_draws):
    found = hit_interval(hits, n_draws, 0.95)
    exact = binomtest(hits, n_draws).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_without_a_miss_the_interval_holds_what_the_hit_rate_leaves_open():
    """A pair has a miss unless both hit; two statements share the error."""
    values, inside = random_models("labels", n=40), [True] * 40
    found, width = (decompose(values, inside=inside, confidence=c) for c in (0.95, 0.975))
    pairs = 1 - hit_interval(40, 40, 0.975).low ** 2
    assert found.noise.value == 0
    assert found.noise.high == pytest.approx(pairs * (1 - width.width.low))
    assert found.noise.low == pytest.approx(-pairs * width.width.high)
    assert found.total.high == pytest.approx(min(1, width.width.high + found.noise.high))
    assert found.parts["value"].isna().tolist() == [False, True, True]
    assert found.within_between.tolist() == [found.total.value, 0, 0]
    numbers = decompose(10 * values, measure="score_variance", inside=inside)
    assert numbers.noise.high == np.inf
    alike = {"inside": [True, False] * 20}
    same = decompose([[1, 0]] * 40, **alike)
    assert np.isnan(same.share_of_noise.value) and "nothing to decompose" in str(same)
    assert set(by_person([[1, 0]] * 40, **alike)["verdict"]) == {"no disagreement"}


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
@pytest.mark.parametrize(
    ("n_draws", "hit_rate", "n_reference"),
    [(60, 0.5, 0), (60, 0.85, 0), (200, 0.9, 0), (100, 0.97, 0), (40, 0.1, 40), (60, 0.8, 50)],
)
def test_intervals_hold_as_often_as_they_say_and_those_of_pairs_do_not(
    n_draws, hit_rate, n_reference
):
    mixed = hit_rate * UNIFORM + (1 - hit_rate) * OUTSIDE
    total, width = disagreement_of(np.stack([mixed, UNIFORM]))
    expected = {"total": total, "width": width, "noise": total - width}
    expected["share_of_noise"] = 1 - width / total
    rng, repeats = np.random.default_rng(0), 600
    held, naive = dict.fromkeys(expected, 0), 0
    for _ in range(repeats):
        labels, inside = draw(rng, n_draws, hit_rate)
        reference = draw(rng, n_reference, 1.0)[0] if n_reference else None
        found = decompose(labels, inside=inside, reference=reference)
        for name, value in expected.items():
            held[name] += getattr(found, name).low <= value <= getattr(found, name).high
        matrix = pair_means(get_pair_measure("disagreement"), labels)
        pairs = matrix[np.triu_indices(len(matrix), 1)]
        naive += abs(pairs.mean() - total) < 1.96 * pairs.std() / np.sqrt(len(pairs))
    # 0.92 is 3.4 standard deviations of 600 repeats below 0.95.
    assert all(count / repeats > 0.92 for count in held.values()), held
    assert naive / repeats < 0.7


@pytest.mark.law
def test_verdicts_are_rarely_wrong():
    rng, stated, wrong = np.random.default_rng(1), 0, 0
    mixed = 0.7 * UNIFORM + 0.3 * OUTSIDE
    of_the_set = UNIFORM * (1 - UNIFORM) > mixed * (1 - mixed) / 2
    for _ in range(60):
        labels, inside = draw(rng, 120, 0.7)
        verdict = by_person(labels, inside=inside)["verdict"].to_numpy()
        wrong += ((verdict == "the set") & ~of_the_set).sum()
        wrong += ((verdict == "the mechanism") & of_the_set).sum()
        stated += np.isin(verdict, ["the set", "the mechanism"]).sum()
    assert stated > 0.6 * 60 * len(CUTS)
    assert wrong / (60 * len(CUTS)) < 0.05


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (400, 2)), columns=["age", "debt"], index=range(7, 407))
    return X, (4 * X["age"] - 3 * X["debt"] + rng.normal(scale=0.5, size=400) > 0).astype(int)


SETTINGS = {"psi": 0.05, "epsilon": 40.0, "random_state": 0, "mechanism": "exact", "n_draws": 150}
SETTINGS |= {"radius": 4.0, "ridge": 0.0}
CHAINS = {"mechanism": "hit_and_run", "n_draws": 64}


@pytest.fixture(scope="module")
def fit(table):
    return lambda **changed: RashomonClassifier(**{**SETTINGS, **changed}).fit(*table).rashomon_set_


@pytest.fixture(scope="module")
def models(fit):
    found = fit()
    assert 0.05 < 1 - found.hit_rate < 0.95
    return found


def test_a_set_is_split_like_its_arrays(table, fit, models):
    X, reference = table[0], fit(**CHAINS)
    inside = models.losses <= models.least + models.psi
    found = decompose(models, X, reference=reference, measure="score_variance")
    options = {"reference": reference.scores(X), "reference_chains": 32}
    arrays = decompose(models.scores(X), measure="score_variance", inside=inside, **options)
    assert (found.total, found.width) == (arrays.total, arrays.width)
    assert (found.n_draws, found.n_hits, found.n_reference) == (150, inside.sum(), 64)
    assert abs(found.cross_check) < 4
    assert found.guaranteed and not arrays.guaranteed
    assert "Assumed" in str(arrays) and "Assumed" not in str(found)
    persons = by_person(models, X)
    assert list(persons.index) == list(X.index) and persons.attrs["view"].startswith("Curator")
    other = fit(epsilon=400.0, n_draws=50)
    hits = round(50 * other.hit_rate)
    assert hits < 50
    assert decompose(models, X, reference=other).n_reference == hits
    two = fit(**{**CHAINS, "n_draws": 2})  # fewer than chains: one state a chain
    found, explicit = (decompose(models, X, reference=two, reference_chains=c) for c in (None, 2))
    assert (found.width.value, found.width.high) == (explicit.width.value, explicit.width.high)


def test_a_regression_has_no_bound_and_grids_split_by_themselves(table, fit):
    X, settings = table[0], {**SETTINGS, "n_draws": 60}
    regression = (
        RashomonRegressor(target_bounds=(-1, 1), **settings)
        .fit(X, (2 * X["age"]).clip(-1, 1))
        .rashomon_set_
    )
    assert decompose(regression, X, measure="score_variance").width.value > 0
    with pytest.raises(TypeError, match="labels need a classification set"):
        decompose(regression, X)
    grid = fit(mechanism="finite_grid", n_draws=60)
    assert decompose(grid, X).width.value > 0
    with pytest.raises(ValueError, match="'hit_and_run' draws from another set of models"):
        decompose(grid, X, reference=fit(**CHAINS))
    with pytest.raises(ValueError, match=r"mechanism='exact'.*got 'finite_grid'"):
        noise_by_budget(grid, X, 50.0)


def test_draws_with_noise_inside_need_a_reference_which_then_is_the_width(table, fit, models):
    X = table[0]
    drawn = replace(models, mechanism="langevin")  # as if the hits were not uniform
    with pytest.raises(ValueError, match=r"not proved to be uniform inside.*hit_and_run"):
        decompose(drawn, X)
    found, own = decompose(drawn, X, reference=fit(**CHAINS)), decompose(models, X)
    assert found.total.value == pytest.approx(own.total.value, abs=1e-12)
    assert found.width.value != own.width.value
    assert found.parts["value"].iloc[0] == pytest.approx(own.width.value, abs=1e-12)
    assert found.parts["noise"].sum() == pytest.approx(found.noise.value, abs=1e-12)
    assert found.parts["noise"].iloc[0] != 0


def test_at_psi_0_all_is_the_mechanisms(table, fit):
    drawn, best = fit(psi=0.0, n_draws=20), fit(psi=0.0, **CHAINS)
    with pytest.raises(ValueError, match="none of the 20 draws is in the Rashomon set"):
        decompose(drawn, table[0])
    found = decompose(drawn, table[0], reference=best)
    assert (found.width.value, found.share_of_noise.value, found.cross_check) == (0, 1, None)


def test_weights_lead_to_the_law_at_a_larger_price(line):
    """The same draws, weighted, against quadrature at four times the β; and a control."""
    psi, beta, colder = 0.01, 60.0, 240.0
    labels, inside, drawn = draws_on_the_line(line, beta, psi, 1200, seed=7)
    matrix = pair_means(get_pair_measure("disagreement"), labels)
    units = Units.from_matrix(matrix, Layout.from_hits(inside, np.zeros(0, int)))
    energy = np.maximum(drawn.losses - line.minimum.value - psi, 0)
    expected = disagreement_of(quadrature(line, colder, psi)[0])[0]

    def apart(change):
        weighted = units.reweighted(np.exp(-change * energy))
        total = Mixture.from_units(weighted, uniform=True).total
        return abs(total[0] - expected) / np.sqrt(variance(total[1:]))

    assert apart(colder - beta) < 3.5
    assert apart(0.0) > 5
    assert apart(2 * (colder - beta)) > 3.5


def test_prices_start_at_the_one_paid_and_end_at_the_width(table, fit, models):
    prices = noise_by_budget(models, table[0], [40.0, 80.0, np.inf])
    found, first, last = decompose(models, table[0]), prices.iloc[0], prices.iloc[-1]
    assert first["beta"] == pytest.approx(models.plan.beta)
    for name in (*PARTS, "share_of_noise"):
        assert first[name] == pytest.approx(getattr(found, name).value, abs=1e-9)
        assert first[f"{name}_low"] == pytest.approx(getattr(found, name).low, abs=1e-9)
    assert (last["noise"], last["noise_high"], last["hit_rate"]) == (0, 0, 1)
    assert last["draws"] == pytest.approx(found.n_hits)
    eta = affordable_eta(80.0, models.plan.delta, 150, ledger=models.plan.ledger)
    assert prices["beta"].iloc[1] == pytest.approx(eta / models.plan.oscillation)
    assert fit(epsilon=80.0).plan.beta == pytest.approx(prices["beta"].iloc[1])
    assert prices["hit_rate"].is_monotonic_increasing
    with pytest.raises(ValueError, match="at least 40, the privacy cost of the draws"):
        noise_by_budget(models, table[0], 39.0)


@pytest.mark.parametrize(("apart", "same"), [(1e-10, True), (1e-8, False)])
def test_of_the_least_loss_only_rounding_may_differ(apart, same):
    own, other = (
        SimpleNamespace(task="classification", psi=0.05, least=0.3 * (1 + a)) for a in (0, apart)
    )
    with nullcontext() if same else pytest.raises(ValueError, match="its least is"):
        check_same_set(own, other)


def test_of_an_exact_fit_only_the_draws_inside_are_a_reference(table, fit, models):
    reference = fit(random_state=1)
    found = decompose(models, table[0], reference=reference, measure="score_variance")
    assert found.n_reference == round(reference.hit_rate * reference.n_draws) < 150


def test_sets_and_references_that_cannot_answer_are_refused_by_what_differs(table, fit, models):
    (X, y), released = table, models.release()
    for split in (decompose, by_person, partial(noise_by_budget, epsilon=50)):
        with pytest.raises(CuratorOnlyError, match="not available for a release"):
            split(released, X)

    def on(rows, labels):
        return RashomonClassifier(**{**SETTINGS, **CHAINS}).fit(rows, labels).rashomon_set_

    other = partial(fit, **CHAINS)
    predictions = from_predictions([[0.9, 0.2], [0.8, 0.6]], [1, 0], psi=0.5)
    turned = 1 - y.where(X["age"] < 0.4, 0)
    for drawn, reference, words in (
        (models.inside(), None, "must be all draws of a fit.*inside"),
        (fit(mechanism="mala", n_draws=64), None, "got 'mala'"),
        (models, predictions, "reference must be a RashomonSet"),
        (models, other(radius=3.0), "its radius is 3, the draws' 4.*reference with radius=4.0"),
        (models, other(radius=3.0, ridge=0.1), "its ridge is 0.1.*with radius=4.0, ridge=0.0"),
        (models, other(row_norm=2.0), "its row_norm is 2, the draws' 1.*row_norm=1.0"),
        (models, other(psi=0.01), "its psi is 0.01, the draws' 0.05.*psi=0.05"),
        (models, on(X.iloc[:-1], y.iloc[:-1]), "its n is 399, the draws' 400.*Fit the ref"),
        (models, on(X[["debt", "age"]], y), r"its columns are \('debt', 'age'\)"),
        (models, on(X, turned), "its least is .*No setting differs"),
    ):
        with pytest.raises(ValueError, match=words):
            decompose(drawn, X, reference=reference)
    unnamed = on(X.to_numpy(), y)
    assert decompose(models, X, reference=unnamed).n_reference == 64
    for call, words in (
        (lambda: decompose(models), "X is required"),
        (lambda: decompose(models, X, inside=[True] * 150), "inside is for arrays"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_released_scales_of_a_reference_are_compared(models):
    one, other = (ColumnMap(np.zeros(2), np.full(2, spread), 1.0) for spread in (1.0, 1.5))
    check_same_set(replace(models, scale=one), replace(models, scale=one))
    for scale in (other, None):
        with pytest.raises(ValueError, match=r"its scale is .*Draw both with standardize=None"):
            check_same_set(replace(models, scale=one), replace(models, scale=scale))
