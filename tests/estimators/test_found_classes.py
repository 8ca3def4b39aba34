"""Classes that were found in the rows: every guarantee states it, and no ledger is charged."""

import numpy as np
import pandas as pd
import pytest

import rashomon_explorer as rx
from rashomon_explorer.data import Categorical, Numeric, TableSchema
from rashomon_explorer.exceptions import FitError

ASSUMED = "the labels that occur in y are public"
N = 100
FRAME = pd.DataFrame({"age": np.random.default_rng(0).uniform(18, 90, N)})
LABELS = np.where(FRAME["age"] > 50, "ill", "ok")
AGE = Numeric("age", (18, 90))
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _schema(learnt=(), classes=("ill", "ok")):
    return TableSchema([AGE, Categorical("state", classes, role="target", learnt=learnt)])


def _search(schema, ledger=None, **classes):
    within = rx.DPClassifier(schema=schema, mechanism="objective_perturbation", **classes)
    return rx.PrivateSearch(within, {"radius": [2.0, 4.0]}, epsilon=4.0, ledger=ledger)


MAKES = {
    "set": lambda **k: rx.RashomonClassifier(n_draws=1, mechanism="langevin", epsilon=2.0, **k),
    "one": lambda **k: rx.DPClassifier(epsilon=2.0, mechanism="objective_perturbation", **k),
    "trees": lambda **k: rx.RashomonTreeClassifier(n_draws=1, max_leaves=2, **k),
    "penalty": lambda **k: rx.DPBilevelSearch(
        "logistic", bounds=(0.1, 10.0), epsilon=4.0, refit=None, **k
    ),
    "search": _search,
}
each = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


@each
def test_the_assumption_is_stated_exactly_where_labels_were_found(make):
    found = {
        "in y": {"schema": TableSchema([AGE])},
        "in a schema that was read off the rows": {"schema": _schema(["levels"])},
    }
    declared = {
        "by the schema": {"schema": _schema()},
        "by a confirmed schema": {"schema": _schema(["levels"]).confirm("state")},
        "by hand": {"schema": TableSchema([AGE]), "classes": ["ill", "ok"]},
        "by hand, beside found ones": {"schema": _schema(["levels"]), "classes": ["ill", "ok"]},
    }
    for stated, ways in ((True, found), (False, declared)):
        for way, settings in ways.items():
            guarantee = make(**settings).fit(FRAME, LABELS).guarantee_
            assert guarantee.holds and (ASSUMED in guarantee.assumptions) is stated, way


@each
def test_a_ledger_asks_for_declared_or_confirmed_labels_before_anything_is_charged(make, ledger):
    with pytest.raises(ValueError, match=r"schema\.confirm\('state'\)"):
        make(schema=_schema(["levels"]), ledger=ledger).fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="classes must be declared"):
        make(schema=TableSchema([AGE]), ledger=ledger).fit(FRAME, LABELS)
    assert ledger.spent() == 0.0
    make(schema=_schema(["levels"]).confirm("state"), ledger=ledger).fit(FRAME, LABELS)
    assert ledger.spent() > 0.0
    rare = np.where(np.arange(N) == 7, "rare", LABELS)
    charged = len(ledger.entries())
    # Declared by hand, labels win over found ones, and no neighbour is refused before the charge.
    with pytest.raises(FitError):
        by_hand = {"schema": _schema(["levels"], ("ill", "ok", "rare")), "classes": ["ill", "ok"]}
        make(**by_hand, ledger=ledger).fit(FRAME, rare)
    assert len(ledger.entries()) == charged + 1
