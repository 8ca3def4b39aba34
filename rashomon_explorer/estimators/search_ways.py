"""Ways to pay for a choice among models, planned by public numbers and weighed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.zcdp import zcdp_epsilon, zcdp_rho
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.selection import WAYS, Candidate, Runs, SearchPlan, dearer
from rashomon_explorer.selection.picks import Exponential, PermuteAndFlip, Pick, regret
from rashomon_explorer.selection.plan import most_noise

_FITS_A_CANDIDATE = 10  # of a random number of runs, where it is not declared
_TRIES = 12
_SAFE = 1 - 1e-9
_SHAPES = {"geometric": 1, "logarithmic": 0}

Priced = Callable[[tuple[float, float]], tuple[Candidate, ...]]


@dataclass(frozen=True)
class Asked:
    """What is asked of a search, in public numbers.

    Parameters
    ----------
    n_train, n_val : int
    epsilon, delta : float
    k : int
        Number of candidates.
    mean_runs : float or None
        Mean number of fits of the ways that run at random.
    """

    n_train: int
    n_val: int
    epsilon: float
    delta: float
    k: int
    mean_runs: float | None = None

    @property
    def sensitivity(self) -> float:
        """Δ of a score: a mean over the scoring rows of what lies in [0, 1]."""
        return 1 / self.n_val


def planned_search(asked: Asked, priced: Priced, way: str) -> SearchPlan:
    """Plan a search by the way that was named, or by the one that promises most.

    ``priced`` plans all candidates at an (ε, δ) each.

    Raises
    ------
    SamplerError
        If no way applies.
    """
    plans, refused = [], []
    for name in WAYS if way == "auto" else [way]:
        try:
            plans.append(_every(asked, priced) if name == "every" else _runs(asked, priced, name))
        except SamplerError as error:
            refused.append(f"{name}: {error}")
    if not plans:
        raise SamplerError("; ".join(refused))
    plans.sort(key=lambda one: one.promised)
    why = "it was asked for"
    if way == "auto":
        why = f"the least that is promised of any way, {rounded_up(plans[0].promised)}"
    return replace(plans[0], why=why, options=tuple(plans))


def _every(asked: Asked, priced: Priced) -> SearchPlan:
    """All fits add up on the rows that are fitted; the pick is paid for by the rows that score."""
    pick = _pick(asked)
    for each in _first_prices(asked):
        for _ in range(_TRIES):
            candidates = priced(each)
            whole = dearer(compose([one.guarantee for one in candidates]), pick.guarantee)
            paid = whole.epsilon(asked.delta)
            if paid <= asked.epsilon:
                return _plan(
                    "every", asked, each, candidates, whole, regret(pick, asked.k), pick=pick
                )
            if not math.isfinite(paid):
                break  # by a δ of their own, of which the sum is too large
            each = (each[0] * asked.epsilon / paid * _SAFE, each[1])
    raise SamplerError("the candidates' prices do not add up to a guarantee at this δ")


def _first_prices(asked: Asked) -> list[tuple[float, float]]:
    if asked.delta == 0:
        return [(asked.epsilon / asked.k * _SAFE, 0.0)]
    rho = zcdp_rho(asked.epsilon, asked.delta) / asked.k
    shares = [asked.delta, asked.delta / (2 * asked.k)]
    return [*((zcdp_epsilon(rho, delta), delta) for delta in shares), (math.sqrt(2 * rho), 0.0)]


def _pick(asked: Asked) -> Pick:
    """As dear as the fits: pure ε, or by its bounded range the ρ that (ε, δ) buys."""
    if asked.delta == 0:
        return PermuteAndFlip(asked.epsilon * _SAFE, asked.sensitivity)
    rho = zcdp_rho(asked.epsilon, asked.delta)
    return Exponential(_SAFE * math.sqrt(8 * rho), asked.sensitivity)


def _runs(asked: Asked, priced: Priced, way: str) -> SearchPlan:
    """Each run is pure DP, the model for the rows that are fitted and the score for the others."""
    mean = asked.mean_runs or _FITS_A_CANDIDATE * asked.k
    runs = Runs.of_mean(_SHAPES[way], mean)
    own = asked.epsilon / runs.factor * _SAFE
    candidates = priced((own, 0.0))
    dear = [one for one in candidates if not one.guarantee.pure_epsilon <= own * (1 + 1e-9)]
    if dear:
        raise SamplerError(f"{dear[0].in_words} has no pure price, which this way needs")
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
    asked: Asked,
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
        replace(guarantee, asked=(asked.epsilon, asked.delta)),
        score_regret,
        pick,
        runs,
    )


def as_parameters(planned: SearchPlan) -> dict[str, Any]:
    """Public settings of a plan, as a ledger writes them."""
    names = ("way", "n_train", "n_val", "epsilon", "delta", "mean_fits")
    return {
        **{name: getattr(planned, name) for name in names},
        "candidates": [one.in_words for one in planned.candidates],
        "each": list(planned.each),
    }
