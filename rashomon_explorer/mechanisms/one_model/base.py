"""Methods of one private model, and their generalisation bound."""

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
    """What a method gives for a budget, in public numbers, or why it cannot.

    Parameters
    ----------
    method : str
        Key in ``METHODS``.
    model : str
        What the model is, in words.
    why : str
        How it is paid for, or why it does not apply.
    guarantee : Guarantee or None
        Of the model; None where the method does not apply.
    excess : float
        Expected excess of the loss on the rows, over the best model of the ball, is at most this,
        whatever the rows. A ridge that the method adds for itself is counted.
    unseen : float
        The same on new rows, for rows drawn independently from one law.
    ridge : float
        Ridge under which the model is made: the user's, and what the method adds.
    settings : object
        The method's own plan.
    exact : Plan or None
        Plan of exact draws, which can be tried on simulated rows; None where none is made so.
    may_give_up : bool
        Whether the model may not come.
    picks_rows : bool
        Whether it is made of rows that are picked, which takes a table that is held whole.
    looseness : float, default=1.0
        How many times looser its bound is taken to be than others' when methods are compared: a
        public constant, settled on tables (docs/one-model.md). It changes no promise.

    Examples
    --------
    >>> ModelOffer("gibbs", "a draw", "needs a ball").applies
    False
    """

    method: str
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
        """Whether the budget can be spent so."""
        return self.guarantee is not None

    def promised(self, goal: str) -> float:
        """Bound of the expected excess on the rows, or on new ones.

        Parameters
        ----------
        goal : {"rows", "population"}
        """
        return self.unseen if goal == "population" else self.excess

    def weighed(self, goal: str) -> float:
        """By what methods are compared: the promise, less what its bound is too loose by.

        Parameters
        ----------
        goal : {"rows", "population"}
        """
        return self.promised(goal) / self.looseness


class Method(Protocol):
    """A way to one private model."""

    name: ClassVar[str]
    model: ClassVar[str]

    def offer(self, request: Request) -> ModelOffer:
        """Say what it gives for the budget, or why it does not apply; reads no row."""
        ...

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """One model (p,) of a problem with the offer's ridge.

        Raises
        ------
        SamplerError
            If it does not come, which depends on the rows.
        """
        ...


def declined(method: Method, why: str) -> ModelOffer:
    """Offer of a method that does not apply, and why."""
    return ModelOffer(method.name, method.model, why)


def generalisation_gap(request: Request) -> float:
    """Bound 2L₀R/√n of E[risk − loss on the rows], of any model that was made from the rows.

    For rows drawn independently from one law, the largest difference over the ball has at most
    twice the Rademacher average of the losses as its mean; a loss of slope s in the score has at
    most s times that of the scores, which is RB/√n on rows of norm at most B (Bartlett and
    Mendelson 2002; for several scores a row, √2·√K times as much, Maurer 2016). L₀ = sB is without
    the ridge. Whatever was done with the rows, private or not, this holds.

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> round(generalisation_gap(Request(**rows, ridge=0.0, epsilon=1, delta=0, n_draws=1)), 9)
    0.8
    """
    return batch_gap(request, request.n, request.radius)


def batch_gap(request: Request, size: int, reach: float) -> float:
    """Bound the same of so many rows, for models of a ball that they do not decide about.

    Of rows taken from a table by chance, without return, it holds of the table's mean in place of
    the risk (Hoeffding 1963: no convex function of their sum has a larger mean).

    Parameters
    ----------
    request : Request
    size : int
        Rows.
    reach : float
        Radius of the ball, around whatever centre.

    Examples
    --------
    >>> rows = {"n": 400, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> asked = Request(**rows, ridge=0.0, epsilon=1, delta=0, n_draws=1)
    >>> round(batch_gap(asked, 100, 1.0), 9)
    0.2
    """
    outputs = get_loss(request.loss).outputs
    several = math.sqrt(2 * outputs) if outputs > 1 else 1.0
    slope = data_lipschitz(request.constants, request.domain)
    return 2 * several * slope * reach / math.sqrt(size)


def stable_gap(request: Request, ridge: float, error: float = 0.0) -> float:
    """Bound L₀(2L₀/(mn) + error) of the same, for a model that moves by the bracket at most.

    A minimiser under a ridge m, a Gibbs draw at ψ = 0 (coupled) and a minimiser plus noise move by
    2L₀/(mn) when one row is replaced, and by what the solver is off on both sides (Bousquet and
    Elisseeff 2002; Corollary E.3 of "On the universality of Langevin diffusion").

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> asked = Request(**rows, ridge=0.0, epsilon=1, delta=0, n_draws=1)
    >>> round(stable_gap(asked, 0.5), 9)
    0.04
    """
    slope = data_lipschitz(request.constants, request.domain)
    moved = 2 * slope / (ridge * request.n) + error if ridge > 0 else math.inf
    return min(generalisation_gap(request), slope * moved)
