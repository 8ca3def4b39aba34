"""The largest eigenvalue is bounded above, and hardly, whichever way it is found."""

import numpy as np
import pytest

from rashomon_explorer.problem.lower_bounds.smooth import _none_above, largest_eigenvalue


@pytest.mark.parametrize("spread", [1e-14, 1e-3, 1.0])
def test_a_bound_is_above_and_close(spread):
    rng = np.random.default_rng(1)
    turned, _ = np.linalg.qr(rng.normal(size=(450, 450)))
    known = 3.0 - spread * np.linspace(0.0, 1.0, 450)  # many eigenvalues beside the largest
    matrix = turned * known @ turned.T
    found = largest_eigenvalue((matrix + matrix.T) / 2)
    assert 3.0 * (1 - 1e-13) <= found <= 3.0 * (1 + 1e-10)


def test_a_bound_that_is_too_low_is_refused():
    matrix = np.diag(np.linspace(0.0, 3.0, 450))
    assert _none_above(3.0 * (1 + 1e-11), matrix)
    assert not _none_above(3.0 * (1 - 1e-9), matrix)


@pytest.mark.parametrize("value", [0.0, -2.0])
def test_a_matrix_without_a_positive_eigenvalue_has_its_own(value):
    assert largest_eigenvalue(np.diag(np.full(450, value))) == pytest.approx(value, abs=1e-10)
