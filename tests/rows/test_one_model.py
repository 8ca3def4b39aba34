"""One private model of rows in blocks: that of the whole table, by every method that adds up."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rashomon_explorer import DPClassifier, DPRegressor
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import ChunkedRows, chunk_rows

RNG = np.random.default_rng(2)
N = 3_000  # three blocks
EXACT = {"unthresholded", "regularised", "localised", "localised_chain"}
X = RNG.normal(size=(N, 2)) * 0.4
SCORES = X[:, 0] - 0.5 * X[:, 1] + 0.2 * RNG.normal(size=N)
SIGNS = np.where(SCORES > 0, 1.0, -1.0)
LABELS = np.where(SCORES > 0, "yes", "no")
THIRDS = np.digitize(SCORES, [-0.2, 0.2])
TARGETS = np.clip(SCORES, -2, 2)
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "two": (DPClassifier, LABELS, {"classes": ["no", "yes"]}),
    "three": (DPClassifier, THIRDS, {"classes": [0, 1, 2]}),
    "hinge": (DPClassifier, LABELS, {"classes": ["no", "yes"], "loss": "hinge"}),
    "ridged": (DPClassifier, LABELS, {"classes": ["no", "yes"], "ridge": 0.1, "delta": 0.0}),
    "numbers": (DPRegressor, TARGETS, {"target_bounds": (-2.0, 2.0)}),
    "absolute": (DPRegressor, TARGETS, {"target_bounds": (-2.0, 2.0), "loss": "absolute"}),
}
KINKED = {"hinge", "absolute"}
BUDGET: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "radius": 2.0, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore")


def _blocks(targets: Any, **asked: Any) -> ChunkedRows:
    return replace(chunk_rows(X, targets, **asked), rows=1024)


def _both(kind: str, **asked: Any) -> tuple[Any, Any]:
    estimator, targets, own = KINDS[kind]
    whole = estimator(**{**BUDGET, **own, **asked}).fit(X, targets)
    blocked = estimator(**{**BUDGET, **own, **asked}).fit(_blocks(targets))
    return whole, blocked


def _methods() -> list[Any]:
    """Every method for every kind of targets where it applies and needs sums alone."""
    found = []
    for kind, (estimator, _, own) in KINDS.items():
        known = {"n_classes": 3} if kind == "three" else {}
        planned = estimator(**{**BUDGET, **own}).plan(N, 2, **known)
        slow = [] if kind in ("two", "numbers") else [pytest.mark.law]
        names = [one.name for one in planned.options if one.applies and one.name != "noisy_sgd"]
        found += [pytest.param(kind, name, marks=slow) for name in (*names, "localised")]
    return found


@pytest.mark.parametrize(("kind", "method"), _methods())
def test_the_model_of_blocks_is_that_of_the_table(kind: str, method: str) -> None:
    whole, blocked = _both(kind, mechanism=method)
    if not (kind in KINKED and method in EXACT):  # the same law, proposed by a coarser bound
        np.testing.assert_allclose(
            blocked.encoded_coef_, whole.encoded_coef_, rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            blocked.encoded_intercept_, whole.encoded_intercept_, rtol=1e-12, atol=1e-12
        )
    assert blocked.plan_ == whole.plan_
    assert set(whole.guarantee_.assumptions) <= set(blocked.guarantee_.assumptions)
    rows = chunk_rows(X, labelled=False)
    np.testing.assert_array_equal(blocked.predict(rows), blocked.predict(X))


def test_every_method_is_met() -> None:
    compared = {name for name, kind in MECHANISMS.items() if kind.traits.compared}
    assert compared - {"noisy_sgd"} <= {one.values[1] for one in _methods()}


def test_private_columns_are_those_of_the_table() -> None:
    whole, blocked = _both("two", standardize="private")
    assert whole.scale_ is not None
    np.testing.assert_array_equal(blocked.scale_.spread, whole.scale_.spread)
    np.testing.assert_allclose(blocked.encoded_coef_, whole.encoded_coef_, rtol=1e-12, atol=1e-12)


def test_all_rows_a_step_are_a_sum_and_picked_rows_are_refused() -> None:
    kind: Any = MECHANISMS["noisy_sgd"]
    whole, blocked = Problem(X, SIGNS, loss="hinge"), Problem(_blocks(SIGNS), loss="hinge")
    offer = kind.offer(_request(ledger=True, in_chunks=True))
    assert offer.plan.settings.rate == 1.0
    assert "chunked rows are summed, not sampled" in offer.why
    one = kind.for_plan(offer.plan)
    drawn = [one.draw(problem, np.random.default_rng(0)) for problem in (whole, blocked)]
    np.testing.assert_allclose(*drawn, rtol=1e-9)
    pytest.importorskip("dp_accounting")
    for ledger in (False, True):
        assert kind.offer(_request(ledger=ledger)).plan.settings.rate < 1.0
    settings: dict[str, Any] = {"classes": ["no", "yes"], "loss": "hinge"}
    whole = DPClassifier(**BUDGET, **settings, mechanism="noisy_sgd").fit(_blocks(LABELS))
    assert whole.plan_.settings.rate == 1.0
    picking = DPClassifier(**BUDGET, **settings, mechanism="iterated_batches", ridge=10.0)
    with pytest.raises(SamplerError, match=r"chunked rows are summed.*Nothing was charged"):
        picking.fit(_blocks(LABELS))


def _request(ledger: bool, in_chunks: bool = False) -> Request:
    asked: dict[str, Any] = {"n": N, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0}
    asked |= {"ridge": 0.0, "n_draws": 1}
    return Request(
        **asked, row_norm=2**0.5, epsilon=0.3, delta=1e-6, ledger=ledger, in_chunks=in_chunks
    )


def test_classes_must_be_declared_and_a_seedless_fit_says_what_it_assumes() -> None:
    with pytest.raises(ValueError, match="chunked rows are not read to find the classes"):
        DPClassifier(**BUDGET).fit(_blocks(LABELS))
    table = _blocks(LABELS, n_jobs=1)
    found = DPClassifier(epsilon=2.0, classes=["no", "yes"]).fit(table)
    assert any("joblib" in said for said in found.guarantee_.assumptions)
