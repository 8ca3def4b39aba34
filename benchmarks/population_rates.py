"""Measured risk of one private model on the population of its rows, beside the printed rates.

Two laws of rows whose risk is known. *Signs*: rows e₁ and labels ±1 under a loss that is linear in
the ball of radius ½. *Squares*: rows e₁, …, e_p in turn, squared loss and a ridge m that belongs to
the loss. Labels are fixed for the terms that privacy costs, where any excess is that of the draw.
For the term of sampling they are random, and ε is so large that the draw adds next to nothing.
For a Rashomon set (Table 2) both are what is left above a uniform draw of the set with all rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measured import write_result
from benchmarks.rates import DELTA, fitted_slope, slope_of
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.mechanisms.bounds import population_risk
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.papers.theorems import RATES
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem

RESULTS = Path(__file__).parent / "results" / "population_rates.json"
DRAWS = 64
_FREE = 1e4  # ε at which a draw is nearly the minimiser
_MEAN = 0.3  # of the labels of squares
_AGAINST = 1.5  # mean of the signs times √n: the hardest to learn from n of them
Point = tuple[int, int, float]


@dataclass(frozen=True)
class Row:
    """A row of Table 1, and the sweeps in which each of its terms is the larger one.

    Where nearly nothing is spent on privacy, draws on disjoint batches decline for one draw on all
    rows: ``free`` names it.
    """

    problem: str
    notion: str
    ridge: float  # of the loss
    sweeps: tuple[tuple[Point, ...], ...]  # in n, p and ε, with fixed labels
    sampling: tuple[Point, ...]  # in n, with random labels
    method: str
    free: str
    psi: float = 0.0

    @property
    def delta(self) -> float:
        """δ of the notion."""
        return 0.0 if self.notion == "pure" else DELTA


def _sweeps(
    n: int, p: int, epsilon: float, most_p: int, last: int = 8
) -> tuple[tuple[Point, ...], ...]:
    """Doubled n, p and ε; the last at ``last`` times n rows."""
    doubled = [2**k for k in range(4)]
    return (
        tuple((n * k, p, epsilon) for k in doubled),
        tuple((8 * n, most_p // 8 * k, epsilon) for k in doubled),
        tuple((last * n, p, epsilon * k / 2) for k in doubled),
    )


def _sampled(n: int, p: int, epsilon: float = _FREE) -> tuple[Point, ...]:
    return tuple((n * 4**k, p, epsilon) for k in range(4))


_SIGNS = _sampled(100, 1), "regularised", "regularised"
ROWS = (
    Row("convex", "pure", 0.0, _sweeps(500, 8, 8.0, 64), *_SIGNS),
    Row("convex", "(ε, δ)", 0.0, _sweeps(2_000, 32, 0.1, 64, last=2), *_SIGNS),
    Row(
        "strongly convex",
        "pure",
        16.0,
        _sweeps(50_000, 2, 0.02, 16),
        _sampled(100, 4),
        "iterated_batches",
        "unthresholded",
    ),
    Row(
        "strongly convex",
        "(ε, δ)",
        1.0,
        _sweeps(500, 8, 0.2, 64),
        _sampled(100, 4),
        "unthresholded",
        "unthresholded",
    ),
    Row("Rashomon set", "pure", 1.0, _sweeps(4_000, 4, 0.25, 8), (), "exact", "", psi=0.002),
    Row("Rashomon set", "(ε, δ)", 1.0, _sweeps(4_000, 4, 0.05, 8), (), "exact", "", psi=0.002),
)


def measure(draws: int = DRAWS, rows: tuple[Row, ...] = ROWS) -> list[dict[str, Any]]:
    """Measure every term of every row: its slope, that of the bound, and the printed power."""
    return [
        {"problem": row.problem, "notion": row.notion, **term}
        for row in rows
        for term in _terms(row, draws)
    ]


def _terms(row: Row, draws: int) -> Iterator[dict[str, Any]]:
    rate = RATES[row.problem, row.notion, "population"]
    privacy = [("privacy", *one) for one in zip("npε", rate.upper, row.sweeps, strict=True)]
    sampling = [("sampling", "n", rate.sampling, row.sampling)] if row.sampling else []
    for term, axis, printed, points in sampling + privacy:
        hard = term == "sampling"
        method = row.free if hard else row.method
        found = [_point(row, method, point, draws, hard=hard) for point in points]
        risk, errors, bound = zip(*found, strict=True)
        places = [point["npε".index(axis)] for point in points]
        slope, error = fitted_slope(places, risk, errors)
        yield {
            "method": method,
            "term": term,
            "axis": axis,
            "places": places,
            "risk": risk,
            "errors": errors,
            "bound": bound,
            "slope": slope,
            "slope_error": error,
            "bound_slope": slope_of(places, bound),
            "printed": printed,
        }


def _point(
    row: Row, method: str, point: Point, draws: int, *, hard: bool
) -> tuple[float, float, float]:
    """Mean excess risk, its standard error and its bound; rows of its own for each random draw."""
    n, p, epsilon = point
    law = _LAWS[row.problem]
    shape = n, p, row.psi, law.loss, law.radius, 1.0, row.ridge
    kind, rng = MECHANISMS[method], generator([n, p, round(1000 * epsilon)])
    planned = kind.plan(Request(*shape, epsilon, row.delta, 1))
    assert isinstance(planned, Plan)
    mean, risks = law.mean(n, hard), []
    labels = np.full(n, mean)
    for k in range(draws):
        if hard:
            labels = np.where(rng.random(n) < (1 + mean) / 2, 1.0, -1.0)
        if hard or k == 0:
            posed = law.posed(labels, p, planned.ridge)
        theta = kind.draw(posed, planned, rng).coef[0]
        # Of a uniform draw from the set of an ellipsoid: what remains with all rows.
        risks.append(law.excess(theta, mean, row.ridge) - row.psi * p / (p + 2))
    error = np.std(risks, ddof=1) / len(risks) ** 0.5
    bound = planned.population_bound
    if row.psi:
        L = posed.L  # Theorem 2.6, less what does not fall with n
        fixed = row.psi + 4 * L * (2 * row.psi / row.ridge) ** 0.5
        known = {"p": p, "beta": planned.beta, "L": L, "m": row.ridge, "n": n, "psi": row.psi}
        bound = population_risk(**known) - fixed
    return float(np.mean(risks)), float(error), float(bound)


class _Signs:
    """Rows e₁ and labels ±1: risk −aθ₁ for labels of mean a, least at −a/2."""

    radius, loss = 0.5, SmoothedHingeLoss(smoothing=0.5)

    def mean(self, n: int, hard: bool) -> float:
        return _AGAINST / n**0.5 if hard else 1.0

    def posed(self, labels: FloatArray, p: int, ridge: float) -> Problem:
        rows = np.zeros((len(labels), p))
        rows[:, 0] = 1.0
        known: Any = {"loss": self.loss, "radius": self.radius, "ridge": ridge}
        return Problem(rows, labels, intercept=False, **known)

    def excess(self, theta: FloatArray, mean: float, ridge: float) -> float:
        return mean * (0.5 - float(theta[0]))


class _Squares:
    """Rows e_j in turn: risk ½(1/p + m)‖θ − θ°‖² with the ridge, but for a constant."""

    radius, loss = 2.0, "squared"

    def mean(self, n: int, hard: bool) -> float:
        return _MEAN

    def posed(self, labels: FloatArray, p: int, ridge: float) -> Problem:
        n = len(labels)
        rows = np.zeros((n, p))
        rows[np.arange(n), np.arange(n) % p] = 1.0
        return Problem(rows, labels, loss="squared", radius=2.0, intercept=False, ridge=ridge)

    def excess(self, theta: FloatArray, mean: float, ridge: float) -> float:
        bend = 1 / len(theta) + ridge
        return bend / 2 * float(((theta - mean / len(theta) / bend) ** 2).sum())


_SQUARES = _Squares()
_LAWS: dict[str, _Signs | _Squares] = {
    "convex": _Signs(),
    "strongly convex": _SQUARES,
    "Rashomon set": _SQUARES,
}


def write(measured: list[dict[str, Any]], file: Path = RESULTS) -> None:
    """Write the measurements."""
    write_result(file, measured)


def lines(measured: list[dict[str, Any]]) -> Iterator[str]:
    """Lay out the table of slopes."""
    heads = "row", "δ", "term", "method", "axis", "printed", "measured", "bound"
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"
    for one in measured:
        delta = 0 if one["notion"] == "pure" else DELTA
        slope = f"{one['slope']:+.2f} ± {one['slope_error']:.2f} | {one['bound_slope']:+.2f}"
        cells = f"{one['term']} | `{one['method']}` | {one['axis']} | {one['printed']:+g} | {slope}"
        yield f"| {one['problem']} | {delta:g} | {cells} |"
