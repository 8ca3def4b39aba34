"""The last state of noisy gradient descent: its price, and how far its loss may be off."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.planning.centres import furthest_start
from rashomon_explorer.planning.path import last_iterate_guarantee
from rashomon_explorer.planning.sensitivity import data_slope
from rashomon_explorer.privacy import Guarantee

_STEPS = tuple(sorted({round(2000 ** (k / 17)) for k in range(18)}))
_PACES = (1.0, 0.25, 0.0625)  # η·M
_SAFE = 1 + 1e-9  # of σ: what is charged must not pass the budget by an ulp


@dataclass(frozen=True)
class LastState:
    """A noisy gradient descent of which the last state alone is shown, in public numbers.

    Parameters
    ----------
    pace : float
        η of θ ← Π(θ − η(∇L + σξ)).
    noise : float
        σ.
    n_steps : int
        N.
    excess : float
        Expected excess loss of the last state is at most this, whatever the rows.
    guarantee : Guarantee
        Of the last state.
    """

    pace: float
    noise: float
    n_steps: int
    excess: float
    guarantee: Guarantee

    @property
    def beta(self) -> float:
        """β of the Langevin chain that takes the same steps, 2/(ησ²)."""
        return 2 / (self.pace * self.noise**2)

    @property
    def step_size(self) -> float:
        """Its step h = η/β: its noise has the deviation √(2h) = ησ."""
        return self.pace / self.beta


def plan_last_state(constants: Constants, radius: float, mu: float, zero_loss: float) -> LastState:
    """Descent of the least promise for a price; reads no row.

    Steps θ_j = Π(θ_{j−1} − η(∇L + σξ)) from 0, η ≤ 1/M, with σ such that the last of N states costs
    μ by Theorems 4.2 and 4.3 of Bok, Su and Altschuler (2024), c = 1 − ηm. Its expected excess is
    at most :func:`last_state_excess` (docs/theory.md §17).

    Parameters
    ----------
    constants : Constants
        Of a smooth loss on the ball.
    radius : float
        R of the ball.
    mu : float
        Gaussian DP that it may cost.
    zero_loss : float
        What the loss of the model of zeros is at most.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 92, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.01}
    >>> last = plan_last_state(Constants.of("logistic", **rows), 4.0, 0.17, 0.7)
    >>> last.n_steps, round(last.excess, 3), round(last.guarantee.mu, 6)
    (214, 0.009, 0.17)
    """
    start, ball = furthest_start(constants, radius, zero_loss), Ball(radius)
    moved = data_slope(constants, ball)

    def paid(pace: float, n_steps: int, noise: float) -> Guarantee:
        step = (pace * noise) ** 2 / 2
        return last_iterate_guarantee(
            beta=pace / step,
            sensitivity=moved,
            step_size=step,
            n_steps=n_steps,
            contraction=max(0.0, 1 - pace * constants.m),
            diameter=2 * radius,
        )

    def priced(pace: float, n_steps: int) -> tuple[float, float, int, float]:
        noise = paid(pace, n_steps, 1.0).mu / mu * _SAFE  # the price falls as 1/σ
        square = constants.p * noise**2
        excess = last_state_excess(
            pace, constants.m, square, n_steps, start=start, diameter=2 * radius
        )
        return excess, pace, n_steps, noise

    excess, pace, n_steps, noise = min(
        priced(share / constants.M, n_steps) for share in _PACES for n_steps in _STEPS
    )
    return LastState(pace, noise, n_steps, excess, paid(pace, n_steps, noise))


def last_state_excess(
    pace: float, m: float, square: float, n_steps: int, *, start: float, diameter: float
) -> float:
    """Bound of E L(θ_N) − L*, for noise of mean square v = E‖σξ‖² a step.

    With D_j² ≥ E‖θ_j − θ*‖², which falls by (1 − ηm)/(1 + ηm) a step and rises by 2η²v, the last K
    states have a mean excess of at most D_{N−K}²/(2ηK) + ηv, and the last one is worse than their
    mean by at most ηv(½ + … + 1/K) (docs/theory.md §17):

        min over K ≤ N of D_{N−K}²/(2ηK) + ηv(1 + ½ + … + 1/K).

    Parameters
    ----------
    pace : float
        η ≤ 1/M.
    m : float
        Strong convexity.
    square : float
        v.
    n_steps : int
        N.
    start : float
        Largest distance of the minimiser from the first state.
    diameter : float
        Of the domain.

    Examples
    --------
    >>> round(last_state_excess(1.0, 0.0, 0.01, 4, start=1.0, diameter=2.0), 6)
    0.145833
    """
    shrink = (1 - pace * m) / (1 + pace * m)
    last = np.arange(1.0, n_steps + 1)  # K
    far = _distances(shrink, 2 * pace**2 * square / (1 + pace * m), n_steps - last, start)
    harmonic = np.cumsum(1 / last)
    bounds = np.minimum(far, diameter**2) / (2 * pace * last) + pace * square * harmonic
    return float(bounds.min())


def _distances(shrink: float, added: float, steps: FloatArray, start: float) -> FloatArray:
    """Bound of the mean square distance after so many steps."""
    left = shrink**steps
    total = steps if shrink == 1 else (1 - left) / (1 - shrink)
    return np.asarray(left * start**2 + added * total)
