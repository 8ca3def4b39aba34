"""Estimators of differentiable models: states of one private gradient path (docs/networks.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer.estimators import base, feasibility, tables, targets
from rashomon_explorer.estimators.path import LivePathMixin, PathSteps
from rashomon_explorer.mechanisms.base import to_public_grid
from rashomon_explorer.mechanisms.planner import warn_if_delta_is_large, warn_if_weak
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.networks import models as forms
from rashomon_explorer.networks import path as paths
from rashomon_explorer.networks.losses import Logistic, Ordinal, Poisson, RowLoss, Squared
from rashomon_explorer.networks.sets import NetworkModels, NetworkSet
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.sets.scores import EncodedRows

_STATES = 100
_BATCH = 1_024  # rows of a step, on average
_MODELS = {"network": forms.Network(), "additive": forms.Additive()}


@base.with_parameters
class BaseNetwork(LivePathMixin, base.BasePrivateEstimator[paths.NetworkPlan]):
    """Plan a path, take its states, and release their losses."""

    model: str | forms.DifferentiableModel = "network"
    psi: float = 0.02
    n_draws: int | str = AUTO
    n_losses: int = 25
    n_steps: int = 400
    batch_size: int | str | None = AUTO
    step_size: float | str = AUTO
    clip: float = 3.0
    row_norm: float | str = AUTO
    schema: base.Schema = None

    _chunked: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [StrOptions(set(_MODELS)), forms.DifferentiableModel],
        "psi": [Interval(Real, 0, None, closed="left")],
        "n_draws": [feasibility.N_DRAWS, StrOptions({AUTO})],
        "n_losses": [feasibility.N_DRAWS],
        "n_steps": [Interval(Integral, 1, 10**7, closed="both")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO}), None],
        "step_size": [Interval(Real, 0, 1e6, closed="neither"), StrOptions({AUTO})],
        "clip": [Interval(Real, 2.0**-10, 2.0**20, closed="both")],
        "row_norm": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "schema": base.SCHEMA,
    }

    def predict_each(self, X: ArrayLike) -> FloatArray:
        """Scores of every state: its probabilities, or its predicted targets."""
        rows = self._encoded_rows(X).view(EncodedRows)
        return self.rashomon_set_.scores(rows)

    def _row_loss(self, n_classes: int | None) -> RowLoss:
        raise TypeError(f"{type(self).__name__} must implement _row_loss")

    def _assumptions(self) -> list[str]:
        stated = super()._assumptions()
        return stated if forms.is_shipped(self._form) else [*stated, forms.OWN_MODEL]

    @property
    def _form(self) -> forms.DifferentiableModel:
        return _MODELS[self.model] if isinstance(self.model, str) else self.model

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None
    ) -> paths.NetworkPlan:
        feasibility.check_budget(self)
        loss, form = self._row_loss(n_classes), self._form
        rule = feasibility.ledger_rule(self.ledger, self._delta)
        batch_size: Any = self.batch_size
        if batch_size == AUTO:
            # Sampled rows cost as much in such a ledger, and are accounted for by an extra.
            whole = isinstance(rule, str) or not find_spec("dp_accounting")
            batch_size = None if whole or n_samples <= _BATCH else _BATCH
        step_size: Any = self.step_size
        if step_size == AUTO:
            step_size = usual_time(n_samples, self._epsilon, self._delta) / self.n_steps / self.clip
        numbers = {name: getattr(self, name) for name in ("psi", "n_losses", "n_steps", "clip")}
        numbers |= {"epsilon": self._epsilon, "delta": self._delta, "loss_bound": loss.bound}
        return paths.plan_path(
            n=n_samples,
            p=form.n_parameters(n_features, loss.n_outputs) + len(loss.start),
            n_draws=_STATES if isinstance(self.n_draws, str) else self.n_draws,
            batch_size=batch_size,
            step_size=step_size,
            ledger=rule,
            **numbers,
        )

    def _warn(self, planned: paths.NetworkPlan) -> None:
        if self._warns:
            warn_if_weak(planned, "this plan")
            warn_if_delta_is_large(self._delta, planned.n)

    def _guarantee(self, planned: paths.NetworkPlan) -> Guarantee:
        return planned.guarantee

    def _ledger_parameters(self, planned: paths.NetworkPlan) -> dict[str, Any]:
        names = "n p psi epsilon delta n_draws n_steps rate clip noise loss_mu".split()
        return {name: getattr(planned, name) for name in names}

    def _path_steps(self, table: tables.TableAdapter, earlier: Any, n_draws: int) -> PathSteps:
        return NetworkSteps(self, table, earlier, n_draws)

    def _plan_fit(self, table: tables.TableAdapter) -> base.PlannedFit:
        steps = NetworkSteps(self, table)

        def draw(guarantee: Guarantee) -> dict[str, Any]:
            states = [theta for theta in steps.read() if theta is not None]
            return steps.fitted(np.array(states), guarantee)

        return base.PlannedFit(
            steps.plan.guarantee,
            note=f"{type(self).__name__}, {steps.plan.n_draws} states, ψ={steps.plan.psi:g}",
            parameters=self._ledger_parameters(steps.plan),
            draw=draw,
        )


class NetworkSteps(PathSteps):
    """Steps of a path of a differentiable model, and the losses of its states."""

    plan: paths.NetworkPlan

    def __init__(
        self, estimator: Any, table: tables.TableAdapter, earlier: Any = None, n_draws: int = 0
    ) -> None:
        self._estimator, self._table, self.earlier = estimator, table, earlier
        n_classes, row_norm = estimator._n_classes(table), float(estimator._row_norm)
        loss, form = estimator._row_loss(n_classes), estimator._form
        # Columns of about unit size: a typical row of k features has the norm row_norm.
        n_features = table.shape[1] if table.schema is None else len(table.schema.features)
        scale = math.sqrt(n_features) / row_norm
        names = tuple(table.feature_names)
        if earlier is None:
            self.plan = estimator._planned(*table.shape, n_classes)
            estimator._warn(self.plan)
        else:
            states = getattr(earlier, "models", None)
            if not isinstance(states, NetworkModels) or (form, loss, row_norm, len(names)) != (
                *(states.model, states.loss, states.row_norm, len(states.feature_names)),
            ):
                raise ValueError(
                    "these models are not states of one path of this model, loss, row_norm and "
                    "columns: continue a path with the settings that it was drawn with"
                )
            rule = feasibility.ledger_rule(estimator.ledger, estimator._delta)
            n_losses = min(estimator.n_losses, n_draws)
            self.plan = paths.further_plan(earlier.plan, n_draws, n_losses, rule)
        self._form = NetworkModels(np.empty((0, self.plan.p)), form, loss, names, row_norm, scale)
        self.n_steps = self.plan.n_steps
        self.last = replace(gdp(self.plan.loss_mu), requested=self.plan.guarantee.requested)
        self.parameter_names = tuple(f"θ{index}" for index in range(self.plan.p))

    def part(self, n_steps: int) -> Guarantee:
        """Guarantee of some of the steps."""
        estimator = self._estimator
        rule = feasibility.ledger_rule(estimator.ledger, estimator._delta)
        return paths.part_guarantee(self.plan, n_steps, rule)

    def read(self) -> Iterator[FloatArray | None]:
        """Read the rows, and return the steps."""
        estimator, table, form = self._estimator, self._table, self._form
        estimator._warn_clipped_targets(table)
        rows, targets = table.encoded(estimator._target_step(table))
        if table.clipping_is_unusual:
            base.warn_clipped_rows(table.longer_share(form.row_norm), form.row_norm)
        self._rows = form.inputs(rows), targets
        self._rng = estimator._generator()
        start = None if self.earlier is None else self.earlier.parameters[-1]
        return paths.released_states(
            form.model, form.loss, *self._rows, self.plan, self._rng, start
        )

    def fitted(self, states: FloatArray, guarantee: Guarantee, **ended: bool) -> dict[str, Any]:
        """Fitted attributes of all states; releases losses of some, spaced evenly."""
        plan, form, n_new = self.plan, self._form, len(states)
        released = np.full(n_new, np.nan)
        if self.earlier is not None:
            states = np.concatenate([self.earlier.parameters, states])
        losses, clipped = paths.mean_losses(form.model, form.loss, states, *self._rows)
        if not ended.get("unmeasured"):
            measured = replace(plan, n_draws=n_new, n_losses=min(plan.n_losses, n_new)).measured
            noise = plan.loss_deviation * self._rng.standard_normal(len(measured))
            released[measured] = to_public_grid(clipped[-n_new:][measured] + noise)
        if self.earlier is not None:
            released = np.concatenate([self.earlier.released_losses, released])
            plan = paths.joined_plan(self.earlier.plan, plan, len(states), guarantee)
        public = self._estimator._public_attributes(self._table)
        models = NetworkSet(
            models=replace(form, theta=states),
            reference=replace(form, theta=states[[losses.argmin()]]),  # type: ignore[arg-type]
            losses=losses,
            least=float(losses.min()),
            psi=plan.psi,
            task=form.loss.task,
            classes=tuple(np.asarray(public.get("classes_", ())).tolist()),
            names=tuple(f"state {index}" for index in range(len(states))),
            loss=form.loss.name,
            guarantee=guarantee,
            schema=self._table.schema,
            network_plan=plan,
            released_losses=released,
        )
        return {**public, "rashomon_set_": models, "plan_": plan, "guarantee_": guarantee}


def usual_time(n: int, epsilon: float, delta: float) -> float:
    """Sum of the step sizes of a path, at the norm 1 of clipped gradients, by public numbers.

    A longer path gets further, and with the noise of the same budget it is warmer: 1/β ∝ T/(nμ)².
    """
    mu = gdp_mu(epsilon, delta) if delta > 0 else 0.0  # then no path is planned
    return min(max(n * mu / 7, 10.0), 300.0)


@base.with_parameters
class RashomonNetworkClassifier(targets.ClassTargets[paths.NetworkPlan], BaseNetwork):
    """Networks, additive models or models of your own, as states of one private path.

    Stochastic gradient Langevin dynamics with clipped row gradients: all states of the path have
    one privacy cost, for any model. Their losses are released with noise, so that everybody can see
    which states lie within ``psi`` of the best one; no closeness to the least possible loss is
    promised (docs/networks.md).

    Parameters
    ----------
    model : {"network", "additive"} or DifferentiableModel, default="network"
        One hidden layer of 32 units, or a piecewise linear function of each column; other forms
        are :class:`~rashomon_explorer.networks.Network`, ``Additive`` and ``TorchModel``.
    loss : {"logistic", "ordinal"}, default="logistic"
        Log loss of classes, or of classes whose sorted order is meant (proportional odds).
    psi : float, default=0.02
        Rashomon threshold: largest excess loss of a good state above the best state.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    n_draws : int or "auto", default="auto"
        States that are kept, of the second half of the path: 100. More cost nothing.
    n_losses : int, default=25
        States whose losses are released; more make each of them noisier.
    n_steps : int, default=400
    batch_size : int, None or "auto", default="auto"
        Expected rows of a step; ``"auto"`` is 1,024, and all rows in a ledger that counts sampled
        rows as all rows.
    step_size : float or "auto", default="auto"
        ``"auto"`` increases with rows and budget.
    clip : float, default=3.0
        Norm to which the gradient of each row is clipped.
    row_norm : float or "auto", default="auto"
    classes : array-like, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rashomon_set_ : NetworkSet
        The states, with their losses on the rows for the curator.
    guarantee_ : Guarantee
    plan_ : NetworkPlan
        Plan made before the rows were read.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    encoder_ : TableEncoder

    Notes
    -----
    A fitted estimator is for the curator. Publish ``rashomon_set_.release().save(path)``.

    See Also
    --------
    RashomonClassifier : Linear models, with proved closeness.

    Examples
    --------
    >>> from rashomon_explorer import RashomonNetworkClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = RashomonNetworkClassifier(epsilon=1.0, row_norm=1.5, random_state=0)
    >>> bool(clf.fit(data.X, data.y).score(data.X, data.y) > 0.7)
    True
    >>> clf.guarantee_.epsilon(1e-6) <= 1.0, clf.rashomon_set_.n_draws
    (True, 100)
    """

    loss: str = "logistic"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"logistic", "ordinal"})]
    }

    @tables.predict_in_chunks(tables.label_output)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class with the largest mean probability over the states."""
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @tables.predict_in_chunks(tables.probability_output)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, averaged over the states."""
        mean = self.predict_each(X).mean(axis=0)
        return np.asarray(mean if mean.ndim == 2 else np.column_stack([1 - mean, mean]))

    def _row_loss(self, n_classes: int | None) -> RowLoss:
        if n_classes is None:
            classes = self._known_classes()
            n_classes = 2 if classes is None else len(classes)
        return Logistic(n_classes) if self.loss == "logistic" else Ordinal(n_classes)

    def _target_step(self, table: tables.TableAdapter) -> targets.ClassCodes:
        return targets.ClassCodes(self._labels(table), signed=False)


@base.with_parameters
class RashomonNetworkRegressor(targets.BoundedTargets[paths.NetworkPlan], BaseNetwork):
    """Networks, additive models or models of your own for numbers or counts, on one private path.

    As :class:`RashomonNetworkClassifier`. Losses are half the squared error of targets mapped from
    ``target_bounds`` onto [−1, 1], or half the Poisson deviance of counts.

    Parameters
    ----------
    model : {"network", "additive"} or DifferentiableModel, default="network"
        As for :class:`RashomonNetworkClassifier`.
    loss : {"squared", "poisson"}, default="squared"
        ``"poisson"`` is for counts: ``target_bounds`` is then (0, most).
    psi : float, default=0.02
        Rashomon threshold: largest excess loss of a good state above the best state.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    n_draws : int or "auto", default="auto"
        As for :class:`RashomonNetworkClassifier`.
    n_losses : int, default=25
        As for :class:`RashomonNetworkClassifier`.
    n_steps : int, default=400
    batch_size : int, None or "auto", default="auto"
        As for :class:`RashomonNetworkClassifier`.
    step_size : float or "auto", default="auto"
        ``"auto"`` increases with rows and budget.
    clip : float, default=3.0
        Norm to which the gradient of each row is clipped.
    row_norm : float or "auto", default="auto"
    target_bounds : tuple of float, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rashomon_set_ : NetworkSet
        The states, with their losses on the rows for the curator.
    guarantee_ : Guarantee
    plan_ : NetworkPlan
        Plan made before the rows were read.
    n_features_in_ : int
    encoder_ : TableEncoder

    See Also
    --------
    RashomonRegressor : Linear models, with proved closeness.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer import RashomonNetworkRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5_000, 1))
    >>> settings = {"epsilon": 8.0, "psi": 0.05, "random_state": 0}
    >>> reg = RashomonNetworkRegressor(model="additive", target_bounds=(0, 1), **settings)
    >>> bool(reg.fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.8)
    True
    """

    loss: str = "squared"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"squared", "poisson"})]
    }

    @tables.predict_in_chunks(tables.number_output)
    def predict(self, X: ArrayLike) -> FloatArray:
        """Mean of the predicted targets of the states."""
        return np.asarray(self.predict_each(X).mean(axis=0))

    def _row_loss(self, n_classes: int | None) -> RowLoss:
        bounds = self._target_bounds()
        return Squared(bounds) if self.loss == "squared" else Poisson(bounds)
