"""Features mapped by declared ranges; ranges computed from the rows void the guarantee."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import StrOptions, fit_context
from rashomon_explorer._utils.taint import CarriesLeaks
from rashomon_explorer.data.cells import warn_if_clipped
from rashomon_explorer.data.encoder import most_often
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.privacy import compose
from rashomon_explorer.privacy.notions import no_guarantee

LEARN = "learn"


class PublicBoundsScaler(CarriesLeaks, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map declared feature ranges onto the unit ball.

    Feature j with range [low, high] becomes (x − middle)/(half-width·√p), clipped, so that every
    row has norm at most 1. Declared ranges are public and nothing is computed from the rows, so the
    scaler has no privacy cost and can precede a private estimator in a pipeline. A DataFrame stays
    a DataFrame with the same column names.

    With ``bounds="learn"`` the ranges are the minimum and maximum of each column of the rows. Then
    one record can change all others, no guarantee holds, and the scaled rows carry a taint: a
    :class:`RashomonClassifier` or :class:`RashomonRegressor` fitted to them has no guarantee, its
    draws cannot be released, and a ledger is not charged. The taint survives slicing, joining and
    pickling of NumPy arrays, slicing, copying and pickling of pandas frames, and cross-validation;
    a fit inside a pipeline finds the scaler among the earlier steps. Outside a pipeline, conversion
    (``np.asarray``, ``pd.DataFrame``, ``pd.concat``) and computations by other libraries lose it;
    a polars frame cannot carry it and is refused.

    Parameters
    ----------
    bounds : mapping of str to (low, high), array-like of shape (n_features, 2), (low, high), \
            or "learn", default=(-1.0, 1.0)
        Declared ranges: by column name for a DataFrame, by position, or one pair for every
        feature; or ``"learn"``, for an exploration that will not be published.

    Attributes
    ----------
    middle_ : ndarray of shape (n_features,)
        Middle of each range.
    half_width_ : ndarray of shape (n_features,)
        Half the width of each range.
    learnt_bounds_ : bool
        Whether the ranges were computed from the rows.
    guarantee_ : Guarantee
        Privacy guarantee of the ranges: nothing spent, or no guarantee.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> scaler = PublicBoundsScaler(bounds=[(0, 100), (-1, 1)])
    >>> scaler.fit_transform([[100.0, 0.0], [50.0, -1.0]]).round(3).tolist()
    [[0.707, 0.0], [0.0, -0.707]]
    >>> print(scaler.guarantee_.theorem)
    nothing spent
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bounds": [Mapping, "array-like", StrOptions({LEARN})]
    }

    def __init__(
        self, bounds: Mapping[str, Sequence[float]] | ArrayLike | str = (-1.0, 1.0)
    ) -> None:
        self.bounds = bounds

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> PublicBoundsScaler:
        """Set the declared range of each column; values are read only for ``bounds="learn"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
            With the range of each column in ``middle_`` and ``half_width_``.

        Raises
        ------
        ValueError
            If a column has no range, or a range is empty or not finite.

        Warns
        -----
        PrivacyLeakWarning
            If the ranges are computed from the rows.
        """
        learns = isinstance(self.bounds, str)
        rows = validate_data(
            self,
            X,
            dtype=np.float64,
            ensure_min_samples=2 if learns else 1,
            ensure_all_finite=learns,
        )
        names = getattr(self, "feature_names_in_", None)
        ranges = _learnt(rows) if learns else _ranges(self.bounds, rows.shape[1], names)
        _check_ranges(ranges, names, learns)
        self.learnt_bounds_ = learns
        self.guarantee_ = no_guarantee(LEARNT_BOUNDS) if learns else compose([])
        if learns:
            warnings.warn(_WARNING, PrivacyLeakWarning, stacklevel=2)
        self.middle_ = ranges.mean(axis=1)
        self.half_width_ = (ranges[:, 1] - ranges[:, 0]) / 2
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map rows into the unit ball; values outside their range are clipped to it.

        NaN and infinity are unchanged: an error here would reveal data at no charge, while the
        next estimator rejects them after its charge.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_features)
            A DataFrame for a pandas DataFrame, unless ``set_output`` requests otherwise. It is
            tainted if the ranges, or the input rows, were computed from data-dependent bounds.

        Warns
        -----
        RowsClippedWarning
            If more than 1 % of the rows have a value outside its range (curator only).
        """
        rows = validate_data(
            self, X, dtype=np.float64, reset=False, ensure_all_finite=self.learnt_bounds_
        )
        unit = (rows - self.middle_) / self.half_width_
        out_of_bounds = (np.abs(unit) > _AT_THE_EDGE) & np.isfinite(rows)
        names = getattr(self, "feature_names_in_", range(rows.shape[1]))
        masks = dict(zip(names, out_of_bounds.T, strict=True))
        warn_if_clipped(
            float(out_of_bounds.any(axis=1).mean()),
            f"rows hold a value outside its declared bounds{most_often(masks)}",
            "If other values can occur, declare wider bounds.",
        )
        clipped = np.where(np.isfinite(rows), np.clip(unit, -1.0, 1.0), rows)
        return np.asarray(clipped / np.sqrt(rows.shape[1]))

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Map back to declared units."""
        check_is_fitted(self)
        X = np.asarray(X, dtype=float)
        return np.asarray(X * np.sqrt(X.shape[1]) * self.half_width_ + self.middle_)

    def __sklearn_tags__(self) -> Tags:
        """Allow missing values with declared bounds; bounds cannot be computed from them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not isinstance(self.bounds, str)
        return tags

    def _leak(self) -> str:
        return self.guarantee_.theorem if self.learnt_bounds_ else ""


_AT_THE_EDGE = 1 + 1e-12  # rounding can put a bound itself this far outside
LEARNT_BOUNDS = "bounds were computed from the rows"
_WARNING = (
    "the bounds of the features are computed from the rows, so that no privacy guarantee holds "
    "for models fitted to them; declare them from knowledge of the domain instead: "
    "PublicBoundsScaler(bounds={column: (low, high)})"
)


def _learnt(rows: FloatArray) -> FloatArray:
    return np.column_stack([rows.min(axis=0), rows.max(axis=0)])


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


def _check_ranges(ranges: FloatArray, names: NDArray[Any] | None, learnt: bool) -> None:
    good = np.isfinite(ranges).all(axis=1) & (ranges[:, 0] < ranges[:, 1])
    if not good.all():
        j = int(np.flatnonzero(~good)[0])
        name = f"column {names[j]!r}" if names is not None else f"feature {j}"
        if learnt:
            raise ValueError(
                f"{name} is constant, so no bounds can be computed: declare them, or drop it"
            )
        raise ValueError(f"bounds of {name} must be finite with low < high, got {ranges[j]}")
