"""Theorems on noisy gradient chains with cyclic or sampled batches; symbols as in `theorems`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from scipy.special import ndtr

from rashomon_explorer._utils.validation import (
    check_count,
    check_nonnegative,
    check_nonnegative_or_infinite,
    check_positive,
)
from rashomon_explorer.mechanisms.langevin import accounting
from rashomon_explorer.papers import theorems
from rashomon_explorer.privacy import Guarantee, gdp, zcdp
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, TradeOff, compose_tradeoffs

_FLAT = -1e-300
"""Where l·log c is above it, c is treated as 1."""


def _earlier_epochs(c: float, l: int, epochs: int) -> float:  # noqa: E741
    """c^(2l−2) (1 − c²)/(1 − c^l)² · tanh(l(E − 1)|log c|/2); for c → 1 its limit (E − 1)/l."""
    if epochs == 1 or c == 0:
        return float(epochs > 1 and l == 1)
    log = math.log(c)
    if log > _FLAT / l:
        return (epochs - 1) / l
    return _epoch_weight(log, l, 2 * l - 2) * math.tanh(-l * (epochs - 1) * log / 2)


def _epoch_weight(log: float, l: int, power: int) -> float:  # noqa: E741
    """c^power (1 − c²)/(1 − c^l)², by expm1 of log c to avoid 0/0 for c → 1."""
    return math.exp(power * log) * math.expm1(2 * log) / -(math.expm1(l * log) ** 2)


def last_batch_state_guarantee(
    *,
    shift: float,
    n_batches: int,
    n_steps: int,
    contraction: float = 1.0,
    diameter: float = math.inf,
) -> Guarantee:
    """Guarantee of the last of N steps over l batches in turn.

    ``shift`` s, by which a record moves a step on its batch, and ``diameter`` D are in standard
    deviations of the noise. μ² = s² + S with S = s²·:func:`_earlier_epochs` (Theorem 4.5 of Bok, Su
    and Altschuler 2024, for any N and c = 1 too) or (D + js)²/(jl), any j < ⌈N/l⌉.
    """
    check_nonnegative(shift=shift)
    check_nonnegative_or_infinite(diameter=diameter)
    check_count(n_batches=n_batches, n_steps=n_steps)
    _check_expansion(contraction)
    visits = math.ceil(n_steps / n_batches)
    contracted = shift**2 * _earlier_epochs(contraction, n_batches, visits)
    earlier = min(contracted, accounting.least_shift(diameter, shift, visits - 1, n_batches))
    return replace(
        gdp(mu=math.sqrt(shift**2 + earlier)),
        theorem=f"last of {n_steps} noisy gradient steps over {n_batches} batches in turn (Bok, Su "
        "and Altschuler 2024)",
    )


def _check_expansion(contraction: float) -> None:
    if not 0 <= contraction <= 1:
        raise ValueError(f"contraction must be in [0, 1], got {contraction!r}")


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
    steps = {"n_batches": batches_per_epoch, "n_steps": batches_per_epoch * epochs}
    last = last_batch_state_guarantee(shift=moved, contraction=contraction, **steps)
    return theorems.state(
        last.mu,
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
    if log > _FLAT / l:
        return 2 * (epochs - 1) / l
    return _epoch_weight(log, l, l - 1) * -math.expm1(l * (epochs - 1) * log)


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
    return sampled_state(
        [(moved, n_steps)], 0.0, batch_size / n, "Theorem 4.8", theorems.WHOLE_PATH
    )


def sgd_strongly_convex(
    *,
    sensitivity: float,
    n: int,
    batch_size: int,
    sigma: float,
    n_steps: int,
    contraction: float,
    tau: int,
) -> Guarantee:
    """Guarantee for the last iterate with resampled batches, for strongly convex, smooth losses.

    With s = L/(bσ) and any 1 ≤ τ < t,

        G(2√2 s (c^(t−τ+1) − c^t)/(1 − c)) ⊗ C_{b/n}(G(2√2 s)) ⊗ C_{b/n}(G(2s))^⊗(t−τ)

    (Theorem 4.9 of Bok, Su and Altschuler 2024). :func:`last_sampled_state_guarantee` is sharper.
    """
    theorems.check_batch(batch_size, n)
    last = _last_steps(n_steps, tau, least_tau=1)
    theorems.check_contraction(contraction)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    rate, wide, c = batch_size / n, 2 * math.sqrt(2) * moved, contraction

    start = wide * (c ** (last + 1) - c**n_steps) / (1 - c)
    sampled = [(wide, 1), (2 * moved, last)]
    return sampled_state(
        sampled,
        start,
        rate,
        f"Theorem 4.9 (τ = {tau})",
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
    tau: int,
) -> Guarantee:
    """Guarantee for the last iterate with resampled batches, for convex, smooth losses.

    On a domain of diameter D, for any τ < t, G(√2 D/(ησ√(t − τ))) ⊗ C_{b/n}(G(2√2 L/(bσ)))^⊗(t−τ)
    (Theorem 4.10 of Bok, Su and Altschuler 2024).
    """
    theorems.check_batch(batch_size, n)
    last = _last_steps(n_steps, tau, least_tau=0)
    check_positive(diameter=diameter)
    theorems.check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = theorems.shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    rate, wide = batch_size / n, 2 * math.sqrt(2) * moved

    return sampled_state(
        [(wide, last)],
        math.sqrt(2 / last) * diameter / (step_size * sigma),
        rate,
        f"Theorem 4.10 (τ = {tau})",
        theorems.PROJECTED,
        theorems.NO_JUMPS,
        theorems.LAST_ONLY,
    )


def last_sampled_state_guarantee(
    *, shift: float, rate: float, n_steps: int, contraction: float = 1.0, diameter: float = math.inf
) -> Guarantee:
    """Guarantee of the last of t steps on batches drawn anew, ``rate`` of the rows in each.

    ``shift`` s, by which a record in the batch moves a step, and ``diameter`` D are in standard
    deviations of the noise. For every r ≤ t, K ≤ r and a share a of the variance,

        G(√(E/a)) ⊗ C_q(G(s/√(1 − a)))^⊗K ⊗ C_q(G(s))^⊗(r − K),

    E = (c^r z)²/(1 + c² + … + c^(2K − 2)) and z = min{D, s(1 + c + … + c^(t − r − 1))} (own
    derivation, docs/theory.md §12). r = t is Theorem 4.8; at K = r and K = 1 it is Theorems 4.10
    and 4.9 of Bok, Su and Altschuler 2024 with half of each shift. Of all r, K and a on a grid
    those with the least central limit are used.
    """
    check_count(n_steps=n_steps)
    check_positive(rate=rate)
    check_nonnegative(shift=shift)
    check_nonnegative_or_infinite(diameter=diameter)
    _check_expansion(contraction)
    _, parts, start = min(_split_steps(shift, rate, n_steps, contraction, diameter))
    counted = f"last of {n_steps} noisy steps on batches drawn anew (shifted interpolation, own"
    proof = f"{counted} constants; docs/theory.md §12)"
    return replace(sampled_state(list(parts), start, rate, "", theorems.LAST_ONLY), theorem=proof)


_Split = tuple[float, tuple[tuple[float, int], ...], float]


def _split_steps(s: float, rate: float, t: int, c: float, diameter: float) -> Iterator[_Split]:
    """Central limit of μ², sampled parts and μ of the Gaussian part, for each r and K tried."""
    composed = _limit(s, rate)
    yield t * composed, ((s, t),), 0.0
    for last in {round(t ** (k / 24)) for k in range(24)} - {t}:
        apart = min(diameter, s * _geometric(c, t - last)) * c**last
        for moving in {min(2**k, last) for k in range(last.bit_length() + 1)}:
            bare = apart**2 / _geometric(c * c, moving)
            # The share that is best if the cost of sampled steps is proportional to s².
            whole, rest = math.sqrt(bare), math.sqrt(moving * composed)
            share = whole / (whole + rest) if rest > 0 else 0.0
            wide, start = s / math.sqrt(1 - share), math.sqrt(whole * (whole + rest))
            square = start**2 + moving * _limit(wide, rate) + (last - moving) * composed
            yield square, ((wide, moving), (s, last - moving)), start


def _geometric(c: float, count: int) -> float:
    """1 + c + … + c^(count − 1), rounded up."""
    if c in (0.0, 1.0):
        return float(min(count, 1) if c == 0 else count)
    return math.expm1(count * math.log(c)) / (c - 1) * (1 + 1e-12)


def sampled_state(
    sampled: list[tuple[float, int]], start: float, rate: float, theorem: str, *assumptions: str
) -> Guarantee:
    """G(start) ⊗ C_q(G(μ_i))^⊗k_i, and the μ without sampling."""
    plain = math.sqrt(start**2 + math.fsum(count * mu**2 for mu, count in sampled))
    parts: list[tuple[TradeOff, int]] = [(Gaussian(start), 1)]
    parts += [(Subsampled(Gaussian(mu), rate), count) for mu, count in sampled if mu and count]
    guarantee = theorems.state(plain, theorem, _DRAWN, *assumptions)
    if rate == 1 or plain == 0:
        return guarantee
    return replace(guarantee, notion="tradeoff", curve=compose_tradeoffs(parts))


def _last_steps(n_steps: int, tau: int, *, least_tau: int) -> int:
    """T − τ, at least 1."""
    check_count(n_steps=n_steps)
    if not (least_tau <= tau < n_steps and tau == int(tau)):
        raise ValueError(f"tau must be from {least_tau} to n_steps - 1, got {tau!r}")
    return n_steps - int(tau)


def _limit(mu: float, rate: float) -> float:
    """About μ² of a sampled step, for a search (Corollary 4 of Dong, Roth and Su 2022)."""
    if mu > 5:
        return mu**2
    several = math.exp(mu * mu) * ndtr(1.5 * mu) + 3 * ndtr(-mu / 2) - 2
    return min(mu**2, 2 * rate**2 * max(0.0, float(several)))
