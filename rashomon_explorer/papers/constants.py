"""Constants as printed in five papers, with their errors; none may be charged."""

import math

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.validation import check_inner_share, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.certificates.base import Certificate, refused
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.privacy.conversions import gdp_delta, gdp_epsilon, gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain

_RASHOMON = "Ganesh, Thakurta and Upadhyay 2023"
_UNIVERSAL = '"On the universality of Langevin diffusion" (submitted to ICLR 2023)'
_ERM = "Bassily, Smith and Thakurta 2014"
_BILEVEL = "Lowy and Liu, differentially private bilevel optimization"


def printed_path_beta(epsilon: float, delta: float, sensitivity: float, time: float) -> float:
    """β = 2ε/(Δ√(T log(1/δ))), T = Nh: Lemma 3.1 of Ganesh et al. 2023; not (ε, δ)-DP."""
    check_positive(epsilon=epsilon, sensitivity=sensitivity, time=time)
    return 2 * epsilon / (sensitivity * math.sqrt(time * _log_inverse(delta)))


def printed_diffusion_beta(
    epsilon: float, delta: float, *, lipschitz: float, n: int, time: float
) -> float:
    """β = εn/(L√(8T log(1/δ))): equation (34) of the finite-time analysis; sound but loose."""
    check_positive(epsilon=epsilon, lipschitz=lipschitz, n=n, time=time)
    return epsilon * n / (lipschitz * math.sqrt(8 * time * _log_inverse(delta)))


def printed_sensitivity(constants: Constants, psi: float) -> float:
    """3·max{L/n, √(Mψ/2)}: equation (9) of Ganesh et al. 2023; neighbours can exceed it."""
    check_nonnegative(psi=psi)
    return 3 * max(constants.L / constants.n, math.sqrt(constants.M * psi / 2))


def printed_mean_loss(constants: Constants, psi: float, beta: float) -> tuple[float, float]:
    """Both sides of the last step of equation (4) of Ganesh et al. 2023: it fails for M > 4m."""
    check_positive(m=constants.m, beta=beta)
    check_nonnegative(psi=psi)
    L, M, m, n = constants.L, constants.M, constants.m, constants.n
    left = 6 * max(L / n, math.sqrt(M * psi)) * (4 * math.sqrt(2 * psi / m) + 2 * L / (m * n))
    right = 36 * math.sqrt(2) * max(L**2 / (m * n**2), math.sqrt(M / m) * psi)
    return beta * left, beta * right


def printed_last_iterate_rho(*, beta: float, sensitivity: float, m: float, time: float) -> float:
    """ρ = (βΔ²/m)(1 − e^(−βmT/2)): Lemma I.2 of the finite-time analysis; sound but loose."""
    check_positive(beta=beta, sensitivity=sensitivity, m=m, time=time)
    return beta * sensitivity**2 / m * -math.expm1(-beta * m * time / 2)


def printed_net_beta(constants: Constants, domain: Domain, epsilon: float) -> float:
    """β = εn/(LD): Algorithm 8 of Bassily et al. 2014, which is 2ε-DP."""
    check_positive(epsilon=epsilon)
    return epsilon * constants.n / (data_lipschitz(constants, domain) * domain.diameter)


def printed_output_sigma(
    constants: Constants, domain: Domain, *, epsilon: float, delta: float
) -> float:
    """σ = 2L√(log(1/δ))/(εmn): Appendix C of Bassily et al. 2014, too small for its (ε, δ)."""
    check_positive(epsilon=epsilon, m=constants.m)
    moved = 2 * data_lipschitz(constants, domain) / (constants.m * constants.n)
    return moved * math.sqrt(_log_inverse(delta)) / epsilon


def printed_objective_epsilon(smoothness: float, ridge: float, epsilon: float) -> float:
    """ε + log(1 + M/m): privacy loss of Appendix E of Bassily et al. 2014, stated as ε-DP."""
    check_positive(smoothness=smoothness, ridge=ridge, epsilon=epsilon)
    return epsilon + math.log1p(smoothness / ridge)


def printed_bilevel_slope(
    *, outer_x: float, outer_y: float, inner_y: float, inner_xy: float, outer_xy: float, mu: float
) -> float:
    """L_fx + L_fy·β_gxy/μ + L_gy·β_fxy/μ: Theorem B.8 of Lowy and Liu, which is too small."""
    check_positive(mu=mu)
    return outer_x + outer_y * inner_xy / mu + inner_y * outer_xy / mu


def printed_constants(epsilon: float = 1.0, delta: float = 1e-5) -> tuple[Certificate, ...]:
    """Certificates that cannot be charged: a printed statement each, and its error at (ε, δ)."""
    allowed = gdp_mu(epsilon, delta)
    log = _log_inverse(delta)
    budget = f"({epsilon:g}, {delta:g})"
    path_mu = epsilon * math.sqrt(2 / log)
    output_mu = epsilon / math.sqrt(log)
    output = gdp_delta(output_mu, epsilon)
    rows = [
        (
            "path_beta",
            "a path with β ≤ 2ε/(Δ√(Tη log(1/δ))) is (ε, δ)-DP",
            f"Lemma 3.1 of {_RASHOMON}",
            f"{_verdict(path_mu, allowed)}: at {budget} such a path has δ = "
            f"{gdp_delta(path_mu, epsilon):.3g} and ε = {rounded_up(gdp_epsilon(path_mu, delta))}; "
            "use path_guarantee",
        ),
        (
            "sensitivity",
            "one record moves the thresholded gradient by at most 3·max{L/n, √(Mψ/2)}",
            f"equation (9) of {_RASHOMON}",
            "unsound: a record may move a model over the edge, where the gradient is up to "
            "√(2Mψ), or L where the minimiser is on the boundary; ℓ = 0.005θ² ± θ, n = 1000, "
            "ψ = 2e-4 has 0.0040 against 0.0030; use gradient_sensitivity",
        ),
        (
            "path_of_diffusion",
            "the diffusion at βψ ≤ 1 explores and is (ε, δ)-DP",
            f"Theorem 2.3 and equation (10) of {_RASHOMON}",
            "sound but loose: (10) has a spare factor 2 that hides the error in (9), its "
            "constants are not explicit, and at βψ ≤ 1 hardly a draw is in the Rashomon set",
        ),
        (
            "gibbs_mean",
            "the privacy loss has mean 36√2·β·max{L²/(mn²), √(M/m)·ψ} at most",
            f"equation (4), in Theorem 2.7 of {_RASHOMON}",
            "unsound: its last step needs M/m where √(M/m) is printed, and fails for M > 4m; the "
            "isoperimetry certificate has explicit constants",
        ),
        (
            "diffusion_beta",
            "the diffusion with β = εn/(L√(8T log(1/δ))) is (ε, δ)-DP",
            f"equation (34) of {_UNIVERSAL}",
            f"sound but loose: Gaussian DP allows {allowed * math.sqrt(2 * log) / epsilon:.3g} "
            f"times the β at {budget}",
        ),
        (
            "long_time",
            "from time t₀ = 2 log((α − 1)·max{2, M/m}) on, the law's own Rényi divergence applies",
            f"Lemma I.1 of {_UNIVERSAL}",
            "unsound: t₀ has no unit of time; log(2q(α − 1))/(2βm), q = max{2, M/m}, has; the "
            "last_iterate certificate needs no t₀",
        ),
        (
            "short_time",
            "Rényi divergence at most (αβΔ²/m)(1 − e^(−βmT/2)) after time T",
            f"Lemma I.2 of {_UNIVERSAL}",
            "sound but loose: diffusion_guarantee has (αβΔ²/(2m))·tanh(βmT/2), half of it for "
            "long times",
        ),
        (
            "net",
            "exp(−ε·ΣL/(LD)) on a net is ε-DP",
            f"Algorithm 8 of {_ERM}",
            f"unsound: it is {2 * epsilon:g}-DP when one record is replaced; take half the "
            "temperature, or the oscillation certificate",
        ),
        (
            "output_sigma",
            "noise of σ = 2L√(log(1/δ))/(εmn) on the minimiser is (ε, δ)-DP",
            f"Appendix C of {_ERM}",
            f"{_verdict(output_mu, allowed)}: at {budget} it has δ = {output:.3g}; σ = "
            "2L/(mnμ) for the μ of gdp_mu",
        ),
        (
            "objective",
            "objective perturbation with ridge M/(2ε) is ε-DP",
            f"Appendix E of {_ERM}",
            "unsound: one dimension attains "
            f"{printed_objective_epsilon(1.0, 1 / (2 * epsilon), epsilon):.4g} at "
            f"ε = {rounded_up(epsilon)}",
        ),
        (
            "bilevel_range",
            "exp(−εΦ/(2s)) for a score of range s is ε-DP",
            f"equation (4) of {_BILEVEL}",
            f"sound but loose: it is {epsilon / 2:g}-DP, because the relevant quantity is the "
            "range of Φ_Z − Φ_Z'; ε/s is enough",
        ),
        (
            "bilevel_slope",
            "Φ_Z − Φ_Z' is 2G/n-Lipschitz, G = L_fx + L_fy·β_gxy/μ + L_gy·β_fxy/μ",
            f"Theorem B.8 of {_BILEVEL}",
            "unsound: it omits how ∇y* changes with the rows; for g = zy²/2 − xy, z in [μ, κμ], "
            "the slope is larger by (κ − 1)/4",
        ),
    ]
    return tuple(refused(*row, printed=True) for row in rows)


def _log_inverse(delta: float) -> float:
    check_inner_share(delta=delta)
    return math.log(1 / delta)


def _verdict(mu: float, allowed: float) -> str:
    return "unsound" if mu > allowed else "sound but loose"
