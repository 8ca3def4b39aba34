"""How large an ellipsoid around a nearly best model may be and still lie in the Rashomon set."""

import math

from scipy.optimize import minimize_scalar

from rashomon_explorer.losses import Loss
from rashomon_explorer.search import bisect

_WIDEST = 1.0


def bend_of(loss: Loss, row_bound: float) -> float | None:
    """Find b with |φ'''(t)| ≤ b·‖w‖·φ''(t) for a row's loss φ(t) = ℓ(θ + tw), or None.

    A row's loss changes by z·w, at most B‖w‖: for logistic loss |f'''| ≤ f'', so that b = B. The
    squared loss has no third derivative, b = 0. Cross-entropy is a cumulant generating function,
    |φ'''| ≤ (max − min of the scores' changes)·φ'' ≤ √2·B‖w‖·φ'' (B‖w‖ for two classes).

    Parameters
    ----------
    loss : Loss
    row_bound : float
        B on the norm of a whole row.

    Examples
    --------
    >>> from rashomon_explorer.losses import get_loss
    >>> [bend_of(get_loss(loss), 1.5) for loss in ("logistic", "squared", "smoothed_hinge")]
    [1.5, 0.0, None]
    """
    steepest = {"squared": 0.0, "logistic": 1.0, "softmax": math.sqrt(2 if loss.outputs > 1 else 1)}
    return steepest[loss.name] * row_bound if loss.name in steepest else None


def proved_margin(*, psi: float, ridge: float, bend: float, excess: float) -> float:
    """Largest a for which {½wᵀAw ≤ aψ} around the centre lies in the set; 0 if no a is known.

    Let A be at least the Hessian at the centre, ridge included, the centre's excess e and the
    minimiser inside the domain. With c = bend/√m and h(x) = (e^{cx} − 1 − cx)/c², x²/2 for c = 0,
    a model at x = √(2aψ) in the metric of A has an excess of at most

        e + ν·x + h(x),   ν = min_{s > 0} [e + h(s)]/s:

    the gradient at the centre has a dual norm of at most ν, or a step of s against it would fall
    below the least loss (own derivation, docs/theory.md §13). a is the largest with that at most
    ψ, and at most 1.

    Parameters
    ----------
    psi : float
        ψ > 0.
    ridge : float
        m.
    bend : float
        See :func:`bend_of`.
    excess : float
        e.

    Examples
    --------
    >>> round(proved_margin(psi=0.02, ridge=0.1, bend=0.0, excess=0.0), 6)
    1.0
    >>> round(proved_margin(psi=0.02, ridge=0.1, bend=0.0, excess=0.0002), 6)
    0.81
    >>> proved_margin(psi=0.02, ridge=0.0, bend=1.0, excess=0.0)
    0.0
    """
    if not (excess < psi and (ridge > 0 or bend == 0)):
        return 0.0
    curve = bend / math.sqrt(ridge) if bend else 0.0
    slope = _steepest(curve, excess)

    def inside(margin: float) -> bool:
        reach = math.sqrt(2 * margin * psi)
        return excess + slope * reach + _bent(curve, reach) <= psi

    if inside(_WIDEST):
        return _WIDEST
    return bisect(inside, 0.0, _WIDEST, halvings=60)


def _steepest(curve: float, excess: float) -> float:
    """Bound ν of the gradient's dual norm; any s gives one."""
    if excess == 0:
        return 0.0
    if curve == 0:
        return math.sqrt(2 * excess)

    def bound(log_reach: float) -> float:
        reach = math.exp(log_reach)
        return (excess + _bent(curve, reach)) / reach

    # From the reach that is best without a bend downwards: a bend makes shorter steps better.
    high = math.log(math.sqrt(2 * excess))
    found = minimize_scalar(bound, bounds=(high - 10, high), method="bounded")
    return min(float(found.fun), bound(high))


def _bent(curve: float, reach: float) -> float:
    """h(x), at least x²/2."""
    bend = curve * reach
    if bend < 1e-3:  # (e^k − 1 − k)/k² ≤ ½ + k/6 + k²/24·e^k, and the difference has no digits
        return reach**2 * (0.5 + bend / 6 + bend**2 / 20)
    if bend > 500:
        return math.inf
    return reach**2 * (math.expm1(bend) - bend) / bend**2
