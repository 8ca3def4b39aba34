"""Theorems on noisy gradient chains with cyclic or sampled batches; symbols as in `theorems`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from scipy.special import ndtr

from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.mechanisms.langevin.accounting import FLAT, earlier_epochs, epoch_weight
from rashomon_explorer.papers import theorems
from rashomon_explorer.privacy import Guarantee, zcdp
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, TradeOff, compose_tradeoffs


def cyclic_composition(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    epochs: int,
    batches_per_epoch: int | None = None,
) -> Guarantee:
    """All iterates of E passes over batches in a fixed order, μ = (L/(bσ))√E (Theorem 4.4)."""
    check_count(batch_size=batch_size, epochs=epochs)
    if batches_per_epoch is not None:
        check_count(batches_per_epoch=batches_per_epoch)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    return theorems.state(moved * math.sqrt(epochs), "Theorem 4.4", theorems.WHOLE_PATH)


def cyclic_strongly_convex(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    batches_per_epoch: int,
    epochs: int,
    contraction: float,
) -> Guarantee:
    """Guarantee for the last iterate, for strongly convex, smooth losses.

    μ = (L/(bσ))√(1 + c^(2l−2) (1 − c²)/(1 − c^l)² · (1 − c^(l(E−1)))/(1 + c^(l(E−1)))) (Theorem 4.5
    of Bok, Su and Altschuler 2024), for a record in the worst position, in the last batch.
    """
    check_count(batch_size=batch_size, batches_per_epoch=batches_per_epoch, epochs=epochs)
    theorems.check_contraction(contraction)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    mu = moved * math.sqrt(1 + earlier_epochs(contraction, batches_per_epoch, epochs))
    return theorems.state(
        mu,
        "Theorem 4.5",
        theorems.contracting(contraction),
        theorems.IN_ORDER,
        theorems.NO_JUMPS,
        theorems.LAST_ONLY,
    )


def cyclic_strongly_convex_renyi(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    batches_per_epoch: int,
    epochs: int,
    contraction: float,
) -> Guarantee:
    """Guarantee for the last iterate by Rényi divergences, which Table 1 compares with Theorem 4.5.

    R_α ≤ (α/2)(L/(bσ))²(1 + c^(l−1) (1 − c²)/(1 − c^l)² · (1 − c^(l(E−1)))). The paper prints no
    formula for its column "RDP"; this one reproduces its figures, above αμ²/2 of Theorem 4.5.
    """
    sharper = cyclic_strongly_convex(
        sensitivity=sensitivity,
        batch_size=batch_size,
        sigma=sigma,
        batches_per_epoch=batches_per_epoch,
        epochs=epochs,
        contraction=contraction,
    )
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    earlier = _earlier_epochs_renyi(contraction, batches_per_epoch, epochs)
    return replace(
        zcdp(rho=moved**2 * (1 + earlier) / 2),
        theorem=f"Rényi bound implied by {sharper.theorem}",
        assumptions=sharper.assumptions,
    )


def _earlier_epochs_renyi(c: float, l: int, epochs: int) -> float:  # noqa: E741
    """c^(l−1) (1 − c²)/(1 − c^l)² · (1 − c^(l(E−1))); for c → 1 the limit 2(E − 1)/l."""
    if epochs == 1 or c == 0:
        return float(epochs > 1 and l == 1)
    log = math.log(c)
    if log > FLAT / l:
        return 2 * (epochs - 1) / l
    return epoch_weight(log, l, l - 1) * -math.expm1(l * (epochs - 1) * log)


def cyclic_convex(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    batches_per_epoch: int,
    epochs: int,
    diameter: float,
    step_size: float,
    smoothness: float,
) -> Guarantee:
    """Guarantee for the last iterate of any number of epochs, for convex, smooth losses.

    On a domain of diameter D, μ = (1/σ)√((L/b)² + 3LD/(ηbl) + (L²/(b²l))⌈Db/(ηL)⌉), E ≥ Db/(ηL)
    (Theorem 4.6 of Bok, Su and Altschuler 2024).
    """
    check_count(batch_size=batch_size, batches_per_epoch=batches_per_epoch, epochs=epochs)
    check_positive(diameter=diameter)
    theorems.check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    if moved == 0:
        return theorems.state(0.0, "Theorem 4.6", theorems.LAST_ONLY)
    needed = diameter * batch_size / (step_size * sensitivity)
    if epochs < needed:
        raise ValueError(
            "epochs must be at least diameter·batch_size/(step_size·sensitivity) = "
            f"{needed:g}, got {epochs!r}; use cyclic_composition"
        )
    far = diameter / (step_size * sigma)
    earlier = (3 * moved * far + moved**2 * math.ceil(needed)) / batches_per_epoch
    mu = math.sqrt(moved**2 + earlier)
    return theorems.state(
        mu,
        "Theorem 4.6",
        theorems.PROJECTED,
        theorems.IN_ORDER,
        theorems.NO_JUMPS,
        theorems.LAST_ONLY,
    )


_DRAWN = "batches are drawn without replacement, anew in each step, and never shown"


def sgd_composition(
    *, sensitivity: float, n: int, batch_size: int, sigma: float, n_steps: int
) -> Guarantee:
    """Guarantee for all iterates with batches of fixed size b, resampled: C_{b/n}(G(L/(bσ)))^⊗t.

    Theorem 4.8 of Bok, Su and Altschuler 2024. ``mu`` is that of t steps without sampling, valid
    since C_q(f) ≥ f; ``epsilon``, ``delta`` and ``tradeoff`` use the whole curve, for t > 1 with
    the extra ``accounting``.
    """
    theorems.check_batch(batch_size, n)
    check_count(n_steps=n_steps)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    return _state([(moved, n_steps)], 0.0, batch_size / n, "Theorem 4.8", theorems.WHOLE_PATH)


def sgd_strongly_convex(
    *,
    sensitivity: float,
    n: int,
    batch_size: int,
    sigma: float,
    n_steps: int,
    contraction: float,
    tau: int | None = None,
) -> Guarantee:
    """Guarantee for the last iterate with resampled batches, for strongly convex, smooth losses.

    With s = L/(bσ) and any 1 ≤ τ < t,

        G(2√2 s (c^(t−τ+1) − c^t)/(1 − c)) ⊗ C_{b/n}(G(2√2 s)) ⊗ C_{b/n}(G(2s))^⊗(t−τ)

    (Theorem 4.9 of Bok, Su and Altschuler 2024). The result is valid for every τ; the search for a
    good τ approximates sampled steps by their central limit.
    """
    theorems.check_batch(batch_size, n)
    _check_steps(n_steps)
    theorems.check_contraction(contraction)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    rate, wide, c = batch_size / n, 2 * math.sqrt(2) * moved, contraction

    def start(last: int) -> float:
        return wide * (c ** (last + 1) - c**n_steps) / (1 - c)

    def approximate(last: int) -> float:
        return start(last) ** 2 + _limit(wide, rate) + last * _limit(2 * moved, rate)

    last = _last_steps(approximate, n_steps, tau)
    sampled = [(wide, 1), (2 * moved, last)]
    theorem = f"Theorem 4.9 (τ = t - {last})"
    return _state(
        sampled,
        start(last),
        rate,
        theorem,
        theorems.contracting(c),
        theorems.NO_JUMPS,
        theorems.LAST_ONLY,
    )


def sgd_convex(
    *,
    sensitivity: float,
    n: int,
    batch_size: int,
    sigma: float,
    n_steps: int,
    diameter: float,
    step_size: float,
    smoothness: float,
    tau: int | None = None,
) -> Guarantee:
    """Guarantee for the last iterate with resampled batches, for convex, smooth losses.

    On a domain of diameter D, for any τ < t, G(√2 D/(ησ√(t − τ))) ⊗ C_{b/n}(G(2√2 L/(bσ)))^⊗(t−τ)
    (Theorem 4.10 of Bok, Su and Altschuler 2024); τ as in :func:`sgd_strongly_convex`.
    """
    theorems.check_batch(batch_size, n)
    check_count(n_steps=n_steps)
    check_positive(diameter=diameter)
    theorems.check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    rate, wide = batch_size / n, 2 * math.sqrt(2) * moved

    def start(last: int) -> float:
        return math.sqrt(2 / last) * diameter / (step_size * sigma)

    def approximate(last: int) -> float:
        return start(last) ** 2 + last * _limit(wide, rate)

    last = _last_steps(approximate, n_steps, tau, least_tau=0)
    theorem = f"Theorem 4.10 (τ = t - {last})"
    return _state(
        [(wide, last)],
        start(last),
        rate,
        theorem,
        theorems.PROJECTED,
        theorems.NO_JUMPS,
        theorems.LAST_ONLY,
    )


def _state(
    sampled: list[tuple[float, int]], start: float, rate: float, theorem: str, *assumptions: str
) -> Guarantee:
    """G(start) ⊗ C_q(G(μ_i))^⊗k_i, and the μ without sampling."""
    plain = math.sqrt(start**2 + math.fsum(count * mu**2 for mu, count in sampled))
    parts: list[tuple[TradeOff, int]] = [(Gaussian(start), 1)]
    parts += [(Subsampled(Gaussian(mu), rate), count) for mu, count in sampled if mu > 0]
    guarantee = theorems.state(plain, theorem, _DRAWN, *assumptions)
    if rate == 1 or plain == 0:
        return guarantee
    return replace(guarantee, notion="tradeoff", curve=compose_tradeoffs(parts))


def _check_steps(n_steps: int) -> None:
    check_count(n_steps=n_steps)
    if n_steps < 2:
        raise ValueError("n_steps must be at least 2: one step is sgd_composition's")


def _last_steps(
    square: Callable[[int], float], n_steps: int, tau: int | None, *, least_tau: int = 1
) -> int:
    """T − τ for the given τ, or where the square of μ is approximately least."""
    most = n_steps - least_tau
    if tau is not None:
        if not (least_tau <= tau < n_steps and tau == int(tau)):
            raise ValueError(f"tau must be from {least_tau} to n_steps - 1, got {tau!r}")
        return n_steps - int(tau)
    low, high = 1, most
    while high - low > 2:  # the square decreases, then increases
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if square(left) <= square(right) else (left, high)
    return min(range(low, high + 1), key=square)


def _limit(mu: float, rate: float) -> float:
    """About μ² of a sampled step, for a search (Corollary 4 of Dong, Roth and Su 2022)."""
    if mu > 5:
        return mu**2
    several = math.exp(mu * mu) * ndtr(1.5 * mu) + 3 * ndtr(-mu / 2) - 2
    return min(mu**2, 2 * rate**2 * max(0.0, float(several)))
