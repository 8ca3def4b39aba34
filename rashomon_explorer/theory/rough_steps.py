"""The last state of noisy steps that may bring models apart, or jump, on a bounded domain."""

import math

from rashomon_explorer.validation import check_count, check_nonnegative, check_positive

_MOST_HIDDEN = 4096
_LARGE = 1e100


def rough_last_state_mu(
    *,
    expansion: float,
    jump: float = 0.0,
    shift: float,
    noise: float,
    diameter: float,
    n_steps: int,
) -> float:
    """Gaussian DP of the last of N states x ← P(φ(x) + N(0, σ²I)) for maps that need not contract.

    For ‖φ(x) − φ(y)‖ ≤ c‖x − y‖ + j and ‖φ(x) − φ'(x)‖ ≤ s the last K steps alone count, from
    states that are D apart at most: shifts a_t with z ← cz + j + s − a, from D to 0, cost Σa²/σ²
    (shifted interpolation, Bok, Su and Altschuler 2024, whose induction asks for no more), which is
    least for a_t ∝ c^(K − t). The whole path costs N·s²/σ², because from one start nothing is apart
    and nothing jumps. That is what arXiv 2410.01068 and 2501.04134 are about, here without their
    constants.

    Parameters
    ----------
    expansion : float
        c ≥ 1: 1 + ηM for a step η along the gradient of an M-smooth loss.
    jump : float, default=0.0
        j: η times the jump of the gradient.
    shift : float
        s: how far one record moves a step.
    noise : float
        σ a coordinate of one step.
    diameter : float
        D, of the domain onto which P projects.
    n_steps : int
        N.

    Returns
    -------
    float
        μ, at most that of the whole path.

    Examples
    --------
    >>> path = {"shift": 1e-3, "noise": 0.1, "diameter": 2.0}
    >>> [round(rough_last_state_mu(expansion=1.001, n_steps=n, **path), 2)
    ...  for n in (1_000, 1_000_000, 100_000_000)]
    [0.32, 1.27, 1.27]
    >>> rough_last_state_mu(expansion=1.0, jump=0.1, n_steps=1_000, **path) > 0.31
    True
    """
    check_positive(shift=shift, noise=noise, diameter=diameter)
    check_nonnegative(jump=jump)
    check_count(n_steps=n_steps)
    if not expansion >= 1:
        raise ValueError(f"expansion must be >= 1, got {expansion!r}: who contracts pays less")
    best = math.sqrt(n_steps) * shift
    ahead = squares = 0.0
    grown = 1.0
    for _ in range(min(n_steps, _MOST_HIDDEN)):
        ahead, squares = ahead + grown, squares + grown**2
        grown *= expansion
        if grown > _LARGE:
            break
        best = min(best, (grown * diameter + (jump + shift) * ahead) / math.sqrt(squares))
    return best / noise
