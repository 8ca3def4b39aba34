"""What was asked for, in words, and what theorems promise of it; reads no row."""

import math
from typing import Any

import pandas as pd

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Domain
from rashomon_explorer.planning import (
    Certificate,
    PathPlan,
    Plan,
    explain,
    gibbs_certificates,
    path_certificates,
)
from rashomon_explorer.planning.clipped_path import ClippedPathPlan
from rashomon_explorer.planning.ellipsoid import EllipsoidPlan
from rashomon_explorer.planning.tilted import TiltedPlan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.planning.weakness import weakness
from rashomon_explorer.plots.tables import options_table
from rashomon_explorer.report.blocks import Block, Table, Words
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.base import Skip
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.samplers import traits_of


def plan(given: Any) -> list[Block]:
    """Explain the plan sentence by sentence, with its promises."""
    planned = _planned(given)
    blocks: list[Block] = [Words(line) for line in explain(planned).splitlines()]
    doubt = weakness(planned) if given.models.as_drawn and given.models.guarantee.holds else ""
    if doubt:
        blocks.insert(0, Words(f"This plan promised little: {doubt}.", "warning"))
    if not given.models.guarantee.holds:
        blocks.append(Words(_NOT_THESE, "warning"))
    if not given.models.as_drawn:
        blocks.append(Words(_CHOSEN, "warning"))
    return [*blocks, *kind_of(given.models).promises(given, given.models)]


def certificates(given: Any) -> list[Block]:
    """List every theorem on these draws: what it gives, or why it does not apply."""
    planned = _planned(given)
    if not isinstance(planned, Plan):
        raise Skip(kind_of(given.models).no_certificates)
    if given.constants is None or given.domain is None:
        raise Skip(
            "the public constants were not handed in: problem= for the curator, constants= and "
            "domain= for a release"
        )
    if isinstance(planned, EllipsoidPlan):
        raise Skip("they are certificates of draws on the whole ball, not on an ellipsoid")
    if isinstance(planned, TiltedPlan):
        raise Skip("they are certificates of exact draws, and these are tilted minimisers")
    if isinstance(planned, ClippedPathPlan):
        raise Skip("the constants are of the loss, and these chains follow it with clipped slopes")
    sampler = getattr(given.models, "sampler", "") if isinstance(given, Curator) else ""
    if sampler and not traits_of(sampler).planned_law and not planned.along_path:
        raise Skip(f"they are certificates of exact draws, and these are draws of {sampler}")
    found = _found(planned, given.constants, given.domain)
    frame = pd.DataFrame(
        {
            "ε": [_price(one.epsilon(planned.delta)) for one in found],
            "says": [one.title for one in found],
            "why it applies, or not": [one.why for one in found],
            "source": [one.source for one in found],
        },
        index=pd.Index([one.name for one in found], name="certificate"),
    )
    note = f"All at δ = {planned.delta:g} and for {planned.n_draws} draws; ε is rounded up. {_ONE}"
    what = "noisy paths" if planned.along_path else "exact draws"
    return [Table(frame, f"Certificates of {what} at these settings, the best first", note)]


def ways(given: Any) -> list[Block]:
    """List every mechanism that the planner knows: what the same budget would buy from it."""
    planned = _planned(given)
    if not isinstance(planned, Plan):
        raise Skip(kind_of(given.models).no_other_ways)
    frame = options_table(planned)
    if frame.empty:
        raise Skip("the plan does not say from which loss, ball and bound of a row it was made")
    note = (
        f"Each for {planned.n_draws:,} draws at ε = {rounded_up(planned.epsilon)} and δ = "
        f"{planned.delta:g}, from public numbers. Only the draws of this plan were made."
    )
    return [Table(frame, "Every way to spend the budget, the best first", note)]


def _found(planned: Plan, constants: Constants, domain: Domain) -> tuple[Certificate, ...]:
    law: dict[str, Any] = {"psi": planned.drawn_psi, "beta": planned.beta, "delta": planned.delta}
    if not isinstance(planned, PathPlan):
        return gibbs_certificates(constants, domain, n_draws=planned.n_draws, **law)
    every = path_certificates(
        constants,
        domain,
        step_size=planned.step_size,
        n_steps=planned.n_steps,
        threshold=planned.threshold,
        n_chains=planned.n_draws,
        **law,
    )
    # A draw is an average of all states, and the steps grow: only the whole path's is of both.
    return tuple(one for one in every if one.name == "path")


def _planned(given: Any) -> Plan | TreePlan:
    planned = getattr(given.models, "plan", None)
    if not isinstance(planned, Plan | TreePlan) or math.isnan(planned.beta):
        raise Skip("these models were not drawn by an estimator: nothing was planned or promised")
    return planned


def _price(epsilon: float) -> str:
    return rounded_up(epsilon) if math.isfinite(epsilon) else "–"


_ONE = (
    "What holds of these draws is the guarantee above, which names its theorem; the others bound "
    "the same settings and are no further prices."
)
_NOT_THESE = (
    "This is what was planned for exact, private draws. Nothing is guaranteed of the models of "
    "this report: their price buys no privacy."
)
_CHOSEN = (
    "This is what was planned for all draws. Some were chosen out since: what is said of the share "
    "within ψ and of mean losses no longer holds for those that are left."
)
