"""What a search over models tries: copies of private estimators, each priced by its own plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import ParameterGrid

from rashomon_explorer.estimators.base import BaseRashomon
from rashomon_explorer.estimators.beforehand import refuse_if_hopeless
from rashomon_explorer.estimators.bilevel_search import DPBilevelSearch
from rashomon_explorer.estimators.classifier import RashomonClassifier
from rashomon_explorer.estimators.one_model import OneModel
from rashomon_explorer.estimators.tree_classifier import RashomonTreeClassifier
from rashomon_explorer.losses import get_loss
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.selection import Candidate

PAID_BY_THE_SEARCH = ("epsilon", "delta", "ledger", "random_state")
"""Settings of a candidate that the search makes itself."""

KINDS = (OneModel, BaseRashomon, RashomonTreeClassifier, DPBilevelSearch)
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


def settings_of(param_grid: Grid) -> list[dict[str, Any]]:
    """Every setting that a grid, or one of several, stands for.

    >>> settings_of([{"psi": [0.01, 0.02]}, {"radius": [2.0]}])
    [{'psi': 0.01}, {'psi': 0.02}, {'radius': 2.0}]
    """
    settings = list(ParameterGrid(param_grid))
    for name in PAID_BY_THE_SEARCH:
        if any(name in one for one in settings):
            raise ValueError(
                f"param_grid holds {name!r}, which the search sets for every candidate: give it to "
                "PrivateSearch"
            )
    return settings


def candidates_of(estimator: BaseEstimator, settings: list[dict[str, Any]]) -> list[Any]:
    """Unfitted copies with each setting; ``"estimator"`` in one takes another's place.

    >>> from rashomon_explorer import DPClassifier
    >>> [one.method for one in candidates_of(DPClassifier(), [{"method": "gibbs"}])]
    ['gibbs']
    """
    made = []
    for setting in settings:
        given = dict(setting)
        base = given.pop("estimator", estimator)
        if not isinstance(base, KINDS):
            raise TypeError(
                f"candidates must be private estimators of this package, got {base!r}: each is "
                "priced by its own plan"
            )
        if base.ledger is not None:
            raise ValueError("the search is charged, not a candidate: give it the ledger")
        one = clone(base).set_params(**given)
        if not hasattr(one, "predict"):
            raise TypeError(f"{one!r} predicts nothing, and a score needs predictions")
        made.append(one)
    if len({is_classifier(one) for one in made}) > 1:
        raise ValueError("candidates must be all classifiers or all regressors")
    return made


def at_price(
    candidates: list[Any],
    settings: list[dict[str, Any]],
    shape: tuple[int, int],
    each: tuple[float, float],
) -> tuple[Candidate, ...]:
    """Plan every candidate at one price, by public numbers alone.

    >>> from rashomon_explorer import DPClassifier
    >>> (one,) = at_price([DPClassifier(row_norm=1.5)], [{}], (35_000, 10), (0.5, 0.0))
    >>> one.guarantee.epsilon(0.0)
    0.5
    """
    epsilon, delta = each
    planned = []
    with said_elsewhere():
        for one, setting in zip(candidates, settings, strict=True):
            one.set_params(epsilon=epsilon, delta=delta)
            plan = one.plan(*shape)
            if isinstance(one, BaseRashomon):
                refuse_if_hopeless(plan, one.sampler, one.patience)
            made = Candidate(setting, plan, _stated(one, plan))
            if not made.guarantee.holds:
                raise ValueError(
                    f"{made.in_words} has no guarantee, and so no price that a search could pay: "
                    f"{made.guarantee.theorem}"
                )
            planned.append(made)
    return tuple(planned)


def _stated(one: Any, plan: Any) -> Guarantee:
    """Guarantee of a fit as the estimator itself would state it."""
    if isinstance(one, BaseRashomon):
        several = isinstance(one, RashomonClassifier)
        loss = one._loss_of(None) if several else get_loss(one._loss)
        known = one._guarantee(plan, one._sampler(plan, loss))
    elif isinstance(one, RashomonTreeClassifier):
        known = one._guarantee(plan)
    elif isinstance(one, DPBilevelSearch):
        known = one._stated(plan)
    else:
        known = one._stated(plan.guarantee)
    return replace(known, asked=None)
