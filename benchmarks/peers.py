"""Langevin steps against the same steps in XLA, in blackjax and in a loop over models."""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks import langevin
from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.langevin.gradients import FullDrift
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import SmoothThreshold

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PSI = langevin.PSI
MIDDLE_CHAINS = 256  # of the size whose ratios are the headline
BETA = 100.0
STEP_SIZE = 1e-6
TOLERANCE = 1e-9  # relative to β
_RATIOS = {"xla": "xla_ratio", "sgld": "blackjax_ratio", "mala": "mala_ratio"}


class PeerError(Exception):
    """A peer that cannot be compared, and why."""


def measure(seconds: float) -> dict[str, Any]:
    """Ratios of our chain-steps a second to each peer's; below 1 the peer is faster.

    ``sizes``: chains far from the set. ``thresholded``: chains that are distributed as the target,
    nine in ten of them in the Rashomon set. Ratios that could not be measured are null, with the
    reason in ``why_null``.
    """
    sizes = [_measure(_cold(*size), seconds / 2) for size in langevin.SIZES]
    thresholded = [_measure(_at_home(*size), seconds / 2) for size in langevin.COLD_SIZES]
    versions = [entry.pop("versions") for entry in sizes + thresholded]
    return {
        "versions": next(filter(None, versions), None),
        "sizes": sizes,
        "thresholded": thresholded,
    }


class Race(NamedTuple):
    """Chains to step: their target, first states and step."""

    target: GibbsTarget
    first: FloatArray
    step_size: float

    @property
    def hit_rate(self) -> float:
        """Share of the first states in the Rashomon set."""
        excess = self.target.problem.value(self.first) - self.target.problem.minimum.value
        return float((excess <= self.target.psi).mean())


def _cold(n: int, p: int, chains: int) -> Race:
    target = GibbsTarget(logistic_problem(n, p, "sphere"), BETA, PSI, threshold="smooth")
    return Race(target, np.zeros((p, chains)), STEP_SIZE)


def _at_home(n: int, p: int, chains: int) -> Race:
    target, first = langevin.at_home(n, p, chains)
    return Race(target, first, FullDrift(target).largest_step / 2)


def _measure(race: Race, seconds: float) -> dict[str, Any]:
    report, why_null = None, None
    ours = [_seconds_of_ours(race, seconds)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, **peer_arrays(race))
        try:
            report = _report(file, seconds, race.target.beta)
        except PeerError as error:
            why_null = str(error)
    # On both sides of the peers, so that a machine that slows down in between shows less.
    ours.append(_seconds_of_ours(race, seconds))
    step = float(np.mean(ours))
    problem, chains = race.target.problem, race.first.shape[1]
    return {
        "n": problem.n,
        "p": problem.p,
        "K": chains,
        "hit_rate": round(race.hit_rate, 3),
        "chain_steps_per_second": round(chains / step),
        **_ratios(report, step),
        "xla_ratio_of_products": _limit(race, report, seconds),
        "loop_ratio": round(_seconds_of_loop(race, seconds) / step, 3),
        "why_null": why_null,
        "versions": report and report["versions"],
    }


def _ratios(report: dict[str, Any] | None, step: float) -> dict[str, float | None]:
    """Divide our steps a second by theirs, which is their time by ours."""
    if report is None:
        return dict.fromkeys([*_RATIOS.values(), "largest_difference"])
    ratios = {name: round(report["seconds"][peer] / step, 3) for peer, name in _RATIOS.items()}
    return {**ratios, "largest_difference": max(report["differences"].values())}


def _limit(race: Race, report: dict[str, Any] | None, seconds: float) -> float | None:
    """Ratio to XLA of a step that costs nothing but its two matrix products."""
    if report is None:
        return None
    n, chains = race.target.problem.n, race.first.shape[1]
    products = langevin.seconds_of_products(n, len(race.first), chains, seconds)
    return round(report["seconds"]["xla"] / products, 3)


def _report(file: Path, seconds: float, scale: float) -> dict[str, Any]:
    """Ask the peers for their times, and refuse those that compute another target."""
    report = _run_peers(file, seconds)
    for what, difference in report["differences"].items():
        if not difference <= TOLERANCE * scale:
            raise PeerError(f"{what} of a peer differs from ours by {difference:.3g}")
    return report


def _run_peers(file: Path, seconds: float) -> dict[str, Any]:
    if not PYTHON.exists():
        raise PeerError(f"the peers are not installed: `make bench` makes {PYTHON.parents[1].name}")
    command = [str(PYTHON), "-m", "benchmarks.peer_process", str(file)]
    command += ["--seconds", str(seconds)]
    limit = 180 + 20 * seconds
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise PeerError(f"the peers took longer than {limit:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise PeerError(f"the peers stopped: {lines[-1]}")
    return json.loads(done.stdout)


def peer_arrays(race: Race) -> dict[str, Any]:
    """Everything a peer needs to run the same chains, and models to compare its target at.

    The models go from the minimiser through the edge of the Rashomon set to the far side of the
    ball, a little inside it: on the sphere itself, rounding decides whether a density is 0.
    """
    target, problem, minimum = race.target, race.target.problem, race.target.problem.minimum
    rng = np.random.default_rng(3)
    way = np.geomspace(0.01, 2.0, 64)
    noise = 0.3 * rng.standard_normal((problem.p, len(way))) / np.sqrt(problem.p)
    theta = 0.99 * problem.domain.project(minimum.theta[:, None] * (1 - way) + way * noise)
    return {
        "rows": _rows(problem),
        "start": race.first,
        "minimum": minimum.value,
        "radius": problem.domain.radius,
        "beta": target.beta,
        "psi": target.psi,
        "width": _width(target),
        "step_size": race.step_size,
        "theta": theta,
        "energy": target.energy(target.excess(theta)),
        "gradient": target.gradient(theta),
        "projected": problem.domain.project(2 * theta),
    }


def _width(target: GibbsTarget) -> float:
    assert isinstance(target.shape, SmoothThreshold)
    return target.shape.width


def _rows(problem: Problem) -> FloatArray:
    """Rows −y_i x_i; private to the package, since they are the curator's."""
    return np.asarray(problem._objective.loss.rows)


def _seconds_of_ours(race: Race, seconds: float) -> float:
    return langevin.seconds_a_step(
        race.target, race.first, step_size=race.step_size, seconds=seconds
    )


def _seconds_of_loop(race: Race, seconds: float) -> float:
    rng = np.random.default_rng(0)
    theta = np.ascontiguousarray(race.first.T)
    gradient = gradient_of_one(race.target)
    radius, spread = race.target.problem.domain.radius, np.sqrt(2 * race.step_size)

    def steps() -> None:
        for k, model in enumerate(theta):
            noise = spread * rng.standard_normal(len(model))
            moved = model - race.step_size * gradient(model) + noise
            theta[k] = moved * (radius / max(float(np.linalg.norm(moved)), radius))

    return median_seconds(steps, seconds=seconds)


def gradient_of_one(target: GibbsTarget) -> Callable[[FloatArray], FloatArray]:
    """Gradient of the energy at one model (p,), as plain NumPy has it."""
    rows, edge = _rows(target.problem), target.problem.minimum.value + target.psi
    width = _width(target)

    def gradient(theta: FloatArray) -> FloatArray:
        margin = rows @ theta
        slope = np.clip((np.logaddexp(0.0, margin).mean() - edge) / width, 0.0, 1.0)
        return rows.T @ expit(margin) * (target.beta * slope / len(rows))

    return gradient
