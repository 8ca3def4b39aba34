"""State of the page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import traitlets

from rashomon_explorer._utils.files import replace_file
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.data.schema import labels_unconfirmed
from rashomon_explorer.mechanisms.registry import SET_MECHANISMS, mechanism_traits
from rashomon_explorer.mechanisms.request import AUTO


@dataclass(frozen=True)
class Favourites:
    """Starred models and notes on models."""

    starred: tuple[int, ...] = ()
    notes: Mapping[int, str] = field(default_factory=dict)

    def toggled(self, draw: int) -> "Favourites":
        starred = set(self.starred) ^ {draw}
        return Favourites(tuple(sorted(starred)), self.notes)

    def noted(self, draw: int, words: str) -> "Favourites":
        notes = {**self.notes, draw: words.strip()}
        return Favourites(self.starred, {k: note for k, note in notes.items() if note})

    def write(self, path: Path) -> None:
        fields = {
            "starred": list(self.starred),
            "notes": {str(k): v for k, v in self.notes.items()},
        }
        content = json.dumps(fields, ensure_ascii=False, indent=1).encode()
        replace_file(path, lambda file: file.write(content))

    @classmethod
    def from_text(cls, text: str) -> "Favourites":
        fields = json.loads(text)
        notes = {int(draw): str(words) for draw, words in fields.get("notes", {}).items()}
        return cls(tuple(int(draw) for draw in fields.get("starred", ())), notes)


NOT_IN_RELEASE = (
    "the schema has unconfirmed data-dependent values, so the release view hides all results "
    "that depend on them: switch to Curator and confirm them under Data"
)
WAITS = "Models are being drawn.<br>This waits until they are complete."
UNPAID = "Not part of a release: these models have no guarantee."

SIMULATING = "simulating"
PHASES = ("empty", "planning", SIMULATING, "reserved", "drawing", "done", "stopped", "failed")
"""No data; settings can change; test on simulated rows; draw charged; sampler running; and the
three outcomes of a draw."""

PAGES = ("set", "features", "people", "choose", "data", "plan", "release")
"""Names of the views in the page's address."""

SPENT = ("reserved", "drawing")
BUSY = (SIMULATING, *SPENT)
LINEAR, TREES, *_NETWORKS = FAMILIES = ("linear", "trees", "network", "additive")
NETWORKS = tuple(_NETWORKS)
"""Families of differentiable models, by their names as ``model=``."""

BUDGET = ("budget_epsilon", "budget_delta")
OPEN = ("radius", "ridge", "n_draws")
"""Settings that can be chosen automatically from public numbers."""

SETTINGS = (
    *("family", "psi", "radius", "ridge", "epsilon", "delta", "n_draws", "loss", "mechanism"),
    *("max_leaves", "max_depth", "leaf_penalty"),
)


def _or_auto(number: traitlets.TraitType[Any, Any]) -> traitlets.Union:
    return traitlets.Union([number, traitlets.Enum((AUTO,))])


@dataclass(frozen=True)
class Alert:
    """Error message of the page."""

    failed: str
    reason: str
    kept: str = "Your settings and figures are kept."
    public: str = "The reason is not part of the release: switch to Curator to read it."


EPOCH = ("view", "table_number", "set_number")  # traits that make an `Epoch`


class Epoch(NamedTuple):
    """View, table and set for which an output is computed; an output of another one is dropped."""

    view: str
    table: int
    models: int


class ExplorerState(traitlets.HasTraits):
    """Settings, results and phase of the page."""

    phase = traitlets.Enum(PHASES, "empty")
    data = traitlets.Any(None)
    loading = traitlets.Bool(False)
    """Whether a table is being loaded: what is on screen is not yet its plan."""

    table_number = traitlets.Int(0)
    """Number of tables that were loaded or unloaded; another number is another table."""

    set_number = traitlets.Int(0)
    """Number of sets that were shown or removed; partial sets of one draw have one number."""

    family = traitlets.Enum(FAMILIES, LINEAR)
    max_leaves = traitlets.Int(4)
    max_depth = traitlets.Int(None, allow_none=True)
    leaf_penalty = traitlets.Float(0.005)
    loss = traitlets.Unicode("logistic")
    psi = traitlets.Float(0.02)
    radius = _or_auto(traitlets.Float(4.0))
    ridge = _or_auto(traitlets.Float(0.0))
    epsilon = traitlets.Float(1.0)
    delta = traitlets.Float(1e-6)
    n_draws = _or_auto(traitlets.Int(400))
    mechanism = traitlets.Enum((AUTO, *SET_MECHANISMS), AUTO)
    budget_epsilon = traitlets.Float(8.0)
    budget_delta = traitlets.Float(1e-6)
    plan = traitlets.Any(None, allow_none=True)
    no_plan = traitlets.Unicode("")
    constants = traitlets.Any(None, allow_none=True)
    account = traitlets.Any(None, allow_none=True)
    same_rows = traitlets.Unicode("")
    rashomon_set = traitlets.Any(None, allow_none=True)
    audit = traitlets.Any(None, allow_none=True)  # audit on screen, exact or sampled
    audit_psi = traitlets.Float(0.02)
    """ψ of the audit on screen: data-dependent, so that no plan and no release uses it."""

    choice = traitlets.Any(None, allow_none=True)  # good model of the audit that was chosen
    choices = traitlets.Any({})  # by ψ: what the same preference chooses there
    prices = traitlets.Any(None, allow_none=True)

    drawn_settings = traitlets.Dict()
    n_drawn = traitlets.Int(0)
    charged = traitlets.Float(None, allow_none=True)
    saved_sets = traitlets.Tuple()
    in_view = traitlets.Int(0)
    releases = traitlets.Tuple()
    goal = traitlets.Enum(("set", "one"), "set")
    one_plan = traitlets.Any(None, allow_none=True)
    one_model = traitlets.Any(None, allow_none=True)
    chains = traitlets.Tuple()
    path = traitlets.Any(None, allow_none=True)  # PathView of the newest path: released states
    selection = traitlets.Tuple()
    people = traitlets.Tuple()
    edits = traitlets.Dict()
    groups = traitlets.Tuple()
    group_column = traitlets.Unicode("")
    favourites = traitlets.Instance(Favourites, ())
    inside_only = traitlets.Bool(True)
    view = traitlets.Enum(("curator", "release"), "curator")
    page = traitlets.Enum(PAGES, "set")
    alert = traitlets.Instance(Alert, allow_none=True)
    message = traitlets.Unicode("")
    detail = traitlets.Unicode("")
    """Rest of the message, which was read off the rows: for the curator only."""

    @property
    def epoch(self) -> Epoch:
        return Epoch(self.view, self.table_number, self.set_number)

    @property
    def exact_audit(self) -> Any:
        """Audit on screen whose numbers are proved; None for a sampled one and without an audit."""
        return self.audit if self.audit is not None and self.audit.kind == "exact" else None

    @property
    def busy(self) -> bool:
        return self.phase in BUSY

    @property
    def spent(self) -> bool:
        """Whether the privacy cost of the running draw is already in the ledger."""
        return self.phase in SPENT

    @property
    def planned_budget(self) -> tuple[float, float]:
        return self.budget_epsilon, self.budget_delta

    @property
    def unconfirmed(self) -> str:
        """Why a fit to the data set has no guarantee until its schema is confirmed."""
        if self.data is None:
            return ""
        if self.data.bounds_learnt:
            return "the bounds are data-dependent"
        schema = self.data.get("schema")
        if not labels_unconfirmed(schema):
            return ""
        return (
            f"the labels of {schema.target.name!r} are data-dependent and not confirmed (view "
            f"Data, Confirm)"
        )

    @property
    def unconfirmed_reason(self) -> str:
        """Why the release view hides the plan: it depends on unconfirmed values."""
        return NOT_IN_RELEASE if self.view == "release" and self.unconfirmed else ""

    @property
    def has_no_guarantee(self) -> bool:
        """Whether the release view hides the models because they have no guarantee."""
        models = self.rashomon_set
        unpaid = self.audit is not None if models is None else not models.guarantee.holds
        return self.view == "release" and unpaid

    @property
    def uncharged(self) -> str:
        """Why the next draw has no privacy cost and no guarantee; empty if it has both."""
        if self.unconfirmed:
            return self.unconfirmed
        if self.family == LINEAR and mechanism_traits(self.mechanism).curator_only:
            name = self.mechanism.replace("_", " ")
            return f"{name} reads the rows without noise and is not private"
        return ""

    @property
    def requested_draws(self) -> int:
        if self.n_draws != AUTO:
            return int(self.n_draws)
        return 1 if self.plan is None else int(self.plan.n_draws)

    def clear_selection(self) -> None:
        with self.hold_trait_notifications():
            self.selection = self.people = self.groups = ()

    def settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SETTINGS}

    def draw_settings(self) -> dict[str, Any]:
        settings = self.settings()
        schema = getattr(self.data, "schema", None)
        return {**settings, "thresholds": _thresholds(schema)} if self.family == TREES else settings


def _thresholds(schema: TableSchema | None) -> str:
    """Describe the declared thresholds of a table; other columns are split evenly."""
    columns = () if schema is None else schema.features
    numeric = [c for c in columns if isinstance(c, Numeric) and c.thresholds]
    texts = [f"{c.name} {', '.join(f'{cut:.6g}' for cut in c.thresholds)}" for c in numeric]
    return "; ".join(texts) or "even"
