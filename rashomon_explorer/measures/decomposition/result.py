"""Result of the decomposition, as numbers, tables and text."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from rashomon_explorer.measures.decomposition.estimates import Estimate
from rashomon_explorer.measures.decomposition.kernels import PAIR_MEASURES

CURATOR = "Curator: computed from private rows, not private"


@dataclass(frozen=True, eq=False)
class DisagreementDecomposition:
    """A measure of private draws, decomposed into model-set width and mechanism noise.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    measure : str
        Key of the measure.
    confidence : float
        Of each interval by itself.
    total : Estimate
        The measure of the law that the draws come from.
    width : Estimate
        The measure of the uniform law on the Rashomon set: what the set alone would show.
    noise : Estimate
        total − width. Below 0 if models outside agree more than those inside.
    share_of_noise : Estimate
        noise/total, NaN where all draws agree.
    hit_rate : Estimate
        Chance that a draw lies in the set.
    parts : pandas.DataFrame
        One row for each kind of pair, ``"both inside"``, ``"one outside"``, ``"both outside"``:
        ``pairs``, their share; ``value``, the measure among them; ``total`` and ``noise``, what
        they add to each. Columns ``pairs``, ``total`` and ``noise`` sum to 1, the total and the
        noise.
    groups : pandas.DataFrame or None
        One row a group: ``rows``, and value and ends of each estimate.
    n_draws, n_hits, n_reference : int
        Draws, those inside, and reference models; of counted trees all.
    cross_check : float or None
        How far the width of the hits lies from that of the reference, in standard errors: beyond
        3 the two do not describe one set. None without a reference, or with too few hits.
    guaranteed : bool
        Whether the draws are known to carry a privacy guarantee; of arrays nothing is.
    assumed : str
        What is taken for granted of arrays, which do not say how they were drawn.
    counted : bool
        Whether the width is that of all trees of the set, counted, and no estimate.

    See Also
    --------
    disagreement_decomposition : Which makes it.
    """

    view: ClassVar[str] = CURATOR

    measure: str
    confidence: float
    total: Estimate
    width: Estimate
    noise: Estimate
    share_of_noise: Estimate
    hit_rate: Estimate
    parts: pd.DataFrame
    groups: pd.DataFrame | None
    n_draws: int
    n_hits: int
    n_reference: int
    cross_check: float | None
    guaranteed: bool
    assumed: str = ""
    counted: bool = False

    @property
    def within_between(self) -> pd.Series:
        """The total by the law of total variance; it adds up exactly.

        E k = h·k(U, U) + (1 − h)·k(Q, Q) + 2h(1 − h)·[k(U, Q) − ½k(U, U) − ½k(Q, Q)]. For the score
        variance the bracket is half the squared distance of the two mean scores; for
        disagreement it is half their energy distance. Never below 0, but for its own sampling
        error: noise is negative only if models outside agree more with each other than those
        inside do.

        Returns
        -------
        pandas.Series
            ``"inside"``, ``"outside"``, ``"between"``; NaN for the last two with one draw outside.
        """
        pairs, value = self.parts["pairs"].to_numpy(), self.parts["value"].to_numpy()
        inside = pairs[0] + pairs[1] / 2
        terms = [inside * value[0], 0.0, 0.0]
        if pairs[1:].any():
            terms[0] = inside * value[0] if inside else 0.0
            terms[1] = (1 - inside) * value[2]
            if pairs[1]:
                terms[2] = pairs[1] * (value[1] - value[0] / 2 - value[2] / 2)
        return pd.Series(terms, index=["inside", "outside", "between"], name=self.measure)

    def __str__(self) -> str:
        """Say it in two sentences."""
        return _sentence(self)


def _sentence(found: DisagreementDecomposition) -> str:
    """State the two parts of the decomposition in one sentence."""
    measure = PAIR_MEASURES[found.measure].in_words
    misses = f"{_percent(1 - found.hit_rate.value)} of the draws missed the set"
    if math.isnan(found.share_of_noise.value):
        return f"The draws show no {measure}, so there is nothing to decompose; {misses}."
    assumed = f" Assumed: {found.assumed}." if found.assumed else ""
    told = (
        f" Its width is that of all {found.n_reference:,} trees within ψ." if found.counted else ""
    )
    return f"{_split(found, measure)}: {misses}.{told}{_warned(found)}{assumed}"


def _split(found: DisagreementDecomposition, measure: str) -> str:
    share, total = found.share_of_noise, f"{found.total.value:.3g}"
    if share.value < 0:
        return (
            f"The set alone has more {measure} ({found.width.value:.3g}) than these draws "
            f"({total}): the mechanism adds {_percent(share.value)} {_ends(share)}"
        )
    own = _percent(1 - share.value)
    return (
        f"{own} of the {measure} among these draws ({total}) is model-set width; "
        f"{_percent(share.value)} {_ends(share)} is mechanism noise"
    )


def _warned(found: DisagreementDecomposition) -> str:
    if found.cross_check is None or abs(found.cross_check) <= 3:
        return ""
    return (
        f" Hits and reference are {abs(found.cross_check):.1f} standard errors apart: they do "
        "not describe the same set."
    )


def _ends(share: Estimate) -> str:
    low = "−∞" if math.isinf(share.low) else _percent_text(share.low)
    return f"[{low}, {_percent_text(share.high)}]"


def _percent(share: float) -> str:
    return f"{_percent_text(share)} %"


def _percent_text(share: float) -> str:
    return f"{round(100 * share)}".replace("-", "−")
