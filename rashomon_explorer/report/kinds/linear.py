"""Linear models: rows are shortened, and draws are from a ball by a loss."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rashomon_explorer.domains import Ball
from rashomon_explorer.plots import GTU, Promise, plot_plan, promises
from rashomon_explorer.plots.tables import plan_table
from rashomon_explorer.plots.text import number, percent
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet
from rashomon_explorer.report.blocks import Block, Facts, Plot, Table
from rashomon_explorer.report.kinds.base import Rows
from rashomon_explorer.report.kinds.columns import declared
from rashomon_explorer.report.material import Curator, Public, Release
from rashomon_explorer.rounding import hit_rate_text, rounded_down, rounded_up

_ESTIMATORS = {
    ("logistic", "classification"): "RashomonClassifier",
    ("softmax", "classification"): "RashomonClassifier",
    ("squared", "regression"): "RashomonRegressor",
}


class Linear:
    """Draws with coefficients; see :class:`Kind`."""

    terms: ClassVar[tuple[str, ...]] = (
        "Rashomon set",
        "Draw",
        "(ε, δ)-DP",
        "Bounded range",
        "Trade-off",
    )
    caveats: ClassVar[Mapping[str, str]] = {}
    no_certificates: ClassVar[str] = ""
    no_other_ways: ClassVar[str] = ""
    arithmetic: ClassVar[str] = (
        "Proved for real numbers. Draws are rounded to a public grid; what floating point and "
        "clocks leave unprotected is in docs/floating-point.md."
    )

    def holds(self, models: Any) -> bool:
        """See :class:`Kind`."""
        return isinstance(models, RashomonSet | ReleasedSet)

    def columns(self, given: Release) -> list[Block]:
        """Rows, features with their bounds, and how rows were shortened."""
        models: Any = given.models
        names = models.feature_names[:-1]
        shortened = "declared, never learnt from rows"
        facts = [
            ("Rows", f"{models.plan.n:,}", "public: neighbouring data sets have as many"),
            ("Features", f"{len(names):,}", "and an intercept"),
            ("Rows are shortened to norm", number(models.row_norm), shortened),
        ]
        if models.task == "classification":
            facts.append(("Classes", ", ".join(models.class_names), "public"))
        else:
            low, high = models.target_bounds
            held = f"{number(low)} and {number(high)}"
            facts.append(("Targets are held between", held, "declared"))
        table = Table(declared(names, given.bounds), "Features and their declared bounds")
        return [Facts(facts), table]

    def rows(self, given: Curator) -> Rows:
        """Rows of the plan, and how many were shortened."""
        models: Any = given.models
        drawn = "those that were drawn from; public"
        norm = f"to the declared norm {number(models.row_norm)}"
        return [
            ("Rows of the plan", f"{models.plan.n:,}", drawn),
            ("Rows shortened", percent(models.clipped_share), norm),
        ]

    def reference(self, given: Curator) -> Any:
        """None: the draws inside tell the set's width, or nothing does."""
        return None

    def settings(self, given: Public, models: Any) -> Rows:
        """Loss, threshold, temperature, domain."""
        planned = models.plan
        facts: Rows = [
            ("Loss", planned.loss, f"{planned.p} parameters, {planned.n:,} rows"),
            ("Threshold ψ asked for", number(planned.psi), "public"),
            ("Rows are shortened to norm", number(models.row_norm), "declared"),
        ]
        if np.isfinite(planned.beta):
            facts.insert(2, ("Inverse temperature β", number(planned.beta, 4), "public"))
        if given.domain is not None and given.constants is not None:
            facts.append(("Domain of models", str(given.domain), "declared"))
            facts.append(("Ridge", number(given.constants.m), "declared"))
        return facts

    def mechanism(self, models: Any) -> Rows:
        """Nothing beside the guarantee, whose theorem names it."""
        return []

    def promises(self, given: Public, models: Any) -> list[Block]:
        """List what is proved of exact draws, and the hit rate against the price."""
        planned = models.plan
        if not planned.of_exact_draws:
            return []
        rows = promises(planned, given.constants)
        frame = pd.DataFrame(
            {"promised": [_bound(row) for row in rows], "theorem": [row.theorem for row in rows]},
            index=pd.Index([row.name for row in rows], name="of exact draws"),
        )
        return [
            Table(frame, "Promises, known before a row is read", f"{GTU}."),
            Plot(
                plot_plan(planned),
                "Guaranteed hit rate over the price ε of as many draws, with the plan marked.",
                Table(plan_table(planned), "Price and guaranteed hit rate"),
            ),
        ]

    def estimator(self, given: Public, models: Any, sampler: str) -> list[str]:
        """Write the estimator with its settings, where one made the draws."""
        planned = models.plan
        if math.isnan(planned.beta):
            return ["# these models were made elsewhere: rashomon_set.from_… says how they came in"]
        name = _ESTIMATORS.get((planned.loss.split("(")[0], models.task))
        if name is None:
            return [f"# draws by hand: rashomon_set.from_draws, loss {planned.loss!r}"]
        settings: dict[str, Any] = {
            "psi": planned.psi,
            "epsilon": planned.epsilon,
            "delta": planned.delta,
            "n_draws": planned.n_draws,
            "row_norm": models.row_norm,
        }
        if planned.sampler or sampler:
            settings["sampler"] = planned.sampler or sampler
        if isinstance(given.domain, Ball) and given.constants is not None:
            settings |= {"radius": given.domain.radius, "ridge": given.constants.m}
        elif planned.radius is not None:
            settings |= {"radius": planned.radius, "ridge": planned.ridge}
        if name == "RashomonRegressor":
            settings["target_bounds"] = tuple(map(float, models.target_bounds))
        written = [f"    {key}={_plain(value)!r}," for key, value in settings.items()]
        return [
            f"from rashomon_explorer import {name}",
            "",
            f"models = {name}(",
            *written,
            ").fit(X, y).rashomon_set_",
        ]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _bound(row: Promise) -> str:
    """Write a bound, rounded to the side on which it is still true."""
    if row.missing:
        return row.missing
    scale, unit = (100, " %") if row.is_share else (1, "")
    if row.sense == "≤":
        return f"≤ {rounded_up(scale * row.bound)}{unit}"
    if row.is_share:
        return f"≥ {hit_rate_text(row.bound).replace('%', ' %')}"
    return f"≥ {rounded_down(row.bound)}"
