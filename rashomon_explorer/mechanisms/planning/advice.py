"""Explanations of plans."""

import math
import warnings

from rashomon_explorer._utils.formatting import hit_rate_text, rounded_up
from rashomon_explorer.exceptions import SamplerError, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import EllipsoidExactPlan
from rashomon_explorer.mechanisms.ellipsoid.plan import EllipsoidPlan
from rashomon_explorer.mechanisms.langevin.plan import ClippedPathPlan, PathPlan
from rashomon_explorer.mechanisms.objective_perturbation.plan import ObjectivePerturbationPlan
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.suggestions import (
    improvement_messages,
    weak_warnings_suppressed,
)
from rashomon_explorer.mechanisms.planning.trees import (
    TreePlan,
    plan_trees,
    tree_improvement_messages,
)
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate, weak_guarantee_reason


def explain_trees(planned: TreePlan) -> list[str]:
    """Describe what a plan of trees guarantees, one sentence per item."""
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
        hits = hit_rate_text(planned.hit_rate_bound).replace("%", " %")
        lines.append(
            f"At least {hits} of the draws are within ψ = {planned.psi:g} of the best tree, "
            f"for any {planned.n:,} rows: the bound depends on the number of trees only."
        )
    most = rounded_up(planned.excess_bound)
    return [*lines, f"The loss of a draw exceeds the least by at most {most} on average."]


def plan_at_epsilon(planned: TreePlan, epsilon: float, n_draws: int) -> TreePlan | None:
    """Plan draws from the same class at another privacy cost; None if none is possible."""
    try:
        return plan_trees(
            planned.n,
            log_size=planned.log_size,
            most_leaves=planned.most_leaves,
            n_labels=planned.n_labels,
            psi=planned.psi,
            leaf_penalty=planned.leaf_penalty,
            epsilon=epsilon,
            delta=planned.delta,
            n_draws=n_draws,
            hit_rate=planned.asked_hit_rate,
            ledger=planned.ledger,
            max_depth=planned.max_depth,
            questions=planned.questions,
            costs=planned.costs,
        )
    except (SamplerError, ValueError):
        return None


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
    if isinstance(planned, TreePlan):
        return "\n".join([*explain_trees(planned), *improvement_messages(planned)])
    if isinstance(planned, ClippedPathPlan):
        return "\n".join(
            [_cost(planned), _steps(planned), _clipped(planned), *improvement_messages(planned)]
        )
    if isinstance(planned, PathPlan):
        return "\n".join([_cost(planned), _steps(planned), _average(planned)])
    if isinstance(planned, ObjectivePerturbationPlan):
        return "\n".join([*_objective_perturbation(planned), *improvement_messages(planned)])
    if isinstance(planned, EllipsoidExactPlan):
        return "\n".join([_twice(planned), _centre(planned), *_on_ellipsoid(planned)])
    if isinstance(planned, EllipsoidPlan):
        return "\n".join([_once(planned), _centre(planned), _size(planned)])
    lines = [_cost(planned), _temperature(planned), _hits(planned), _excess(planned)]
    lines += [*improvement_messages(planned, ridge=True)]
    return "\n".join(line for line in lines if line)


def _cost(planned: Plan) -> str:
    kind = "chains" if planned.along_path else "exact draws"
    if planned.n_draws == 1:
        kind = kind.removesuffix("s")
    cost = "costs" if planned.n_draws == 1 else "cost"
    joint = "" if planned.n_draws == 1 else " together"
    rule = ", by the ledger's composition rule" if planned.ledger else ""
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    return f"{planned.n_draws:,} {kind} {cost} ε = {total}{joint}, at δ = {planned.delta:g}{rule}."


def _temperature(planned: Plan) -> str:
    moved = (
        f"One record moves the difference of two models' losses by at most "
        f"{rounded_up(planned.oscillation)}"
    )
    if planned.by_bounded_range:
        return (
            f"{moved}, so that β = {planned.beta:,.0f} makes a draw "
            f"{rounded_up(planned.eta)}-bounded-range."
        )
    return (
        f"{moved}, which makes a draw {rounded_up(planned.eta)}-bounded-range at "
        f"β = {planned.beta:,.0f}; the certificate “{planned.certificate}” proves a lower cost."
    )


def _hits(planned: Plan) -> str:
    if planned.psi == 0:
        return "No hit rate can be guaranteed: the set has no width because ψ = 0."
    share = hit_rate_text(planned.hit_rate_bound).replace("%", " %")
    return (
        f"At least {share} of the draws are within ψ = {planned.psi:g} of the least loss, "
        f"for any {planned.n:,} rows: the bound depends on p = {planned.p} and βψ only."
    )


def _excess(planned: Plan) -> str:
    bound = f"The loss of a draw exceeds the least by at most {rounded_up(planned.excess_bound)}"
    if planned.psi > 0 or planned.zero_loss is None:
        return f"{bound} on average."
    return (
        f"{bound} on average; that of a model of zeros is at most {rounded_up(planned.zero_loss)}."
    )


def _once(planned: EllipsoidPlan) -> str:
    rule = ", by the ledger's composition rule" if planned.ledger else ""
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    return (
        f"A centre and its curvature cost ε = {total} once, at δ = {planned.delta:g}{rule}: "
        f"{planned.n_draws:,} models of the ellipsoid around it, or any other number, cost no more."
    )


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


def _size(planned: EllipsoidPlan) -> str:
    reach = f"Models are uniform where the quadratic excess is at most {planned.margin:.2f}·ψ"
    if not planned.has_hit_rate:
        return (
            f"{reach}; no hit rate is guaranteed; a private query estimates it at a privacy cost."
        )
    share = hit_rate_text(planned.hit_rate_bound).replace("%", " %")
    return f"{reach}, so that at least {share} of them are within ψ = {planned.psi:g}."


def _twice(planned: EllipsoidExactPlan) -> str:
    several = planned.n_draws != 1
    draws = f"{planned.n_draws:,} exact draw{'s' if several else ''}"
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    share = planned.first_rho / planned.guarantee.rho
    return (
        f"A private ellipsoid and {draws} on it cost ε = {total} together, at δ = "
        f"{planned.delta:g}: {share:.0%} of ρ for the ellipsoid, and each draw is "
        f"{rounded_up(planned.draw_eta)}-bounded-range."
    )


def _on_ellipsoid(planned: EllipsoidExactPlan) -> list[str]:
    law = (
        f"Where the quadratic excess is at most {planned.margin:.2f}·ψ, draws have exactly the "
        f"thresholded law at β = {planned.beta:,.0f}: all models of the set there are equally "
        "likely."
    )
    hits = "No hit rate is guaranteed; a private query estimates it at a privacy cost."
    if planned.has_hit_rate:
        share = hit_rate_text(planned.hit_rate_bound).replace("%", " %")
        hits = f"At least {share} of the draws are within ψ = {planned.psi:g} of the least loss."
    coverage = "Models of the set outside the ellipsoid are never drawn, however many there are."
    return [law, hits, coverage]


def _steps(planned: PathPlan) -> str:
    return (
        f"Each of {planned.n_steps:,} steps, of h = {planned.step_size:.3g} on average, adds "
        f"noise at β = {planned.beta:,.0f}, a time of "
        f"{planned.n_steps * planned.step_size:.3g}; one record moves the gradient by at most "
        f"{rounded_up(planned.sensitivity)}, and every state is accounted for."
    )


def _average(planned: PathPlan) -> str:
    bound = (
        "A draw is an average of a chain's states, and its loss exceeds the least by at most "
        f"{rounded_up(planned.excess_bound)} in expectation"
    )
    return f"{bound}; no hit rate is guaranteed."


def _clipped(planned: ClippedPathPlan) -> str:
    return (
        f"The slope of each row is clipped to {planned.most:g}, which keeps the noise small. The "
        f"clipped loss of a draw exceeds its least by at most "
        f"{rounded_up(planned.clipped_excess)} in expectation; no bound is guaranteed for the "
        f"loss itself or for the hit rate."
    )


def _objective_perturbation(planned: ObjectivePerturbationPlan) -> tuple[str, ...]:
    each = f", {rounded_up(planned.eta)} each" if planned.n_draws > 1 else ""
    draws = "models cost" if planned.n_draws > 1 else "model costs"
    total = rounded_up(planned.guarantee.epsilon(planned.delta))
    at = f" at δ = {planned.delta:g}" if planned.gaussian else ""
    kind = "" if planned.gaussian else "pure "
    of = "the loss"
    cost = f"{planned.n_draws:,} {draws} {kind}ε = {total}{at}{each}"
    lines = [f"{cost}; the mechanism always returns a model."]
    lines.append(
        f"A model minimises the loss with a random linear term of scale {planned.tilt:.3g} and a "
        f"ridge of {planned.tilt_ridge:.3g}."
    )
    if math.isfinite(planned.most):
        of = "the clipped loss"
        lines.append(f"The slope of each row is clipped to {planned.most:g}.")
    bound = f"On average {of} exceeds its least by at most {rounded_up(planned.followed_excess)}"
    hits = (
        "no hit rate is guaranteed" if planned.by_excess else hit_rate_text(planned.hit_rate_bound)
    )
    lines.append(f"{bound}; {hits}{'' if planned.by_excess else ' of the draws hit'}.")
    return tuple(lines)


def warn_if_weak_trees(planned: TreePlan) -> None:
    """Warn if a plan has a weak guarantee, and name the ε that improves it."""
    why = "" if weak_warnings_suppressed() else weak_guarantee_reason(planned)
    if not why:
        return
    remedy = "take more rows, a larger ε, fewer draws, fewer leaves or features, or a larger ψ"
    suggestions = "".join(f" {one}" for one in tree_improvement_messages(planned))
    warnings.warn(
        f"this plan has a weak guarantee: {why}.{suggestions} For more, {remedy}.",
        WeakGuaranteeWarning,
        stacklevel=warn_stacklevel(),
    )
