"""Small bilevel problems: two sides of rows, and every neighbour that corner records make."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rashomon_explorer.mechanisms.penalties import PenaltyConstants, PenaltyLandscape
from rashomon_explorer.mechanisms.penalties.landscape import InnerProblem, OuterLoss, PenaltyBox


@dataclass(frozen=True)
class Made:
    """Rows of both sides, and the penalties that may be chosen for them."""

    estimator: str
    train: tuple[np.ndarray, np.ndarray]
    val: tuple[np.ndarray, np.ndarray]
    box: PenaltyBox
    margin_bound: float | None = None

    @property
    def landscape(self):
        outer = OuterLoss(*self.val, self.estimator, self.margin_bound)
        return PenaltyLandscape(InnerProblem(*self.train, self.estimator), outer, self.box, 1e-11)

    @property
    def constants(self):
        sides = len(self.train[1]), len(self.val[1])
        bounds = self.box.low, self.box.high
        return PenaltyConstants(self.estimator, 1.0, *bounds, *sides, self.margin_bound)

    def neighbours(self, records):
        """Replace the first record of either side by each of ``records``."""
        for side in ("train", "val"):
            rows, targets = getattr(self, side)
            for row, target in records:
                moved = np.vstack([row, rows[1:]]), np.append(target, targets[1:])
                yield replace(self, **{side: moved})


def made(estimator, groups=(0, 1), bounds=(0.05, 5.0), sizes=(3, 3), margin_bound=None, seed=0):
    """Rows on the unit sphere, targets −1 and 1."""
    rng = np.random.default_rng(seed)

    def side(n):
        rows = rng.normal(size=(n, len(groups)))
        return rows / np.linalg.norm(rows, axis=1)[:, None], rng.choice([-1.0, 1.0], n)

    box = PenaltyBox(groups, *bounds)
    return Made(estimator, side(sizes[0]), side(sizes[1]), box, margin_bound=margin_bound)


def corners(p):
    """Records at the ends of the axes and diagonals of the unit ball, of either target."""
    ends = [np.eye(p)[j] * sign for j in range(p) for sign in (-1, 1)]
    ends += [np.array(signs) / np.sqrt(p) for signs in product([-1.0, 1.0], repeat=p)]
    return [(row, target) for row in ends for target in (-1.0, 1.0)]


def grid(landscape, points=7):
    """Points (d, N) of a grid over the box."""
    axis = np.linspace(-1, 1, points) * landscape.domain.radius
    return np.stack(np.meshgrid(*[axis] * landscape.p)).reshape(landscape.p, -1)


def flipping(margin_bound, n_val=4):
    """Neighbours whose validation losses differ by all of the range that is charged for.

    Two columns explain the targets equally well. Where the first is penalised the second is
    used, and the validation row (1, −1)/√2 then has the least margin; and the other way round.
    """
    train = np.full((1, 2), np.sqrt(0.5)), np.ones(1)
    row = np.array([1.0, -1.0]) * np.sqrt(0.5)
    val = np.vstack([row] * n_val), np.ones(n_val)
    box = PenaltyBox((0, 1), 1e-3, 1e3)
    one = Made("logistic", train, val, box, margin_bound=margin_bound)
    other = replace(one, val=(val[0], np.append(-1.0, val[1][1:])))
    return one, other
