"""Lending: a simulated credit table whose true model is known, so that claims can be checked."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from rashomon_explorer.datasets.catalog import CatalogEntry

LENDING_ROWS = 50_000
LENDING_SEED = 20_240_601

LENDING_COEFFICIENTS: dict[str, float] = {
    "income_index": 1.4,
    "debt_to_income": -1.2,
    "credit_utilisation": -1.2,
    "late_payments_share": -1.8,
    "years_employed_index": 1.1,
    "savings_index": 1.3,
    "loan_to_income": -1.0,
    "age_index": 0.4,
    "neighbourhood_index": 0.7,
    "lucky_number": 0.0,
    "intercept": 0.6,
}
"""True coefficients of the logistic model of ``repaid``, the intercept last."""

GROUP_B_SHARE = 0.35


def load_lending(entry: CatalogEntry) -> pd.DataFrame:
    """Generate the table; a fresh copy at every call.

    Ten features, ``repaid`` ("yes"/"no") and ``group`` ("A"/"B").

    >>> from rashomon_explorer.datasets.catalog import read_catalog
    >>> load_lending(read_catalog()["lending"]).shape
    (50000, 12)
    """
    columns, repaid, group_b = simulate_lending()
    frame = pd.DataFrame(columns)
    frame["repaid"] = np.where(repaid, "yes", "no")
    frame["group"] = np.where(group_b, "B", "A")
    return frame


@lru_cache(maxsize=1)
def simulate_lending() -> tuple[
    dict[str, npt.NDArray[np.float64]], npt.NDArray[np.bool_], npt.NDArray[np.bool_]
]:
    """Draw features, repayment and group from the documented process.

    With a hidden ease ``e`` and a hidden debt burden ``b`` of unit variance (``e`` is 0.45 lower
    in group B), every feature is a linear mix of ``e``, ``b`` and noise of its own, capped at
    [-0.5, 0.5]; ``P(repaid) = 1 / (1 + exp(-(x . coefficients + intercept)))``.
    """
    rng = np.random.Generator(np.random.PCG64(LENDING_SEED))
    group_b = rng.random(LENDING_ROWS) < GROUP_B_SHARE
    ease = _bell(rng) - 0.45 * group_b
    burden = _bell(rng)
    raw = {
        "income_index": 0.20 * ease + 0.22 * _bell(rng),
        "debt_to_income": -0.08 * ease + 0.22 * burden + 0.13 * _bell(rng),
        "credit_utilisation": -0.06 * ease + 0.22 * burden + 0.15 * _bell(rng),
        "late_payments_share": -0.12 * ease + 0.06 * burden + 0.24 * _bell(rng),
        "years_employed_index": 0.10 * ease + 0.20 * _bell(rng),
        "savings_index": 0.20 * ease + 0.18 * _bell(rng),
        "loan_to_income": -0.10 * ease + 0.12 * burden + 0.15 * _bell(rng),
        "age_index": 0.05 * ease + 0.15 * _bell(rng),
        "neighbourhood_index": (0.10 * ease - 0.28 * (group_b - GROUP_B_SHARE) + 0.12 * _bell(rng)),
        "lucky_number": 0.6 * (rng.random(LENDING_ROWS) - 0.5),
    }
    features = {name: np.clip(values, -0.5, 0.5) for name, values in raw.items()}
    score = np.full(LENDING_ROWS, LENDING_COEFFICIENTS["intercept"])
    for name, values in features.items():
        score += LENDING_COEFFICIENTS[name] * values
    repaid = rng.random(LENDING_ROWS) < 1.0 / (1.0 + np.exp(-score))
    for values in (*features.values(), repaid, group_b):
        values.flags.writeable = False
    return features, repaid, group_b


def _bell(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Bell-shaped noise, mean 0 and variance 1, on [-3, 3].

    A sum of three uniforms, because uniforms and sums are the same bits on every platform, which
    the logarithms inside a normal generator are not.
    """
    first, second, third = (rng.random(LENDING_ROWS) for _ in range(3))
    return 2.0 * (first + second + third - 1.5)
