"""Explanations of plans."""

import math
from functools import singledispatch
from typing import Any

from rashomon_explorer._utils.formatting import hit_rate_text, rounded_up
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import EllipsoidExactPlan
from rashomon_explorer.mechanisms.ellipsoid.plan import EllipsoidPlan
from rashomon_explorer.mechanisms.langevin.plan import ClippedPathPlan, PathPlan
from rashomon_explorer.mechanisms.objective_perturbation.plan import ObjectivePerturbationPlan
from rashomon_explorer.mechanisms.one_model import OneModelPlan
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.suggestions import improvement_messages
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate


def explain(planned: Plan | TreePlan) -> str:
    """Describe what a plan guarantees, why no more, and what improves it; reads no row.

    Parameters
    ----------
    planned : Plan or TreePlan

    Returns
    -------
    str
        One sentence per line.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.planning.planner import plan
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> print(explain(plan(**rows, epsilon=4.0, delta=1e-6, n_draws=20)))
    20 exact draws cost ε = 4 together, at δ = 1e-06.
    One record moves the difference of two models' losses by at most 0.0002401, so that β = 1,595 \
makes a draw 0.3829-bounded-range.
    At least 66 % of the draws are within ψ = 0.02 of the least loss, for any 50,000 rows: \
the bound depends on p = 11 and βψ only.
    The loss of a draw exceeds the least by at most 0.01918 on average.
    For 80 % it takes ε = 7.211 for as many draws, 7 draws for the same ε, 84,300 rows, \
ψ = 0.03372, radius = 2.372, or ridge = 0.1 with exact draws.
    """
    return "\n".join(sentences(planned))


@singledispatch
def sentences(planned: Any) -> list[str]:
    """Sentences about a plan, by its type: by default exact draws."""
    hits = "No hit rate can be guaranteed: the set has no width because ψ = 0."
    if planned.psi > 0:
        hits = (
            f"{_hits(planned)}, for any {planned.n:,} rows: "
            f"the bound depends on p = {planned.p} and βψ only."
        )
    lines = [_cost(planned, "exact draw"), _temperature(planned), hits, _excess(planned)]
    return [*lines, *improvement_messages(planned, ridge=True)]


@sentences.register
def _of_one_model(planned: OneModelPlan) -> list[str]:
    proof, share = planned.certificate, _percent(planned.hit_rate_bound)
    lines = [f"{_cost(planned, 'model')} {proof[:1].upper()}{proof[1:]}."]
    if planned.hit_rate_bound:
        within = f"within ψ = {planned.psi:g} of the least loss"
        lines.append(f"It is {within} with a probability of at least {share}.")
    return [*lines, _excess(planned), *improvement_messages(planned)]


@sentences.register
def _of_a_path(planned: PathPlan) -> list[str]:
    return [_cost(planned, "chain"), _steps(planned), _average(planned)]


@sentences.register
def _of_a_clipped_path(planned: ClippedPathPlan) -> list[str]:
    clipped = (
        f"The slope of each row is clipped to {planned.most:g}, which keeps the noise small. The "
        f"clipped loss of a draw exceeds its least by at most "
        f"{rounded_up(planned.clipped_excess)} in expectation; no bound is guaranteed for the "
        f"loss itself or for the hit rate."
    )
    return [_cost(planned, "chain"), _steps(planned), clipped, *improvement_messages(planned)]


@sentences.register
def _of_perturbed_objectives(planned: ObjectivePerturbationPlan) -> list[str]:
    each = f", {rounded_up(planned.eta)} each" if planned.n_draws > 1 else ""
    draws = "models cost" if planned.n_draws > 1 else "model costs"
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    at = f" at δ = {planned.delta:g}" if planned.gaussian else ""
    cost = f"{planned.n_draws:,} {draws} {'' if planned.gaussian else 'pure '}ε = {total}{at}{each}"
    lines = [
        f"{cost}; the mechanism always returns a model.",
        f"A model minimises the loss with a random linear term of scale {planned.tilt:.3g} and a "
        f"ridge of {planned.tilt_ridge:.3g}.",
    ]
    of = "the loss"
    if math.isfinite(planned.most):
        of = "the clipped loss"
        lines.append(f"The slope of each row is clipped to {planned.most:g}.")
    share = f"{hit_rate_text(planned.hit_rate_bound)} of the draws hit"
    hits = "no hit rate is guaranteed" if planned.by_excess else share
    bound = f"On average {of} exceeds its least by at most {rounded_up(planned.followed_excess)}"
    return [*lines, f"{bound}; {hits}.", *improvement_messages(planned)]


@sentences.register
def _of_an_ellipsoid(planned: EllipsoidPlan) -> list[str]:
    rule = ", by the ledger's composition rule" if planned.ledger else ""
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    reach = f"Models are uniform where the quadratic excess is at most {planned.margin:.2f}·ψ"
    size = f"{reach}; no hit rate is guaranteed; a private query estimates it at a privacy cost."
    if planned.has_hit_rate:
        share = _percent(planned.hit_rate_bound)
        size = f"{reach}, so that at least {share} of them are within ψ = {planned.psi:g}."
    return [
        f"A centre and its curvature cost ε = {total} once, at δ = {planned.delta:g}{rule}: "
        f"{planned.n_draws:,} models of the ellipsoid around it, or any other number, cost no "
        "more.",
        _centre(planned),
        size,
    ]


@sentences.register
def _of_draws_on_an_ellipsoid(planned: EllipsoidExactPlan) -> list[str]:
    draws = f"{planned.n_draws:,} exact draw{'' if planned.n_draws == 1 else 's'}"
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    share = planned.first_rho / planned.guarantee.rho
    hits = "No hit rate is guaranteed; a private query estimates it at a privacy cost."
    return [
        f"A private ellipsoid and {draws} on it cost ε = {total} together, at δ = "
        f"{planned.delta:g}: {share:.0%} of ρ for the ellipsoid, and each draw is "
        f"{rounded_up(planned.draw_eta)}-bounded-range.",
        _centre(planned),
        f"Where the quadratic excess is at most {planned.margin:.2f}·ψ, draws have exactly the "
        f"thresholded law at β = {planned.beta:,.0f}: all models of the set there are equally "
        "likely.",
        f"{_hits(planned)}." if planned.has_hit_rate else hits,
        "Models of the set outside the ellipsoid are never drawn, however many there are.",
    ]


@sentences.register
def _of_trees(planned: TreePlan) -> list[str]:
    draws = "1 exact draw" if planned.n_draws == 1 else f"{planned.n_draws:,} exact draws"
    costs = "costs" if planned.n_draws == 1 else "together cost"
    at = f", at δ = {planned.delta:g}" if planned.delta else ""
    lines = [
        f"{draws} from e^{planned.log_size:.1f} trees of at most {planned.most_leaves} leaves "
        f"{costs} ε = {rounded_up(planned.epsilon)} in all{at}.",
        f"One record moves the share of errors of every tree by 1/{planned.n:,} at most, so that "
        f"β = {planned.beta:,.0f} makes a draw {planned.eta:.4g}-bounded-range.",
    ]
    if has_hit_rate(planned):
        lines.append(
            f"At least {_percent(planned.hit_rate_bound)} of the draws are within "
            f"ψ = {planned.psi:g} of the best tree, "
            f"for any {planned.n:,} rows: the bound depends on the number of trees only."
        )
    most = rounded_up(planned.excess_bound)
    excess = f"The loss of a draw exceeds the least by at most {most} on average."
    return [*lines, excess, *improvement_messages(planned)]


def _cost(planned: Plan, kind: str) -> str:
    several = planned.n_draws > 1
    cost, joint = ("s cost", " together") if several else (" costs", "")
    rule = ", by the ledger's composition rule" if planned.ledger else ""
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    return f"{planned.n_draws:,} {kind}{cost} ε = {total}{joint}, at δ = {planned.delta:g}{rule}."


def _percent(hit_rate: float) -> str:
    return hit_rate_text(hit_rate).replace("%", " %")


def _hits(planned: Plan) -> str:
    share = _percent(planned.hit_rate_bound)
    return f"At least {share} of the draws are within ψ = {planned.psi:g} of the least loss"


def _temperature(planned: Plan) -> str:
    eta, moved = rounded_up(planned.eta), rounded_up(planned.oscillation)
    start = f"One record moves the difference of two models' losses by at most {moved}"
    if planned.by_bounded_range:
        return f"{start}, so that β = {planned.beta:,.0f} makes a draw {eta}-bounded-range."
    return (
        f"{start}, which makes a draw {eta}-bounded-range at β = {planned.beta:,.0f}; "
        f"the certificate “{planned.certificate}” proves a lower cost."
    )


def _excess(planned: Plan) -> str:
    bound = f"The loss of a draw exceeds the least by at most {rounded_up(planned.excess_bound)}"
    if planned.psi > 0 or planned.zero_loss is None:
        return f"{bound} on average."
    zeros = rounded_up(planned.zero_loss)
    return f"{bound} on average; that of a model of zeros is at most {zeros}."


def _centre(planned: EllipsoidPlan) -> str:
    descriptions = {
        "gradients": f"the weighted mean of {planned.centre.n_steps:,} noisy gradient steps",
        "accelerated": f"the weighted mean of {planned.centre.n_steps:,} accelerated noisy "
        "gradient steps",
        "output": "the minimiser with noise",
    }
    return (
        f"The centre is {descriptions[planned.centre.name]}; its loss exceeds the least by at most "
        f"{rounded_up(planned.centre.excess)} on average."
    )


def _steps(planned: PathPlan) -> str:
    return (
        f"Each of {planned.n_steps:,} steps, of h = {planned.step_size:.3g} on average, adds "
        f"noise at β = {planned.beta:,.0f}, a time of "
        f"{planned.n_steps * planned.step_size:.3g}; one record moves the gradient by at most "
        f"{rounded_up(planned.sensitivity)}, and every state is accounted for."
    )


def _average(planned: PathPlan) -> str:
    excess = rounded_up(planned.excess_bound)
    hits = f"{_hits(planned)}." if has_hit_rate(planned) else "No hit rate is guaranteed."
    return (
        "A draw is an average of a chain's states, and its loss exceeds the least by at most "
        f"{excess} in expectation. {hits}"
    )
