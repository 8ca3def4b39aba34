"""Plans of draws from a class of sparse trees, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import Fact, duration_text, rounded_up
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning import weakness
from rashomon_explorer.mechanisms.planning.pricing import affordable_eta, draws_guarantee

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


@dataclass(frozen=True, repr=False, kw_only=True)
class TreePlan(weakness.BasePlan):
    """Plan of draws of sparse trees: privacy cost and guarantees, from public numbers only."""

    log_size: float
    most_leaves: int
    n_labels: int
    leaf_penalty: float
    law_psi: float
    max_depth: int | None = None
    questions: tuple[tuple[str, float | None], ...] = ()
    asked_hit_rate: float = _WORTH
    costs: tuple[tuple[int, ...], ...] = ()
    why: str = field(default="", compare=False)
    memory: int = field(default=0, compare=False)
    """Bytes that counting takes at most."""
    seconds: float = field(default=0.0, compare=False)
    """CPU seconds that counting takes, roughly."""

    @property
    def of_exact_draws(self) -> bool:
        """False: the bounds of exact draws of *linear* models do not apply to trees."""
        return False

    @property
    def mechanism(self) -> str:
        """Name of the mechanism that carries out the plan."""
        return "counted_trees"

    @property
    def zero_loss(self) -> float | None:
        """Bound on the error of the better constant tree, without the penalty of its leaf."""
        return 1 - 1 / self.n_labels

    @property
    def population_bound(self) -> float:
        """Bound on the expected excess loss on new rows, if rows are independent.

        The mean loss of T trees on n rows exceeds their risks by at most √(log T/(2n)) on average.
        """
        return self.excess_bound + math.sqrt(self.log_size / (2 * self.n))

    def hit_rate(self, psi: float) -> float:
        """Guaranteed hit rate of a draw for another ψ."""
        validation.check_nonnegative(psi=psi)
        return _promise(self.log_size, self.beta, psi - self.law_psi)

    def at_epsilon(self, epsilon: float, n_draws: int) -> TreePlan | None:
        """Plan of draws from the same class at another cost; None if none is possible."""
        same = ("log_size", "most_leaves", "n_labels", "psi", "leaf_penalty", "delta", "ledger")
        public: dict[str, Any] = {name: getattr(self, name) for name in same}
        public |= {"max_depth": self.max_depth, "questions": self.questions, "costs": self.costs}
        public |= {"epsilon": epsilon, "n_draws": n_draws, "hit_rate": self.asked_hit_rate}
        try:
            return plan_trees(self.n, **public)
        except (SamplerError, ValueError):
            return None

    def _title(self) -> str:
        draws = f"{self.n_draws:,} draw{'' if self.n_draws == 1 else 's'}"
        return f"TreePlan: {draws} on {self.n:,} rows, trees of at most {self.most_leaves} leaves"

    def _time(self) -> str:
        return f"{duration_text(self.seconds)} of one core, at most {self.memory / 2**30:.2g} GiB"

    def _technical(self) -> list[Fact]:
        law = f"share of errors, inverse temperature β = {self.beta:,.0f}"
        law += f", threshold {self.law_psi:.4g}" if self.law_psi else ""
        return [("law", law), ("trees", f"10^{self.log_size / math.log(10):.1f} are possible")]


def plan_trees(
    n: int,
    *,
    log_size: float,
    most_leaves: int,
    n_labels: int = 2,
    psi: float,
    leaf_penalty: float = 0.0,
    epsilon: float,
    delta: float = 0.0,
    n_draws: int = 1,
    hit_rate: float = _WORTH,
    walk_rounding: float = 0.0,
    ledger: bool | str = False,
    max_depth: int | None = None,
    questions: Sequence[tuple[str, float | None]] = (),
    costs: Sequence[Sequence[int]] = (),
    base_rate: float | None = None,
) -> TreePlan:
    """Plan draws of trees from public numbers.

    One row moves the share of errors of every tree by at most 1/n, so a draw at β has a bounded
    range of 2β/n (docs/theory.md §14). For T trees in the class and a law with threshold s ≤ ψ,
    P(within ψ) ≥ 1/(1 + (T − 1)·e^(−β(ψ − s))). The plan uses the largest s for which this is at
    least ``hit_rate``; if there is none, it uses s = 0, which maximises the bound. So does one draw
    for which a hit rate is requested: one tree represents no set, so only its loss matters.
    """
    validation.check_count(n=n, most_leaves=most_leaves, n_draws=n_draws)
    validation.check_nonnegative(psi=psi, leaf_penalty=leaf_penalty, log_size=log_size)
    validation.check_epsilon(epsilon)
    validation.check_share(hit_rate=hit_rate)
    affordable = affordable_eta(epsilon, delta, n_draws, ledger=ledger)
    beta = coldest(affordable, n, psi, leaf_penalty * most_leaves, walk_rounding)
    law_psi = 0.0 if n_draws == 1 and hit_rate else _law_psi(log_size, beta, psi, hit_rate)
    excess = law_psi + log_size / beta + _beyond(log_size) * (1 + leaf_penalty * most_leaves)
    reach = min(1.0, (most_leaves - 1) / (n_labels - 1))  # of labels, by the leaves
    bound = excess / (1 - 1 / n_labels)
    expected = _expected_gain(bound, reach, base_rate) if n_draws == 1 else None
    return TreePlan(
        n=int(n),
        log_size=float(log_size),
        most_leaves=int(most_leaves),
        n_labels=int(n_labels),
        psi=float(psi),
        leaf_penalty=float(leaf_penalty),
        epsilon=float(epsilon),
        delta=float(delta),
        n_draws=int(n_draws),
        eta=affordable,
        beta=beta,
        law_psi=law_psi,
        hit_rate_bound=_promise(log_size, beta, psi - law_psi),
        excess_bound=min(excess, 1 + leaf_penalty * most_leaves),
        guarantee=draws_guarantee(affordable, n_draws, ledger=ledger),
        ledger=ledger,
        expected=expected,
        max_depth=max_depth,
        questions=tuple((str(name), threshold) for name, threshold in questions),
        asked_hit_rate=float(hit_rate),
        costs=tuple(tuple(int(cost) for cost in row) for row in costs),
    )


def _expected_gain(bound: float, reach: float, base_rate: float | None) -> weakness.ExpectedGain:
    """Look up the share of the gain that one tree is expected to reach."""
    rarer = 1.0 if base_rate is None else min(base_rate, 1 - base_rate)
    gains = next(gains for most, gains in _GAINS.items() if rarer <= most)
    share, low, high = (reach * float(np.interp(bound, _BOUNDS, row)) for row in gains)
    if base_rate is None:
        rows = "5 to 50 % of the rows in the rarer class"
    else:
        rows = f"about {100 * rarer:.2g} % of the rows in the rarer class"
    tables = f"simulated tables of this excess bound with {rows}"
    gain = weakness.GAINS["accuracy", "AUC"]
    return weakness.ExpectedGain(share, low, high, tables, gain=gain)


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


def tree_improvement_messages(planned: TreePlan) -> list[str]:
    """Suggest the ε that guarantees a hit rate of 90 %, and for a weak plan other changes."""
    messages, epsilon = [], _epsilon_for(planned, _WORTH)
    if planned.hit_rate_bound < _WORTH - 1e-6 and epsilon < math.inf:
        messages.append(f"ε = {rounded_up(epsilon)} would guarantee 90 %.")
    if weakness.weak_guarantee_reason(planned):
        messages.append(
            "More rows, a larger ε, fewer draws, fewer leaves or features, or a larger ψ "
            "guarantee more."
        )
    return messages


def _epsilon_for(planned: TreePlan, hit_rate: float) -> float:
    """Privacy cost at which the hit rate is guaranteed with threshold 0; infinite if ψ = 0."""
    if planned.psi == 0:
        return math.inf
    beta = (planned.log_size + math.log(hit_rate / (1 - hit_rate))) / planned.psi
    return draws_guarantee(2 * beta / planned.n, planned.n_draws, ledger=planned.ledger).epsilon(
        planned.delta
    )


def _law_psi(log_size: float, beta: float, psi: float, hit_rate: float) -> float:
    """Largest threshold s in [0, ψ] at which the hit rate is guaranteed; 0 if there is none."""
    if hit_rate == 0:
        return float(psi)
    if hit_rate == 1:
        return 0.0
    needed = (_log_others(log_size) + math.log(hit_rate / (1 - hit_rate))) / beta
    return max(0.0, min(float(psi), psi - needed))


def _promise(log_size: float, beta: float, above: float) -> float:
    """Hit-rate bound 1/(1 + (T − 1)·e^(−β·above)): the best tree weighs 1, each miss less."""
    energy = min(beta * max(0.0, above), energy_cap(log_size))
    lost = _log_others(log_size) - energy
    return 0.0 if lost > 700 else (1 - 1e-9) / (1 + math.exp(lost))


def _log_others(log_size: float) -> float:
    """log(T − 1), or −∞ for a class of one tree."""
    return log_size + math.log1p(-math.exp(-log_size)) if log_size > 0 else -math.inf


def _beyond(log_size: float) -> float:
    """Bound on the total probability of all trees beyond the cap."""
    return math.exp(min(0.0, log_size - energy_cap(log_size)))
