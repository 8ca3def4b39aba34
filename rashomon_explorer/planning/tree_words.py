"""Plans of trees in words, and beside other prices."""

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.planning.trees import TreePlan, plan_trees
from rashomon_explorer.planning.weakness import has_hit_rate
from rashomon_explorer.rounding import hit_rate_text, rounded_up


def explain_trees(planned: TreePlan) -> list[str]:
    """Say in sentences what a plan of trees buys, and why no more.

    Examples
    --------
    >>> bought = plan_trees(6907, log_size=14.6, most_leaves=5, psi=0.02, epsilon=0.25)
    >>> for line in explain_trees(bought):
    ...     print(line)
    1 exact draw from e^14.6 trees of at most 5 leaves costs ε = 0.25 in all.
    One record moves the share of errors of every tree by 1/6,907 at most, so that β = 863 makes \
a draw 0.25-bounded-range.
    At least 89 % of the draws are within ψ = 0.02 of the best tree, whatever the 6,907 rows say: \
that follows from the number of trees alone.
    The loss of a draw exceeds the least by at most 0.01746 on average.
    """
    draws = "1 exact draw" if planned.n_draws == 1 else f"{planned.n_draws:,} exact draws"
    costs = "costs" if planned.n_draws == 1 else "together cost"
    at = f", at δ = {planned.delta:g}" if planned.delta else ""
    told = [
        f"{draws} from e^{planned.log_size:.1f} trees of at most {planned.most_leaves} leaves "
        f"{costs} ε = {rounded_up(planned.epsilon)} in all{at}.",
        f"One record moves the share of errors of every tree by 1/{planned.n:,} at most, so that "
        f"β = {planned.beta:,.0f} makes a draw {planned.eta:.4g}-bounded-range.",
    ]
    if has_hit_rate(planned):
        hits = hit_rate_text(planned.hit_rate_bound).replace("%", " %")
        told.append(
            f"At least {hits} of the draws are within ψ = {planned.psi:g} of the best tree, "
            f"whatever the {planned.n:,} rows say: that follows from the number of trees alone."
        )
    most = rounded_up(planned.excess_bound)
    return [*told, f"The loss of a draw exceeds the least by at most {most} on average."]


def at_another_price(planned: TreePlan, epsilon: float, n_draws: int) -> TreePlan | None:
    """Plan so many draws from the same class for another price; None where it buys none.

    Examples
    --------
    >>> bought = plan_trees(6907, log_size=14.6, most_leaves=5, psi=0.02, epsilon=0.25)
    >>> at_another_price(bought, 0.5, 1).beta > bought.beta
    True
    """
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
