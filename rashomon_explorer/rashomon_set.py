"""A set of drawn models: the curator's view, and the view that may leave the building."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.minimum import Minimum
from rashomon_explorer.privacy import Guarantee, Plan
from rashomon_explorer.problem import add_intercept, clip_rows

if TYPE_CHECKING:
    from xarray import DataTree

FloatArray = NDArray[np.float64]

_CURATOR_ONLY = frozenset(
    {
        "losses",
        "excess",
        "hit_rate",
        "minimum",
        "best",
        "best_scores",
        "clipped_share",
        "acceptance",
        "to_arviz",
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)
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
    plan : Plan
        What was asked for: ψ, β, price and bounds; public.
    guarantee : Guarantee
        All draws composed.
    """

    coef: FloatArray
    feature_names: tuple[str, ...]
    link: str
    row_norm: float
    target_bounds: tuple[float, float] = (-1.0, 1.0)
    plan: Plan
    guarantee: Guarantee

    def __post_init__(self) -> None:
        """Freeze the models: a set is a value."""
        object.__setattr__(self, "coef", _frozen(self.coef))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Freeze again: an array forgets in a pickle that it is read-only."""
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_draws(self) -> int:
        """Number of models."""
        return len(self.coef)

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

    def margins(self, X: ArrayLike) -> FloatArray:
        """Linear score of every model for every row, before the link.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows)
        """
        return linear_scores(self.coef, X, self.row_norm)

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


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedSet(ModelBlock):
    """What may leave the building: paid draws, their guarantee, and public settings."""

    def __getattr__(self, name: str) -> NoReturn:
        if name in _CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@dataclass(frozen=True, kw_only=True, eq=False)
class RashomonSet(ModelBlock):
    """Draws with what their curator knows of them.  Curator: computed from private rows.

    Parameters
    ----------
    losses : ndarray of shape (n_draws,)
        Loss of each model on the private rows.
    minimum : Minimum
        Certified best model.
    clipped_share : float
        Share of rows that were longer than ``row_norm``.
    acceptance : float
        Draws accepted for each model whose loss was evaluated.
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

    losses: FloatArray
    minimum: Minimum
    clipped_share: float
    acceptance: float
    sampler: str

    def __post_init__(self) -> None:
        """Freeze what the curator knows, too."""
        super().__post_init__()
        object.__setattr__(self, "losses", _frozen(self.losses))
        minimum = replace(self.minimum, theta=_frozen(self.minimum.theta))
        object.__setattr__(self, "minimum", minimum)

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
        # Compared as a sampler compares: subtracting first would lose draws on the very edge.
        inside = self.losses <= self.minimum.value + self.psi
        return float(np.mean(inside)) if self.n_draws else float("nan")

    def best_scores(self, X: ArrayLike) -> FloatArray:
        """Prediction (n_rows,) of the certified best model, as in :meth:`scores`."""
        return predict_rows(
            self.best[None, :],
            X,
            link=self.link,
            row_norm=self.row_norm,
            target_bounds=self.target_bounds,
        )[0]

    def to_arviz(self, n_chains: int = 1) -> "DataTree":
        """Draws and losses in ArviZ's container.  Curator: what it shows is not private.

        Parameters
        ----------
        n_chains : int, default=1
            Chains the draws came from. A sampler of batched chains gives one state of each chain
            in turn, and so they are told apart; exact draws are independent, one chain.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (``coef``: chain, draw, parameter) and ``sample_stats``
            (``loss``), with ψ, β, the sampler and the guarantee as attributes.

        Raises
        ------
        ValueError
            If there are no draws, or they are not a whole number of states of every chain.
        ImportError
            If ArviZ is not installed.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
        >>> models = RashomonClassifier(n_draws=6, random_state=0).fit(X, y).rashomon_set_
        >>> tree = models.to_arviz()
        >>> dict(tree["posterior"].sizes), tree.attrs["view"]
        ({'chain': 1, 'draw': 6, 'parameter': 2}, 'curator: not private')
        """
        # Here and not at the top: pandas and xarray would double the package's import time.
        from rashomon_explorer.diagnostics import to_data_tree

        if n_chains < 1 or self.n_draws < n_chains or self.n_draws % n_chains:
            raise ValueError(
                f"n_chains must divide the {self.n_draws} draws into equal chains, got {n_chains!r}"
            )
        chains = self.coef.reshape(-1, n_chains, self.coef.shape[1]).swapaxes(0, 1)
        return to_data_tree(
            chains,
            losses=self.losses.reshape(-1, n_chains).T,
            names=self.feature_names,
            attributes={
                "psi": self.psi,
                "beta": self.beta,
                "sampler": self.sampler,
                "guarantee": str(self.guarantee),
            },
        )

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
            plan=self.plan,
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
    scores = linear_scores(coef, X, row_norm)
    if link == "logistic":
        return np.asarray(expit(scores))
    low, high = target_bounds
    return (low + high) / 2 + scores * ((high - low) / 2)


def linear_scores(coef: FloatArray, X: ArrayLike, row_norm: float) -> FloatArray:
    """θ·(x, 1) of models (k, n_features + 1) for rows shortened to ``row_norm``; (k, n_rows).

    Raises
    ------
    ValueError
        If the rows have another number of columns than the models.

    Examples
    --------
    >>> linear_scores(np.array([[2.0, 0.5]]), [[0.25], [10.0]], row_norm=1.0)
    array([[1. , 2.5]])
    """
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != coef.shape[1] - 1:
        raise ValueError(f"X must have shape (n_rows, {coef.shape[1] - 1}), got {rows.shape}")
    clipped, _ = clip_rows(rows, row_norm)
    return np.asarray(coef @ add_intercept(clipped).T)


def _frozen(values: FloatArray) -> FloatArray:
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy
