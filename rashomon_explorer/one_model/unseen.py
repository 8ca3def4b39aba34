"""From the rows to new ones: what an excess may grow by."""

import math

from rashomon_explorer.losses import get_loss
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.sensitivity import data_lipschitz


def generalisation_gap(request: Request) -> float:
    """Bound 2L₀R/√n of E[risk − loss on the rows], of any model that was made from the rows.

    For rows drawn independently from one law, the largest difference over the ball has at most
    twice the Rademacher average of the losses as its mean; a loss of slope s in the score has at
    most s times that of the scores, which is RB/√n on rows of norm at most B (Bartlett and
    Mendelson 2002; for several scores a row, √2·√K times as much, Maurer 2016). L₀ = sB is without
    the ridge. Whatever was done with the rows, private or not, this holds.

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> round(generalisation_gap(Request(**rows, ridge=0.0, epsilon=1, delta=0, n_draws=1)), 9)
    0.8
    """
    return batch_gap(request, request.n, request.radius)


def batch_gap(request: Request, size: int, reach: float) -> float:
    """Bound the same of so many rows, for models of a ball that they do not decide about.

    Of rows taken from a table by chance, without return, it holds of the table's mean in place of
    the risk (Hoeffding 1963: no convex function of their sum has a larger mean).

    Parameters
    ----------
    request : Request
    size : int
        Rows.
    reach : float
        Radius of the ball, around whatever centre.

    Examples
    --------
    >>> rows = {"n": 400, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> asked = Request(**rows, ridge=0.0, epsilon=1, delta=0, n_draws=1)
    >>> round(batch_gap(asked, 100, 1.0), 9)
    0.2
    """
    outputs = get_loss(request.loss).outputs
    several = math.sqrt(2 * outputs) if outputs > 1 else 1.0
    slope = data_lipschitz(request.constants, request.domain)
    return 2 * several * slope * reach / math.sqrt(size)


def stable_gap(request: Request, ridge: float, error: float = 0.0) -> float:
    """Bound L₀(2L₀/(mn) + error) of the same, for a model that moves by the bracket at most.

    A minimiser under a ridge m, a Gibbs draw at ψ = 0 (coupled) and a minimiser plus noise move by
    2L₀/(mn) when one row is replaced, and by what the solver is off on both sides (Bousquet and
    Elisseeff 2002; Corollary E.3 of "On the universality of Langevin diffusion").

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> asked = Request(**rows, ridge=0.0, epsilon=1, delta=0, n_draws=1)
    >>> round(stable_gap(asked, 0.5), 9)
    0.04
    """
    slope = data_lipschitz(request.constants, request.domain)
    moved = 2 * slope / (ridge * request.n) + error if ridge > 0 else math.inf
    return min(generalisation_gap(request), slope * moved)
