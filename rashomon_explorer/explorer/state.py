"""State of the page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import traitlets

from rashomon_explorer._utils.files import replace_file
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.data.schema import labels_unconfirmed
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS, traits_of


@dataclass(frozen=True)
class Favourites:
    """Which models somebody keeps in mind, and why.

    Attributes
    ----------
    starred : tuple of int
        Draws, in order.
    notes : mapping of int to str
        Words by draw.

    Examples
    --------
    >>> one = Favourites().toggled(3).noted(3, "least unfair").noted(5, "")
    >>> one.starred, dict(one.notes)
    ((3,), {3: 'least unfair'})
    >>> one.toggled(3).starred
    ()
    """

    starred: tuple[int, ...] = ()
    notes: Mapping[int, str] = field(default_factory=dict)

    def toggled(self, draw: int) -> "Favourites":
        """With a star given, or taken away."""
        others = set(self.starred) ^ {draw}
        return Favourites(tuple(sorted(others)), self.notes)

    def noted(self, draw: int, words: str) -> "Favourites":
        """With words on a draw; empty ones take the note away."""
        notes = {**self.notes, draw: words.strip()}
        return Favourites(self.starred, {k: note for k, note in notes.items() if note})

    def write(self, path: Path) -> None:
        """Write them where the owner's account alone can read."""
        said = {"starred": list(self.starred), "notes": {str(k): v for k, v in self.notes.items()}}
        content = json.dumps(said, ensure_ascii=False, indent=1).encode()
        replace_file(path, lambda file: file.write(content))

    @classmethod
    def of_text(cls, text: str) -> "Favourites":
        """Inverse of :meth:`write`, of the file's text.

        Raises
        ------
        ValueError
            If it is something else.
        """
        said = json.loads(text)
        notes = {int(draw): str(words) for draw, words in said.get("notes", {}).items()}
        return cls(tuple(int(draw) for draw in said.get("starred", ())), notes)


NOT_IN_RELEASE = (
    "what was read off the rows of this table is not confirmed, and so the release shows nothing "
    "that follows from it: confirm it in the curator's view of Data"
)
UNPAID = "Not part of a release: these models have no guarantee."

FORETELLING = "foretelling"
PHASES = ("empty", "planning", FORETELLING, "reserved", "drawing", "done", "stopped", "failed")
"""Before data; settings may change; exact draws tried on simulated rows; price written; sampler at
work; how the draw ended."""

PAGES = ("data", "plan", "set", "features", "people", "release")
"""The views, as their addresses name them."""

SPENT = ("reserved", "drawing")
BUSY = (FORETELLING, *SPENT)
LINEAR, TREES = FAMILIES = ("linear", "trees")
BUDGET = ("budget_epsilon", "budget_delta")
SETTINGS = (
    "family",
    "psi",
    "radius",
    "ridge",
    "epsilon",
    "delta",
    "n_draws",
    "loss",
    "sampler",
    "max_leaves",
    "max_depth",
    "leaf_penalty",
)
OPEN = ("radius", "ridge", "n_draws")
"""Settings that may be left to the rule, which settles them from public numbers."""


def _or_auto(number: traitlets.TraitType[Any, Any]) -> traitlets.Union:
    return traitlets.Union([number, traitlets.Enum((AUTO,))])


@dataclass(frozen=True)
class Alert:
    """A failure in words.

    Attributes
    ----------
    failed : str
        What did not work.
    reason : str
        The error's own message, which names the remedy.
    kept : str
        What is still there.
    public : str
        The reason as it may be told in the release, where `reason` may not.
    """

    failed: str
    reason: str
    kept: str = "Your settings and figures are kept."
    public: str = ""


class ExplorerState(traitlets.HasTraits):
    """Settings, results and where in the story we are.

    Attributes
    ----------
    phase : str
        One of `PHASES`.
    data : sklearn.utils.Bunch or None
        The data set chosen.
    family : str
        ``"linear"`` or ``"trees"``: what the next draw is of.
    loss, psi, radius, ridge, epsilon, delta, n_draws, sampler
        Settings of the next draw, as the estimators take them; ``"auto"`` leaves one to the rule.
    max_leaves, max_depth, leaf_penalty
        Of trees; a depth of None is as deep as the leaves allow.
    budget_epsilon, budget_delta : float
        Budget that a new ledger will get.
    plan : Plan or None
        What the settings buy, known without reading a row.
    no_plan : str
        Why these settings buy nothing; empty where there is a plan.
    constants : Constants or None
        Public constants of the problem that the settings pose; the ridge changes no plan.
    account : Account or None
        The ledger as last read.
    same_rows : str
        What to know about other ledgers that the same rows were charged to.
    rashomon_set : RashomonSet, PredictorSet or None
        The draws so far, or a set that was made elsewhere.
    outside : OutsideModel or None
        A model that was fitted elsewhere, whose exact set is shown.
    drawn_settings : dict
        The settings that `rashomon_set` was drawn with.
    n_drawn : int
        Draws that have come, while a draw is under way.
    kept : tuple of KeptSet
        Sets that were paid for from this table, oldest first.
    in_view : int
        Number of the kept set on screen; 0 for another.
    goal : str
        ``"set"``, or ``"one"`` where one model is wanted.
    one_plan : ModelPlan, str or None
        What the settings buy of one model, or why nothing.
    tuning : TuningOffer or None
        What a private choice of a penalty would be.
    tuned : Tuned or None
        Penalties that were drawn and paid for.
    one_model : OneModel or None
        The one model that was made of this table last.
    paid : tuple of Purchase
        Aggregates of the rows that were paid for, of the models on screen.
    selection : tuple of int
        Draws picked in a figure.
    people : tuple of int
        Rows picked, by their place in the table.
    groups : tuple of (str, str)
        Groups picked: a column and what stands in it.
    group_column : str
        The column by which people are told apart; empty before there is one.
    favourites : Favourites
        Stars and notes on the models on screen.
    inside_only : bool
        Whether draws outside ψ are left out where single models are shown.
    view : str
        ``"curator"`` or ``"release"``: who looks.
    page : str
        One of `PAGES`: what is looked at.
    alert : Alert or None
        The last failure.
    message : str
        The status line.

    Examples
    --------
    >>> ExplorerState().phase
    'empty'
    """

    phase = traitlets.Enum(PHASES, "empty")
    data = traitlets.Any(None)
    family = traitlets.Enum(FAMILIES, LINEAR)
    max_leaves = traitlets.Int(4)
    max_depth = traitlets.Int(None, allow_none=True)
    leaf_penalty = traitlets.Float(0.005)
    loss = traitlets.Unicode("logistic")
    psi = traitlets.Float(0.02)
    radius = _or_auto(traitlets.Float(4.0))
    ridge = _or_auto(traitlets.Float(0.0))
    epsilon = traitlets.Float(4.0)
    delta = traitlets.Float(1e-6)
    n_draws = _or_auto(traitlets.Int(20))
    sampler = traitlets.Enum((AUTO, *SAMPLERS), AUTO)
    budget_epsilon = traitlets.Float(8.0)
    budget_delta = traitlets.Float(1e-6)
    plan = traitlets.Any(None, allow_none=True)
    no_plan = traitlets.Unicode("")
    constants = traitlets.Any(None, allow_none=True)
    account = traitlets.Any(None, allow_none=True)
    same_rows = traitlets.Unicode("")
    rashomon_set = traitlets.Any(None, allow_none=True)
    outside = traitlets.Any(None, allow_none=True)
    drawn_settings = traitlets.Dict()
    n_drawn = traitlets.Int(0)
    kept = traitlets.Tuple()
    in_view = traitlets.Int(0)
    paid = traitlets.Tuple()
    goal = traitlets.Enum(("set", "one"), "set")
    one_plan = traitlets.Any(None, allow_none=True)
    one_model = traitlets.Any(None, allow_none=True)
    tuning = traitlets.Any(None, allow_none=True)
    tuned = traitlets.Any(None, allow_none=True)
    selection = traitlets.Tuple()
    people = traitlets.Tuple()
    groups = traitlets.Tuple()
    group_column = traitlets.Unicode("")
    favourites = traitlets.Instance(Favourites, ())
    inside_only = traitlets.Bool(True)
    view = traitlets.Enum(("curator", "release"), "curator")
    page = traitlets.Enum(PAGES, "plan")
    alert = traitlets.Instance(Alert, allow_none=True)
    message = traitlets.Unicode("")

    @property
    def busy(self) -> bool:
        """Whether a draw is under way."""
        return self.phase in BUSY

    @property
    def spent(self) -> bool:
        """Whether the price of the draw under way is in the ledger already."""
        return self.phase in SPENT

    @property
    def unconfirmed(self) -> str:
        """Why no fit to the data set has a guarantee before somebody confirms its declaration."""
        if self.data is None:
            return ""
        if self.data.bounds_learnt:
            return "bounds were learnt from the rows"
        schema = self.data.get("schema")
        if not labels_unconfirmed(schema):
            return ""
        return (
            f"nobody has confirmed the labels of {schema.target.name!r}, which were read off the "
            "rows (view Data, Confirm)"
        )

    @property
    def withheld(self) -> str:
        """Why the release view shows nothing of the plan: it follows from unconfirmed values."""
        return NOT_IN_RELEASE if self.view == "release" and self.unconfirmed else ""

    @property
    def unpaid(self) -> bool:
        """Whether the release looks at models without a guarantee, of which it shows nothing."""
        models = self.rashomon_set
        return self.view == "release" and models is not None and not models.guarantee.holds

    @property
    def uncharged(self) -> str:
        """Why the next draw has no price and no guarantee; empty where it has both."""
        if self.unconfirmed:
            return self.unconfirmed
        if self.family == LINEAR and traits_of(self.sampler).curator_only:
            return f"{self.sampler} reads the rows without noise: for the curator alone"
        return ""

    @property
    def asked_draws(self) -> int:
        """How many models the next draw asks for."""
        if self.n_draws != AUTO:
            return int(self.n_draws)
        return 1 if self.plan is None else int(self.plan.n_draws)

    def pick_nothing(self) -> None:
        """Select no model, no person and no group."""
        with self.hold_trait_notifications():
            self.selection = self.people = self.groups = ()

    def settings(self) -> dict[str, Any]:
        """Return the settings of the next draw by name."""
        return {name: getattr(self, name) for name in SETTINGS}

    def made_with(self) -> dict[str, Any]:
        """Return what a draw is made with: the settings, and the thresholds that trees ask."""
        told = self.settings()
        schema = getattr(self.data, "schema", None)
        return {**told, "thresholds": _thresholds(schema)} if self.family == TREES else told


def _thresholds(schema: TableSchema | None) -> str:
    """Write the declared thresholds of a table's columns; the others are cut evenly."""
    columns = () if schema is None else schema.features
    asked = [one for one in columns if isinstance(one, Numeric) and one.thresholds]
    told = [f"{one.name} {', '.join(f'{cut:.6g}' for cut in one.thresholds)}" for one in asked]
    return "; ".join(told) or "even"
