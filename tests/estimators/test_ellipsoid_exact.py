"""``mechanism="ellipsoid_exact"`` from a table to a release: both stages paid, one ledger entry."""

from pathlib import Path

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.measures.ranges import released_ranges
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import EllipsoidExactPlan
from rashomon_explorer.mechanisms.planning.select import select
from rashomon_explorer.report import curator_report, release_report
from rashomon_explorer.sets import RashomonSet, ReleasedSet

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (6_000, 3))
SCORE = X @ [2.0, -1.0, 0.0]
Y = (SCORE + 0.3 * RNG.standard_normal(6_000) > 0).astype(int)
SETTINGS = {
    "mechanism": "ellipsoid_exact",
    "psi": 0.05,
    "ridge": 0.05,
    "radius": 4.0,
    "n_draws": 20,
}


@pytest.fixture(scope="module")
def fitted():
    return RashomonClassifier(**SETTINGS, random_state=0).fit(X, Y)


def test_a_fit_draws_what_its_plan_says(fitted) -> None:
    models = fitted.rashomon_set_
    assert isinstance(fitted.plan_, EllipsoidExactPlan) and models.coef.shape == (20, 4)
    assert 0.99 < fitted.guarantee_.epsilon(1e-6) <= 1.0
    assert any("did not give up" in one for one in fitted.guarantee_.assumptions)
    assert models.hit_rate > 0.9 and models.mechanism == "ellipsoid_exact"
    assert models.ellipsoid.height(models.coef.T).max() <= models.ellipsoid.level * 1.001


def test_a_regressor_draws_too() -> None:
    reg = RashomonRegressor(**SETTINGS).fit(X, np.clip(SCORE, -1, 1))
    assert reg.rashomon_set_.hit_rate > 0.9


def test_a_ledger_is_charged_for_both_stages_at_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "table.ledger", epsilon=1.0, delta=1e-6)
    RashomonClassifier(**SETTINGS, classes=[0, 1], ledger=ledger).fit(X, Y)
    (entry,) = ledger.entries()
    assert 0.99 < ledger.spent() <= 1.0
    assert entry.parameters["sampler"] == "ellipsoid_exact" and entry.parameters["beta"] > 0


def test_copies_and_reports_hold_plan_and_ellipsoid(fitted, tmp_path: Path) -> None:
    models = fitted.rashomon_set_
    models.save(tmp_path / "set.npz")
    models.release().save(tmp_path / "release.npz")
    copies = RashomonSet.load(tmp_path / "set.npz"), ReleasedSet.load(tmp_path / "release.npz")
    for copy in copies:
        assert copy.plan == models.plan
        wanted = released_ranges(models)
        assert released_ranges(copy).equals(wanted)
    curator_report(models, tmp_path / "own.html")
    release_report(models.release(), tmp_path / "public.html")
    told = (tmp_path / "public.html").read_text(encoding="utf-8")
    assert "exactly the thresholded law" in told and "never drawn" in told
    assert "cost no more" not in told


def test_it_is_weighed_and_not_taken_before_a_way_that_always_answers() -> None:
    rows = {"n": 48_842, "p": 92, "psi": 0.02, "loss": "logistic", "ridge": 0.003}
    budget = {"radius": 8.0, "row_norm": 2**0.5, "epsilon": 1.0, "delta": 1e-6}
    bought = select(**rows, **budget, n_draws=20)
    names = [offer.name for offer in bought.options]
    assert bought.mechanism == "ellipsoid"
    assert names.index("ellipsoid") < names.index("ellipsoid_exact")
