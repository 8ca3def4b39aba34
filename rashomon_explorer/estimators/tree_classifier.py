"""Private draws of sparse decision trees from an exactly counted Rashomon set."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils import sklearn_compat
from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer.data import TableSchema
from rashomon_explorer.estimators import base, feasibility, tables, targets
from rashomon_explorer.mechanisms.planner import warn_if_delta_is_large, warn_if_weak
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import AUTO, TreeRequest, draws_rule
from rashomon_explorer.mechanisms.select import LEAST_HITS, MOST_DRAWS
from rashomon_explorer.mechanisms.sparse_trees import TreeDetails, plan_trees
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.sets import PredictorSet
from rashomon_explorer.trees import CountedTrees, TreeClass, tree_class
from rashomon_explorer.trees import questions as tree_questions
from rashomon_explorer.trees.private import DrawnTrees, error_spread, gibbs_draws

_LEAVES = 5  # default
_DRAWS = (MOST_DRAWS, 10, 5, 1)  # numbers of draws that "auto" compares


@base.with_parameters
class RashomonTreeClassifier(
    targets.ClassTargets[Plan], sklearn_compat.CallbackSupportMixin, base.BasePrivateEstimator[Plan]
):
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
    delta : float, default=1e-6
    n_draws : int or "auto", default="auto"
    max_leaves : int or None, default=None
        Most leaves of a tree. None is 5, or as many as can be counted in 1 GiB for this public
        number of rows and questions: see ``plan_``. More than 4 GiB are refused before a charge.
    max_depth : int or None, default=None
        Most questions on a path; None for as many as ``max_leaves`` allows.
    leaf_penalty : float, default=0.005
        Loss of a leaf. It is independent of the rows and does not change the privacy cost.
    hit_rate : float, default=0.9
        Requested guarantee for the probability that a draw is within ψ, met where possible. One
        draw has the largest possible one, as at ψ = 0. 0 draws at the threshold ψ itself, and
        requests no guarantee of this kind.
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
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rashomon_set_ : PredictorSet
        The drawn trees, with data-dependent statistics for the curator.
    guarantee_ : Guarantee
    plan_ : Plan
        Plan made before the rows were read.
    tree_class_ : TreeClass
        The class of trees that can be drawn.
    questions_ : tuple of str
        The binary features.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    encoder_ : UnitEncoder
        Encoder of the rows, for measures that require encoded rows; set only with a schema.

    Notes
    -----
    A fitted estimator is for the curator: it and its pickle contain the minimum or the losses of
    the draws, not covered by the guarantee. Use ``rashomon_set_.release().save(path)``.

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

    psi: float = 0.02
    n_draws: int | str = AUTO
    max_leaves: int | None = None
    max_depth: int | None = None
    leaf_penalty: float = 0.005
    hit_rate: float = 0.9
    costs: tree_class.Costs | None = None
    thresholds: float | Sequence[float] | Mapping[Any, Any] | None = None
    schema: base.Schema = None

    _why = ""  # reason for a tree, of an estimator that owns this one
    _base_rate = 0.0  # share of the rows in one of two classes, if that estimator declares it

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "psi": [Interval(Real, 0, None, closed="left")],
        "n_draws": [feasibility.N_DRAWS, StrOptions({AUTO})],
        "max_leaves": [Interval(Integral, 1, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "leaf_penalty": [Interval(Real, 0, 1, closed="both")],
        "hit_rate": [Interval(Real, 0, 1, closed="left")],
        "costs": ["array-like", dict, None],
        "thresholds": [Real, "array-like", dict, None],
        "schema": base.SCHEMA,
    }

    @tables.predict_in_chunks(tables.label_output)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class predicted by most of the drawn trees; the first one in case of a tie."""
        votes = self.predict_proba(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    @tables.predict_in_chunks(tables.probability_output)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Share of the drawn trees that predict each class."""
        rows = self._encoded_rows(X)
        codes = self.rashomon_set_.labels(rows)
        return np.asarray(np.eye(len(self.classes_))[codes].mean(axis=0))

    def predict_each(self, X: ArrayLike) -> NDArray[Any]:
        """Predictions of every drawn tree."""
        rows = self._encoded_rows(X)
        return np.asarray(self.classes_[self.rashomon_set_.labels(rows)])

    def counted(self, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None) -> CountedTrees:
        """Count the whole Rashomon set.  Curator: computed from private rows, not private.

        Nothing is charged, and no result may be released. The trees use the same questions as in
        ``fit``: ``counted(X, y).draw(2000, psi)`` is uniform on the set.

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
            If the rows are invalid, or counting takes more than 4 GiB.

        Examples
        --------
        >>> X, y = [[18, 1], [34, 1], [52, 0], [67, 0]] * 25, ["no", "yes", "yes", "no"] * 25
        >>> clf = RashomonTreeClassifier(thresholds={0: [30, 60], 1: 0.5}, max_leaves=3)
        >>> counted = clf.counted(X, y)
        >>> counted.feature_names, counted.size(psi=0.02)
        (('x0 > 30', 'x0 > 60', 'x1 > 0.5'), 2)
        """
        table = self._table(X, y)
        questions, classes = self._questions(table.feature_names), self._labels(table)
        trees = self._tree_class(len(questions), len(classes), table.shape[0])
        return self._count(table, questions, trees, classes)

    def _count(
        self,
        table: tables.TableAdapter,
        questions: tree_questions.ThresholdQuestions,
        trees: TreeClass,
        classes: NDArray[Any],
        most_memory: int | None = None,
    ) -> CountedTrees:
        answers, codes = self._answers(table, questions, classes)
        return CountedTrees(
            answers,
            None if codes is None else classes[codes],
            questions=questions,
            max_leaves=trees.max_leaves,
            max_depth=self.max_depth,
            leaf_penalty=self.leaf_penalty,
            costs=self._cost_matrix(classes),
            classes=np.asarray(classes).tolist(),
            most_memory=most_memory,
            schema=table.schema,
        )

    def _n_encoded(self, n_features: int | None) -> int:
        """Return the number of columns; the questions of a schema need none."""
        if self.schema is None and n_features is None:
            raise ValueError("n_features is required without a schema")
        return n_features or 0

    def _planned(self, n_samples: int, n_features: int, n_classes: int | None = None) -> Plan:
        if n_classes is None:
            classes = self._known_classes()
            n_classes = 2 if classes is None else len(classes)
        names = [f"x{j}" for j in range(n_features)]
        if self.schema is not None or not isinstance(self.thresholds, Mapping):
            questions = self._questions(names)
            trees = self._tree_class(len(questions), n_classes, n_samples)
            return self._plan_class(n_samples, trees, questions)
        # Columns may be named; which ones have thresholds does not change the question count.
        several = sum(max(1, np.size(cuts)) for cuts in self.thresholds.values())
        count = n_features - len(self.thresholds) + several
        return self._plan_class(n_samples, self._tree_class(count, n_classes, n_samples))

    def _plan_class(
        self, n: int, trees: TreeClass, questions: tree_questions.ThresholdQuestions | None = None
    ) -> Plan:
        feasibility.check_budget(self)
        dearest = tree_class.largest_cost(self.costs)
        counts = _DRAWS if isinstance(self.n_draws, str) else (self.n_draws,)
        for n_draws in counts:
            request = TreeRequest(
                n=int(n),
                psi=float(self.psi),
                epsilon=self._epsilon,
                delta=self._delta,
                n_draws=int(n_draws),
                log_size=trees.log_size,
                most_leaves=trees.most_leaves,
                n_labels=trees.n_labels,
                leaf_penalty=float(self.leaf_penalty),
                hit_rate=float(self.hit_rate),
                walk_rounding=trees.rounding(n * dearest),
                ledger=draws_rule(feasibility.ledger_rule(self.ledger, self._delta)),
                max_depth=self.max_depth,
                questions=() if questions is None else tuple(questions.declared),
                base_rate=self._base_rate or None,
            )
            planned = plan_trees(request)
            if planned.hit_rate_bound >= LEAST_HITS:
                break
        spread, n_draws = error_spread(trees, planned, n * dearest), planned.n_draws
        trees.check_memory(n, dearest=dearest, spread=spread, n_draws=n_draws)
        memory = trees.memory(n, dearest, spread=spread, n_draws=n_draws)
        reason = "one tree: no set of several has a guaranteed hit rate of 80 %"
        if planned.n_draws > 1:
            reason = "a set: each tree lies within ψ with a guaranteed probability of 80 % or more"
        return replace(
            planned,
            reason=reason if isinstance(self.n_draws, str) else self._why,
            details=TreeDetails(memory, trees.seconds(n)),
        )

    def _warn(self, planned: Plan) -> None:
        if not self._warns:
            return
        if self.hit_rate > 0:  # 0 requests no guaranteed hit rate
            warn_if_weak(planned, "this plan")
        warn_if_delta_is_large(self._delta, planned.n)

    def _questions(self, names: Sequence[str]) -> tree_questions.ThresholdQuestions:
        if self.schema is not None:
            return tree_questions.schema_questions(
                TableSchema.from_schema_or_path(self.schema), self.thresholds
            )
        return tree_questions.array_questions(names, self.thresholds)

    def _cost_matrix(self, classes: NDArray[Any]) -> IntArray | None:
        return tree_class.cost_matrix(self.costs, np.asarray(classes).tolist())

    def _tree_class(self, n_questions: int, n_classes: int, n: int) -> TreeClass:
        if self.max_leaves is None:
            return TreeClass(n_questions, _LEAVES, self.max_depth, n_classes).largest(n)
        return TreeClass(n_questions, self.max_leaves, self.max_depth, n_classes)

    def _table(self, X: Any, y: Any) -> tables.TableAdapter:
        """Wrap the table in its original units, for comparison with thresholds."""
        return self._encoded_table(X, y, row_norm=None)

    def _check_table(self, table: tables.TableAdapter) -> None:
        classes = self._labels(table)
        self._cost_matrix(classes)
        self._answers(table, self._questions(table.feature_names), classes)

    def _answers(
        self,
        table: tables.TableAdapter,
        questions: tree_questions.ThresholdQuestions,
        classes: NDArray[Any],
    ) -> tuple[Any, IntArray | None]:
        """Read answers to the questions and label codes, the inputs of ``CountedTrees``."""
        if table.is_chunked:
            coded = table.chunks.then(self._target_step(table))
            return tree_questions.merged_chunks(coded, questions, len(classes)), None
        return questions.answers(table.values[0]), self._encoded_target(table).astype(int)

    def _target_step(self, table: tables.TableAdapter) -> targets.ClassCodes:
        return targets.ClassCodes(self._labels(table), signed=False)

    def _assumptions(self) -> list[str]:
        assumed = super()._assumptions()
        if self.schema is None:
            assumed.append("the thresholds were not computed from private rows")
        if self.costs is not None:
            assumed.append("the costs of errors were not computed from private rows")
        return assumed

    def _guarantee(self, planned: Plan) -> Guarantee:
        return replace(planned.guarantee, requested=(planned.epsilon, planned.delta))

    def _models(self, drawn: PredictorSet) -> dict[str, Any]:
        return {"rashomon_set_": drawn}

    def _plan_fit(self, table: tables.TableAdapter, owner: Any = None) -> base.PlannedFit:
        """Plan the fit of this estimator, or of one that owns it."""
        owner = owner or self
        questions, classes = self._questions(table.feature_names), self._labels(table)
        trees = self._tree_class(len(questions), len(classes), table.shape[0])
        costs = self._cost_matrix(classes)
        planned = self._plan_class(table.shape[0], trees, questions)
        if costs is not None:
            request = replace(planned.request, costs=tuple(map(tuple, costs.tolist())))
            planned = replace(planned, request=request)
        owner._warn(planned)
        context = sklearn_compat.callback_context(owner, planned.n_draws)
        names = "n beta eta psi law_psi epsilon delta n_draws".split()

        return base.PlannedFit(
            self._guarantee(planned),
            note=f"{type(owner).__name__}, {planned.n_draws} draws, ψ={planned.psi:g}",
            parameters={
                **{name: getattr(planned, name) for name in names},
                "leaf_penalty": self.leaf_penalty,
                "max_leaves": trees.most_leaves,
                "max_depth": trees.depth,
                "features": trees.n_features,
                "loss": "zero_one" if self.costs is None else "costs of errors",
            },
            draw=lambda guarantee: self._sample(
                table, questions, trees, planned, guarantee, context, owner
            ),
        )

    def _sample(
        self,
        table: tables.TableAdapter,
        questions: tree_questions.ThresholdQuestions,
        trees: TreeClass,
        planned: Plan,
        guarantee: Guarantee,
        context: sklearn_compat.CallbackContext,
        owner: Any,
    ) -> dict[str, Any]:
        """Read the rows, count the trees, draw, and return the fitted attributes."""
        public = {
            **self._public_attributes(table),
            "tree_class_": trees,
            "questions_": questions.in_words,
        }
        # Available memory was checked before the charge; rows must not stop what follows.
        counted = self._count(table, questions, trees, public["classes_"], sys.maxsize)

        def attributes(draws: DrawnTrees) -> dict[str, Any]:
            final_guarantee = base.stopped_guarantee(guarantee, len(draws.losses), planned.n_draws)
            models = counted.as_set(draws.trees, draws.losses, planned.psi, independent=True)
            models = replace(
                models, planned=planned, guarantee=final_guarantee, schema=table.schema
            )
            return {
                **public,
                **owner._models(models),
                "guarantee_": final_guarantee,
                "plan_": planned,
            }

        reporter = base.DrawReporter(owner, context, attributes)
        draws = gibbs_draws(counted, planned, self._generator())
        reporter(draws)
        return reporter.finished(draws)
