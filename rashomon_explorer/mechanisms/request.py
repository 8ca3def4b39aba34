"""Requests to mechanisms: public numbers, and the rule by which a ledger composes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import Delegated
from rashomon_explorer.privacy.conversions import filter_order, gdp_mu, zcdp_rho
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import LOSSES, Loss, get_loss, zero_model_loss

AUTO = "auto"
"""Marks a setting that the rule chooses."""

USUAL_PATIENCE = 5_000_000
"""Rejected proposals in a row after which exact draws give up by default."""

_NO_STEP = "the loss has kinks, and no largest stable step"

POISSON, SAMPLED, ALLOCATED = "poisson", "sampled", "allocated"
BATCH_ORDERS = (POISSON, SAMPLED, ALLOCATED)
"""Orders of batches: each row with a probability, or a fixed number, drawn anew in each step; or
each row in one batch of an epoch, drawn anew in each epoch."""

NO_LEDGER_ALLOCATES = (
    f'batch_order="{ALLOCATED}" has no Rényi bound for a ledger, got one: use ledger=None, or '
    f'batch_order="{POISSON}"'
)
"""Error where a ledger is to charge steps on allocated batches."""

USUAL_SHARE = 0.5
"""Share of the states of a path that a plan guarantees in the set, where the budget allows it."""

ZCDP = "zcdp"
"""Marks a ledger that composes pure DP and zCDP only."""


GDP = "gdp"
"""Marks a ledger that composes pure DP and Gaussian DP only."""


def draws_rule(ledger: bool | str) -> bool | str:
    """Whether draws compose in a ledger, and the mark of one that counts Gaussian DP."""
    return GDP if ledger == GDP else bool(ledger)


def cost_at_order(epsilon: float, delta: float, ledger: bool | str) -> tuple[float, float] | None:
    """Rényi order a of (ε, δ), and a·ρ with ρ its zCDP; None in a ledger without an order.

    A ledger of a larger budget counts at a smaller order, where no divergence is larger: charges
    whose ε add up to its budget are accepted (docs/ledger-proofs.md).
    """
    order = filter_order(epsilon, delta) if ledger and ledger not in (ZCDP, GDP) else None
    return None if order is None else (order, order * zcdp_rho(epsilon, delta))


@dataclass(frozen=True)
class Request:
    """Public numbers from which a mechanism plans: shape of the table, settings and budget."""

    n: int
    p: int  # parameters with the intercept
    psi: float
    loss: str | Loss
    radius: float  # of the ball of models
    row_norm: float  # of a whole row, √(‖x‖² + 1) with an intercept
    ridge: float
    epsilon: float  # of all draws together, as delta
    delta: float
    n_draws: int
    ledger: bool | str = False  # whether costs compose in a ledger; ZCDP or GDP where it counts so
    in_chunks: bool = False
    patience: int | None = USUAL_PATIENCE
    batch_size: int | str | None = AUTO  # rows of a step of a path; None for all of them
    batch_order: str = POISSON
    share: float = USUAL_SHARE  # of a path's states in the set: the path is as wide as this allows

    def __post_init__(self) -> None:
        name = getattr(self.loss, "name", "")
        if name in LOSSES and self.loss == LOSSES[name]():
            object.__setattr__(self, "loss", name)  # equal requests are planned once

    @property
    def cost_at_order(self) -> tuple[float, float] | None:
        """Rényi order a and the D_a available at that order; see :func:`cost_at_order`."""
        return cost_at_order(self.epsilon, self.delta, self.ledger)

    @cached_property
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
        """Raise an error for a number out of range."""
        validation.check_epsilon(self.epsilon)
        validation.check_delta(self.delta)
        validation.check_nonnegative(psi=self.psi, ridge=self.ridge)
        validation.check_count(n_draws=self.n_draws)
        if not isinstance(self.batch_size, str | None):
            validation.check_count(batch_size=self.batch_size)
        if self.batch_order not in BATCH_ORDERS:
            raise ValueError(f"batch_order must be one of {BATCH_ORDERS}, got {self.batch_order!r}")
        if self.batch_order == ALLOCATED and self.ledger:
            raise ValueError(NO_LEDGER_ALLOCATES)
        validation.check_inner_share(share=self.share)
        self.constants  # noqa: B018  # those of absurd rows or models are refused

    @property
    def composition(self) -> bool | str:
        """Whether draws compose in a ledger, and the mark of one that counts Gaussian DP."""
        return draws_rule(self.ledger)

    @property
    def loss_function(self) -> Loss:
        """The loss, also if it was named."""
        return get_loss(self.loss)

    loss_name = Delegated[str]("loss_function.name")
    outputs = Delegated[int]("loss_function.outputs", "Number of scores per row.")

    @property
    def zero_loss(self) -> float:
        """Upper bound on the loss of the model of zeros."""
        return zero_model_loss(self.loss_function)

    oscillation = Delegated[float](
        "constants.charged_oscillation", "Oscillation of L_D − L_D' that is charged."
    )

    @property
    def domain(self) -> Ball:
        """Ball of the models."""
        return Ball(self.radius)

    @cached_property
    def constants(self) -> Constants:
        """Public constants of the loss on the domain."""
        return self.data_constants.with_ridge(self.ridge, self.radius)

    @cached_property
    def data_constants(self) -> Constants:
        """Constants of the loss without its ridge."""
        loss: Any = self.loss_function  # hashable, as every loss
        return _data_constants(loss, self.n, self.p, self.radius, self.row_norm)


@lru_cache(maxsize=256)
def _data_constants(loss: str | Loss, n: int, p: int, radius: float, row_norm: float) -> Constants:
    """Constants of the loss without a ridge: planning tries many ridges in one ball."""
    return Constants.from_loss(loss, n=n, p=p, domain=Ball(radius), row_bound=row_norm)


@dataclass(frozen=True)
class OpenRequest:
    """A request of which radius, ridge and number of draws may be ``"auto"``."""

    n: int
    p: int
    psi: float
    row_norm: float
    epsilon: float
    delta: float = 0.0
    loss: str | Loss = "logistic"
    radius: float | str = AUTO
    ridge: float | str = AUTO
    n_draws: int | str = AUTO
    ledger: bool | str = False
    in_chunks: bool = False
    patience: int | None = USUAL_PATIENCE
    batch_size: int | str | None = AUTO
    batch_order: str = POISSON
    share: float = USUAL_SHARE

    @property
    def is_open(self) -> bool:
        """Whether a setting is left to the rule."""
        return AUTO in (self.radius, self.ridge, self.n_draws)

    def with_defaults(self, **defaults: Any) -> OpenRequest:
        """Fill in values for settings that are left to the rule."""
        return replace(self, **{k: v for k, v in defaults.items() if getattr(self, k) == AUTO})

    def closed(self, **settings: Any) -> Request:
        """Request with these settings in place of the open ones."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Request(**(values | settings))


@dataclass(frozen=True)
class UnplannedRequest:
    """Public numbers of models that were drawn elsewhere, or under a loss that is not known."""

    n: int
    p: int
    psi: float
    loss: str
    n_draws: int
    oscillation: float = math.inf
    epsilon: float = math.inf
    delta: float = 0.0
    radius: float | None = None
    row_norm: float | None = None
    ridge: float = 0.0
    outputs: int = 1
    zero_loss: float | None = None
    ledger: bool | str = False

    loss_name = Delegated[str]("loss")
    composition = Delegated[bool | str]("ledger", "Whether draws compose in a ledger.")


@dataclass(frozen=True)
class TreeRequest:
    """Public numbers from which draws from a class of sparse trees are planned."""

    n: int
    psi: float
    epsilon: float
    delta: float
    n_draws: int
    log_size: float
    most_leaves: int
    n_labels: int = 2
    leaf_penalty: float = 0.0
    hit_rate: float = 0.9
    walk_rounding: float = 0.0
    ledger: bool | str = False
    max_depth: int | None = None
    questions: tuple[tuple[str, float | None], ...] = ()
    costs: tuple[tuple[int, ...], ...] = ()
    base_rate: float | None = None

    composition = Delegated[bool | str]("ledger", "Whether draws compose in a ledger.")

    @property
    def zero_loss(self) -> float:
        """Bound on the error of the better constant tree, without the penalty of its leaf."""
        return 1 - 1 / self.n_labels
