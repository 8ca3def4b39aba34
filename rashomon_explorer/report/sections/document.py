"""Sections about the document: what it is, caveats, definitions, how to repeat it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import pandas as pd

from rashomon_explorer.measures.glossary import MEASURES, TERMS
from rashomon_explorer.measures.multiplicity.catalogue import EXACT
from rashomon_explorer.measures.reliance.tree_reliance import trees_of
from rashomon_explorer.report.blocks import Block, Code, Facts, Items, Table, Words
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import Curator, PublicMaterial, Release
from rashomon_explorer.sets import RashomonSet

View = Literal["curator", "internal", "release", "public"]


class Skip(Exception):
    """A section does not apply; the message says why, in words for a reader of the report."""


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    key: str  # its address in the page
    title: str
    # who may see it. Internal is what was not computed from rows, and yet is nobody else's.
    view: View
    # from the edition's material to blocks. May raise `Skip`.
    make: Callable[[Any], Iterable[Block]]
    # whether models of such a kind have this section at all; where not, it is not even missing
    suits: Callable[[Any], bool] = lambda models: True


def need_rows(given: Curator, *, targets: bool = False, inside: bool = True) -> None:
    """Raise `Skip` unless there are models (inside ψ), and rows to ask for their predictions."""
    if not given.models.n_draws:
        raise Skip("the set holds no models")
    if inside and not given.members.n_draws:
        raise Skip(f"none of {given.models.n_draws} models lies in the Rashomon set")
    if not given.readable:
        raise Skip("no rows were handed in: report(path, X, y)")
    if targets and given.y is None:
        raise Skip("no targets were handed in: report(path, X, y)")


def need_linear_or_trees(given: Curator) -> Any:
    """Return a set of linear draws, or of decision trees."""
    return given.models if trees_of(given.models) is not None else need_linear(given)


def need_linear(given: Curator) -> RashomonSet:
    """Return a set of linear draws."""
    if not isinstance(given.models, RashomonSet):
        raise Skip(
            f"it needs linear models with a certified best one, and these are "
            f"{given.models.sampler}"
        )
    if not given.models.n_draws:
        raise Skip("the set holds no models")
    return given.models


WRITER = f"rashomon-explorer {version('rashomon-explorer')}"


def about_curator(given: Curator) -> list[Block]:
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


def about_release(given: Release) -> list[Block]:
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


def _file(given: PublicMaterial) -> Facts:
    undated = "not stated, so that the same inputs give the same file"
    rows = [
        ("Written by", WRITER, "without any access to a network"),
        ("Date", given.date or "–", "" if given.date else undated),
    ]
    if given.target:
        rows.append(("The models predict", given.target, ""))
    return Facts(rows)


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


def caveats_curator(given: Curator) -> list[Block]:
    """List the traps of the curator's edition."""
    common = dict(_COMMON)
    if given.models.complete:
        common = {name: said for name, said in _COMMON.items() if name not in _OF_DRAWS}
    return [Items({**common, **kind_of(given.models).caveats, **_CURATOR})]


def caveats_release(given: Release) -> list[Block]:
    """List the traps of a release."""
    return [Items({**_COMMON, **kind_of(given.models).caveats, **_RELEASE})]


def definitions_curator(given: Curator) -> list[Block]:
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


def definitions_release(given: Any) -> list[Block]:
    """Define the terms of a release."""
    return [Items({name: TERMS[name] for name in kind_of(given.models).terms})]


def reproduce_curator(given: Curator) -> list[Block]:
    """Write the settings of the draws as Python, and the line that made this file."""
    lines = kind_of(given.models).estimator(
        given, given.models, getattr(given.models, "sampler", "")
    )
    handed = [name for name in ("X", "y") if getattr(given, name) is not None]
    handed += [f"{n}={n}" for n in ("groups", "problem") if getattr(given, n) is not None]
    call = ", ".join(["models", '"report.html"', *handed])
    written = ["from rashomon_explorer.report import report", "", f"report({call})"]
    return _code_blocks(given, [*lines, "", *written])


def reproduce_release(given: Release) -> list[Block]:
    """Write the settings of the draws as Python: public numbers alone."""
    return _code_blocks(given, kind_of(given.models).estimator(given, given.models, ""))


def _code_blocks(given: Any, lines: list[str]) -> list[Block]:
    noise = (
        "Without random_state the noise is new at every run, which is what makes it private: the "
        "same settings give other draws, with the same promises."
    )
    if given.models.guarantee.seeded:
        noise = "The draws came from a known seed, which is not written here: with it they repeat."
    return [Code([f"# {WRITER}", *lines]), Words(noise, "note")]
