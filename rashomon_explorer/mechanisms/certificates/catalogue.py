"""All certificates of a Gibbs law or a path, the best one, and the largest β that it allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from scipy.optimize import brentq

from rashomon_explorer._utils.bisection import double
from rashomon_explorer._utils.validation import check_count, check_delta, check_epsilon
from rashomon_explorer.mechanisms.certificates import gibbs_laws
from rashomon_explorer.mechanisms.certificates.base import Certificate, for_ledger
from rashomon_explorer.mechanisms.certificates.paths import PathRun, finite_time, last_iterate, path
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.thresholds import Threshold, get_threshold

GIBBS = (
    gibbs_laws.oscillation,
    gibbs_laws.localised,
    gibbs_laws.gaussian_gibbs,
    gibbs_laws.isoperimetry,
    gibbs_laws.convex_body,
)
PATH = (path, last_iterate, finite_time)

_MOST_BETA = math.exp(700.0)  # keeps β in the range of doubles
_LEAST = 1e-300  # replaces δ = 0 in logarithms


def gibbs_certificates(
    constants: Constants,
    domain: Domain,
    *,
    psi: float,
    beta: float,
    delta: float,
    n_draws: int = 1,
    width: float = 0.0,
    interior: bool = False,
    ledger: bool | str = False,
) -> tuple[Certificate, ...]:
    """Every certificate of exact draws from a thresholded Gibbs law, the best at δ first.

    Reads no row. Those that do not apply are last, with the reason in ``why``.

    Parameters
    ----------
    constants, domain
        Constants of a convex loss, and their domain.
    psi, beta, width
        Rashomon threshold, inverse temperature, and s of the smooth threshold (0: hard).
    delta, n_draws
        Total δ of all draws, in [0, 1); each guarantee covers all of them together.
    interior : bool, default=False
        Whether the minimiser over ℝᵖ is inside the domain for every data set.
    ledger : bool, default=False
        Whether each certificate states only what a ledger composes.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> ball = Ball(1.0)
    >>> size = {"n": 1000, "p": 1, "domain": ball, "row_bound": 0.5}
    >>> constants = Constants.from_loss("logistic", **size, ridge=1.0)
    >>> found = gibbs_certificates(constants, ball, psi=0.1, beta=1500.0, delta=1e-6)
    >>> [(one.name, round(one.epsilon(1e-6), 2)) for one in found[:2]]
    [('localised', 0.43), ('oscillation', 1.5)]
    """
    check_delta(delta)
    check_count(n_draws=n_draws)
    law = gibbs_laws.GibbsLaw(constants, domain, psi, beta, width, interior)
    certificates = [theorem(law, delta=delta, n_draws=n_draws) for theorem in GIBBS]
    return _sorted(map(for_ledger, certificates) if ledger else certificates, delta)


def path_certificates(
    constants: Constants,
    domain: Domain,
    *,
    psi: float,
    beta: float,
    step_size: float,
    n_steps: int,
    delta: float,
    threshold: str | Threshold = "smooth",
    n_chains: int = 1,
    interior: bool = False,
) -> tuple[Certificate, ...]:
    """Every certificate of a run of noisy gradient chains, the best at δ first; reads no row.

    They cover different releases: ``path`` covers every iterate, ``last_iterate`` only the last.
    Those that do not apply are last, with the reason in ``why``.

    Parameters
    ----------
    constants, domain, psi, beta, interior
        As in :func:`gibbs_certificates`.
    step_size, n_steps, n_chains
        h, N and the number of chains.
    delta : float
        δ in [0, 1) at which they are compared.
    threshold : {"smooth", "hard", "gaussian"} or Threshold, default="smooth"
        ``"hard"`` at ψ = 0 means no threshold.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> ball = Ball(1.0)
    >>> size = {"n": 1000, "p": 1, "domain": ball, "row_bound": 0.5}
    >>> constants = Constants.from_loss("logistic", **size, ridge=1.0)
    >>> steps = {"step_size": 1e-4, "n_steps": 10_000, "delta": 1e-6, "threshold": "hard"}
    >>> found = path_certificates(constants, ball, psi=0.0, beta=1000.0, **steps)
    >>> [(one.name, round(one.epsilon(1e-6), 3)) for one in found]
    [('last_iterate', 0.068), ('path', 1.96), ('finite_time', inf)]
    """
    check_delta(delta)
    shape = get_threshold(threshold, psi)
    run = PathRun(constants, domain, psi, beta, step_size, n_steps, shape, n_chains, interior)
    return _sorted((theorem(run) for theorem in PATH), delta)


def best_certificate(certificates: Iterable[Certificate], delta: float) -> Certificate:
    """Certificate of least ε at δ among those that may be charged.

    ``certificates`` are those of one release: without ``last_iterate`` if the path is released.

    Raises
    ------
    ValueError
        If there is none; the message states every reason.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> constants = Constants.from_loss("logistic", n=1000, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> every = gibbs_certificates(constants, Ball(1.0), psi=0.1, beta=500.0, delta=0.0)
    >>> best_certificate(every, 0.0).name
    'oscillation'
    """
    certificates = list(certificates)
    usable = [one for one in certificates if one.usable and math.isfinite(one.epsilon(delta))]
    if not usable:
        infinite = f"infinite at δ = {delta:g}"
        reasons = "; ".join(
            f"{one.name}: {infinite if one.usable else one.why}" for one in certificates
        )
        raise ValueError(
            f"no certificate holds at delta = {delta:g}: {reasons or 'none was given'}"
        )
    return min(usable, key=lambda one: one.epsilon(delta))


def largest_beta(
    constants: Constants,
    domain: Domain,
    *,
    psi: float,
    epsilon: float,
    delta: float,
    n_draws: int = 1,
    width: float = 0.0,
    interior: bool = False,
    ledger: bool | str = False,
) -> tuple[float, Certificate]:
    """Largest β at which a certificate allows exact draws within a budget, and that certificate.

    Every certificate's ε grows with β. The search starts from ε/(k·osc), which basic composition of
    k draws allows, and tries each certificate for a larger β than the best so far. Reads no row.

    Parameters
    ----------
    constants, domain, psi, n_draws, width, interior, ledger
        As in :func:`gibbs_certificates`.
    epsilon, delta : float
        Total budget of all draws, ε > 0.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> ball = Ball(1.0)
    >>> size = {"n": 1000, "p": 1, "domain": ball, "row_bound": 0.5}
    >>> constants = Constants.from_loss("logistic", **size, ridge=1.0)
    >>> beta, by = largest_beta(constants, ball, psi=0.0, epsilon=1.0, delta=1e-6)
    >>> round(beta), by.name, by.epsilon(1e-6) <= 1.0
    (144386, 'gaussian_gibbs', True)
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_count(n_draws=n_draws)
    law = gibbs_laws.GibbsLaw(constants, domain, psi, 1.0, width, interior)
    # Slightly less, so that the composed cost does not exceed ε by an ulp.
    beta = epsilon / (n_draws * constants.charged_oscillation) * (1 - 1e-12)
    best = gibbs_laws.oscillation(replace(law, beta=beta), delta=delta, n_draws=n_draws)
    best = for_ledger(best) if ledger else best
    for theorem in GIBBS:

        def at(beta: float, theorem: Callable[..., Certificate] = theorem) -> Certificate:
            certificate = theorem(replace(law, beta=beta), delta=delta, n_draws=n_draws)
            return for_ledger(certificate) if ledger else certificate

        if _spent(at(beta), epsilon) <= delta:
            colder, certificate = _largest(at, beta, epsilon, delta)
            # δ at ε may have been rounded; the guarantee is ε at δ.
            if certificate.epsilon(delta) <= epsilon:
                beta, best = colder, certificate
    return beta, best


def _largest(
    at: Callable[[float], Certificate], low: float, epsilon: float, delta: float
) -> tuple[float, Certificate]:
    """Largest β within (ε, δ) and its certificate, from a feasible one; δ at ε grows with β."""
    low, high = double(lambda beta: _spent(at(beta), epsilon) <= delta, low, most=_MOST_BETA)
    if high > _MOST_BETA:
        return low, at(low)

    def surplus(log_beta: float) -> float:
        spent = _spent(at(math.exp(log_beta)), epsilon)
        return math.log(max(spent, _LEAST)) - math.log(max(delta, _LEAST))

    root = math.exp(brentq(surplus, math.log(low), math.log(high), xtol=1e-10, rtol=1e-13))
    hair = 1e-12
    while root > low:
        certificate = at(root)
        if certificate.epsilon(delta) <= epsilon:
            return root, certificate
        root *= 1 - hair
        hair *= 4
    return low, at(low)


def _spent(certificate: Certificate, epsilon: float) -> float:
    """δ at ε, which is faster to compute than ε at δ."""
    return certificate.guarantee.delta(epsilon) if certificate.guarantee is not None else 1.0


def _sorted(certificates: Iterable[Certificate], delta: float) -> tuple[Certificate, ...]:
    return tuple(sorted(certificates, key=lambda one: (not one.usable, one.epsilon(delta))))
