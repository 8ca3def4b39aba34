"""From a budget to a noisy path along a loss whose slope is clipped, without reading a row."""

import math
from dataclasses import dataclass, field, fields

from rashomon_explorer.losses import Loss, get_loss
from rashomon_explorer.losses.clipped_pull import MOST_PULL, clipped
from rashomon_explorer.planning.path_planner import PathPlan, plan_path
from rashomon_explorer.planning.warn_weak import said_elsewhere, warn_if_weak
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.shown import Fact
from rashomon_explorer.threshold import NoThreshold, Threshold
from rashomon_explorer.validation import check_nonnegative


@dataclass(frozen=True, repr=False)
class ClippedPathPlan(PathPlan):
    """What a budget buys of chains that follow a clipped loss.

    ``excess_bound`` is infinite and ``hit_rate_bound`` 0: nothing is promised of the loss itself.

    Parameters
    ----------
    most : float
        Slope at which a row's pull is clipped.
    clipped_excess : float
        The clipped loss of a draw exceeds the least clipped loss, which is at most the least loss,
        by at most this on average.
    """

    most: float = field(default=MOST_PULL, kw_only=True)
    clipped_excess: float = field(default=math.inf, kw_only=True)
    sampler: str = field(default="langevin_clipped", kw_only=True, compare=False)

    @property
    def weighed_excess(self) -> float:
        """Of the clipped loss."""
        return self.clipped_excess

    @property
    def threshold(self) -> Threshold:
        """None: it is drawn at ψ = 0."""
        return NoThreshold()

    def _facts(self) -> list[Fact]:
        told = f"exceeds its least by ≤ {rounded_up(self.clipped_excess)} on average"
        facts = super()._facts()
        return [
            ("clipped loss", told) if name == "excess loss" else (name, of) for name, of in facts
        ]


def plan_clipped_path(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float,
    delta: float,
    n_draws: int = 1,
    most: float = MOST_PULL,
    ledger: bool = False,
) -> ClippedPathPlan:
    """Plan averages of chains along the loss with its slope clipped, at ψ = 0; reads no row.

    All is as in :func:`rashomon_explorer.planning.plan_path` for the clipped loss ℓ_c ≤ ℓ, whose
    gradients are at most most·B long. With e the bound of its excess, a draw has

        E L_c(θ) ≤ min L_c + e ≤ min L + e.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger
        As in :func:`rashomon_explorer.planning.plan_path`; the loss is logistic or squared.
    most : float, default=0.5
        See :func:`rashomon_explorer.losses.clipped_pull.clipped`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the loss has no clipped form.

    Warns
    -----
    WeakGuaranteeWarning
        If the clipped loss is not promised to be less than that of the model of zeros.

    Examples
    --------
    >>> rows = {"n": 40_000, "p": 31, "psi": 0.0, "radius": 4.0, "row_norm": 1.5}
    >>> budget = {"epsilon": 1.0, "delta": 1e-6}
    >>> path, less = plan_path(**rows, **budget), plan_clipped_path(**rows, **budget)
    >>> round(path.sensitivity / less.sensitivity, 2)
    2.0
    >>> less.clipped_excess < path.excess_bound
    True
    """
    check_nonnegative(psi=psi)
    whole = get_loss(loss)
    followed = clipped(whole, most)
    if followed is None:
        raise ValueError(f"{whole.name} loss has no form with a clipped slope")
    asked = {"radius": radius, "row_norm": row_norm, "ridge": ridge, "ledger": ledger}
    budget = {"epsilon": epsilon, "delta": delta, "n_draws": n_draws}
    with said_elsewhere():
        path = plan_path(n, p, 0.0, loss=followed, **asked, **budget)  # type: ignore[arg-type]
        plain = plan_path(n, p, 0.0, loss=whole, **asked, **budget)  # type: ignore[arg-type]
    settings = {one.name: getattr(path, one.name) for one in fields(path)}
    settings |= {"psi": psi, "law_psi": 0.0, "loss": whole.name, "excess_bound": math.inf}
    settings |= {"oscillation": plain.oscillation, "zero_loss": plain.zero_loss}
    settings |= {"sampler": "langevin_clipped", "certificate": "clipped path"}
    planned = ClippedPathPlan(**settings, most=most, clipped_excess=path.excess_bound)
    warn_if_weak(planned, "this plan")
    return planned
