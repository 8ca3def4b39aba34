"""A warning before draws of trees of which little is promised."""

import warnings

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.planning.trees import TreePlan, tree_wishes
from rashomon_explorer.planning.warn_weak import is_said_elsewhere
from rashomon_explorer.planning.weakness import weakness
from rashomon_explorer.users_line import users_line


def warn_if_weak_trees(planned: TreePlan) -> None:
    """Warn of a plan that promises next to nothing, with the ε that would promise more."""
    why = "" if is_said_elsewhere() else weakness(planned)
    if not why:
        return
    remedy = "take more rows, a larger ε, fewer draws, fewer leaves or features, or a larger ψ"
    told = "".join(f" {one}" for one in tree_wishes(planned))
    warnings.warn(
        f"this plan promises little: {why}.{told} For more, {remedy}.",
        WeakGuaranteeWarning,
        stacklevel=users_line(),
    )
