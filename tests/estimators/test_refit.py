"""A refused refit leaves the fitted estimator as it was."""

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer.exceptions import BudgetExceededError


def test_a_refit_past_the_budget_keeps_the_old_models_and_their_classes(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2)) / 2
    y = (X[:, 0] > 0).astype(int)
    path = tmp_path / "data.ledger"
    Ledger.create(path, epsilon=1.2, delta=1e-6)
    clf = RashomonClassifier(classes=[0, 1], ledger=path, random_state=0).fit(X, y)
    before = clf.predict(X)
    with pytest.raises(BudgetExceededError, match="Nothing was drawn"):
        clf.fit(X, np.array(["a", "b"])[y])
    assert (clf.predict(X) == before).all()
    assert clf.classes_.tolist() == [0, 1]
