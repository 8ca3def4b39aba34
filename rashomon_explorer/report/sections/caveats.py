"""What a reader may get wrong."""

from rashomon_explorer.report.blocks import Block, Items
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import Curator, Release

_COMMON = {
    "Sampled extremes are lower bounds": (
        "Ambiguity, discrepancy and ranges over drawn models can only grow with more draws, and "
        "fall further short of the set's own the more parameters there are."
    ),
    "Draws may lie outside the set": (
        "A private draw exceeds ψ with a probability that the promises bound; what it says there "
        "is the mechanism's and not the set's."
    ),
    "No causal reading": (
        "Coefficients and importances describe models. That a good model relies on a feature does "
        "not say that changing the feature would change anything."
    ),
    "Correlated features": (
        "They share their effect in many ways that fit equally well, so that each one's range is "
        "wide although together they may be indispensable."
    ),
    "Within one class of models": (
        "The set is that of the declared class, loss and bounds. Other classes, losses or a larger "
        "ball have other sets, and the best loss here may be far from the best there is."
    ),
}
# Of an enumerated set neither is true.
_OF_DRAWS = ("Sampled extremes are lower bounds", "Draws may lie outside the set")
_CURATOR = {
    "Selecting reads rows": (
        "Which draws lie in the set is read off the private rows. To keep or publish models by "
        "their loss voids the guarantee of the draws."
    ),
    "Not private, whatever the draws cost": (
        "Every measure, figure and table marked as the curator's was computed from private rows. "
        "Publishing one of them is a release that nobody paid for."
    ),
    "In-sample": (
        "Losses and measures are of the rows that were handed in. If the models were drawn from "
        "the same rows, new ones will look worse."
    ),
}
_RELEASE = {
    "The guarantee is conditional": (
        "It holds under the assumptions listed with it, for one record and for the draws and "
        "aggregates of this file; whatever else was told about the same rows adds up."
    ),
    "Private rows add nothing here": (
        "Measures of these draws on rows of your own are yours to make; measures on the private "
        "rows are not part of a release unless they were paid for."
    ),
}


def curator(given: Curator) -> list[Block]:
    """List the traps of the curator's edition."""
    common = dict(_COMMON)
    if given.models.complete:
        common = {name: said for name, said in _COMMON.items() if name not in _OF_DRAWS}
    return [Items({**common, **kind_of(given.models).caveats, **_CURATOR})]


def release(given: Release) -> list[Block]:
    """List the traps of a release."""
    return [Items({**_COMMON, **kind_of(given.models).caveats, **_RELEASE})]
