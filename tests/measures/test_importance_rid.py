"""The Rashomon importance distribution: its arithmetic, and the resampling around it."""

from typing import Any

import numpy as np
import pytest

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures import importance_distribution, rid
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.trees import CountedTrees
from tests.trees.listed import errors_of, leaves_of, says, some_rows, whole_class

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (80, 2))
Y = np.where(X[:, 0] + 0.2 * RNG.standard_normal(80) > 0, 1.0, -1.0)


def test_one_bootstrap_is_the_plain_distribution_function() -> None:
    values = RNG.normal(size=(50, 2)).round(1)
    found = importance_distribution([values], ["a", "b"])
    grid = np.linspace(-3, 3, 61)
    for column, name in enumerate("ab"):
        expected = [(values[:, column] <= k).mean() for k in grid]
        assert found.cdf(grid)[name].to_numpy() == pytest.approx(expected)
    assert found.mean().to_numpy() == pytest.approx(values.mean(axis=0))
    inverse = np.quantile(values, 0.3, axis=0, method="inverted_cdf")
    assert found.quantile(0.3).to_numpy() == pytest.approx(inverse)


def test_every_bootstrap_weighs_the_same() -> None:
    few, many = [[0.0]], [[1.0]] * 9
    found = importance_distribution([few, many], ["a"])
    assert found.cdf([0.0, 0.5, 1.0])["a"].tolist() == [0.5, 0.5, 1.0]
    assert found.mean()["a"] == pytest.approx(0.5)
    assert found.quantile(0.5)["a"] == 0.0
    assert found.quantile(0.51)["a"] == 1.0
    assert list(found.table().columns) == ["mean", "q05", "q25", "median", "q75", "q95"]


def test_the_distribution_is_the_same_for_any_number_of_threads() -> None:
    one, two = (
        rid(Problem, X, Y, psi=0.02, n_bootstraps=3, n_models=20, random_state=5, n_jobs=jobs)
        for jobs in (1, 2)
    )
    assert one.n_bootstraps == 3
    for first, second in zip(one.samples, two.samples, strict=True):
        assert np.array_equal(first, second)
    other = rid(Problem, X, Y, psi=0.02, n_bootstraps=3, n_models=20, random_state=6)
    assert not np.array_equal(one.samples[0][:5], other.samples[0][:5])


def test_draws_lie_in_the_set_of_their_own_bootstrap() -> None:
    """Reliance is measured on the resampled rows, and only over draws inside."""
    seen: list[Problem] = []

    def remembered(rows: Any, y: Any) -> Problem:
        seen.append(Problem(rows, y, loss="squared"))
        return seen[-1]

    sampler = ExactSampler()
    found = rid(
        remembered, X, Y, psi=0.01, n_bootstraps=2, n_models=40, sampler=sampler, random_state=0
    )
    assert [len(sample) for sample in found.samples] != [40, 40]  # exact draws also leave the set
    rows, counts = np.unique(seen[0].rows, axis=0, return_counts=True)
    assert len(rows) < 80
    assert counts.max() > 1
    assert found.features == ("x0", "x1")
    assert found.mean()["x0"] > found.mean()["x1"]


def test_it_covers_the_truth_more_widely_than_one_table() -> None:
    wide = rid(Problem, X, Y, psi=0.01, n_bootstraps=6, n_models=32, random_state=1)
    alone = rid(Problem, X, Y, psi=0.01, n_bootstraps=1, n_models=32, random_state=1)
    width = [one.quantile(0.95)["x0"] - one.quantile(0.05)["x0"] for one in (wide, alone)]
    assert width[0] > width[1]


def test_of_trees_it_is_that_of_every_tree_written_out() -> None:
    """Of each resampled table all trees within ψ, and their reliance over all pairs of its rows."""
    X, y = some_rows(4, n=24)
    trees, psi, n_models = whole_class(3, 3), 0.06, 2_000
    seen: list[tuple[Any, Any]] = []

    def counted(rows: Any, labels: Any) -> CountedTrees:
        seen.append((rows.astype(int), labels))
        return CountedTrees(rows, labels, max_leaves=3, leaf_penalty=0.01, classes=[0, 1])

    asked = {"psi": psi, "n_bootstraps": 3, "n_models": n_models, "random_state": 2}
    found = rid(counted, X, y, **asked)
    wanted = [_reliances(trees, rows, labels, psi) for rows, labels in seen]
    assert len({len(one) for one in wanted}) > 1  # each table has a set of its own
    grid = np.unique(np.concatenate(wanted).round(9))
    shares = np.mean(
        [(one[:, None] <= grid[:, None] + 1e-9).mean(axis=0) for one in wanted], axis=0
    )
    apart = np.abs(found.cdf(grid + 1e-9).to_numpy() - shares).max()
    assert apart < np.sqrt(np.log(6 * 2 / 1e-6) / (2 * n_models))  # Massart's bound, of each
    # The control: trees of the table itself are others.
    alone = _reliances(trees, X, y, psi)
    share = (alone[:, None] <= grid[:, None] + 1e-9).mean(axis=0)
    assert np.abs(found.cdf(grid + 1e-9).to_numpy() - share).max() > 3 * apart
    with pytest.raises(ValueError, match="sampler is for linear models"):
        rid(counted, X, y, sampler=ExactSampler(), **asked)


def _reliances(trees: list[Any], X: Any, y: Any, psi: float) -> FloatArray:
    n, found = len(X), []
    losses = [errors_of(tree, X, y) / n + 0.01 * leaves_of(tree) for tree in trees]
    for tree, loss in zip(trees, losses, strict=True):
        if loss > min(losses) + psi:
            continue
        before = errors_of(tree, X, y) / n
        found.append([_switched(tree, X, y, j) - before for j in range(X.shape[1])])
    return np.array(found)


def _switched(tree: Any, X: Any, y: Any, column: int) -> float:
    """Mean over all pairs of different rows, the column from the other one."""
    wrong = {}
    for value in (0, 1):
        given = X.copy()
        given[:, column] = value
        wrong[value] = np.array([says(tree, row) for row in given]) != y
    others = X[:, column].sum() - X[:, column], (1 - X[:, column]).sum() - (1 - X[:, column])
    return float((others[0] * wrong[1] + others[1] * wrong[0]).sum() / (len(X) * (len(X) - 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_bootstraps": 0}, "n_bootstraps must be a whole number, at least 1, got 0"),
        ({"n_models": 0}, "n_models must be a whole number, at least 1, got 0"),
        ({"psi": 0.0}, "psi must be finite and > 0, got 0.0"),
        ({"features": ["age"]}, "unknown feature 'age'"),
        ({"form": "gap"}, "form must be one of"),
        ({"X": X[:1], "y": Y[:1]}, "at least two rows"),
    ],
)
def test_what_cannot_be_resampled_is_refused(change: dict[str, Any], message: str) -> None:
    given = {"X": X, "y": Y, "psi": 0.01, "n_bootstraps": 1, "n_models": 2, **change}
    with pytest.raises(ValueError, match=message):
        rid(Problem, **given)


def test_a_distribution_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one bootstrap"):
        importance_distribution([], ["a"])
    with pytest.raises(ValueError, match=r"importances\[0\] has 2 columns for 1 features"):
        importance_distribution([[[0.1, 0.2]]], ["a"])
    with pytest.raises(ValueError, match=r"importances\[1\] holds NaN"):
        importance_distribution([[[0.1]], [[np.nan]]], ["a"])
    with pytest.raises(ValueError, match=r"level must lie in \(0, 1\], got 0"):
        importance_distribution([[[0.1]]], ["a"]).quantile(0)
