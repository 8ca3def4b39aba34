"""Families of models on the page: linear models, sparse trees and differentiable models."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sklearn.utils import Bunch

from rashomon_explorer.data import TableSchema, YesNo
from rashomon_explorer.estimators import (
    RashomonNetworkClassifier,
    RashomonNetworkRegressor,
    RashomonTreeClassifier,
)
from rashomon_explorer.estimators.base import quiet
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.state import LINEAR, NETWORKS, TREES, ExplorerState
from rashomon_explorer.explorer.table_rows import feature_schema, table_rows, table_shape
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.networks.models import Additive
from rashomon_explorer.networks.sets import AnyRelease, NetworkSet
from rashomon_explorer.plots.text import plural
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.sets import PredictorSet, RashomonSet, ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees, Node
from rashomon_explorer.trees import TreeClass
from rashomon_explorer.trees.questions import ThresholdQuestions, schema_questions

Models = TypeVar("Models")

TREE_SETTINGS = ("psi", "epsilon", "delta", "max_leaves", "max_depth", "leaf_penalty")
NETWORK_SETTINGS = ("psi", "epsilon", "delta")
DRAWS = {LINEAR: 400, TREES: 20, **dict.fromkeys(NETWORKS, 100)}
"""Number of models that the page draws first, by family."""


def draws_trees(state: ExplorerState) -> bool:
    return str(state.family) == TREES


def answered_families(state: ExplorerState) -> tuple[str, ...]:
    """Families whose exact results are of the current settings: no set yet, and public rows.

    Rows of any other table are read by draws alone, which pay for it.
    """
    data, plan = state.data, state.plan
    shown = state.rashomon_set is not None or state.audit is not None
    if shown or state.view == "release" or data is None or not data.get("public_rows", False):
        return ()
    if draws_trees(state):
        return (TREES,)
    if state.family in NETWORKS:
        return ()
    exact = plan is not None and plan.columns is None and state.loss in ("logistic", "squared")
    return (LINEAR,) if exact else ()


def families_on_screen(state: ExplorerState) -> frozenset[str]:
    models, families = state.rashomon_set, {str(state.family)}
    external = state.exact_audit is not None
    if isinstance(models, PredictorSet) and trees_in(models) is None and not external:
        return frozenset({"other"})  # without coefficients
    if models is not None:
        families.add(TREES if trees_in(models) is not None else LINEAR)
    if external:
        families.add(LINEAR)
    return frozenset(families)


def tree_estimator(state: ExplorerState, ledger: Path | None) -> RashomonTreeClassifier:
    data = state.data
    trees = RashomonTreeClassifier(
        **{name: getattr(state, name) for name in TREE_SETTINGS},
        n_draws=DRAWS[TREES] if state.n_draws == AUTO else state.n_draws,
        schema=feature_schema(data.schema),
        classes=tuple(range(len(data.classes))),
        ledger=None if ledger is None else str(ledger),
    )
    return quiet(trees)


def network_estimator(state: ExplorerState, ledger: Path | None) -> Any:
    data = state.data
    if table_rows(data).is_chunked:
        raise DataError("networks and additive models need a table in memory")
    settings: dict[str, Any] = {name: getattr(state, name) for name in NETWORK_SETTINGS}
    settings |= {"model": str(state.family), "schema": feature_schema(data.schema)}
    settings["row_norm"] = 1.0  # of the rows on screen
    settings["n_draws"] = DRAWS[state.family] if state.n_draws == AUTO else state.n_draws
    settings["ledger"] = None if ledger is None else str(ledger)
    if data.task == "regression":
        return quiet(RashomonNetworkRegressor(target_bounds=data.target_bounds, **settings))
    return quiet(RashomonNetworkClassifier(classes=tuple(range(len(data.classes))), **settings))


def family_of(models: Any) -> str:
    """Family of the estimator that drew a set."""
    if isinstance(models, NetworkSet):
        return NETWORKS[isinstance(models.models.model, Additive)]
    return LINEAR if isinstance(models, RashomonSet) else TREES


def may_be_released(models: Any) -> bool:
    """Whether a set on screen is of models that were drawn privately."""
    return isinstance(models, RashomonSet | NetworkSet) or trees_in(models) is not None


def tree_questions(data: Bunch) -> ThresholdQuestions:
    return schema_questions(feature_schema(data.schema), None)


def names_in_words(names: Iterable[str], schema: TableSchema) -> tuple[str, ...]:
    """Name each yes/no column by its yes level, so that split names are readable."""
    yes_or_no = [column for column in schema.columns if isinstance(column, YesNo)]
    called = {column.name: f"{column.name}={column.levels[1]}" for column in yes_or_no}
    return tuple(called.get(name, name) for name in names)


def tree_class(state: ExplorerState) -> TreeClass:
    data = state.data
    classes = max(2, len(data.classes))
    return TreeClass(len(tree_questions(data)), state.max_leaves, state.max_depth, classes)


def trees_in(models: Any) -> tuple[Node, ...] | None:
    """Return the decision trees of a set; None for other sets or without a set."""
    predictors = getattr(models, "models", None)
    return predictors.trees if isinstance(predictors, DecisionTrees) else None


def spent_delta(guarantee: Guarantee) -> float:
    return guarantee.requested[1] if guarantee.requested else 0.0


def with_class_labels(models: Models, data: Bunch | None) -> Models:
    """Replace class positions in a set of trees by the table's class labels."""
    if not isinstance(models, PredictorSet | AnyRelease) or data is None or not data.classes:
        return models
    if tuple(getattr(models, "classes", ())) != tuple(range(len(data.classes))):
        return models
    return replace(models, classes=tuple(data.classes))


def with_readable_names(models: Models, schema: TableSchema | None) -> Models:
    if not isinstance(models, PredictorSet | ReleasedTrees) or schema is None:
        return models
    predictors = models.models
    if not isinstance(predictors, DecisionTrees):
        return models
    return replace(
        models,
        models=replace(predictors, feature_names=names_in_words(predictors.feature_names, schema)),
    )


def class_in_words(state: ExplorerState) -> str:
    questions = plural(len(tree_questions(state.data)), "question")
    trees, n = tree_class(state), table_shape(state.data)[0]
    try:
        trees.check_memory(n)
    except DataError as error:
        return f"{questions}. These trees cannot be counted here: {error}."
    memory = in_memory(trees.memory(n))
    if trees.size < 10**12:
        count = plural(trees.size, "tree")
    else:
        count = f"about {trees.size:.1e} trees".replace("e+", " · 10^")
    return f"{questions}, {count}. They can be counted here, in at most {memory}."


def in_memory(size: int) -> str:
    mib = size / 2**20
    if mib < 1000:
        return f"{max(1, round(mib)):,} MiB"
    return f"{mib / 1024:.1f} GiB" if mib < 2**17 else f"{mib / 1024:,.0f} GiB"
