"""States of a path of a differentiable model as a set: the curator's, and what may be released."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import Delegated, FloatArray, read_only_copy
from rashomon_explorer._utils.formatting import Fact
from rashomon_explorer._utils.validation import check_inner_share, check_nonnegative
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.networks import losses, models
from rashomon_explorer.networks.path import NetworkPlan, mean_losses
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.sets import scores as scoring
from rashomon_explorer.sets.base import ModelIndices
from rashomon_explorer.sets.files import stored_models, written_as
from rashomon_explorer.sets.linear import ReleasedSet
from rashomon_explorer.sets.predictor import PredictorModels, PredictorSet, ReleasedTrees

_LOSSES: dict[str, Any] = {
    kind.name: kind for kind in (losses.Logistic, losses.Ordinal, losses.Squared, losses.Poisson)
}


@stored_models
@dataclass(frozen=True, eq=False)
class NetworkModels:
    """Parameters (m, k) of several models of one form, and the form."""

    kind: ClassVar[str] = "differentiable models"

    theta: FloatArray
    model: models.DifferentiableModel
    loss: losses.RowLoss
    feature_names: tuple[str, ...]
    row_norm: float
    scale: float  # of encoded rows, for columns of about unit size

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", read_only_copy(self.theta))

    def __len__(self) -> int:
        return len(self.theta)

    def inputs(self, rows: Any) -> FloatArray:
        """Rows (n, p) as the model takes them: encoded rows, clipped and scaled."""
        numbers = scoring.named_rows(rows, self.feature_names)
        return np.asarray(clip_rows(numbers, self.row_norm)[0] * self.scale)

    def scores(self, X: Any = None) -> FloatArray:
        """Predictions of all models for encoded rows."""
        if X is None:
            raise ValueError("networks need rows: call scores(X)")
        rows = self.inputs(X)
        each = []
        for theta in self.theta:
            body, eta = self.split(theta)
            scores = self.model.scores(body, rows, self.loss.n_outputs)
            each.append(self.loss.predictions(scores, eta))
        several = (len(rows), *self._classes) if self._classes else (len(rows),)
        return np.stack(each) if each else np.empty((0, *several))

    def one_fit_each(self) -> Self:
        """Return the models: each answers for all rows."""
        return self

    def complexity(self, tol: float) -> NDArray[np.int_]:
        """Return the numbers of parameters above ``tol`` in size."""
        return np.asarray((np.abs(self.theta) > tol).sum(axis=1))

    def take(self, indices: NDArray[np.intp]) -> Self:
        """Return the models at the given indices."""
        return replace(self, theta=self.theta[indices])

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Parameters of the scores, and those of the loss."""
        end = len(theta) - len(self.loss.start)
        return theta[:end], theta[end:]

    @property
    def canonical(self) -> FloatArray:
        """Parameters (m, k) in one agreed form of each function, for pictures of parameters."""
        width, n_outputs = len(self.feature_names), self.loss.n_outputs
        each = []
        for theta in self.theta:
            body, eta = self.split(theta)
            each.append(np.append(self.model.canonical(body, width, n_outputs), eta))
        return np.array(each).reshape(self.theta.shape)

    @property
    def _classes(self) -> tuple[int, ...]:
        n_classes = getattr(self.loss, "n_classes", 0)
        return (n_classes,) if n_classes > 2 else ()

    def to_parts(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Arrays and JSON values for a file; TypeError for a model of a user."""
        settings = {field.name: getattr(self.loss, field.name) for field in fields(self.loss)}
        return {"theta": self.theta}, {
            **models.model_values(self.model),
            "loss": self.loss.name,
            "loss_settings": settings,
            "feature_names": list(self.feature_names),
            "row_norm": self.row_norm,
            "scale": self.scale,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, FloatArray], values: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_parts`."""
        settings = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values["loss_settings"].items()
        }
        form: dict[str, Any] = {
            name: values[name] for name in ("model", "hidden", "n_knots") if name in values
        }
        return cls(
            arrays["theta"],
            models.model_from_values(form),
            _LOSSES[values["loss"]](**settings),
            tuple(values["feature_names"]),
            values["row_norm"],
            values["scale"],
        )


class ShareWithin(NamedTuple):
    """Share of the states within ψ of the best of them, with bounds from the noise."""

    share: float
    low: float
    high: float


class _Networks(PredictorModels):
    """What the curator's and the released set of states share."""

    models: NetworkModels
    network_plan: NetworkPlan
    released_losses: FloatArray

    plan = Delegated[Any]("network_plan", "Plan of the path: its steps, noise and privacy cost.")
    row_norm = Delegated[float]("models.row_norm", "Norm to which encoded rows are clipped.")
    parameters = Delegated[FloatArray]("models.theta", "Parameters (n_draws, k) of the models.")

    @staticmethod
    def plan_from(values: dict[str, Any]) -> NetworkPlan:
        """Plan of the path that a file holds."""
        return NetworkPlan.from_values(values)

    @property
    def target_bounds(self) -> tuple[float, float]:
        """Declared bounds of the targets of a regression; (−1, 1) for classes."""
        return getattr(self.models.loss, "bounds", (-1.0, 1.0))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns, and the intercept."""
        return (*self.models.feature_names, "intercept")

    def bounded_scores(self, X: Any) -> FloatArray:
        """Predictions in [0, 1] or the target's bounds; the middle where they are not finite."""
        scores = self.scores(X)
        low, high = self.target_bounds if self.task == "regression" else (0.0, 1.0)
        sums, middle = scores, (low + high) / 2
        if scores.ndim == 3:
            sums, middle = scores.sum(axis=2, keepdims=True), 1 / scores.shape[2]
        return np.clip(np.where(np.isfinite(sums), scores, middle), low, high)

    def clipped_losses(self, X: Any, targets: FloatArray) -> FloatArray:
        """Mean loss of each model (n_draws,), each row's clipped to the public bound."""
        models, inputs = self.models, self.models.inputs(X)
        return mean_losses(models.model, models.loss, models.theta, inputs, targets)[1]

    def encode(self, X: Any) -> Any:
        """Encode a raw table as the estimator does."""
        if self.schema is None:
            return scoring.named_rows(X, self.models.feature_names)
        return scoring.scaled_rows(self.schema, X, self.row_norm)

    def released_share(self, psi: float | None = None, *, level: float = 0.95) -> ShareWithin:
        """Share of the states within ψ of the best state, from the released losses.

        Parameters
        ----------
        psi : float, optional
            By default the set's own.
        level : float, default=0.95
            Probability, over the noise, with which both bounds hold.

        Returns
        -------
        ShareWithin
            Of the states with a released loss. With z·σ a bound on the noise of all of them at
            once, a state surely belongs if its released loss is at most the least plus ψ − 2zσ, and
            surely not above ψ + 2zσ. Each row's loss is clipped to the public bound.
        """
        psi = self.psi if psi is None else psi
        check_nonnegative(psi=psi)
        check_inner_share(level=level)
        measured = self.released_losses[np.isfinite(self.released_losses)]
        if not len(measured):
            return ShareWithin(math.nan, math.nan, math.nan)
        excess = measured - measured.min()
        width = self.network_plan.loss_margin(level)
        share, low, high = (float(np.mean(excess <= psi + more)) for more in (0.0, -width, width))
        return ShareWithin(share, low, high)

    def shape_functions(self) -> FloatArray:
        """Functions (n_draws, p, n_knots, outputs) of each column of additive models at the knots.

        Knots are equally spaced from −1 to 1 in the units of the scaled columns. Each function has
        the mean 0 over its knots.

        Raises
        ------
        TypeError
            If the models are not additive.
        """
        form = self.models.model
        if not isinstance(form, models.Additive):
            raise TypeError(f"a {type(form).__name__} has no shape functions: use Additive")
        width, n_outputs = len(self.models.feature_names), self.models.loss.n_outputs
        each = [self.models.split(theta)[0] for theta in self.models.theta]
        return np.array([form.heights(body, width, n_outputs) for body in each])

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        return {**super()._at(indices), "released_losses": self.released_losses[indices]}

    def _facts(self) -> list[Fact]:
        share = self.released_share()
        between = f"{share.low:.0%} to {share.high:.0%} (95 %, over the noise of released losses)"
        return [*super()._facts(), ("within ψ of the best", between)]


@written_as("released networks")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedNetworks(_Networks):
    """Released states of one path: their parameters, noisy losses, guarantee and public settings.

    Returned by ``rashomon_set_.release()`` of :class:`rashomon_explorer.RashomonNetworkClassifier`
    and :class:`rashomon_explorer.RashomonNetworkRegressor`.

    Parameters
    ----------
    models : NetworkModels
    psi : float
    task : {"classification", "regression"}
    classes : tuple
    guarantee : Guarantee
    loss : str
    network_plan : NetworkPlan
        Public plan of the path; read it as ``plan``.
    released_losses : ndarray of shape (n_draws,)
        Mean losses with noise of ``plan.loss_deviation``; NaN for states without one.
    steps : tuple of str, default=()
        Selection steps of the models.
    schema : TableSchema or None, default=None
        Encoder of raw tables; only its declared or confirmed part.

    Examples
    --------
    >>> from rashomon_explorer import RashomonNetworkClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = RashomonNetworkClassifier(epsilon=1.0, n_draws=20, n_steps=100, row_norm=1.5)
    >>> released = clf.fit(data.X, data.y).rashomon_set_.release()
    >>> released.labels(data.X).shape, released.parameters.shape[0], released.guarantee.holds
    ((20, 50000), 20, True)
    """

    models: NetworkModels
    psi: float
    task: str
    classes: tuple[Any, ...]
    guarantee: Guarantee
    loss: str
    network_plan: NetworkPlan
    released_losses: FloatArray
    steps: tuple[str, ...] = ()
    schema: TableSchema | None = None

    def __post_init__(self) -> None:
        """Make the losses read-only."""
        object.__setattr__(self, "released_losses", read_only_copy(self.released_losses))

    def predict(self, X: Any) -> NDArray[Any]:
        """Prediction of the mean of the models for each row of a raw table."""
        return scoring.mean_prediction(self, self.scores(X))


AnyRelease = ReleasedSet | ReleasedTrees | ReleasedNetworks
"""Private models of any kind, as :meth:`release` of a set returns them."""


@written_as("networks")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NetworkSet(_Networks, PredictorSet):
    """States of a path with their losses on the private rows: for the curator only.

    Parameters
    ----------
    network_plan : NetworkPlan
        Public plan of the path; read it as ``plan``.
    released_losses : ndarray of shape (n_draws,)
        Mean losses with noise, which a release contains.

    Other parameters are those of :class:`PredictorSet`; ``least`` is the least loss of a state.

    Examples
    --------
    >>> from rashomon_explorer import RashomonNetworkClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = RashomonNetworkClassifier(epsilon=1.0, n_draws=20, n_steps=100, row_norm=1.5)
    >>> models = clf.fit(data.X, data.y).rashomon_set_
    >>> models.n_draws, bool(models.hit_rate > 0), models.curated
    (20, True, True)
    """

    models: NetworkModels  # type: ignore[assignment]
    network_plan: NetworkPlan
    released_losses: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        """Check the lengths, and make the losses read-only."""
        super().__post_init__()
        object.__setattr__(self, "released_losses", read_only_copy(self.released_losses))

    def release(self, *, warn: bool = True) -> ReleasedNetworks:  # type: ignore[override]
        """Return what was paid for: the states, their noisy losses and the guarantee.

        Parameters
        ----------
        warn : bool, default=True
            Accepted as by other sets; nothing is promised here that could be weak.

        Raises
        ------
        CuratorOnlyError
            If the guarantee does not hold, for example after a choice by private rows.
        """
        schema = scoring.released_schema(self.schema, self.models.feature_names)
        return self._released(ReleasedNetworks, "models", schema=schema)
