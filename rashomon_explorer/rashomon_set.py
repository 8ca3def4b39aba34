"""A set of drawn models: the curator's view, and the view that may leave the building."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

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
    coef : ndarray of shape (n_draws, n_parameters)
        One model a row: a coefficient for each feature, the intercept last. A softmax link has
        as many again for each further class, one class after the other, and none for class 0,
        whose score is 0.
    feature_names : tuple of str
        Names of the features; the last is ``"intercept"``.
    link : {"logistic", "sign", "softmax", "identity"}
        How a score becomes a prediction.
    row_norm : float
        Rows are shortened to this norm before they are scored, as they were for the draws.
    target_bounds : tuple of float
        Range of the targets, onto which identity scores in [−1, 1] are mapped.
    classes : tuple, default=()
        Public labels of the classes 0, 1, …, where they are known.
    plan : Plan
        What was asked for: ψ, β, price and bounds; public.
    guarantee : Guarantee
        All draws composed.

    Raises
    ------
    ValueError
        If the link is unknown, or names, classes and parameters do not suit each other.
    """

    coef: FloatArray
    feature_names: tuple[str, ...]
    link: str
    row_norm: float
    target_bounds: tuple[float, float] = (-1.0, 1.0)
    classes: tuple[Any, ...] = ()
    plan: Plan
    guarantee: Guarantee

    def __post_init__(self) -> None:
        """Freeze the models: a set is a value."""
        object.__setattr__(self, "coef", _frozen(self.coef))
        self._check()

    def _check(self) -> None:
        if self.link not in _LINKS:
            raise ValueError(f"link must be one of {sorted(_LINKS)}, got {self.link!r}")
        width, names = self.coef.shape[-1], len(self.feature_names)
        scores_fit = width % names == 0 if self.link == "softmax" else width == names
        if self.coef.ndim != 2 or not width or not scores_fit:
            raise ValueError(
                f"coef must have shape (n_draws, {names}), one column for each feature name"
                f"{' and class but the first' if self.link == 'softmax' else ''}, got "
                f"{self.coef.shape}"
            )
        if self.classes and len(self.classes) != self.n_classes:
            raise ValueError(f"{len(self.classes)} labels are given for {self.n_classes} classes")

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
        return "regression" if self.link == "identity" else "classification"

    @property
    def outputs(self) -> int:
        """Linear scores that a model gives a row: one, or one for each class but the first."""
        return self.coef.shape[1] // len(self.feature_names)

    @property
    def n_classes(self) -> int:
        """Classes that the models tell apart; 0 for a regression."""
        return self.outputs + 1 if self.task == "classification" else 0

    @property
    def class_names(self) -> tuple[str, ...]:
        """Each class in words: its label if that is text, otherwise ``"class "`` and the label."""
        labels = self.classes or tuple(range(self.n_classes))
        return tuple(x if isinstance(x, str) else f"class {x}" for x in labels)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the columns of ``coef``: features, for several scores with the class before."""
        if self.outputs == 1:
            return self.feature_names
        return tuple(
            f"{name}: {feature}" for name in self.class_names[1:] for feature in self.feature_names
        )

    def margins(self, X: ArrayLike) -> FloatArray:
        """Linear score of every model for every row, before the link.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for a softmax link
            The first class of a softmax link has the score 0.

        Raises
        ------
        ValueError
            If the rows are not finite or have another number of columns than the models.
        """
        return self._margins(self.coef, X)

    def scores(self, X: ArrayLike) -> FloatArray:
        """Prediction of every model for every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for a softmax link
            Probability of the positive class or of each class, the predicted target, or, for a
            sign link, which knows no probabilities, 1.0 for the positive class and 0.0.
        """
        return self._scores(self.coef, X)

    def labels(self, X: ArrayLike) -> NDArray[np.int_]:
        """Class 0, 1, … that every model gives to every row: the likeliest, at ½ the first.

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
        if self.task != "classification":
            raise TypeError("labels need a classification set; use scores for regression")
        scores = self.scores(X)
        return np.asarray(
            scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int)
        )

    def _margins(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        scores = linear_scores(coef, X, self.row_norm, self.outputs)
        if self.link != "softmax":
            return scores[..., 0]
        return np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)

    def _scores(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        return _LINKS[self.link](self._margins(coef, X), self.target_bounds)


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
        """Parameters (n_parameters,) of the certified best model."""
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
        """Prediction of the certified best model, as in :meth:`scores` without the first axis."""
        return np.asarray(self._scores(self.best[None, :], X)[0])

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
            names=self.parameter_names,
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
            classes=self.classes,
            plan=self.plan,
            guarantee=self.guarantee,
        )


def linear_scores(coef: FloatArray, X: ArrayLike, row_norm: float, outputs: int = 1) -> FloatArray:
    """θ·(x, 1) of models (k, outputs·(n_features + 1)) for rows shortened to ``row_norm``.

    Returns shape (k, n_rows, outputs).

    Raises
    ------
    ValueError
        If the rows are not finite or have another number of columns than the models.

    Examples
    --------
    >>> linear_scores(np.array([[2.0, 0.5]]), [[0.25], [10.0]], row_norm=1.0).tolist()
    [[[1.0], [2.5]]]
    """
    rows = np.asarray(X, dtype=float)
    width = coef.shape[1] // outputs
    if rows.ndim != 2 or rows.shape[1] != width - 1:
        raise ValueError(f"X must have shape (n_rows, {width - 1}), got {rows.shape}")
    if not np.isfinite(rows).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        raise ValueError(f"X holds NaN or infinity at {place}: remove or impute the row")
    clipped, _ = clip_rows(rows, row_norm)
    scores = coef.reshape(-1, width) @ add_intercept(clipped).T
    return np.asarray(scores.reshape(len(coef), outputs, len(rows)).swapaxes(1, 2))


def _to_targets(margins: FloatArray, bounds: Sequence[float]) -> FloatArray:
    low, high = bounds
    return (low + high) / 2 + margins * ((high - low) / 2)


_LINKS: dict[str, Callable[[FloatArray, Sequence[float]], FloatArray]] = {
    "logistic": lambda margins, _: np.asarray(expit(margins)),
    "sign": lambda margins, _: (margins > 0).astype(float),
    "softmax": lambda margins, _: np.asarray(softmax(margins, axis=-1)),
    "identity": _to_targets,
}


def _frozen(values: FloatArray) -> FloatArray:
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy
