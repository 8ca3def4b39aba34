"""A certified lower bound around the middle of the models of small excess, not the minimiser."""

import math
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.quartic_form import QuarticForm

_NEWTON_STEPS = 12
_NODES = 10.0 ** np.linspace(-0.6, 0.6, 600)  # times the radius in use; 0.5 % apart
_LONGEST = 1.25  # times the radius in use: beyond, the form is replaced by a cone


class Held(Protocol):
    """What keeps a minimiser θ* in its domain.

    On the domain ½λ(R² − ‖θ − centre‖²) ≥ 0 and pull·(θ − θ*) ≥ −gap.
    """

    @property
    def multiplier(self) -> float:
        """λ ≥ 0."""
        ...

    @property
    def centre(self) -> FloatArray:
        """Centre (p,) of the ball that λ belongs to."""
        ...

    @property
    def radius(self) -> float:
        """R."""
        ...

    @property
    def pull(self) -> FloatArray:
        """What is left of the gradient (p,) at θ*."""
        ...

    @property
    def gap(self) -> float:
        """How far below 0 the pull's linear form is in the domain, at most."""
        ...


@dataclass(frozen=True)
class Minimised:
    """The loss L = data loss + ½·ridge·‖θ‖² and what is known of its minimum on a domain."""

    theta: FloatArray  # (p,): θ*
    value: float  # L*
    ridge: float
    held: Held
    pad: float  # τ ≥ 0, added to the metric so that it is definite
    whiten: FloatArray  # (p, p): A^{-1/2} for the Lagrangian's Hessian at θ*, pad included


class ExpandableRisk(Protocol):
    """A mean loss of scores that has a polynomial below it around any model."""

    def tangent(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Mean loss and its gradient (p,) at one model (p,)."""
        ...

    def blurred(
        self, theta: FloatArray, whiten: FloatArray, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient (p,) and Hessian (p, p), averaged over steps whiten·w with ‖w‖ about radius.

        An approximation will do: it decides where the bound is, not whether it holds.
        """
        ...

    def form(self, theta: FloatArray, whiten: FloatArray, radius: float) -> QuarticForm:
        """Lower bound of the excess over the tangent at ``theta``, for every step whiten·w.

        It is best where ‖w‖ is about ``radius``.
        """
        ...


@runtime_checkable
class Expandable(Protocol):
    """A bound around a minimiser that knows a risk to make others of."""

    @property
    def expansion(self) -> ExpandableRisk | None:
        """None where only the bound around the minimiser is known."""
        ...


@dataclass(frozen=True)
class ShiftedBound:
    """Lower bounds of L(θ) − L* + ½τ‖θ − c‖² for θ = c + whiten·w in the domain.

    With a form P that is below the data loss less its tangent at c, the sum of P, the tangent,
    the ridge's exact part and −L* is ``free``. Less by what is ≥ 0 in the domain and makes θ*
    stationary, pull·(θ − θ*) + gap + ½λ(R² − ‖θ − ball_centre‖²), it is ``held``. Both bound
    functions that are convex along rays from c and known there, which therefore lie above the
    line from their value at c through any lower bound (own derivation, docs/theory.md §3).
    """

    # (p,): c: where the gradient, averaged over steps of the radius in use, vanishes
    centre: FloatArray
    # vectors, curvature: (p, p) and (p,): eigenvectors and eigenvalues of the averaged Hessian,
    # without the pad
    vectors: FloatArray
    curvature: FloatArray
    free: QuarticForm
    held: QuarticForm
    # free_start, held_start: what the forms bound at w = 0, exactly
    free_start: float
    held_start: float
    reach: float  # radius in use
    _slopes: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the steepest line from the centre that is known at each radius."""
        nodes = self.reach * _NODES
        slopes = np.maximum.accumulate((self.held.least(nodes) - self.held_start) / nodes)
        object.__setattr__(self, "_slopes", np.concatenate([[0.0], np.maximum(slopes, 0.0)]))

    @classmethod
    def of(cls, risk: ExpandableRisk, minimum: Minimised, level: float) -> "ShiftedBound":
        """Bound that is best where the excess is about ``level``."""
        held, ridge, pad = minimum.held, minimum.ridge, minimum.pad
        reach = math.sqrt(2 * level)
        centre, hessian = _middle(risk, minimum, reach)
        curvature, vectors = np.linalg.eigh(hessian)
        curvature = np.maximum(curvature, 0.0)
        whiten = vectors / np.sqrt(curvature + pad)
        gram = whiten.T @ whiten

        value, slope = risk.tangent(centre)
        start = value + ridge / 2 * float(centre @ centre) - minimum.value
        linear = whiten.T @ (slope + ridge * centre)
        free = risk.form(centre, whiten, reach).plus(start, linear, (ridge + pad) / 2 * gram)

        outward = centre - held.centre
        given = held.multiplier / 2 * (held.radius**2 - float(outward @ outward))
        given += float(held.pull @ (centre - minimum.theta)) + held.gap
        linear = whiten.T @ (held.multiplier * outward - held.pull)
        bent = free.plus(-given, linear, held.multiplier / 2 * gram)
        return cls(centre, vectors, curvature, free, bent, start, start - given, reach)

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound by ‖w‖ alone, nondecreasing and at least 0; same shape as ``radius``."""
        radius = np.asarray(radius, dtype=float)
        slope = self._slopes[np.searchsorted(self.reach * _NODES, radius, side="right")]
        bound = np.maximum(self.held_start + radius * slope, 0.0)
        return np.where(slope > 0, bound, 0.0)

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) at whitened steps (p, K) from the centre."""
        radius = np.sqrt(np.einsum("ij,ij->j", points, points))
        stretch = np.maximum(radius / (_LONGEST * self.reach), 1.0)
        inner = self.free.at(points / stretch)
        return np.asarray(self.free_start + stretch * (inner - self.free_start))


def _middle(
    risk: ExpandableRisk, minimum: Minimised, reach: float
) -> tuple[FloatArray, FloatArray]:
    """Where the averaged gradient of the Lagrangian vanishes (p,), and its Hessian (p, p) there."""
    held, unit = minimum.held, np.eye(len(minimum.theta))
    square = minimum.ridge + held.multiplier
    centre, hessian = minimum.theta, unit
    for _ in range(_NEWTON_STEPS):
        gradient, hessian = risk.blurred(centre, minimum.whiten, reach)
        hessian = hessian + square * unit
        gradient = gradient + square * centre - held.multiplier * held.centre - held.pull
        step = np.linalg.solve(hessian + minimum.pad * unit, gradient)
        # Where the averaged loss is far from a parabola, no further than it was averaged over.
        length = math.sqrt(max(float(step @ gradient), 0.0))
        centre = centre - step * min(1.0, reach / max(length, 1e-300))
    return centre, hessian
