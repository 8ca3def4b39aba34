"""Which chains are certainly inside the Rashomon set, without a look at the rows."""

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask


class Slack:
    """Upper bounds of losses, from each chain's last evaluation.

    With A at least every Hessian of the loss, a model θ that has moved by d since its loss was
    last computed at a has

        L(θ) ≤ L(a) + ∇L(a)·d + ½ dᵀA d,

    which costs p² operations instead of n·p. A model whose bound is below the edge of the
    Rashomon set is inside, where the thresholded gradient is 0 (own derivation, after §5 of the
    project's notes on lazy steps, which has only L(θ) ≤ L(a) + L·‖d‖).

    ``curvature`` (p, p) is A; ``slope_error`` is what rounding may do to the norm of a gradient.

    >>> slack = Slack(np.eye(1))
    >>> theta = np.array([[0.0, 1.0]])
    >>> slack.note(np.array([True, True]), theta, np.array([0.0, 0.5]), theta)
    >>> slack.upper(np.array([[0.2, 1.0]])).tolist()
    [0.020000000000000004, 0.5]
    """

    def __init__(self, curvature: FloatArray, slope_error: float = 0.0) -> None:
        self._curvature = curvature
        self._slope_error = slope_error
        self._value = np.empty(0)

    def upper(self, theta: FloatArray) -> FloatArray:
        """Upper bounds (K,) of the losses of the chains' states (p, K)."""
        if not len(self._value):
            return np.full(theta.shape[1], np.inf)
        moved = theta - self._anchor
        slope = self._gradient + (self._curvature @ moved) / 2
        bound = self._value + np.einsum("ij,ij->j", moved, slope)
        if self._slope_error:
            bound += self._slope_error * np.sqrt(np.einsum("ij,ij->j", moved, moved))
        return np.asarray(bound)

    def note(
        self,
        evaluated: Mask,
        theta: FloatArray,
        value: FloatArray,
        gradient: FloatArray,
    ) -> None:
        """Remember the chains that were evaluated at ``theta`` (p, K).

        ``value`` must be at least their losses, whatever rounding did to them.
        """
        if not len(self._value):
            self._value = np.full(theta.shape[1], np.inf)
            self._anchor, self._gradient = np.zeros_like(theta), np.zeros_like(theta)
        self._value[evaluated] = value
        self._anchor[:, evaluated] = theta[:, evaluated]
        self._gradient[:, evaluated] = gradient
