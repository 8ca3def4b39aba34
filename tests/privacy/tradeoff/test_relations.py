"""Which tables are neighbours: every curve says it, no two mix, a guarantee takes replacement."""

import json
import sqlite3

import numpy as np
import pytest

from rashomon_explorer.privacy import Guarantee, Ledger, LedgerError, compose, gdp, pure
from rashomon_explorer.privacy.tradeoff import (
    AdaptiveBoundedRange,
    Approximate,
    BoundedRange,
    Composition,
    Gaussian,
    GaussianObjectivePerturbation,
    Laplace,
    Piecewise,
    PoissonSampled,
    RepeatedBoundedRange,
    Subsampled,
    TradeOff,
    compose_tradeoffs,
    from_profile,
    from_samples,
)
from rashomon_explorer.privacy.tradeoff.curves import from_dict

USUAL = PoissonSampled(1.0, 0.01, relation="add_or_remove")
SAME = PoissonSampled(1.0, 0.01)
EPSILONS = np.linspace(0.0, 3.0, 31)
OTHERS: list[TradeOff] = [
    USUAL,
    PoissonSampled(1.0, 0.01, 50, "add_or_remove"),
    PoissonSampled(2.0, 1.0, relation="add_or_remove"),
    Subsampled(USUAL, 0.5),
    Composition(((USUAL, 3),)),
    compose_tradeoffs([(USUAL, 2), PoissonSampled(3.0, 1.0, relation="add_or_remove")]),
    from_profile(EPSILONS, USUAL.delta(EPSILONS), relation="add_or_remove"),
    from_samples([0.0, 1.0], [1.0, 2.0], relation="add_or_remove"),
    Piecewise(((0.0, 0.9), (0.9, 0.0)), relation="add_or_remove"),
    Piecewise(((0.0, 0.9), (0.3, 0.2), (0.9, 0.0)), relation="add_or_remove").inverse(),
    Piecewise(((0.0, 0.9), (0.3, 0.2), (0.9, 0.0)), relation="add_or_remove").symmetrised(),
]


@pytest.mark.parametrize("curve", OTHERS, ids=lambda curve: curve.kind)
def test_a_guarantee_refuses_the_other_relation(curve: TradeOff) -> None:
    assert curve.relation == "add_or_remove" and curve.symmetrised().relation == curve.relation
    with pytest.raises(ValueError, match=r"one record replaced.*'add_or_remove'"):
        Guarantee("tradeoff", "another accountant's", curve=curve)
    back = from_dict(json.loads(json.dumps(curve.to_dict())))
    assert back == curve and back.relation == "add_or_remove"


def test_what_is_not_said_otherwise_is_for_a_replaced_record() -> None:
    for curve in (
        AdaptiveBoundedRange(0.1, 2), Approximate(1.0), BoundedRange(1.0), Gaussian(1.0),
        GaussianObjectivePerturbation(0.1, 0.0, monotone=True), Laplace(1.0),
        RepeatedBoundedRange(0.1, 2), SAME,
        Subsampled(Gaussian(1.0), 0.1), Composition(((SAME, 2), (Gaussian(1.0), 1))),
        Piecewise(((0.0, 0.9), (0.9, 0.0))),
    ):  # fmt: skip
        assert curve.relation == "replace" == Guarantee.relation
        assert Guarantee("tradeoff", "", curve=curve).curve == curve
        assert from_dict(curve.to_dict()) == curve
    assert "relation" not in Piecewise(((0.0, 0.9), (0.9, 0.0))).to_dict()


def test_relations_do_not_mix() -> None:
    for parts in ([USUAL, Gaussian(1.0)], [(USUAL, 2), (SAME, 3)], [Gaussian(0.0), USUAL]):
        with pytest.raises(ValueError, match="different neighbour relations do not compose"):
            compose_tradeoffs(parts)
    with pytest.raises(ValueError, match="different neighbour relations"):
        Composition(((USUAL, 1), (Gaussian(1.0), 1)))
    with pytest.raises(ValueError, match="relation must be one of"):
        Piecewise(((0.0, 0.9), (0.9, 0.0)), relation="zero_out")


def test_what_was_refused_is_less_than_a_replacement_costs() -> None:
    """Why: the densities of a replaced record pass the other relation's curve."""
    x = np.linspace(-12.0, 12.0, 200_001)
    bell = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    one, other = (bell * (0.99 + 0.01 * np.exp(s * x - 0.5)) for s in (1, -1))
    true = np.trapezoid(np.maximum(0.0, one - np.exp(0.1) * other), x)
    assert true > 1.2 * USUAL.delta(0.1)
    assert true == pytest.approx(SAME.delta(0.1), rel=1e-6)


def test_a_ledger_with_such_a_charge_in_its_file_is_not_read_on(tmp_path) -> None:
    path = tmp_path / "old.ledger"
    ledger = Ledger.create(path, epsilon=4.0, delta=1e-5)
    ledger.reserve(Guarantee("tradeoff", "steps", rho=0.01, curve=SAME), note="steps").start()
    with sqlite3.connect(path) as file:
        file.execute("DROP TRIGGER IF EXISTS charges_keep")
        for (name,) in file.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            file.execute(f"DROP TRIGGER {name}")
        file.execute("UPDATE charges SET guarantee = replace(guarantee, '\"replace\"', ?)",
                     ('"add_or_remove"',))  # fmt: skip
    with pytest.raises(LedgerError, match=r"charge 1 .*cannot be read.*'add_or_remove'"):
        Ledger.open(path).entries()


def test_every_part_of_a_composition_counts_once() -> None:
    """A tilt that has a μ besides was counted for the part beside it, too."""
    tilt = Guarantee(
        "tradeoff", "", mu=0.5, curve=GaussianObjectivePerturbation(0.2, 0.01, monotone=True)
    )
    bare = Guarantee("tradeoff", "", curve=GaussianObjectivePerturbation(0.2, 0.01, monotone=True))
    for one in (tilt, bare):
        both = compose([one, pure(5.0)])
        assert both.curve is None and both.epsilon(1e-6) > 5.0
        assert compose([one, gdp(0.3)]).curve == GaussianObjectivePerturbation(
            0.2, 0.01, True, mu=0.3
        )
    assert compose([tilt, tilt]).curve == GaussianObjectivePerturbation(0.2, 0.01, True, draws=2)
    poisson = Guarantee("tradeoff", "", mu=2.0, curve=SAME)
    assert compose([poisson, bare]).curve == Composition(((SAME, 1), (bare.curve, 1)))
    assert compose([poisson, gdp(0.5)]).curve == compose_tradeoffs([SAME, Gaussian(0.5)])
    assert compose([gdp(0.5), gdp(0.5)]).curve is None
