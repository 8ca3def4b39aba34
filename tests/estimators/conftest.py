"""Small rows within the declared bounds."""

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import Ledger


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).uniform(-0.55, 0.55, (120, 3))


@pytest.fixture(scope="session")
def labels(X):
    noise = 0.2 * np.random.default_rng(1).standard_normal(len(X))
    return (X[:, 0] - 0.5 * X[:, 1] + noise > 0).astype(int)


@pytest.fixture(scope="session")
def targets(X):
    return np.clip(X[:, 0] - 0.5 * X[:, 1] + 0.1, -1, 1)


@pytest.fixture(scope="session")
def frame(X):
    return pd.DataFrame(X, columns=["age", "income", "debt"])


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "data.ledger", epsilon=100.0, delta=1e-6)
