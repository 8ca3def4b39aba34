"""An audit as figures and as a report; needs the packages of the extra ``app``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer.audits import summary
from rashomon_explorer.audits.answers import NO_IMPORTANCE, NOT_PRIVATE
from rashomon_explorer.audits.group_rates import accepted_text
from rashomon_explorer.audits.refits import CrossFittedModels
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.measures import multiplicity_by_person_group
from rashomon_explorer.plots import marks, text, theme
from rashomon_explorer.plots.choices import plot_price
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.profile import plot_shapes
from rashomon_explorer.plots.ranges import plot_exact_ranges
from rashomon_explorer.report.blocks import Block, Code, Facts, Items, Plot, Table, Words
from rashomon_explorer.report.editions import Document, refuse_existing
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.document import Section, Skip
from rashomon_explorer.report.sections.people import ACCURACY_TITLE, accuracy_section


def plot(audit: Any, kind: str, **arguments: Any) -> go.Figure:
    """Figure of an audit by the name of its table, or of a figure of the set of models."""
    rule = getattr(audit.inputs.model.decision, "text", "")
    if rule and kind in _LIKELIEST:
        raise ValueError(
            f"plot({kind!r}) gives each person the likeliest label, and the audited model decides "
            f"otherwise: {rule}. Use 'people', 'groups', 'gap_intervals' or .rates"
        )
    if kind in _OWN_FIGURES:
        return _OWN_FIGURES[kind](audit, **arguments)
    if kind in _KINDS:
        name, arguments_known = _KINDS[kind](audit)
    elif kind in FIGURES and set(FIGURES[kind].parameters) & {"models", "X"}:
        name, arguments_known = kind, model_arguments(audit)
    else:
        raise ValueError(
            f"kind must be one of {[*_KINDS, *_OWN_FIGURES]}, or a figure of a set such as "
            f"'losses', 'pair' or 'importance_cloud'; got {kind!r}"
        )
    spec = FIGURES[name]
    arguments_known = {**arguments_known, **arguments}
    if "targets" in spec.parameters and "y" not in arguments:
        arguments_known.pop("y", None)  # it names an axis
    call = spec.call(
        arguments_known, measure=None if spec.result in arguments_known else spec.measure
    )
    if missing := call.missing:
        needed = ", ".join(f"{name}=…" for name in missing)
        raise ValueError(f"this figure needs more: plot({kind!r}, {needed})")
    return call.figure()


def model_arguments(audit: Any) -> dict[str, Any]:
    """Arguments of figures of a set of models."""
    inputs = audit.inputs
    arguments = {"models": audit.models, "X": audit.answers.model_rows}
    arguments |= {"y": inputs.model.targets, "targets": inputs.model.targets}
    if audit.kind == "exact":
        arguments["features"] = inputs.named_features()
    if inputs.groups is not None:
        arguments |= {"groups": inputs.groups.to_numpy(), "group_name": str(inputs.groups.name)}
    return arguments


def _coefficients_figure(audit: Any) -> go.Figure:
    note = f"{audit.answers.score_unit} per standard deviation or level"
    return plot_exact_ranges(audit.effects, note=note)


def _shapes_figure(audit: Any, shapes: Any = None, **options: Any) -> go.Figure:
    rows = audit.inputs.model.table.rename(columns=str)
    return plot_shapes(audit.shapes if shapes is None else shapes, rows=rows, **options)


def _people_figure(audit: Any) -> tuple[str, dict[str, Any]]:
    what = "probability" if audit.task == "classification" else "prediction"
    if scored := audit.inputs.model.score_class:
        what = f"{what} of {scored}"
    return "people_ranges", {"table": audit.answers.people(), "answer": what}


def _groups_figure(audit: Any) -> tuple[str, dict[str, Any]]:
    arguments = model_arguments(audit)
    measures = ["ambiguity"] if audit.task == "classification" else ["range_width"]
    table = multiplicity_by_person_group(
        arguments["models"], arguments["X"], arguments["groups"], measures=measures
    )
    if audit.task == "regression":
        return "burden", {"table": table, "exact": None}
    flips = audit.flips["conflict_ratio"] > 0  # by the rule that decides
    everyone = float(flips.mean())
    shares = flips.groupby(arguments["groups"]).mean()
    table["ambiguity"] = shares.reindex(table.index).fillna(everyone)
    table["ambiguity_ratio"] = table["ambiguity"] / max(everyone, 1e-300)
    exact = audit.groups["share"] if audit.kind == "exact" else None
    return "burden", {"table": table, "exact": exact}


def _importance_figure(audit: Any) -> tuple[str, dict[str, Any]]:
    arguments, models = model_arguments(audit), audit.models
    if isinstance(getattr(models, "models", None), CrossFittedModels):  # rows that none saw
        held_out = np.flatnonzero(models.models.folds == 0)
        arguments["models"] = replace(models, models=models.models.one_fit_each())
        arguments |= {key: select_rows(arguments[key], held_out) for key in ("X", "y", "targets")}
    return "importance", arguments


def _profile_figure(audit: Any) -> tuple[str, dict[str, Any]]:
    """Profile along a column of the table, with the steps before the audited one."""
    arguments, model = model_arguments(audit), audit.inputs.model
    if audit.kind == "exact":
        arguments |= {"X": model.table, "transform": model.encoded}
    return "profile", arguments


def plot_tolerances(audit: Any) -> go.Figure:
    """Plot the share of people who can flip and of settled signs against ψ."""
    table, shares = audit.tolerances(), {}
    if "share" in table:
        shares["people who can flip"] = table["share"]
    if "settled_signs" in table:
        shares["settled signs"] = table["settled_signs"] / table["coefficients"].clip(lower=1)
    words = [f"{name} {text.percent(values.get(1.0, np.nan))}" for name, values in shares.items()]
    title = f"At the tolerance of the audit: {', '.join(words)}" if words else "No shares"
    half = table.attrs.get("half_settled_psi", np.nan)
    note = f"half of the signs are settled up to ψ = {text.number(half)}" if half == half else ""
    figure = theme.new_figure(title, text.join_notes(note, str(table.attrs.get("mark", ""))))
    colours = dict(zip(shares, (theme.VERMILLION, theme.BLUE), strict=False))
    for name, values in shares.items():
        hover = f"ψ = %{{x:.3g}}: %{{y:.0%}} ({escape(name)})"
        line = {"color": colours[name]}
        marks.add_marks(figure, table["psi"], values, name, hover, mode="lines+markers", line=line)
    if 1.0 in table.index:
        figure.add_vline(x=float(table["psi"][1.0]), line={"dash": "dash", "width": 1})
    figure.update_xaxes(title="ψ: largest excess loss of a good model", type="log")
    figure.update_yaxes(title="share", range=[0, 1.02], tickformat=".0%")
    return theme.curator_band(figure)


def _price_figure(audit: Any, prefer: str | Sequence[str], **options: Any) -> go.Figure:
    table = audit.price(prefer, **options)
    if table["value"].isna().all():
        raise MissingAnswerError("no good model meets the limits at any of these ψ: raise psis=")
    return plot_price(table, audit.psi)


_INTERVALS = (
    ("data_low", "data_high", "data: another sample of people", theme.SKY, -0.18),
    ("models_low", "models_high", "choice of model: all good models", theme.BLUE, 0.18),
)


def plot_gap_intervals(audit: Any, confidence: float = 0.95) -> go.Figure:
    """Plot two bars for each gap between groups: how it depends on the data and on the model."""
    table = audit.gap_intervals(confidence)
    unit = "difference in mean prediction"
    if audit.task != "regression":
        unit = f"difference in the rate of {accepted_text(audit.inputs.model)}"
    largest = table["fitted"].abs().sort_values(ascending=False, kind="stable").index
    rows = table.loc[largest[: marks.MOST_FEATURES][::-1]]
    crossing = (rows["models_low"] <= 0) & (rows["models_high"] >= 0)
    cut = f"the {len(rows)} largest of {len(table):,}" if len(rows) < len(table) else ""
    title = f"{int((~crossing).sum())} of {len(rows)} gaps have one sign in every good model"
    height = 160 + 46 * len(rows)
    figure = theme.new_figure(title, text.join_notes(cut, escape(unit)))
    rows_at = np.arange(len(rows))
    for low, high, name, colour, shift in _INTERVALS:
        figure.add_bar(
            orientation="h",
            y=rows_at + shift,
            base=rows[low],
            x=rows[high] - rows[low],
            width=0.3,
            marker={"color": colour},
            name=name,
            customdata=np.column_stack([rows[low], rows[high]]),
            hovertemplate="%{customdata[0]:.3g} to %{customdata[1]:.3g}<extra></extra>",
        )
    marker = {"symbol": "x", "color": theme.VERMILLION, "size": 9}
    marks.add_marks(figure, rows["fitted"], rows_at, "fitted model", "%{x:.3g}", marker=marker)
    figure.add_vline(x=0, line={"width": 1})
    names = [escape(name) for name in text.short_names(rows.index)]
    marks.lay_out_rows(figure, names, height, title=escape(unit))
    return theme.curator_band(figure)


_LIKELIEST = ("gaps", "frontier", "burden", "pair", "person", "decomposition")
"""Figures that compute labels from the scores of models, without a threshold."""

_KINDS: Mapping[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
    "people": _people_figure,
    "groups": _groups_figure,
    "importance": _importance_figure,
    "gaps": lambda audit: ("gaps", model_arguments(audit)),
    "profile": _profile_figure,
}
_OWN_FIGURES: Mapping[str, Callable[..., go.Figure]] = {
    "coefficients": _coefficients_figure,
    "shapes": _shapes_figure,
    "tolerances": plot_tolerances,
    "gap_intervals": plot_gap_intervals,
    "price": _price_figure,
}


_MOST_FEATURES = 30


def write_report(
    audit: Any,
    path: str | PathLike[str],
    *,
    title: str,
    choices: Sequence[Any],
    interactive: bool,
    overwrite: bool,
) -> Path:
    """Write an audit into one HTML file."""
    target, inputs = refuse_existing(path, overwrite), audit.inputs
    material = Curator(models=audit.models, y=inputs.model.targets, groups=inputs.groups)
    sections = [
        Section(key, heading, "curator", lambda _, make=make: make(audit))  # type: ignore[misc]
        for key, heading, make in _SECTIONS
    ]
    if choices:
        heading = "Models chosen from the set"
        sections.insert(1, Section("choices", heading, "curator", lambda _: _choices(choices)))
    title = title or f"Audit of {inputs.model.name}"
    return Document(title, "curator", sections, material, interactive).save(target)


def _about(audit: Any) -> list[Block]:
    table = audit.summary()
    counts = [float(value).is_integer() for value in table["value"]]
    pairs = zip(table["value"], counts, strict=True)
    table["value"] = [int(value) if count else float(value) for value, count in pairs]
    findings = summary.findings(audit).items()
    return [
        Words(
            "Many models fit these rows almost as well as the one that is in use. This report "
            "states what all of them agree on, and for whom they decide otherwise."
        ),
        Words(f"Computed from private rows, {NOT_PRIVATE}.", "warning"),
        Facts([(name, value, "") for name, value in summary.head(audit)]),
        Items({name: ". ".join(lines) + "." for name, lines in findings}),
        Table(table, "Numbers of the audit"),
    ]


def _choices(choices: Sequence[Any]) -> list[Block]:
    """Blocks on what was preferred, among what, what is proved, what it costs, and its code."""
    blocks: list[Block] = []
    for choice in choices:
        audit, facts = choice.audit, [(name, value, "") for name, value in choice.facts]
        names = ", then ".join(each.name for each in choice.preferred)
        blocks += [
            Words(
                f"Preferred: {names}. Chosen among all models of {audit.inputs.model.name} that "
                f"{audit.tolerance.text.removeprefix('good models ')}. A bound holds for each of "
                "them that meets the limits and has the values before it; “with these features” "
                "means those that were chosen first."
            ),
            Facts(facts),
            Table(choice.certificate.reset_index(), "What is proved"),
            Table(choice.costs.reset_index(), "The fitted and the chosen model"),
            Table(choice.coefficients, "Coefficients in the units of the table"),
        ]
        if choice.preferred[-1].multiplier:
            blocks.append(Table(choice.card, "Points of the scorecard"))
        if audit.task == "classification":
            blocks.append(Table(choice.changed, "People who get another label"))
        blocks.append(Code(["model = " + choice.code + ".model"]))
    return blocks


def _people(audit: Any) -> list[Block]:
    table = Table(audit.answers.people(), "Range of each prediction")
    label = "Prediction of each person, and its range over the good models."
    blocks: list[Block] = [Plot(plot(audit, "people"), label, table)]
    if audit.task == "classification":
        flips = audit.flips[audit.flips["flips"]]
        nearest = flips.sort_values("psi_high").drop(columns=["decided", "flips"])
        note = "psi: excess loss of the best model that gives another label, between two bounds."
        blocks.append(
            Table(nearest, "People whose label some good model flips, nearest first", note)
        )
    return blocks


def _coefficients(audit: Any) -> list[Block]:
    if not audit.has_coefficients:
        raise Skip("these models have no common coefficients")
    unit = audit.answers.score_unit
    label = f"Range of each coefficient ({unit}) per standard deviation or level."
    return [
        Plot(plot(audit, "coefficients"), label, Table(audit.effects, "Standardised coefficients")),
        Table(audit.coefficients, f"Coefficients ({unit}) in the units of the table"),
    ]


def _shapes(audit: Any) -> list[Block]:
    """Pictures of the columns that several coefficients describe: splines, bins, levels."""
    separate = audit.inputs.model.separate_columns[0] if audit.has_coefficients else {}
    curved = [name for name, positions in separate.items() if len(positions) > 1]
    if not curved:
        raise Skip("no column has several coefficients: each one is a line")
    shapes = audit.shapes[audit.shapes.index.get_level_values("feature").isin(curved)]
    label = f"What a column adds to the score ({audit.answers.score_unit}) in all good models."
    numbers = Table(shapes.reset_index(), "Functions of columns")
    sizes = Table(audit.shape_sizes.loc[curved], "Bounds on the size of each function")
    return [Plot(_shapes_figure(audit, shapes), label, numbers), sizes]


def _groups(audit: Any) -> list[Block]:
    if audit.inputs.groups is None:
        raise Skip("no groups were given: audit(model, X, y, groups=...)")
    blocks: list[Block] = []
    if audit.task == "classification":
        table = Table(audit.groups, "People whose label can flip")
        blocks.append(Plot(plot(audit, "groups"), "Share of each group whose label flips.", table))
    if audit.has_rates:
        accepted = accepted_text(audit.inputs.model)
        note = "base_rate: in the data; low, fitted and high: over the good models."
        blocks.append(Table(audit.rates, f"Rates of {accepted} by group", note))
    if audit.has_rates or audit.task == "regression":
        label = "Each gap between groups: interval for other people, and range over models."
        intervals = Table(audit.gap_intervals(), "Data and choice of model")
        blocks.append(Plot(plot(audit, "gap_intervals"), label, intervals))
    if audit.has_rates:
        note = "ratio: the smaller rate over the larger one (disparate impact)."
        blocks.append(Table(audit.rate_gaps, f"Difference in the rate of {accepted}", note))
    if audit.has_gaps:
        title = f"Difference in mean score ({audit.answers.score_unit}) between groups"
        blocks.append(Table(audit.gaps, title))
    return blocks


def _tolerances(audit: Any) -> list[Block]:
    table = audit.tolerances()
    note = "level: of the likelihood ratio test of one parameter that has this ψ."
    numbers = Table(table.reset_index(), "The audit at multiples of its ψ", note)
    if audit.task == "regression" and not audit.has_coefficients:
        return [numbers]
    return [Plot(plot(audit, "tolerances"), "Flips and settled signs against ψ.", numbers)]


def _importance(audit: Any) -> list[Block]:
    if not audit.has_importance:
        raise Skip(NO_IMPORTANCE)
    table = audit.importance.head(_MOST_FEATURES)
    note = "Low and high over a sample of good models: the range of the set is at least as wide."
    return [
        Words(
            "Importance describes models, not causes. Each of two correlated columns can look "
            "unimportant, because the other one replaces it."
        ),
        Table(table, "Mean size of each feature's contribution to the score", note),
    ]


def _accuracy(audit: Any) -> list[Block]:
    if audit.task != "classification":
        raise Skip("it is about labels, and this model predicts numbers")
    facts = [
        ("Model in use", audit.inputs.model.name, f"{len(audit.inputs.index):,} rows"),
        ("Good models", audit.tolerance.text.removeprefix("good models "), ""),
        ("Conflict ratios", f"over {audit.models.n_draws:,} good models", "estimates"),
    ]
    mark = "proved for every good model"
    if audit.kind != "exact":
        mark = "over the sampled models: at least"
    return accuracy_section(audit.accuracy, facts, audit.inputs.groups, mark)


def _method(audit: Any) -> list[Block]:
    how = _EXACT if audit.kind == "exact" else _SAMPLED
    versions = [f"{name} {version(name)}" for name in ("rashomon-explorer", "scikit-learn")]
    lines = [
        f"# {', '.join(versions)}",
        "from rashomon_explorer import audit",
        "",
        f"audit(model, X, y, tolerance={audit.psi!r}{_arguments(audit)})",
    ]
    return [Items(how), Code(lines)]


def _arguments(audit: Any) -> str:
    groups, decision = audit.inputs.groups, audit.inputs.model.decision
    words = ""
    if groups is not None:
        names = str(groups.name).split(" × ")
        words += f", groups={names[0]!r}" if len(names) == 1 else f", groups={names!r}"
    if decision is not None and decision.wanted is not None:
        words += f", wanted={decision.wanted!r}"
    if decision is not None and decision.replaced:
        words += f", threshold={decision.threshold!r}"
    return words


_COMMON = {
    "Within one class of models": (
        "Good models are those of the audited kind on the columns that its last step sees; the "
        "steps before it, such as scalers, stay as they were fitted."
    ),
    "No causal reading": "Coefficients and importances describe models, not the world.",
}
_EXACT = {
    "Proved": (
        "Ranges and flips hold for every model whose objective is within the tolerance of the "
        "minimum: a model attains each inner end, and a tangent proves each outer one."
    ),
    "Averages": (
        "Conflict ratios and importances are averages over models drawn uniformly from the set."
    ),
    "In-sample": (
        "Losses and labels are those of the rows of the fit. Losses on new rows will be larger."
    ),
    **_COMMON,
}
_SAMPLED = {
    "Out of sample": (
        "Each refit is fitted four times, once without each quarter of the rows, and answers for "
        "that quarter: whether a label flips does not depend on what a refit remembers. Losses of "
        "a list of models are those of the rows given."
    ),
    "Sampled": (
        "Other refits of the model may flip more labels and move scores further: every count and "
        "range is at least what is stated."
    ),
    **_COMMON,
}
_SECTIONS: tuple[tuple[str, str, Callable[[Any], list[Block]]], ...] = (
    ("about", "Summary", _about),
    ("tolerances", "How much depends on the tolerance", _tolerances),
    ("people", "Whose label can flip", _people),
    ("coefficients", "Coefficients", _coefficients),
    ("shapes", "What each column does", _shapes),
    ("groups", "Who bears the multiplicity", _groups),
    ("importance", "Importance of features", _importance),
    ("accuracy", ACCURACY_TITLE, _accuracy),
    ("method", "How it was computed", _method),
)
