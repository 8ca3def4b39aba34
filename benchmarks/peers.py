"""Langevin steps against the same steps in XLA, in blackjax and in a loop over models."""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks import langevin
from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.langevin import LangevinSampler
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PSI = 0.02
WIDTH = PSI / 2
BETA = 100.0
STEP_SIZE = 1e-6
# Our arrays are float64; rounding in float32 is magnified by β and by 1/width.
TOLERANCES = {"float64": 1e-9, "float32": 1e-2}
_RATIOS = {"xla": "xla_ratio", "sgld": "blackjax_ratio", "mala": "mala_ratio"}


class PeerError(Exception):
    """A peer that cannot be compared, and why."""


def measure(seconds: float) -> dict[str, Any]:
    """Ratios of our chain-steps a second to each peer's; below 1 the peer is faster.

    Ratios that could not be measured are null, with the reason in ``why_null``.
    """
    sizes, versions = [], None
    for size in langevin.SIZES:
        entry, found = _measure(*size, seconds=seconds)
        sizes.append(entry)
        versions = versions or found
    return {"versions": versions, "sizes": sizes}


def _measure(
    n: int, p: int, chains: int, *, seconds: float
) -> tuple[dict[str, Any], dict[str, str] | None]:
    target = GibbsTarget(logistic_problem(n, p, "sphere"), BETA, PSI, threshold="smooth")
    ours = [_seconds_of_ours(target, chains, seconds)]
    reports: dict[str, Any] = {}
    why_null = None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, **peer_arrays(target, chains))
        for dtype in TOLERANCES:
            try:
                reports[dtype] = _report(file, dtype, seconds)
            except PeerError as error:
                why_null = why_null or f"{dtype}: {error}"
    # On both sides of the peers, so that a machine that slows down in between shows less.
    ours.append(_seconds_of_ours(target, chains, seconds))
    step = float(np.mean(ours))
    loop = _seconds_of_loop(target, chains, seconds)
    entry = {
        "n": n,
        "p": p,
        "K": chains,
        "dtype": "float64",
        "chain_steps_per_second": round(chains / step),
        **_ratios(reports.get("float64"), step, ""),
        "loop_ratio": round(loop / step, 3),
        **_ratios(reports.get("float32"), step, "_peers_in_float32"),
        "why_null": why_null,
    }
    return entry, next((report["versions"] for report in reports.values()), None)


def _ratios(report: dict[str, Any] | None, step: float, suffix: str) -> dict[str, float | None]:
    """Divide our steps a second by theirs, which is their time by ours."""
    if report is None:
        return {name + suffix: None for name in (*_RATIOS.values(), "largest_difference")}
    ratios = {
        name + suffix: round(report["seconds"][peer] / step, 3) for peer, name in _RATIOS.items()
    }
    return {**ratios, "largest_difference" + suffix: max(report["differences"].values())}


def _report(file: Path, dtype: str, seconds: float) -> dict[str, Any]:
    """Ask the peers for their times, and refuse those that compute another target."""
    report = _run_peers(file, dtype, seconds)
    for what, difference in report["differences"].items():
        if not difference <= TOLERANCES[dtype]:
            raise PeerError(f"{what} of a peer differs from ours by {difference:.3g}")
    return report


def _run_peers(file: Path, dtype: str, seconds: float) -> dict[str, Any]:
    if not PYTHON.exists():
        raise PeerError(f"the peers are not installed: `make bench` makes {PYTHON.parents[1].name}")
    command = [str(PYTHON), "-m", "benchmarks.peer_process", str(file)]
    command += ["--dtype", dtype, "--seconds", str(seconds)]
    limit = 180 + 20 * seconds
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise PeerError(f"the peers took longer than {limit:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise PeerError(f"the peers stopped: {lines[-1]}")
    return json.loads(done.stdout)


def peer_arrays(target: GibbsTarget, chains: int) -> dict[str, Any]:
    """Everything a peer needs to run the same chains, and models to compare its target at.

    The models go from the minimiser through the edge of the Rashomon set to the far side of the
    ball, a little inside it: on the sphere itself, rounding decides whether a density is 0.
    """
    problem, minimum = target.problem, target.problem.minimum
    rng = np.random.default_rng(3)
    way = np.geomspace(0.01, 2.0, 64)
    noise = 0.3 * rng.standard_normal((problem.p, len(way))) / np.sqrt(problem.p)
    theta = 0.99 * problem.domain.project(minimum.theta[:, None] * (1 - way) + way * noise)
    return {
        "rows": _rows(problem),
        "start": np.zeros((problem.p, chains)),
        "minimum": minimum.value,
        "radius": problem.domain.radius_bound,
        "beta": target.beta,
        "psi": target.psi,
        "width": WIDTH,
        "step_size": STEP_SIZE,
        "theta": theta,
        "energy": target.energy(target.excess(theta)),
        "gradient": target.gradient(theta),
        "projected": problem.domain.project(2 * theta),
    }


def _rows(problem: Problem) -> FloatArray:
    """Rows −y_i x_i; private to the package, since they are the curator's."""
    return np.asarray(problem._objective.loss.z)


def _seconds_of_ours(target: GibbsTarget, chains: int, seconds: float) -> float:
    sampler = LangevinSampler(STEP_SIZE, n_steps=10**9, n_chains=chains, thin=10**9)
    steps = sampler.states(target, np.random.default_rng(0))
    return median_seconds(lambda: next(steps), seconds=seconds)


def _seconds_of_loop(target: GibbsTarget, chains: int, seconds: float) -> float:
    rng = np.random.default_rng(0)
    theta = np.zeros((chains, target.problem.p))
    gradient = gradient_of_one(target)
    radius, spread = target.problem.domain.radius_bound, np.sqrt(2 * STEP_SIZE)

    def steps() -> None:
        for k, model in enumerate(theta):
            noise = spread * rng.standard_normal(len(model))
            moved = model - STEP_SIZE * gradient(model) + noise
            theta[k] = moved * (radius / max(float(np.linalg.norm(moved)), radius))

    return median_seconds(steps, seconds=seconds)


def gradient_of_one(target: GibbsTarget) -> Callable[[FloatArray], FloatArray]:
    """Gradient of the energy at one model (p,), as plain NumPy has it."""
    rows, edge = _rows(target.problem), target.problem.minimum.value + target.psi

    def gradient(theta: FloatArray) -> FloatArray:
        margin = rows @ theta
        slope = np.clip((np.logaddexp(0.0, margin).mean() - edge) / WIDTH, 0.0, 1.0)
        return rows.T @ expit(margin) * (target.beta * slope / len(rows))

    return gradient
