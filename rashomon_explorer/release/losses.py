"""Queries on losses, excess losses, and the reliance of losses on features."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, scale_targets
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.measures.inputs import Columns, feature_groups
from rashomon_explorer.measures.reliance.pair_losses import MOST_PAIRS
from rashomon_explorer.measures.reliance.set_reliance import TreeTask, reliance_table
from rashomon_explorer.networks.sets import ReleasedNetworks
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, get_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem, add_intercept
from rashomon_explorer.release import query, statistic
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees

UNCERTIFIED = "a minimum of the loss that cannot be certified makes the release fail"
UNIT = {
    "logistic": "log loss, nats",
    "softmax": "log loss, nats",
    "sign": "share of wrong labels",
    "identity": "half squared error",
    "ordinal": "log loss, nats",
    "squared": "half squared error of targets mapped onto [−1, 1]",
    "poisson": "half Poisson deviance",
}


@dataclass(frozen=True)
class Losses(query.DrawsQuery):
    """Mean loss of each draw, or their mean, largest or least.

    A draw is public, and so is the range r_i of its loss over all rows of the allowed norm
    (:func:`loss_ranges`). Replacing a record changes its mean by at most r_i/n, and k means by
    √(Σ r_i²)/n in the ℓ₂ norm. This is nearly attained if a record that all models label correctly
    is replaced by its opposite. The largest or least mean changes by at most max r_i/n.

    Parameters
    ----------
    over : {"each", "mean", "largest", "least"}, default="each"

    Examples
    --------
    >>> Losses(over="mean").name
    'mean_loss'
    """

    needs: ClassVar[tuple[str, ...]] = ("y",)
    singular: ClassVar[str] = "loss"
    plural: ClassVar[str] = "losses"
    quantity = "the mean loss over rows"

    def draw_widths(self, public: query.PublicShape) -> FloatArray:
        """Ranges of the losses divided by n."""
        low, high = loss_ranges(public)
        return (high - low) / public.n_rows

    def draw_values(self, rows: query.Rows) -> FloatArray:
        return rows.mean_losses()

    def draw_ranges(self, public: query.PublicShape) -> tuple[FloatArray, FloatArray, str]:
        """Ranges of the losses."""
        return *loss_ranges(public), loss_unit(public)


@dataclass(frozen=True)
class Accuracies(query.DrawsQuery):
    """Share of rows that each draw labels correctly, or the mean, largest or least share."""

    needs: ClassVar[tuple[str, ...]] = ("y",)
    task: ClassVar[str] = "classification"
    singular: ClassVar[str] = "accuracy"
    plural: ClassVar[str] = "accuracies"
    quantity = "the share of rows labelled correctly"

    def draw_widths(self, public: query.PublicShape) -> FloatArray:
        return np.full(public.n_draws, 1 / public.n_rows)

    def draw_values(self, rows: query.Rows) -> FloatArray:
        return np.asarray((rows.labels == rows.codes).mean(axis=1))


def loss_ranges(public: query.PublicShape) -> tuple[FloatArray, FloatArray]:
    """Least and largest loss (n_draws,) of each draw over all allowed rows and targets."""
    return _RANGES[public.link](public)


def loss_unit(public: query.PublicShape) -> str:
    """Return the unit of the losses; for networks also the bound to which each row's is clipped."""
    if not isinstance(public.models, ReleasedNetworks):
        return UNIT[public.link]
    return f"{UNIT[public.models.loss]}, each row's clipped to {_bound(public):.3g}"


def _logistic(public: query.PublicShape) -> tuple[FloatArray, FloatArray]:
    scores = public.max_abs_score()
    return np.logaddexp(0.0, -scores), np.logaddexp(0.0, scores)


def _bound(public: query.PublicShape) -> float:
    """Largest loss of a row: 1 for a wrong label, or the bound to which networks' are clipped."""
    models = public.models
    return models.models.loss.bound if isinstance(models, ReleasedNetworks) else 1.0


def _bounded(public: query.PublicShape) -> tuple[FloatArray, FloatArray]:
    return np.zeros(public.n_draws), np.full(public.n_draws, _bound(public))


def _half_square(public: query.PublicShape) -> tuple[FloatArray, FloatArray]:
    low, high = public.linear.target_bounds
    return np.zeros(public.n_draws), ((high - low) / 2 * (1 + public.max_abs_score())) ** 2 / 2


def _softmax(public: query.PublicShape) -> tuple[FloatArray, FloatArray]:
    slopes, intercepts = public.split
    slopes = np.concatenate([np.zeros_like(slopes[:, :1]), slopes], axis=1)
    intercepts = np.concatenate([np.zeros_like(intercepts[:, :1]), intercepts], axis=1)
    norms = np.linalg.norm(slopes[:, :, None] - slopes[:, None], axis=-1)
    gaps = np.abs(intercepts[:, :, None] - intercepts[:, None])
    widest = (public.linear.row_norm * norms + gaps).max(axis=(1, 2))
    log_rest = math.log(public.models.n_classes - 1)
    return np.logaddexp(0.0, log_rest - widest), np.logaddexp(0.0, log_rest + widest)


_RANGES = {
    "logistic": _logistic,
    "sign": _bounded,
    "identity": _half_square,
    "softmax": _softmax,
    query.NETWORK: _bounded,
}


SMOOTH = ("logistic", "squared")
"""Losses with a Hessian everywhere, of one score."""


@dataclass(frozen=True, kw_only=True)
class ExcessQuery(query.Query):
    """Query on excess losses e = L(θ) − L*, where L* is the least loss in the ball."""

    radius: float
    ridge: float = 0.0
    needs: ClassVar[tuple[str, ...]] = ("y",)
    linear_only: ClassVar[bool] = True
    assumptions = (UNCERTIFIED,)

    def check(self, public: query.PublicShape) -> None:
        super().check(public)
        check_positive(radius=self.radius)
        check_nonnegative(ridge=self.ridge)
        if public.linear.plan.loss not in SMOOTH:
            raise ValueError(
                f"{self.name} supports the losses {SMOOTH}, but the draws use "
                f"{public.linear.plan.loss!r}: release 'losses' instead"
            )

    def change_bound(self, public: query.PublicShape) -> float:
        """Bound on the change of a draw's computed excess by one record: osc + gap."""
        # Rounded draws may lie slightly outside the ball; they are public.
        furthest = float(np.linalg.norm(public.linear.coef, axis=1).max())
        hull = posed_constants(public, max(self.radius, furthest), self.ridge)
        return hull.osc + posed_constants(public, self.radius, self.ridge).gap_tolerance

    def excess(self, rows: query.Rows) -> FloatArray:
        """Return the excess (n_draws,) of each draw.  Curator: not private."""
        problem = posed_problem(rows, self.radius, self.ridge)
        return np.asarray(problem.value(rows.public.linear.coef.T) - problem.minimum.value)

    @property
    def _reference_text(self) -> str:
        return f"the least loss within radius {self.radius:g}, ridge {self.ridge:g}"


@dataclass(frozen=True, kw_only=True)
class Excess(ExcessQuery, query.DrawsQuery):
    """Excess loss of each draw, or their mean, largest or least, in the units of the plan's ψ.

    Parameters
    ----------
    radius, ridge : float
        As for the draws.
    over : {"mean", "largest", "least", "each"}, default="mean"

    Examples
    --------
    >>> Excess(radius=4.0, ridge=0.0, over="largest").name
    'largest_excess'
    """

    over: query.Over = "mean"
    singular: ClassVar[str] = "excess"
    plural: ClassVar[str] = "excess"

    @property
    def quantity(self) -> str:
        return f"its loss minus {self._reference_text}"

    def draw_widths(self, public: query.PublicShape) -> FloatArray:
        """Osc + gap per draw."""
        return np.full(public.n_draws, self.change_bound(public))

    def draw_values(self, rows: query.Rows) -> FloatArray:
        return self.excess(rows)

    def draw_ranges(self, public: query.PublicShape) -> tuple[FloatArray, FloatArray, str]:
        """0 to infinity."""
        low, high = np.zeros(public.n_draws), np.full(public.n_draws, math.inf)
        return low, high, loss_unit(public)

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        """One excess per draw, or a single one; none is a mean over rows."""
        return super().coordinates(public)._replace(n_mean=0)

    def hidden(self, public: query.PublicShape, noise: statistic.Noise) -> str:
        """Compare the noise with the largest difference of a row's losses in the ball."""
        length = posed_constants(public, self.radius, self.ridge).osc * public.n_rows
        return query.hidden_numbers(np.full(len(self.coordinates(public).names), length), noise)


@dataclass(frozen=True, kw_only=True)
class SoftHits(ExcessQuery):
    """Lower and upper soft share of draws in the Rashomon set.

    For any number of rows, one record can change whether the excess e of a draw is at most ψ. The
    exact hit rate has no useful bound. But e changes by at most osc + gap, so the ramps

        inner = mean of clip((ψ − e)/s, 0, 1) ≤ hit rate ≤ outer = mean of clip((ψ + s − e)/s, 0, 1)

    change by at most (osc + gap)/s **in sum**, because they increase on different intervals of e:
    their sum for one draw is clip((ψ + s − e)/s, 0, 2).

    Parameters
    ----------
    width : float
        s > 0, in units of the loss. Wide ramps have little noise and are less informative: inner
        and outer differ by the draws with an excess within s of ψ.
    radius, ridge : float
        As for the draws.
    psi : float, optional
        ψ; by default that of the draws.

    Examples
    --------
    >>> SoftHits(width=0.1, radius=4.0, ridge=0.0).name
    'soft_hits'
    """

    width: float
    psi: float | None = None

    @property
    def name(self) -> str:
        return "soft_hits"

    @property
    def definition(self) -> str:
        psi = "the draws' psi" if self.psi is None else f"{self.psi:g}"
        return (
            f"mean over the draws of a ramp from 1 to 0 as the excess rises over {self.width:g} up "
            f"to {psi} (inner), or beyond it (outer); excess over {self._reference_text}"
        )

    def check(self, public: query.PublicShape) -> None:
        """Raise an error for a width or threshold out of range."""
        super().check(public)
        check_positive(width=self.width)
        if self.psi is not None:
            check_nonnegative(psi=self.psi)

    def sensitivity(self, public: query.PublicShape) -> query.Sensitivity:
        """(osc + gap)/s in the ℓ₁ norm, and at most 1 per ramp."""
        slope = self.change_bound(public) / self.width
        return query.Sensitivity(min(slope, 2.0), min(slope, math.sqrt(2)))

    def compute(self, rows: query.Rows) -> FloatArray:
        """Return the inner and outer share."""
        excess = self.excess(rows)
        psi = rows.models.psi if self.psi is None else self.psi
        ramps = [np.clip((psi + s - excess) / self.width, 0.0, 1.0) for s in (0.0, self.width)]
        return np.array([ramp.mean() for ramp in ramps])

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        """Two shares that bracket the hit rate."""
        return query.Coordinates(["inner hit rate", "outer hit rate"])

    def statistics(
        self, noisy: FloatArray, noise: statistic.Noise, public: query.PublicShape
    ) -> tuple[statistic.Statistic, ...]:
        """Two shares, each with a note on how it bounds the exact hit rate."""
        hides = noise.quantile(0.95) >= 1
        hidden = ", but the noise hides it: use a larger width or a larger budget" if hides else ""
        notes = [f"the exact hit rate is {bound} this{hidden}" for bound in ("at least", "at most")]
        names = self.coordinates(public).names
        return tuple(
            statistic.Measured(name, float(value), noise, 0.0, 1.0, note=note)
            for name, value, note in zip(names, noisy, notes, strict=True)
        )


def posed_constants(public: query.PublicShape, radius: float, ridge: float) -> Constants:
    """Constants of the draws' loss on a ball, for the number of rows of the release."""
    models = public.linear
    return Constants.from_loss(
        posed_loss(models),
        n=public.n_rows,
        p=models.coef.shape[1],
        domain=Ball(radius),
        row_bound=row_bound(models.row_norm, intercept=True),
        ridge=ridge,
    )


def posed_problem(
    rows: query.Rows, radius: float, ridge: float, without: FloatArray | None = None
) -> Problem:
    """Draws' loss on a ball, of models that are 0 along orthonormal directions (k, width)."""
    models = rows.public.linear
    design = add_intercept(models.rows(rows.X))
    if without is not None:
        design -= design @ without.T @ without
    return Problem(
        design,
        posed_targets(rows),
        loss=posed_loss(models),
        radius=radius,
        row_norm=row_bound(models.row_norm, intercept=True),
        ridge=ridge,
        intercept=False,
    )


def posed_loss(models: ReleasedSet) -> Loss:
    """Loss of the draws' plan, whose name identifies it."""
    return SoftmaxLoss(models.n_classes) if models.link == "softmax" else get_loss(models.plan.loss)


def posed_targets(rows: query.Rows) -> NDArray[Any]:
    """Labels −1 and 1 or 0, 1, …, or targets in [−1, 1], as the loss requires them."""
    if rows.models.link == "softmax":
        return np.asarray(rows.codes)
    if rows.models.task == "classification":
        return 2 * rows.codes - 1
    return scale_targets(rows.codes, rows.public.linear.target_bounds)


@dataclass(frozen=True)
class Reliance(query.DrawsQuery):
    """Increase of the loss if a feature is switched between rows, e_switch − e_orig, by feature.

    The statistic is (1/(n(n − 1))) Σ_{i≠j} [ℓ(y_i, s_i + a_j − a_i) − ℓ(y_i, s_i)], where a is the
    feature's part of the score. Replacing record k changes, for every other j, the terms (k, j) and
    (j, k). Let the loss be Λ-Lipschitz in the score. The first term has size Λ|a_j − a_k| before
    and Λ|a_j − a_k'| after; the second changes by Λ|a_k − a_k'|. Together this is Λ times the
    perimeter of three points in an interval of length 2B|w|, which is at most twice its length:
    4ΛB|w|. Here w are the coefficients of all columns of the feature and |w| is their norm. The
    n − 1 partners j share the factor 1/(n(n − 1)), so the sensitivity is **4ΛB|w|/n**, although
    each record occurs in 2(n − 1) terms. The share of wrong labels has no Λ: each of the three
    changes is at most 1, which gives 3/n, also for trees. (A shuffle with a public permutation has
    the same bounds, by the same three points, and additional randomness.) For networks, whose sum
    over pairs takes n² scores, it is such a shuffle, and 3/n times the bound of a row's loss. Λ is
    1 for log loss (with the spread of w over the classes instead of |w|), and 1 + the largest
    switched score for half the squared error.

    Parameters
    ----------
    over : {"mean", "largest", "least", "each"}, default="mean"
        Summary over the draws.

    Examples
    --------
    >>> Reliance(over="largest").name
    'largest_reliance'
    """

    over: query.Over = "mean"
    needs: ClassVar[tuple[str, ...]] = ("y",)

    @property
    def name(self) -> str:
        """``"reliance"``, prefixed with the summary if it is not the mean."""
        return "reliance" if self.over == "mean" else f"{self.over}_reliance"

    @property
    def definition(self) -> str:
        """Definition in words."""
        which = "and draw," if self.over == "each" else f", {self.over} over the draws of"
        return f"for each feature {which} e_switch − e_orig".replace(" ,", ",")

    def check(self, public: query.PublicShape) -> None:
        """Raise an error for a single row, or too many pairs of rows."""
        super().check(public)
        if public.n_rows < 2:
            raise ValueError(f"{self.name} needs at least two rows, got {public.n_rows}")
        if public.link == "softmax" and public.n_rows**2 * public.n_draws > MOST_PAIRS:
            raise ValueError(
                f"{self.name} of softmax models needs all pairs of rows, too many for "
                f"{public.n_rows} rows and {public.n_draws} draws: release fewer draws"
            )

    def draw_widths(self, public: query.PublicShape) -> FloatArray:
        """4ΛB|w|/n per feature, or 3/n for wrong labels."""
        half = _HALF_RISE[public.link](public)
        if public.link in _OF_BOUNDED:
            return 3 * half / public.n_rows
        return 4 * half / public.n_rows

    def draw_values(self, rows: query.Rows) -> FloatArray:
        """Return increases (n_draws, n_features)."""
        groups = _groups(rows.public)
        if isinstance(rows.models, ReleasedNetworks):
            order = np.random.default_rng(0).permutation(len(rows.X))  # public
            shuffled = []
            for columns in groups.values():
                mixed = rows.X.copy()
                mixed[:, columns] = rows.X[order][:, columns]
                shuffled.append(replace(rows, X=mixed).mean_losses())
            return np.column_stack(shuffled) - rows.mean_losses()[:, None]
        if isinstance(rows.models, ReleasedTrees):
            task = TreeTask(rows.models.models, rows.X, rows.codes.astype(np.intp))
            return reliance_table(task, groups).to_numpy()
        return reliance_table(rows.task(), groups).to_numpy()

    def coordinates(self, public: query.PublicShape) -> query.Coordinates:
        """One increase per feature, or per draw and feature."""
        features, draws = list(_groups(public)), range(public.n_draws)
        names = [f"{self.over} reliance on {name}" for name in features]
        if self.over == "each":
            names = [f"reliance of draw {draw} on {name}" for draw in draws for name in features]
        half = _HALF_RISE[public.link](public)
        # A wrong label counts 1 at most; other losses increase by at most twice the half.
        rise = half if public.link in _OF_BOUNDED else 2 * half
        high = self._summary_widths(rise)
        return query.Coordinates(names, -high, high, note=loss_unit(public))


def _groups(public: query.PublicShape) -> dict[str, Columns]:
    linear = isinstance(public.models, ReleasedSet)
    return feature_groups(None, public.columns, public.models.feature_groups if linear else None)


def _norms(public: query.PublicShape) -> FloatArray:
    """|w| (n_draws, n_features) for models with one score."""
    slopes = public.split[0][:, 0]
    each = [np.linalg.norm(slopes[:, columns], axis=1) for columns in _groups(public).values()]
    return np.stack(each, axis=1)


def _largest_rise(public: query.PublicShape) -> FloatArray:
    return np.full((public.n_draws, len(_groups(public))), _bound(public))


def _softmax_rise(public: query.PublicShape) -> FloatArray:
    slopes = np.pad(public.split[0], [(0, 0), (1, 0), (0, 0)])  # the score of class 0 is 0
    differences = slopes[:, :, None] - slopes[:, None]
    widths = [
        # Parts of several columns do not lie in an interval: the perimeter of three points of a
        # set is up to three times its width, not two.
        (1.5 if len(columns) > 1 else 1.0)
        * np.linalg.norm(differences[..., columns], axis=-1).max(axis=(1, 2))
        for columns in _groups(public).values()
    ]
    return np.asarray(public.linear.row_norm * np.stack(widths, axis=1))


def _half_square_rise(public: query.PublicShape) -> FloatArray:
    slopes, intercepts = public.split[0][:, 0], np.abs(public.split[1][:, 0])
    B, norms = public.linear.row_norm, _norms(public)
    rest_norms = np.sqrt(np.maximum((slopes**2).sum(axis=1)[:, None] - norms**2, 0.0))
    steepest = 1 + intercepts[:, None] + B * (rest_norms + norms)
    low, high = public.linear.target_bounds
    return np.asarray(((high - low) / 2) ** 2 * steepest * B * norms)


_OF_BOUNDED = ("sign", query.NETWORK)  # links of losses in [0, bound], which have no Λ
# Λ·B·|w| by draw and feature (n_draws, n_features): half the largest increase of a loss, or all of
# it for bounded losses.
_HALF_RISE: dict[str, Callable[[query.PublicShape], FloatArray]] = {
    "logistic": lambda public: public.linear.row_norm * _norms(public),
    "sign": _largest_rise,
    query.NETWORK: _largest_rise,
    "softmax": _softmax_rise,
    "identity": _half_square_rise,
}
