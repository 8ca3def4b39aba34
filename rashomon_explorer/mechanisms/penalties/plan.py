"""Plan of a private choice of penalties."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact, ReprMixin, hit_rate_text, rounded_up
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.costs import affordable_eta, draws_guarantee
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.penalties import landscape as landscapes
from rashomon_explorer.mechanisms.penalties.constants import PenaltyConstants
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.guarantee import epsilon_delta_text

MECHANISMS = ("exponential", "generalised")
"""Mechanisms that draw from the grid; both are exact and pure DP."""

_MAY_BE = {"exponential": "nearly uniform", "generalised": "no better than a uniform random choice"}
SURE = 0.9
"""Share of draws for which summaries state an excess bound."""
_NEAR = 0.1


@dataclass(frozen=True, repr=False, kw_only=True)
class PenaltyPlan(ReprMixin):
    """Plan of private penalties: what every mechanism states."""

    constants: PenaltyConstants
    d: int
    mechanism: str
    spacing: float
    epsilon: float
    delta: float
    n_draws: int
    guarantee: Guarantee
    psi: float = 0.0
    eta: float = 0.0
    refit: Plan | None = None
    why: str = ""

    @property
    def n(self) -> int:
        """Number of rows of both sides."""
        return self.constants.n_train + self.constants.n_val

    @property
    def beta(self) -> float:
        """Inverse temperature of a draw from the grid; 0 if there is none."""
        raise NotImplementedError

    @property
    def weakness(self) -> str:
        """Reason why the guarantee is weak; empty if it is not."""
        raise NotImplementedError

    @property
    def suggestion(self) -> str:
        """Changes that improve the guarantee."""
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, Any]:
        """Public settings, as a ledger records them."""
        known = self.constants
        names = ("mechanism", "d", "spacing", "psi", "n_draws", "eta", "beta")
        return {
            "n_train": known.n_train,
            "n_val": known.n_val,
            "estimator": known.estimator,
            "bounds": [known.low, known.high],
            "margin_bound": known.margin_bound,
            **{name: getattr(self, name) for name in names},
            "refit": None if self.refit is None else self.refit.certificate,
        }

    def _title(self) -> str:
        draws = f"{self.n_draws:,} draw{'' if self.n_draws == 1 else 's'}"
        penalties = f"{self.d} penalt{'y' if self.d == 1 else 'ies'}"
        return f"{type(self).__name__}: {draws} of {penalties} on {self.n:,} rows"

    def _facts(self) -> list[Fact]:
        known = self.constants
        return [
            *self._bounds(),
            ("privacy cost", epsilon_delta_text(self.epsilon, self.delta)),
            ("split", f"{known.n_train:,} rows are fitted, {known.n_val:,} validate"),
            *([("chosen", self.why)] if self.why else []),
            *([("warning", f"{self.weakness}. {self.suggestion}")] if self.weakness else []),
        ]

    def _bounds(self) -> list[Fact]:
        """List what the mechanism guarantees, and its law."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False, kw_only=True)
class TuningPlan(PenaltyPlan):
    """Plan of draws of penalties on a public grid, with their guarantees."""

    @property
    def beta(self) -> float:
        """Inverse temperature η/s, or η/(2s) if generalised; s includes the inner errors."""
        exponential = self.mechanism == "exponential"
        return self.eta / self.constants.charged_range / (1 if exponential else 2)

    @property
    def n_points(self) -> int:
        """Number N of points of the grid."""
        return grid_points(self.constants, self.d, self.spacing)

    @property
    def loss_range(self) -> float:
        """Largest range of the validation loss over the penalties, for any rows."""
        known = self.constants
        path = math.log(known.high / known.low) * math.sqrt(self.d)
        return min(known.loss_range, known.slope * path)

    def excess_within(self, probability: float) -> float:
        """Excess over the grid's least validation loss that holds with this probability."""
        beyond = max(math.log((self.n_points - 1) / (1 - probability)), 0.0) / self.beta
        return min(self.psi + beyond, self.loss_range)

    @property
    def excess_bound(self) -> float:
        """Bound on the expected excess over the grid's least validation loss."""
        return min(self.psi + (math.log(self.n_points - 1) + 1) / self.beta, self.loss_range)

    @property
    def from_uniform(self) -> float:
        """Bound on the total variation distance from a uniform choice: tanh(β·range/4)."""
        reach = max(self.loss_range - self.psi, 0.0)
        if self.mechanism == "exponential":
            return math.tanh(self.beta * reach / 4)
        least = landscapes.pair_sensitivity(self.constants, np.array([self.constants.high]))
        return math.tanh(self.eta / 2 * reach / float(least[0, 0]) / 4)

    @property
    def weakness(self) -> str:
        if self.from_uniform <= _NEAR:
            return (
                f"the draw is nearly uniform: for any rows, its total variation distance from a "
                f"uniform random choice is at most {rounded_up(self.from_uniform)}"
            )
        if self.excess_within(SURE) < self.constants.zero_loss:
            return ""
        return (
            f"the validation loss of a draw may exceed the least by {rounded_up(self._sure)}, and "
            f"that of a model of zeros is at most {rounded_up(self.constants.zero_loss)}: the draw "
            "may be "
            f"{_MAY_BE[self.mechanism]}"
        )

    @property
    def suggestion(self) -> str:
        goal = self.constants.zero_loss / 2 - self.psi
        if goal <= 0:
            return ""
        needed = math.log((self.n_points - 1) / (1 - SURE)) / goal
        times = needed / self.beta
        return (
            f"Use about {rounded_up(times)} times the rows, as many times the ε, or a "
            f"lowest penalty above {self.constants.low:g}"
        )

    @property
    def _sure(self) -> float:
        return self.excess_within(SURE)

    def target(
        self, landscape: landscapes.PenaltyLandscape, sampler: FiniteGridSampler
    ) -> landscapes.PenaltyTarget | landscapes.GeneralisedTarget:
        """Law of a draw, for a sampler on the plan's grid."""
        if self.mechanism == "exponential":
            return landscapes.PenaltyTarget(landscape, self.beta, self.psi)
        points = sampler.points(landscape.p, landscape.domain)
        pairs = landscapes.pair_sensitivity(
            self.constants, landscape.box.penalties(points).min(axis=0)
        )
        return landscapes.GeneralisedTarget(landscape, self.eta, pairs, self.psi)

    def _bounds(self) -> list[Fact]:
        known = self.constants
        source = "training" if known.training_range > known.validation_range else "validation"
        facts = [
            ("grid", f"{self.n_points:,} points, λ from {known.low:g} to {known.high:g}"),
            ("excess", f"≤ {rounded_up(self.excess_bound)} on average, over the grid's best"),
            ("surely", f"≤ {rounded_up(self._sure)} in {hit_rate_text(SURE)} of draws"),
            ("law", f"{self.mechanism}, β = {self.beta:,.3g}; s = {known.range:.3g}, by {source}"),
        ]
        if self.refit is not None:
            bound = self.refit.excess_bound
            refit_text = f"excess ≤ {rounded_up(bound)}" if math.isfinite(bound) else "no guarantee"
            facts.append(("refit", f"{refit_text}, by {self.refit.mechanism}"))
        return facts


def grid_points(constants: PenaltyConstants, d: int, spacing: float) -> int:
    """Count of grid points: multiples of ``spacing`` in the cube of log penalties."""
    half = math.log(constants.high / constants.low) / 2
    return int((2 * math.floor(half / spacing * (1 + 1e-12)) + 1) ** d)


MOST_PENALTIES = 3
"""Largest number of penalties for draws from the grid."""

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
    """Plan draws of penalties by the exponential mechanism on a grid; reads no row."""
    validation.check_epsilon(epsilon)
    validation.check_delta(delta)
    validation.check_count(n_draws=n_draws, d=d)
    validation.check_nonnegative(psi=psi)
    _check_few(d)
    apart = log_spacing(constants, d, spacing)
    points = grid_points(constants, d, apart)
    if points > _MOST_POINTS or points < 2:
        raise SamplerError(
            f"spacing {spacing!r} makes {points:,} points of {d} penalties between "
            f"{constants.low:g} and {constants.high:g}, expected 2 to {_MOST_POINTS:,}: each is a "
            "fit. Change spacing, the factor between neighbouring penalties"
        )
    eta, guarantee = _budgeted(epsilon, delta, n_draws, refit, ledger)
    total = replace(guarantee, requested=(epsilon, delta))
    planned = TuningPlan(
        constants=constants, d=d, mechanism="exponential", spacing=apart, epsilon=epsilon,
        delta=delta, n_draws=n_draws, guarantee=total, psi=psi, eta=eta, refit=refit,
    )  # fmt: skip
    return _with_mechanism(planned, mechanism)


def _with_mechanism(planned: TuningPlan, mechanism: str) -> TuningPlan:
    """Use the requested mechanism, or for ``"auto"`` the better one by public numbers."""
    if mechanism not in ("auto", *MECHANISMS):
        raise ValueError(f"mechanism must be 'auto' or one of {MECHANISMS}, got {mechanism!r}")
    few = planned.n_points <= _MOST_PAIRED
    if mechanism == "generalised" and not few:
        raise SamplerError(
            f"the generalised mechanism compares all pairs of at most {_MOST_PAIRED:,} points, and "
            f"the grid has {planned.n_points:,}: use a larger spacing, or mechanism='exponential'"
        )
    if mechanism != "auto":
        return replace(planned, mechanism=mechanism)
    excess = rounded_up(planned.excess_within(SURE))
    if planned.excess_within(SURE) <= planned.constants.zero_loss / 2:
        return replace(planned, why=f"the exponential mechanism guarantees an excess of {excess}")
    share = 1.0
    if few:  # the mean over all pairs of different points of one penalty's grid
        lowest = np.geomspace(planned.constants.low, planned.constants.high, 33)
        pairs = landscapes.pair_sensitivity(planned.constants, lowest)
        different = pairs[~np.eye(len(pairs), dtype=bool)]
        share = float(different.mean()) / planned.constants.charged_range
    if share >= 0.5:
        return replace(planned, why="a record moves most pairs of penalties by about the maximum")
    why = (
        f"on average a record moves a comparison of two penalties by {share:.2f} of the maximum, "
        f"and the exponential mechanism guarantees an excess of {excess} only"
    )
    return replace(planned, mechanism="generalised", why=why)


def _check_few(d: int) -> None:
    if d > MOST_PENALTIES:
        raise SamplerError(
            f"{d} penalties were requested, but a grid takes at most {MOST_PENALTIES}: the "
            "validation loss is not convex in them, so that no other exact draw is known. Put "
            "the columns in up to three groups: penalty='group', groups=[[...], [...]]"
        )


def log_spacing(constants: PenaltyConstants, d: int, spacing: float | None) -> float:
    """Distance of neighbouring grid points in log penalties; by default a public value."""
    if spacing is None:
        return math.log(constants.high / constants.low) / 2 / _STEPS_A_SIDE[d]
    validation.check_positive(spacing=spacing)
    if spacing <= 1:
        raise ValueError(
            f"spacing must be > 1, the factor between neighbouring penalties, got {spacing!r}"
        )
    return math.log(spacing)


def _budgeted(
    epsilon: float, delta: float, n_draws: int, refit: Plan | None, ledger: bool
) -> tuple[float, Guarantee]:
    """Largest η of one draw within the budget, and the guarantee of all releases."""

    def total(eta: float) -> Guarantee:
        tuning = draws_guarantee(eta, n_draws, ledger=ledger or refit is not None)
        return tuning if refit is None else compose([tuning, refit.guarantee])

    if refit is None:
        eta = affordable_eta(epsilon, delta, n_draws, ledger=ledger)
    else:
        eta = bisect(
            lambda eta: total(eta).epsilon(delta) <= epsilon, 0.0, 2 * epsilon, halvings=80
        )
    if eta <= 0:
        raise ValueError(
            f"the refit takes all of epsilon={rounded_up(epsilon)}: lower refit_share, or use "
            "refit=None"
        )
    return eta, total(eta)
