"""Plans of draws from a class of sparse trees, from public numbers only."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import Fact, duration_text, hit_rate_text, rounded_up
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits
from rashomon_explorer.mechanisms.costs import affordable_eta, draws_guarantee
from rashomon_explorer.mechanisms.improvements import Improvement
from rashomon_explorer.mechanisms.plans import GAINS, Details, ExpectedGain, Plan
from rashomon_explorer.mechanisms.request import TreeRequest
from rashomon_explorer.mechanisms.target import GibbsTarget

_WEIGHTS = 2.0**-38  # relative error of a weight: 40 bits, and that of the exponential
_ENERGY = 2.0**-50  # error of an energy, relative to β times the largest loss
_WORTH = 0.9

# Shares of the possible gain in accuracy and AUC of one tree: median and quantiles of .1 and .9, by
# the excess bound over the largest error of a constant tree and by the most rows, as a share, in
# the rarer class; 1 if it is not declared (benchmarks/families.py).
_BOUNDS = (0.02, 0.1, 0.22, 0.45, 0.85, 1.4, 2.0)
_GAINS = {
    0.12: (
        (0, 0, 0, 0, -0.03, 0, -0.1),
        (0, 0, -0.05, -0.05, -0.15, -0.4, -0.8),
        (0.7, 0.6, 0.35, 0.15, 0.05, 0.15, 0),
    ),
    0.3: (
        (0.35, 0.25, 0, 0, -0.05, -0.2, -0.15),
        (0, 0, 0, -0.1, -0.15, -0.6, -0.8),
        (0.8, 0.75, 0.6, 0.2, 0.15, 0, 0),
    ),
    0.5: (
        (0.87, 0.83, 0.79, 0.75, 0.53, 0, 0),
        (0.6, 0.56, 0.43, 0.15, 0.05, -0.15, -0.2),
        (0.97, 0.96, 0.93, 0.91, 0.83, 0.76, 0.37),
    ),
    1.0: (
        (0.62, 0.55, 0.25, 0.13, 0.05, 0, -0.04),
        (0, 0, 0, 0, -0.1, -0.35, -0.65),
        (0.93, 0.91, 0.9, 0.89, 0.77, 0.44, 0.15),
    ),
}


@dataclass(frozen=True)
class TreeDetails(Details):
    """Memory and time of counting the trees."""

    memory: int = field(default=0, compare=False)
    """Bytes that counting takes at most."""
    seconds: float = field(default=0.0, compare=False)
    """CPU seconds that counting takes, roughly."""

    @property
    def time(self) -> str:
        """Time and memory in words."""
        return f"{duration_text(self.seconds)} of one core, at most {self.memory / 2**30:.2g} GiB"

    def facts(self, plan: Plan) -> list[Fact]:
        law = f"share of errors, inverse temperature β = {plan.beta:,.0f}"
        law += f", threshold {plan.law_psi:.4g}" if plan.law_psi else ""
        size = plan.request.log_size / math.log(10)
        return [("law", law), ("trees", f"10^{size:.1f} are possible")]


def plan_trees(request: TreeRequest) -> Plan:
    """Plan draws of trees, of bounded range 2β/n, from public numbers (docs/theory.md §14)."""
    n, psi, n_draws, log_size = request.n, request.psi, request.n_draws, request.log_size
    validation.check_count(n=n, most_leaves=request.most_leaves, n_draws=n_draws)
    validation.check_nonnegative(psi=psi, leaf_penalty=request.leaf_penalty, log_size=log_size)
    validation.check_epsilon(request.epsilon)
    validation.check_share(hit_rate=request.hit_rate)
    eta = affordable_eta(request.epsilon, request.delta, n_draws, ledger=request.ledger)
    leaves_loss = request.leaf_penalty * request.most_leaves
    beta = coldest(eta, n, psi, leaves_loss, request.walk_rounding)
    one_tree = n_draws == 1 and request.hit_rate > 0
    law_psi = 0.0 if one_tree else _law_psi(log_size, beta, psi, request.hit_rate)
    beyond = math.exp(min(0.0, log_size - energy_cap(log_size)))  # mass of trees beyond the cap
    excess = law_psi + log_size / beta + beyond * (1 + leaves_loss)
    plan = Plan(
        request=request,
        mechanism="counted_trees",
        guarantee=draws_guarantee(eta, n_draws, ledger=request.ledger),
        excess_bound=min(excess, 1 + leaves_loss),
        hit_rate=_hit_rate(log_size, beta, psi - law_psi) if psi > 0 else None,
        eta=eta,
        beta=beta,
        law_psi=law_psi,
        # The mean loss of T trees exceeds their risks by at most √(log T/(2n)) on average.
        generalisation_gap=math.sqrt(log_size / (2 * n)),
        details=TreeDetails(),
    )
    if n_draws > 1:
        return plan
    bound = excess / (1 - 1 / request.n_labels)
    return replace(plan, simulation=partial(_expected_gain, bound))


class SparseTrees(Mechanism):
    """Exact draws from a counted class of sparse trees, carried out by ``trees.private``."""

    name: ClassVar[str] = "counted_trees"
    summary: ClassVar[str] = "an exact draw from all sparse trees of a class"
    traits: ClassVar[Traits] = Traits(independent=True)

    def plan_supported(self, request: Any) -> Plan:
        return plan_trees(request)

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        raise TypeError("trees are drawn by rashomon_explorer.trees.gibbs_draws")

    def explain(self, plan: Plan) -> list[str]:
        request = plan.request
        draws = "1 exact draw" if plan.n_draws == 1 else f"{plan.n_draws:,} exact draws"
        costs = "costs" if plan.n_draws == 1 else "together cost"
        at = f", at δ = {plan.delta:g}" if plan.delta else ""
        lines = [
            f"{draws} from e^{request.log_size:.1f} trees of at most {request.most_leaves} leaves "
            f"{costs} ε = {rounded_up(plan.epsilon)} in all{at}.",
            f"One record moves the share of errors of every tree by 1/{plan.n:,} at most, so that "
            f"β = {plan.beta:,.0f} makes a draw {plan.eta:.4g}-bounded-range.",
        ]
        if plan.hit_rate is not None:
            share = hit_rate_text(plan.hit_rate).replace("%", " %")
            lines.append(
                f"At least {share} of the draws are within ψ = {plan.psi:g} of the best tree, "
                f"for any {plan.n:,} rows: the bound depends on the number of trees only."
            )
        excess = rounded_up(plan.excess_bound)
        return [*lines, f"The loss of a draw exceeds the least by at most {excess} on average."]

    def improvements(self, plan: Plan, *, ridge: bool = False) -> list[Improvement]:
        improvements, epsilon = [], _epsilon_for(plan, _WORTH)
        if plan.hit_rate_bound < _WORTH - 1e-6 and epsilon < math.inf:
            improvements.append(Improvement(f"ε = {rounded_up(epsilon)} would guarantee 90 %."))
        if plan.weakness:
            improvements.append(_MORE)
        return improvements


_MORE = Improvement(
    "More rows, a larger ε, fewer draws, fewer leaves or features, or a larger ψ guarantee more."
)


def hit_rate_within(plan: Plan, psi: float) -> float:
    """Guaranteed hit rate of a draw for another ψ."""
    validation.check_nonnegative(psi=psi)
    return _hit_rate(plan.request.log_size, plan.beta, psi - (plan.law_psi or 0.0))


def _expected_gain(bound: float, plan: Plan) -> ExpectedGain:
    """Look up the share of the gain that one tree is expected to reach."""
    request = plan.request
    reach = min(1.0, (request.most_leaves - 1) / (request.n_labels - 1))  # of labels
    rarer = 1.0 if request.base_rate is None else min(request.base_rate, 1 - request.base_rate)
    gains = next(gains for largest, gains in _GAINS.items() if rarer <= largest)
    share, low, high = (reach * float(np.interp(bound, _BOUNDS, row)) for row in gains)
    if request.base_rate is None:
        rows = "5 to 50 % of the rows in the rarer class"
    else:
        rows = f"about {100 * rarer:.2g} % of the rows in the rarer class"
    tables = f"simulated tables of this excess bound with {rows}"
    return ExpectedGain(share, low, high, tables, gain=GAINS["accuracy", "AUC"])


def coldest(eta: float, n: int, psi: float, leaves_loss: float, walk_rounding: float) -> float:
    """Largest β at which a draw has bounded range η, including the effect of rounding."""
    left = eta - 4 * (_WEIGHTS + walk_rounding)
    if left <= 0:
        raise ValueError(
            f"η = {eta:.3g} a draw is below the rounding error: take a larger ε or fewer draws"
        )
    return left / (2 / n + 4 * (1 + psi + leaves_loss) * _ENERGY)


def energy_cap(log_size: float) -> float:
    """Cap on the energies; all trees at the cap weigh at most e^(−20) together if log T ≤ 153."""
    return min(log_size + 20.0, 250 * math.log(2))


def _epsilon_for(plan: Plan, hit_rate: float) -> float:
    """Privacy cost at which the hit rate is guaranteed with threshold 0; infinite if ψ = 0."""
    if plan.psi == 0:
        return math.inf
    beta = (plan.request.log_size + math.log(hit_rate / (1 - hit_rate))) / plan.psi
    eta = 2 * beta / plan.n
    return draws_guarantee(eta, plan.n_draws, ledger=plan.ledger).epsilon(plan.delta)


def _law_psi(log_size: float, beta: float, psi: float, hit_rate: float) -> float:
    """Largest threshold s in [0, ψ] at which the hit rate is guaranteed; 0 if there is none."""
    if hit_rate == 0:
        return float(psi)
    if hit_rate == 1:
        return 0.0
    needed = (_log_others(log_size) + math.log(hit_rate / (1 - hit_rate))) / beta
    return max(0.0, min(float(psi), psi - needed))


def _hit_rate(log_size: float, beta: float, above: float) -> float:
    """Hit-rate bound 1/(1 + (T − 1)·e^(−β·above)): the best tree weighs 1, each miss less."""
    energy = min(beta * max(0.0, above), energy_cap(log_size))
    lost = _log_others(log_size) - energy
    return 0.0 if lost > 700 else (1 - 1e-9) / (1 + math.exp(lost))


def _log_others(log_size: float) -> float:
    return log_size + math.log1p(-math.exp(-log_size)) if log_size > 0 else -math.inf
