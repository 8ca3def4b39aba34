"""Private centres and spreads of the columns, released before the models are drawn."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data.cells import ColumnMap, clip_rows
from rashomon_explorer.mechanisms.base import to_public_grid
from rashomon_explorer.mechanisms.private_scaling import ColumnsPlan
from rashomon_explorer.rows import ChunkedRows

_BLOCK = 4096
_LEAST_SHARE = 0.1  # of the mean square spread: least value for a single column
# Two standard errors of the mean square of d Laplace variables, times √d and over its mean.
_DOUBT = 2 * math.sqrt(5)
_LEAST_SPREAD = 0.01  # least mean square spread of a typical row; smaller values would be noise


def released_map(
    rows: FloatArray | ChunkedRows, planned: ColumnsPlan, rng: np.random.Generator
) -> ColumnMap:
    """Release centres and spreads, at the privacy cost of ``planned``."""
    return column_map_from_release(noisy_moments(rows, planned, rng), planned)


def noisy_moments(
    rows: FloatArray | ChunkedRows, planned: ColumnsPlan, rng: np.random.Generator
) -> FloatArray:
    """Noisy moments (2d + 1,) of rows over ``row_norm``, on the public grid."""
    moments = exact_moments(rows, planned)
    draw = rng.normal if planned.gaussian else rng.laplace
    return to_public_grid(moments + draw(scale=planned.noise, size=moments.shape))


def exact_moments(rows: FloatArray | ChunkedRows, planned: ColumnsPlan) -> FloatArray:
    """Means of (a·u, u², b‖u‖²), u a row over ``row_norm``; curator: not private."""
    if isinstance(rows, ChunkedRows):
        (total,) = rows.reduce(_Moments(planned))
        return np.asarray(total / rows.n)
    sums = np.zeros((2, np.shape(rows)[1]))
    for start in range(0, len(rows), _BLOCK):  # avoids a copy of the whole table
        block = np.asarray(rows[start : start + _BLOCK], dtype=float)
        unit = clip_rows(block, planned.row_norm)[0] / planned.row_norm
        sums += [unit.sum(axis=0), np.einsum("nd,nd->d", unit, unit)]
    means, squares = sums / len(rows)
    total = planned.total_weight * squares.sum()
    return np.concatenate([planned.weight * means, squares, [total]])


@dataclass(frozen=True)
class _Moments:
    planned: ColumnsPlan

    def __call__(self, rows: FloatArray, targets: object) -> tuple[FloatArray]:
        return (len(rows) * exact_moments(rows, self.planned),)


def column_map_from_release(noisy: FloatArray, planned: ColumnsPlan) -> ColumnMap:
    """Map of released moments, shrunk towards common values (docs/theory/columns.md)."""
    d, deviation = planned.d, planned.deviation
    means, squares = noisy[:d] / planned.weight, noisy[d : 2 * d]
    blur = (deviation / planned.weight) ** 2
    by_chance = 1.0 if planned.gaussian else 1 + _DOUBT / math.sqrt(d)
    power = float((means**2).mean())
    shrinkage = max(0.0, power - by_chance * blur) / power if power > 0 else 0.0
    centre = np.clip(shrinkage * means, -1.0, 1.0)
    around = squares - centre**2
    noise = deviation**2 + 4 * centre**2 * blur * shrinkage
    # Two estimates of one total: the released entry, and the sum of d entries of the same noise.
    released, summed = planned.total_weight**2, 1 / d
    total = (planned.total_weight * noisy[-1] + squares.mean()) / (released + summed)
    typical = max(
        float(total - centre @ centre) / d,
        2 * deviation / math.sqrt(released + summed) / d,
        _LEAST_SPREAD / d,
    )
    apart = max(0.0, float(around.var() - noise.mean()))
    squared_spread = typical + apart / (apart + noise) * (around - around.mean())
    spread = np.sqrt(np.maximum(squared_spread, _LEAST_SHARE * typical) * d)
    return ColumnMap(centre * planned.row_norm, spread, planned.row_norm)
