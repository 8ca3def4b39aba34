"""What the selection of one penalty reveals, by ordinary tuning and by a private draw."""

import numpy as np
import pytest

from rashomon_explorer import DPBilevelSearch
from rashomon_explorer.estimators import audit_tuning
from rashomon_explorer.exceptions import PrivacyLeakWarning, SamplerError
from rashomon_explorer.plots import plot_penalties


@pytest.fixture(scope="module")
def forty_rows():
    """Of forty rows some decide an ordinary choice alone."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 2))
    return X, np.clip(0.35 * X[:, 0] + 0.5 * rng.standard_normal(40), -1, 1)


def _search(**settings):
    declared = {"bounds": (0.001, 1.0), "target_bounds": (-1, 1), "refit": None}
    return DPBilevelSearch("ridge", **declared, epsilon=1.0, delta=0.0, **settings)


def test_an_audit_states_the_law_of_a_private_draw_and_what_one_row_changes(forty_rows):
    with pytest.warns(PrivacyLeakWarning, match="for the curator"):
        audit = audit_tuning(_search(psi=0.01), *forty_rows)
    assert 0 < audit.odds <= audit.plan.eta
    excess = np.maximum(audit.losses - audit.losses.min() - audit.psi, 0)
    weights = np.exp(-audit.plan.beta * excess)
    np.testing.assert_allclose(audit.law, weights / weights.sum(), atol=1e-9)
    assert audit.plain == audit.penalties[audit.losses.argmin()] and audit.good.any()
    assert audit.plain_moved > 0 and 0 < audit.ridge_moved <= audit.ridge_of == 20
    figure = plot_penalties(audit, drawn=(0.5, 0.5))
    assert figure.data[0].y == pytest.approx(audit.law)
    assert list(figure.data[-1].x) == [0.5, 0.5]


def test_several_penalties_have_no_audit(forty_rows):
    search = _search(penalty="group", groups=[[0], [1]])
    with pytest.warns(PrivacyLeakWarning), pytest.raises(SamplerError, match="penalty on a grid"):
        audit_tuning(search, *forty_rows)
