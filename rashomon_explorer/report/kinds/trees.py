"""Sparse trees: declared questions, a class that reads no row, and draws of counted trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.planning.weakness import has_hit_rate
from rashomon_explorer.plots import plot_prices
from rashomon_explorer.plots.tables import prices_table
from rashomon_explorer.plots.text import number, plural
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.models.fitted import class_codes
from rashomon_explorer.report.blocks import Block, Facts, Plot, Table
from rashomon_explorer.report.kinds.base import Rows
from rashomon_explorer.report.kinds.columns import declared
from rashomon_explorer.report.material import Curator, Public, Release
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.trees.like import counted_like, planned_class

_MOST_MEMORY = 2**29  # bytes that counting them may take for a report
_SAME = 1e-9
_LONG = 10**15
_COUNTED = "draws of the exponential mechanism over all trees of the class, which are counted"
_ELSEWHERE = "# these trees were made elsewhere: rashomon_set.from_… says how they came in"


class Trees:
    """Decision trees; see :class:`Kind`."""

    terms: ClassVar[tuple[str, ...]] = (
        "Rashomon set",
        "Sparse tree",
        "Draw of a tree",
        "(ε, δ)-DP",
        "Bounded range",
        "Trade-off",
    )
    caveats: ClassVar[Mapping[str, str]] = {
        "Within one class of models": (
            "The set is that of the declared questions, of so many leaves and so deep, and of this "
            "loss. Other thresholds or more leaves have other sets, and the best tree here may be "
            "far from the best there is."
        ),
        "Where a tree's lines are drawn": (
            "Thresholds were declared before the rows were read. That a tree asks whether age is "
            "above 30 does not say that anything happens at 30."
        ),
        "No row need reach a leaf": (
            "A leaf of a drawn tree may say something of which the data holds no row: such trees "
            "belong to the class, or the class would tell of the rows."
        ),
    }
    no_certificates: ClassVar[str] = (
        "draws of trees have one certificate, the bounded range of a draw, and the guarantee above "
        "is what follows from it"
    )
    no_other_ways: ClassVar[str] = (
        "trees are counted and drawn exactly: there is no other way to weigh it against"
    )
    arithmetic: ClassVar[str] = (
        "Weights of trees are whole numbers, and what rounding to them may tell is in the price. "
        "What clocks leave unprotected is in docs/floating-point.md."
    )

    def holds(self, models: Any) -> bool:
        """See :class:`Kind`."""
        return isinstance(getattr(models, "models", None), DecisionTrees)

    def columns(self, given: Release) -> list[Block]:
        """Rows, columns, and what is asked of each."""
        models, planned = given.models, _plan(given.models)
        facts: Rows = []
        if planned is not None:
            same = "public: neighbouring data sets have as many"
            facts.append(("Rows", f"{planned.n:,}", same))
            asked = "declared before a row was read, never learnt from rows"
            facts.append(("Yes-or-no questions", f"{len(planned.questions):,}", asked))
        facts.append(("Classes", ", ".join(models.class_names), "public"))
        return [Facts(facts), *_asked(models, planned, given)]

    def rows(self, given: Curator) -> Rows:
        """Rows of the plan."""
        planned = _plan(given.models)
        if planned is None:
            return []
        return [("Rows of the plan", f"{planned.n:,}", "those that were drawn from; public")]

    def reference(self, given: Curator) -> Any:
        """All trees of the class, counted; None where that takes much, or rows are others."""
        models: Any = given.models
        planned = _plan(models)
        if planned is None or given.X is None or given.y is None:
            return None
        if isinstance(given.X, RowBlocks):  # counted(rows) is, and is handed to width_or_noise
            return None
        return _counted(models, planned, given)

    def settings(self, given: Public, models: Any) -> Rows:
        """Class, loss, thresholds, temperature."""
        planned = _plan(models)
        if planned is None:
            return []
        leaf = f" + {number(planned.leaf_penalty)} a leaf" if planned.leaf_penalty else ""
        errors = "cost of errors, in that of the dearest on every row" if planned.costs else ""
        facts: Rows = [
            ("Trees that could be drawn", _size(planned), _class(planned)),
            ("Loss", f"{errors or 'share of errors'}{leaf}", f"{planned.n:,} rows"),
        ]
        if planned.costs:
            costs = "; ".join(", ".join(map(str, row)) for row in planned.costs)
            facts.append(("Costs of errors", costs, "a row's label by what is said of it; public"))
        return [
            *facts,
            ("Threshold ψ asked for", number(planned.psi), "public"),
            ("Threshold of the law s", number(planned.law_psi), "public; trees below it are alike"),
            ("Inverse temperature β", number(planned.beta, 4), "public"),
        ]

    def mechanism(self, models: Any) -> Rows:
        """Exponential mechanism, its bounded range, and who a neighbour is."""
        planned = _plan(models)
        if planned is None:
            return []
        moves = f"one record moves the loss of every tree by 1/{planned.n:,} at most: 2β/n"
        draws = plural(planned.n_draws, "independent draw")
        return [
            ("Mechanism", _COUNTED, "weights are rounded, and the rounding is in the price"),
            ("One draw", f"bounded range η = {rounded_up(planned.eta)}", moves),
            ("All draws", f"{draws}, composed", models.guarantee.theorem),
            ("Adjacency", "one record is replaced", "the number of rows is public"),
        ]

    def promises(self, given: Public, models: Any) -> list[Block]:
        """List what the number of trees promises, and the promise against the price."""
        planned = _plan(models)
        if planned is None:
            return []
        return [
            Table(_promised(planned), "Promises, known before a row is read", _PROOFS),
            Plot(
                plot_prices(planned, (), clicked=False),
                "What is promised of a draw over the price ε of as many draws.",
                Table(prices_table(planned, ()), "Price and promise"),
            ),
        ]

    def estimator(self, given: Public, models: Any, sampler: str) -> list[str]:
        """Write the estimator with its settings, where one made the draws."""
        planned = _plan(models)
        if planned is None:
            return [_ELSEWHERE]
        settings: dict[str, Any] = {
            "psi": planned.psi,
            "epsilon": planned.epsilon,
            "delta": planned.delta,
            "n_draws": planned.n_draws,
            "max_leaves": planned.most_leaves,
            "max_depth": planned.max_depth,
            "leaf_penalty": planned.leaf_penalty,
            "hit_rate": planned.asked_hit_rate,
            "classes": list(models.classes),
        }
        if planned.costs:
            settings["costs"] = [list(row) for row in planned.costs]
        lines = [f"    {name}={value!r}," for name, value in settings.items()]
        return [
            "from rashomon_explorer import RashomonTreeClassifier",
            "",
            "models = RashomonTreeClassifier(",
            *lines,
            *_thresholds(planned, models),
            ").fit(X, y).rashomon_set_",
        ]


def _plan(models: Any) -> TreePlan | None:
    found = getattr(models, "plan", None)
    return found if isinstance(found, TreePlan) else None


def _counted(models: Any, planned: TreePlan, given: Curator) -> CountedTrees | None:
    """Count all trees of the plan's class; None where that takes much, or rows are others."""
    if not planned.questions or not _are_these(models, planned, given):
        return None
    if planned_class(planned).memory(planned.n) > _MOST_MEMORY:
        return None
    return counted_like(models, given.X, given.y)


def _are_these(models: Any, planned: TreePlan, given: Curator) -> bool:
    """Whether the draws have on the rows of the report the losses that they were drawn by."""
    if len(given.X) != planned.n:
        return False
    codes = class_codes(np.asarray(given.y), models.classes, "y")
    costs = np.array(planned.costs) if planned.costs else 1 - np.eye(planned.n_labels)
    errors = costs[codes, models.labels(given.X)].mean(axis=1) / costs.max()
    found = errors + planned.leaf_penalty * models.complexity()
    return bool(np.allclose(found, models.losses, rtol=0, atol=_SAME))


def _cuts(planned: TreePlan) -> dict[str, list[float | None]]:
    """Thresholds of each column that is asked about."""
    cuts: dict[str, list[float | None]] = {}
    for name, threshold in planned.questions:
        cuts.setdefault(name, []).append(threshold)
    return cuts


def _asked(models: Any, planned: TreePlan | None, given: Public) -> list[Block]:
    names = models.models.feature_names
    frame = declared(names, given.bounds)
    if planned is not None and planned.questions:
        cuts = _cuts(planned)
        frame.insert(0, "what may be asked", [_in_words(cuts.get(name)) for name in names])
    return [Table(frame, "Columns and what trees may ask of them")] if len(names) else []


def _in_words(cuts: list[float | None] | None) -> str:
    if cuts is None:
        return "nothing"
    return ", ".join("whether it is 1" if cut is None else f"> {cut:g}" for cut in cuts)


def _thresholds(planned: TreePlan, models: Any) -> list[str]:
    """Thresholds as the estimator takes them; a schema's skip columns that no list can."""
    cuts = _cuts(planned)
    if not cuts or set(cuts) < set(models.models.feature_names):
        return ["    # and schema=, the declaration of the table, which the questions follow from"]
    told = {name: cut for name, cut in cuts.items() if cut != [None]}
    return [f"    thresholds={told!r},"] if told else []


def _size(planned: TreePlan) -> str:
    if not planned.questions:
        return f"e^{planned.log_size:.2f}"
    size = planned_class(planned).size
    return f"{size:,}" if size < _LONG else f"{float(size):.4g}"


def _class(planned: TreePlan) -> str:
    deep = "" if planned.max_depth is None else f", {plural(planned.max_depth, 'question')} deep"
    return f"at most {planned.most_leaves} leaves{deep}, {planned.n_labels} labels; reads no row"


def _promised(planned: TreePlan) -> pd.DataFrame:
    rows = {
        "excess loss on average": (
            f"≤ {rounded_up(planned.excess_bound)}",
            "s + log T/β, and what lies beyond the cap",
        ),
        "ε of one draw by itself": (
            f"≤ {rounded_up(planned.eta)}",
            "2β/n, and what rounding may tell",
        ),
    }
    if has_hit_rate(planned):
        hits = f"≥ {hit_rate_text(planned.hit_rate_bound).replace('%', ' %')}"
        rows = {"within ψ": (hits, "1/(1 + (T − 1)·e^(−β(ψ − s)))"), **rows}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["promised", "by"])
    return frame.rename_axis("of a draw")


_PROOFS = "T is the number of trees of the class, s the threshold of the law: docs/theory.md §14."
