"""Only the last iterate of each chain is ever shown."""

import math

from rashomon_explorer.planning.certificates.certificate import Certificate, refused
from rashomon_explorer.planning.certificates.run import PathRun
from rashomon_explorer.planning.path import last_iterate_guarantee

_NAME = "last_iterate"
_TITLE = "nothing of a chain but its last iterate is ever shown"
_SOURCE = "Theorems 4.2 and 4.3 of Bok, Su and Altschuler 2024"


def last_iterate(run: PathRun) -> Certificate:
    """μ-GDP of the last of N steps, settled beforehand, for steps that bring no two models apart.

    Without a threshold a step contracts by c = max{|1 − hβm|, |1 − hβM|}, with the smooth threshold
    by c = 1, for h ≤ 2/(β·smoothness); see :func:`last_iterate_guarantee`. The hard and the
    Gaussian threshold's gradients jump.

    Examples
    --------
    >>> from rashomon_explorer.constants import Constants
    >>> from rashomon_explorer.domains import Ball
    >>> constants = Constants.of("logistic", n=1000, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> smooth = PathRun(constants, Ball(1.0), 0.1, 100.0, 1e-4, 20_000, "smooth")
    >>> last_iterate(smooth).applies
    True
    >>> print(last_iterate(PathRun(constants, Ball(1.0), 0.1, 100.0, 1e-4, 20_000, "hard")).why)
    the gradient jumps (hard threshold), so that steps may bring models apart
    """
    if not math.isfinite(run.bend):
        cause = f"{run.threshold.name} threshold" if run.hard or run.gaussian else "loss with kinks"
        why = f"the gradient jumps ({cause}), so that steps may bring models apart"
        return refused(_NAME, _TITLE, _SOURCE, why)
    pace = run.step_size * run.beta
    if pace * run.bend > 2:
        why = (
            f"h = {run.step_size:.3g} is above 2/(β·smoothness) = {2 / (run.beta * run.bend):.3g}, "
            "so that steps may bring models apart"
        )
        return refused(_NAME, _TITLE, _SOURCE, why)
    m, largest = run.constants.m, run.constants.M
    contraction = max(abs(1 - pace * m), abs(1 - pace * largest)) if run.bare else 1.0
    guarantee = last_iterate_guarantee(
        beta=run.beta,
        sensitivity=run.sensitivity,
        step_size=run.step_size,
        n_steps=run.n_steps,
        contraction=contraction,
        diameter=run.domain.diameter,
        n_chains=run.n_chains,
    )
    why = (
        f"a step brings models closer by c = {contraction:.6g} on a domain of diameter "
        f"{run.domain.diameter:.3g}: μ = {guarantee.mu:.4g} ({run.in_words()}); a trace that is "
        "shown, or a stop that depends on it, voids it"
    )
    return Certificate(_NAME, _TITLE, _SOURCE, guarantee, True, why)
