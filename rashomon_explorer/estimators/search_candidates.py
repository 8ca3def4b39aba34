"""Candidates of a private search."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import ParameterGrid

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.estimators.bilevel_search import DPBilevelSearch
from rashomon_explorer.estimators.dp_base import BaseOneModel
from rashomon_explorer.estimators.feasibility import refuse_if_hopeless
from rashomon_explorer.estimators.rashomon import BaseRashomon
from rashomon_explorer.estimators.tree_classifier import RashomonTreeClassifier
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.selection import (
    WAYS,
    Candidate,
    Exponential,
    PermuteAndFlip,
    Pick,
    Runs,
    SearchPlan,
    max_over_splits,
    most_noise,
    regret,
)
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.conversions import zcdp_epsilon, zcdp_rho

PAID_BY_THE_SEARCH = ("epsilon", "delta", "ledger", "random_state")
"""Settings that the search sets for every candidate."""

KINDS = (BaseOneModel, BaseRashomon, RashomonTreeClassifier, DPBilevelSearch)
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


def expand_settings(param_grid: Grid) -> list[dict[str, Any]]:
    """Return every setting of a parameter grid, or of a list of grids."""
    settings = list(ParameterGrid(param_grid))
    for name in PAID_BY_THE_SEARCH:
        if any(name in one for one in settings):
            raise ValueError(
                f"param_grid holds {name!r}, which the search sets for every candidate: give it to "
                "PrivateSearch"
            )
    return settings


def make_candidates(estimator: BaseEstimator, settings: list[dict[str, Any]]) -> list[Any]:
    """Unfitted copies with each setting; ``"estimator"`` in a setting replaces the estimator."""
    made = []
    for setting in settings:
        given = dict(setting)
        base = given.pop("estimator", estimator)
        if not isinstance(base, KINDS):
            raise TypeError(
                f"candidates must be private estimators of this package, got {base!r}: each has "
                f"the privacy cost of its own plan"
            )
        if base.ledger is not None:
            raise ValueError("the search is charged, not a candidate: give it the ledger")
        one = clone(base).set_params(**given)
        if not hasattr(one, "predict"):
            raise TypeError(f"{one!r} has no predict method, which a score needs")
        made.append(one)
    if len({is_classifier(one) for one in made}) > 1:
        raise ValueError("candidates must be all classifiers or all regressors")
    return made


def plan_candidates(
    candidates: list[Any],
    settings: list[dict[str, Any]],
    shape: tuple[int, int],
    each: tuple[float, float],
) -> tuple[Candidate, ...]:
    """Plan every candidate at one privacy cost, from public numbers only."""
    epsilon, delta = each
    planned = []
    with suppress_weak_warnings():
        for one, setting in zip(candidates, settings, strict=True):
            one.set_params(epsilon=epsilon, delta=delta)
            plan = one.plan(*shape)
            if isinstance(one, BaseRashomon):
                refuse_if_hopeless(plan, one.mechanism, one.patience)
            made = Candidate(setting, plan, _stated(one, plan))
            if not made.guarantee.holds:
                raise ValueError(
                    f"{made.in_words} has no guarantee, so a search cannot account for it: "
                    f"{made.guarantee.theorem}"
                )
            planned.append(made)
    return tuple(planned)


def _stated(one: Any, plan: Any) -> Guarantee:
    """Guarantee of a fit, as stated by the estimator."""
    return replace(one._stated(one._guarantee(plan)), requested=None)


_FITS_A_CANDIDATE = 10  # default mean number of random runs per candidate
_TRIES = 12
_SAFE = 1 - 1e-9
_SHAPES = {"geometric": 1, "logarithmic": 0}

Priced = Callable[[tuple[float, float]], tuple[Candidate, ...]]


@dataclass(frozen=True)
class SearchRequest:
    """Public parameters of a search."""

    n_train: int
    n_val: int
    epsilon: float
    delta: float
    k: int
    mean_runs: float | None = None

    @property
    def sensitivity(self) -> float:
        """Sensitivity Δ of a score: a mean over the validation rows of values in [0, 1]."""
        return 1 / self.n_val


def planned_search(asked: SearchRequest, priced: Priced, way: str) -> SearchPlan:
    """Plan a search by the named mechanism, or by the one with the best bound."""
    plans, refused = [], []
    for name in WAYS if way == "auto" else [way]:
        try:
            plans.append(_every(asked, priced) if name == "every" else _runs(asked, priced, name))
        except SamplerError as error:
            refused.append(f"{name}: {error}")
    if not plans:
        raise SamplerError("; ".join(refused))
    plans.sort(key=lambda one: one.selection_bound)
    why = "it was requested"
    if way == "auto":
        why = (
            f"the smallest bound of any selection mechanism, {rounded_up(plans[0].selection_bound)}"
        )
    return replace(plans[0], why=why, options=tuple(plans))


def _every(asked: SearchRequest, priced: Priced) -> SearchPlan:
    """Plan all fits, composed on the training rows, with a private choice on validation rows."""
    pick = _pick(asked)
    for each in _initial_costs(asked):
        for _ in range(_TRIES):
            candidates = priced(each)
            whole = max_over_splits(compose([one.guarantee for one in candidates]), pick.guarantee)
            paid = whole.epsilon(asked.delta)
            if paid <= asked.epsilon:
                return _plan(
                    "every", asked, each, candidates, whole, regret(pick, asked.k), pick=pick
                )
            if not math.isfinite(paid):
                break  # the candidates' own δ add up to too much
            each = (each[0] * asked.epsilon / paid * _SAFE, each[1])
    raise SamplerError(
        "the privacy costs of the candidates do not compose to a guarantee at this δ"
    )


def _initial_costs(asked: SearchRequest) -> list[tuple[float, float]]:
    if asked.delta == 0:
        return [(asked.epsilon / asked.k * _SAFE, 0.0)]
    rho = zcdp_rho(asked.epsilon, asked.delta) / asked.k
    shares = [asked.delta, asked.delta / (2 * asked.k)]
    return [*((zcdp_epsilon(rho, delta), delta) for delta in shares), (math.sqrt(2 * rho), 0.0)]


def _pick(asked: SearchRequest) -> Pick:
    """Return a selection with the cost of the fits: pure ε, or ρ for (ε, δ) by bounded range."""
    if asked.delta == 0:
        return PermuteAndFlip(asked.epsilon * _SAFE, asked.sensitivity)
    rho = zcdp_rho(asked.epsilon, asked.delta)
    return Exponential(_SAFE * math.sqrt(8 * rho), asked.sensitivity)


def _runs(asked: SearchRequest, priced: Priced, way: str) -> SearchPlan:
    """Plan random runs, each pure DP: training rows for the model, validation rows for scores."""
    mean = asked.mean_runs or _FITS_A_CANDIDATE * asked.k
    runs = Runs.of_mean(_SHAPES[way], mean)
    own = asked.epsilon / runs.factor * _SAFE
    candidates = priced((own, 0.0))
    dear = [one for one in candidates if not one.guarantee.pure_epsilon <= own * (1 + 1e-9)]
    if dear:
        raise SamplerError(
            f"{dear[0].in_words} is not pure DP, which this selection mechanism needs"
        )
    stated = compose([one.guarantee for one in candidates])
    kept = runs.guarantee(max(own, *(one.guarantee.pure_epsilon for one in candidates)))
    whole = replace(
        kept,
        assumptions=tuple(
            dict.fromkeys(
                (*kept.assumptions, *stated.assumptions, "the split is by place, and public")
            )
        ),
        seeded=stated.seeded,
    )
    noise = most_noise(asked.sensitivity / own, mean)
    return _plan(way, asked, (own, 0.0), candidates, whole, noise, runs=runs)


def _plan(
    way: str,
    asked: SearchRequest,
    each: tuple[float, float],
    candidates: tuple[Candidate, ...],
    guarantee: Guarantee,
    score_regret: float,
    pick: Pick | None = None,
    runs: Runs | None = None,
) -> SearchPlan:
    return SearchPlan(
        way,
        asked.n_train,
        asked.n_val,
        asked.epsilon,
        asked.delta,
        each,
        candidates,
        replace(guarantee, requested=(asked.epsilon, asked.delta)),
        score_regret,
        pick,
        runs,
    )


def as_parameters(planned: SearchPlan) -> dict[str, Any]:
    """Public settings of a plan, as recorded in a ledger."""
    names = ("way", "n_train", "n_val", "epsilon", "delta", "mean_fits")
    return {
        **{name: getattr(planned, name) for name in names},
        "candidates": [one.in_words for one in planned.candidates],
        "each": list(planned.each),
    }
