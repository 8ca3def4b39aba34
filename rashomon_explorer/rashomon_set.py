"""A set of drawn models: the curator's view, and the view that may leave the building."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.minimum import Minimum
from rashomon_explorer.privacy import Guarantee, Plan
from rashomon_explorer.problem import add_intercept, clip_rows

FloatArray = NDArray[np.float64]

_CURATOR_ONLY = frozenset(
    {"losses", "excess", "hit_rate", "minimum", "best", "clipped_share", "acceptance"}
)


@dataclass(frozen=True, kw_only=True)
class ModelBlock:
    """Linear models side by side, and what they predict.

    Parameters
    ----------
    coef : ndarray of shape (n_draws, n_features + 1)
        One model a row, the intercept last.
    feature_names : tuple of str
        Names of the parameters; the last is ``"intercept"``.
    link : {"logistic", "identity"}
        How a score becomes a prediction.
    row_norm : float
        Rows are shortened to this norm before they are scored, as they were for the draws.
    target_bounds : tuple of float
        Range of the targets, onto which identity scores in [−1, 1] are mapped.
    """

    coef: FloatArray
    feature_names: tuple[str, ...]
    link: str
    row_norm: float
    target_bounds: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        """Freeze the models: a set is a value."""
        frozen = np.array(self.coef, dtype=float)
        frozen.flags.writeable = False
        object.__setattr__(self, "coef", frozen)

    @property
    def n_draws(self) -> int:
        """Number of models."""
        return len(self.coef)

    def scores(self, X: ArrayLike) -> FloatArray:
        """Prediction of every model for every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows)
            Probability of the positive class, or the predicted target.
        """
        return predict_rows(
            self.coef, X, link=self.link, row_norm=self.row_norm, target_bounds=self.target_bounds
        )

    def labels(self, X: ArrayLike) -> NDArray[np.int_]:
        """Class 0 or 1 that every model gives to every row, at probability ½.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows)

        Raises
        ------
        TypeError
            For a regression set.
        """
        if self.link != "logistic":
            raise TypeError("labels need a classification set; use scores for regression")
        return (self.scores(X) > 0.5).astype(int)


@dataclass(frozen=True, kw_only=True)
class ReleasedSet(ModelBlock):
    """What may leave the building: paid draws, their guarantee, and public settings.

    Parameters
    ----------
    psi, beta : float
        Rashomon threshold and inverse temperature of the law that was drawn from.
    guarantee : Guarantee
        All draws composed.
    """

    psi: float
    beta: float
    guarantee: Guarantee

    def __getattr__(self, name: str) -> NoReturn:
        if name in _CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True, kw_only=True)
class RashomonSet(ModelBlock):
    """Draws with what their curator knows of them.  Curator: computed from private rows.

    Parameters
    ----------
    plan : Plan
        What was asked for: ψ, β, price and bounds.
    guarantee : Guarantee
        All draws composed.
    losses : ndarray of shape (n_draws,)
        Loss of each model on the private rows.
    minimum : Minimum
        Certified best model.
    clipped_share : float
        Share of rows that were longer than ``row_norm``.
    evaluated : int
        Models whose loss was evaluated to get the draws.
    sampler : str
        Name of the sampler.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, random_state=0).fit(X, y).rashomon_set_
    >>> models.coef.shape, models.feature_names
    ((5, 2), ('x0', 'intercept'))
    >>> models.release().hit_rate
    Traceback (most recent call last):
        ...
    rashomon_explorer.exceptions.CuratorOnlyError: hit_rate is computed from private rows: ...
    """

    plan: Plan
    guarantee: Guarantee
    losses: FloatArray
    minimum: Minimum
    clipped_share: float
    evaluated: int
    sampler: str

    @property
    def psi(self) -> float:
        """Rashomon threshold, in units of the loss."""
        return self.plan.psi

    @property
    def beta(self) -> float:
        """Inverse temperature of the draws."""
        return self.plan.beta

    @property
    def task(self) -> str:
        """Either ``"classification"`` or ``"regression"``."""
        return "classification" if self.link == "logistic" else "regression"

    @property
    def best(self) -> FloatArray:
        """Parameters (n_features + 1,) of the certified best model."""
        return self.minimum.theta

    @property
    def excess(self) -> FloatArray:
        """Loss of each draw above the least, shape (n_draws,)."""
        return self.losses - self.minimum.value

    @property
    def hit_rate(self) -> float:
        """Share of the draws that lie in the Rashomon set; NaN without draws."""
        return float(np.mean(self.excess <= self.psi)) if self.n_draws else float("nan")

    @property
    def acceptance(self) -> float:
        """Draws for each model evaluated on the rows."""
        return self.n_draws / max(1, self.evaluated)

    def best_scores(self, X: ArrayLike) -> FloatArray:
        """Prediction (n_rows,) of the certified best model, as in :meth:`scores`."""
        return predict_rows(
            self.best[None, :],
            X,
            link=self.link,
            row_norm=self.row_norm,
            target_bounds=self.target_bounds,
        )[0]

    def release(self) -> ReleasedSet:
        """Keep the draws and their guarantee alone.

        Returns
        -------
        ReleasedSet

        Raises
        ------
        CuratorOnlyError
            If the draws carry no guarantee.
        """
        if not self.guarantee.holds:
            raise CuratorOnlyError(f"these draws cannot be released: {self.guarantee}")
        return ReleasedSet(
            coef=self.coef,
            feature_names=self.feature_names,
            link=self.link,
            row_norm=self.row_norm,
            target_bounds=self.target_bounds,
            psi=self.psi,
            beta=self.beta,
            guarantee=self.guarantee,
        )


def predict_rows(
    coef: FloatArray,
    X: ArrayLike,
    *,
    link: str,
    row_norm: float,
    target_bounds: Sequence[float],
) -> FloatArray:
    """Predictions (k, n_rows) of models (k, n_features + 1), rows shortened to ``row_norm``.

    Examples
    --------
    >>> model = np.array([[2.0, 0.5]])
    >>> predict_rows(model, [[0.25]], link="identity", row_norm=1.0, target_bounds=(0.0, 10.0))
    array([[10.]])
    """
    rows, _ = clip_rows(np.asarray(X, dtype=float), row_norm)
    scores = coef @ add_intercept(rows).T
    if link == "logistic":
        return np.asarray(expit(scores))
    low, high = target_bounds
    return (low + high) / 2 + scores * ((high - low) / 2)
