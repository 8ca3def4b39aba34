"""Random rows and targets that a loss allows, and models by plain rejection."""

import numpy as np

from rashomon_explorer.problem.losses import get_loss


def random_rows(loss, rng, n=40, p=3, row_bound=1.0):
    """Rows (n, p) no longer than their bound, and targets (n,) of a loss."""
    rows = rng.standard_normal((n, p))
    rows *= row_bound / np.maximum(row_bound, np.linalg.norm(rows, axis=1, keepdims=True))
    loss = get_loss(loss)
    if loss.task == "multiclass":
        return rows, rng.integers(0, len(loss.labels), n).astype(float)
    targets = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rows, targets if loss.labels else rng.uniform(-1, 1, n)


def plain_rejection(target, size, rng):
    """Models (p, size) of a target from uniform proposals: slow, and with nothing to go wrong."""
    problem, accepted = target.problem, []
    while sum(part.shape[1] for part in accepted) < size:
        theta = problem.domain.uniform(problem.p, 20_000, rng)
        accepted.append(theta[:, np.log(rng.random(20_000)) <= target.log_density(theta)])
    return np.hstack(accepted)[:, :size]
