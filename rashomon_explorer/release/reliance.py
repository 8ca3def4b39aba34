"""Model reliance of the draws on each feature, as a query over all pairs of rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import Columns, feature_groups
from rashomon_explorer.measures.reliance.pair_losses import MOST_PAIRS
from rashomon_explorer.measures.reliance.set_reliance import TreeTask, reliance_table
from rashomon_explorer.release.losses import UNIT
from rashomon_explorer.release.query import Coordinates, DrawsQuery, Over, PublicShape, Rows
from rashomon_explorer.sets import ReleasedTrees


@dataclass(frozen=True)
class Reliance(DrawsQuery):
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
    the same bounds, by the same three points, and additional randomness.) Λ is 1 for log loss
    (with the spread of w over the classes instead of |w|), and 1 + the largest switched score for
    half the squared error.

    Parameters
    ----------
    over : {"mean", "largest", "least", "each"}, default="mean"
        Summary over the draws.
    """

    over: Over = "mean"
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

    def check(self, public: PublicShape) -> None:
        """Raise an error for a single row, or too many pairs of rows."""
        super().check(public)
        if public.n_rows < 2:
            raise ValueError(f"{self.name} needs at least two rows, got {public.n_rows}")
        if public.models.link == "softmax" and public.n_rows**2 * public.n_draws > MOST_PAIRS:
            raise ValueError(
                f"{self.name} of softmax models needs all pairs of rows, too many for "
                f"{public.n_rows} rows and {public.n_draws} draws: release fewer draws"
            )

    def draw_widths(self, public: PublicShape) -> FloatArray:
        """4ΛB|w|/n per feature, or 3/n for wrong labels."""
        half = _HALF_RISE[public.models.link](public)
        if public.models.link == "sign":
            return np.full(half.shape, 3 / public.n_rows)
        return 4 * half / public.n_rows

    def draw_values(self, rows: Rows) -> FloatArray:
        """Return increases (n_draws, n_features)."""
        groups = _groups(rows.public)
        if isinstance(rows.models, ReleasedTrees):
            task = TreeTask(rows.models.models, rows.X, rows.codes.astype(np.intp))
            return reliance_table(task, groups).to_numpy()
        return reliance_table(rows.task(), groups).to_numpy()

    def coordinates(self, public: PublicShape) -> Coordinates:
        """One increase per feature, or per draw and feature."""
        features, draws = list(_groups(public)), range(public.n_draws)
        names = [f"{self.over} reliance on {name}" for name in features]
        if self.over == "each":
            names = [f"reliance of draw {draw} on {name}" for draw in draws for name in features]
        half = _HALF_RISE[public.models.link](public)
        # A wrong label counts 1 at most; other losses increase by at most twice the half.
        rise = np.minimum(1.0, half) if public.models.link == "sign" else 2 * half
        high = self._summary_widths(rise)
        return Coordinates(names, -high, high, note=UNIT[public.models.link])


def _groups(public: PublicShape) -> dict[str, Columns]:
    trees = isinstance(public.models, ReleasedTrees)
    return feature_groups(None, public.columns, None if trees else public.models.feature_groups)


def _norms(public: PublicShape) -> FloatArray:
    """|w| (n_draws, n_features) for models with one score."""
    slopes = public.split[0][:, 0]
    each = [np.linalg.norm(slopes[:, columns], axis=1) for columns in _groups(public).values()]
    return np.stack(each, axis=1)


def _zero_one(public: PublicShape) -> FloatArray:
    return np.ones((public.n_draws, len(_groups(public))))


def _softmax(public: PublicShape) -> FloatArray:
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


def _half_square(public: PublicShape) -> FloatArray:
    slopes, intercepts = public.split[0][:, 0], np.abs(public.split[1][:, 0])
    B, norms = public.linear.row_norm, _norms(public)
    rest_norms = np.sqrt(np.maximum((slopes**2).sum(axis=1)[:, None] - norms**2, 0.0))
    steepest = 1 + intercepts[:, None] + B * (rest_norms + norms)
    low, high = public.linear.target_bounds
    return np.asarray(((high - low) / 2) ** 2 * steepest * B * norms)


# Λ·B·|w| by draw and feature (n_draws, n_features): half the largest increase of a loss.
_HALF_RISE: dict[str, Callable[[PublicShape], FloatArray]] = {
    "logistic": lambda public: public.linear.row_norm * _norms(public),
    "sign": _zero_one,
    "softmax": _softmax,
    "identity": _half_square,
}
