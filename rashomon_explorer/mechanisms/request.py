"""Requests to mechanisms, their offers, and what plans of one model share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from rashomon_explorer._utils.validation import check_count, check_nonnegative
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.privacy.conversions import filter_order, gdp_mu, zcdp_rho
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, get_loss, zero_model_loss

_NO_STEP = "the loss has kinks, and no largest stable step"

ZCDP = "zcdp"
"""Marks a ledger that composes pure DP and zCDP only."""


GDP = "gdp"
"""Marks a ledger that composes pure DP and Gaussian DP only."""


def draws_rule(ledger: bool | float | str) -> bool | str:
    """Whether draws compose in a ledger, and the mark of one that counts Gaussian DP."""
    return GDP if ledger == GDP else bool(ledger)


def cost_at_order(
    epsilon: float, delta: float, ledger: bool | float | str
) -> tuple[float, float] | None:
    """Rényi order a of (ε, δ), and a·ρ with ρ its zCDP; None in a ledger without an order.

    A ledger of a larger budget counts at a smaller order, where no divergence is larger: charges
    whose ε add up to its budget are accepted (docs/ledger-proofs.md).
    """
    order = filter_order(epsilon, delta) if ledger and ledger not in (ZCDP, GDP) else None
    return None if order is None else (order, order * zcdp_rho(epsilon, delta))


@dataclass(frozen=True)
class Request:
    """Budget, shape of the data and settings of a request, in public numbers."""

    n: int
    p: int
    psi: float
    loss: str | Loss
    radius: float
    row_norm: float
    ridge: float
    epsilon: float
    delta: float
    n_draws: int
    ledger: bool | float | str = False
    in_chunks: bool = False

    @property
    def cost_at_order(self) -> tuple[float, float] | None:
        """Rényi order a and the D_a available at that order; see :func:`cost_at_order`."""
        return cost_at_order(self.epsilon, self.delta, self.ledger)

    @property
    def gaussian_mu(self) -> float:
        """Largest μ of Gaussian DP within the budget, by a ledger's composition if there is one."""
        if self.ledger and self.ledger != GDP:
            return math.sqrt(2 * zcdp_rho(self.epsilon, self.delta))
        return gdp_mu(self.epsilon, self.delta)

    @property
    def why_no_descent(self) -> str:
        """Reason why noisy gradient steps do not apply; empty if they do."""
        if not self.delta > 0:
            return "needs delta > 0"
        return "" if math.isfinite(self.constants.M) else _NO_STEP

    def check(self) -> None:
        """Raise an error if ψ or the number of draws is out of range."""
        check_nonnegative(psi=self.psi)
        check_count(n_draws=self.n_draws)

    @property
    def numbers(self) -> dict[str, Any]:
        """Arguments of :func:`rashomon_explorer.mechanisms.planning.plan`."""
        numbers = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del numbers["in_chunks"]
        return {**numbers, "ledger": draws_rule(self.ledger)}

    @property
    def loss_function(self) -> Loss:
        """The loss, also if it was named."""
        return get_loss(self.loss)

    @property
    def zero_loss(self) -> float:
        """Upper bound on the loss of the model of zeros."""
        return zero_model_loss(self.loss_function)

    @property
    def plan_fields(self) -> dict[str, Any]:
        """Fields of a plan for this request, except those that its mechanism chooses."""
        loss = self.loss_function
        return {
            **{name: getattr(self, name) for name in ("n", "p", "psi", "epsilon", "delta")},
            "n_draws": self.n_draws,
            "loss": loss.name,
            "oscillation": self.constants.charged_oscillation,
            "ledger": draws_rule(self.ledger),
            "radius": float(self.radius),
            "row_bound": float(self.row_norm),
            "ridge": float(self.ridge),
            "outputs": loss.outputs,
            "zero_loss": self.zero_loss,
        }

    @property
    def domain(self) -> Ball:
        """Ball of the models."""
        return Ball(self.radius)

    @cached_property
    def constants(self) -> Constants:
        """Public constants of the loss on the domain."""
        return Constants.from_loss(
            self.loss,
            n=self.n,
            p=self.p,
            domain=self.domain,
            row_bound=self.row_norm,
            ridge=self.ridge,
        )


@dataclass(frozen=True)
class Offer:
    """Candidate: a mechanism's plan for a request, or the reason why it does not apply."""

    name: str
    summary: str
    uniform: bool
    why: str
    plan: Any = None

    @property
    def applies(self) -> bool:
        """Whether the mechanism applies to the request."""
        return self.plan is not None

    @property
    def guarantee(self) -> Guarantee | None:
        """Guarantee of all draws; None if the mechanism does not apply."""
        return None if self.plan is None else self.plan.guarantee

    @property
    def beta(self) -> float:
        """Inverse temperature of the plan."""
        return 0.0 if self.plan is None else self.plan.beta

    @property
    def hit_rate(self) -> float:
        """Guaranteed hit rate of a draw."""
        return 0.0 if self.plan is None else self.plan.hit_rate_bound

    @property
    def excess(self) -> float:
        """Bound on the expected excess loss of a draw."""
        return math.inf if self.plan is None else self.plan.excess_bound

    @property
    def n_steps(self) -> int:
        """Number of steps of each chain; 0 without chains."""
        return getattr(self.plan, "n_steps", 0)

    @property
    def time(self) -> float:
        """Time n_steps·h of each chain; 0 without chains."""
        return self.n_steps * float(getattr(self.plan, "step_size", 0.0))


T = TypeVar("T")

_SHARES = (0.0, *(2.0 ** (-k) for k in range(-1, 15)))  # of L₀/R
_MOST_RIDGE = 2.0**20


def added(request: Request, ridge: float) -> float:
    """Ridge that a mechanism adds to the user's."""
    return max(0.0, ridge - request.ridge)


def own_cost(request: Request, ridge: float) -> float:
    """Excess loss ½m'R² that an added ridge m' costs at the best model."""
    return added(request, ridge) / 2 * request.radius**2


def best_ridged(
    request: Request, made: Callable[[Request], tuple[float, T]], every: int = 1
) -> tuple[float, T]:
    """Ridge that minimises the first value of ``made``, and the second value at that ridge.

    The first value is at least what the added ridge costs.
    """
    scale = data_lipschitz(request.constants, request.domain) / request.radius
    ridges = {min(request.ridge + scale * share, _MOST_RIDGE) for share in _SHARES[::every]}
    least, best = math.inf, None
    for ridge in sorted(ridges):
        if best is not None and own_cost(request, ridge) >= least:
            break  # this ridge alone, and every larger one, costs more than the best of all
        value, made_of = made(replace(request, ridge=ridge))
        if best is None or value < least:
            least, best = value, (ridge, made_of)
    assert best is not None
    return best


def generalisation_gap(request: Request) -> float:
    """Bound 2L₀R/√n on E[risk − loss on the rows], for any model computed from the rows."""
    return batch_gap(request, request.n, request.radius)


def batch_gap(request: Request, size: int, reach: float) -> float:
    """Bound the same gap for ``size`` rows and a ball of models that does not depend on them.

    For rows sampled from a table without replacement, it holds with the table's mean in place of
    the risk (Hoeffding 1963: no convex function of their sum has a larger mean).
    """
    outputs = request.loss_function.outputs
    several = math.sqrt(2 * outputs) if outputs > 1 else 1.0
    slope = data_lipschitz(request.constants, request.domain)
    return 2 * several * slope * reach / math.sqrt(size)


def stable_gap(request: Request, ridge: float, error: float = 0.0) -> float:
    """Bound L₀(2L₀/(mn) + error) on the same gap, for a model that moves by at most the bracket.

    If one row is replaced, a minimiser under a ridge m, a Gibbs draw at ψ = 0 (coupled) and a
    minimiser plus noise move by 2L₀/(mn), plus the solver's errors on both sides (Bousquet and
    Elisseeff 2002; Corollary E.3 of "On the universality of Langevin diffusion").
    """
    slope = data_lipschitz(request.constants, request.domain)
    moved = 2 * slope / (ridge * request.n) + error if ridge > 0 else math.inf
    return min(generalisation_gap(request), slope * moved)
