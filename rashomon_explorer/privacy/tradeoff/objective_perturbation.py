"""Trade-off function of objective perturbation with Gaussian noise."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfc, gammaln, ndtr

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_nonnegative
from rashomon_explorer.privacy.conversions import EXCESS, OFFSET, ORDERS, renyi_epsilon
from rashomon_explorer.privacy.tradeoff.curves import TradeOff, check_order

_UP = 1 + 1e-12
_AT_ONCE = 256  # number of ε for which all orders are tried in one array


@dataclass(frozen=True)
class GaussianObjectivePerturbation(TradeOff):
    """Minimisers of mean loss + ½m‖θ‖² + b·θ, b ~ N(0, σ²I), by their Rényi divergences.

    For θ from either table the privacy loss is at most J + u²/2 + ½u(‖X‖ + ‖Y‖). X and Y are the
    parts of b/σ along the two records: standard normal, with one dimension per score of a row. For
    losses that are monotone in their one score, positive parts replace the lengths. By the
    Cauchy–Schwarz inequality

        D_a ≤ J + a u²/2 + log g((a − 1)u)/(a − 1),   g(t) = e^(−t²/2)·E e^(t‖X‖)

    (docs/theory.md §15). For monotone losses g is Φ(t) + ½e^(−t²/2), which is at most 1.15. At
    every order the bound is slightly above the divergence of a Gaussian mechanism. It is no zCDP,
    because it does not vanish at orders next to 1.

    Parameters
    ----------
    ratio : float
        u = 2S/(nσ).
    jump : float
        J, change in the log determinant of b ↦ θ.
    monotone : bool
        Whether the loss of a row is monotone in its score.
    outputs : int, default=1
        Number of scores of a row.
    draws : int, default=1
        Number of such minimisers, each with its own b.
    mu : float, default=0.0
        μ of all Gaussian mechanisms composed with them, such as the one that hides solver error.

    Examples
    --------
    >>> curve = GaussianObjectivePerturbation(ratio=0.2, jump=0.01, monotone=True)
    >>> round(curve.renyi(20.0), 4), round(curve.epsilon(1e-6), 3), round(20 * 0.2**2 / 2, 4)
    (0.41, 0.91, 0.4)
    """

    ratio: float
    jump: float
    monotone: bool
    outputs: int = 1
    draws: int = 1
    mu: float = 0.0
    kind: ClassVar[str] = "gaussian_tilt"
    notion: ClassVar[str] = "Rényi DP"

    def __post_init__(self) -> None:
        check_nonnegative(ratio=self.ratio, jump=self.jump, mu=self.mu)
        check_count(outputs=self.outputs, draws=self.draws)

    def renyi(self, order: float) -> float:
        """Upper bound on D_a as above, in closed form."""
        check_order(order)
        return float(self._divergences(order, order - 1, _FLOATS))

    def repeated(self, draws: int) -> "GaussianObjectivePerturbation":
        """Curve of several copies of the minimisers, with everything composed with them."""
        return replace(self, draws=draws * self.draws, mu=math.sqrt(draws) * self.mu)

    def compose_gaussian(self, mu: float) -> "GaussianObjectivePerturbation":
        """Compose the curve with another Gaussian mechanism."""
        return replace(self, mu=math.hypot(self.mu, mu))

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 that any order proves at δ."""
        return renyi_epsilon(ORDERS, self._order_divergences, delta)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        flat = np.ravel(epsilon)
        log_delta = np.empty(len(flat))
        for start in range(0, len(flat), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            exponents = (
                EXCESS[:, None] * (self._order_divergences[:, None] - flat[part]) + OFFSET[:, None]
            )
            log_delta[part] = exponents.min(axis=0)
        return np.exp(np.minimum(0.0, log_delta)).reshape(np.shape(epsilon))

    @cached_property
    def _order_divergences(self) -> FloatArray:
        return np.asarray(self._divergences(ORDERS, EXCESS, _ARRAYS))

    def _divergences(self, order: Any, excess: Any, xp: SimpleNamespace) -> Any:
        """Bound at one order or at an array of orders, and each order minus 1."""
        t = excess * self.ratio
        if self.outputs > 1:
            share = _log_length_share(np.asarray(t), self.outputs)
        else:
            side = xp.erfc(-t / math.sqrt(2)) / 2
            share = xp.log(side + xp.exp(-t * t / 2) / 2 if self.monotone else 2 * side)
        one_draw = self.jump + order * self.ratio**2 / 2 + xp.maximum(0.0, share) / excess
        return _UP * (self.draws * one_draw + order * self.mu**2 / 2)


# A planner needs thousands of values at one order, which floats give ten times as fast.
_FLOATS = SimpleNamespace(erfc=math.erfc, exp=math.exp, log=math.log, maximum=max)
_ARRAYS = SimpleNamespace(erfc=erfc, exp=np.exp, log=np.log, maximum=np.maximum)


def _log_length_share(t: FloatArray, dimensions: int) -> FloatArray:
    """Log of e^(−t²/2)·E e^(t‖X‖), X standard normal in two or more dimensions, t ≥ 0."""
    # Division by max(t, 1)^k avoids overflow.
    size = np.maximum(t, 1.0)
    lower = ndtr(t)
    moment = (t * lower + np.exp(-t * t / 2) / math.sqrt(2 * math.pi)) / size
    for k in range(2, dimensions):
        lower, moment = moment, t / size * moment + (k - 1) / size**2 * lower
    scale = (1 - dimensions / 2) * math.log(2) + math.log(2 * math.pi) / 2 - gammaln(dimensions / 2)
    return np.asarray(np.log(moment) + (dimensions - 1) * np.log(size) + scale)
