"""Small sets of models to plot."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from rashomon_explorer.estimators import RashomonClassifier, RashomonRegressor

# Exact draws of a ball that stays as it is, whatever the rule for what is left open.
EXACT = {
    "mechanism": "exact", "psi": 0.05, "n_draws": 12, "radius": 4.0, "ridge": 0.0, "row_norm": 1.0,
}  # fmt: skip


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (300, 3)), columns=["age", "debt", "luck"])
    score = 4 * X["age"] - 3 * X["debt"] + rng.normal(scale=0.5, size=300)
    groups = np.where(X["luck"] > 0, "b", "a")
    return Bunch(X=X, y=(score > 0).astype(int), target=score.clip(-1, 1), groups=groups)


@pytest.fixture(scope="session")
def models(rows):
    fitted = RashomonClassifier(epsilon=20.0, random_state=0, **EXACT)
    return fitted.fit(rows.X, rows.y).rashomon_set_


@pytest.fixture(scope="session")
def several(rows):
    """A set of models that tell three classes apart."""
    y = np.array(["low", "mid", "top"])[np.digitize(rows.target, [-0.5, 0.5])]
    fitted = RashomonClassifier(epsilon=40.0, random_state=0, **EXACT)
    return Bunch(y=y, models=fitted.fit(rows.X, y).rashomon_set_)


@pytest.fixture(scope="session")
def regression(rows):
    fitted = RashomonRegressor(target_bounds=(-1, 1), epsilon=20.0, random_state=0, **EXACT)
    return fitted.fit(rows.X, rows.target).rashomon_set_


def trace_of(figure, name):
    """The only trace of this name."""
    found = [trace for trace in figure.data if trace.name == name]
    assert len(found) == 1, [trace.name for trace in figure.data]
    return found[0]


def title_of(figure):
    """A figure's title, with the line below."""
    return figure.layout.title.text


def band_of(figure):
    """Words of a figure's band."""
    return next(shape for shape in figure.layout.shapes if shape.name == "band").label.text
