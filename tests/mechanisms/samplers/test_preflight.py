"""Exact draws foretold from simulated rows: by public numbers, the same for everybody."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from rashomon_explorer import DPClassifier, Ledger, PrivateSearch, RashomonClassifier
from rashomon_explorer.estimators import feasibility as beforehand
from rashomon_explorer.exceptions import (
    HopelessDrawWarning,
    SamplerError,
    SlowDrawWarning,
    WeakGuaranteeWarning,
)
from rashomon_explorer.mechanisms import plan, plan_path
from rashomon_explorer.mechanisms.plans import unplanned
from rashomon_explorer.mechanisms.simulation import feasibility
from rashomon_explorer.mechanisms.simulation import tables as simulated_tables
from rashomon_explorer.mechanisms.simulation.feasibility import is_infeasible, preflight
from rashomon_explorer.privacy import pure

pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
ROWS = {"radius": 4.0, "row_norm": 2**0.5, "epsilon": 4.0, "delta": 1e-6}


def _plan(n, p, psi=0.02, **settings):
    return plan(n, p, psi, **{**ROWS, **settings})


def foretold(monkeypatch, **changed):
    """Let every trial find this, and suggestions be short."""
    found = replace(preflight(_plan(500, 18)), **changed)
    monkeypatch.setattr(feasibility, "preflight", lambda planned, **_: found)
    monkeypatch.setattr(feasibility, "_tried_on", lambda *_: found)
    monkeypatch.setattr(feasibility, "feasibility_suggestions", lambda planned: "Do this.")


@pytest.mark.slow
def test_small_problems_are_likely_and_hopeless_ones_are_not():
    for loss, p in (("logistic", 11), ("squared", 2)):
        assert preflight(_plan(10_000, p, loss=loss)).likely
    found = preflight(_plan(100_000, 151, radius=8.0))
    assert not found.likely and "exact draws failed" in found.in_words
    assert feasibility.feasibility_suggestions(_plan(10_000, 2, loss="squared")) == ""
    assert "about one in 10^23 proposals" in replace(found, accepted=1e-23, proposed=1).in_words
    assert preflight(plan_path(5_000, 11, 0.02, **ROWS)) is None
    assert preflight(unplanned((5, 11), 0.02, "logistic", pure(1.0))) is None


@pytest.mark.law
def test_a_change_that_is_named_helps():
    suggested = feasibility.feasibility_suggestions(_plan(100_000, 151, radius=8.0))
    radius = float(suggested.split("radius = ")[1].split()[0].rstrip(","))
    assert preflight(_plan(100_000, 151, radius=radius)).likely


def test_the_prediction_is_a_function_of_public_numbers_alone():
    planned = _plan(10_000, 11)
    first = preflight(planned)
    feasibility._tried_on.cache_clear()
    again = preflight(planned)
    assert (first.proposed, first.accepted) == (again.proposed, again.accepted)


def test_the_simulated_rows_are_within_the_declared_bounds_and_levels_depend_on_each_other():
    for loss, columns in product(("logistic", "squared"), simulated_tables.KINDS):
        law = _plan(500, 6, loss=loss).law
        problem = simulated_tables.simulated(law, columns)
        assert np.linalg.norm(problem.rows, axis=1).max() <= law.row_norm * (1 + 1e-9)
        assert problem.clipped_share == 0
        known = law.constants.charged_oscillation
        assert problem.constants.charged_oscillation == pytest.approx(known, rel=1e-6)
    rows = simulated_tables.categories(500, 13, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    assert np.linalg.matrix_rank(np.column_stack([rows, np.ones(500)])) == 14 - 2
    short = simulated_tables.short_categories(500, 13, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(short, axis=1), 0.5)


def test_the_worst_table_counts():
    """Nobody pays unasked for what would come on the kind tables alone."""
    settings = {"mechanism": "unthresholded", "psi": 0.0, "epsilon": 4.0, "delta": 0.0}
    clf = RashomonClassifier(n_draws=1, row_norm=2.0, radius=16.0, **settings)
    planned = clf.plan(5_000, 12)
    law = planned.law
    kind = feasibility._tried_on(law, float(planned.beta), simulated_tables.signs)
    assert kind.sure and not preflight(planned).sure


COLD = {"psi": 0.0, "radius": 8.0, "epsilon": 4.0, "row_norm": 2**0.5, "delta": 0.0}
"""Adult (48,842 × 92): measured to keep one proposal in 10⁹; at ε = 1 one in 10⁴."""


@pytest.mark.slow
def test_hopeless_is_what_comes_on_no_kind_of_rows_and_real_tables_agree():
    """COMPAS has draws, though the worst kind of simulated rows has none, as of adult's shape."""
    adult = plan(48_842, 92, **COLD)
    assert not preflight(adult).likely and not is_infeasible(adult)
    planned = plan(6_172, 77, **COLD)
    assert not preflight(planned).likely and not is_infeasible(planned)
    assert not is_infeasible(plan_path(5_000, 11, 0.02, **ROWS))


def test_a_fit_warns_before_it_charges(monkeypatch):
    """Of draws that may fail or are slow; where draws are likely and fast, nothing is said."""
    foretold(monkeypatch, accepted=0.0)
    with pytest.warns(HopelessDrawWarning, match=r"Do this\. Nothing is charged yet") as caught:
        beforehand.check_feasibility(_plan(500, 18), "exact", 5_000_000)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        beforehand.check_feasibility(_plan(500, 18), "langevin", "auto")
        beforehand.check_feasibility(_plan(500, 3), "exact", "auto")
        monkeypatch.undo()
        foretold(monkeypatch)
        beforehand.check_feasibility(_plan(500, 18), "exact", "auto")
    monkeypatch.undo()
    foretold(monkeypatch, seconds_each=3_600.0)
    with pytest.warns(SlowDrawWarning, match=r"takes? about .* hours.* Nothing is charged yet"):
        beforehand.check_feasibility(_plan(500, 18), "exact", "auto")


def test_a_hopeless_fit_is_refused_before_it_charges(tmp_path, monkeypatch):
    """Control: who says how patient to be is warned."""
    foretold(monkeypatch, accepted=0.0)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-6)
    wide = {"radius": 32.0, "row_norm": 2.0, "epsilon": 4.0, "delta": 0.0, "classes": [0, 1]}
    clf = RashomonClassifier(mechanism="exact", psi=0.0, n_draws=1, **wide)
    models = [clone(clf).set_params(ledger=ledger)]
    models += [DPClassifier(mechanism=name, ledger=ledger, **wide)
               for name in ("unthresholded", "regularised")]  # fmt: skip
    models += [PrivateSearch(clf, {"psi": [0.0]}, epsilon=4.0, ledger=ledger)]
    rows = np.full((4_000, 30), np.nan)  # which would fail if one were looked at
    for model in models:
        with pytest.raises(SamplerError, match=r"Do this\. They failed on every .* was charged"):
            model.fit(rows, rows[:, 0])
    assert not ledger.entries()
    for patience in (5_000_000, None):
        with pytest.warns(HopelessDrawWarning, match="Nothing is charged yet"):
            beforehand.check_feasibility(clf.plan(*rows.shape), "exact", patience)


@pytest.mark.slow
def test_a_way_that_is_named_has_the_largest_ball_in_which_its_draws_are_likely():
    """Negative control: a radius that is given is kept, and then refused."""
    settings = {"mechanism": "exact", "row_norm": 2.0, "delta": 0.0}
    wide = RashomonClassifier(**settings, radius=64.0, n_draws=1).plan(4_000, 18)
    assert wide.radius == 64.0 and is_infeasible(wide)
    planned = RashomonClassifier(**settings).plan(4_000, 18)
    assert preflight(planned).likely and "draws are expected to fail" in planned.reason
    clf = RashomonClassifier(**settings, n_draws=1, radius=2 * planned.radius)
    assert not preflight(clf.plan(4_000, 18)).likely


@pytest.mark.slow
def test_a_named_mechanism_is_tried_with_few_positive_rows():
    """14,558 rows of which 89 % are of one class: every draw of the widest ball failed."""
    settings = {"mechanism": "unthresholded", "family": "linear", "standardize": None}
    planned = DPClassifier(**settings, row_norm=1.4).plan(14_558, 9)
    assert planned.radius == 16.0 and "draws are expected to fail" in planned.reason
    wide = DPClassifier(**settings, row_norm=1.4, radius=32.0).plan(14_558, 9)
    assert not preflight(wide).likely and "exact draws failed" in preflight(wide).in_words
    assert preflight(wide, rare=False).likely  # the control: as many rows of both classes
    shares = [
        (simulated_tables.simulated(wide.law, columns, rate).targets > 0).mean()
        for rate in feasibility.RARE
        for columns in simulated_tables.KINDS
    ]
    np.testing.assert_allclose(shares, np.repeat(feasibility.RARE, 3), atol=0.02)
