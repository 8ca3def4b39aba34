"""How far rounding can part the gradients of neighbours that are computed in single precision."""

import math
from dataclasses import dataclass

from rashomon_explorer.losses.blocks import stack_rows
from rashomon_explorer.problem import Problem

_UNIT = 2.0**-24  # float32 rounds to half a unit of 2⁻²³
_CELL = 128.0  # roundings of a group of 16 exponentials, their product and its logarithm


@dataclass(frozen=True)
class SinglePrecision:
    """Bounds on what float32 adds to the difference between neighbours.

    Rows outside the replaced record's block give bit for bit the same sums on both data sets,
    and blocks are added up in float64. In the block of b rows every sum has a relative error of
    at most γ = bu/(1 − bu), u = 2⁻²⁴, in any order of summation, on either data set; the
    replaced row itself is off by a few u times its score. So the gradients of neighbours are
    further apart by at most (2B/n)(bγ + c) and the losses by (2f/n)(bγ + c), where a row's
    gradient is at most B, its loss at most f and c = u·(128 + (p + 2)·s) for scores up to s
    (own derivation).

    Parameters
    ----------
    gradient, value : float
        These two bounds.
    share, cell : float
        γ and c: a computed loss v is off by at most γ(v + c) + c, as its terms are positive, and
        the gradient of a loss with constant L by at most L(γ + c).
    """

    gradient: float
    value: float
    share: float
    cell: float

    @classmethod
    def of(cls, problem: Problem) -> "SinglePrecision":
        """Bounds for a problem; reads no row."""
        n = problem.n
        rows = min(n, stack_rows(n))
        gamma = rows * _UNIT / (1 - rows * _UNIT)
        reach = problem.domain.reach(problem.row_bound)
        cell = _UNIT * (_CELL + (problem.p + 2) * reach)
        # At score 0 a loss is at most 1, or the logarithm of the number of classes.
        at_0 = 1 + math.log1p(problem.loss.outputs)
        largest_loss = at_0 + problem.loss.lipschitz(reach, 1.0) * reach
        in_block = rows * gamma + cell
        return cls(
            gradient=2 * problem.L / n * in_block,
            value=2 * largest_loss / n * in_block,
            share=gamma,
            cell=cell,
        )
