"""What the report is, and the two words it turns on."""

from importlib.metadata import version

from rashomon_explorer.report.blocks import Block, Facts, Words
from rashomon_explorer.report.material import Curator, Public, Release

WRITER = f"rashomon-explorer {version('rashomon-explorer')}"


def curator(given: Curator) -> list[Block]:
    """Say what the curator's edition is."""
    return [
        Words(
            f"This report describes {given.models.n_draws:,} models that explain the same data "
            "almost equally well: a Rashomon set, all models whose loss exceeds the least by at "
            "most ψ. It says how much they differ, for whom, and what their draws cost in privacy."
        ),
        Words(
            "It was computed from private rows. Whoever may not see the rows may not see this "
            "file; for them there is the release edition (ReleasedSet.report).",
            "warning",
        ),
        _file(given),
    ]


def release(given: Release) -> list[Block]:
    """Say what the release is."""
    return [
        Words(
            f"This report describes {given.models.n_draws:,} models drawn from a Rashomon set, all "
            "models whose loss on the private rows exceeds the least by at most ψ."
        ),
        Words(
            "Everything in it follows from these models, public settings and the aggregates listed "
            "below, all of which were paid for. No loss, row or anything else computed from the "
            "rows went into it."
        ),
        _file(given),
    ]


def _file(given: Public) -> Facts:
    undated = "not stated, so that the same inputs give the same file"
    rows = [
        ("Written by", WRITER, "without any access to a network"),
        ("Date", given.date or "–", "" if given.date else undated),
    ]
    if given.target:
        rows.append(("The models predict", given.target, ""))
    return Facts(rows)
