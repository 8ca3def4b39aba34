"""What sections on rows need, and how they say that it is missing."""

from typing import Any

from rashomon_explorer.measures.reliance.tree_reliance import trees_of
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.base import Skip


def need_rows(given: Curator, *, targets: bool = False, inside: bool = True) -> None:
    """Raise `Skip` unless there are models (inside ψ), and rows to ask for their predictions."""
    if not given.models.n_draws:
        raise Skip("the set holds no models")
    if inside and not given.members.n_draws:
        raise Skip(f"none of {given.models.n_draws} models lies in the Rashomon set")
    if not given.readable:
        raise Skip("no rows were handed in: report(path, X, y)")
    if targets and given.y is None:
        raise Skip("no targets were handed in: report(path, X, y)")


def need_linear_or_trees(given: Curator) -> Any:
    """Return a set of linear draws, or of decision trees."""
    return given.models if trees_of(given.models) is not None else need_linear(given)


def need_linear(given: Curator) -> RashomonSet:
    """Return a set of linear draws."""
    if not isinstance(given.models, RashomonSet):
        raise Skip(
            f"it needs linear models with a certified best one, and these are "
            f"{given.models.sampler}"
        )
    if not given.models.n_draws:
        raise Skip("the set holds no models")
    return given.models
