"""Figures of an audit, by the figures of :mod:`rashomon_explorer.plots`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer.audits.crossfit import CrossFittedModels
from rashomon_explorer.audits.group_rates import accepted_text
from rashomon_explorer.measures import multiplicity_by_person_group
from rashomon_explorer.plots.audits import AUDIT_FIGURES
from rashomon_explorer.plots.figures import FIGURES


def plot(audit: Any, kind: str, **arguments: Any) -> go.Figure:
    """Figure of an audit by the name of its table, or of a figure of the set of models."""
    rule = getattr(getattr(audit.inputs.model, "decision", None), "text", "")
    if rule and kind in _LIKELIEST:
        raise ValueError(
            f"plot({kind!r}) gives each person the likeliest label, and the audited model decides "
            f"otherwise: {rule}. Use 'people', 'groups', 'gap_intervals' or .rates"
        )
    if kind in _KINDS:
        name, known = _KINDS[kind](audit)
    elif kind in FIGURES and set(FIGURES[kind].parameters) & {"models", "X"}:
        name, known = kind, model_arguments(audit)
    else:
        raise ValueError(
            f"kind must be one of {list(_KINDS)}, or a figure of a set such as 'losses', 'pair' "
            f"or 'importance_cloud'; got {kind!r}"
        )
    spec = AUDIT_FIGURES.get(name) or FIGURES[name]
    known = {**known, **arguments}
    if "targets" in spec.parameters and "y" not in arguments:
        known.pop("y", None)  # it names an axis
    call = spec.call(known, measure=None if spec.result in known else spec.measure)
    if missing := call.missing:
        needed = ", ".join(f"{name}=…" for name in missing)
        raise ValueError(f"this figure needs more: plot({kind!r}, {needed})")
    return call.figure()


def model_arguments(audit: Any) -> dict[str, Any]:
    """Arguments of figures of a set of models."""
    inputs = audit.inputs
    known = {"models": audit.models, "X": audit.answers.model_rows}
    known |= {"y": inputs.model.targets, "targets": inputs.model.targets}
    if audit.kind == "exact":
        known["features"] = inputs.named_features()
    if inputs.groups is not None:
        known |= {"groups": inputs.groups.to_numpy(), "group_name": str(inputs.groups.name)}
    return known


def _people(audit: Any) -> tuple[str, dict[str, Any]]:
    what = "probability" if audit.task == "classification" else "prediction"
    if scored := getattr(audit.inputs.model, "score_class", ""):
        what = f"{what} of {scored}"
    return "people_ranges", {"table": audit.answers.people(), "answer": what}


def _groups(audit: Any) -> tuple[str, dict[str, Any]]:
    known = model_arguments(audit)
    measures = ["ambiguity"] if audit.task == "classification" else ["range_width"]
    table = multiplicity_by_person_group(
        known["models"], known["X"], known["groups"], measures=measures
    )
    if audit.task == "regression":
        return "burden", {"table": table, "exact": None}
    flips = audit.flips["conflict_ratio"] > 0  # by the rule that decides
    everyone = float(flips.mean())
    shares = flips.groupby(known["groups"]).mean()
    table["ambiguity"] = shares.reindex(table.index).fillna(everyone)
    table["ambiguity_ratio"] = table["ambiguity"] / max(everyone, 1e-300)
    exact = audit.groups["share"] if audit.kind == "exact" else None
    return "burden", {"table": table, "exact": exact}


def _importance(audit: Any) -> tuple[str, dict[str, Any]]:
    if not audit.has_importance:
        raise ValueError(
            "importance needs models that predict changed rows, and this audit has stored "
            "predictions: audit the fitted models, audit([model, ...], X, y)"
        )
    known, models = model_arguments(audit), audit.models
    if isinstance(getattr(models, "models", None), CrossFittedModels):  # rows that none saw
        held_out = np.flatnonzero(models.models.folds == 0)
        known["models"] = replace(models, models=models.models.one_fit_each())
        known |= {key: select_rows(known[key], held_out) for key in ("X", "y", "targets")}
    return "importance", known


def _profile(audit: Any) -> tuple[str, dict[str, Any]]:
    """Profile along a column of the table, with the steps before the audited one."""
    known, model = model_arguments(audit), audit.inputs.model
    if audit.kind == "exact":
        known |= {"X": model.table, "transform": model.encoded}
    return "profile", known


def _gap_unit(audit: Any) -> str:
    if audit.task == "regression":
        return "difference in mean prediction"
    return f"difference in the rate of {accepted_text(audit.inputs.model)}"


_LIKELIEST = ("gaps", "frontier", "burden", "pair", "person", "decomposition")
"""Figures that compute labels from the scores of models, without a threshold."""

_KINDS: Mapping[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
    "coefficients": lambda audit: (
        "exact",
        {
            "exact": audit.effects,
            "note": f"{audit.answers.score_unit} per standard deviation or level",
        },
    ),
    "people": _people,
    "groups": _groups,
    "importance": _importance,
    "gaps": lambda audit: ("gaps", model_arguments(audit)),
    "profile": _profile,
    "tolerances": lambda audit: ("tolerances", {"table": audit.tolerances()}),
    "gap_intervals": lambda audit: (
        "gap_intervals",
        {"table": audit.gap_intervals(), "unit": _gap_unit(audit)},
    ),
}
