"""What is asked of a mechanism, and what it offers: public numbers both."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.losses import Loss
from rashomon_explorer.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Request:
    """What is to be bought, in public numbers.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger
        As in :func:`rashomon_explorer.planning.plan`.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
    >>> asked = Request(**rows, radius=4, row_norm=1.5, epsilon=1, delta=0, n_draws=1)
    >>> asked.constants.osc
    0.00024
    """

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
    ledger: bool = False

    @property
    def numbers(self) -> dict[str, Any]:
        """Arguments of :func:`rashomon_explorer.planning.plan`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def domain(self) -> Ball:
        """Where the models lie."""
        return Ball(self.radius)

    @cached_property
    def constants(self) -> Constants:
        """Of the loss on the domain."""
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
    """What a mechanism gives for a budget, or why it cannot.

    Parameters
    ----------
    name : str
        Key in ``MECHANISMS``.
    draws : str
        What a draw is, in words.
    uniform : bool
        Whether the draws that hit the Rashomon set are uniform on it, as a sampler of the set
        has to be (Definition 1.4 of Ganesh et al. 2023). Others crowd near the best model and
        show less of the set than there is.
    why : str
        Why it applies or does not.
    plan : Plan, LocalisationPlan, RegularisedPlan or None
        What carries it out; None where it does not apply. Those of one model are of one draw.
    beta : float
        Inverse temperature.
    hit_rate : float
        A draw lies in the Rashomon set with at least this probability.
    excess : float
        Bound of its expected excess loss.
    n_steps : int
        Steps of a chain; 0 without chains.
    time : float
        Time h·N of a chain; 0 without chains.
    guarantee : Guarantee or None
        Of all draws; None where it does not apply.

    Examples
    --------
    >>> from rashomon_explorer.planning import MECHANISMS
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
    >>> asked = Request(**rows, radius=4, row_norm=1.5, epsilon=1, delta=0, n_draws=1)
    >>> round(MECHANISMS["exact"].offer(asked).hit_rate, 3)
    0.87
    >>> MECHANISMS["path"].offer(asked).why
    'needs delta > 0'
    """

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
        """Whether the budget can be spent so."""
        return self.guarantee is not None


class Mechanism(Protocol):
    """A way to make private draws, as the planner knows it."""

    name: ClassVar[str]
    draws: ClassVar[str]
    uniform: ClassVar[bool]
    instead: ClassVar[str] = ""
    """Key of the mechanism whose plan it makes where it has no better one to offer."""

    def plan(self, request: Request) -> Any:
        """Plan that carries it out; whoever cannot be served hears of it in an error."""
        ...

    def offer(self, request: Request) -> Offer:
        """Say what it gives for the budget, or why it does not apply."""
        ...


def declined(mechanism: Mechanism, why: str) -> Offer:
    """Offer of a mechanism that does not apply, and why."""
    return Offer(mechanism.name, mechanism.draws, mechanism.uniform, why)
