"""From a budget to a law of penalties, by the mechanism that public numbers speak for."""

import math
from dataclasses import replace

import numpy as np

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.planning import Plan, affordable_eta
from rashomon_explorer.planning.pricing import price
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.search import bisect
from rashomon_explorer.tuning.pairwise import pair_sensitivity
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants
from rashomon_explorer.tuning.tuning_plan import MECHANISMS, SURE, TuningPlan, points_of
from rashomon_explorer.validation import (
    check_count,
    check_delta,
    check_epsilon,
    check_nonnegative,
    check_positive,
)

MOST_PENALTIES = 3
"""Penalties for which the grid is drawn from exactly."""

_STEPS_A_SIDE = {1: 16, 2: 8, 3: 4}
_MOST_POINTS = 20_000
_MOST_PAIRED = 2_000


def plan_tuning(
    constants: PenaltyConstants,
    d: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    n_draws: int = 1,
    psi: float = 0.0,
    spacing: float | None = None,
    mechanism: str = "exponential",
    refit: Plan | None = None,
    ledger: bool = False,
) -> TuningPlan:
    """Plan draws of penalties by the exponential mechanism on a grid; reads no row.

    The draws get what a refit leaves of (ε, δ).

    Parameters
    ----------
    constants : PenaltyConstants
    d : int
        Penalties to choose, at most 3.
    epsilon, delta : float
        Total price.
    n_draws : int, default=1
    psi : float, default=0.0
        Threshold, in units of the validation loss.
    spacing : float, optional
        Factor between neighbouring penalties, above 1; by default 16, 8 or 4 steps from the
        middle of the bounds to either end for 1, 2 or 3 penalties.
    mechanism : {"exponential", "generalised", "auto"}, default="exponential"
        ``"auto"`` takes the exponential one where it promises half of a model of zeros' loss in
        nine of ten draws; else the generalised one, where a record moves a comparison of two
        penalties by less than s/2 on average.
    refit : Plan, optional
        Of the model that is fitted afterwards, priced as a ledger prices.
    ledger : bool, default=False
        Whether the price is to be what a ledger charges.

    Raises
    ------
    ValueError
        If a number is out of range.
    SamplerError
        If there are more than three penalties, or too many points.

    Examples
    --------
    >>> known = PenaltyConstants("logistic", 1.5, 0.01, 1.0, 20_000, 10_000, margin_bound=4.0)
    >>> planned = plan_tuning(known, 1, epsilon=1.0)
    >>> planned.n_points, round(planned.beta), round(planned.excess_bound, 2)
    (33, 23, 0.2)
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_count(n_draws=n_draws, d=d)
    check_nonnegative(psi=psi)
    _check_few(d)
    apart = log_spacing(constants, d, spacing)
    points = points_of(constants, d, apart)
    if points > _MOST_POINTS or points < 2:
        raise SamplerError(
            f"spacing {spacing!r} makes {points:,} points of {d} penalties between "
            f"{constants.low:g} and {constants.high:g}, expected 2 to {_MOST_POINTS:,}: each is a "
            "fit. Change spacing, the factor between neighbouring penalties"
        )
    eta, guarantee = _priced(epsilon, delta, n_draws, refit, ledger)
    asked = replace(guarantee, asked=(epsilon, delta))
    made = TuningPlan(constants, d, apart, epsilon, delta, n_draws, psi, eta, asked, refit)
    return _with_mechanism(made, mechanism)


def _with_mechanism(made: TuningPlan, asked: str) -> TuningPlan:
    """Take the mechanism that is asked for, or the better one by public numbers."""
    if asked not in ("auto", *MECHANISMS):
        raise ValueError(f"mechanism must be 'auto' or one of {MECHANISMS}, got {asked!r}")
    few = made.n_points <= _MOST_PAIRED
    if asked == "generalised" and not few:
        raise SamplerError(
            f"the generalised mechanism compares all pairs of at most {_MOST_PAIRED:,} points, and "
            f"the grid has {made.n_points:,}: use a larger spacing, or mechanism='exponential'"
        )
    if asked != "auto":
        return replace(made, mechanism=asked)
    promised = rounded_up(made.excess_within(SURE))
    if made.excess_within(SURE) <= made.constants.zero_loss / 2:
        return replace(
            made, why=f"an excess of {promised} is promised of the exponential mechanism"
        )
    share = _mean_pair(made) / made.constants.priced_range if few else 1.0
    if share >= 0.5:
        return replace(made, why="a record moves most comparisons of penalties about as far as any")
    why = (
        f"on average a record moves a comparison of two penalties by {share:.2f} of the most, and "
        f"the exponential mechanism promises {promised} only"
    )
    return replace(made, mechanism="generalised", why=why)


def _mean_pair(made: TuningPlan) -> float:
    """Mean of Δ over all two different points of one penalty's grid."""
    known = made.constants
    lowest = np.geomspace(known.low, known.high, 33)
    pairs = pair_sensitivity(known, lowest)
    return float(pairs[~np.eye(len(pairs), dtype=bool)].mean())


def _check_few(d: int) -> None:
    if d > MOST_PENALTIES:
        raise SamplerError(
            f"{d} penalties were asked for, and a grid takes at most {MOST_PENALTIES}: the "
            "validation loss is not convex in them, so that no other exact draw is known. Put "
            "the columns in up to three groups: penalty='group', groups=[[...], [...]]"
        )


def log_spacing(constants: PenaltyConstants, d: int, spacing: float | None) -> float:
    """Distance of neighbouring points of the grid in log penalties, by default a public one."""
    if spacing is None:
        return math.log(constants.high / constants.low) / 2 / _STEPS_A_SIDE[d]
    check_positive(spacing=spacing)
    if spacing <= 1:
        raise ValueError(
            f"spacing must be > 1, the factor between neighbouring penalties, got {spacing!r}"
        )
    return math.log(spacing)


def _priced(
    epsilon: float, delta: float, n_draws: int, refit: Plan | None, ledger: bool
) -> tuple[float, Guarantee]:
    """η of one draw, the largest that the total allows, and what all releases reveal."""

    def together(eta: float) -> Guarantee:
        tuning = price(eta, n_draws, ledger=ledger or refit is not None)
        return tuning if refit is None else compose([tuning, refit.guarantee])

    if refit is None:
        eta = affordable_eta(epsilon, delta, n_draws, ledger=ledger)
    else:
        eta = bisect(
            lambda eta: together(eta).epsilon(delta) <= epsilon, 0.0, 2 * epsilon, halvings=80
        )
    if eta <= 0:
        raise ValueError(
            f"the refit takes all of epsilon={rounded_up(epsilon)}: lower refit_share, or "
            "refit=None"
        )
    return eta, together(eta)
