"""AdaSSP: ridge regression by noisy sufficient statistics (Wang 2018, Algorithm 2), as a peer."""

import math

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray

_RHO = 0.05  # of its failure probability, as its author has it


def adassp(
    rows: FloatArray,
    targets: FloatArray,
    *,
    row_bound: float,
    target_bound: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return coefficients (p,): a third of (ε, δ) each for λ_min, XᵀX and Xᵀy, noise as printed.

    Its price is for a record that is added or removed; here one is replaced, which is twice as
    far, and its ε is taken at its word.
    """
    p, share = rows.shape[1], epsilon / 3
    deviation = math.sqrt(math.log(6 / delta)) / share
    gram, moment = rows.T @ rows, rows.T @ targets
    least = float(np.linalg.eigvalsh(gram)[0]) + deviation * row_bound**2 * rng.standard_normal()
    least = max(0.0, least - math.log(6 / delta) / share * row_bound**2)
    wanted = math.sqrt(p * math.log(6 / delta) * math.log(2 * p**2 / _RHO)) * row_bound**2 / share
    noise = np.triu(rng.standard_normal((p, p)))
    gram = gram + deviation * row_bound**2 * (noise + np.triu(noise, 1).T)
    moment = moment + deviation * row_bound * target_bound * rng.standard_normal(p)
    return np.linalg.solve(gram + max(0.0, wanted - least) * np.eye(p), moment)
