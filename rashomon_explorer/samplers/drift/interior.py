"""Whether the minimiser is inside the domain whatever the rows."""

from rashomon_explorer.domains import Ball
from rashomon_explorer.problem import Problem


def minimiser_inside(problem: Problem) -> bool:
    """Whether every data set has its global minimiser in the ball.

    With ridge·R ≥ the Lipschitz constant of the data part the loss rises along every ray where it
    leaves the ball, and by convexity beyond. Reads no row.

    Examples
    --------
    >>> minimiser_inside(Problem([[0.5], [-0.5]], [1, -1], radius=2.0, ridge=1.0))
    True
    >>> minimiser_inside(Problem([[0.5], [-0.5]], [1, -1], radius=2.0))
    False
    """
    if not isinstance(problem.domain, Ball):
        return False
    pull = problem.ridge * problem.domain.radius
    return pull > 0 and pull >= problem.L - pull
