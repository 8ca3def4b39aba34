"""Private selection of penalties by validation, with a private refit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import check_random_state

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import generator, noise_assumptions
from rashomon_explorer._utils.sklearn_compat import fit_context
from rashomon_explorer._utils.taint import ONE_BY_ONE, find_leak
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.data.encoder import warn_unconfirmed
from rashomon_explorer.estimators.base import (
    find_data_dependent_step,
    not_known_to_be_public,
    reject_sample_weight,
    warn_if_shortened,
    warn_if_uncharged,
    warn_leak,
    warn_repeated_records,
)
from rashomon_explorer.estimators.bilevel_base import RefittedModel, refitted
from rashomon_explorer.estimators.classes import LABELS_ARE_PUBLIC, classes_found
from rashomon_explorer.estimators.pipelines import pays_for_rows
from rashomon_explorer.estimators.tables import DeclaredTable, LazyTable
from rashomon_explorer.mechanisms.penalties import PenaltyLandscape, drawn_where_level
from rashomon_explorer.mechanisms.penalties.landscape import (
    LOWEST,
    MEAN,
    GeneralisedTarget,
    PenaltyBox,
    PenaltyTarget,
    first_draws,
    pair_sensitivity,
)
from rashomon_explorer.mechanisms.penalties.losses import MARGINS, InnerProblem, OuterLoss
from rashomon_explorer.mechanisms.penalties.mechanisms import as_parameters, warn_if_nearly_uniform
from rashomon_explorer.mechanisms.penalties.penalty_set import PenaltySet, validation_rows
from rashomon_explorer.mechanisms.penalties.plan import TuningPlan
from rashomon_explorer.mechanisms.penalties.stationary import StationaryPlan
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.privacy import Charge, Guarantee, Ledger
from rashomon_explorer.privacy.ledger.charge import failure_assumption
from rashomon_explorer.privacy.ledger.tables import recognise
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.problem import add_intercept


@pays_for_rows
class DPBilevelSearch(MetaEstimatorMixin, RefittedModel):
    """Select ridge or logistic penalties by validation, with differential privacy.

    Private counterpart of ``RidgeCV`` and ``GridSearchCV``. Penalties are drawn from a public grid
    with probability ∝ exp(−β·max(Φ − min Φ − ψ, 0)), where Φ is the validation loss of the model
    fitted to the other rows. With ``refit="dp"``, one model is drawn with ``best_params_``, from
    its share of the budget (Lowy and Liu; docs/tuning.md).

    Parameters
    ----------
    estimator : {"ridge", "logistic"}, default="ridge"
        Half the squared error of targets mapped from ``target_bounds`` onto [−1, 1], or the
        logistic loss of two classes: the mean over rows, plus ½Σλ_jθ_j². The intercept has the
        lowest of the selected penalties.
    penalty : {"scalar", "group", "feature"}, default="scalar"
        One penalty, one for each of ``groups``, or one for each column; at most three on a grid.
    groups : list of lists of int, default=None
        Column indices of each group, for ``penalty="group"``.
    bounds : (low, high)
        Declared range of the penalties. scikit-learn's ``alpha`` is n times such a penalty. The
        privacy cost depends on the lower bound.
    spacing : float, default=None
        Factor between neighbouring penalties of the grid; by default 33 points for one penalty,
        17² for two and 9³ for three, ends included.
    val_fraction : float, default=0.3
        Share of validation rows, evenly spread over the table by position: public.
    margin_bound : float, default=None
        Bound to which scores of validation rows are clipped; by default 1 for ridge (the bound of
        the mapped targets), 4 for logistic.
    epsilon, delta : float, default=1.0 and 1e-6
        Total privacy cost of one fit, including the refit.
    n_draws : int, default=1
        Number of draws of the penalties.
    psi : float, default=0.0
        Rashomon threshold: penalties within ψ of the least validation loss have equal probability.
    mechanism : str, default="auto"
        ``"exponential"`` and ``"generalised"`` are sampled exactly on the grid. The latter uses
        the sensitivity of each pair of penalties, far smaller for high penalties; its bound is
        half as good if the lowest are best. ``"hypergradient"`` and ``"warm_hypergradient"`` use
        noisy gradients, for any number of penalties; ``"gradient_norm"`` uses gradient norms. These
        three guarantee a small gradient, not a small loss. ``plan_.why`` states the selected
        mechanism and the reason; :meth:`mechanisms` compares the guarantees.
    refit : {"dp", None}, default="dp"
        Whether a model is drawn too, by the mechanism with the best bound. With None, prediction
        is unavailable.
    refit_share : float, default=0.5
        Share of ε for the refit.
    row_norm : float, default=1.0
        Declared bound on ‖x‖; longer rows are clipped.
    target_bounds : tuple of float, default=(-1.0, 1.0)
        Declared range of a ridge's target.
    classes : array-like, default=None
        The two labels; required with a ledger.
    schema, ledger, random_state
        As for :class:`RashomonClassifier`.

    Attributes
    ----------
    best_params_ : dict of str to float
        The penalty of each group: the draw nearest to the median of all draws.
    rashomon_set_ : PenaltySet
        All drawn penalties.
    guarantee_ : Guarantee
        Guarantee for all draws, including the model.
    plan_ : TuningPlan or StationaryPlan
    encoded_coef_, encoded_intercept_ : ndarray, float
        The drawn model, with a refit.
    classes_ : ndarray
        Class labels, for logistic loss.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    No score, loss or intermediate fit is stored, because each depends on the rows and is not
    covered by the guarantee.

    Examples
    --------
    >>> from rashomon_explorer import load_dataset
    >>> data = load_dataset("lending")
    >>> search = DPBilevelSearch(
    ...     "logistic", bounds=(0.01, 1.0), epsilon=4.0, refit=None, row_norm=1.5, random_state=0
    ... )
    >>> planned = search.plan(*data.X.shape)
    >>> planned.n_points, planned.weakness
    (33, '')
    >>> search.fit(data.X, data.y).best_params_["penalty"] < 0.3
    True
    >>> search.guarantee_.epsilon(delta=1e-6) <= 4.0
    True
    """

    @reject_sample_weight
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> DPBilevelSearch:
        """Charge the ledger, draw the penalties, and draw the model with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
            With the penalties in ``best_params_`` and the privacy cost in ``guarantee_``.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the privacy cost; nothing was drawn or spent.
        FitError
            For any error caused by the rows after a ledger was charged; the privacy cost stays
            spent, and ``error.detail`` contains the reason, for the curator only.
        ValueError, SamplerError
            If parameters, declared bounds or shapes are invalid; nothing was read or spent.
            Without a ledger, also for errors caused by the rows.
        """
        table = self._table(X, y)
        leak = find_leak(X, y) or find_data_dependent_step(self) or table.unconfirmed
        if self.estimator == "ridge":
            self._labels_and_bounds()._target_bounds()
        planned = self._planned(*table.shape)
        public = self._public(table)
        warn_if_nearly_uniform(planned)
        guarantee = no_guarantee(leak) if leak else self._stated(planned)
        if self.ledger is not None:
            warn_if_uncharged(guarantee, leak)
        charge = self._reserve(guarantee, planned)

        def draw() -> dict[str, Any]:
            if charge is not None:
                recognise(charge.path, table.values[0])
            return self._drawn(table, planned, guarantee)

        fitted = draw() if charge is None else charge.run(draw)
        for name in (
            "feature_names_in_",
            "encoder_",
            "encoded_coef_",
            "encoded_intercept_",
            "classes_",
        ):
            if hasattr(self, name):
                delattr(self, name)
        for name, value in {**public, **fitted}.items():
            setattr(self, name, value)
        return self

    def _table(self, X: Any, y: Any) -> LazyTable:
        """Wrap the table; only its shape is read."""
        declared, numeric = self._declared, self.estimator == "ridge"
        asked: dict[str, Any] = {"numeric": numeric, "charged": self.ledger is not None}
        if declared is None:
            return LazyTable(self, X, y, **asked)
        warn_unconfirmed(declared)
        return DeclaredTable(self, X, y, **asked, schema=declared, row_norm=self.row_norm)

    def _look_through(self, X: Any, y: Any) -> None:
        table = self._table(X, y)
        self._public(table)
        self._labels_and_bounds()._targets(table)
        if table.may_be_long:
            warn_if_shortened(clip_rows(table.values[0], self.row_norm)[1], self.row_norm)

    def _public(self, table: LazyTable) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values."""
        known = self._labels_and_bounds()
        if self.estimator == "ridge":
            return table.public()
        public = known._public(table)
        if len(public["classes_"]) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(public['classes_'])} classes were found or declared"
            )
        return public

    def _stated(self, planned: TuningPlan | StationaryPlan) -> Guarantee:
        """Guarantee of the plan, with its assumptions on rows, split and fits."""
        steps = not_known_to_be_public(self)
        said = [
            f"{ONE_BY_ONE}, also by {'; '.join(steps)}" if steps else ONE_BY_ONE,
            "the split is by place, and public",
            failure_assumption("fit", charged=self.ledger is not None),
        ]
        if self.estimator == "logistic" and classes_found(self.classes, self._declared):
            said.append(LABELS_ARE_PUBLIC)
        if self.random_state is None:
            said += noise_assumptions()
        held = planned.guarantee
        held = replace(held, assumptions=tuple(dict.fromkeys((*held.assumptions, *said))))
        return held if self.random_state is None else held.with_seed()

    def _reserve(self, guarantee: Guarantee, planned: TuningPlan | StationaryPlan) -> Charge | None:
        if self.ledger is None or not guarantee.holds:
            return None
        warn_repeated_records(self)
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        many = f"{planned.n_draws} draw{'' if planned.n_draws == 1 else 's'} of penalties"
        model = "" if planned.refit is None else " and a model"
        return ledger.reserve(
            guarantee,
            note=f"{type(self).__name__}, {many}{model}",
            parameters={**as_parameters(planned), "epsilon": self.epsilon, "delta": self.delta},
        )

    def _drawn(
        self, table: LazyTable, planned: TuningPlan | StationaryPlan, guarantee: Guarantee
    ) -> dict[str, Any]:
        """Read the rows, draw, and return the fitted attributes."""
        if guarantee.holds and (leak := table.leak):
            warn_leak(leak)
            guarantee = no_guarantee(leak)
        targets = self._labels_and_bounds()._targets(table)
        rows, shortened = clip_rows(table.values[0], self.row_norm)
        if table.may_be_long:
            warn_if_shortened(shortened, self.row_norm)
        rng = self._generator()
        whole = add_intercept(rows)
        landscape = self._landscape(whole, targets, planned)
        penalties, walks = _points(landscape, planned, rng)
        names = self._names(table.feature_names)
        drawn = PenaltySet(
            penalties.T, names, replace(planned, guarantee=guarantee), guarantee, walks
        )
        best = drawn.best
        fitted: dict[str, Any] = {
            "best_params_": dict(zip(drawn.names, best.tolist(), strict=True)),
            "rashomon_set_": drawn,
            "plan_": drawn.plan,
            "guarantee_": guarantee,
        }
        if planned.refit is not None:
            every = landscape.box.by_column(best[:, None])[:, 0]
            longest = planned.constants.row_bound
            model = refitted(planned.refit, whole, targets, every, longest, rng)
            fitted |= self._labels_and_bounds()._mean_model(model[None, :])
        return fitted

    def _landscape(
        self, rows: FloatArray, targets: FloatArray, planned: TuningPlan | StationaryPlan
    ) -> PenaltyLandscape:
        held_out = validation_rows(len(rows), self.val_fraction)
        loss = MARGINS[self.estimator]
        return PenaltyLandscape(
            InnerProblem(rows[~held_out], targets[~held_out], loss),
            OuterLoss(rows[held_out], targets[held_out], loss, planned.constants.margin_bound),
            self._posed_box(rows.shape[1] - 1, planned),
            planned.constants.tolerance,
        )

    def _posed_box(self, n_features: int, planned: TuningPlan | StationaryPlan) -> PenaltyBox:
        """Return the box with grouped columns; for gradients, the intercept has their mean."""
        box = self._box(n_features)
        if isinstance(planned, TuningPlan):
            return box
        groups = (MEAN if group == LOWEST else group for group in box.groups)
        return replace(box, groups=tuple(groups))

    def _generator(self) -> np.random.Generator:
        if self.random_state is None:
            return generator()
        return generator(check_random_state(self.random_state).randint(2**31, size=4).tolist())


def _points(
    landscape: PenaltyLandscape, planned: TuningPlan | StationaryPlan, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Drawn penalties (d, n_draws), and all states (n_draws, T, d) of a gradient walk, or None."""
    penalties = landscape.box.group_penalties
    if isinstance(planned, StationaryPlan):
        drawn, walks = drawn_where_level(landscape, planned, rng)
        return penalties(drawn), None if walks is None else np.swapaxes(penalties(walks), 1, 2)
    sampler = FiniteGridSampler(spacing=planned.spacing)
    target = _target(landscape, planned, sampler)
    drawn = first_draws(sampler, target, planned.n_draws, rng)
    return penalties(drawn), None


def _target(
    landscape: PenaltyLandscape, planned: TuningPlan, sampler: FiniteGridSampler
) -> PenaltyTarget | GeneralisedTarget:
    if planned.mechanism == "exponential":
        return PenaltyTarget(landscape, planned.beta, planned.psi)
    points = sampler.points(landscape.p, landscape.domain)
    lowest = landscape.box.penalties(points).min(axis=0)
    pairs = pair_sensitivity(planned.constants, lowest)
    return GeneralisedTarget(landscape, planned.eta, pairs, planned.psi)
