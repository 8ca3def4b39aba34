"""Feasibility trials of exact samplers on simulated rows, before a fit is charged."""

import math
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from rashomon_explorer._utils.formatting import Fact, ReprMixin, duration_text
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.simulation.tables import KINDS, SEED, Columns, simulated
from rashomon_explorer.mechanisms.target import GibbsTarget

RARE = (0.1, 0.03)
"""Shares of positive rows that are tried beside usual ones, for two classes."""

_MOST_PROPOSALS, _MOST_LOOKS, _FEWEST_LOOKS = 30_000, 1_024, 64
_CHEAP = 32  # parameters; the cost of an evaluation grows with the fourth power of their number
_ENOUGH = 20.0  # expected draws after which the acceptance rate is known well enough
_COUNTLESS = 1e12  # larger numbers of proposals are shown as a power of ten
_MARGIN = 3  # predictions were wrong by up to this factor, and by more on the cautious side
_MARGIN_UNASKED = 100  # factor on dependent columns; automatic choices require this margin
_SMALLER_RADII, _FEWER_COLUMNS, _LARGER_PSI = (2, 4, 8, 16), (40, 30, 20, 15), (2.5, 5, 15)


@dataclass(frozen=True, repr=False)
class Feasibility(ReprMixin):
    """Result of exact draws on simulated rows of a plan's shape: a prediction, no guarantee."""

    n_simulated: int
    proposed: int
    accepted: float
    patience: int
    seconds_each: float
    n_draws: int

    @property
    def proposals_each(self) -> float:
        """Proposals per accepted draw; infinite if none was accepted."""
        return self.proposed / self.accepted if self.accepted > 0 else math.inf

    @property
    def likely(self) -> bool:
        """Whether draws are expected before the sampler gives up, with a margin of three."""
        return self.proposals_each * _MARGIN <= self.patience

    @property
    def sure(self) -> bool:
        """Whether they are expected with a margin of a hundred, as automatic choices require."""
        return self.proposals_each * _MARGIN_UNASKED <= self.patience

    @property
    def seconds(self) -> float:
        """Estimated time of all draws on this machine, in seconds."""
        return self.proposals_each * self.n_draws * self.seconds_each

    @property
    def in_words(self) -> str:
        """Prediction and its basis, in words."""
        based = f"On {self.n_simulated:,} simulated rows of this shape"
        if not self.likely:
            return (
                f"{based} exact draws failed: about one in {_about(self.proposals_each)} "
                f"proposals would be accepted, and by default the sampler gives up after "
                f"{self.patience:,}. "
                "Other rows may differ."
            )
        many = f"{self.n_draws:,} draws take" if self.n_draws > 1 else "the draw takes"
        return (
            f"{based} one in {_about(self.proposals_each)} proposals was accepted, so that {many} "
            f"{duration_text(self.seconds)}; other rows may differ."
        )

    def _facts(self) -> list[Fact]:
        return [("draws", "likely" if self.likely else "unlikely"), ("why", self.in_words)]


def preflight(planned: Plan, *, rare: bool = True) -> Feasibility | None:
    """Try the exact sampler briefly on simulated rows of a plan's public shape.

    ``rare``: with few positive rows, too. Automatic selection has a margin instead.
    """
    law = planned.law if planned.has_gibbs_law else None
    if law is None or not 0 < planned.beta < math.inf:
        return None
    found = _tried(_bare(law), float(planned.beta), rare=rare)
    return None if found is None else replace(found, n_draws=planned.n_draws)


def _bare(law: Request) -> Request:
    """Public numbers on which a trial depends, for every budget and number of draws."""
    return replace(law, epsilon=1.0, delta=0.0, n_draws=1, ledger=False, in_chunks=False)


def is_infeasible(planned: Plan) -> bool:
    """Whether exact draws failed on all kinds of simulated rows with one share of positive rows."""
    worst = preflight(planned)
    if worst is None or worst.likely:
        return False
    law = planned.law
    if law is None:
        return True
    trials = (
        [_tried_on(_bare(law), float(planned.beta), one, rate) for one in KINDS]
        for rate in _rates(law)
    )
    return any(all(one is not None and not one.likely for one in kinds) for kinds in trials)


def _rates(law: Request) -> tuple[float | None, ...]:
    """Shares of positive rows to try; None for labels as they come."""
    loss = law.loss_function
    return (None, *RARE) if loss.labels is not None and loss.outputs == 1 else (None,)


def feasibility_suggestions(planned: Plan) -> str:
    """Suggest single changes that make exact draws succeed on simulated rows, with numbers."""
    law, found = planned.law, preflight(planned)
    law = None if law is None else _bare(law)
    if law is None or found is None or found.likely:
        return ""
    # β·osc determines the cost of a draw: a smaller ball has a larger β at the same cost.
    eta = float(planned.beta) * law.constants.charged_oscillation
    columns = [replace(law, p=(k + 1) * law.loss_function.outputs) for k in _FEWER_COLUMNS]
    tried: list[tuple[str, list[Request]]] = [
        ("radius", [replace(law, radius=law.radius / k) for k in _SMALLER_RADII]),
        ("columns", [one for one in columns if one.p < law.p]),
        ("psi", [replace(law, psi=law.psi * k) for k in _LARGER_PSI if law.psi > 0]),
    ]
    suggestions = []
    for name, laws in progress(tried, "simulating"):  # each from a mild change to a strong one
        if laws and _answers(laws[-1], eta):
            suggestions.append(_changed(name, next(law for law in laws if _answers(law, eta))))
    if not suggestions:
        return "On simulated rows no single change of radius, columns or psi makes draws succeed."
    listed = " or ".join(
        [", ".join(suggestions[:-1]), suggestions[-1]] if len(suggestions) > 1 else suggestions
    )
    flat = " (a smaller ball holds flatter models)" if suggestions[0].startswith("radius") else ""
    return f"On simulated rows draws succeed at the same privacy cost with {listed}{flat}."


def _changed(name: str, law: Request) -> str:
    if name == "columns":
        return f"{law.p // law.loss_function.outputs - 1} columns"
    return f"{name} = {getattr(law, name):g}"


def _answers(law: Request, eta: float) -> bool:
    found = _tried(law, eta / law.constants.charged_oscillation)
    return found is not None and found.likely


def _tried(law: Request, beta: float, *, rare: bool = True) -> Feasibility | None:
    """Try all kinds of tables until one fails, and return the worst result."""
    worst: Feasibility | None = None
    for rate, columns in product(_rates(law) if rare else (None,), KINDS):
        found = _tried_on(law, beta, columns, rate)
        if found is None:
            return None
        if worst is None or found.proposals_each > worst.proposals_each:
            worst = found
        if not worst.likely:
            break
    return worst


@lru_cache(maxsize=256)
def _tried_on(
    law: Request, beta: float, columns: Columns, rate: float | None = None
) -> Feasibility | None:
    from rashomon_explorer.mechanisms.exact import patience_for
    from rashomon_explorer.mechanisms.rejection.candidates import Candidates  # slow to import

    problem = simulated(law, columns, rate)
    try:
        target = GibbsTarget(problem, beta, law.psi)
        candidates = Candidates(target)
    except SamplerError:  # a loss without a certified bound has no exact draws to predict
        return None
    rng = generator([SEED])
    started, evaluation_time = time.perf_counter(), 0.0
    most_looks = max(_FEWEST_LOOKS, _MOST_LOOKS * min(1.0, (_CHEAP / law.p) ** 4))
    proposed = looks = 0
    accepted = 0.0
    while proposed < _MOST_PROPOSALS and looks < most_looks and accepted < _ENOUGH:
        theta, floor, n_proposed = candidates.take(64, rng)
        look = time.perf_counter()
        excess = np.maximum(problem.value(theta) - problem.minimum.value, floor)
        # Sum probabilities of acceptance, not outcomes: this detects one in a million.
        accepted += float(np.exp(target.energy(floor) - target.energy(excess)).sum())
        proposed, looks = proposed + n_proposed, looks + len(floor)
        evaluation_time += time.perf_counter() - look
    spent = time.perf_counter() - started - evaluation_time + evaluation_time * law.n / problem.n
    return Feasibility(
        n_simulated=problem.n,
        proposed=proposed,
        accepted=accepted,
        patience=patience_for(law.p),
        seconds_each=spent / proposed,
        n_draws=1,
    )


def _about(proposals: float) -> str:
    if math.isinf(proposals):
        return "infinitely many"
    if proposals > _COUNTLESS:
        return f"10^{math.log10(proposals):.0f}"
    return f"{float(f'{proposals:.1g}'):,.0f}"


ALWAYS_CAME, WIDEST = 16, 16.0
"""Numbers of parameters and radii up to which exact draws succeeded on all tables tried."""

_SMOOTH = ("logistic", "squared", "softmax")
"""Losses to which this applies: hinge and absolute loss may fail at p = 3."""


def is_tried(planned: Plan) -> bool:
    """Whether `infeasibility_message` runs the sampler on simulated rows, which is slow."""
    wide = planned.loss == "logistic" and planned.radius is not None and planned.radius > WIDEST
    may_stay_away = planned.p > ALWAYS_CAME or wide or planned.loss not in _SMOOTH
    return may_stay_away and planned.has_gibbs_law


def is_likely(planned: Plan) -> bool:
    """Whether draws of a named sampler are expected to succeed; tested where uncertain."""
    found = preflight(planned) if is_tried(planned) else None
    return found is None or found.likely


def is_hopeless(planned: Plan) -> bool:
    """Whether exact draws are too uncertain for automatic selection; makes no suggestions."""
    found = preflight(planned, rare=False)
    return found is not None and not found.sure


def infeasibility_message(planned: Plan) -> str:
    """Message that exact draws are expected to fail, with suggestions; empty if they are not."""
    found = preflight(planned) if is_tried(planned) else None
    if found is None or found.likely:
        return ""
    return f"{found.in_words} {feasibility_suggestions(planned)}"
