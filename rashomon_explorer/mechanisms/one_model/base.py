"""Protocol of methods for one private model, and bounds on the generalisation gap."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.mechanisms.planning.offers import Request
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class ModelOffer:
    """Candidate: guarantees of a mechanism for a budget, or the reason why it does not apply."""

    name: str
    model: str
    why: str
    guarantee: Guarantee | None = None
    excess: float = math.inf
    unseen: float = math.inf
    ridge: float = 0.0
    settings: Any = None
    exact: Plan | None = None
    may_give_up: bool = False
    picks_rows: bool = False
    looseness: float = 1.0

    @property
    def applies(self) -> bool:
        """Whether the mechanism applies to the request."""
        return self.guarantee is not None

    def bound(self, goal: str) -> float:
        """Bound on the expected excess on the rows, or on new rows for ``"population"``."""
        return self.unseen if goal == "population" else self.excess

    def weighed(self, goal: str) -> float:
        """Excess bound divided by ``looseness``, by which methods are compared."""
        return self.bound(goal) / self.looseness


class Method(Protocol):
    """Protocol of a mechanism that releases one private model."""

    name: ClassVar[str]
    model: ClassVar[str]

    def offer(self, request: Request) -> ModelOffer:
        """Return the guarantees for the budget, or why it does not apply; reads no row."""
        ...

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """Draw one model (p,) of a problem with the candidate's ridge."""
        ...


def declined(method: Method, why: str) -> ModelOffer:
    """Candidate of a mechanism that does not apply, with the reason."""
    return ModelOffer(method.name, method.model, why)


def generalisation_gap(request: Request) -> float:
    """Bound 2L₀R/√n on E[risk − loss on the rows], for any model computed from the rows."""
    return batch_gap(request, request.n, request.radius)


def batch_gap(request: Request, size: int, reach: float) -> float:
    """Bound the same gap for ``size`` rows and a ball of models that does not depend on them.

    For rows sampled from a table without replacement, it holds with the table's mean in place of
    the risk (Hoeffding 1963: no convex function of their sum has a larger mean).
    """
    outputs = get_loss(request.loss).outputs
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
