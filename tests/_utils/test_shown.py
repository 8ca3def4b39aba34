"""Objects show themselves in a few aligned lines; nothing private in what may leave."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer._utils.formatting import as_html, as_text
from rashomon_explorer.measures import fairness_audit
from rashomon_explorer.mechanisms.certificates.catalogue import gibbs_certificates
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.privacy import Guarantee, Ledger, bounded_range, compose
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (80, 2))
Y = (X[:, 0] > 0).astype(int)
ROWS = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6}


def _fitted(**settings):
    exact = {"mechanism": "exact", "radius": 4.0, "ridge": 0.0, "row_norm": 1.0}
    return RashomonClassifier(**{"epsilon": 50.0, "n_draws": 4, **exact, **settings}).fit(X, Y)


def _objects(tmp_path):
    fit = _fitted()
    with Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=1e-6) as ledger:
        ledger.reserve(bounded_range(0.5)).void()
    constants = Constants.of("logistic", n=100, p=3, domain=Ball(1.0), row_bound=1.0)
    law = {"psi": 0.1, "beta": 50.0, "delta": 1e-6}
    return {
        "Plan": plan(5_000, 11, 0.02, **ROWS),
        "PathPlan": plan_path(5_000, 11, 0.02, **ROWS),
        "Guarantee": fit.guarantee_,
        "No guarantee": no_guarantee("learnt"),
        "Ledger": ledger,
        "Problem": Problem(X, 2.0 * Y - 1),
        "Minimum": Problem(X, 2.0 * Y - 1).minimum,
        "Certificate": gibbs_certificates(constants, Ball(1.0), **law)[0],
        "RashomonSet": fit.rashomon_set_,
        "ReleasedSet": fit.rashomon_set_.release(),
        # Of a cheap fit no draw may lie in the set, and then there is no audit.
        "FairnessAudit": fairness_audit(
            _fitted(epsilon=4_000.0).rashomon_set_, X, Y, np.arange(80) % 2
        ),
    }


def test_every_object_is_short_and_aligned(tmp_path):
    for name, one in _objects(tmp_path).items():
        title, *facts = repr(one).splitlines()
        assert title.startswith(name), name
        assert 0 < len(facts) <= 12, name
        width = {re.match(r"  \S*( \S+)*? {2,}", line).end() for line in facts if line[2] != " "}
        assert len(width) == 1, name
        assert "<table>" in one._repr_html_(), name


def test_what_was_asked_for_comes_first_where_it_holds_and_survives_a_file():
    said = str(_fitted(epsilon=4.0).guarantee_)
    assert re.search(r"^ε = 4 at δ = 1e-6 \([^(]*[\d.]+-DP", said)
    plain = bounded_range(0.5)
    asked = replace(plain, requested=(0.5, 1e-6))
    for one in (asked, asked.with_seed()):
        assert str(one).startswith("ε = 0.5 at δ = 1e-6")
    assert str(replace(asked, requested=(0.4, 1e-6))).startswith("0.5-DP")
    assert compose([asked]).requested == (0.5, 1e-6)
    assert compose([asked, asked]).requested is None
    assert Guarantee.from_dict(asked.to_dict()).requested == (0.5, 1e-6)
    assert "asked" not in plain.to_dict()  # older files are read
    assert Guarantee.from_dict(plain.to_dict()) == asked


def test_a_fitted_estimator_says_that_it_is_and_a_pipeline_stays_as_it_was():
    fit = _fitted()
    settings, line = repr(fit).rsplit("\n", 1)
    assert settings == repr(clone(fit))
    assert line.startswith("# fitted: 4 draws on 80 rows, hit rate ≥ ")
    assert line.endswith("ε = 50 at δ = 1e-6")
    assert "fitted: 4 draws" in fit._repr_html_() and "fitted: 4" not in clone(fit)._repr_html_()
    with config_context(display="text"):
        assert not hasattr(fit, "_repr_html_")
    long = RashomonClassifier(classes=[f"class number {k}" for k in range(20)], epsilon=1.25)
    assert max(map(len, repr(long).splitlines())) <= 80
    piped = make_pipeline(PublicBoundsScaler(), fit)
    assert repr(piped) == repr(make_pipeline(PublicBoundsScaler(), clone(fit)))


def test_only_the_curators_set_says_what_rows_say():
    models = _fitted().rashomon_set_
    assert "curator" in repr(models) and "radius binds" in repr(models)
    assert "curator" not in repr(models.release())
    free = RashomonClassifier(epsilon=500.0, radius=1e6, n_draws=1)
    rows, noise = RNG.uniform(-0.5, 0.5, (300, 1)), RNG.integers(0, 2, 300)
    assert free.fit(rows, noise).rashomon_set_.notes == ()


def test_markup_stays_text():
    assert "<b>" not in as_html("<b>", [("<i>", "<script>")])
    assert as_text("t", []) == "t"


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_a_ledger_that_is_gone_says_so_in_its_repr(tmp_path, lost):
    with Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=1e-6) as ledger:
        pass
    ledger.path.unlink()
    if lost == "empty":
        ledger.path.touch()
    assert "unreadable" in repr(ledger)
