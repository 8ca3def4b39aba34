"""Plan of a release: noise of each query, from a budget or from target standard errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils import validation
from rashomon_explorer.data import TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError, HiddenAnswerWarning, warn_stacklevel
from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.measures.reliance.set_reliance import find_trees
from rashomon_explorer.mechanisms.planner import warn_if_delta_is_large
from rashomon_explorer.networks.sets import AnyRelease, NetworkSet
from rashomon_explorer.privacy import Guarantee, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.conversions import gdp_mu, zcdp_rho
from rashomon_explorer.release.catalogue import get_queries
from rashomon_explorer.release.losses import loss_ranges
from rashomon_explorer.release.query import PublicShape, Query, Sensitivity
from rashomon_explorer.release.statistic import GAUSSIAN, GUMBEL, LAPLACE, Noise, noise_scale
from rashomon_explorer.sets import RashomonSet

_MODELS_ARE_PUBLIC = "the models are a release of their own, charged apart"
_GAUSSIAN = "Gaussian mechanism (Theorem 2.7 of Dong, Roth and Su 2022)"
_SELECTION = "exponential mechanism (Lemma 3.5 of Cesar and Rogers 2021)"
_LAPLACE = "Laplace mechanism (Proposition 1 of Dwork, McSherry, Nissim and Smith 2006)"


@dataclass(frozen=True)
class Budget:
    """Privacy budget of all queries of a release, in one of three forms.

    Parameters
    ----------
    epsilon, delta : float, optional
        (ε, δ): Laplace noise if δ = 0, Gaussian noise otherwise.
    rho : float, optional
        ρ of zCDP: Gaussian noise, of μ = √(2ρ) in Gaussian DP.
    standard_error : float or mapping of str to float, optional
        Standard deviation of the noise on each number of a query, for all or by name. The privacy
        cost follows from it. Gaussian noise.

    Raises
    ------
    ValueError
        If not exactly one budget is given, or one is out of range.

    Examples
    --------
    >>> round(Budget(rho=0.02).mu_total(ledger=True), 6)
    0.2
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    standard_error: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        prices = {"epsilon": self.epsilon, "rho": self.rho}
        forms = {**prices, "standard_error": self.standard_error}
        passed = [name for name, value in forms.items() if value is not None]
        if len(passed) != 1:
            raise ValueError(f"give exactly one of {list(forms)}, got {passed or 'none'}")
        for name, value in prices.items():
            if value is not None:
                validation.check_positive(**{name: value})
        if self.epsilon is not None:
            validation.check_epsilon(self.epsilon)
        validation.check_delta(self.delta)
        if self.delta and self.epsilon is None:
            raise ValueError("delta belongs to epsilon: omit it with rho or standard_error")

    @property
    def is_pure(self) -> bool:
        """Whether the noise is Laplace."""
        return self.epsilon is not None and self.delta == 0

    def mu_total(self, *, ledger: bool) -> float:
        """μ of all queries together.

        A ledger counts zCDP, in which (ε, δ) allows a slightly smaller μ than in Gaussian DP.
        """
        if self.rho is not None:
            return math.sqrt(2 * self.rho)
        assert self.epsilon is not None
        if ledger:
            return math.sqrt(2 * zcdp_rho(self.epsilon, self.delta))
        return gdp_mu(self.epsilon, self.delta)


@dataclass(frozen=True)
class QueryCost:
    """Noise of one query, and its share of the privacy cost."""

    noise: Noise
    share: float  # of the total cost, in the additive notion: ε of pure DP, μ² of Gaussian DP


def release_costs(
    queries: Sequence[Query],
    sensitivities: Sequence[Sensitivity],
    budget: Budget,
    weights: Mapping[str, float] | None = None,
    *,
    ledger: bool = True,
) -> tuple[tuple[QueryCost, ...], Guarantee]:
    """Noise of each query, and the joint guarantee of all queries."""
    if budget.standard_error is not None:
        if weights is not None:
            raise ValueError("weights divide a budget: omit them with standard_error")
        errors = _by_name("standard_error", queries, budget.standard_error)
        mus = [sens.l2 / error for sens, error in zip(sensitivities, errors, strict=True)]
        total = math.hypot(*mus)
        noises = [Noise(noise_scale(error, 1.0)) for error in errors]
        shares = [mu * mu / (total * total) if total else 0.0 for mu in mus]
        return tuple(map(QueryCost, noises, shares)), _stated(gdp(total), [_GAUSSIAN])
    shares = [1 / len(queries)] * len(queries)
    if weights is not None:
        values = _by_name("weights", queries, weights)
        shares = [value / math.fsum(values) for value in values]
    each = list(zip(sensitivities, shares, strict=True))
    if budget.is_pure:
        epsilon = budget.epsilon or 0.0
        noises = [Noise(noise_scale(sens.l1, epsilon * share), LAPLACE) for sens, share in each]
        total_cost, theorem, selection = pure(epsilon), _LAPLACE, bounded_range(epsilon)
    else:
        mu = budget.mu_total(ledger=ledger)
        noises = [Noise(noise_scale(sens.l2, mu * math.sqrt(share))) for sens, share in each]
        total_cost, theorem, selection = gdp(mu), _GAUSSIAN, zcdp(mu * mu / 2)
    noises = list(map(_noise_of_kind, queries, noises))
    selects = [noise.kind == GUMBEL for noise in noises]
    if all(selects) or (any(selects) and not budget.is_pure):
        total_cost = selection  # a selection is not Gaussian DP, and adds up better than pure DP
    theorems = [theorem] * (not all(selects)) + [_SELECTION] * any(selects)
    return tuple(map(QueryCost, noises, shares)), _stated(total_cost, theorems)


def _noise_of_kind(query: Query, noise: Noise) -> Noise:
    """Noise of the same scale, and by the query's sensitivity of the same cost, of its kind."""
    if query.noise_kind == GUMBEL:
        return Noise(noise.scale, GUMBEL)
    if query.noise_kind == GAUSSIAN != noise.kind:
        raise ValueError(
            f"{query.name} needs Gaussian noise, which pure DP does not have: pass rho=, or "
            "epsilon= with delta="
        )
    return noise


def _stated(guarantee: Guarantee, theorems: Sequence[str]) -> Guarantee:
    assumptions = (*guarantee.assumptions, _MODELS_ARE_PUBLIC)
    return replace(guarantee, theorem=", and ".join(theorems), assumptions=assumptions)


def _by_name(
    what: str, queries: Sequence[Query], values: float | Mapping[str, float]
) -> list[float]:
    names = [query.name for query in queries]
    by_name = values if isinstance(values, Mapping) else dict.fromkeys(names, values)
    if sorted(by_name) != sorted(names):
        raise ValueError(f"{what} must name the queries {names}, got {list(by_name)}")
    for name in names:
        try:
            validation.check_positive(**{what: by_name[name]})
        except ValueError as error:
            raise ValueError(f"{error} for {name}") from None
    return [float(by_name[name]) for name in names]


def paid_models(models: object) -> AnyRelease:
    """Draws with a guarantee, of a release, a curator's set or a fitted estimator; else raise."""
    models = fitted_set(models)
    if isinstance(models, RashomonSet | NetworkSet) or find_trees(models) is not None:
        # The warning about the aggregates comes later.
        models = models.release(warn=False) if hasattr(models, "release") else models
    if not isinstance(models, AnyRelease):
        raise TypeError(
            "release needs private draws, a ReleasedSet, ReleasedTrees, ReleasedNetworks or their "
            f"curator's set, got {type(models).__name__}: other models depend on the rows without "
            "privacy"
        )
    if not models.guarantee.holds:
        raise CuratorOnlyError(f"these draws cannot be released: {models.guarantee}")
    if not models.n_draws:
        raise ValueError("the set has no models, so there is nothing to measure")
    return models


def is_unfitted(models: object) -> bool:
    """Whether the models are an estimator whose declarations alone answer a query."""
    return hasattr(models, "declared_set") and not hasattr(models, "rashomon_set_")


def _declared_models(estimator: Any, table: Any, n_rows: int) -> AnyRelease:
    """Return the declared set of an unfitted estimator, for a table or its schema's columns."""
    labels = np.broadcast_to(0.0, n_rows)  # one number in memory, and never read
    if not isinstance(table, Integral):
        return estimator.declared_set(table, labels)
    if estimator.schema is None:
        raise ValueError(
            "an unfitted estimator without a schema does not know its columns: pass the table in "
            "place of n_rows; only its shape and names are read"
        )
    names = [column.name for column in TableSchema.from_schema_or_path(estimator.schema).features]
    blank = np.broadcast_to(np.nan, (n_rows, len(names)))
    return estimator.declared_set(pd.DataFrame(blank, columns=names, copy=False), labels)


_LEAST_SHARE = 2.0**-40  # relative to the largest term; means in doubles are right to about 2⁻⁵⁰


def query_sensitivities(queries: Sequence[Query], public: PublicShape) -> tuple[Sensitivity, ...]:
    """Sensitivity of each query: 0, or well above the rounding error of a mean."""
    sensitivities = tuple(query.sensitivity(public) for query in queries)
    ends = public.models.target_bounds if public.models.task == "regression" else (1.0,)
    losses = loss_ranges(public)[1] if public.n_draws else [0.0]
    largest_term = max(1.0, *map(math.fabs, ends), *map(float, losses))  # at least a probability
    smallest = _LEAST_SHARE * largest_term
    for query, sensitivity in zip(queries, sensitivities, strict=True):
        if 0 < sensitivity.l2 < smallest:
            raise ValueError(
                f"{query.name} changes by at most {sensitivity.l2:.2g} when a record is replaced, "
                f"less than {smallest:.2g}, which is close to rounding errors: the draws almost "
                "coincide on rows of this norm, so omit the query"
            )
    return sensitivities


@dataclass(frozen=True)
class ReleasePlan:
    """Noise and privacy cost of a planned release."""

    public: PublicShape
    queries: tuple[Query, ...]
    sensitivities: tuple[Sensitivity, ...]
    costs: tuple[QueryCost, ...]
    guarantee: Guarantee

    @property
    def noises(self) -> dict[str, Noise]:
        """Noise of each query, by name."""
        names = (query.name for query in self.queries)
        return dict(zip(names, (cost.noise for cost in self.costs), strict=True))

    @property
    def hidden(self) -> dict[str, str]:
        """Reasons why the noise hides answers whatever the rows say, by query."""
        pairs = zip(self.queries, self.costs, strict=True)
        reasons = {query.name: query.hidden(self.public, cost.noise) for query, cost in pairs}
        return {name: reason for name, reason in reasons.items() if reason}

    def table(self) -> pd.DataFrame:
        """Table of sensitivity, standard deviation of the noise and share of the cost by query."""
        rows = {
            query.name: {
                "sensitivity": sensitivity.l1 if cost.noise.kind == LAPLACE else sensitivity.l2,
                "standard_error": cost.noise.deviation,
                "price_share": cost.share,
            }
            for query, sensitivity, cost in zip(
                self.queries, self.sensitivities, self.costs, strict=True
            )
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("query")


def planned(
    public: PublicShape,
    queries: Sequence[str | Query],
    budget: Budget,
    weights: Mapping[str, float] | None,
    *,
    by_zcdp: bool,
    secure: bool = False,
) -> ReleasePlan:
    """Plan from public numbers; an error or warning comes before a row is read."""
    queries = get_queries(queries)
    for query in queries:
        query.check(public)
        if query.noise_kind and budget.standard_error is not None:
            raise ValueError(
                f"{query.name} has no single standard_error: pass epsilon=, with delta= if wanted, "
                "or rho="
            )
        if query.noise_kind == GUMBEL and secure:
            raise ValueError(f"{query.name} has no secure noise: release it by itself")
    by_zcdp |= any(query.noise_kind == GUMBEL for query in queries)
    warn_if_delta_is_large(budget.delta, public.n_rows)
    sensitivities = query_sensitivities(queries, public)
    costs, guarantee = release_costs(queries, sensitivities, budget, weights, ledger=by_zcdp)
    for query, cost in zip(queries, costs, strict=True):
        query.check_noise(public, cost.noise)
    plan = ReleasePlan(public, queries, sensitivities, costs, guarantee)
    for name, reason in plan.hidden.items():
        warnings.warn(
            f"{name}: the noise hides {reason}. Nothing is spent yet",
            HiddenAnswerWarning,
            stacklevel=warn_stacklevel(),
        )
    return plan


def plan_release(
    models: Any,
    n_rows: Any,
    *,
    queries: Sequence[str | Query],
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    standard_error: float | Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    categories: Sequence[Any] = (),
    ledger: bool = True,
) -> ReleasePlan:
    """Plan a release from public numbers, which has no privacy cost.

    Parameters
    ----------
    models : ReleasedSet, ReleasedTrees, ReleasedNetworks, their curator's set or estimator
        An unfitted ``RashomonClassifier`` or ``RashomonRegressor`` for queries without draws.
    n_rows : int or table
        Number of private rows, or the table, of which only shape and names are read. An unfitted
        estimator without a schema needs the table.
    queries, epsilon, delta, rho, standard_error, weights, categories
        As for :func:`~rashomon_explorer.release.release`.
    ledger : bool, default=True
        Whether a ledger will be charged that counts zCDP, as all but those created with
        ``accounting="gdp"`` do.

    Raises
    ------
    ValueError
        If a query is refused or does not fit the models, or a number is out of range.

    Warns
    -----
    HiddenAnswerWarning
        If the noise hides answers whatever the rows say; ``hidden`` has the reasons.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_.release()
    >>> planned = plan_release(
    ...     models, 10_000, queries=["ambiguity", "mean_accuracy"], epsilon=0.1
    ... )
    >>> planned.table()["standard_error"].round(5).tolist()
    [0.00283, 0.00283]
    >>> wanted = plan_release(models, 10_000, queries=["ambiguity"], standard_error=0.001)
    >>> round(wanted.guarantee.mu, 3)
    0.1
    """
    shape = validation.public_shape(n_rows, 2)
    n = n_rows if shape is None else shape[0]
    validation.check_count(n_rows=n)
    models = _declared_models(models, n_rows, n) if is_unfitted(models) else paid_models(models)
    public = PublicShape(models, n, True, bool(categories), tuple(categories))
    budget = Budget(epsilon, delta, rho, standard_error)
    return planned(public, queries, budget, weights, by_zcdp=ledger)
