"""Parameters, tables and votes of tree estimators."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.containers import check_readable, host_values
from rashomon_explorer._utils.randomness import generator, noise_assumptions
from rashomon_explorer._utils.sklearn_compat import Interval
from rashomon_explorer._utils.taint import ONE_BY_ONE, with_leak
from rashomon_explorer._utils.validation import accepts_table
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.data.tables import declared_labels
from rashomon_explorer.estimators.base import (
    CheckRowsMixin,
    FittedReprMixin,
    not_known_to_be_public,
    reject_sample_weight,
    warn_repeated_records,
)
from rashomon_explorer.estimators.classes import (
    LABELS_ARE_PUBLIC,
    agreed_classes,
    check_labels,
    class_codes,
    classes_found,
)
from rashomon_explorer.estimators.feasibility import DELTA, EPSILON, N_DRAWS, check_budget
from rashomon_explorer.estimators.tables import (
    ChunkedTable,
    DeclaredTable,
    LazyTable,
    a_label,
    chances,
    predict_in_chunks,
)
from rashomon_explorer.mechanisms.planning.advice import warn_if_weak_trees
from rashomon_explorer.mechanisms.planning.suggestions import warn_large_delta
from rashomon_explorer.mechanisms.planning.trees import TreePlan, plan_trees
from rashomon_explorer.privacy import Charge, Guarantee, Ledger
from rashomon_explorer.privacy.ledger.charge import failure_assumption
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.steps import AsNumbers, Transformed
from rashomon_explorer.trees import TreeClass
from rashomon_explorer.trees.questions import ThresholdQuestions, merged_blocks, of_array, of_schema
from rashomon_explorer.trees.tree_class import Costs, check_dear, cost_matrix, dearest

_LEAVES = 5  # default


class TreeParameters(FittedReprMixin, CheckRowsMixin):
    """Parameters of private trees, and their plan from public numbers."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "psi": [Interval(Real, 0, None, closed="left")],
        "epsilon": [EPSILON],
        "delta": [DELTA],
        "n_draws": [N_DRAWS],
        "max_leaves": [Interval(Integral, 1, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "leaf_penalty": [Interval(Real, 0, 1, closed="both")],
        "hit_rate": [Interval(Real, 0, 1, closed="left")],
        "costs": ["array-like", dict, None],
        "thresholds": [Real, "array-like", dict, None],
        "classes": ["array-like", None],
        "schema": [TableSchema, str, os.PathLike, None],
        "ledger": [str, os.PathLike, Ledger, None],
        "random_state": ["random_state"],
    }

    @reject_sample_weight
    def __init__(
        self,
        *,
        psi: float = 0.02,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_draws: int = 20,
        max_leaves: int | None = None,
        max_depth: int | None = None,
        leaf_penalty: float = 0.005,
        hit_rate: float = 0.9,
        costs: Costs | None = None,
        thresholds: float | Sequence[float] | Mapping[Any, Any] | None = None,
        classes: ArrayLike | None = None,
        schema: TableSchema | str | os.PathLike[str] | None = None,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.psi = psi
        self.epsilon = epsilon
        self.delta = delta
        self.n_draws = n_draws
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.leaf_penalty = leaf_penalty
        self.hit_rate = hit_rate
        self.costs = costs
        self.thresholds = thresholds
        self.classes = classes
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    @accepts_table
    def plan(
        self, n_samples: int, n_features: int | None = None, n_classes: int | None = None
    ) -> TreePlan:
        """Return the plan for a table of this shape; reads no row and has no privacy cost.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or the table itself: only its shape is read. A schema
            determines its features; n_features may then be omitted.
        n_classes : int, optional
            Public number of classes; by default taken from ``classes`` or the schema, else 2.

        Returns
        -------
        TreePlan
            Temperature, privacy cost and guaranteed hit rate.

        Raises
        ------
        ValueError
            If a parameter is out of range, or counting might take more than 4 GiB.

        Examples
        --------
        >>> from rashomon_explorer import RashomonTreeClassifier
        >>> RashomonTreeClassifier(epsilon=0.25, n_draws=1).plan(6907, 12).hit_rate_bound > 0.8
        True
        """
        if self.schema is None and n_features is None:
            raise ValueError("n_features is required without a schema")
        if n_classes is None:
            known = self._known_classes()
            n_classes = 2 if known is None else len(known)
        names = [f"x{j}" for j in range(n_features or 0)]
        if self.schema is None and isinstance(self.thresholds, Mapping):
            # Columns may be named; which ones have thresholds does not change the question count.
            several = sum(max(1, np.size(cuts)) for cuts in self.thresholds.values())
            asked = len(names) - len(self.thresholds) + several
        else:
            questions = self._questions(names)
            trees = self._class_of(len(questions), n_classes, n_samples)
            return self._planned(n_samples, trees, questions)
        return self._planned(n_samples, self._class_of(asked, n_classes, n_samples))

    def _questions(self, names: Sequence[str]) -> ThresholdQuestions:
        if self.schema is not None:
            return of_schema(TableSchema.of(self.schema), self.thresholds)
        return of_array(names, self.thresholds)

    def _cost_matrix(self, classes: NDArray[Any]) -> IntArray | None:
        return cost_matrix(self.costs, np.asarray(classes).tolist())

    def _class_of(self, n_questions: int, n_classes: int, n: int) -> TreeClass:
        if self.max_leaves is None:
            return TreeClass(n_questions, _LEAVES, self.max_depth, n_classes).largest(n)
        return TreeClass(n_questions, self.max_leaves, self.max_depth, n_classes)

    def _planned(
        self, n: int, trees: TreeClass, questions: ThresholdQuestions | None = None
    ) -> TreePlan:
        check_budget(self)
        trees.check_memory(n)
        check_dear(trees, n, dearest(self.costs))
        planned = plan_trees(
            n,
            log_size=trees.log_size,
            most_leaves=trees.most_leaves,
            n_labels=trees.n_labels,
            psi=self.psi,
            leaf_penalty=self.leaf_penalty,
            epsilon=self.epsilon,
            delta=self.delta,
            n_draws=self.n_draws,
            hit_rate=self.hit_rate,
            walk_rounding=trees.rounding(n * dearest(self.costs)),
            ledger=self.ledger is not None,
            max_depth=self.max_depth,
            questions=() if questions is None else questions.declared,
        )
        if self.hit_rate > 0:  # 0 requests no guaranteed hit rate
            warn_if_weak_trees(planned)
        warn_large_delta(self.delta, n)
        return planned

    def _guarantee(self, planned: TreePlan) -> Guarantee:
        steps = not_known_to_be_public(self)
        alone = f"{ONE_BY_ONE}, also by {'; '.join(steps)}" if steps else ONE_BY_ONE
        assumed = [alone, failure_assumption("fit", charged=self.ledger is not None)]
        if classes_found(self.classes, self._declared):
            assumed.append(LABELS_ARE_PUBLIC)
        if self.schema is None:
            assumed.append("the thresholds were not computed from private rows")
        if self.costs is not None:
            assumed.append("the costs of errors were not computed from private rows")
        guarantee = replace(planned.guarantee, requested=(planned.epsilon, planned.delta))
        assumed += [] if self.random_state is not None else noise_assumptions()
        guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, *assumed))
        return guarantee if self.random_state is None else guarantee.with_seed()

    def _reserve(self, guarantee: Guarantee, planned: TreePlan, trees: TreeClass) -> Charge | None:
        if self.ledger is None or not guarantee.holds:
            return None
        warn_repeated_records(self)
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        names = (
            "n",
            "beta",
            "eta",
            "psi",
            "law_psi",
            "leaf_penalty",
            "epsilon",
            "delta",
            "n_draws",
        )
        return ledger.reserve(
            guarantee,
            note=f"{type(self).__name__}, {planned.n_draws} draws, ψ={planned.psi:g}",
            parameters={
                **{name: getattr(planned, name) for name in names},
                "max_leaves": trees.most_leaves,
                "max_depth": trees.depth,
                "features": trees.n_features,
                "loss": "zero_one" if self.costs is None else "costs of errors",
            },
        )

    def _generator(self) -> np.random.Generator:
        if self.random_state is None:
            return generator()
        return generator(check_random_state(self.random_state).randint(2**31, size=4).tolist())

    def _known_classes(self) -> NDArray[Any] | None:
        """Classes declared by ``classes`` or by the schema."""
        return agreed_classes(self.classes, self._declared)

    @property
    def _declared(self) -> TableSchema | None:
        return None if self.schema is None else TableSchema.of(self.schema)


class TreeTable(DeclaredTable):
    """Declared columns in their original units, for comparison with thresholds."""

    @cached_property
    def _encoded(self) -> Any:
        return with_leak(UnitEncoder(self.schema).transform(self._X), self._X)

    def public(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values, including the encoder."""
        return {**super().public(), "encoder_": UnitEncoder(self.schema)}


class ChunkedTreeTable(ChunkedTable):
    """Chunked rows for trees, with or without a schema."""

    @cached_property
    def numeric(self) -> ChunkedRows:
        """Numeric rows in their original units, and unchanged targets."""
        if self.schema is None:
            return self._blocks.then(AsNumbers())
        found = self._blocks.source.names
        names = None if found is None else tuple(found)
        return self._blocks.then(Transformed(UnitEncoder(self.schema), names))

    def public(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values, including the encoder."""
        found = super().public()
        return found if self.schema is None else {**found, "encoder_": UnitEncoder(self.schema)}


def read_answers(
    table: LazyTable | ChunkedTable, questions: ThresholdQuestions, classes: NDArray[Any]
) -> tuple[Any, IntArray | None]:
    """Read answers to the questions and label codes, the inputs of ``CountedTrees``."""
    if isinstance(table, ChunkedTable):
        coded = table.coded(_Codes(classes, table.schema))
        return merged_blocks(coded, questions, len(classes)), None
    rows, labels = table.values
    check_labels(labels)
    return questions.answers(rows), class_codes(labels, classes).astype(int)


@dataclass(frozen=True, eq=False)
class _Codes:
    classes: NDArray[Any]
    schema: TableSchema | None

    def __call__(self, rows: FloatArray, labels: Any) -> tuple[FloatArray, FloatArray]:
        if self.schema is not None and self.schema.classes is not None:
            labels = declared_labels(self.schema, labels)
        return rows, class_codes(labels, self.classes)


class TreeVotes(TreeParameters):
    """Predictions of drawn trees: majority vote, shares of votes, and each tree's prediction."""

    @predict_in_chunks(a_label)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class predicted by most of the drawn trees; the first one in case of a tie."""
        votes = self.predict_proba(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    @predict_in_chunks(chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Share of the drawn trees that predict each class."""
        says = self._codes(X)
        return np.asarray(np.eye(len(self.classes_))[says].mean(axis=0))

    def predict_each(self, X: ArrayLike) -> NDArray[Any]:
        """Predictions of every drawn tree."""
        says = self._codes(X)
        return np.asarray(self.classes_[says])

    def _codes(self, X: ArrayLike) -> NDArray[np.int_]:
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            rows = self.encoder_.transform(X)
        else:
            check_readable("X", X)
            rows = np.asarray(validate_data(self, host_values(X), dtype=np.float64, reset=False))
        return self.rashomon_set_.labels(rows)
