"""Plans of several draws: their numbers, and the distribution that they imply."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rashomon_explorer._utils.formatting import Fact, duration_text
from rashomon_explorer.mechanisms.bounds.hit_rate import guaranteed_hit_rate, unthresholded_hit_rate
from rashomon_explorer.mechanisms.planning import weakness
from rashomon_explorer.mechanisms.planning.pricing import draws_guarantee
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan
from rashomon_explorer.mechanisms.request import Offer, Request, stable_gap
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.thresholds import Threshold, get_threshold

_SAME = 1e-12  # relative tolerance for equal oscillations of a plan and of its law


MINIMUM_PASSES = 16
"""Passes of a certified minimum at most, one a Newton step: 5 on a million ordinary rows."""

_FEW_PASSES = 4  # reading the rows first, columns' moments, the losses of the draws
_PASS_SECONDS = 0.1  # before a cluster's workers start
_ENTRY_SECONDS = 1e-8  # of a core; 2e-9 if kept, 2e-8 if read anew
_PRODUCT_SECONDS = 1e-9  # of a gradient, for an entry of a row in memory


def pass_seconds(n: int, p: int) -> float:
    """Measured seconds of one core for a pass over n chunked rows of p entries."""
    return _PASS_SECONDS + n * p * _ENTRY_SECONDS


@dataclass(frozen=True, repr=False, kw_only=True)
class Plan(weakness.BasePlan):
    """Parameters and guarantees of draws for a privacy budget, from public numbers.

    Parameters
    ----------
    n, p : int
        Rows and parameters (the intercept included).
    psi : float
        Rashomon threshold.
    loss : str
        Name of the loss.
    epsilon, delta : float
        Total privacy cost of all draws.
    n_draws : int
        Number of draws.
    eta : float
        Bounded range β·osc of one draw, which is also its ε; infinite for a path.
    beta : float
        Inverse temperature.
    oscillation : float
        Oscillation of L_D − L_D' that is charged.
    hit_rate_bound : float
        Lower bound on the probability that a draw lies in the Rashomon set.
    excess_bound : float
        Upper bound on the expected excess loss of a draw.
    guarantee : Guarantee
        Guarantee of all draws together.
    certificate : str, default="oscillation"
        Name of the certificate that proves the guarantee. One other than bounded range holds
        only for exact draws from the continuous law, not for those from a grid.
    ledger : bool, default=False
        Whether the privacy cost is what a ledger charges, whose rule holds under adaptive
        composition, or what this one batch of draws costs by itself.
    radius, row_bound : float, optional
        Radius of the ball of models, and the bound on the norm of a whole row: √(row_norm² + 1)
        for an estimator's ``row_norm`` and a constant 1. None if the plan was not made from them.
    ridge : float, default=0.0
        Strong convexity added.
    outputs : int, default=1
        Number of scores per row.
    zero_loss : float, optional
        Upper bound on the loss of the model of zeros; a larger excess bound is useless.
    law_psi : float, optional
        Threshold of the law that is drawn from, if it differs from that of the set: 0 for draws
        that concentrate near the best model.
    columns : ColumnsPlan, optional
        Private centres and spreads of the columns, released before the draws: ``epsilon`` and
        ``guarantee`` then cover both, and all bounds are for draws in the mapped columns.
    expected : ExpectedGain, optional
        Share of the possible gain that one model reaches on simulated tables of this shape: a
        prediction, no guarantee.
    mechanism : str, default=""
        Name of the mechanism that carries out the plan; empty if several can.
    why : str, default=""
        Reason why this option was selected, if there were several.
    options : tuple of Offer
        Options that were compared, the best first; not saved to files.
    """

    p: int
    loss: str
    oscillation: float
    certificate: str = "oscillation"
    radius: float | None = None
    row_bound: float | None = None
    ridge: float = 0.0
    outputs: int = 1
    zero_loss: float | None = None
    law_psi: float | None = None
    columns: ColumnsPlan | None = None
    mechanism: str = field(default="", compare=False)
    why: str = field(default="", compare=False)
    options: tuple[Offer, ...] = field(default=(), repr=False, compare=False)

    @property
    def threshold(self) -> Threshold:
        """Threshold function of the draws: the hard one, or none at ψ = 0."""
        return get_threshold("hard", self.drawn_psi)

    @property
    def drawn_psi(self) -> float:
        """Threshold ψ of the law that is drawn from."""
        return self.psi if self.law_psi is None else self.law_psi

    @property
    def law(self) -> Request | None:
        """Public numbers of the law that is drawn from; None if the plan does not record them."""
        if self.radius is None or self.row_bound is None:
            return None
        several = self.loss == "softmax"
        law = Request(
            n=self.n,
            p=self.p,
            psi=self.drawn_psi,
            loss=SoftmaxLoss(self.outputs + 1) if several else get_loss(self.loss),
            radius=self.radius,
            row_norm=self.row_bound,
            ridge=self.ridge,
            epsilon=self.epsilon,
            delta=self.delta,
            n_draws=self.n_draws,
            ledger=self.ledger,
        )
        # The name of a loss with parameters does not identify it.
        oscillation = law.constants.charged_oscillation
        return law if math.isclose(oscillation, self.oscillation, rel_tol=_SAME) else None

    @property
    def population_bound(self) -> float:
        """Bound on the expected excess loss on new rows, if rows are independent."""
        return self.excess_bound + self.generalisation_gap

    @property
    def generalisation_gap(self) -> float:
        """Bound on the expected loss on new rows above that on the given rows."""
        return math.inf if self.law is None else stable_gap(self.law, *self._stability)

    @property
    def _stability(self) -> tuple[float, float]:
        """Ridge and solver's error of a stable draw; exact draws are stable at ψ = 0."""
        return (self.ridge if self.of_exact_draws and not self.drawn_psi else 0.0), 0.0

    @property
    def by_bounded_range(self) -> bool:
        """Whether bounded range proves the guarantee, and not another certificate."""
        return self.certificate == "oscillation"

    @property
    def along_path(self) -> bool:
        """Whether a draw is computed from the states of a noisy path."""
        return False

    @property
    def steps(self) -> float:
        """Gradients over all rows, one after the other; 0 for a minimum."""
        return 0.0

    @property
    def repeats(self) -> int:
        """Number of the steps' chains, or of minima."""
        return 1

    @property
    def passes(self) -> float:
        """Passes of a fit over chunked rows, at most, if no draw is rejected.

        Chains take their steps together. The curator's minimum comes in addition.
        """
        own = self.steps or (MINIMUM_PASSES + 2) * self.repeats
        return own + MINIMUM_PASSES + _FEW_PASSES + self.n_draws / 4

    @property
    def gradients(self) -> float:
        """Gradients of one model over all rows that take as long as the mechanism's work."""
        # ten Newton steps, each with p/10 for a Hessian
        return self.repeats * (self.steps or 10 * (2 + self.p / 10))

    @property
    def memory_seconds(self) -> float:
        """Seconds of one core for the mechanism's work on rows in memory, roughly."""
        return self.gradients * self.n * self.p * _PRODUCT_SECONDS

    @property
    def of_exact_draws(self) -> bool:
        """Whether the draws have a Gibbs law, so that the theorems of exact draws apply."""
        return not self.along_path and not math.isinf(self.beta)

    def at(self, eta: float) -> tuple[float, float]:
        """Total ε and guaranteed hit rate of each of as many draws at another bounded range."""
        total = draws_guarantee(eta, self.n_draws, ledger=self.ledger).epsilon(self.delta)
        return total, self.hit_rate_at(eta)

    def hit_rate_at(self, eta: float) -> float:
        """Guaranteed hit rate of a draw at another bounded range."""
        bound = unthresholded_hit_rate if self.law_psi == 0 else guaranteed_hit_rate
        return bound(self.p, eta / self.oscillation, self.psi)

    def _title(self) -> str:
        kind = f"{'chain' if self.along_path else 'draw'}{'' if self.n_draws == 1 else 's'}"
        title = f"{type(self).__name__}: {self.n_draws:,} {kind}"
        return f"{title} on {self.n:,} rows, p = {self.p}"

    def _guaranteed(self) -> list[Fact]:
        facts = super()._guaranteed()
        if self.psi > 0 and self.loss == "squared":
            width = (
                math.sqrt(2 * self.psi) / 2
            )  # the constant model has ½σ², targets lie in [−1, 1]
            held = f"the constant model is within ψ if the targets' deviation is ≤ {width:.0%}"
            facts.append(("set", f"{held} of the width of their bounds"))
        return facts

    def _cost(self) -> str:
        rule = ", by the ledger's composition rule" if self.ledger else ""
        return f"{super()._cost()}, by {self.certificate}{rule}" if self.guarantee.holds else "none"

    def _time(self) -> str:
        chunked = self.passes * pass_seconds(self.n, self.p)
        in_memory = f"{duration_text(self.memory_seconds)} of one core"
        passes = f"at most {self.passes:,.0f} passes over chunked rows"
        return f"{in_memory}; {duration_text(chunked)} for {passes}"

    def _technical(self) -> list[Fact]:
        facts = [] if self.columns is None else [self.columns.fact]
        law = [f"{self.loss} loss"]
        if self.radius is not None:
            law.append(f"models of norm ≤ {self.radius:.3g}")
        law += [f"ridge {self.ridge:g}"] if self.ridge else []
        law += [f"inverse temperature β = {self.beta:,.0f}"] if math.isfinite(self.beta) else []
        return [*facts, ("law", ", ".join(law))]
