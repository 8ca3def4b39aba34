"""Sections about the document: caveats, definitions, reproduction."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import pandas as pd

from rashomon_explorer.measures.multiplicity.measure import EXACT
from rashomon_explorer.measures.multiplicity.table import MEASURES, TERMS
from rashomon_explorer.measures.reliance.set_reliance import find_trees
from rashomon_explorer.report import blocks, kinds
from rashomon_explorer.report.material import Curator
from rashomon_explorer.sets import RashomonSet

View = Literal["curator", "internal", "release", "public"]


class Skip(Exception):
    """Raised if a section does not apply; the message states the reason for the reader."""


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    key: str  # anchor in the page
    title: str
    # who may see it; "internal": not computed from rows, but not for release
    view: View
    # from the edition's material to blocks. May raise `Skip`.
    make: Callable[[Any], Iterable[blocks.Block]]
    # whether this section exists for such models; if not, it is not listed as omitted
    suits: Callable[[Any], bool] = lambda models: True


def need_rows(material: Curator, *, targets: bool = False, inside: bool = True) -> None:
    """Raise `Skip` unless there are models (inside ψ) and rows for their predictions."""
    if not material.models.n_draws:
        raise Skip("the set holds no models")
    if inside and not material.members.n_draws:
        raise Skip(f"none of {material.models.n_draws} models lies in the Rashomon set")
    if not material.readable:
        raise Skip("no rows were given: report(path, X, y)")
    if targets and material.y is None:
        raise Skip("no targets were given: report(path, X, y)")


def need_linear_or_trees(material: Curator) -> Any:
    """Return a set of linear draws, or of decision trees."""
    return material.models if find_trees(material.models) is not None else need_linear(material)


def need_linear(material: Curator) -> RashomonSet:
    """Return a set of linear draws."""
    if not isinstance(material.models, RashomonSet):
        raise Skip(
            f"it needs linear models with a certified best model, and these are "
            f"{material.models.mechanism}"
        )
    if not material.models.n_draws:
        raise Skip("the set holds no models")
    return material.models


WRITER = f"rashomon-explorer {version('rashomon-explorer')}"

_COMMON = {
    "Sampled extremes are lower bounds": (
        "Ambiguity, discrepancy and ranges over drawn models can only grow with more draws. They "
        "underestimate those of the set more, the more parameters there are."
    ),
    "Draws may lie outside the set": (
        "The guarantees bound the probability that a private draw exceeds ψ. Such a draw reflects "
        "the mechanism's noise, not the set."
    ),
    "No causal reading": (
        "Coefficients and importances describe models. That a good model relies on a feature does "
        "not imply that changing the feature would change the outcome."
    ),
    "Correlated features": (
        "Models can split their effect differently and fit equally well. The range of each one is "
        "wide even if together they are indispensable."
    ),
    "Within one class of models": (
        "The set depends on the declared class, loss and bounds. With another class, loss or a "
        "larger ball the set differs, and the best loss here may be far from the best possible."
    ),
}
# Neither applies to an enumerated set.
_OF_DRAWS = ("Sampled extremes are lower bounds", "Draws may lie outside the set")
_CURATOR = {
    "Selecting reads rows": (
        "Which draws lie in the set is computed from the private rows. Selecting or publishing "
        "models by their loss voids the guarantee of the draws."
    ),
    "Not private, at any cost of the draws": (
        "Every measure, figure and table marked as the curator's was computed from private rows. "
        "Publishing one of them is a release without a privacy guarantee."
    ),
    "In-sample": (
        "Losses and measures are computed on the rows of this report. If the models were fitted "
        "to the same rows, losses on new rows will be larger."
    ),
}
_RELEASE = {
    "The guarantee is conditional": (
        "It holds under the assumptions listed with it, for one record and for the draws and "
        "aggregates of this file. The cost of other releases from the same rows adds to it."
    ),
    "Private rows add nothing here": (
        "Measures of these draws on your own rows need no budget. Measures on the private rows "
        "are part of a release only as released aggregates."
    ),
}


def caveats(material: Any) -> list[blocks.Block]:
    """List the caveats of an edition."""
    curator = isinstance(material, Curator)
    exact = _OF_DRAWS if curator and material.models.complete else ()
    common = {name: text for name, text in _COMMON.items() if name not in exact}
    edition = _CURATOR if curator else _RELEASE
    return [blocks.Items({**common, **kinds.model_kind(material.models).caveats, **edition})]


def definitions_curator(material: Curator) -> list[blocks.Block]:
    scored = ("range_width", "score_variance", "score_std")
    named = scored if material.models.task == "regression" else tuple(MEASURES)
    measures = [MEASURES[name] for name in named if not name.startswith("delta")]
    frame = pd.DataFrame(
        {
            "formula": [measure.formula for measure in measures],
            "over these models": [
                EXACT if material.models.complete else measure.sampled for measure in measures
            ],
            "source": [measure.source for measure in measures],
        },
        index=pd.Index([measure.name for measure in measures], name="measure"),
    )
    note = (
        "f, f' are models, f₀ the best one, s their scores, m the number of models, m_c of them "
        "predict class c, n the number of rows; all on the rows of this report."
    )
    return [blocks.Items(TERMS), blocks.Table(frame, "Measures", note)]


def definitions_release(material: Any) -> list[blocks.Block]:
    return [blocks.Items({name: TERMS[name] for name in kinds.model_kind(material.models).terms})]


def reproduce(material: Any) -> list[blocks.Block]:
    """Write the settings of the draws as Python; for the curator also the line of this file."""
    models, curator = material.models, isinstance(material, Curator)
    mechanism = getattr(models, "mechanism", "") if curator else ""
    lines = [f"# {WRITER}", *kinds.model_kind(models).estimator(material, models, mechanism)]
    if curator:
        inputs = [name for name in _INPUTS if getattr(material, name) is not None]
        call = ", ".join(["models", '"report.html"', *(_INPUTS[name] for name in inputs)])
        lines += ["", "from rashomon_explorer.report import report", "", f"report({call})"]
    noise = (
        "Without random_state the noise is new at every run, as privacy requires: the same "
        "settings give other draws with the same guarantees."
    )
    if models.guarantee.seeded:
        noise = "The draws used a known seed, which is not shown here; it reproduces them."
    return [blocks.Code(lines), blocks.Words(noise, "note")]


_INPUTS = {"X": "X", "y": "y", "groups": "groups=groups", "problem": "problem=problem"}
