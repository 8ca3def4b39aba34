"""An audit as a report; needs the packages of the extra ``app``."""

from collections.abc import Callable
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from rashomon_explorer.audits import summary
from rashomon_explorer.audits.answers import NOT_PRIVATE
from rashomon_explorer.audits.figures import plot
from rashomon_explorer.audits.group_rates import accepted_text
from rashomon_explorer.report.blocks import Block, Code, Facts, Items, Plot, Table, Words
from rashomon_explorer.report.editions import Page, refuse_existing, write_text
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections import document, people

_MOST_FEATURES = 30


def write_report(
    audit: Any, path: str | PathLike[str], *, title: str, interactive: bool, overwrite: bool
) -> Path:
    """Write an audit into one HTML file."""
    place = refuse_existing(path, overwrite)
    inputs = audit.inputs
    material = Curator(models=audit.models, y=inputs.model.targets, groups=inputs.groups)
    sections = [
        document.Section(key, heading, "curator", _section(make, audit))
        for key, heading, make in _SECTIONS
    ]
    named = title or f"Audit of {inputs.model.name}"
    html = Page(named, "curator", interactive).write(sections, material)
    return write_text(place, html, public=False)


_Make = Callable[[Any], list[Block]]


def _section(make: _Make, audit: Any) -> Callable[[Any], list[Block]]:
    return lambda material: make(audit)


def _about(audit: Any) -> list[Block]:
    facts = [(name, value, "") for name, value in summary.head(audit)]
    found = {name: ". ".join(lines) + "." for name, lines in summary.findings(audit).items()}
    table = audit.summary()
    table["value"] = [_as_count(value) for value in table["value"]]
    return [
        Words(
            "Many models fit these rows almost as well as the one that is in use. This report "
            "states what all of them agree on, and for whom they decide otherwise."
        ),
        Words(f"Computed from private rows, {NOT_PRIVATE}.", "warning"),
        Facts(facts),
        Items(found),
        Table(table, "Numbers of the audit"),
    ]


def _as_count(value: float) -> Any:
    return int(value) if float(value).is_integer() else float(value)


def _people(audit: Any) -> list[Block]:
    shown = audit.answers.people()
    label = "Prediction of each person, and its range over the good models."
    blocks: list[Block] = [
        Plot(plot(audit, "people"), label, Table(shown, "Range of each prediction"))
    ]
    if audit.task == "classification":
        table = audit.flips
        nearest = table[table["flips"]].sort_values("psi_high").drop(columns=["decided", "flips"])
        note = "psi: excess loss of the best model that gives another label, between two bounds."
        blocks.append(
            Table(nearest, "People whose label some good model flips, nearest first", note)
        )
    return blocks


def _coefficients(audit: Any) -> list[Block]:
    if not audit.has_coefficients:
        raise document.Skip("these models have no common coefficients")
    unit = audit.answers.score_unit
    label = f"Range of each coefficient ({unit}) per standard deviation or level."
    return [
        Plot(plot(audit, "coefficients"), label, Table(audit.effects, "Standardised coefficients")),
        Table(audit.coefficients, f"Coefficients ({unit}) in the units of the table"),
    ]


def _groups(audit: Any) -> list[Block]:
    if audit.inputs.groups is None:
        raise document.Skip("no groups were given: audit(model, X, y, groups=...)")
    blocks: list[Block] = []
    if audit.task == "classification":
        table = Table(audit.groups, "People whose label can flip")
        blocks.append(Plot(plot(audit, "groups"), "Share of each group whose label flips.", table))
    if audit.has_rates:
        wanted = accepted_text(audit.inputs.model)
        note = "base_rate: in the data; low, fitted and high: over the good models."
        blocks.append(Table(audit.rates, f"Rates of {wanted} by group", note))
    if audit.has_rates or audit.task == "regression":
        label = "Each gap between groups: interval for other people, and range over models."
        intervals = Table(audit.gap_intervals(), "Data and choice of model")
        blocks.append(Plot(plot(audit, "gap_intervals"), label, intervals))
    if audit.has_rates:
        note = "ratio: the smaller rate over the larger one (disparate impact)."
        blocks.append(Table(audit.rate_gaps, f"Difference in the rate of {wanted}", note))
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
        raise document.Skip("stored predictions do not tell what other rows would get")
    found = audit.importance.head(_MOST_FEATURES)
    note = "Low and high over a sample of good models: the range of the set is at least as wide."
    return [
        Words(
            "Importance describes models, not causes. Each of two correlated columns can look "
            "unimportant, because the other one replaces it."
        ),
        Table(found, "Mean size of each feature's contribution to the score", note),
    ]


def _accuracy(audit: Any) -> list[Block]:
    if audit.task != "classification":
        raise document.Skip("it is about labels, and this model predicts numbers")
    exact = audit.kind == "exact"
    facts = [
        ("Model in use", audit.inputs.model.name, f"{len(audit.inputs.index):,} rows"),
        ("Good models", audit.tolerance.text.removeprefix("good models "), ""),
        ("Conflict ratios", f"over {audit.models.n_draws:,} good models", "estimates"),
    ]
    known = "proved for every good model" if exact else "over the sampled models: at least"
    return people.accuracy_section(audit.accuracy, facts, audit.inputs.groups, known)


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
    """Other arguments of the audit, as Python."""
    groups, decision = audit.inputs.groups, getattr(audit.inputs.model, "decision", None)
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
_SECTIONS: tuple[tuple[str, str, _Make], ...] = (
    ("about", "Summary", _about),
    ("tolerances", "How much depends on the tolerance", _tolerances),
    ("people", "Whose label can flip", _people),
    ("coefficients", "Coefficients", _coefficients),
    ("groups", "Who bears the multiplicity", _groups),
    ("importance", "Importance of features", _importance),
    ("accuracy", people.ACCURACY_TITLE, _accuracy),
    ("method", "How it was computed", _method),
)
