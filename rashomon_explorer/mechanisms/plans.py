"""Plans as data: what one fit will do and guarantees, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from rashomon_explorer._utils import formatting
from rashomon_explorer._utils.arrays import Delegated
from rashomon_explorer.mechanisms.private_scaling import ColumnsPlan
from rashomon_explorer.mechanisms.request import Request, UnplannedRequest
from rashomon_explorer.privacy.guarantee import Guarantee, epsilon_delta_text
from rashomon_explorer.problem.thresholds import Threshold, get_threshold

WEAK_HIT_RATE = 0.2
"""Guaranteed hit rate below which a plan, a fit, a release and a report warn."""

WEAK_GAIN = 0.5
"""Expected share of the possible gain below which one linear model warns."""

GAINS = {("accuracy", "AUC"): "gain in accuracy and AUC", ("R²",): "gain in R²"}
"""Names of the gains over a constant model: of accuracy and AUC, their sum."""

MINIMUM_PASSES = 16
"""Passes of a certified minimum at most, one a Newton step: 5 on a million ordinary rows."""

_FEW_PASSES = 4  # reading the rows first, columns' moments, the losses of the draws
_PASS_SECONDS = 0.1  # before a cluster's workers start
_ENTRY_SECONDS = 1e-8  # of a core; 2e-9 if kept, 2e-8 if read anew
_PRODUCT_SECONDS = 1e-9  # of a gradient, for an entry of a row in memory


def pass_seconds(n: int, p: int) -> float:
    """Measured seconds of one core for a pass over n chunked rows of p entries."""
    return _PASS_SECONDS + n * p * _ENTRY_SECONDS


class ExpectedGain(NamedTuple):
    """Share of the gain over a constant model that one private model keeps on simulated tables."""

    share: float  # median over the tables
    low: float  # quantiles of .1 and .9
    high: float
    tables: str
    least: float = WEAK_GAIN  # share below which a plan warns
    gain: str = "gain"
    scores: tuple[tuple[str, float, float, float], ...] = ()  # name, and the same quantiles

    @property
    def is_weak(self) -> bool:
        """Whether the median share is below ``least``."""
        return self.share < self.least

    @property
    def percent(self) -> int:
        """Median share in percent, between 0 and 100, to the nearest 5."""
        return _percent(self.share)

    @property
    def span(self) -> str:
        """Shares in percent that eight in ten tables lie between."""
        low, high = (_percent(share) for share in (self.low, self.high))
        return f"{low or 'none'} to {high} %" if high else "none"

    def __str__(self) -> str:
        scores = ", ".join(
            f"{name} {middle:.2f} ({low:.2f} to {high:.2f})"
            for name, middle, low, high in self.scores
        )
        return (
            f"{scores}{'; ' if scores else ''}{self.span} of the possible {self.gain}, by how "
            f"informative the columns are; {self.tables}; no guarantee"
        )


def _percent(share: float) -> int:
    return 5 * round(20 * min(1.0, max(0.0, share)))


@dataclass(frozen=True)
class Rejected:
    """A mechanism that does not serve a request, and the reason."""

    mechanism: str
    reason: str


@dataclass(frozen=True)
class Details:
    """Base of a mechanism's own numbers in a plan: noise scales, step sizes, ridges."""

    def threshold(self, plan: Plan) -> Threshold:
        """Threshold function of the draws: the hard one, or none at ψ = 0."""
        return get_threshold("hard", plan.law_threshold)

    bound_slack: ClassVar[float | None] = None
    """Factor by which the excess bound exceeds typical ones, if not that of the mechanism."""

    def cost(self, plan: Plan) -> tuple[float, float]:
        return plan.guarantee.requested or (plan.epsilon, plan.delta)

    def reads(self, plan: Plan) -> float:
        """Return the passes over chunked rows that the steps take; 0 if there are none."""
        return plan.steps

    def expected_width(self, plan: Plan) -> float:
        """Spread of the draws that is expected, relative to uniform draws of the set."""
        return 1.0

    def bounds(self, plan: Plan) -> list[formatting.Fact]:
        """List bounds that other plans do not have."""
        return []

    def facts(self, plan: Plan) -> list[formatting.Fact]:
        """List the mechanism's numbers, as labels and texts."""
        return []


_NO_DETAILS = Details()


@dataclass(frozen=True, repr=False, kw_only=True)
class Plan(formatting.ReprMixin):
    """What one fit will do and guarantees, from public numbers.

    Parameters
    ----------
    request : Request, TreeRequest or UnplannedRequest
        Public numbers: rows, parameters, ψ, loss, ball, ridge, budget and number of draws.
    mechanism : str
        Name of the mechanism that carries out the plan.
    guarantee : Guarantee
        Guarantee of all draws together, with the assumptions of the code that runs.
    excess_bound : float, default=inf
        Upper bound on the expected excess loss of a draw; infinite if none is proved.
    hit_rate : float, optional
        Lower bound on the probability that a draw lies in the Rashomon set; None if none is proved.
    certificate : str
        Name of the certificate that proves the guarantee. One other than bounded range holds
        only for exact draws from the continuous law, not for those from a grid.
    eta, beta : float, default=inf
        Bounded range of one draw, and inverse temperature; infinite without a temperature.
    law_psi : float, optional
        Threshold of the law that is drawn from, if it differs from that of the set: 0 for draws
        that concentrate near the best model.
    comparison_excess : float, optional
        Excess bound by which the rule compares the plan, if it differs from ``excess_bound``: of
        the loss with clipped slopes, or without a ridge that the mechanism adds.
    centre_excess : float, optional
        Excess bound of the model around which all draws lie.
    generalisation_gap : float, default=inf
        Bound on the expected loss on new rows above that on the given rows.
    steps : float, default=0
        Gradients over all rows, one after the other; 0 for a minimum.
    repeats : int, default=1
        Number of the steps' chains, or of minima.
    details : Details
        The mechanism's own numbers.
    columns : ColumnsPlan, optional
        Private centres and spreads of the columns, released before the draws: the budget and
        ``guarantee`` then cover both, and all bounds are for draws in the mapped columns.
    reason : str, default=""
        Reason why this plan was selected, if there were several.
    candidates : tuple of Plan or Rejected
        Mechanisms that were compared, the best first; not saved to files.
    simulation : ExpectedGain or callable, optional
        What one model is expected to reach on simulated tables, or the simulation, which runs when
        the plan is printed or warned about.

    Examples
    --------
    >>> from rashomon_explorer import DPClassifier
    >>> planned = DPClassifier(epsilon=1.0, classes=(0, 1)).plan(10_000, 5)
    >>> isinstance(planned, Plan), round(planned.guarantee.epsilon(1e-6), 3)
    (True, 1.0)
    """

    request: Any
    mechanism: str
    guarantee: Guarantee
    excess_bound: float = math.inf
    hit_rate: float | None = None
    certificate: str = "oscillation"
    eta: float = math.inf
    beta: float = math.inf
    law_psi: float | None = None
    comparison_excess: float = math.nan
    centre_excess: float | None = None
    generalisation_gap: float = math.inf
    steps: float = 0.0
    repeats: int = 1
    details: Any = _NO_DETAILS
    columns: ColumnsPlan | None = None
    reason: str = field(default="", compare=False)
    candidates: tuple[Plan | Rejected, ...] = field(default=(), repr=False, compare=False)
    simulation: ExpectedGain | Callable[[Plan], ExpectedGain | None] | None = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Compare by the excess bound unless the mechanism states another."""
        if math.isnan(self.comparison_excess):
            object.__setattr__(self, "comparison_excess", self.excess_bound)

    n = Delegated("request.n", "Number of rows.", int)
    p = Delegated("request.p", "Number of parameters, the intercept included; not of trees.", int)
    psi = Delegated("request.psi", "Rashomon threshold.", float)
    epsilon = Delegated("request.epsilon", "Total ε of all draws.", float)
    delta = Delegated("request.delta", "Total δ of all draws.", float)
    n_draws = Delegated("request.n_draws", "Number of draws.", int)

    @property
    def ledger(self) -> bool | str:
        """Whether the privacy cost is what a ledger charges, and its mark."""
        composition: bool | str = self.request.composition
        return composition

    loss = Delegated("request.loss_name", "Name of the loss.", str)

    @property
    def radius(self) -> float | None:
        """Radius of the ball of models; None if the plan was not made from one."""
        radius = self.request.radius
        return None if radius is None else float(radius)

    @property
    def row_bound(self) -> float | None:
        """Bound on the norm of a whole row; None if the plan was not made from one."""
        row_norm = self.request.row_norm
        return None if row_norm is None else float(row_norm)

    ridge = Delegated("request.ridge", "Strong convexity added.", float)
    outputs = Delegated("request.outputs", "Number of scores per row.", int)
    oscillation = Delegated(
        "request.oscillation", "Oscillation of L_D − L_D' that is charged.", float
    )

    @property
    def zero_loss(self) -> float | None:
        """Upper bound on the loss of a model of zeros; a larger excess bound is useless."""
        zero_loss: float | None = self.request.zero_loss
        return zero_loss

    @property
    def of_trees(self) -> bool:
        """Whether the draws are sparse trees."""
        return hasattr(self.request, "log_size")

    @property
    def hit_rate_bound(self) -> float:
        """Guaranteed hit rate, 0 if none is proved."""
        return self.hit_rate or 0.0

    @property
    def law_threshold(self) -> float:
        """Threshold ψ of the law that is drawn from."""
        return self.psi if self.law_psi is None else self.law_psi

    @property
    def law(self) -> Request | None:
        """Public numbers of the law that is drawn from; None if the plan does not record them."""
        if not isinstance(self.request, Request):
            return None
        return replace(self.request, psi=self.law_threshold)

    @property
    def has_gibbs_law(self) -> bool:
        """Whether draws of linear models have a Gibbs law on the ball, so that its theorems apply.

        Their temperature is unknown (NaN) if they were drawn elsewhere.
        """
        return not math.isinf(self.beta) and self.steps == 0 and not self.of_trees

    @property
    def certified_by_bounded_range(self) -> bool:
        """Whether bounded range proves the guarantee, and not another certificate."""
        return self.certificate == "oscillation"

    @property
    def population_bound(self) -> float:
        """Bound on the expected excess loss on new rows, if rows are independent."""
        return self.excess_bound + self.generalisation_gap

    @cached_property
    def expected(self) -> ExpectedGain | None:
        """Share of the possible gain that one model reaches on simulated tables; no guarantee."""
        if self.simulation is None or isinstance(self.simulation, ExpectedGain):
            return self.simulation
        return self.simulation(self)

    @property
    def passes(self) -> int:
        """Passes of a fit over chunked rows, at most, if no draw is rejected.

        Chains take their steps together. The curator's minimum comes in addition.
        """
        steps = self.details.reads(self) or (MINIMUM_PASSES + 2) * self.repeats
        return math.ceil(steps + MINIMUM_PASSES + _FEW_PASSES + self.n_draws / 4)

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
    def excess_name(self) -> str:
        """Name of the excess loss whose bound is stated."""
        if self.centre_excess is not None:
            return "Expected excess loss of the centre"
        clipped = "" if math.isfinite(self.excess_bound) else ", slopes clipped"
        return f"Expected excess loss{clipped}"

    @property
    def stated_excess(self) -> float:
        """Excess bound that is stated where no hit rate is guaranteed."""
        return self.comparison_excess if self.centre_excess is None else self.centre_excess

    @property
    def cost(self) -> tuple[float, float]:
        """(ε, δ) that the draws cost: the budget, or less if the plan needs less."""
        return self.details.cost(self)

    @property
    def privacy_sentence(self) -> str:
        """What the guarantee means for one person, for readers who know no ε."""
        what = "One model is" if self.n_draws == 1 else f"{self.n_draws:,} models are together"
        return privacy_sentence(self.guarantee, what, *self.cost)

    @property
    def weakness(self) -> str:
        """Reason why little is expected or guaranteed; empty if there is none."""
        if self.expected is not None:
            if not self.expected.is_weak:
                return ""
            return f"the model is expected to reach {self.expected}"
        if self.hit_rate is None:
            return _no_better_than_nothing(self) or _beyond_psi(self)
        if self.hit_rate >= WEAK_HIT_RATE:
            return ""
        return (
            f"at least {formatting.hit_rate_text(self.hit_rate)} of the draws are within "
            f"ψ = {self.psi:g} of the least loss, and no more is guaranteed: they may lie far "
            "outside the Rashomon set"
        )

    def with_numbers(self, **changed: Any) -> Plan:
        """Plan with other public numbers of its request, which its bounds do not follow."""
        return replace(self, request=replace(self.request, **changed))

    def without_candidates(self) -> Plan:
        """Plan without the mechanisms that it was compared with."""
        return replace(self, candidates=())

    def _title(self) -> str:
        models = "tree" if self.of_trees else "model"
        title = f"Plan: {formatting.plural(self.n_draws, models)} on {self.n:,} rows"
        if self.of_trees:
            return f"{title}, of at most {self.request.most_leaves} leaves"
        return f"{title}, p = {self.p}"

    def _facts(self) -> list[formatting.Fact]:
        """List what to expect, what is guaranteed, the cost and the time; then the mechanism."""
        weakness = self.weakness
        if weakness and self.expected is not None:
            weakness = f"less than {self.expected.least:.0%} of the possible gain is expected"
        return [
            *([] if self.expected is None else [("expected", str(self.expected))]),
            *self._bounds(),
            ("privacy cost", self._cost()),
            ("privacy", self.privacy_sentence),
            ("time", self._time()),
            *([("mechanism", self.mechanism)] if self.mechanism else []),
            *([("chosen", self.reason)] if self.reason else []),
            *([] if self.columns is None else [self.columns.fact]),
            *([] if self.of_trees else [("law", self._law())]),
            *self.details.facts(self),
            *([("warning", weakness)] if weakness else []),
        ]

    def _bounds(self) -> list[formatting.Fact]:
        """List the guarantees for the loss; one model without a hit rate has no such line."""
        facts = []
        if self.hit_rate is not None:
            share = f"≥ {formatting.hit_rate_text(self.hit_rate)} within ψ = {self.psi:g}"
            facts.append(("hit rate", share))
        elif self.n_draws > 1:
            facts.append(("hit rate", "none can be guaranteed"))
        if math.isfinite(self.excess_bound):
            facts.append(
                ("excess loss", f"≤ {formatting.rounded_up(self.excess_bound)} on average")
            )
        facts += self.details.bounds(self)
        if self.psi > 0 and not self.of_trees and self.loss == "squared":
            # The constant model has ½σ², and targets lie in [−1, 1].
            width = math.sqrt(2 * self.psi) / 2
            held = f"the constant model is within ψ if the targets' deviation is ≤ {width:.0%}"
            facts.append(("set", f"{held} of the width of their bounds"))
        return facts

    def _cost(self) -> str:
        cost = epsilon_delta_text(*self.cost)
        if self.of_trees:
            return cost
        rule = ", by the ledger's composition rule" if self.ledger else ""
        return f"{cost}, by {self.certificate}{rule}" if self.guarantee.holds else "none"

    def _time(self) -> str:
        if self.of_trees:
            return str(self.details.time)
        chunked = self.passes * pass_seconds(self.n, self.p)
        in_memory = f"{formatting.duration_text(self.memory_seconds)} of one core"
        passes = f"at most {self.passes:,.0f} passes over chunked rows"
        return f"{in_memory}; {formatting.duration_text(chunked)} for {passes}"

    def _law(self) -> str:
        law = [f"{self.loss} loss"]
        if self.radius is not None:
            law.append(f"models of norm ≤ {self.radius:.3g}")
        law += [f"ridge {self.ridge:g}"] if self.ridge else []
        law += [f"inverse temperature β = {self.beta:,.0f}"] if math.isfinite(self.beta) else []
        return ", ".join(law)


def privacy_sentence(guarantee: Guarantee, what: str, epsilon: float, delta: float) -> str:
    """Say how often anybody can guess one person's row from what is published.

    A guess is right with probability at most (e^ε + δ)/(1 + e^ε), and at most (1 + δ(0))/2 for the
    privacy profile δ(·) (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015).
    """
    if not guarantee.holds:
        return f"{what} not private: only a curator may see what is drawn."
    inverse = math.exp(-epsilon)
    right = min((1 + delta * inverse) / (1 + inverse), (1 + guarantee.delta(0.0)) / 2)
    shown = math.ceil(1000 * right - 1e-9) / 10
    return (
        f"{what} published with differential privacy, {epsilon_delta_text(epsilon, delta)}: "
        f"somebody who knows all other rows, and that a person's row is one of two, guesses which "
        f"one right in at most {shown:g} % of cases (50 % without the publication)."
    )


def _beyond_psi(plan: Plan) -> str:
    excess, psi = plan.stated_excess, plan.psi
    if excess <= psi or psi == 0 or not math.isfinite(excess):
        return ""
    centre = plan.centre_excess is not None
    clipped = "" if centre or math.isfinite(plan.excess_bound) else " with clipped slopes"
    subject, draws = ("the centre of all draws", "they") if centre else ("a draw", "draws")
    return (
        f"the loss of {subject}{clipped} exceeds the least by up to "
        f"{formatting.rounded_up(excess)} on average, more than ψ = {psi:g}: {draws} may lie far "
        "outside the Rashomon set"
    )


def _no_better_than_nothing(plan: Plan) -> str:
    if plan.centre_excess is not None:
        return ""
    nothing, excess = plan.zero_loss, plan.comparison_excess
    if nothing is None or not math.isfinite(excess) or excess < nothing:
        return ""
    clipped = "" if math.isfinite(plan.excess_bound) else " with clipped slopes"
    return (
        f"the loss of a draw{clipped} exceeds the least by up to {formatting.rounded_up(excess)} "
        f"on average, and a model of zeros has at most {formatting.rounded_up(nothing)}: the draws "
        "may be no better than it"
    )


def unplanned(
    shape: tuple[int, ...],
    psi: float,
    loss: str,
    guarantee: Guarantee,
    n: int = 1,
    oscillation: float = math.inf,
) -> Plan:
    """Plan of (n_draws, p) models that were drawn elsewhere: no budget, no guarantee."""
    request = UnplannedRequest(
        n=n, p=shape[1], psi=psi, loss=loss, n_draws=shape[0], oscillation=oscillation
    )
    return Plan(request=request, mechanism="", guarantee=guarantee, beta=math.nan)
