"""The public numbers behind a plan, any of which may be changed."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.losses import Loss, SoftmaxLoss, get_loss
from rashomon_explorer.planning.planned import Plan
from rashomon_explorer.planning.pricing import PriceList

_SAME = 1e-12  # of the oscillation: whether the law at hand is the one that was planned


@dataclass(frozen=True)
class PublicLaw:
    """What a plan was made from, its budget apart."""

    loss: Loss
    # n, p: rows and parameters
    n: int
    p: int
    # psi, radius, row_norm, ridge: as in :func:`rashomon_explorer.planning.plan`
    psi: float
    radius: float
    row_norm: float
    ridge: float

    @classmethod
    def of(cls, planned: Plan) -> "PublicLaw | None":
        """Law of a plan; None where a plan does not say what it was made from, or not all of it.

        Examples
        --------
        >>> from rashomon_explorer.planning import plan
        >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
        >>> law = PublicLaw.of(plan(**rows, epsilon=1.0))
        >>> law.radius, law.loss.name
        (4.0, 'logistic')
        """
        if planned.radius is None or planned.row_norm is None:
            return None
        several = planned.loss == "softmax"
        law = cls(
            loss=SoftmaxLoss(planned.outputs + 1) if several else get_loss(planned.loss),
            n=planned.n,
            p=planned.p,
            psi=planned.drawn_psi,
            radius=planned.radius,
            row_norm=planned.row_norm,
            ridge=planned.ridge,
        )
        # A loss with parameters of its own is not known by its name.
        told = law.constants.priced_osc
        return law if abs(told - planned.oscillation) <= _SAME * told else None

    @property
    def constants(self) -> Constants:
        """Public constants of the law."""
        return Constants.of(
            self.loss,
            n=self.n,
            p=self.p,
            domain=Ball(self.radius),
            row_bound=self.row_norm,
            ridge=self.ridge,
        )

    def prices(self, planned: Plan) -> PriceList:
        """Prices of exact draws from the law by the best certificate, as the plan adds them up."""
        return PriceList(
            self.constants, Ball(self.radius), self.psi, planned.delta, planned.ledger, best=True
        )

    def wider(self, factor: float, name: str) -> "PublicLaw":
        """Return the law with one number a factor larger; rows are rounded up to whole ones."""
        value = factor * getattr(self, name)
        return replace(self, **{name: math.ceil(value) if name == "n" else value})
