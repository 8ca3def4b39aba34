"""Whose disagreement is the set's own, and whose is the mechanism's: person by person."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.decomposition.estimate import hit_interval, variance
from rashomon_explorer.measures.decomposition.inputs import Inputs, given
from rashomon_explorer.measures.decomposition.intervals import FEW, KNOWN
from rashomon_explorer.measures.decomposition.kernels import PairMeasure, get_pair_measure
from rashomon_explorer.measures.decomposition.mixture import Mixture
from rashomon_explorer.measures.decomposition.result import CURATOR
from rashomon_explorer.measures.decomposition.units import Layout
from rashomon_explorer.measures.nested import models_at_once
from rashomon_explorer.progress import progress
from rashomon_explorer.validation import check_inner_share

VERDICTS = ("the set", "the mechanism", "not told", "nobody differs")


def width_or_noise_by_person(
    models: Any,
    X: ArrayLike | None = None,
    *,
    measure: str = "disagreement",
    reference: Any = None,
    reference_chains: int | None = None,
    inside: ArrayLike | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Split every person's measure as :func:`width_or_noise` splits its mean.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models, X, measure, reference, reference_chains, inside
        As for :func:`width_or_noise`.
    confidence : float, default=0.95
        Of each verdict by itself: of many persons about whom it could go either way, one in
        twenty is told wrongly.

    Returns
    -------
    pandas.DataFrame
        One row a person, in the order and with the index of ``X``: ``total``, ``width``,
        ``noise``, ``share_of_noise`` (NaN where all draws agree), and ``verdict``: ``"the set"``
        if the interval of width − total/2 lies above 0, so that most of what the draws dispute
        about this person good models dispute too; ``"the mechanism"`` if it lies below; ``"not
        told"`` if neither; ``"nobody differs"`` where all draws agree. Means of ``total``,
        ``width`` and ``noise`` are the values of :func:`width_or_noise`.

    Raises
    ------
    ValueError, CuratorOnlyError
        As :func:`width_or_noise`.

    Examples
    --------
    >>> labels = [[0, place % 2, 0] for place in range(20)]
    >>> labels += [[0, 0, place % 2] for place in range(20)]
    >>> table = width_or_noise_by_person(labels, inside=[True] * 20 + [False] * 20)
    >>> table["verdict"].tolist()
    ['nobody differs', 'the set', 'the mechanism']
    """
    check_inner_share(confidence=confidence)
    pair_measure = get_pair_measure(measure)
    found = given(models, X, pair_measure, inside, reference, reference_chains)
    layout = Layout.of(found.inside, found.chains)
    step = models_at_once(found.values.swapaxes(0, 1))
    parts = []
    for start in progress(range(0, found.values.shape[1], step), "width or noise"):
        rows = RowUnits(found.values[:, start : start + step], pair_measure, layout)
        exact = None if found.exact is None else found.exact[start : start + step]
        parts.append(_table(found, rows, exact, confidence))
    table = pd.concat(parts, ignore_index=True)
    if isinstance(X, pd.DataFrame):
        table.index = X.index
    table.attrs["view"] = CURATOR
    return table


@dataclass(frozen=True)
class RowUnits:
    """Pair sums of each of a few rows; otherwise as :class:`Units`."""

    values: Any  # (n_models, n_rows[, n_classes])
    measure: PairMeasure
    layout: Layout
    # sums found before, by the weights' bytes: each is asked for several times
    known: dict[bytes, FloatArray] = field(default_factory=dict)

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the pairs, (1 + n_units, 1)."""
        return self.layout.pairs(first, second)[:, None]

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Σ of k over pairs, of all units and without each, (1 + n_units, n_rows)."""
        to_first, to_second = (self._known(weights) for weights in (first, second))
        whole = first @ to_second
        without = whole - first[:, None] * to_second - second[:, None] * to_first
        return np.concatenate([whole[None], without])

    def _known(self, weights: FloatArray) -> FloatArray:
        key = weights.tobytes()
        if key not in self.known:
            self.known[key] = self._towards(weights)
        return self.known[key]

    def _towards(self, weights: FloatArray) -> FloatArray:
        """Σ of k from the models of each unit to those of others, (n_units, n_rows)."""
        layout = self.layout
        each = self.measure.towards(self.values, weights[layout.unit])
        if len(each) == len(layout.sizes):
            return each
        result = np.zeros((len(layout.sizes), each.shape[1]))
        for model, unit in enumerate(layout.unit):
            result[unit] += each[model]
        for chain in np.flatnonzero(layout.sizes > 1):
            own = self.values[layout.unit == chain]
            result[chain] -= self.measure.towards(own, np.full(len(own), weights[chain])).sum(
                axis=0
            )
        return result


def _table(
    found: Inputs, rows: RowUnits, exact: FloatArray | None, confidence: float
) -> pd.DataFrame:
    mixture = Mixture.of(rows, found.uniform, exact)
    total, width = mixture.total, mixture.width
    contrast = width - total / 2
    value, half = contrast[0], _half_width(found, rows.layout, contrast, confidence)
    differ = total[0] > 0
    verdict = np.select(
        [~differ, value > half, value < -half], [VERDICTS[3], *VERDICTS[:2]], VERDICTS[2]
    )
    noise = total[0] - width[0]
    share = np.divide(noise, total[0], out=np.full_like(noise, np.nan), where=differ)
    return pd.DataFrame(
        {
            "total": total[0],
            "width": width[0],
            "noise": noise,
            "share_of_noise": share,
            "verdict": verdict,
        }
    )


def _half_width(
    found: Inputs, layout: Layout, contrast: FloatArray, confidence: float
) -> FloatArray:
    """Half of each row's interval; with few draws outside, wider by all that they may hide."""
    wide = len(found.chains) + (int(found.inside.sum()) if found.uniform else 0)
    if found.exact is not None:
        wide = KNOWN
    if wide < FEW:
        return np.full(contrast.shape[1], np.inf)
    missed = int(layout.missed.sum())
    few = missed < FEW
    chance = 0.5 + confidence / 2 if few else confidence
    freedom = wide - 1 if few else min(missed, wide) - 1
    drawn = layout.drawn
    deviation = np.sqrt(variance(contrast[1:][drawn]) + variance(contrast[1:][~drawn]))
    half = stdtrit(freedom, 0.5 + chance / 2) * deviation
    if few:
        hits = hit_interval(int(found.inside.sum()), len(found.inside), chance)
        half = half + (1 - max(hits.low, found.least_hit_rate) ** 2) * found.most / 2
    return np.asarray(half)
