"""Counted sets of trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count, check_nonnegative
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.models.trees import DecisionTrees, Node
from rashomon_explorer.sets.predictor import PredictorSet
from rashomon_explorer.trees import questions as tree_questions
from rashomon_explorer.trees import tree_class
from rashomon_explorer.trees.conjunctions import Conjunctions, LabelCosts, WithinLimits
from rashomon_explorer.trees.counting import Counts, Histogram, LeafTreeCounts, count
from rashomon_explorer.trees.lattice import UNREACHABLE, LeastErrors, Level, lattice, least_errors
from rashomon_explorer.trees.sampling import Walks, limits, tree_losses, uniform
from rashomon_explorer.trees.witnesses import BestTrees


def label_codes(y: ArrayLike, n: int) -> NDArray[Any]:
    """Labels that are distinct and sortable: not missing, of one type, not real numbers."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"{n} rows need as many labels, got shape {labels.shape}")
    missing = np.array([label is None or label != label for label in labels.tolist()])
    if missing.any():
        raise DataError(f"y holds no label in row {int(missing.argmax())}: remove such rows")
    if labels.dtype.kind == "f" and (labels != np.rint(labels)).any():
        row = int((labels != np.rint(labels)).argmax())
        raise DataError(
            f"y holds {labels[row].item()!r} in row {row}, and trees predict labels: bin the "
            f"numbers into classes first"
        )
    kinds = {type(label) for label in labels.tolist()}
    if len({float if kind in (bool, int) else kind for kind in kinds}) > 1:
        raise DataError("y holds labels of several types: make all of them text, or all numbers")
    return labels


def finite_floats(rows: NDArray[Any]) -> FloatArray:
    """Return finite numbers; raise an error with a suggestion for other values."""
    try:
        numbers = rows.astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X holds a value that is not a number ({error}): declare the columns with "
            f"schema=..., which propose_schema(table) drafts"
        ) from None
    if not np.isfinite(numbers).all():
        raise DataError(
            "X holds NaN or infinity: impute such rows, or declare the columns, schema=..., which "
            "declares what a missing value means"
        )
    return numbers


def column_names(X: Any, width: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns: the given ones, a table's own, or x0, x1, …."""
    if names is None:
        columns = getattr(X, "columns", [f"x{j}" for j in range(width)])
        return tuple(map(str, columns))
    if len(names) != width:
        raise DataError(f"feature_names must name {width} columns, got {len(names)}")
    return tuple(map(str, names))


CONVENTIONS = ("all", "treefarms")
_LABEL_COSTS = 2.5  # memory of label costs over that of the least errors, measured up to 2.1


class CountedTrees(ReprMixin):
    """All sparse trees on a table, counted by loss; for the curator: computed from private rows.

    Trees are counted, not listed. For every set of rows that a path of questions selects, and every
    number of leaves, the number of subtrees with each number of errors is stored. Counts within ψ
    see only the sets that trees within ψ lead to, and are made again for a larger ψ. Counts are
    exact if the class has at most 2⁵³ trees.

    Parameters
    ----------
    X : array-like of shape (n, m) or MergedRows
        Only 0 and 1; or rows that were merged already, with declared ``classes``.
    y : array-like of shape (n,)
        Labels; None for merged rows, which contain them.
    max_leaves : int
        Largest number of leaves of a tree.
    max_depth : int, optional
        Largest number of questions on a path.
    leaf_penalty : float, default=0.0
        λ in the loss: error rate + λ · leaves.
    costs : mapping from label to int, or array-like of shape (C, C), optional
        Cost of an error on a row of each label, integers ≥ 1; by default 1. Or a matrix in the
        order of ``classes``, of the row's label (rows) by the predicted label (columns), integers
        with 0 on the diagonal. The error rate is then the total cost over that of the most costly
        error on every row, so that one row changes it by at most 1/n, as without costs.
    convention : {"all", "treefarms"}, default="all"
        Class of trees. ``"treefarms"`` counts the trees that TreeFARMS lists: every leaf has rows,
        and the label of most of them (the last one on a tie). Such a class depends on the rows,
        so no private draws from it are possible.
    classes : sequence, optional
        Labels that may occur, in order; by default those that occur.
    questions : Questions, optional
        Questions about a table whose answers are the columns of X: sets of trees then take that
        table. :meth:`of_table` creates both.
    feature_names : sequence of str, optional
        By default a table's column names, or x0, x1, ….
    most_memory : int, optional
        Limit of the memory for counting, in bytes; a larger need is an error, before a value is
        read if no ψ needs less. By default 4 GiB, or the limit of ``ulimit`` or a container, if
        that is less.
    schema : TableSchema, optional
        Schema of the table whose encoded columns the questions are about; sets of trees then take
        the raw table.

    Raises
    ------
    DataError
        If X contains values other than 0 and 1, or counting might need more memory.

    Examples
    --------
    >>> trees = CountedTrees([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 0, 0, 0], max_leaves=3)
    >>> trees.least, trees.sizes(psi=0.25), trees.size(psi=0.25)
    (0.0, (1, 2, 2), 5)
    >>> trees.draw(2, psi=0.0, random_state=0).losses.tolist()
    [0.0, 0.0]
    """

    def __init__(
        self,
        X: ArrayLike | tree_questions.MergedRows,
        y: ArrayLike | None,
        *,
        max_leaves: int,
        max_depth: int | None = None,
        leaf_penalty: float = 0.0,
        costs: tree_class.Costs | None = None,
        classes: Sequence[Any] | None = None,
        questions: tree_questions.ThresholdQuestions | None = None,
        feature_names: Sequence[str] | None = None,
        convention: str = "all",
        most_memory: int | None = None,
        schema: TableSchema | None = None,
    ) -> None:
        check_nonnegative(leaf_penalty=leaf_penalty)
        if convention not in CONVENTIONS:
            raise DataError(f"convention must be one of {[*CONVENTIONS]}, got {convention!r}")
        self.convention = convention
        shape = (
            (X.n, X.patterns.shape[1]) if isinstance(X, tree_questions.MergedRows) else np.shape(X)
        )
        if len(shape) != 2 or 0 in shape:
            raise DataError(f"X must have rows and columns of 0 and 1, got shape {shape}")
        labels = np.array([]) if y is None else label_codes(y, shape[0])
        if classes is None and isinstance(X, tree_questions.MergedRows):
            raise DataError("merged rows have label codes: classes=[...] must name the classes")
        self.classes = tuple(np.unique(labels).tolist() if classes is None else classes)
        trees = tree_class.TreeClass(shape[1], max_leaves, max_depth, max(2, len(self.classes)))
        matrix = tree_class.cost_matrix(costs, self.classes)
        dearest = 1 if matrix is None else int(matrix.max())
        trees.check_memory(shape[0], most_memory, dearest, whole=False)
        self._room = tree_class.allowed_memory(most_memory)[0] - tree_class.LITTLE_WORK
        self.questions, self.schema = questions, schema
        named = questions.in_words if questions is not None else feature_names
        self.feature_names = column_names(X, shape[1], named)
        if len(self.classes) < 2:
            raise DataError(
                f"y holds one class, {self.classes[0]!r}: two are needed; if others could occur, "
                "declare them all: classes=[...]"
            )
        if isinstance(X, tree_questions.MergedRows):
            self.rows = replace(X, costs=matrix)
        else:
            codes = class_codes(labels, self.classes, "y")
            self.rows = tree_questions.MergedRows.from_rows(X, codes, len(self.classes), matrix)
        self.trees = trees
        self.leaf_penalty = float(leaf_penalty)
        # Upper bound on the cost of all errors together.
        self.unit = self.rows.n * dearest
        self._counted: Counts | None = None
        self._within = -1.0
        self._labelled: tuple[float, FloatArray] = (-1.0, np.empty((0, 0)))

    @classmethod
    def of_table(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        thresholds: float | Sequence[float] | Mapping[Any, Any] | None = None,
        schema: TableSchema | str | PathLike[str] | None = None,
        **settings: Any,
    ) -> CountedTrees:
        """Count trees on yes-or-no questions about a table.

        Sets of its trees take the table itself, as those of ``RashomonTreeClassifier``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, p)
        y : array-like of shape (n,)
        thresholds : float, sequence of float, mapping or None, default=None
            Thresholds for columns of numbers, as for ``RashomonTreeClassifier``.
        schema : TableSchema, str, path or None, default=None
            The table's schema: levels become questions.
        **settings
            Parameters of :class:`CountedTrees`: ``max_leaves`` and others.

        Raises
        ------
        DataError
            If a column without thresholds has values other than 0 and 1, or as the class raises.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [25, 35, 55, 70], "owns": [0, 1, 1, 0]})
        >>> settings = {"thresholds": {"age": [30, 60]}, "max_leaves": 3}
        >>> trees = CountedTrees.of_table(table, [0, 1, 1, 0], **settings)
        >>> trees.feature_names, trees.size(psi=0.0)
        (('age > 30', 'age > 60', 'owns'), 7)
        >>> trees.draw(2, psi=0.0, random_state=0).labels(table).tolist()
        [[0, 1, 1, 0], [0, 1, 1, 0]]
        """
        declared = None
        if schema is not None:
            declared = TableSchema.from_schema_or_path(schema)
            rows = UnitEncoder(declared).transform(X)
            questions = tree_questions.schema_questions(declared, thresholds)
            if settings.get("classes") is None and declared.classes is not None:
                settings["classes"] = declared.classes
        else:
            rows = np.asarray(X)
            if rows.ndim != 2 or 0 in rows.shape:
                raise DataError(f"X must have rows and columns, got shape {rows.shape}")
            questions = tree_questions.array_questions(
                column_names(X, rows.shape[1], None), thresholds
            )
            rows = finite_floats(rows)
        return cls(questions.answers(rows), y, questions=questions, schema=declared, **settings)

    def encode(self, X: Any) -> Any:
        """Encode a raw table by the schema, if there is one."""
        return X if self.schema is None else UnitEncoder(self.schema).transform(X)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows.n

    @cached_property
    def levels(self) -> list[Level]:
        """All sets of rows that paths lead to."""
        return self._lattice(None)

    @cached_property
    def least_errors(self) -> LeastErrors:
        """Least errors below each set."""
        return least_errors(self.levels, self.trees)

    @property
    def best_trees(self) -> BestTrees:
        """Subtrees of least errors below each set."""
        return BestTrees(self.levels, self.trees, self.least_errors)

    @cached_property
    def conjunctions(self) -> Conjunctions:
        """Least errors below every conjunction of answers."""
        by_majority = self.convention == "treefarms"
        with one_blas_thread():
            return Conjunctions.from_rows(self.rows, self.trees, by_majority=by_majority)

    def label_costs(self, start: NDArray[Any]) -> LabelCosts:
        """Least costs of trees with a leaf of each label: errors and ``start``, by leaves."""
        needed = int(_LABEL_COSTS * self.trees.least_memory(self.unit))
        tree_class.check_room(needed, self._room)
        with one_blas_thread():
            return LabelCosts(self.rows, self.trees, self.conjunctions, start)

    def _lattice(self, pruning: WithinLimits | None) -> list[Level]:
        by_majority = self.convention == "treefarms"
        with one_blas_thread():
            return lattice(self.rows, self.trees, pruning, by_majority, self._room)

    @cached_property
    def least(self) -> float:
        """Loss of the best tree."""
        return float(self.least_by_leaves.min())

    @property
    def least_by_leaves(self) -> FloatArray:
        """Least loss of a tree of 1, 2, … leaves."""
        if "least_errors" in vars(self):
            return self.losses_by_leaves(self.least_errors.best_errors)
        return self.losses_by_leaves(self.conjunctions.errors(0, *np.zeros((2, 1), dtype=int))[0])

    def losses_by_leaves(self, errors: IntArray) -> FloatArray:
        """Losses of trees of 1, 2, … leaves by their errors; ∞ where there is no tree."""
        losses = tree_losses(self.unit, self.leaf_penalty, np.arange(1, len(errors) + 1), errors)
        return np.where(errors < UNREACHABLE, losses, np.inf)

    def limits(self, psi: float) -> IntArray:
        """Largest errors of a tree of 1, 2, … leaves within ψ; −1 if there is none."""
        check_nonnegative(psi=psi)
        return limits(self.unit, self.leaf_penalty, self.trees.most_leaves, self.least + psi)

    def counts(self, psi: float) -> Counts:
        """Count all trees within ψ, for every set of rows; the largest ψ so far is cached."""
        if self._counted is None or psi > self._within:
            self._counted, self._within = self.counted_within(self.limits(psi)), psi
        return self._counted

    def counted_within(self, limit: IntArray) -> Counts:
        """Count the trees with at most so many errors, by leaves.

        Sees only the sets of rows that these trees lead to, unless all are there already.
        """
        levels, least = self._sets_within(limit)
        with one_blas_thread():
            return count(levels, self.trees, least, limit, self._room)

    def best_within(self, psi: float) -> BestTrees:
        """Subtrees of least errors below the sets of rows that trees within ψ lead to."""
        levels, least = self._sets_within(self.limits(psi))
        return BestTrees(levels, self.trees, least)

    def _sets_within(self, limit: IntArray) -> tuple[list[Level], LeastErrors]:
        if "least_errors" in vars(self):
            return self.levels, self.least_errors
        within = WithinLimits(self.conjunctions, limit)
        return self._lattice(within), LeastErrors(within.least)

    def histogram(self, psi: float) -> list[Histogram | None]:
        """For 1, 2, … leaves: least errors, and numbers of trees within ψ by errors from there."""
        limits = self.limits(psi).tolist()
        return [
            None if h is None else (h[0], h[1][: max(0, limit - h[0] + 1)])
            for h, limit in zip(self.counts(psi).by_leaves(), limits, strict=True)
        ]

    def sizes(self, psi: float) -> tuple[int, ...]:
        """Count the trees within ψ of the best, by leaves 1, 2, …."""
        histograms = self.histogram(psi)
        return tuple(0 if h is None else sum(map(int, h[1].tolist())) for h in histograms)

    def size(self, psi: float) -> int:
        """Count the trees within ψ of the best."""
        return sum(self.sizes(psi))

    def psi_of_size(self, n_trees: int) -> float:
        """Least ψ at which the set has at least ``n_trees`` trees."""
        check_count(n_trees=n_trees)
        if n_trees > self.trees.size:
            raise DataError(f"n_trees must be at most {self.trees.size:,}, the trees of the class")
        psi = 1 / self.unit
        while self.size(psi) < n_trees:
            psi *= 2
        cells = []
        for leaves, histogram in enumerate(self.histogram(psi), start=1):
            if histogram is not None:
                errors = histogram[0] + np.arange(len(histogram[1]))
                losses = tree_losses(self.unit, self.leaf_penalty, leaves, errors)
                cells.append((losses, histogram[1]))
        losses, numbers = (np.concatenate(parts) for parts in zip(*cells, strict=True))
        order = np.argsort(losses, kind="stable")
        last = int(np.searchsorted(np.cumsum(numbers[order]), n_trees))
        return max(0.0, float(losses[order][last]) - self.least)

    def curve(self, psis: ArrayLike) -> NDArray[Any]:
        """Count the trees within every ψ in one pass, shape (K, leaves)."""
        values = np.asarray(psis, dtype=float)
        self.counts(float(values.max(initial=0.0)))
        return np.array([self.sizes(float(psi)) for psi in values], dtype=object)

    def labelled(self, psi: float) -> FloatArray:
        """Trees within ψ that give each combination each label, (U, C); caches the last call."""
        if self._labelled[0] != psi:
            limit = self.limits(psi)
            self._labelled = psi, LeafTreeCounts(self.counts(psi), self.rows).labels(limit)
        return self._labelled[1]

    def best(self) -> Node:
        """Return a tree of least loss, with the fewest leaves on a tie."""
        leaves = 1 + int(np.argmin(self.least_by_leaves))
        if "least_errors" in vars(self):
            return self.best_trees.best(leaves)
        counts = self.counts(0.0)
        return BestTrees(counts.levels, self.trees, counts.least).best(leaves)

    def errors(self, tree: Node) -> int:
        """Total cost of the rows that a tree labels wrongly; each counts 1 without costs."""
        labels = DecisionTrees((tree,), self.trees.n_labels).labels(self.rows.patterns)[0]
        return int(self.rows.wrong[np.arange(len(labels)), labels].sum())

    def loss(self, leaves: int, errors: int) -> float:
        """Loss of a tree by its leaves and errors."""
        return float(tree_losses(self.unit, self.leaf_penalty, leaves, np.array([errors]))[0])

    def draw(
        self, n_draws: int, psi: float, random_state: int | list[int] | None = None
    ) -> PredictorSet:
        """Draw trees independently and uniformly from all within ψ; not private.

        Parameters
        ----------
        n_draws : int
        psi : float
            Rashomon threshold, in units of the loss.
        random_state : int or list of int, optional
            Seed.

        Returns
        -------
        PredictorSet
            Trees with their losses; not complete, unless there is only one.
        """
        drawn, losses = self.uniform_trees(n_draws, psi, random_state)
        return replace(self.as_set(drawn, losses, psi, independent=True), uniform=True)

    def uniform_trees(
        self, n_draws: int, psi: float, random_state: int | list[int] | None = None
    ) -> tuple[list[Node], FloatArray]:
        """Draw as :meth:`draw`: trees on the yes-or-no features, and their losses."""
        check_count(n_draws=n_draws)
        counts = self.counts(psi)
        rng = generator(random_state)
        cells = [cell for cell in uniform(self.histogram(psi)).draw(n_draws, rng) if cell]
        drawn = Walks(counts, rng).draw(cells)
        leaves, errors = np.array(cells).T
        return drawn, tree_losses(self.unit, self.leaf_penalty, leaves, errors)

    def as_set(
        self,
        trees: Sequence[Node],
        losses: ArrayLike | None = None,
        psi: float = 0.0,
        *,
        independent: bool = False,
    ) -> PredictorSet:
        """Return the given trees of the class as a set, with the best tree as reference.

        Parameters
        ----------
        trees : sequence of Split or Leaf
            On the yes-or-no features, as :meth:`best` and ``best_tree_predicting`` return them.
        losses : array-like of shape (K,), optional
            By default computed.
        psi : float, default=0.0
            Rashomon threshold, in units of the loss.
        independent : bool, default=False
            Whether they are independent draws from one distribution.
        """
        if losses is None:
            leaves = DecisionTrees(tuple(trees), len(self.classes)).complexity(0.0).tolist()
            each = zip(leaves, map(self.errors, trees), strict=True)
            losses = [self.loss(many, errors) for many, errors in each]
        return PredictorSet(
            models=self.on_columns(trees),
            reference=self.on_columns([self.best()]),
            losses=np.asarray(losses, dtype=float),
            least=self.least,
            psi=float(psi),
            task="classification",
            classes=self.classes,
            names=tuple(f"tree {index}" for index in range(len(trees))),
            loss="objective" if self.leaf_penalty or self.rows.costs is not None else "zero_one",
            independent=independent,
            schema=self.schema,
        )

    def on_columns(self, trees: Sequence[Node]) -> DecisionTrees:
        """Trees on the columns of the table instead of the yes-or-no features."""
        if self.questions is None:
            return DecisionTrees(tuple(trees), len(self.classes), self.feature_names)
        on_columns = tuple(map(self.questions.about_columns, trees))
        return DecisionTrees(on_columns, len(self.classes), self.questions.names)

    def _title(self) -> str:
        return f"CountedTrees: {self.trees.size:,} trees on {self.n:,} rows (not private)"

    def _facts(self) -> list[Fact]:
        return [
            ("leaves", f"at most {self.trees.most_leaves}"),
            ("depth", f"at most {self.trees.depth}"),
            ("least", f"{self.least:.6g}"),
            ("rows", f"{len(self.rows.patterns):,} different"),
        ]
