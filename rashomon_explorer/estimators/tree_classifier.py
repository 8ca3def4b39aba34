"""Private draws of sparse decision trees from an exactly counted Rashomon set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from rashomon_explorer._utils.arrays import IntArray
from rashomon_explorer._utils.sklearn_compat import (
    CallbackContext,
    CallbackSupportMixin,
    callback_context,
    fit_context,
    with_callbacks,
)
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.encoder import warn_unconfirmed
from rashomon_explorer.estimators.base import (
    DrawReporter,
    find_data_dependent_step,
    reject_sample_weight,
    warn_if_uncharged,
    warn_leak,
)
from rashomon_explorer.estimators.classes import (
    CLASSES_OF_BLOCKS,
    check_charged_classes,
    found_classes,
)
from rashomon_explorer.estimators.pipelines import pays_for_rows
from rashomon_explorer.estimators.tables import LazyTable
from rashomon_explorer.estimators.tree_base import (
    ChunkedTreeTable,
    TreeTable,
    TreeVotes,
    read_answers,
)
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import chunks_with_targets, is_chunked
from rashomon_explorer.sets import PredictorSet
from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.trees.private import DrawnTrees, gibbs_draws
from rashomon_explorer.trees.questions import ThresholdQuestions
from rashomon_explorer.trees.tree_class import DEFAULT_MEMORY


@pays_for_rows
class RashomonTreeClassifier(ClassifierMixin, CallbackSupportMixin, TreeVotes):
    """Sparse decision trees drawn from their Rashomon set with pure differential privacy.

    Draws trees exactly from exp(−β·max{L, min L + s}) over *all* trees with at most ``max_leaves``
    leaves on declared binary features: the trees are counted, not searched. L is the share of
    errors plus ``leaf_penalty`` for each leaf, and s ≤ ψ is the largest threshold at which
    ``hit_rate`` can be guaranteed. All ``n_draws`` draws of one fit together are (``epsilon``,
    ``delta``)-DP for replacing one row.

    Parameters
    ----------
    psi : float, default=0.02
        Rashomon threshold: largest excess loss of a good tree, as a share of the rows. 0 requests
        draws near the best tree.
    epsilon : float, default=1.0
        Total privacy cost ε of one fit.
    delta : float, default=1e-6
        Total δ of one fit; 0 requests pure DP.
    n_draws : int, default=20
        Number of trees.
    max_leaves : int or None, default=None
        Most leaves of a tree. None is 5, or as many as can be counted in 4 GiB for this public
        number of rows and questions: see ``plan_.most_leaves``.
    max_depth : int or None, default=None
        Most questions on a path; None for as many as ``max_leaves`` allows.
    leaf_penalty : float, default=0.005
        Loss of a leaf. It is independent of the rows and does not change the privacy cost.
    hit_rate : float, default=0.9
        Requested guarantee for the probability that a draw is within ψ, met where possible. 0 draws
        at the threshold ψ itself, and requests no guarantee of this kind.
    costs : mapping from label to int, array-like of shape (n_classes, n_classes) or None, \
default=None
        Integer costs of errors: by the row's label, or a matrix of true labels (rows) by predicted
        labels (columns). L is then the cost divided by that of the most expensive error on every
        row; the privacy cost is the same. Public: never compute them from the rows.
    thresholds : float, sequence of float, mapping or None, default=None
        Thresholds with which numeric columns are compared (whether they are above): one list for
        all columns, or a mapping from columns to lists. Public: never compute them from the rows.
        None is for columns of 0 and 1; with a schema, None uses its declared thresholds, or three
        even steps in each typical range.
    classes : array-like, default=None
        Every label that may occur, declared as public knowledge; with None, the labels in ``y`` are
        treated as public. With a ledger they must be declared.
    schema : TableSchema, str, path or None, default=None
        Schema of the table, or its file (docs/schema.md): levels become questions.
    ledger : str, path or Ledger, default=None
        Privacy ledger, charged before the rows are read.
    random_state : int, RandomState instance or None, default=None
        A seed makes a run reproducible. Privacy then holds only against those who cannot know the
        seed; the guarantee states this.

    Attributes
    ----------
    rashomon_set_ : PredictorSet
        The drawn trees, with data-dependent statistics for the curator.
    guarantee_ : Guarantee
        Privacy of all draws together.
    plan_ : TreePlan
        Plan made before the rows were read.
    tree_class_ : TreeClass
        The class of trees that can be drawn.
    questions_ : tuple of str
        The binary features.
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    n_features_in_ : int
        Number of columns of the table.
    encoder_ : UnitEncoder
        Encoder of the rows, for measures that require encoded rows; set only with a schema.

    Notes
    -----
    A fitted estimator is for the curator: it and its pickle contain the losses of the draws, which
    the guarantee does not cover. Release ``rashomon_set_.release()`` only.

    See Also
    --------
    rashomon_explorer.trees.CountedTrees : The exact Rashomon set, for the curator.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(2000, 4))
    >>> y = X[:, 0] & X[:, 1]
    >>> clf = RashomonTreeClassifier(delta=0.0, n_draws=1, max_leaves=3, random_state=0).fit(X, y)
    >>> clf.score(X, y), clf.guarantee_.pure_epsilon <= 1.0
    (1.0, True)
    """

    @reject_sample_weight
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None) -> RashomonTreeClassifier:
        """Charge the ledger and draw the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dask collection or ChunkedRows
            Chunked rows (:func:`rashomon_explorer.rows.chunked`) are never in memory at once;
            their classes must be declared.
        y : array-like of shape (n_samples,)
            Labels of two or more classes; omitted for chunked rows, which contain their own.

        Returns
        -------
        self
            With the draws in ``rashomon_set_`` and the privacy cost in ``guarantee_``.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the privacy cost; nothing was drawn or spent.
        FitError
            For any error caused by the rows after a ledger was charged; the privacy cost stays
            spent, and ``error.detail`` contains the reason, for the curator only.
        ValueError, SamplerError
            If parameters, declared classes or shapes are invalid, or counting might take more than
            4 GiB; nothing was read or spent. Without a ledger, also for errors caused by the rows.
        """
        table = self._table(X, y)
        leak = find_leak(X, y) or find_data_dependent_step(self) or table.unconfirmed
        questions = self._questions(table.feature_names)
        classes = self._labels(table)
        trees = self._class_of(len(questions), len(classes), table.shape[0])
        costs = self._cost_matrix(classes)
        planned = self._planned(table.shape[0], trees, questions)
        if costs is not None:
            planned = replace(planned, costs=tuple(map(tuple, costs.tolist())))
        guarantee = no_guarantee(leak) if leak else self._guarantee(planned)
        if guarantee.holds:
            stated = (*guarantee.assumptions, *table.assumptions)
            guarantee = replace(guarantee, assumptions=stated)
        context = callback_context(self, planned.n_draws)
        if self.ledger is not None:
            warn_if_uncharged(guarantee, leak)
        public = {
            **table.public(),
            "classes_": classes,
            "tree_class_": trees,
            "questions_": questions.in_words,
        }

        def draw() -> dict[str, Any]:
            if charge is not None:
                table.recognised(charge.path)
            return self._drawn(table, questions, planned, guarantee, context, public, costs)

        charge = self._reserve(guarantee, planned, trees)
        fitted = draw() if charge is None else charge.run(draw)
        for name in ("feature_names_in_", "encoder_"):
            if name not in fitted and hasattr(self, name):
                delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def counted(self, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None) -> CountedTrees:
        """Count the whole Rashomon set.  Curator: computed from private rows, not private.

        Nothing is charged, and no result may be released. The trees use the same questions as in
        ``fit``: ``counted(X, y).draw(2000, psi)`` is uniform on the set, and a reference for
        ``measures.disagreement_decomposition``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dask collection or ChunkedRows
        y : array-like of shape (n_samples,)

        Returns
        -------
        CountedTrees
            With the settings, questions and costs of this classifier.

        Raises
        ------
        ValueError
            If the rows are invalid, or counting might take more than 4 GiB.

        Examples
        --------
        >>> X, y = [[18, 1], [34, 1], [52, 0], [67, 0]] * 25, ["no", "yes", "yes", "no"] * 25
        >>> clf = RashomonTreeClassifier(thresholds={0: [30, 60], 1: 0.5}, max_leaves=3)
        >>> counted = clf.counted(X, y)
        >>> counted.feature_names, counted.size(psi=0.02)
        (('x0 > 30', 'x0 > 60', 'x1 > 0.5'), 2)
        """
        table = self._table(X, y)
        questions = self._questions(table.feature_names)
        classes = self._labels(table)
        costs = self._cost_matrix(classes)
        trees = self._class_of(len(questions), len(classes), table.shape[0])
        trees.check_memory(table.shape[0])
        answers, codes = read_answers(table, questions, classes)
        return CountedTrees(
            answers,
            None if codes is None else classes[codes],
            questions=questions,
            max_leaves=trees.max_leaves,
            max_depth=self.max_depth,
            leaf_penalty=self.leaf_penalty,
            costs=costs,
            classes=np.asarray(classes).tolist(),
        )

    def __sklearn_tags__(self) -> Tags:
        """Allow text and missing values with a schema; declare poor scores, since few trees fit."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        tags.input_tags.allow_nan = self.schema is not None
        tags.classifier_tags.poor_score = True
        return tags

    def _table(self, X: Any, y: Any) -> LazyTable | ChunkedTreeTable:
        charged = self.ledger is not None
        if is_chunked(X):
            declared = None if self.schema is None else TableSchema.of(self.schema)
            if declared is not None:
                warn_unconfirmed(declared)
            return ChunkedTreeTable(
                chunks_with_targets(X, y), declared, row_norm=1.0, charged=charged
            )
        if self.schema is None:
            return LazyTable(self, X, y, numeric=False, charged=charged)
        declared = TableSchema.of(self.schema)
        warn_unconfirmed(declared)
        return TreeTable(self, X, y, numeric=False, charged=charged, schema=declared, row_norm=1.0)

    def _look_through(self, X: Any, y: Any) -> None:
        table = self._table(X, y)
        classes = self._labels(table)
        self._cost_matrix(classes)
        read_answers(table, self._questions(table.feature_names), classes)

    def _drawn(
        self,
        table: LazyTable | ChunkedTreeTable,
        questions: ThresholdQuestions,
        planned: TreePlan,
        guarantee: Guarantee,
        context: CallbackContext,
        public: dict[str, Any],
        costs: IntArray | None,
    ) -> dict[str, Any]:
        """Read the rows, count the trees, draw, and return the fitted attributes."""
        if guarantee.holds and (leak := table.leak):
            warn_leak(leak)
            guarantee = no_guarantee(leak)
        counted = CountedTrees(
            *read_answers(table, questions, public["classes_"]),
            max_leaves=public["tree_class_"].max_leaves,
            max_depth=self.max_depth,
            leaf_penalty=self.leaf_penalty,
            costs=costs,
            questions=questions,
            classes=range(len(public["classes_"])),
            most_memory=DEFAULT_MEMORY,  # available memory was checked before the charge
        )

        def attributes(draws: DrawnTrees) -> dict[str, Any]:
            kept = _of_some(guarantee, len(draws.losses), planned.n_draws)
            settings = {"planned": planned, "guarantee": kept, "schema": table.schema}
            models = _as_set(counted, draws, public["classes_"], **settings)
            return {**public, "rashomon_set_": models, "guarantee_": kept, "plan_": planned}

        reporter = DrawReporter(self, context, attributes)
        draws = gibbs_draws(counted, planned, self._generator())
        reporter(draws)
        if reporter.reported == 0:
            raise SamplerError("stopped before the first draw: there is no model to return")
        return attributes(draws.first(reporter.reported))

    def _labels(self, table: LazyTable | ChunkedTreeTable) -> NDArray[Any]:
        """Return the declared classes; if undeclared and without a ledger, those in the labels."""
        known = self._known_classes()
        if known is None and isinstance(table, ChunkedTreeTable):
            raise ValueError(CLASSES_OF_BLOCKS)
        if self.ledger is not None:
            check_charged_classes(self.classes, self._declared)
        if known is not None:
            return known
        assert not isinstance(table, ChunkedTreeTable)
        return found_classes(table.values[1])


def _as_set(
    counted: CountedTrees, draws: DrawnTrees, classes: NDArray[Any], **settings: Any
) -> PredictorSet:
    """Return the draws, with trees on the columns of the table, and the best tree."""
    return replace(
        counted.as_set(draws.trees, draws.losses, settings["planned"].psi, independent=True),
        classes=tuple(np.asarray(classes).tolist()),
        **settings,
    )


def _of_some(guarantee: Guarantee, kept: int, n_draws: int) -> Guarantee:
    """Guarantee of the first ``kept`` draws; ``kept`` must not depend on private data."""
    if kept == n_draws or not guarantee.holds:
        return guarantee
    stated = f"{kept} of {n_draws} draws were kept, a number chosen without regard to private rows"
    return replace(guarantee, assumptions=(*guarantee.assumptions, stated))
