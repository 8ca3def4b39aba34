"""Which tables are neighbours: every curve says it, no two mix, a guarantee takes replacement."""

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.privacy import Guarantee, Ledger, LedgerError, compose, gdp, pure
from rashomon_explorer.privacy.tradeoff import Gaussian, GaussianObjectivePerturbation, Piecewise
from rashomon_explorer.privacy.tradeoff.composition import Composition, compose_tradeoffs
from rashomon_explorer.privacy.tradeoff.curves import from_dict
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled

USUAL = PoissonSampled(1.0, 0.01, relation="add_or_remove")
SAME = PoissonSampled(1.0, 0.01)
BENT = Piecewise(((0.0, 0.9), (0.3, 0.2), (0.9, 0.0)), relation="add_or_remove")
OTHERS = [
    USUAL,
    PoissonSampled(1.0, 0.01, 50, "add_or_remove"),
    Subsampled(USUAL, 0.5),
    Composition(((USUAL, 3),)),
    compose_tradeoffs([(USUAL, 2), PoissonSampled(3.0, 1.0, relation="add_or_remove")]),
    BENT,
    BENT.inverse(),
    BENT.symmetrised(),
]


@pytest.mark.parametrize("curve", OTHERS, ids=lambda curve: curve.kind)
def test_a_guarantee_refuses_the_other_relation(curve) -> None:
    assert curve.relation == "add_or_remove" and curve.symmetrised().relation == curve.relation
    with pytest.raises(ValueError, match=r"one record replaced.*'add_or_remove'"):
        Guarantee("tradeoff", "another accountant's", curve=curve)
    back = from_dict(json.loads(json.dumps(curve.to_dict())))
    assert back == curve and back.relation == "add_or_remove"
    assert "relation" not in Piecewise(((0.0, 0.9), (0.9, 0.0))).to_dict()


def test_relations_do_not_mix() -> None:
    for parts in ([USUAL, Gaussian(1.0)], [(USUAL, 2), (SAME, 3)], [Gaussian(0.0), USUAL]):
        with pytest.raises(ValueError, match="different neighbour relations do not compose"):
            compose_tradeoffs(parts)
    with pytest.raises(ValueError, match="different neighbour relations"):
        Composition(((USUAL, 1), (Gaussian(1.0), 1)))


def test_a_refused_curve_is_below_the_cost_of_a_replacement() -> None:
    """Why: the densities of a replaced record pass the other relation's curve."""
    x = np.linspace(-12.0, 12.0, 200_001)
    bell = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    one, other = (bell * (0.99 + 0.01 * np.exp(s * x - 0.5)) for s in (1, -1))
    true = np.trapezoid(np.maximum(0.0, one - np.exp(0.1) * other), x)
    assert true > 1.2 * USUAL.delta(0.1)
    assert true == pytest.approx(SAME.delta(0.1), rel=1e-6)


def test_a_ledger_with_such_a_charge_in_its_file_is_refused(tmp_path) -> None:
    path = tmp_path / "old.ledger"
    ledger = Ledger.create(path, epsilon=4.0, delta=1e-5)
    ledger.reserve(Guarantee("tradeoff", "steps", rho=0.01, curve=SAME), note="steps").start()
    with sqlite3.connect(path) as file:
        file.execute("DROP TRIGGER charges_keep")
        file.execute(
            "UPDATE charges SET guarantee = replace(guarantee, '\"replace\"', '\"add_or_remove\"')"
        )
    file.close()
    with pytest.raises(LedgerError, match=r"charge 1 .*cannot be read.*'add_or_remove'"):
        Ledger.open(path).entries()


def test_every_part_of_a_composition_counts_once() -> None:
    """A perturbed objective that has a μ besides was counted for the part beside it, too."""
    curve = GaussianObjectivePerturbation(0.2, 0.01, monotone=True)
    with_mu, bare = (Guarantee("tradeoff", "", mu=mu, curve=curve) for mu in (0.5, np.inf))
    for one in (with_mu, bare):
        both = compose([one, pure(5.0)])
        assert both.curve is None and both.epsilon(1e-6) > 5.0
        assert compose([one, gdp(0.3)]).curve == replace(curve, mu=0.3)
    assert compose([with_mu, with_mu]).curve == replace(curve, draws=2)
    poisson = Guarantee("tradeoff", "", mu=2.0, curve=SAME)
    assert compose([poisson, bare]).curve == Composition(((SAME, 1), (bare.curve, 1)))
    assert compose([poisson, gdp(0.5)]).curve == compose_tradeoffs([SAME, Gaussian(0.5)])
    assert compose([gdp(0.5), gdp(0.5)]).curve is None
