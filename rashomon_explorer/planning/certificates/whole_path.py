"""Every iterate of every chain may be shown."""

from rashomon_explorer.planning.certificates.certificate import Certificate, refused
from rashomon_explorer.planning.certificates.run import PathRun
from rashomon_explorer.planning.path import path_guarantee

_NAME = "path"
_TITLE = "every iterate of every chain may be shown"
_SOURCE = "Lemma 2.2 of Ganesh et al. 2023; Theorem 4.1 of Bok, Su and Altschuler 2024"


def path(run: PathRun) -> Certificate:
    """μ-GDP with μ² = kNhβ²Δ²/2, whatever the threshold; see :func:`path_guarantee`.

    Examples
    --------
    >>> from rashomon_explorer.constants import Constants
    >>> from rashomon_explorer.domains import Ball
    >>> constants = Constants.of("logistic", n=1000, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> run = PathRun(constants, Ball(1.0), 0.0, 100.0, 1e-2, 200, "hard")
    >>> round(path(run).guarantee.mu, 4)
    0.1462
    """
    if run.gaussian and run.constants.m > 0:
        why = (
            "the Gaussian threshold looks outside the domain, where a ridge has no bounded "
            f"gradient, and m = {run.constants.m:.3g}"
        )
        return refused(_NAME, _TITLE, _SOURCE, why)
    guarantee = path_guarantee(
        beta=run.beta,
        sensitivity=run.sensitivity,
        step_size=run.step_size,
        n_steps=run.n_steps,
        n_chains=run.n_chains,
    )
    why = (
        f"needs no convexity: μ = βΔ√(kT/2) = {guarantee.mu:.4g} with Δ = {run.sensitivity:.4g} "
        f"({run.in_words()})"
    )
    return Certificate(_NAME, _TITLE, _SOURCE, guarantee, True, why)
