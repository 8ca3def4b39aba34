"""Report contents for each kind of set."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.networks.models import is_shipped
from rashomon_explorer.networks.sets import NetworkModels
from rashomon_explorer.plots.guarantees import GTU, list_guarantees
from rashomon_explorer.plots.text import guaranteed, guaranteed_hits, number, percent, plural
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.report.blocks import Block, Facts, Table, figure
from rashomon_explorer.report.material import Bounds, Curator, PublicMaterial, Release
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.models.trees import DecisionTrees
from rashomon_explorer.trees.private import planned_class

Rows = list[tuple[str, str, str]]
"""Names with values and remarks."""


class ModelKind:
    """Contents of a report on one kind of models; here, fitted estimators or predictions."""

    terms: tuple[str, ...] = ("Rashomon set",)
    """Glossary terms that a release needs."""

    caveats: Mapping[str, str] = {}
    """Caveats for such models; each replaces the common caveat of the same name."""

    arithmetic = "Proved for real numbers."
    """Note on rounding in the guarantee."""

    subject = "models that explain {table} almost equally well"
    """What a report is about."""

    inside = "In expectation it is at least the guaranteed share below."
    """What a release says of the unknown share within ψ."""

    def closeness(self, models: Any) -> str:
        """State the guarantee of a draw, which is known before a row is read."""
        planned = getattr(models, "plan", None)
        if planned is None or not models.as_drawn:
            return "Nothing is proved of how good these models are."
        if planned.hit_rate is not None:
            return (
                f"Each was within ψ = {number(planned.psi)} of the least loss with probability "
                f"{guaranteed_hits(planned)}, whatever the rows are."
            )
        return f"Of their excess loss it is proved: {guaranteed(planned)}."

    def columns(self, material: Release) -> list[Block]:
        return []

    def rows(self, material: Curator) -> Rows:
        return []

    def settings(self, material: PublicMaterial, models: Any) -> Rows:
        return []

    def guarantees(self, material: PublicMaterial, models: Any) -> list[Block]:
        return []

    def estimator(self, material: PublicMaterial, models: Any, mechanism: str) -> list[str]:
        """Return Python lines that make draws with the same settings."""
        return ["# these models were imported: see rashomon_explorer.sets"]


def declared(names: Sequence[str], bounds: Bounds) -> pd.DataFrame:
    """Return the declared bounds of each feature, in its own units."""
    # The columns of a category are called "name=level".
    declarations = [bounds.get(name, bounds.get(name.split("=")[0], "–")) for name in names]
    ranges = [
        declaration if isinstance(declaration, str) else " to ".join(map(number, declaration))
        for declaration in declarations
    ]
    index = pd.Index(names, name="feature")
    return pd.DataFrame({"declared bounds, own units": ranges}, index=index)


_ESTIMATORS = {
    ("logistic", "classification"): "RashomonClassifier",
    ("softmax", "classification"): "RashomonClassifier",
    ("squared", "regression"): "RashomonRegressor",
}


class EncodedModels(ModelKind):
    """Models of encoded and clipped rows."""

    arithmetic = (
        "Proved for real numbers. Draws are rounded to a public grid; docs/floating-point.md "
        "lists what floating point and timing leave unprotected."
    )

    def columns(self, material: Release) -> list[Block]:
        models: Any = material.models
        names = models.feature_names[:-1]
        shortened = "declared, independent of the rows"
        facts = [
            ("Rows", f"{models.plan.n:,}", _EQUAL_SIZE),
            ("Features", f"{len(names):,}", "and an intercept"),
            ("Rows are clipped to norm", number(models.row_norm), shortened),
        ]
        if models.task == "classification":
            facts.append(("Classes", ", ".join(models.class_names), "public"))
        else:
            low, high = models.target_bounds
            bounds = f"{number(low)} to {number(high)}"
            facts.append(("Targets are clipped to", bounds, "declared"))
        table = Table(declared(names, material.bounds), "Features and their declared bounds")
        return [Facts(facts), table]


class Linear(EncodedModels):
    """Draws with coefficients."""

    terms = ("Rashomon set", "Draw", "(ε, δ)-DP", "Bounded range", "Trade-off")

    def rows(self, material: Curator) -> Rows:
        models: Any = material.models
        norm = f"to the declared norm {number(models.row_norm)}"
        return [_plan_rows(models), ("Clipped rows", percent(models.clipped_share), norm)]

    def settings(self, material: PublicMaterial, models: Any) -> Rows:
        planned = models.plan
        facts: Rows = [
            ("Loss", planned.loss, f"{planned.p} parameters, {planned.n:,} rows"),
            ("Threshold ψ", number(planned.psi), "public"),
            ("Rows are clipped to norm", number(models.row_norm), "declared"),
        ]
        if np.isfinite(planned.beta):
            facts.insert(2, ("Inverse temperature β", number(planned.beta, 4), "public"))
        if material.domain is not None and material.constants is not None:
            facts.append(("Domain of models", str(material.domain), "declared"))
            facts.append(("Ridge", number(material.constants.m), "declared"))
        return facts

    def guarantees(self, material: PublicMaterial, models: Any) -> list[Block]:
        planned = models.plan
        if not planned.has_gibbs_law:
            return []
        rows = list_guarantees(planned, material.constants)
        frame = pd.DataFrame(
            {"promised": [row.promised for row in rows], "theorem": [row.theorem for row in rows]},
            index=pd.Index([row.name for row in rows], name="bound for exact draws"),
        )
        table = Table(frame, "Guarantees, known before a row is read", f"{GTU}.")
        return [table, _plan_figure(material, planned)]

    def estimator(self, material: PublicMaterial, models: Any, mechanism: str) -> list[str]:
        planned = models.plan
        if math.isnan(planned.beta):
            return super().estimator(material, models, mechanism)
        name = _ESTIMATORS.get((planned.loss.split("(")[0], models.task))
        if name is None:
            return [f"# draws without an estimator: rashomon_set.from_draws, loss {planned.loss!r}"]
        settings = {**_budget(planned), "row_norm": models.row_norm}
        if planned.mechanism or mechanism:
            settings["mechanism"] = planned.mechanism or mechanism
        if isinstance(material.domain, Ball) and material.constants is not None:
            settings |= {"radius": material.domain.radius, "ridge": material.constants.m}
        elif planned.radius is not None:
            settings |= {"radius": planned.radius, "ridge": planned.ridge}
        if name == "RashomonRegressor":
            settings["target_bounds"] = tuple(map(float, models.target_bounds))
        return _python(name, settings)


def _budget(planned: Plan) -> dict[str, Any]:
    return {name: getattr(planned, name) for name in ("psi", "epsilon", "delta", "n_draws")}


def _python(name: str, settings: Mapping[str, Any], *others: str) -> list[str]:
    values = {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()}
    return [
        f"from rashomon_explorer import {name}",
        "",
        f"models = {name}(",
        *(f"    {key}={value!r}," for key, value in values.items()),
        *others,
        ").fit(X, y).rashomon_set_",
    ]


_EQUAL_SIZE = "public: neighbouring data sets have as many"
_LONG = 10**15


class Trees(ModelKind):
    """Decision trees."""

    terms = (
        "Rashomon set",
        "Sparse tree",
        "Draw of a tree",
        "(ε, δ)-DP",
        "Bounded range",
        "Trade-off",
    )
    caveats: Mapping[str, str] = {
        "Within one class of models": (
            "The set depends on the declared questions, the limits on leaves and depth, and the "
            "loss. With other thresholds or more leaves the set differs, and the best tree here "
            "may be far from the best tree of a larger class."
        ),
        "Thresholds are declared": (
            "Thresholds were declared before the rows were read. A tree that asks whether age is "
            "above 30 is no evidence of a change at 30."
        ),
        "Leaves without rows": (
            "No row of the data need reach a leaf of a drawn tree. Such trees belong to the "
            "class; otherwise the class would depend on the rows."
        ),
    }
    arithmetic = (
        "Weights of trees are integers, and the privacy cost includes their rounding. "
        "docs/floating-point.md lists what timing leaves unprotected."
    )

    def columns(self, material: Release) -> list[Block]:
        models = material.models
        names, planned = models.models.feature_names, getattr(models, "plan", None)
        facts: Rows = [("Classes", ", ".join(models.class_names), "public")]
        frame = declared(names, material.bounds)
        if isinstance(planned, Plan):
            questions = f"{len(planned.request.questions):,}"
            provenance = "declared before a row is read, independent of the rows"
            facts.insert(0, ("Rows", f"{planned.n:,}", _EQUAL_SIZE))
            facts.insert(1, ("Yes-or-no questions", questions, provenance))
            if cuts := _cuts(planned):
                words = [_in_words(cuts.get(name)) for name in names]
                frame.insert(0, "possible questions", words)
        table = Table(frame, "Columns and possible questions of trees")
        return [Facts(facts), table] if len(names) else [Facts(facts)]


class PlannedTrees(Trees):
    """Decision trees with the plan of their draws."""

    def rows(self, material: Curator) -> Rows:
        return [_plan_rows(material.models)]

    def settings(self, material: PublicMaterial, models: Any) -> Rows:
        planned = models.plan
        request, loss = planned.request, "share of errors"
        if request.costs:
            loss = "cost of errors, relative to the most expensive error on every row"
        if request.leaf_penalty:
            loss += f" + {number(request.leaf_penalty)} a leaf"
        law = number(planned.law_psi)
        limits = f"at most {request.most_leaves} leaves, {request.n_labels} labels"
        if request.max_depth is not None:
            limits += f", {plural(request.max_depth, 'question')} deep"
        facts: Rows = [
            ("Trees that could be drawn", _size(planned), f"{limits}; reads no row"),
            ("Loss", loss, f"{planned.n:,} rows"),
            ("Threshold ψ", number(planned.psi), "public"),
            ("Threshold of the law s", law, "public; trees below it are equally likely"),
            ("Inverse temperature β", number(planned.beta, 4), "public"),
        ]
        if request.costs:
            costs = "; ".join(", ".join(map(str, row)) for row in request.costs)
            facts.insert(2, ("Costs of errors", costs, "true label by predicted label; public"))
        return facts

    def guarantees(self, material: PublicMaterial, models: Any) -> list[Block]:
        return [_plan_figure(material, models.plan)]

    def estimator(self, material: PublicMaterial, models: Any, mechanism: str) -> list[str]:
        planned = models.plan
        request = planned.request
        settings = _budget(planned)
        settings |= {"max_leaves": request.most_leaves, "max_depth": request.max_depth}
        settings |= {"leaf_penalty": request.leaf_penalty, "hit_rate": request.hit_rate}
        settings["classes"] = list(models.classes)
        if request.costs:
            settings["costs"] = [list(row) for row in request.costs]
        cuts = _cuts(planned)
        others: list[str] = []
        if not cuts or set(cuts) < set(models.models.feature_names):
            # No argument can express the skipped columns of a schema.
            others = ["    # and schema=, which declares the questions"]
        elif thresholds := {name: cut for name, cut in cuts.items() if cut != [None]}:
            others = [f"    thresholds={thresholds!r},"]
        return _python("RashomonTreeClassifier", settings, *others)


class NetworkStates(EncodedModels):
    """States of one private path of a differentiable model."""

    terms = ("Rashomon set", "(ε, δ)-DP", "Trade-off")
    subject = (
        "states of one private path, models of {table} that are about as good as the best state"
    )
    inside = "No share is guaranteed; the released losses bound it."
    caveats: Mapping[str, str] = {
        "Draws may lie outside the set": (
            "The guarantee is privacy alone, for any model: no closeness to the least loss is "
            "promised. “Good” is relative to the best state, and better models may exist."
        )
    }

    def closeness(self, models: Any) -> str:
        """State that nothing is promised, and the measured share with its bounds."""
        share = models.released_share()
        n_losses = int(np.isfinite(models.released_losses).sum())
        return (
            f"No closeness is promised. Of {plural(n_losses, 'state')} with a released loss, "
            f"{percent(share.low)} to {percent(share.high)} lie within ψ = {number(models.psi)} of "
            f"the best of them ({_OVER_NOISE}; each row's loss is clipped to "
            f"{number(models.plan.loss_bound)})."
        )

    def rows(self, material: Curator) -> Rows:
        return [_plan_rows(material.models)]

    def settings(self, material: PublicMaterial, models: Any) -> Rows:
        planned, share = models.plan, models.released_share()
        bounds = f"{percent(share.low)} to {percent(share.high)}"
        return [
            ("Form", _form_text(models.models.model), f"{planned.p:,} parameters"),
            ("Loss", models.loss, f"{planned.n:,} rows"),
            ("Steps", f"{planned.n_steps:,}", f"about {planned.batch_size:,.0f} rows each"),
            ("Threshold ψ", number(models.psi), "above the best state; public"),
            ("Within ψ of the best state", bounds, _OVER_NOISE),
        ]

    def estimator(self, material: PublicMaterial, models: Any, mechanism: str) -> list[str]:
        planned = models.plan
        settings = {**_budget(planned), "loss": models.loss, "row_norm": models.row_norm}
        for name in ("n_losses", "n_steps", "step_size", "clip"):
            settings[name] = getattr(planned, name)
        settings["batch_size"] = round(planned.batch_size) if planned.rate < 1 else None
        form = f"    model={_form_text(models.models.model)},  # from rashomon_explorer.networks"
        if models.task == "regression":
            settings["target_bounds"] = tuple(map(float, models.target_bounds))
            return _python("RashomonNetworkRegressor", settings, form)
        settings["classes"] = list(models.classes)
        return _python("RashomonNetworkClassifier", settings, form)


_OVER_NOISE = "95 %, over the noise of the released losses"


def _form_text(model: Any) -> str:
    """Python expression of a shipped model, and the name of another one."""
    return repr(model) if is_shipped(model) else f"{type(model).__name__}(...)"


def _plan_rows(models: Any) -> tuple[str, str, str]:
    return ("Rows of the plan", f"{models.plan.n:,}", "used for the draws; public")


def _plan_figure(material: PublicMaterial, planned: Plan) -> Block:
    return figure(material, "plan", planned=planned, draws=(), clicked=False)


def _cuts(planned: Plan) -> dict[str, list[float | None]]:
    cuts: dict[str, list[float | None]] = {}
    for name, threshold in planned.request.questions:
        cuts.setdefault(name, []).append(threshold)
    return cuts


def _in_words(cuts: list[float | None] | None) -> str:
    if cuts is None:
        return "nothing"
    return ", ".join("whether it is 1" if cut is None else f"> {cut:g}" for cut in cuts)


def _size(planned: Plan) -> str:
    if not planned.request.questions:
        return f"e^{planned.request.log_size:.2f}"
    size = planned_class(planned).size
    return f"{size:,}" if size < _LONG else f"{float(size):.4g}"


def are_linear(models: Any) -> bool:
    """Whether a set, the curator's or a release, is of linear models."""
    return isinstance(models, RashomonSet | ReleasedSet)


def are_networks(models: Any) -> bool:
    """Whether a set, the curator's or a release, is of differentiable models."""
    return isinstance(getattr(models, "models", None), NetworkModels)


def model_kind(models: Any) -> ModelKind:
    """Return the kind of a set, the curator's or a release."""
    if are_linear(models):
        return Linear()
    if are_networks(models):
        return NetworkStates()
    if isinstance(getattr(models, "models", None), DecisionTrees):
        return PlannedTrees() if isinstance(getattr(models, "plan", None), Plan) else Trees()
    return ModelKind()
