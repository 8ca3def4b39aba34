"""Release of aggregates: reserve and start a charge, compute, add noise, commit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from rashomon_explorer._utils import containers, randomness, taint, validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.encoder import UnitEncoder, declared_labels, encoded_rows, find_features
from rashomon_explorer.estimators.pipelines import privacy_leaks
from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.measures.inputs import preprocessing
from rashomon_explorer.mechanisms.planner import warn_if_weak
from rashomon_explorer.networks.models import OWN_MODEL, is_shipped
from rashomon_explorer.networks.sets import AnyRelease, ReleasedNetworks
from rashomon_explorer.privacy import Guarantee, Ledger
from rashomon_explorer.privacy.guarantee import ONE_BY_ONE
from rashomon_explorer.privacy.ledger.charge import failure_assumption
from rashomon_explorer.privacy.ledger.tables import record_charged_table
from rashomon_explorer.release import plan as planning
from rashomon_explorer.release.query import PublicShape, Query, Rows, Sensitivity
from rashomon_explorer.release.released import Answer, ReleasedAggregates
from rashomon_explorer.release.secure import add_exactly, check_secure, secure_guarantee
from rashomon_explorer.release.statistic import GUMBEL, on_grid
from rashomon_explorer.rows.source import read_mapped
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees, scores

_USUAL_DELTA = 1e-6


def release(
    models: Any,
    X: Any,
    y: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    queries: Sequence[str | Query],
    ledger: Ledger | str | PathLike[str] | None,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    standard_error: float | Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    categories: Sequence[Any] = (),
    random_state: int | None = None,
    secure: bool = False,
    note: str = "",
    warn: bool = True,
) -> ReleasedAggregates:
    """Release aggregates of private rows with noise, charged to a ledger.

    The draws are public, because their own guarantee covers them. Each aggregate is thus a function
    of the rows with known models in it. One record of n changes it by O(1/n); the docstring of each
    query proves the bound. Gaussian or Laplace noise of proportional scale makes it differentially
    private. The cost is reserved before a row is read and stays spent from then on, also after an
    error. The exact values are never returned.

    Parameters
    ----------
    models : a release, the curator's set of it, or fitted estimator
        Draws with a guarantee, linear, trees or networks, or the estimator that drew them, also at
        the end of a pipeline whose steps are public. They are not charged again. For ``LeastPsi``,
        which uses no draws, also an unfitted ``RashomonClassifier`` or ``RashomonRegressor``.
    X : array-like or DataFrame of shape (n_rows, n_columns)
        Private rows: the table that the estimator took, which is encoded by the declared schema
        alone, or encoded rows. Their number is public.
    y : array-like of shape (n_rows,), optional
        Labels or targets, as passed to the estimator.
    groups : array-like of shape (n_rows,), optional
        Group of each row; requires ``categories``.
    queries : sequence of str or Query
        Keys of ``QUERIES``, or queries with options.
    ledger : Ledger, path or None
        Ledger to which the cost is charged. None must be passed explicitly: then only the returned
        guarantee records the cost.
    epsilon, delta : float, optional
        Budget of all queries together: Laplace noise if δ = 0, Gaussian noise otherwise.
    rho : float, optional
        Budget in zCDP instead; without a ledger ρ is √(2ρ)-Gaussian DP.
    standard_error : float or mapping of str to float, optional
        Standard deviation of the noise, for all queries or by name, instead of a budget. The cost
        follows from it and is charged.
    weights : mapping of str to float, optional
        Share of the budget of each query, by name; equal by default.
    categories : sequence, optional
        Declared groups; they are not inferred from the rows. Rows of other groups are counted in
        no group.
    random_state : int, optional
        A known seed: the result is reproducible, and not private towards those who know it.
    secure : bool, default=False
        Whether noise is drawn exactly, in integers, by OpenDP (the extra ``[secure]``), so that
        no bit of an answer reveals more than the guarantee allows (docs/floating-point.md). It has
        no seed; Gaussian noise is then charged as zCDP.
    note : str, default=""
        Free text for the ledger.

    Raises
    ------
    BudgetExceededError
        If the ledger refuses the charge; nothing was read and nothing was spent.
    CuratorOnlyError
        If the models have no guarantee, the rows depend on data-dependent values, or a pipeline's
        step is not known to prepare each row by itself.
    DataError
        If the columns are not those of the models; decided by names and shape.
    TypeError
        If ``models`` is neither a set of private draws nor their estimator.
    ValueError
        If a query is refused or does not fit the models, or a budget is out of range; nothing was
        read. Without a ledger also if a row contains NaN or an unknown label.
    FitError
        For any error that the rows cause after a ledger was charged. The cost stays spent, because
        the error depends on the rows. The reason is in ``error.detail``, for the curator only.

    Warns
    -----
    WeakGuaranteeWarning
        If the draws' plan guarantees so little that they may lie far outside the Rashomon set.
        The aggregates of draws then describe the mechanism, not the set.
    HiddenAnswerWarning
        If the noise hides answers whatever the rows say. As an error it leaves the budget unspent.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 500, [1, 1, 0, 0] * 500
    >>> fit = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y)
    >>> models = fit.rashomon_set_.release()
    >>> released = release(
    ...     models, X, y, queries=["ambiguity", "least_loss"], epsilon=1.0, ledger=None,
    ...     random_state=0,
    ... )
    >>> sorted(released.table().columns)[:4]
    ['estimate', 'high', 'low', 'note']
    >>> released.guarantee.pure_epsilon, released.guarantee.seeded
    (1.0, True)
    """
    public, encoding = _public(models, X, y, groups, categories, charged=ledger is not None)
    budget = planning.Budget(epsilon, delta, rho, standard_error)
    if secure:
        check_secure(random_state)
    book = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger)
    by_zcdp = secure or (book is not None and book.accounting != "gdp")
    plan = planning.planned(public, queries, budget, weights, by_zcdp=by_zcdp, secure=secure)
    drawn: Any = None  # the plan of draws without selection, which would change their law
    if not isinstance(public.models, ReleasedTrees) and public.models.as_drawn:
        drawn = public.models.plan if any(query.fewest_draws for query in plan.queries) else None
    if drawn is not None and warn:
        warn_if_weak(drawn, "the release from these draws")
    guarantee = _with_assumptions(plan, random_state, secure=secure, charged=ledger is not None)
    charge = None
    if book is not None:
        parameters = {
            "n": public.n_rows,
            "n_draws": public.n_draws,
            "secure": secure,
            "queries": {
                name: {"noise": noise.law, "scale": noise.scale}
                for name, noise in plan.noises.items()
            },
        }
        note = note or f"release: {', '.join(plan.noises)}"
        charge = book.reserve(guarantee, note=note, parameters=parameters)

    def answer() -> tuple[Answer, ...]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whether an encoder warns depends on the rows
            targets = encoding.labels(read_mapped(containers.rows_like(X, "y", y)))
            encoded = encoding(read_mapped(X)), targets
        rows = Rows.read(public, *encoded, read_mapped(containers.rows_like(X, "groups", groups)))
        if charge is not None:
            record_charged_table(charge.path, rows.X)
        return _answers(plan, rows, randomness.generator(random_state), secure)

    answers = answer() if charge is None else charge.run(answer)
    # δ at which ε is reported: that of the budget, or a default for Gaussian noise.
    reporting_delta = budget.delta
    if not (budget.is_pure or budget.delta):
        ledger_budget = None if book is None else book.budget
        has_delta = ledger_budget is not None and not math.isclose(ledger_budget[1], 0.0)
        reporting_delta = ledger_budget[1] if ledger_budget and has_delta else _USUAL_DELTA
    return ReleasedAggregates(
        answers,
        guarantee,
        public.models.guarantee,
        None if charge is None else charge.id,
        public.n_rows,
        public.n_draws,
        reporting_delta,
        doubt="" if drawn is None else drawn.weakness,
    )


def _answers(
    plan: planning.ReleasePlan, rows: Rows, rng: np.random.Generator, secure: bool
) -> tuple[Answer, ...]:
    """Compute every query; return noisy values only."""
    queries = list(zip(plan.queries, plan.costs, strict=True))
    with warnings.catch_warnings():
        # Whether a computation warns depends on the rows.
        warnings.simplefilter("ignore")
        return tuple(
            _answer(query, cost, rows, rng, secure) for query, cost in progress(queries, "release")
        )


def _answer(
    query: Query, cost: planning.QueryCost, rows: Rows, rng: np.random.Generator, secure: bool
) -> Answer:
    noise = cost.noise

    def add_noise(values: FloatArray, sensitivity: Sensitivity) -> FloatArray:
        nonlocal noise
        if secure:
            values, noise = add_exactly(values, sensitivity, cost.noise)
            return values
        noisy = values + noise.draw(rng, len(values))
        return noisy if noise.kind == GUMBEL else on_grid(noisy, noise)

    noisy = query.noisy(rows, noise, add_noise)
    return Answer(
        query.name,
        query.definition,
        query.statistics(noisy, noise, rows.public),
        cost.share,
        f"{noise.law}, scale {noise.scale:.4g}",
    )


def _public(
    models: object,
    X: Any,
    y: ArrayLike | None,
    groups: ArrayLike | None,
    categories: Sequence[Any],
    *,
    charged: bool,
) -> tuple[PublicShape, Encoding]:
    """Public numbers that may be used before the charge starts: shapes and names, but no values."""
    # Without the schema, a cell that no encoded row has is clipped: a check after the charge would
    # raise an error that depends on a row.
    if planning.is_unfitted(models):
        paid = models.declared_set(X, y)  # type: ignore[attr-defined]
    else:
        paid = planning.paid_models(models)
    released = replace(paid, schema=None)
    if leak := taint.find_leak(X, y, groups):
        raise CuratorOnlyError(f"aggregates of these rows cannot be released: {leak}")
    declared = tuple(categories)
    public = PublicShape(released, 0, y is not None, groups is not None, declared)
    shape = _shape("X", X, 2, charged)
    if len(shape) != 2 or not shape[0]:
        raise ValueError(f"X must have rows and columns, got shape {shape}")
    encoding = Encoding.planned(models, replace(public, models=paid), X, shape[1])
    for name, column in (("y", y), ("groups", groups)):
        length = shape[:1] if column is None else _shape(name, column, 1, charged)
        if length != shape[:1]:
            raise ValueError(
                f"{name} must have one entry for each of {shape[0]} rows, got {length}"
            )
    if (groups is None) == bool(declared) or len(set(declared)) < len(declared):
        raise ValueError(
            "groups and categories go together: declare every group once, categories=('a', 'b'); "
            "the groups are not inferred from the rows"
        )
    return replace(public, n_rows=shape[0]), encoding


def _shape(name: str, values: Any, dimensions: int, charged: bool) -> tuple[int, ...]:
    shape = validation.public_shape(values, dimensions)
    if shape is None and charged:
        raise TypeError(
            f"{name} has no shape, and a ledger must be charged before a value is read: pass an "
            f"array, a DataFrame or a list, got {type(values).__name__}"
        )
    return np.asarray(values).shape if shape is None else shape


def _with_assumptions(
    plan: planning.ReleasePlan, random_state: int | None, *, secure: bool, charged: bool
) -> Guarantee:
    """Guarantee with the assumptions on the noise, the queries and the returned result."""
    guarantee = secure_guarantee(plan.guarantee) if secure else plan.guarantee
    stated, models = [*guarantee.assumptions], plan.public.models
    if random_state is not None:
        guarantee = guarantee.with_seed()
    elif not secure:
        stated += randomness.noise_assumptions()
    stated += [assumption for query in plan.queries for assumption in query.assumptions]
    if isinstance(models, ReleasedNetworks) and not is_shipped(models.models.model):
        stated.append(OWN_MODEL)
    stated += [ONE_BY_ONE, failure_assumption("release", charged=charged)]
    return replace(guarantee, assumptions=tuple(dict.fromkeys(stated)))


@dataclass(frozen=True, eq=False)
class Encoding:
    """Map from the rows that were given to those that the models take, each row by itself."""

    # Chosen by names and shape before a charge, and applied after it. Tables that differ in one
    # record are mapped to tables that differ in one record, so that the sensitivity of a query of
    # encoded rows is that of the query of the table.
    models: AnyRelease  # with the public part of their schema
    steps: Any = None  # transformation by the steps of a pipeline
    is_raw: bool = False  # whether the schema then encodes the rows
    columns: tuple[str, ...] = ()  # names of encoded rows, in the order of the models

    @classmethod
    def planned(cls, models: Any, public: PublicShape, X: Any, width: int) -> Encoding:
        """Choose the encoding by the names and the number of columns; raise if none fits."""
        steps, paid, schema = preprocessing(models), public.models, public.models.schema
        if steps is not None:
            _refuse_other_steps(models, width)
            return cls(paid, steps, schema is not None)
        if schema is None or not _is_raw(schema, X, width, paid, is_fitted=hasattr(models, "fit")):
            names = public.columns
            if width != len(names):
                raise ValueError(f"X must have shape (n_rows, {len(names)}), got {width} columns")
            scores.rows_by_name(X, names, schema)
            return cls(paid, columns=tuple(names))
        find_features(schema, X)
        return cls(paid, None, is_raw=True)

    def __call__(self, X: Any) -> Any:
        """Return encoded rows; those of linear models are clipped where they are scored."""
        rows = X if self.steps is None else self.steps(X)
        schema = self.models.schema
        if not self.is_raw or schema is None:
            return scores.rows_by_name(rows, self.columns, schema) if self.columns else rows
        if isinstance(self.models, ReleasedSet | ReleasedNetworks):
            return encoded_rows(schema, rows, self.models.row_norm)
        return UnitEncoder(schema).transform(rows)

    def labels(self, y: Any) -> Any:
        """Return targets as the models have them: labels as the schema writes them."""
        schema = self.models.schema
        if y is None or schema is None or schema.classes is None:
            return y
        return declared_labels(schema, y)


def _is_raw(schema: TableSchema, X: Any, width: int, paid: AnyRelease, *, is_fitted: bool) -> bool:
    """Whether a table is raw, by names and width alone: values and their types are private."""
    if containers.column_labels(X) is not None:
        return not scores.is_encoded(schema, X)
    if not isinstance(paid, ReleasedTrees) and scores.is_ambiguous(schema, X):
        if not is_fitted:
            raise DataError(scores.AMBIGUOUS)
        return True
    return not isinstance(X, scores.EncodedRows) and width != len(schema.encoded_names)


def _refuse_other_steps(pipeline: Any, width: int) -> None:
    """Raise unless a pipeline's earlier steps are public and take as many columns."""
    leaks = privacy_leaks(Pipeline(pipeline.steps[:-1]))
    if leaks:
        raise CuratorOnlyError(
            f"aggregates of these rows cannot be released: {'; '.join(leaks)}. Fit with steps that "
            "prepare each row by itself, such as PublicBoundsScaler, or with schema=..."
        )
    n_features = getattr(pipeline, "n_features_in_", width)
    if width != n_features:
        raise ValueError(f"X must have shape (n_rows, {n_features}), got {width} columns")
