"""The split in a sentence."""

import math
from typing import TYPE_CHECKING

from rashomon_explorer.measures.decomposition.estimate import Estimate
from rashomon_explorer.measures.decomposition.kernels import PAIR_MEASURES

if TYPE_CHECKING:
    from rashomon_explorer.measures.decomposition.result import WidthOrNoise


def sentence(found: "WidthOrNoise") -> str:
    """Say how much is the set's own and how much comes from the mechanism."""
    measure = PAIR_MEASURES[found.measure].in_words
    misses = f"{_percent(1 - found.hit_rate.value)} of the draws missed the set"
    if math.isnan(found.share_of_noise.value):
        return f"The draws show no {measure}, and there is nothing to split; {misses}."
    assumed = f" Assumed: {found.assumed}." if found.assumed else ""
    return f"{_split(found, measure)}: {misses}.{_warned(found)}{assumed}"


def _split(found: "WidthOrNoise", measure: str) -> str:
    share, total = found.share_of_noise, f"{found.total.value:.3g}"
    if share.value < 0:
        return (
            f"The set alone has more {measure} ({found.width.value:.3g}) than these draws "
            f"({total}): the mechanism adds {_percent(share.value)} {_ends(share)}"
        )
    own = _percent(1 - share.value)
    return (
        f"{own} of the {measure} among these draws ({total}) is the set's own; "
        f"{_percent(share.value)} {_ends(share)} comes from the mechanism"
    )


def _warned(found: "WidthOrNoise") -> str:
    if found.cross_check is None or abs(found.cross_check) <= 3:
        return ""
    return (
        f" Hits and reference are {abs(found.cross_check):.1f} standard errors apart: they do "
        "not describe one set."
    )


def _ends(share: Estimate) -> str:
    low = "−∞" if math.isinf(share.low) else _whole(share.low)
    return f"[{low}, {_whole(share.high)}]"


def _percent(share: float) -> str:
    return f"{_whole(share)} %"


def _whole(share: float) -> str:
    return f"{round(100 * share)}".replace("-", "−")
