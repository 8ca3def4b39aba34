"""Estimators of one private model: a classifier, linear or a sparse tree, and a regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pandas import DataFrame, Index
from scipy.special import expit, softmax
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.estimators import base, feasibility, rashomon, tables, targets
from rashomon_explorer.estimators.tables import number_output, predict_in_chunks
from rashomon_explorer.estimators.tree_classifier import RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.base import Draws
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.mechanisms.select import GOALS
from rashomon_explorer.mechanisms.simulation import expected_gain
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses import Loss, get_loss
from rashomon_explorer.sets import PredictorSet, ReleasedSet, ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees
from rashomon_explorer.sets.models.written import as_sklearn, as_text
from rashomon_explorer.sets.scores import linear_scores, released_schema
from rashomon_explorer.sets.sklearn_models import one_model


@base.with_parameters
class BaseOneModel(rashomon.BaseDraws):
    """Base of estimators of one model: one draw, of a set without width."""

    goal: str = "rows"

    psi = 0.0
    n_draws = 1
    patience = AUTO

    if TYPE_CHECKING:
        scale_: ColumnMap | None = field(init=False)
        _released: Any = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"goal": [StrOptions(set(GOALS))]}

    @property
    def excess_bound_(self) -> float:
        """Bound on the expected excess loss, computed before a row is read."""
        planned: Plan = self.plan_
        return planned.population_bound if self.goal == "population" else planned.excess_bound

    def release(self) -> ReleasedSet | ReleasedTrees:
        """Return the model and its guarantee, without settings of yours: to save and to publish.

        ``release().save(path)`` writes them with the public part of the schema, so that
        ``load(path).predict(table)`` takes the raw table in another process.

        Raises
        ------
        CuratorOnlyError
            If the fit has no guarantee.
        """
        check_is_fitted(self)
        if not self.guarantee_.holds:
            raise CuratorOnlyError(f"this model cannot be released: {self.guarantee_}")
        return self._released

    def _private(
        self, table: tables.TableAdapter, target: GibbsTarget, public: dict[str, Any], draws: Draws
    ) -> dict[str, Any]:
        """Add the set of this model that :meth:`release` returns."""
        released = ReleasedSet(
            coef=draws.coef,
            **self._set_declarations(table, public),
            link=target.problem.loss.link,
            plan=public["plan_"].without_candidates(),
            guarantee=public["guarantee_"],
            scale=public["scale_"],
            schema=released_schema(table.schema, table.feature_names),
        )
        return {**super()._private(table, target, public, draws), "_released": released}

    def _ledger_note(self, planned: Plan) -> str:
        return planned.mechanism

    def _linear(self, theta: FloatArray, X: ArrayLike) -> FloatArray:
        """Scores (n_samples, outputs) of rows clipped to the declared norm."""
        rows = self._encoded_rows(X)
        if self.scale_ is not None:
            theta = self.scale_.scaled(theta)
        return linear_scores(theta.reshape(1, -1), rows, self._row_norm, len(theta), self.scale_)[0]

    def to_sklearn(self) -> Any:
        """Return the fitted model as scikit-learn's, for encoded rows; linear ones have `to_onnx`.

        With a ``schema`` it takes the rows of ``encoder_.transform(X)``.
        """
        check_is_fitted(self)
        if hasattr(self, "tree_"):
            (tree,), names = self.tree_.trees, self.tree_.feature_names
            return as_sklearn(tree, len(names), tuple(self.classes_.tolist()), names)
        theta = np.column_stack([np.atleast_2d(self.encoded_coef_), self.encoded_intercept_])
        theta = theta if self.scale_ is None else self.scale_.scaled(theta)
        classes = getattr(self, "classes_", None)
        return one_model(theta, self._row_norm, self.scale_, classes=classes, loss=self.loss)

    def _fit_summary(self) -> list[str]:
        planned: Plan = self.plan_
        model = f"{planned.mechanism} on {planned.n:,} rows"
        if not math.isfinite(self.excess_bound_):  # only the clipped loss has a bound
            return [model]
        return [model, f"excess ≤ {rounded_up(self.excess_bound_)} on average"]


_TREES_UP_TO = 8.0
"""Rows times ε, per parameter of the linear model, up to which one tree predicts better."""

# The same by the share of the rarer class, if it is declared: a tree of rare positives says "no".
_RARER, _UP_TO = (0.05, 0.2, 0.35), (0.0, 5.0, 15.0)

_WHY_A_TREE = (
    "family='auto': n·ε is at most {:.0f} per parameter of a linear model, where one tree had more "
    "accuracy and AUC on simulated tables{}"
)
_DECLARE = "; base_rate=, the share of the positive class, makes this choice better if it is public"


def trees_up_to(base_rate: float | None) -> float:
    """Rows times ε, per parameter of a linear model, up to which "auto" draws a tree."""
    if base_rate is None:
        return _TREES_UP_TO
    return float(np.interp(min(base_rate, 1 - base_rate), _RARER, _UP_TO))


_MOST_OUTPUTS = 2  # of up to three classes, on which the rule was settled; a tree has few leaves

LINEAR_ONLY_PARAMETERS = {"loss": "logistic"} | dict.fromkeys(
    ("mechanism", "radius", "row_norm", "ridge", "standardize"), AUTO
)
"""Settings that trees do not have, with their defaults."""


def _is_tree(estimator: Any) -> bool:
    return hasattr(estimator, "tree_")


@base.with_parameters
class DPClassifier(targets.ClassTargets[Plan], BaseOneModel):
    """Classifier of low loss, fitted with differential privacy: a linear model or a sparse tree.

    Family and mechanism are selected from public numbers, before a row is read: the mechanism with
    the lowest expected loss (docs/planning.md). ``RashomonClassifier(n_draws=1, psi=0)`` draws the
    same linear model, ``RashomonTreeClassifier(n_draws=1, psi=0)`` the same tree. ``plan_``
    contains the mechanism, the reason, and the guarantees of the other mechanisms.

    Parameters
    ----------
    family : {"auto", "linear", "trees"}, default="auto"
        ``"trees"`` draws one tree of at most 5 leaves on the questions of the schema; without a
        schema, on whether each column is above 0. ``"auto"`` does so if ``n_samples * epsilon`` is
        at most 8 times the number of coefficients of the linear model, or 0 to 15 times by the
        ``base_rate``: on simulated tables a tree then predicts better (docs/one-model.md). It takes
        a linear model without a schema, which alone declares where questions can cut, for more than
        three classes, and if a setting of linear models is given: ``loss``, ``mechanism``,
        ``radius``, ``row_norm``, ``ridge`` or ``standardize``. Trees refuse these.
    loss : {"logistic", "hinge", "smoothed_hinge"}, default="logistic"
        Loss to minimise, averaged over the rows. With three or more classes, ``"logistic"`` is the
        cross-entropy. The other two support two classes only and have no probabilities.
    base_rate : float, default=None
        Public share of the rows in the second of two classes, if it is known: never computed from
        the rows. It decides on the family and sharpens what ``plan_`` expects.
    mechanism : str, default="auto"
        A key of :data:`rashomon_explorer.mechanisms.MECHANISMS`, used even if its guarantee is
        weak, or ``"auto"``.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    goal : {"rows", "population"}, default="rows"
        Whether the excess bound is on the given rows, or on new rows of the same distribution;
        the latter assumes that the rows are independent.
    radius : float or "auto", default="auto"
    row_norm : float or "auto", default="auto"
    ridge : float or "auto", default="auto"
    standardize : {"auto", "private"} or None, default="auto"
    classes : array-like, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    encoded_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    encoded_intercept_ : ndarray of shape (1,) or (n_classes,)
    tree_ : DecisionTrees
        The tree; a fitted estimator has it, and ``questions_`` and ``tree_class_``, or else the
        coefficients.
    classes_ : ndarray of shape (n_classes,)
    guarantee_ : Guarantee
    plan_ : Plan
        Plan made before the rows were read: mechanism, reason, options, bounds.
    excess_bound_ : float
        Upper bound on the model's expected excess loss, as defined by ``goal``.
    n_features_in_ : int
    scale_ : ColumnMap or None
    encoder_ : TableEncoder

    Notes
    -----
    A fitted estimator holds no loss and no row: of what was read off rows, only the model is left.
    It and its pickle also hold your settings: the path of the ledger, a seed, and the whole schema
    with values that nobody confirmed. Publish ``release().save(path)``, which leaves these out.

    See Also
    --------
    DPRegressor : The same for numeric targets.
    RashomonClassifier : Many models that are almost as good as the best.

    Examples
    --------
    >>> from rashomon_explorer import DPClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = DPClassifier(epsilon=1.0, row_norm=1.5, random_state=0).fit(data.X, data.y)
    >>> clf.plan_.mechanism, clf.guarantee_.epsilon(1e-6) <= 1.0
    ('objective_perturbation', True)
    >>> bool(clf.score(data.X, data.y) > 0.7)
    True
    >>> clf.release().n_draws
    1

    A tree, on the questions of a schema:

    >>> import pandas as pd
    >>> from rashomon_explorer.data import Numeric, TableSchema, YesNo
    >>> schema = TableSchema([Numeric("age", (18, 90), thresholds=[40]), YesNo("owns", (0, 1))])
    >>> X = pd.DataFrame({"age": [25, 35, 55, 70] * 20, "owns": [0, 1] * 40})
    >>> public = {"classes": ["no", "yes"], "base_rate": 0.5, "schema": schema}
    >>> clf = DPClassifier(epsilon=0.5, family="trees", random_state=0, **public)
    >>> print(clf.fit(X, ["no", "no", "yes", "yes"] * 20).text())
    age > 40?
      yes: yes
      no: no
    """

    family: str = AUTO
    loss: str = "logistic"
    base_rate: float | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "family": [StrOptions({"linear", "trees", AUTO})],
        "loss": [StrOptions({"logistic", "hinge", "smoothed_hinge"})],
        "base_rate": [Interval(Real, 0, 1, closed="neither"), None],
    }

    if TYPE_CHECKING:
        tree_: DecisionTrees = field(init=False)

    @available_if(lambda self: not _is_tree(self) and self.family != "trees")
    @tables.predict_in_chunks(tables.decision_output)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score of the positive or of each class: log odds for logistic loss; not of trees."""
        check_is_fitted(self)
        theta = np.column_stack([self.encoded_coef_, self.encoded_intercept_])
        if len(self.classes_) == 2:
            return np.asarray(self._linear(theta, X)[:, 0])
        scores = self._linear(theta[1:], X)  # the first class is the reference
        return np.column_stack([np.zeros(len(scores)), scores])

    @tables.predict_in_chunks(tables.label_output)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most likely class."""
        check_is_fitted(self)
        if _is_tree(self):
            return np.asarray(self.classes_[self._tree_codes(X)])
        scores = self.decision_function(X)
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        return np.asarray(self.classes_[codes])

    @available_if(lambda self: self.loss == "logistic")
    @tables.predict_in_chunks(tables.probability_output)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, 0 or 1 for a tree; for logistic loss only."""
        check_is_fitted(self)
        if _is_tree(self):
            return np.eye(len(self.classes_))[self._tree_codes(X)]
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores), expit(scores)])

    @available_if(_is_tree)
    def text(self) -> str:
        """Write the tree as text, one line per node."""
        (tree,) = self.tree_.trees
        return as_text(tree, self.tree_.feature_names, tuple(self.classes_.tolist()))

    def _tree_codes(self, X: ArrayLike) -> IntArray:
        return self.tree_.labels(self._encoded_rows(X))[0]

    def __sklearn_tags__(self) -> Tags:
        """Declare that losses of margins support two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "logistic"
        return tags

    def _tree_model(
        self, n_samples: int, n_features: int, n_classes: int | None
    ) -> RashomonTreeClassifier | None:
        """Estimator of one private tree, or None for a linear model; by public numbers."""
        defaults = LINEAR_ONLY_PARAMETERS.items()
        linear_only = [name for name, usual in defaults if getattr(self, name) != usual]
        if self.family == "trees" and linear_only:
            name = linear_only[0]
            raise ValueError(
                f"{name}={getattr(self, name)!r} is a setting of linear models: leave it "
                'out, or take family="linear"'
            )
        if self.family == AUTO:
            outputs = self._loss_for(n_classes).outputs
            tree_limit = trees_up_to(self.base_rate)
            few = n_samples * self._epsilon <= tree_limit * n_features * outputs
            if linear_only or self.schema is None or outputs > _MOST_OUTPUTS or not few:
                return None
        elif self.family != "trees":
            return None
        shared = ("epsilon", "delta", "classes", "schema", "ledger", "random_state")
        tree = RashomonTreeClassifier(
            **{name: getattr(self, name) for name in shared},
            psi=self.psi,
            n_draws=self.n_draws,
            thresholds=0.0 if self.schema is None else None,
        )
        tree._base_rate = self.base_rate or 0.0
        if self.family == AUTO:
            hint = _DECLARE if self.base_rate is None else ""
            tree._why = _WHY_A_TREE.format(trees_up_to(self.base_rate), hint)
        return tree

    def _tree_for(self, table: tables.TableAdapter) -> RashomonTreeClassifier | None:
        linear = self.family == "linear" or (self.family == AUTO and self.schema is None)
        return None if linear else self._tree_model(*table.shape, self._n_classes(table))

    def _table(self, X: Any, y: Any) -> tables.TableAdapter:
        table = super()._table(X, y)
        return table if self._tree_for(table) is None else table.in_units()

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None, in_chunks: bool = False
    ) -> Any:
        feasibility.check_budget(self)
        if self.base_rate is not None:
            check_inner_share(base_rate=self.base_rate)
            if self._loss_for(n_classes).outputs > 1:
                raise ValueError("base_rate is the share of one of two classes: omit it for more")
        tree = self._tree_model(n_samples, n_features, n_classes)
        if tree is not None:
            return tree._planned(n_samples, n_features, n_classes)
        return super()._planned(n_samples, n_features, n_classes, in_chunks)

    def _plan_fit(self, table: tables.TableAdapter) -> base.PlannedFit:
        tree = self._tree_for(table)
        return super()._plan_fit(table) if tree is None else tree._plan_fit(table, self)

    def _check_table(self, table: tables.TableAdapter) -> None:
        tree = self._tree_for(table)
        if tree is None:
            super()._check_table(table)
        else:
            tree._check_table(table)

    def _models(self, drawn: PredictorSet) -> dict[str, Any]:
        assert isinstance(drawn.models, DecisionTrees)
        released = drawn.release() if drawn.guarantee.holds else None
        return {"tree_": drawn.models, "_released": released}

    @property
    def _declared_rate(self) -> float | None:
        return self.base_rate

    def _assumptions(self) -> list[str]:
        stated = [] if self.base_rate is None else ["base_rate was not computed from private rows"]
        return [*super()._assumptions(), *stated]

    def _loss_for(self, n_classes: int | None) -> Loss:
        posed = super()._loss_for(n_classes)
        if self.loss == "logistic":
            return posed
        if posed.outputs > 1:
            raise ValueError(
                f"Only binary classification is supported by loss={self.loss!r}: use "
                'loss="logistic" for three or more classes'
            )
        return get_loss(self.loss)


def plan_table(
    n_samples: int,
    n_features: int,
    epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
    *,
    base_rate: float = 0.5,
    delta: float = 1e-6,
) -> DataFrame:
    """Accuracy and AUC to expect of one private linear classifier, by ε; reads no row.

    Every ε is planned as by :class:`DPClassifier`, and drawn on a dozen simulated tables of this
    shape, whose columns tell from little (AUC .63 without privacy) to much (.95). A prediction, no
    guarantee.

    Parameters
    ----------
    n_samples, n_features : int
        Public shape of the table; of encoded columns, if a schema encodes them.
    epsilons : sequence of float
        Privacy costs to compare.
    base_rate : float, default=0.5
        Public share of the rows in the positive class.
    delta : float, default=1e-6

    Returns
    -------
    pandas.DataFrame
        A row for each ε, and for ``inf``, logistic regression without privacy: medians of
        ``accuracy`` and ``auc``, and their quantiles of .1 and .9 (``_low``, ``_high``). ``attrs``
        has ``simulated=True`` and a ``caption``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> plan_table(2_000, 10, [0.1, 1.0], base_rate=0.2).round(2).T
    epsilon         0.1   1.0   inf
    accuracy       0.80  0.81  0.82
    accuracy_low   0.78  0.80  0.80
    accuracy_high  0.82  0.88  0.88
    auc            0.63  0.77  0.77
    auc_low        0.46  0.67  0.69
    auc_high       0.79  0.91  0.93
    """
    rows: list[dict[str, float]] = []
    pairs: Sequence[tuple[expected_gain.Result, expected_gain.Result]] = ()
    for epsilon in sorted(epsilons):
        model = DPClassifier(epsilon=epsilon, delta=delta, base_rate=base_rate)
        planned = model._planned(n_samples, n_features)  # the table shows what is weak
        pairs = expected_gain.simulated_results(planned, False, None, base_rate)
        rows.append(_score_row([private for private, _ in pairs]))
    rows.append(_score_row([free for _, free in pairs]))
    table = DataFrame(rows, index=Index([*sorted(epsilons), math.inf], name="epsilon"))
    table.attrs = {
        "simulated": True,
        "caption": f"Simulated, no guarantee: one private linear classifier on {len(pairs)} tables "
        f"of {n_samples:,} rows and {n_features} columns, {expected_gain.rarer_class(base_rate)}",
    }
    return table


def _score_row(results: Sequence[expected_gain.Result]) -> dict[str, float]:
    row: dict[str, float] = {}
    for score in ("accuracy", "AUC"):
        middle, low, high = expected_gain.spread([result.scores[score] for result in results])
        name = score.lower()
        row |= {name: middle, f"{name}_low": low, f"{name}_high": high}
    return row


@base.with_parameters
class DPRegressor(targets.BoundedTargets[Plan], BaseOneModel):
    """Linear regression of low loss, fitted with differential privacy.

    Targets are mapped from ``target_bounds`` onto [−1, 1] and clipped; loss, radius and bounds
    refer to these units. Otherwise as :class:`DPClassifier`.

    Parameters
    ----------
    loss : {"squared", "absolute"}, default="squared"
        Half the mean squared error, or the mean absolute error.
    mechanism : str, default="auto"
        As for :class:`DPClassifier`.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    goal : {"rows", "population"}, default="rows"
        As for :class:`DPClassifier`.
    radius : float or "auto", default="auto"
    row_norm : float or "auto", default="auto"
    ridge : float or "auto", default="auto"
    standardize : {"auto", "private"} or None, default="auto"
    target_bounds : tuple of float, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    encoded_coef_ : ndarray of shape (n_features,)
    encoded_intercept_ : float
    guarantee_ : Guarantee
    plan_ : Plan
        Plan made before the rows were read: mechanism, reason, options, bounds.
    excess_bound_ : float
        Upper bound on the model's expected excess loss, as defined by ``goal``.
    n_features_in_ : int
    scale_ : ColumnMap or None
    encoder_ : TableEncoder

    Notes
    -----
    A fitted estimator holds no loss and no row: of what was read off rows, only the model is left.
    It and its pickle also hold your settings: the path of the ledger, a seed, and the whole schema
    with values that nobody confirmed. Publish ``release().save(path)``, which leaves these out.

    See Also
    --------
    DPClassifier : The same for classes.
    RashomonRegressor : Many models that are almost as good as the best.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from rashomon_explorer import DPRegressor, PublicBoundsScaler, load_dataset
    >>> data = load_dataset("diabetes")
    >>> reg = DPRegressor(epsilon=100.0, target_bounds=data.target_bounds, random_state=0)
    >>> pipe = make_pipeline(PublicBoundsScaler(data.bounds), reg).fit(data.X, data.y)
    >>> reg.plan_.mechanism, bool(pipe.score(data.X, data.y) > 0.2)
    ('objective_perturbation', True)
    """

    loss: str = "squared"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"squared", "absolute"})]
    }

    @predict_in_chunks(number_output)
    def predict(self, X: ArrayLike) -> FloatArray:
        """Predicted target."""
        check_is_fitted(self)
        theta = np.append(self.encoded_coef_, self.encoded_intercept_)[None]
        return np.asarray(self._linear(theta, X)[:, 0])

    def _loss_for(self, n_classes: int | None) -> Loss:
        return get_loss(self.loss)
