"""What a method of one private model offers for a budget, and what it must do."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning import Plan, Request
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem import Problem


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
