"""Mechanisms of papers: found by name, never taken by "auto", not imported without a name."""

import itertools
import subprocess
import sys
from typing import Any

import pytest

from rashomon_explorer.estimators.selection import _hopeless
from rashomon_explorer.mechanisms.one_model.registry import METHODS
from rashomon_explorer.mechanisms.planning.offers import Request
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS


def request(**settings: Any) -> Request:
    known: dict[str, Any] = {"n": 200_000, "p": 2, "psi": 0.0, "loss": "logistic", "radius": 4.0}
    known |= {"row_norm": 1.0, "ridge": 0.0, "epsilon": 4.0, "delta": 0.0, "n_draws": 1}
    return Request(**{**known, **settings})


@pytest.mark.parametrize("registry", [METHODS, MECHANISMS, SAMPLERS])
def test_every_entry_bears_its_name(registry: Any) -> None:
    assert registry.named_only()
    assert all(one.name == name for name, one in registry.items())


def test_a_sampler_of_a_paper_is_not_weighed_and_no_weighed_one_plans_by_a_paper() -> None:
    assert not any(kind.traits.weighed for kind in SAMPLERS.named_only().values())
    weighed = {kind.traits.mechanism for kind in SAMPLERS.values() if kind.traits.weighed}
    assert not weighed & set(MECHANISMS.named_only())


SETTINGS = list(
    itertools.product(
        ("logistic", "squared", "absolute", "hinge"),
        (2_000, 10_000_000),
        (1, 20),
        (0.0, 1.0),
        (0.5, 50.0),
    )
)


def test_auto_never_expects_a_method_of_a_paper() -> None:
    """Its first draw is from the whole ball: of such draws none is foretold."""
    applied = 0
    for loss, n, p, ridge, epsilon in SETTINGS:
        asked = request(loss=loss, n=n, p=p, ridge=ridge, epsilon=epsilon)
        offers = [one.offer(asked) for one in METHODS.named_only().values()]
        applied += sum(one.applies for one in offers)
        assert all(_hopeless(one) for one in offers if one.applies)
    assert applied > 20


def test_other_draws_near_a_release_are_expected() -> None:
    assert not _hopeless(METHODS["localised"].offer(request(ridge=1.0)))


_AUTO = """
import sys, numpy as np, warnings
from rashomon_explorer import DPClassifier, RashomonClassifier
warnings.simplefilter("ignore")
X, y = np.tile([[0.5], [-0.5]], (500, 1)), [1, 0] * 500
for asked in ({models}):
    asked.fit(X, y)
print(sorted(name for name in sys.modules if name.startswith("rashomon_explorer.papers")))
"""


def _papers_after(models: str) -> str:
    command = [sys.executable, "-c", _AUTO.format(models=models)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_fitting_with_auto_imports_nothing_of_papers() -> None:
    budget = "epsilon=8.0, classes=[0, 1], random_state=0"
    assert _papers_after(f"DPClassifier({budget}), RashomonClassifier({budget})") == "[]"
    named = _papers_after(f"DPClassifier(mechanism='iterated', {budget}, ridge=1.0),")
    assert "rashomon_explorer.papers.localisation" in named
