"""Noisy gradient descent on batches in turn: Theorems 4.4 to 4.6."""

import math
from dataclasses import replace

from rashomon_explorer.planning.batch_path import earlier_epochs
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import zcdp
from rashomon_explorer.theory.theorems.common import (
    IN_ORDER,
    LAST_ONLY,
    NO_JUMPS,
    PROJECTED,
    WHOLE_PATH,
    check_convex_step,
    contracting,
    contraction_of,
    shift,
    state,
)
from rashomon_explorer.validation import check_count, check_positive

_FLAT = -1e-300  # l·log c above it: c is 1 for every purpose


def cyclic_composition(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    epochs: int,
    batches_per_epoch: int | None = None,
) -> Guarantee:
    """All iterates of E passes over batches in a fixed order: μ = (L/(bσ))√E.

    A record is in one batch, so in E steps (Theorem 4.4 of Bok, Su and Altschuler 2024). Table 1
    of the paper has this as "GDP Composition".

    Parameters
    ----------
    sensitivity, batch_size, sigma, epochs
        As :mod:`rashomon_explorer.theory.theorems` says.
    batches_per_epoch : int, optional
        l, as the other two theorems need it; the price does not depend on it.

    Examples
    --------
    >>> paid = cyclic_composition(sensitivity=2 / 3, batch_size=1, sigma=1.0, epochs=200)
    >>> round(paid.epsilon(1e-5), 2)
    83.83
    """
    check_count(batch_size=batch_size, epochs=epochs)
    if batches_per_epoch is not None:
        check_count(batches_per_epoch=batches_per_epoch)
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    return state(moved * math.sqrt(epochs), "Theorem 4.4", WHOLE_PATH)


def cyclic_strongly_convex(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    batches_per_epoch: int,
    epochs: int,
    contraction: float | None = None,
    ridge: float | None = None,
    smoothness: float | None = None,
    step_size: float | None = None,
) -> Guarantee:
    """Last iterate for strongly convex, smooth losses.

    μ = (L/(bσ))√(1 + c^(2l−2) (1 − c²)/(1 − c^l)² · (1 − c^(l(E−1)))/(1 + c^(l(E−1)))) (Theorem 4.5
    of Bok, Su and Altschuler 2024), for a record in the worst place, that of the last batch.

    Parameters
    ----------
    sensitivity, batch_size, sigma, batches_per_epoch, epochs
        As :mod:`rashomon_explorer.theory.theorems` says.
    contraction, ridge, smoothness, step_size : float, optional
        The first, or the other three.

    Examples
    --------
    >>> settings = {"sensitivity": 2 / 3, "batch_size": 1, "sigma": 1.0, "contraction": 0.9999}
    >>> paid = cyclic_strongly_convex(**settings, batches_per_epoch=40, epochs=200)
    >>> round(paid.epsilon(1e-5), 2)
    7.58
    """
    check_count(batch_size=batch_size, batches_per_epoch=batches_per_epoch, epochs=epochs)
    c = contraction_of(
        contraction=contraction, ridge=ridge, smoothness=smoothness, step_size=step_size
    )
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    mu = moved * math.sqrt(1 + earlier_epochs(c, batches_per_epoch, epochs))
    return state(mu, "Theorem 4.5", contracting(c), IN_ORDER, NO_JUMPS, LAST_ONLY)


def cyclic_strongly_convex_renyi(
    *,
    sensitivity: float,
    batch_size: int,
    sigma: float,
    batches_per_epoch: int,
    epochs: int,
    contraction: float,
) -> Guarantee:
    """Last iterate as Rényi divergences bound it: what Table 1 compares Theorem 4.5 with.

    R_α ≤ (α/2)(L/(bσ))²(1 + c^(l−1) (1 − c²)/(1 − c^l)² · (1 − c^(l(E−1)))). The paper's body does
    not print the formula behind its column "RDP"; this one gives its three figures to the last
    digit, by the conversion of Canonne, Kamath and Steinke (2020). It holds, because it is
    above αμ²/2 for the μ of :func:`cyclic_strongly_convex`, which has c^(2l−2) ≤ c^(l−1) and
    divides by 1 + c^(l(E−1)). So it is never the better of the two.

    Parameters
    ----------
    sensitivity, batch_size, sigma, batches_per_epoch, epochs, contraction
        As :mod:`rashomon_explorer.theory.theorems` says.

    Examples
    --------
    >>> settings = {"sensitivity": 2 / 3, "batch_size": 1, "sigma": 1.0, "contraction": 0.9999}
    >>> paid = cyclic_strongly_convex_renyi(**settings, batches_per_epoch=40, epochs=200)
    >>> round(paid.epsilon(1e-5), 2)
    9.88
    """
    sharper = cyclic_strongly_convex(
        sensitivity=sensitivity,
        batch_size=batch_size,
        sigma=sigma,
        batches_per_epoch=batches_per_epoch,
        epochs=epochs,
        contraction=contraction,
    )
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    earlier = _earlier_epochs_renyi(contraction, batches_per_epoch, epochs)
    return replace(
        zcdp(rho=moved**2 * (1 + earlier) / 2),
        theorem=f"Rényi bound beside {sharper.theorem}",
        assumptions=sharper.assumptions,
    )


def _earlier_epochs_renyi(c: float, l: int, epochs: int) -> float:  # noqa: E741
    """c^(l−1) (1 − c²)/(1 − c^l)² · (1 − c^(l(E−1))); for c → 1 its limit 2(E − 1)/l."""
    if epochs == 1 or c == 0:
        return float(epochs > 1 and l == 1)
    log = math.log(c)
    if log > _FLAT / l:
        return 2 * (epochs - 1) / l
    return _weight(log, l, l - 1) * -math.expm1(l * (epochs - 1) * log)


def _weight(log: float, l: int, power: int) -> float:  # noqa: E741
    """c^power (1 − c²)/(1 − c^l)² by expm1 of log c, so that c → 1 gives no 0."""
    return math.exp(power * log) * math.expm1(2 * log) / -(math.expm1(l * log) ** 2)


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
    """Last iterate for convex, smooth losses on a domain of diameter D, for any number of epochs.

    μ = (1/σ)√((L/b)² + 3LD/(ηbl) + (L²/(b²l))⌈Db/(ηL)⌉), E ≥ Db/(ηL) (Theorem 4.6 of Bok, Su and
    Altschuler 2024).

    Parameters
    ----------
    sensitivity, batch_size, sigma, batches_per_epoch, epochs, diameter, step_size, smoothness
        As :mod:`rashomon_explorer.theory.theorems` says.

    Examples
    --------
    >>> settings = {"sensitivity": 2.0, "batch_size": 10, "sigma": 0.2, "batches_per_epoch": 10}
    >>> domain = {"diameter": 1.0, "step_size": 0.5, "smoothness": 4.0}
    >>> round(cyclic_convex(**settings, **domain, epochs=100).mu, 4)
    2.2361
    """
    check_count(batch_size=batch_size, batches_per_epoch=batches_per_epoch, epochs=epochs)
    check_positive(diameter=diameter)
    check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    if moved == 0:
        return state(0.0, "Theorem 4.6", LAST_ONLY)
    needed = diameter * batch_size / (step_size * sensitivity)
    if epochs < needed:
        raise ValueError(
            "epochs must be at least diameter·batch_size/(step_size·sensitivity) = "
            f"{needed:g}, got {epochs!r}; use cyclic_composition"
        )
    far = diameter / (step_size * sigma)
    earlier = (3 * moved * far + moved**2 * math.ceil(needed)) / batches_per_epoch
    mu = math.sqrt(moved**2 + earlier)
    return state(mu, "Theorem 4.6", PROJECTED, IN_ORDER, NO_JUMPS, LAST_ONLY)
