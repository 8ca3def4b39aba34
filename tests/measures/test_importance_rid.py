"""The Rashomon importance distribution: its arithmetic, and the resampling around it."""

import numpy as np
import pytest

from rashomon_explorer.measures import importance_distribution, rid
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.trees import CountedTrees
from tests.trees.listed import errors_of, leaves_of, says, some_rows, whole_class

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (80, 2))
Y = np.where(X[:, 0] + 0.2 * RNG.standard_normal(80) > 0, 1.0, -1.0)


def test_one_bootstrap_is_the_plain_distribution_function():
    values, grid = RNG.normal(size=(50, 2)).round(1), np.linspace(-3, 3, 61)
    found = importance_distribution([values], ["a", "b"])
    expected = (values[None] <= grid[:, None, None]).mean(axis=1)
    np.testing.assert_allclose(found.cdf(grid), expected)
    np.testing.assert_allclose(found.mean(), values.mean(axis=0))
    inverse = np.quantile(values, 0.3, axis=0, method="inverted_cdf")
    np.testing.assert_allclose(found.quantile(0.3), inverse)


def test_every_bootstrap_weighs_the_same():
    found = importance_distribution([[[0.0]], [[1.0]] * 9], ["a"])
    assert found.cdf([0.0, 0.5, 1.0])["a"].tolist() == [0.5, 0.5, 1.0]
    assert found.mean()["a"] == pytest.approx(0.5)
    assert (found.quantile(0.5)["a"], found.quantile(0.51)["a"]) == (0.0, 1.0)
    assert list(found.table().columns) == ["mean", "q05", "q25", "median", "q75", "q95"]


def test_the_distribution_is_the_same_for_any_number_of_threads_and_wider_than_one_table():
    settings = {"psi": 0.02, "n_models": 20}
    one, two, other, alone = (
        rid(Problem, X, Y, n_bootstraps=n, random_state=seed, n_jobs=jobs, **settings)
        for n, seed, jobs in ((4, 5, 1), (4, 5, 2), (4, 6, 1), (1, 5, 1))
    )
    assert one.n_bootstraps == 4
    for first, second in zip(one.samples, two.samples, strict=True):
        assert np.array_equal(first, second)
    assert not np.array_equal(one.samples[0][:5], other.samples[0][:5])
    width = [found.quantile(0.95)["x0"] - found.quantile(0.05)["x0"] for found in (one, alone)]
    assert width[0] > width[1]


def test_draws_lie_in_the_set_of_their_own_bootstrap():
    """Reliance is measured on the resampled rows, and only over draws inside."""
    problems = []

    def remembered(rows, y):
        problems.append(Problem(rows, y, loss="squared"))
        return problems[-1]

    settings = {"n_bootstraps": 2, "n_models": 40, "sampler": ExactSampler(), "random_state": 0}
    found = rid(remembered, X, Y, psi=0.01, **settings)
    assert [len(sample) for sample in found.samples] != [40, 40]  # exact draws also leave the set
    rows, counts = np.unique(problems[0].rows, axis=0, return_counts=True)
    assert len(rows) < 80 and counts.max() > 1
    assert found.features == ("x0", "x1") and found.mean()["x0"] > found.mean()["x1"]


def test_of_trees_it_is_that_of_every_tree_written_out():
    """Of each resampled table all trees within ψ, and their reliance over all pairs of its rows."""
    X, y = some_rows(4, n=20)
    trees, psi, n_models, tables = whole_class(3, 3), 0.06, 1_000, []

    def counted(rows, labels):
        tables.append((rows.astype(int), labels))
        return CountedTrees(rows, labels, max_leaves=3, leaf_penalty=0.01, classes=[0, 1])

    settings = {"psi": psi, "n_bootstraps": 2, "n_models": n_models, "random_state": 2}
    found = rid(counted, X, y, **settings)
    expected = [reliances(trees, *table, psi) for table in tables]
    assert len({len(one) for one in expected}) > 1  # each table has a set of its own
    grid = np.unique(np.concatenate(expected).round(9)) + 1e-9

    def distribution(one):
        return (one[:, None] <= grid[:, None]).mean(axis=0)

    shares = np.mean([distribution(one) for one in expected], axis=0)
    apart = np.abs(found.cdf(grid).to_numpy() - shares).max()
    assert apart < np.sqrt(np.log(6 * 2 / 1e-6) / (2 * n_models))  # Massart's bound, of each
    # The control: trees of the table itself are others.
    alone = np.abs(found.cdf(grid).to_numpy() - distribution(reliances(trees, X, y, psi)))
    assert alone.max() > 3 * apart
    with pytest.raises(ValueError, match="sampler is for linear models"):
        rid(counted, X, y, sampler=ExactSampler(), **settings)


def reliances(trees, X, y, psi):
    """Reliance of each tree within ψ on each column, over all pairs of different rows."""
    n, losses = len(X), [errors_of(tree, X, y) / len(X) + 0.01 * leaves_of(tree) for tree in trees]
    inside = [tree for tree, loss in zip(trees, losses, strict=True) if loss <= min(losses) + psi]
    others = X.sum(axis=0) - X  # ones of the column in the other rows
    found = []
    for tree in inside:
        switched = np.zeros(X.shape[1])
        for j, value in np.ndindex(X.shape[1], 2):
            rows = X.copy()
            rows[:, j] = value
            wrong = np.array([says(tree, row) for row in rows]) != y
            switched[j] += (wrong * (others[:, j] if value else n - 1 - others[:, j])).sum()
        found.append(switched / (n * (n - 1)) - errors_of(tree, X, y) / n)
    return np.array(found)
