"""The best of several private models, chosen by rows that none of them saw, and paid for once."""

import os
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state

from rashomon_explorer.arrays import on_host
from rashomon_explorer.estimators.candidates import Grid, at_price, candidates_of, settings_of
from rashomon_explorer.estimators.chosen_model import ChosenModel
from rashomon_explorer.estimators.classes import (
    LABELS_ARE_PUBLIC,
    check_charged_classes,
    class_codes,
    classes_found,
    found_classes,
    known_classes,
)
from rashomon_explorer.estimators.declared_budget import (
    DELTA,
    EPSILON,
    check_budget,
)
from rashomon_explorer.estimators.enclosing import learnt_before
from rashomon_explorer.estimators.pipelines import pays_for_rows
from rashomon_explorer.estimators.search_fits import Fits
from rashomon_explorer.estimators.search_sides import (
    Sides,
    target_bounds_of,
    warn_if_weak_search,
)
from rashomon_explorer.estimators.search_ways import Asked, as_parameters, planned_search
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.estimators.warn import warn_if_uncharged, warn_of_a_leak
from rashomon_explorer.estimators.weights import refuses_weights
from rashomon_explorer.leaks import leak_of
from rashomon_explorer.planning.warn_weak import said_elsewhere, warn_of_large_delta
from rashomon_explorer.privacy import Guarantee, Ledger, may_fail, no_guarantee
from rashomon_explorer.privacy.ledger.tables import recognise
from rashomon_explorer.selection import WAYS, SearchPlan
from rashomon_explorer.shapes import accepts_table
from rashomon_explorer.sklearn_compat import HasMethods, Interval, StrOptions, fit_context
from rashomon_explorer.tuning.split import validation_rows


@pays_for_rows
class PrivateSearch(ChosenModel):
    """Try several private models and keep the best by held-out rows, paid for once.

    ``GridSearchCV`` over a private estimator pays for every fit of every fold, and the scores by
    which it chooses tell of rows. Here every k-th row scores and the others are fitted, so that a
    record is on one side only and pays for that side. Either all candidates are fitted, at prices
    that add up, and one is picked privately; or candidates are run at random, a random number of
    times, and the best is kept, for two or three times the price of one, however many there are.
    Public numbers decide (docs/private-search.md).

    Parameters
    ----------
    estimator : estimator
        A private estimator of this package: :class:`DPClassifier`, :class:`DPRegressor`,
        :class:`RashomonClassifier`, :class:`RashomonRegressor`, :class:`RashomonTreeClassifier`
        or :class:`DPBilevelSearch`, without a ledger. Its own ``epsilon``, ``delta`` and
        ``random_state`` are the search's to set.
    param_grid : dict of str to list, or list of dict
        Settings to try, as for ``GridSearchCV``; ``"estimator"`` among them tries others.
    epsilon, delta : float, default=1.0 and 1e-6
        Total price of one fit: all candidates and the choice.
    val_fraction : float, default=0.2
        Share of the rows that score, evenly spread over the table by place: public.
    way : {"auto", "every", "geometric", "logarithmic"}, default="auto"
        How it is paid for; ``plan_.why`` says what was taken.
    mean_fits : float, default=None
        Mean number of fits of the ways that run at random; by default ten a candidate.
    ledger, random_state
        As for :class:`DPClassifier`.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen one, fitted on the rows that do not score.
    best_params_ : dict
        Its settings.
    best_index_ : int
        Its place among ``plan_.candidates``.
    estimators_ : list of estimators
        With ``way="every"`` all of them: all are paid for.
    guarantee_ : Guarantee
        Of everything above.
    plan_ : SearchPlan
    classes_, n_features_in_, feature_names_in_
        As ``best_estimator_`` has them.

    Notes
    -----
    No score is kept: nobody paid for it. The score is the share of wrong labels, or the mean
    squared error of targets and predictions that are cut to the declared bounds.

    Examples
    --------
    >>> from rashomon_explorer import RashomonTreeClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> trees = RashomonTreeClassifier(thresholds=0.0, n_draws=1)
    >>> search = PrivateSearch(trees, {"max_leaves": [2, 3, 4]}, epsilon=1.0, random_state=0)
    >>> planned = search.plan(*data.X.shape)
    >>> planned.way, round(planned.each[0], 2), planned.score_regret < 0.001
    ('every', 0.33, True)
    >>> fitted = search.fit(data.X, data.y)
    >>> fitted.best_params_["max_leaves"] > 2, fitted.guarantee_.epsilon(1e-6) <= 1.0
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "plan"])],
        "param_grid": [dict, list],
        "epsilon": [EPSILON],
        "delta": [DELTA],
        "val_fraction": [Interval(Real, 0, 1, closed="neither")],
        "way": [StrOptions({"auto", *WAYS})],
        "mean_fits": [Interval(Real, 1, None, closed="neither"), None],
        "ledger": [str, os.PathLike, Ledger, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Grid,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        val_fraction: float = 0.2,
        way: str = "auto",
        mean_fits: float | None = None,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.val_fraction = val_fraction
        self.way = way
        self.mean_fits = mean_fits
        self.ledger = ledger
        self.random_state = random_state

    @property
    def schema(self) -> Any:
        """The estimator's declaration of the table."""
        return getattr(self.estimator, "schema", None)

    @property
    def _row_norm(self) -> float:
        return float(getattr(self.estimator, "_row_norm", getattr(self.estimator, "row_norm", 1.0)))

    @accepts_table
    def plan(self, n_samples: int, n_features: int | None = None) -> SearchPlan:
        """Plan what the budget buys on so many rows; reads none and costs nothing.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or in their place the table, which is not read. A schema
            knows how many columns it becomes.

        Returns
        -------
        SearchPlan
            Way, price of each fit, what every candidate promises, and what the choice may lose.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        SamplerError
            If no way to pay applies, or no method of a candidate.

        Warns
        -----
        WeakGuaranteeWarning
            If even the candidate that promises most promises little.
        """
        columns = self._n_encoded(n_features)
        return self._planned(n_samples, columns, self._candidates())

    @refuses_weights
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike) -> "PrivateSearch":
        """Charge the ledger, fit the candidates and choose.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
            With the choice in ``best_estimator_`` and what all of it cost in ``guarantee_``.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the price; nothing was fitted or spent.
        FitError
            After a ledger was charged, for whatever the rows cause; the price stays spent.
        ValueError, SamplerError
            If parameters, declared bounds or shapes cannot be used; nothing was read or spent.
            Without a ledger also for what the rows cause.
        """
        candidates = self._candidates()
        several = is_classifier(candidates[0])
        table = self._table(X, y, numeric=not several)
        leak = leak_of(X, y) or learnt_before(self) or table.unconfirmed
        found = several and self._declare_classes(candidates, table)
        width = None if several else target_bounds_of(candidates)
        planned = self._planned(*table.shape, candidates)
        guarantee = no_guarantee(leak) if leak else self._of_fit(planned.guarantee, found)
        if self.ledger is not None:
            warn_if_uncharged(guarantee, leak)
        charge = self._charged(
            guarantee,
            note=f"{type(self).__name__}, {len(candidates)} candidates",
            parameters=as_parameters(planned),
        )

        def draw() -> dict[str, Any]:
            if charge is not None:
                recognise(charge.path, table.values[0])
            sides = Sides(
                on_host(X), on_host(y), table, validation_rows(planned.n, self.val_fraction), width
            )
            return self._chosen(sides, candidates, planned, guarantee)

        fitted = draw() if charge is None else charge.run(draw)
        for name in ("estimators_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)
        self._hold(fitted)
        return self

    def _look_through(self, X: Any, y: Any) -> None:
        candidates = self._candidates()
        several = is_classifier(candidates[0])
        table = self._table(X, y, numeric=not several)
        labels = table.values[1]
        if several:
            self._declare_classes(candidates, table)
            known = known_classes(candidates[0].classes, self._declared)
            class_codes(labels, found_classes(labels) if known is None else known)

    def _candidates(self) -> list[Any]:
        made = candidates_of(self.estimator, settings_of(self.param_grid))
        seed = None if self.random_state is None else 0  # the guarantee says that one is known
        for one in made:
            if one.schema is not self.schema and one.schema != self.schema:
                raise ValueError("candidates must share one schema: the table is read once")
            one.set_params(random_state=seed)
        return made

    def _planned(self, n_samples: int, n_features: int, candidates: list[Any]) -> SearchPlan:
        check_budget(self)
        warn_of_large_delta(self.delta, n_samples)
        held_out = int(validation_rows(n_samples, self.val_fraction).sum())
        asked = Asked(
            n_samples - held_out,
            held_out,
            self.epsilon,
            self.delta,
            len(candidates),
            self.mean_fits,
        )
        settings = settings_of(self.param_grid)
        shape = (asked.n_train, n_features)
        planned = planned_search(
            asked, lambda each: at_price(candidates, settings, shape, each), self.way
        )
        warn_if_weak_search(planned)
        return planned

    def _declare_classes(self, candidates: list[Any], table: UnreadTable) -> bool:
        """Give every candidate the same classes; True if they were found among the labels."""
        declared = [known_classes(one.classes, self._declared) for one in candidates]
        if self.ledger is not None:
            for one in candidates:
                check_charged_classes(one.classes, self._declared)
        if all(known is not None for known in declared):
            if len({tuple(known.tolist()) for known in declared if known is not None}) > 1:
                raise ValueError("candidates must share their classes")
            return any(classes_found(one.classes, self._declared) for one in candidates)
        labels = found_classes(table.values[1]).tolist()
        for one in candidates:
            one.set_params(classes=labels)
        return True

    def _of_fit(self, guarantee: Guarantee, found: bool) -> Guarantee:
        """State what is so of the search and not of a candidate alone."""
        returned = {charged: may_fail("fit", charged=charged) for charged in (False, True)}
        known = [one for one in guarantee.assumptions if one != returned[False]]
        ours = [returned[self.ledger is not None], *[LABELS_ARE_PUBLIC] * found]
        return replace(guarantee, assumptions=(*known, *ours))

    def _chosen(
        self, sides: Sides, candidates: list[Any], planned: SearchPlan, guarantee: Guarantee
    ) -> dict[str, Any]:
        """Read the rows, fit and choose; the fitted attributes."""
        if guarantee.holds and (leak := sides.table.leak):
            warn_of_a_leak(leak)
            guarantee = no_guarantee(leak)
        rng = self._generator()
        with said_elsewhere():
            fits = Fits(sides, candidates, planned, rng, self.random_state is not None)
            place, best, all_of_them = fits.chosen()
        lost = [one.guarantee_.theorem for one in all_of_them if not one.guarantee_.holds]
        if lost and guarantee.holds:
            guarantee = no_guarantee(lost[0])
        public = {k: v for k, v in sides.table.public().items() if k != "encoder_"}
        classes = {"classes_": best.classes_} if hasattr(best, "classes_") else {}
        kept = {"estimators_": all_of_them} if planned.runs is None else {}
        return {
            **public,
            **classes,
            **kept,
            "best_estimator_": best,
            "best_index_": place,
            "best_params_": dict(planned.candidates[place].params),
            "plan_": planned,
            "guarantee_": guarantee,
        }

    def _generator(self) -> np.random.Generator:
        if self.random_state is not None:
            check_random_state(self.random_state)
        return super()._generator()

    def _made_words(self) -> list[str]:
        if not hasattr(self, "plan_"):
            return [""]
        planned: SearchPlan = self.plan_
        return [f"the best of {len(planned.candidates)} on {planned.n:,} rows"]
