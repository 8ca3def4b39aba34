"""Requests to the planner, and the candidates that mechanisms return."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar

from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss

ZCDP = "zcdp"
"""Marks a ledger that composes pure DP and zCDP only."""


def cost_at_order(
    epsilon: float, delta: float, ledger: bool | float | str
) -> tuple[float, float] | None:
    """Rényi order a of a ledger, and a·ρ with ρ the zCDP of (ε, δ); None if it has no order."""
    own = filter_order(epsilon, delta) if ledger and ledger != ZCDP else None
    if own is None:
        return None
    order = min(own, float(ledger)) if not isinstance(ledger, bool) else own
    return order, order * zcdp_rho(epsilon, delta)


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
    def numbers(self) -> dict[str, Any]:
        """Arguments of :func:`rashomon_explorer.mechanisms.planning.plan`."""
        numbers = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del numbers["in_chunks"]
        return {**numbers, "ledger": bool(self.ledger)}

    @property
    def domain(self) -> Ball:
        """Ball of the models."""
        return Ball(self.radius)

    @cached_property
    def constants(self) -> Constants:
        """Public constants of the loss on the domain."""
        return Constants.of(
            self.loss,
            n=self.n,
            p=self.p,
            domain=self.domain,
            row_bound=self.row_norm,
            ridge=self.ridge,
        )


@dataclass(frozen=True)
class Offer:
    """Candidate: guarantees of a mechanism for a budget, or the reason why it does not apply."""

    name: str
    draws: str
    uniform: bool
    why: str
    plan: Any = None
    beta: float = 0.0
    hit_rate: float = 0.0
    excess: float = math.inf
    n_steps: int = 0
    time: float = 0.0
    guarantee: Guarantee | None = None

    @property
    def applies(self) -> bool:
        """Whether the mechanism applies to the request."""
        return self.guarantee is not None


class Mechanism(Protocol):
    """Protocol of a mechanism for private draws that the planner compares."""

    name: ClassVar[str]
    draws: ClassVar[str]
    uniform: ClassVar[bool]
    instead: ClassVar[str] = ""
    """Key of the mechanism whose plan is used if this one declines."""

    def plan(self, request: Request) -> Any:
        """Plan the draws; raise an error if the mechanism does not apply."""
        ...

    def offer(self, request: Request) -> Offer:
        """Return the guarantees for the budget, or the reason why the mechanism does not apply."""
        ...


def declined(mechanism: Mechanism, why: str) -> Offer:
    """Candidate of a mechanism that does not apply, with the reason."""
    return Offer(mechanism.name, mechanism.draws, mechanism.uniform, why)


T = TypeVar("T")

_SHARES = (0.0, *(2.0 ** (-k) for k in range(-1, 15)))  # of L₀/R
_MOST_RIDGE = 2.0**20


def added(request: Request, ridge: float) -> float:
    """Ridge that a method adds to the user's."""
    return max(0.0, ridge - request.ridge)


def own_cost(request: Request, ridge: float) -> float:
    """Excess loss ½m'R² that an added ridge m' costs at the best model."""
    return added(request, ridge) / 2 * request.radius**2


def best_ridged(
    request: Request, made: Callable[[Request], tuple[float, T]], every: int = 1
) -> tuple[float, T]:
    """Ridge that minimises the first value of ``made``, and the second value at that ridge."""
    scale = data_lipschitz(request.constants, request.domain) / request.radius
    wanted = {min(request.ridge + scale * share, _MOST_RIDGE) for share in _SHARES[::every]}
    tried = [replace(request, ridge=ridge) for ridge in sorted(wanted)]
    results = [(one.ridge, made(one)) for one in tried]
    ridge, (_, best) = min(results, key=lambda result: result[1][0])
    return ridge, best
