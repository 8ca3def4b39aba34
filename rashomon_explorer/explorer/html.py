"""Definitions of the page's numbers, and small pieces of HTML."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

import pandas as pd

from rashomon_explorer.measures.multiplicity.table import MEASURES, TERMS
from rashomon_explorer.plots.registry import FigureSpec
from rashomon_explorer.plots.text import plural, rounded_bounds


@dataclass(frozen=True)
class FigureDefinition:
    """Definition of one number of the page: meaning, formula, and Python line."""

    meaning: str
    formula: str = ""
    line: str = ""

    @property
    def text(self) -> str:
        return "\n".join(filter(None, (self.meaning, self.formula, self.line)))


_SET = "explorer.rashomon_set"
_TABLE = f"multiplicity_table({_SET}.inside(), explorer.rows)  # from rashomon_explorer.measures"


DEFINITIONS: Mapping[str, FigureDefinition] = {
    **{
        name.replace("_", " "): FigureDefinition(measure.meaning, measure.formula, _TABLE)
        for name, measure in MEASURES.items()
    },
    "draws": FigureDefinition("models drawn from the set", "θ_1, …, θ_k", f"{_SET}.n_draws"),
    "spent": FigureDefinition(
        "what the ledger was charged for the draws: the increase of its total ε, a bound on what "
        "all results reveal about any one record",
        TERMS["(ε, δ)-DP"],
        "explorer.state.charged",
    ),
    "privacy cost": FigureDefinition(
        "increase of the ledger's total ε by the action. A first charge costs the ε that was set; "
        "the action alone would have a slightly smaller one, plan.guarantee.epsilon(plan.delta), "
        "because the ledger's rule stays valid whatever is charged later. Later charges add less",
        "total after − total before, rounded up",
        "explorer.ledger.epsilon_after(explorer.plan.guarantee) - explorer.ledger.spent()",
    ),
    "in total": FigureDefinition(
        "total privacy cost of all charges so far, by the ledger's composition rule",
        "Σ ε_i, or else the ε at δ of Σ ρ_i",
        "explorer.ledger.spent()",
    ),
    "remaining": FigureDefinition(
        "remaining privacy budget", "budget − total, rounded down", "explorer.ledger.remaining"
    ),
    "guarantee": FigureDefinition("proved bound on what the models reveal about one record"),
    "psi": FigureDefinition(
        "largest excess loss of a good model", TERMS["Rashomon set"], f"{_SET}.psi"
    ),
    "hit rate": FigureDefinition(
        "share of the draws that lie within ψ of the best model, measured on the rows",
        "#{i : L(θ_i) ≤ min L + ψ}/k",
        f"{_SET}.hit_rate",
    ),
    "guaranteed hit rate": FigureDefinition(
        "lower bound on the probability that a draw lies within ψ; it holds for any rows and is "
        "computed without them",
        "P(L(θ) ≤ min L + ψ) ≥ this",
        "explorer.plan.hit_rate_bound",
    ),
    "excess loss": FigureDefinition(
        "loss of a model above that of the best model",
        "e(θ) = L(θ) − min L, with the certified minimum",
        f"{_SET}.excess",
    ),
    "best loss": FigureDefinition(
        "mean loss of the best model of the declared set, certified",
        "min over C of L(θ) = (1/n) Σ_i ℓ(θ; x_i, y_i) + ½ ridge‖θ‖²",
        f"{_SET}.minimum.value, {_SET}.minimum.gap",
    ),
    "worst draw": FigureDefinition(
        "largest excess loss of a draw", "max_i e(θ_i)", f"{_SET}.excess.max()"
    ),
    "clipped rows": FigureDefinition(
        "share of rows clipped because their norm exceeds the declared one",
        "#{i : ‖x_i‖ > row_norm}/n",
        f"{_SET}.clipped_share",
    ),
    "inverse temperature": FigureDefinition(
        "how strongly low losses are preferred; grows with ε", TERMS["Draw"], "explorer.plan.beta"
    ),
    "expected excess loss": FigureDefinition(
        "upper bound on the expected excess loss of a draw",
        "E[L(θ)] − min L ≤ this",
        "explorer.plan.excess_bound",
    ),
    "attack risk": FigureDefinition(
        "true-positive rate of the best membership attack at a false-positive rate of 5 %, by an "
        "attacker who knows every other record",
        "1 − f(5 %), with the trade-off f of the draw's guarantee",
        "best_attack(explorer.plan.guarantee, 0.05)  # from rashomon_explorer.privacy",
    ),
    "trade-off": FigureDefinition(
        "least false-negative rate of any test for one record's membership, at each "
        "false-positive rate",
        TERMS["Trade-off"],
        "explorer.guarantee.tradeoff(0.05)",
    ),
    "noise": FigureDefinition(
        "standard deviation of the noise added to a number before release",
        "σ = Δ₂/μ (Gaussian), √2·Δ₁/ε (Laplace)",
        "plan_release(models, n_rows, queries=[…], epsilon=…).table()",
    ),
    "share of the privacy cost": FigureDefinition(
        "share of the privacy cost that one aggregate takes: ε of Laplace noise and μ² of "
        "Gaussian noise add up"
    ),
    "importance": FigureDefinition(
        TERMS["Permutation importance"],
        "L(θ; x_j shuffled) − L(θ)",
        f"importance_table({_SET}, explorer.rows, explorer.targets)",
    ),
    "exact range": FigureDefinition(
        TERMS["Exact range"],
        "[min θ_j, max θ_j] over L(θ) ≤ min L + ψ",
        "exact_coefficient_ranges(problem, psi)",
    ),
    "coefficient": FigureDefinition(
        "what one unit of a scaled feature adds to the score", "θ_j", f"{_SET}.coef"
    ),
    "distribution": FigureDefinition(
        "number of rows in each bin within the declared bounds; values beyond them count in the "
        "end bins",
        "#{i : x_ij in a bin}",
        "explorer.data.frame[column]",
    ),
}
"""Definitions by name, in lower case."""

_ALSO: Mapping[str, str] = {
    "excess": "excess loss",
    "loss": "best loss",
    "within ψ": "hit rate",
    "β": "inverse temperature",
    "ψ": "psi",
    "inverse temperature β": "inverse temperature",
    "left after this draw": "remaining",
    "ε in total": "in total",
    "ε added": "privacy cost",
    "remaining after this draw": "remaining",
    "price_share": "share of the privacy cost",
    "standard_error": "noise",
    "misses at least": "trade-off",
}


def defined(word: str) -> FigureDefinition | None:
    key = word.strip().lower()
    return DEFINITIONS.get(_ALSO.get(key, key))


def figure_terms(spec: FigureSpec) -> dict[str, FigureDefinition]:
    definitions = {term: defined(term) for term in spec.terms}
    return {term: definition for term, definition in definitions.items() if definition is not None}


_MOST_ROWS = 200


def code_block(lines: Iterable[str]) -> str:
    return f'<pre class="rx-code" tabindex="0"><code>{escape(chr(10).join(lines))}</code></pre>'


def table_html(frame: pd.DataFrame, caption: str) -> str:
    note = plural(len(frame), "row")
    if len(frame) > _MOST_ROWS:
        note = f"first {_MOST_ROWS} of {note}"
    # pandas puts the name of the index into its own row, and that of the columns into the corner.
    table = rounded_bounds(frame.head(_MOST_ROWS))
    table.columns.name, table.index.name = frame.index.name, None
    body = table.to_html(
        border=0,
        float_format=lambda value: f"{value:.4g}".replace("-", "−"),
        classes="rx-table",
        escape=True,
    )
    for heading in map(str, table.columns):
        heading_cell = f"<th>{escape(heading, quote=False)}</th>"
        body = body.replace(heading_cell, f"<th>{term(heading)}</th>", 1)
    named = body.replace(">", f"><caption>{escape(caption)} ({note})</caption>", 1)
    label = f'role="region" aria-label="{escape(caption)}"'
    return f'<div class="rx-table-box" tabindex="0" {label}>{named}</div>'


def term(word: str, *, focusable: bool = False) -> str:
    definition = defined(word)
    if definition is None:
        return escape(word)
    stop = ' tabindex="0"' if focusable else ""
    return f'<abbr class="rx-term"{stop} title="{escape(definition.text)}">{escape(word)}</abbr>'


def definitions_html(definitions: Mapping[str, FigureDefinition]) -> str:
    listed = ""
    for word, definition in definitions.items():
        listed += f"<dt>{escape(word)}</dt><dd>{escape(definition.meaning)}</dd>"
        listed += f"<dd><i>{escape(definition.formula)}</i></dd>" * bool(definition.formula)
        listed += f"<dd><code>{escape(definition.line)}</code></dd>" * bool(definition.line)
    return f'<dl class="rx-definitions">{listed}</dl>'


def fact(name: str, value: str, note: str = "", *, kind: str = "") -> str:
    small = f'<dd class="rx-note">{escape(note)}</dd>' if note else ""
    return (
        f'<div class="rx-fact {escape(kind)}"><dt>{term(name, focusable=True)}</dt>'
        f"<dd>{escape(value)}</dd>{small}</div>"
    )


@dataclass(frozen=True)
class ProvenanceBadge:
    """Label that states how a number was computed: exact, sampled or released."""

    sign: str
    name: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.sign} {self.name}"


EXACT = ProvenanceBadge(
    "▬",
    "exact",
    "Proved for every model within ψ, drawn or not, by optimisation over the whole set. Not "
    "private: it reads private rows.",
)
SAMPLED = ProvenanceBadge(
    "∙∙∙",
    "sampled",
    "Computed from the drawn models: the range over the whole set is at least as wide.",
)
PAID = ProvenanceBadge(
    "✓ε", "paid", "Computed from released results only: it may be shown to others."
)
MARKS = (EXACT, SAMPLED, PAID)


def marks_html(*marks: ProvenanceBadge) -> str:
    return " ".join(
        f'<abbr class="rx-kind rx-kind-{mark.name}" title="{escape(mark.meaning)}">'
        f"{escape(str(mark))}</abbr>"
        for mark in marks
    )
