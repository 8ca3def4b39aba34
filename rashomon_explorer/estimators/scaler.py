"""Features mapped by declared ranges, never by the rows."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

FloatArray = NDArray[np.float64]


class PublicBoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map declared feature ranges onto the unit ball.

    Feature j with range [low, high] becomes (x − middle)/(half-width·√p), clipped, so that every
    row has norm at most 1. The ranges are public knowledge; nothing is learnt from the rows, so
    that the scaler costs no privacy and fits in front of a private estimator in a pipeline.

    Parameters
    ----------
    bounds : mapping of str to (low, high), or array-like of shape (n_features, 2), or (low, high)
        Declared ranges: by column name for a DataFrame, by position, or one pair for every
        feature. It has no default: a range taken from the rows would leak them.

    Attributes
    ----------
    middle_ : ndarray of shape (n_features,)
        Middle of each range.
    half_width_ : ndarray of shape (n_features,)
        Half the width of each range.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> scaler = PublicBoundsScaler(bounds=[(0, 100), (-1, 1)])
    >>> scaler.fit_transform([[100.0, 0.0], [50.0, -1.0]]).round(3).tolist()
    [[0.707, 0.0], [0.0, -0.707]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"bounds": [Mapping, "array-like"]}

    def __init__(self, bounds: Mapping[str, Sequence[float]] | ArrayLike = (-1.0, 1.0)) -> None:
        self.bounds = bounds

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> "PublicBoundsScaler":
        """Look up the declared range of each column; the values are not read.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a column has no range, or a range is empty or not finite.
        """
        n_features = validate_data(self, X, dtype=np.float64).shape[1]
        names = getattr(self, "feature_names_in_", None)
        ranges = _ranges(self.bounds, n_features, names)
        _check_ranges(ranges, names)
        self.middle_ = ranges.mean(axis=1)
        self.half_width_ = (ranges[:, 1] - ranges[:, 0]) / 2
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map rows into the unit ball; values outside their range are clipped to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        unit = np.clip((rows - self.middle_) / self.half_width_, -1.0, 1.0)
        return np.asarray(unit / np.sqrt(rows.shape[1]))

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Back to declared units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=float)
        return np.asarray(X * np.sqrt(X.shape[1]) * self.half_width_ + self.middle_)


def _ranges(bounds: Any, n_features: int, names: NDArray[Any] | None) -> FloatArray:
    if isinstance(bounds, Mapping):
        if names is None:
            raise ValueError(
                "bounds by name need a DataFrame; for an array give (low, high) pairs in order"
            )
        missing = [str(name) for name in names if name not in bounds]
        if missing:
            raise ValueError(f"no bounds are declared for {', '.join(missing)}")
        return np.array([bounds[name] for name in names], dtype=float).reshape(n_features, 2)
    ranges = np.asarray(bounds, dtype=float)
    if ranges.shape == (2,):
        return np.tile(ranges, (n_features, 1))
    if ranges.shape != (n_features, 2):
        raise ValueError(
            f"bounds must be one (low, high) pair for each of {n_features} features, got an "
            f"array of shape {ranges.shape}"
        )
    return ranges


def _check_ranges(ranges: FloatArray, names: NDArray[Any] | None) -> None:
    good = np.isfinite(ranges).all(axis=1) & (ranges[:, 0] < ranges[:, 1])
    if not good.all():
        j = int(np.flatnonzero(~good)[0])
        name = f"column {names[j]!r}" if names is not None else f"feature {j}"
        raise ValueError(f"bounds of {name} must be finite with low < high, got {ranges[j]}")
