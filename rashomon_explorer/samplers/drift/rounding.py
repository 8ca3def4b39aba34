"""How far rounding can part the gradients of neighbours that are computed in single precision."""

import math
from dataclasses import dataclass

from rashomon_explorer.losses.blocks import stack_rows
from rashomon_explorer.problem import Problem

_UNIT = 2.0**-24  # float32 rounds to half a unit of 2⁻²³
_LARGEST = 1e9  # squares of scores, summed over a block and times a row, stay below 3e38
_CELL = 128.0  # roundings of a group of 16 exponentials, their product and its logarithm


@dataclass(frozen=True)
class SinglePrecision:
    """Bounds on what float32 adds to the difference between neighbours.

    Rows outside the replaced record's block give bit for bit the same sums on both data sets,
    and blocks are added up in float64. In the block of b rows every sum has a relative error of
    at most γ = bu/(1 − bu), u = 2⁻²⁴, in any order of summation, on either data set; the
    replaced row itself is off by a few u times its score. So the gradients of neighbours are
    further apart by at most (2B/n)(bγ + c) and the losses by (2f/n)(bγ + c), where a row's
    gradient is at most B, its loss at most f and c = u·(128 + (p + 2)·max(s, 1)) for scores up
    to s (own derivation). All of it needs rows, models and scores that float32 can hold, with
    room for their squares and sums.
    """

    # gradient, value: these two bounds
    gradient: float
    value: float
    # share, cell: γ + c and c: a computed loss v is off by at most (γ + c)(v + c) + c, as its terms
    # are positive
    share: float
    cell: float
    # bound on the error of a computed gradient: L(γ + 2c), and what an error of the score does to a
    # slope
    slope: float

    @classmethod
    def of(cls, problem: Problem) -> "SinglePrecision":
        """Bounds for a problem; reads no row."""
        _check_range(problem)
        n = problem.n
        rows = min(n, stack_rows(n))
        gamma = rows * _UNIT / (1 - rows * _UNIT)
        reach = problem.domain.reach(problem.row_bound)
        cell = _UNIT * (_CELL + (problem.p + 2) * max(reach, 1.0))
        # At score 0 a loss is at most 1, the logarithm of the number of classes, or its slope
        # times the largest target.
        target = getattr(problem.loss, "target_bound", 0.0)
        at_0 = 1 + math.log1p(problem.loss.outputs) + problem.loss.lipschitz(target, 1.0) * target
        bend = problem.loss.smoothness(1.0) * _UNIT * (problem.p + 2) * reach
        largest_loss = at_0 + problem.loss.lipschitz(reach, 1.0) * reach
        in_block = rows * gamma + cell
        return cls(
            gradient=2 * problem.L / n * in_block,
            value=2 * largest_loss / n * in_block,
            share=gamma + cell,
            cell=cell,
            slope=problem.L * (gamma + 2 * cell) + problem.row_bound * bend,
        )


def _check_range(problem: Problem) -> None:
    reach = problem.domain.reach(problem.row_bound)
    sizes = (problem.row_bound, problem.domain.radius_bound, reach)
    most = max(*sizes, getattr(problem.loss, "target_bound", 0.0))
    if most > _LARGEST:
        raise ValueError(
            f"rows, models, targets and scores of size {most:.3g} are too large for single "
            f'precision, which is priced up to {_LARGEST:g}: take precision="double", or scale '
            "the features by their public ranges"
        )
