"""What a report is made of: its sample of people, its problem, and who may read its file."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.report import material, report
from rashomon_explorer.rows import chunk_rows

RNG = np.random.default_rng(8)
X = RNG.uniform(-0.6, 0.6, (300, 2))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def models():
    return RashomonClassifier(epsilon=50.0, n_draws=4, random_state=0).fit(X, Y).rashomon_set_


def test_targets_and_groups_of_a_sample_are_those_of_its_rows(models, monkeypatch):
    monkeypatch.setattr(material, "PEOPLE", 50)
    groups = np.where(X[:, 1] > 0, "up", "down")
    rows = replace(chunk_rows(X, Y), rows=64)
    people = material.curator_material(models, rows, None, groups, None).people
    assert people.X.shape == (50, 2)
    assert people.y.tolist() == (people.X[:, 0] > 0).astype(int).tolist()
    assert people.groups.tolist() == np.where(people.X[:, 1] > 0, "up", "down").tolist()


@pytest.mark.parametrize("away", [0.0, 5e-3])
def test_a_problem_with_another_least_loss_is_refused(away):
    problem = Problem(X, np.where(Y, 1.0, -1.0), radius=2.0)
    found = problem.minimum
    drawn = SimpleNamespace(minimum=SimpleNamespace(value=found.value + away, gap=found.gap))
    if away:
        with pytest.raises(ValueError, match=r"differs from that of the draws by 0\.005"):
            material._check_problem(drawn, problem)
    else:
        material._check_problem(drawn, problem)


def test_only_its_owner_reads_a_curators_report(models, tmp_path):
    own = report(models, tmp_path / "own.html", X, Y, interactive=False)
    released = report(models.release(), tmp_path / "public.html", interactive=False)
    assert own.stat().st_mode & 0o077 == 0 != released.stat().st_mode & 0o044
