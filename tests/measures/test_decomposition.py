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
from rashomon_explorer.measures import (
    decomposition_by_person,
    disagreement,
    disagreement_decomposition,
    noise_by_budget,
)
from rashomon_explorer.measures.decomposition import estimates
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


def pair_means(measure, values):
    prepared = measure.prepare(values)
    return measure.mean(measure.pair_sums(prepared), prepared.shape[1])


CUTS = np.linspace(-1.5, 1.5, 61)  # rows: a model θ labels row j by θ > cut j


def random_models(kind, n=14, rows=9, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "labels":
        return rng.integers(0, 2, (n, rows))
    if kind == "three labels":
        return np.array(["low", "mid", "top"])[rng.integers(0, 3, (n, rows))]
    if kind == "scores":
        return rng.random((n, rows))
    return rng.dirichlet([1, 2, 3], (n, rows))


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
    found = disagreement_decomposition(values, measure=measure, inside=inside)
    assert found.total.value == pytest.approx(plain(measure, values), abs=1e-12)
    assert found.width.value == pytest.approx(plain(measure, values[inside]), abs=1e-12)
    assert found.parts["value"].iloc[2] == pytest.approx(plain(measure, values[~inside]), abs=1e-12)
    mixed = [
        plain(measure, values[[i, j]]) for i, j in product(*map(np.flatnonzero, (inside, ~inside)))
    ]
    assert found.parts["value"].iloc[1] == pytest.approx(np.mean(mixed), abs=1e-12)
    sums = found.parts.sum()
    assert sums["pairs"] == pytest.approx(1, abs=1e-12)
    assert sums["total"] == pytest.approx(found.total.value, abs=1e-12)
    assert sums["noise"] == pytest.approx(found.noise.value, abs=1e-12)
    assert found.noise.value == pytest.approx(found.total.value - found.width.value, abs=1e-12)
    assert found.share_of_noise.value == pytest.approx(found.noise.value / found.total.value)
    assert found.within_between.sum() == pytest.approx(found.total.value, abs=1e-12)
    assert found.hit_rate.value == pytest.approx(inside.mean())


def test_the_total_variance_splits_as_the_law_of_total_variance_says():
    rng = np.random.default_rng(1)
    inside, shape = np.arange(800) < 600, (800, 40)  # pairs of draws are many, rows are cheap
    scores = np.where(inside[:, None], rng.normal(0.3, 0.1, shape), rng.normal(0.8, 0.2, shape))
    parts = disagreement_decomposition(
        scores, measure="score_variance", inside=inside
    ).within_between
    assert parts["inside"] == pytest.approx(0.75 * 0.1**2, rel=0.05)
    assert parts["outside"] == pytest.approx(0.25 * 0.2**2, rel=0.05)
    assert parts["between"] == pytest.approx(0.75 * 0.25 * 0.5**2, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("uniform", [True, False])
def test_leaving_out_a_unit_is_computing_without_it(kind, uniform):
    measure = get_pair_measure(KINDS[kind])
    matrix = pair_means(measure, random_models(kind))
    inside, chains = np.array([True] * 4 + [False] * 3), np.array([0, 1, 2, 0, 1, 2, 0])
    weights = np.where(inside, 1.0, 0.3)

    def mixture(draws, kept):
        models = np.concatenate([draws, 7 + np.flatnonzero(np.isin(chains, kept))])
        layout = Layout.from_hits(
            inside[draws], np.searchsorted(kept, chains[np.isin(chains, kept)])
        )
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
    values = random_models("labels")
    found = disagreement_decomposition(
        values[:4], inside=[True, False, False, False], reference=values[4:], reference_chains=3
    )
    chain = np.concatenate([[9], np.arange(10) % 3])
    models = np.concatenate([values[:1], values[4:]])
    pairs = [(i, j) for i, j in combinations(range(11), 2) if chain[i] != chain[j]]
    expected = np.mean([disagreement(models[list(pair)]) for pair in pairs])
    assert found.width.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_persons_and_groups_average_to_the_whole(kind):
    values, measure = random_models(kind, n=20), KINDS[kind]
    groups = pd.Categorical(["b", "a", "b"] * 3, categories=["a", "b", "nobody"])
    options = {
        "measure": measure,
        "inside": [True, False] * 5,
        "reference": values[10:],
        "reference_chains": 4,
    }
    found = disagreement_decomposition(values[:10], groups=groups, **options)
    persons = decomposition_by_person(values[:10], **options)
    each = found.groups.dropna()
    for name in ("total", "width", "noise"):
        value = getattr(found, name).value
        assert persons[name].mean() == pytest.approx(value, abs=1e-12)
        assert np.average(each[name], weights=each["rows"]) == pytest.approx(value, abs=1e-12)
    assert found.groups["rows"].to_dict() == {"a": 3, "b": 6, "nobody": 0}
    assert found.groups.loc["nobody"].isna().sum() == 12
    alone = disagreement_decomposition(
        values[:10, [1]], **{**options, "reference": values[10:, [1]]}
    )
    assert persons["noise"].iloc[1] == pytest.approx(alone.noise.value, abs=1e-12)


@pytest.fixture(scope="module")
def line():
    """A quadratic loss on a line, whose thresholded law is integrated."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 1))
    return Problem(X, 0.43 * X[:, 0], loss="squared", radius=1.5, row_norm=1.0, intercept=False)


def quadrature(problem, beta, psi):
    """Distribution functions at the cuts of the law and of the uniform one, and the hit rate."""
    theta = np.linspace(-1.5, 1.5, 300_001)
    excess = problem.value(theta[None]) - problem.minimum.value
    densities = np.stack([np.exp(-beta * np.maximum(excess - psi, 0)), excess <= psi])
    total = np.cumsum(densities, axis=1)
    places = np.searchsorted(theta, CUTS, side="right") - 1
    cdf = total[:, places] / total[:, -1:]
    return cdf, float(densities[1].sum() / densities[0].sum())


def truth(cdf):
    """Disagreement of two draws, mean over the cuts."""
    return np.mean(2 * cdf * (1 - cdf), axis=1)


def draws_on_the_line(problem, beta, psi, n_draws, seed, sampler=None):
    target = GibbsTarget(problem, beta=beta, psi=psi)
    rng = np.random.default_rng(seed)
    drawn = collect(sampler or ExactSampler(), target, n_draws, rng)
    inside = drawn.losses <= problem.minimum.value + psi
    return (drawn.coef > CUTS).astype(int), inside, drawn


def test_exact_draws_are_split_as_quadrature_says(line):
    cdf, hit_rate = quadrature(line, beta=150.0, psi=0.01)
    total, width = truth(cdf)
    labels, inside, _ = draws_on_the_line(line, 150.0, 0.01, 600, seed=1)
    chains, _, _ = draws_on_the_line(line, 150.0, 0.01, 320, 2, HitAndRunSampler())
    for options in ({}, {"reference": chains, "reference_chains": 32}):
        found = disagreement_decomposition(labels, inside=inside, confidence=0.999, **options)
        expected = {
            "total": total,
            "width": width,
            "noise": total - width,
            "share_of_noise": 1 - width / total,
            "hit_rate": hit_rate,
        }
        assert 0.2 < expected["share_of_noise"] < 0.8
        for name, value in expected.items():
            estimate = getattr(found, name)
            assert estimate.low < value < estimate.high, name
            assert estimate.high - estimate.low < 0.6 * max(value, 0.2), name
    assert abs(found.cross_check) < 4


def test_hits_of_another_set_are_caught_by_the_reference(line):
    labels, _, drawn = draws_on_the_line(line, 150.0, 0.01, 600, seed=1)
    chains, _, _ = draws_on_the_line(line, 150.0, 0.01, 320, 2, HitAndRunSampler())
    beyond = drawn.losses <= line.minimum.value + 3 * 0.01
    found = disagreement_decomposition(labels, inside=beyond, reference=chains, reference_chains=32)
    assert found.cross_check > 4
    assert "do not describe the same set" in str(found)


def test_a_cold_law_has_no_noise_and_a_small_set_no_width(line):
    labels, inside, _ = draws_on_the_line(line, 1e5, 0.01, 400, seed=3)
    cold = disagreement_decomposition(labels, inside=inside)
    assert abs(cold.share_of_noise.value) < 0.01
    labels, inside, _ = draws_on_the_line(line, 150.0, 1e-7, 300, seed=4)
    reference, _, _ = draws_on_the_line(line, 150.0, 1e-7, 64, 5, HitAndRunSampler())
    small = disagreement_decomposition(
        labels, inside=inside, reference=reference, reference_chains=32
    )
    assert small.width.value < 0.005
    assert small.share_of_noise.low > 0.9


@pytest.mark.parametrize(("hits", "n_draws"), [(7, 9), (0, 5), (40, 40), (3, 50)])
def test_the_interval_of_a_hit_rate_is_that_of_clopper_and_pearson(hits, n_draws):
    found = hit_interval(hits, n_draws, 0.95)
    exact = binomtest(hits, n_draws).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_a_pair_has_a_miss_unless_both_hit():
    layout = SimpleNamespace(hit=np.ones(10, dtype=bool), drawn=np.ones(10, dtype=bool))
    assert estimates._pairs_with_a_miss(layout, 0.9, 0.95) == pytest.approx(1 - 0.9**2)


def test_with_few_misses_two_statements_share_the_error(monkeypatch):
    levels = []
    pairs = estimates._pairs_with_a_miss
    monkeypatch.setattr(
        estimates,
        "_pairs_with_a_miss",
        lambda *options: (levels.append(options[-1]), pairs(*options))[1],
    )
    labels = random_models("labels", n=20)
    disagreement_decomposition(labels, inside=[True] * 19 + [False], confidence=0.9)
    assert levels and set(levels) == {0.95}


def test_without_a_miss_the_interval_holds_what_the_hit_rate_leaves_open():
    values = random_models("labels", n=40)
    found = disagreement_decomposition(values, inside=np.ones(40, dtype=bool))
    assert found.noise.value == 0
    pairs = 1 - hit_interval(40, 40, 0.975).low ** 2
    assert 0 < found.noise.high <= pairs
    assert -pairs <= found.noise.low < 0
    assert found.total.high > found.width.value + found.noise.high
    assert found.parts["value"].isna().tolist() == [False, True, True]
    assert found.within_between.tolist() == [found.total.value, 0, 0]
    numbers = disagreement_decomposition(10 * values, measure="score_variance", inside=[True] * 40)
    assert numbers.noise.high == np.inf


def test_agreement_has_nothing_to_split():
    found = disagreement_decomposition([[1, 0]] * 20, inside=[True] * 10 + [False] * 10)
    assert np.isnan(found.share_of_noise.value)
    assert str(found) == (
        "The draws show no disagreement, so there is nothing to decompose; 50 % of the draws "
        "missed the set."
    )
    persons = decomposition_by_person([[1, 0]] * 20, inside=[True] * 10 + [False] * 10)
    assert set(persons["verdict"]) == {"no disagreement"}


def test_words_say_whose_the_disagreement_is():
    labels = [[place % 5 == 0] for place in range(100)] + [[place % 2 == 0] for place in range(50)]
    told = str(disagreement_decomposition(labels, inside=[True] * 100 + [False] * 50))
    assert told.startswith(
        "76 % of the disagreement among these draws (0.423) is model-set width; 24 % [6, 41]"
    )
    assert "is mechanism noise: 33 % of the draws missed the set. Assumed:" in told
    less = [[place % 2] for place in range(100)] + [[1]] * 50
    told = str(disagreement_decomposition(less, inside=[True] * 100 + [False] * 50))
    assert told.startswith("The disagreement of the model set (0.505) exceeds that of these draws")


def _draw(rng, n_draws, hit_rate):
    """U uniform on [0, 1], Q with exponential tails beyond, both sides alike."""
    inside = rng.random(n_draws) < hit_rate
    away, left = rng.exponential(0.7, n_draws), rng.random(n_draws) < 0.5
    theta = np.where(inside, rng.random(n_draws), np.where(left, -away, 1 + away))
    return (theta[:, None] > CUTS).astype(int), inside


def _truth(hit_rate):
    tail = np.exp(-np.abs(CUTS - np.clip(CUTS, 0, 1)) / 0.7) / 2
    outside = np.where(CUTS < 0, tail, np.where(CUTS > 1, 1 - tail, 0.5))
    uniform = np.clip(CUTS, 0, 1)
    total, width = truth(np.stack([hit_rate * uniform + (1 - hit_rate) * outside, uniform]))
    return {"total": total, "width": width, "noise": total - width, "share": 1 - width / total}


@pytest.mark.law
@pytest.mark.parametrize(
    ("n_draws", "hit_rate", "n_reference"),
    [(60, 0.5, 0), (60, 0.85, 0), (200, 0.9, 0), (100, 0.97, 0), (40, 0.1, 40), (60, 0.8, 50)],
)
def test_intervals_hold_as_often_as_they_say_and_those_of_pairs_do_not(
    n_draws, hit_rate, n_reference
):
    rng, expected, repeats = np.random.default_rng(0), _truth(hit_rate), 600
    held, naive = dict.fromkeys(expected, 0), 0
    for _ in range(repeats):
        labels, inside = _draw(rng, n_draws, hit_rate)
        reference = _draw(rng, n_reference, 1.0)[0] if n_reference else None
        found = disagreement_decomposition(labels, inside=inside, reference=reference)
        estimates = (found.total, found.width, found.noise, found.share_of_noise)
        for estimate, name in zip(estimates, expected, strict=True):
            held[name] += estimate.low <= expected[name] <= estimate.high
        naive += _as_if_pairs_were_independent(labels, expected["total"])
    # 0.92 is 3.4 standard deviations of 600 repeats below 0.95.
    assert all(count / repeats > 0.92 for count in held.values()), held
    assert naive / repeats < 0.7


def _as_if_pairs_were_independent(labels, expected):
    measure = get_pair_measure("disagreement")
    matrix = pair_means(measure, labels)
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    return abs(pairs.mean() - expected) < 1.96 * pairs.std() / np.sqrt(len(pairs))


@pytest.mark.law
def test_verdicts_are_rarely_wrong():
    rng, told, wrong = np.random.default_rng(1), 0, 0
    tail = np.exp(-np.abs(CUTS - np.clip(CUTS, 0, 1)) / 0.7) / 2
    uniform = np.clip(CUTS, 0, 1)
    outside = np.where(CUTS < 0, tail, np.where(CUTS > 1, 1 - tail, 0.5))
    mixed = 0.7 * uniform + 0.3 * outside
    set_s = uniform * (1 - uniform) > mixed * (1 - mixed) / 2
    for _ in range(60):
        labels, inside = _draw(rng, 120, 0.7)
        verdict = decomposition_by_person(labels, inside=inside)["verdict"].to_numpy()
        wrong += ((verdict == "the set") & ~set_s).sum() + (
            (verdict == "the mechanism") & set_s
        ).sum()
        told += np.isin(verdict, ["the set", "the mechanism"]).sum()
    assert told > 0.6 * 60 * len(CUTS)
    assert wrong / (60 * len(CUTS)) < 0.05


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (400, 2)), columns=["age", "debt"], index=range(7, 407))
    y = (4 * X["age"] - 3 * X["debt"] + rng.normal(scale=0.5, size=400) > 0).astype(int)
    settings = {"psi": 0.05, "epsilon": 40.0, "random_state": 0, "mechanism": "exact"}
    settings |= {"radius": 4.0, "ridge": 0.0}

    def fit(**changed):
        return RashomonClassifier(**{**settings, "n_draws": 150, **changed}).fit(X, y).rashomon_set_

    return X, y, fit


def test_a_set_is_split_like_its_arrays(fitted):
    X, _, fit = fitted
    models, reference = fit(), fit(mechanism="hit_and_run", n_draws=128)
    assert 0.05 < 1 - models.hit_rate < 0.95
    inside = models.losses <= models.least + models.psi
    found = disagreement_decomposition(models, X, reference=reference, measure="score_variance")
    arrays = disagreement_decomposition(
        models.scores(X),
        measure="score_variance",
        inside=inside,
        reference=reference.scores(X),
        reference_chains=32,
    )
    assert found.total == arrays.total
    assert found.width == arrays.width
    assert (found.n_draws, found.n_hits, found.n_reference) == (150, inside.sum(), 128)
    assert abs(found.cross_check) < 4
    assert found.guaranteed and not arrays.guaranteed
    assert "Assumed: the draws are assumed independent" in str(arrays)
    assert "Assumed" not in str(found)
    persons = decomposition_by_person(models, X)
    assert list(persons.index) == list(X.index)
    assert persons.attrs["view"].startswith("Curator")
    other = fit(epsilon=4000.0, n_draws=50)
    assert disagreement_decomposition(models, X, reference=other).n_reference == round(
        50 * other.hit_rate
    )


def test_a_regression_has_no_bound_and_grids_split_by_themselves(fitted):
    X, _, fit = fitted
    target = (2 * X["age"]).clip(-1, 1)
    asked = {"psi": 0.05, "epsilon": 40.0, "n_draws": 60, "mechanism": "exact"}
    models = RashomonRegressor(**asked, random_state=0).fit(X, target)
    found = disagreement_decomposition(models.rashomon_set_, X, measure="score_variance")
    assert found.width.value > 0
    with pytest.raises(TypeError, match="labels need a classification set"):
        disagreement_decomposition(models.rashomon_set_, X)
    grid = fit(mechanism="finite_grid", n_draws=60)
    assert disagreement_decomposition(grid, X).width.value > 0
    with pytest.raises(ValueError, match="'hit_and_run' draws from another set of models"):
        disagreement_decomposition(grid, X, reference=fit(mechanism="hit_and_run", n_draws=64))


def test_chains_with_noise_need_a_reference_which_then_is_the_width(fitted):
    X, _, fit = fitted
    reference = fit(mechanism="hit_and_run", n_draws=128)
    drawn = replace(fit(), mechanism="langevin")  # as if the hits were not uniform
    with pytest.raises(ValueError, match=r"not proved to be uniform inside.*hit_and_run"):
        disagreement_decomposition(drawn, X)
    found = disagreement_decomposition(drawn, X, reference=reference)
    own = disagreement_decomposition(fit(), X)
    assert found.total.value == pytest.approx(own.total.value, abs=1e-12)
    assert found.width.value != own.width.value
    assert found.parts["value"].iloc[0] == pytest.approx(own.width.value, abs=1e-12)
    assert found.parts["noise"].sum() == pytest.approx(found.noise.value, abs=1e-12)
    assert found.parts["noise"].iloc[0] != 0


def test_at_psi_0_all_is_the_mechanisms(fitted):
    X, _, fit = fitted
    drawn, best = fit(psi=0.0), fit(psi=0.0, mechanism="hit_and_run", n_draws=64)
    with pytest.raises(ValueError, match="none of the 150 draws is in the Rashomon set"):
        disagreement_decomposition(drawn, X)
    found = disagreement_decomposition(drawn, X, reference=best)
    assert found.width.value == 0
    assert found.share_of_noise.value == 1
    assert found.cross_check is None


def test_weights_lead_to_the_law_at_a_larger_price(line):
    """The same draws, weighted, against quadrature at three times the β; and a control."""
    psi, beta, colder = 0.01, 60.0, 240.0
    labels, inside, drawn = draws_on_the_line(line, beta, psi, 2000, seed=7)
    measure = get_pair_measure("disagreement")
    units = Units.from_matrix(
        pair_means(measure, labels), Layout.from_hits(inside, np.zeros(0, int))
    )
    energy = np.maximum(drawn.losses - line.minimum.value - psi, 0)
    expected = truth(quadrature(line, colder, psi)[0])[0]

    def apart(change):
        weighted = units.reweighted(np.exp(-change * energy))
        total = Mixture.from_units(weighted, uniform=True).total
        return abs(total[0] - expected) / np.sqrt(variance(total[1:]))

    assert apart(colder - beta) < 3.5
    assert apart(0.0) > 5
    assert apart(2 * (colder - beta)) > 3.5


def test_prices_start_at_the_one_paid_and_end_at_the_width(fitted):
    X, _, fit = fitted
    models = fit()
    table = noise_by_budget(models, X, [40.0, 80.0, np.inf])
    found = disagreement_decomposition(models, X)
    first, last = table.iloc[0], table.iloc[-1]
    assert first["beta"] == pytest.approx(models.plan.beta)
    for name in ("total", "width", "noise", "share_of_noise"):
        assert first[name] == pytest.approx(getattr(found, name).value, abs=1e-9)
        assert first[f"{name}_low"] == pytest.approx(getattr(found, name).low, abs=1e-9)
    assert (last["noise"], last["hit_rate"]) == (0, 1)
    assert last["noise_high"] == 0
    assert last["draws"] == pytest.approx(found.n_hits)
    eta = affordable_eta(80.0, models.plan.delta, 150, ledger=models.plan.ledger)
    assert table["beta"].iloc[1] == pytest.approx(eta / models.plan.oscillation)
    assert fit(epsilon=80.0).plan.beta == pytest.approx(table["beta"].iloc[1])
    assert table["hit_rate"].is_monotonic_increasing


@pytest.mark.law
def test_draws_of_a_small_budget_foretell_those_of_a_larger_one(fitted):
    X, _, fit = fitted
    told = noise_by_budget(fit(n_draws=400), X, 160.0, confidence=0.999).iloc[0]
    seen = disagreement_decomposition(
        fit(n_draws=400, epsilon=160.0, random_state=5), X, confidence=0.999
    )
    for name in ("total", "noise"):
        assert told[f"{name}_low"] < getattr(seen, name).high
        assert getattr(seen, name).low < told[f"{name}_high"]


LABELS = [[0, 1], [1, 1], [0, 0], [1, 0]]
SPLIT = partial(disagreement_decomposition, LABELS)
MASK = [True, True, True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SPLIT(), "inside must be True or False for each of the 4 draws"),
        (lambda: SPLIT(inside=[1, 1, 1, 0]), "inside must be True or False"),
        (lambda: SPLIT(inside=[True]), "inside must be True or False for each of the 4"),
        (
            lambda: SPLIT(inside=[False] * 4),
            "none of the 4 draws is in the Rashomon set.*reference=",
        ),
        (
            lambda: SPLIT(inside=[True] + [False] * 3),
            "only one of the 4 draws is.*raise epsilon or psi",
        ),
        (
            lambda: disagreement_decomposition([[0, 1]], inside=[True]),
            "models must be at least 2 draws",
        ),
        (
            lambda: disagreement_decomposition([], inside=[]),
            r"models must be a RashomonSet or labels of shape",
        ),
        (lambda: SPLIT([[0]], inside=MASK), "X is only for sets"),
        (lambda: SPLIT(inside=MASK, confidence=1.5), r"confidence must be in \(0, 1\), got 1.5"),
        (
            lambda: SPLIT(inside=MASK, measure="ambiguity"),
            "measure must be one of.*got 'ambiguity'",
        ),
        (lambda: SPLIT(inside=MASK, reference=[[0]]), "reference must be for the same rows"),
        (
            lambda: SPLIT(inside=MASK, reference=LABELS, reference_chains=1),
            "reference_chains must be from 2 to the 4 reference models, got 1",
        ),
        (lambda: SPLIT(inside=MASK, groups=["a"]), "groups must hold one group for each of 2 rows"),
        (
            lambda: disagreement_decomposition(
                [[0.1, np.nan]] * 3, inside=[True] * 3, measure="score_variance"
            ),
            "scores holds NaN or infinity for model 0, row 1",
        ),
        (
            lambda: disagreement_decomposition([[[0.1, 0.9]]] * 3, inside=[True] * 3),
            r"use scores.argmax\(axis=2\)",
        ),
    ],
)
def test_bad_arrays_are_refused_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sets_that_cannot_answer_are_refused(fitted):
    X, y, fit = fitted
    models = fit()
    for split in (
        disagreement_decomposition,
        decomposition_by_person,
        partial(noise_by_budget, epsilon=50),
    ):
        with pytest.raises(CuratorOnlyError, match="not available for a release"):
            split(models.release(), X)
    others = from_predictions([[0.9, 0.2], [0.8, 0.6]], [1, 0], psi=0.5)
    cases = [
        (lambda: disagreement_decomposition(models), "X is required"),
        (
            lambda: disagreement_decomposition(models, X, inside=[True] * 150),
            "inside is for arrays",
        ),
        (
            lambda: disagreement_decomposition(models.inside(), X),
            "must be all draws of a fit.*inside",
        ),
        (lambda: disagreement_decomposition(others), "independent draws of one of the samplers"),
        (lambda: disagreement_decomposition(fit(mechanism="mala", n_draws=64), X), "got 'mala'"),
        (
            lambda: disagreement_decomposition(models, X, reference=others),
            "reference must be a RashomonSet",
        ),
        (
            lambda: disagreement_decomposition(models, X, reference=fit(psi=0.04)),
            "same Rashomon set: its psi is 0.04",
        ),
        (lambda: noise_by_budget(models, X, 39.0), "at least 40, the privacy cost of the draws"),
        (
            lambda: noise_by_budget(fit(mechanism="finite_grid", n_draws=9), X, 50.0),
            "mechanism='exact'.*got 'finite_grid'",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    flipped = RashomonClassifier(psi=0.05, epsilon=40.0, mechanism="exact", random_state=0).fit(
        X, 1 - y.where(X["age"] < 0.4, 0)
    )
    with pytest.raises(ValueError, match="its least is"):
        disagreement_decomposition(models, X, reference=flipped.rashomon_set_)


SETTINGS = {
    "radius": (
        {"radius": 3.0},
        r"its radius is 3, the draws' 4.*Fit the reference with radius=4.0",
    ),
    "the sampler's own radius": ({"radius": "auto"}, "its radius is 55.4256, the draws' 4"),
    "ridge": ({"ridge": 0.025}, "its ridge is 0.025, the draws' 0.*ridge=0.0"),
    "row_norm": ({"row_norm": 2.0}, "its row_norm is 2, the draws' 1.*row_norm=1.0"),
    "two of them": (
        {"radius": 3.0, "ridge": 0.1},
        "its radius is 3.*; its ridge is 0.1.*with radius=4.0, ridge=0.0",
    ),
    "psi": ({"psi": 0.01}, "its psi is 0.01, the draws' 0.05.*psi=0.05"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_the_setting_in_which_a_reference_differs_is_named(fitted, case):
    X, _, fit = fitted
    changed, message = SETTINGS[case]
    reference = fit(mechanism="hit_and_run", n_draws=64, **changed)
    with pytest.raises(ValueError, match=f"same Rashomon set: {message}"):
        disagreement_decomposition(fit(), X, reference=reference)


@pytest.mark.parametrize(("apart", "same"), [(1e-10, True), (1e-8, False)])
def test_of_the_least_loss_only_rounding_may_differ(apart, same):
    own = SimpleNamespace(task="classification", psi=0.05, least=0.3)
    other = SimpleNamespace(task="classification", psi=0.05, least=0.3 * (1 + apart))
    with nullcontext() if same else pytest.raises(ValueError, match="its least is"):
        check_same_set(own, other)


def test_released_scales_of_a_reference_are_compared(fitted):
    _, _, fit = fitted
    models = fit()
    one, other = (ColumnMap(np.zeros(2), np.full(2, spread), 1.0) for spread in (1.0, 1.5))
    check_same_set(replace(models, scale=one), replace(models, scale=one))
    for scale in (other, None):
        with pytest.raises(ValueError, match=r"its scale is .*Draw both with standardize=None"):
            check_same_set(replace(models, scale=one), replace(models, scale=scale))


def test_other_rows_and_columns_of_a_reference_are_named(fitted):
    X, y, fit = fitted
    asked = {"psi": 0.05, "mechanism": "hit_and_run", "radius": 4.0, "n_draws": 64}
    reference = RashomonClassifier(**asked, random_state=0)
    other = reference.fit(X.iloc[:-1], y.iloc[:-1]).rashomon_set_
    with pytest.raises(
        ValueError, match=r"its n is 399, the draws' 400.*Fit the reference to the r"
    ):
        disagreement_decomposition(fit(), X, reference=other)
    turned = reference.fit(X[["debt", "age"]], y).rashomon_set_
    with pytest.raises(ValueError, match=r"its columns are \('debt', 'age'\)"):
        disagreement_decomposition(fit(), X, reference=turned)
    swapped = reference.fit(X, 1 - y.where(X["age"] < 0.4, 0)).rashomon_set_
    with pytest.raises(ValueError, match=r"its least is .*No setting differs"):
        disagreement_decomposition(fit(), X, reference=swapped)
    unnamed = reference.fit(X.to_numpy(), y).rashomon_set_
    assert disagreement_decomposition(fit(), X, reference=unnamed).n_reference == 64


@pytest.mark.parametrize("n_draws", [2, 20])
def test_a_reference_of_fewer_draws_than_chains_is_one_state_a_chain(fitted, n_draws):
    X, _, fit = fitted
    reference = fit(mechanism="hit_and_run", n_draws=n_draws)
    found = disagreement_decomposition(fit(), X, reference=reference)
    explicit = disagreement_decomposition(fit(), X, reference=reference, reference_chains=n_draws)
    assert (found.width.value, found.width.high) == (explicit.width.value, explicit.width.high)
