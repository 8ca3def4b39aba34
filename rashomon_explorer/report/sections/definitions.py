"""Every term and measure of the report, with its formula and source."""

from typing import Any

import pandas as pd

from rashomon_explorer.measures.glossary import MEASURES, TERMS
from rashomon_explorer.measures.multiplicity.catalogue import EXACT
from rashomon_explorer.report.blocks import Block, Items, Table
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import Curator


def curator(given: Curator) -> list[Block]:
    """Define the terms, and the measures that suit the models."""
    scored = ("range_width", "score_variance", "score_std")
    named = scored if given.models.task == "regression" else tuple(MEASURES)
    kept = [MEASURES[name] for name in named if not name.startswith("delta")]
    frame = pd.DataFrame(
        {
            "formula": [one.formula for one in kept],
            "over these models": [EXACT if given.models.complete else one.sampled for one in kept],
            "source": [one.source for one in kept],
        },
        index=pd.Index([one.name for one in kept], name="measure"),
    )
    note = (
        "f, f' are models, f₀ the best one, s their scores, m models of which m_c say class c, n "
        "rows; all on the rows of this report."
    )
    return [Items(TERMS), Table(frame, "Measures", note)]


def release(given: Any) -> list[Block]:
    """Define the terms of a release."""
    return [Items({name: TERMS[name] for name in kind_of(given.models).terms})]
