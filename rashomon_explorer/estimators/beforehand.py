"""What a fit says before anything is charged, from public numbers."""

import warnings

from rashomon_explorer.exceptions import HopelessDrawWarning
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.warn_weak import is_said_elsewhere
from rashomon_explorer.samplers import traits_of
from rashomon_explorer.samplers.preflight import preflight, remedies
from rashomon_explorer.users_line import users_line

ALWAYS_CAME = 16
"""Parameters up to which exact draws have come on every table tried, real or simulated."""

_SMOOTH = ("logistic", "squared", "softmax")
"""Losses of which that is true: draws of hinge and absolute losses may stay away at p = 3."""


def warn_if_hopeless(planned: Plan, sampler: str) -> None:
    """Warn, before a charge, where exact draws do not come on simulated rows of this shape.

    >>> from rashomon_explorer.planning import plan
    >>> warn_if_hopeless(plan(50_000, 31, 0.02, radius=4.0, row_norm=1.5, epsilon=4.0), "exact")
    """
    quiet = not traits_of(sampler).may_give_up or is_said_elsewhere()
    told = "" if quiet else foretold(planned)
    if told:
        warnings.warn(
            f"{told} Nothing is charged yet.", HopelessDrawWarning, stacklevel=users_line()
        )


def is_tried(planned: Plan) -> bool:
    """Whether `foretold` tries the sampler on simulated rows, which may take a while.

    >>> from rashomon_explorer.planning import plan
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "epsilon": 4.0}
    >>> is_tried(plan(**rows)), is_tried(plan(**rows, loss="hinge"))
    (False, True)
    """
    may_stay_away = planned.p > ALWAYS_CAME or planned.loss not in _SMOOTH
    return may_stay_away and not planned.along_path


def is_hopeless(planned: Plan) -> bool:
    """Whether exact draws are too doubtful to be chosen unasked; sooner known than the remedies.

    A user who names them is warned where they are unlikely; who leaves the way open pays only for
    what came a hundred times sooner than the sampler gives up, however few the parameters.

    >>> from rashomon_explorer.planning import plan
    >>> is_hopeless(plan(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=4.0))
    False
    """
    found = None if planned.along_path else preflight(planned)
    return found is not None and not found.sure


def foretold(planned: Plan) -> str:
    """Say that exact draws are not to be expected, and what would let them come.

    Empty where draws are likely, or no more parameters than draws have always come for, of a loss
    without kinks.

    >>> from rashomon_explorer.planning import plan
    >>> foretold(plan(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=4.0))
    ''
    """
    return tried_on_simulated_rows(planned) if is_tried(planned) else ""


def tried_on_simulated_rows(planned: Plan) -> str:
    """Say the same of any number of parameters; empty where draws are likely, or cannot be tried.

    >>> from rashomon_explorer.planning import plan
    >>> tried_on_simulated_rows(plan(5_000, 3, 0.02, radius=4.0, row_norm=1.5, epsilon=4.0))
    ''
    """
    found = preflight(planned)
    if found is None or found.likely:
        return ""
    return f"{found.in_words} {remedies(planned)}"
