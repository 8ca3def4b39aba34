"""Exact ranges of many people: the same digits whoever works, and those of one whole search."""

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config

from rashomon_explorer.exceptions import ClusterError
from rashomon_explorer.measures import exact_ambiguity, exact_flips, exact_score_ranges
from rashomon_explorer.measures.ranges.brackets import brackets
from rashomon_explorer.measures.ranges.exact import score_directions
from rashomon_explorer.problem.problem import Problem

PSI, PEOPLE = 0.02, 700  # more directions than one part has


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X @ [2.0, -1.0] + rng.normal(size=80) > 0, 1.0, -1.0)
    return Problem(X / 4, y, ridge=0.01)


@pytest.fixture(scope="module")
def people():
    return np.random.default_rng(1).normal(size=(PEOPLE, 2)) / 4


def test_the_parts_are_those_of_one_search(problem, people):
    directions, _ = score_directions(problem, people)
    whole = brackets(problem, PSI, np.vstack([directions, -directions]).T, 1e-6)
    table = exact_score_ranges(problem, PSI, people)
    best = directions @ problem.minimum.theta
    ends = np.concatenate([table["high_outer"] - best, best - table["low_outer"]])
    np.testing.assert_allclose(ends, whole.outer, rtol=1e-9)
    assert (table["high"] <= table["high_outer"]).all() and len(table) == PEOPLE


def test_nobody_sees_who_worked(problem, people):
    alone = exact_score_ranges(problem, PSI, people)
    flips = exact_flips(problem, PSI, people)
    assert 0 < flips["flips"].mean() < 1
    with ThreadPoolExecutor(2) as pool:
        assert exact_score_ranges(problem, PSI, people, executor=pool).equals(alone)
        assert exact_flips(problem, PSI, people, executor=pool).equals(flips)
        told = exact_ambiguity(problem, PSI, people, executor=pool)
    assert told == exact_ambiguity(problem, PSI, people, n_jobs=1)
    assert told.lower == flips["flips"].mean()


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.law)])
def test_workers_of_joblib_return_the_same_digits(problem, people, backend):
    alone = exact_score_ranges(problem, PSI, people)
    with parallel_config(backend=backend):
        assert exact_score_ranges(problem, PSI, people, n_jobs=2).equals(alone)


def test_a_lost_worker_is_said_in_words(problem, people):
    class Broken(ThreadPoolExecutor):
        def submit(self, *_, **__):
            from concurrent.futures.process import BrokenProcessPool

            future = Future()
            future.set_exception(BrokenProcessPool("a process died"))
            return future

    with Broken(1) as pool, pytest.raises(ClusterError, match="nothing was charged"):
        exact_flips(problem, PSI, people, executor=pool)
    with pytest.raises(TypeError, match="not both"), ThreadPoolExecutor(1) as pool:
        exact_flips(problem, PSI, people, n_jobs=2, executor=pool)
