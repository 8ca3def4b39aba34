"""Base class of curator sets: losses of the models and quantities computed from them."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import Fact
from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.sets.files import load
from rashomon_explorer.sets.selection import Selection, mask_places


class CuratorSet(Selection):
    """Models with their losses, from any source. For the curator only: not private.

    Common base of :class:`RashomonSet` (linear draws, which have coefficients, a plan and
    possibly a guarantee) and :class:`PredictorSet` (models from any source without these, and
    private trees, which have a plan and a guarantee). The curator may see the private rows.
    Measures and figures need ``scores``, ``labels``, ``excess``, ``psi`` and ``best_scores``,
    which both have.
    """

    losses: FloatArray

    # Declared, not defined: a field of one type of set, computed in the other.
    if TYPE_CHECKING:

        @property
        def least(self) -> float:
            """Loss that ``excess`` is relative to."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about the set for the curator; computed from private rows."""
        return ()

    def _facts(self) -> list[Fact]:
        found = "unknown" if math.isnan(self.hit_rate) else f"{self.hit_rate:.1%}"
        inside = f"{found} inside ψ (not private)"
        return [*super()._facts(), ("curator", inside), *(("curator", said) for said in self.notes)]

    @property
    def excess(self) -> FloatArray:
        """Loss of each model above the least, shape (n_draws,)."""
        return self._known_losses() - self.least

    @property
    def hit_rate(self) -> float:
        """Share of the models that lie in the Rashomon set; NaN without models."""
        return self.share_within(self.psi)

    def share_within(self, psi: float) -> float:
        """Share of the models whose excess loss is at most ψ; NaN without models."""
        return float(np.mean(self._hits(psi))) if self.n_draws else float("nan")

    def rethreshold(self, psi: float) -> Self:
        """Return the same models at another ψ; only their membership is recomputed.

        Parameters
        ----------
        psi : float
            Smaller or larger than the set's own. The models were drawn for the latter: in a larger
            Rashomon set they cover only a part, and measures over them remain inner
            bounds.

        Returns
        -------
        set of the same type
            The set has all models and their guarantee: there is no selection, and its release is
            that of the original draws.

        Raises
        ------
        ValueError
            If ``psi`` is negative, or larger than the ψ of a complete set: the set lacks models
            between the two.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
        >>> estimator = RashomonClassifier(n_draws=5, epsilon=500.0, random_state=0)
        >>> models = estimator.fit(X, y).rashomon_set_
        >>> models.rethreshold(0.0).hit_rate, models.rethreshold(0.0).n_draws
        (0.0, 5)
        """
        check_nonnegative_or_infinite(psi=psi)
        # A complete set at a smaller ψ is still complete up to the largest excess of its models.
        known = max(self.psi, float(self.excess.max(initial=0.0)))
        if getattr(self, "complete", False) and psi > known:
            raise ValueError(
                f"psi must be at most {known:g}, got {psi!r}: the set holds every model up to "
                "there and none beyond; build the set again with the larger ψ"
            )
        return self._within(float(psi))

    def inside(self, psi: float | None = None) -> Self:
        """Keep the models whose excess loss is at most ψ; the selection reads private rows.

        Parameters
        ----------
        psi : float, optional
            A threshold up to the set's own, which is the default. A larger one is an error: the set
            has no models between the two, or only some that were not drawn for it, and would appear
            complete.

        Returns
        -------
        set of the same type
            With that ψ and without a guarantee: the selection depends on the rows.

        Raises
        ------
        ValueError
            If ``psi`` is negative or larger than the set's, or losses are not known.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
        >>> estimator = RashomonClassifier(n_draws=5, epsilon=500.0, random_state=0)
        >>> models = estimator.fit(X, y).rashomon_set_
        >>> models.inside().hit_rate, models.inside().guarantee.holds
        (1.0, False)
        """
        chosen = self.psi if psi is None else float(psi)
        if not 0 <= chosen <= self.psi:
            raise ValueError(
                f"psi must be from 0 to {self.psi:g}, the set's own, got {psi!r}: the set is not "
                "complete beyond it; draw or build it again with the larger ψ"
            )
        places = mask_places(self._hits(chosen), self.n_draws)
        kept = self._select(places, f"inside ψ = {chosen:g}", reads_rows=True)
        return kept if psi is None else kept._within(chosen)

    def intersect(
        self,
        losses: ArrayLike,
        psi: float,
        *,
        least: float | None = None,
        name: str = "second criterion",
    ) -> Self:
        """Keep the models that are good by this set's loss and by a second one.

        {f : L₁(f) ≤ min L₁ + ψ₁ and L₂(f) ≤ least + ψ₂}. The selection reads the losses.

        Parameters
        ----------
        losses : array-like of shape (n_draws,)
            Second loss of each model, on other data or of another kind; smaller is better.
        psi : float
            ψ₂, in units of the second loss.
        least : float, optional
            Least second loss of any model. The default is the least one of these models, an upper
            bound of it, so the result may be larger than with the true value.
        name : str, default="second criterion"
            Name that is stored in ``steps``.

        Returns
        -------
        set of the same type
            Without a guarantee.

        Raises
        ------
        ValueError
            If there is not one finite loss per model, or ``psi`` is negative.
        """
        second = np.asarray(losses, dtype=float)
        if second.shape != (self.n_draws,) or not np.isfinite(second).all():
            raise ValueError(
                f"losses must be finite, one for each of {self.n_draws} models, got shape "
                f"{second.shape}"
            )
        check_nonnegative_or_infinite(psi=psi)
        floor = float(second.min(initial=math.inf)) if least is None else float(least)
        places = mask_places(self._hits(self.psi) & (second <= floor + psi), self.n_draws)
        return self._select(places, f"inside ψ and {name} within {psi:g}", reads_rows=True)

    @staticmethod
    def load(path: str | PathLike[str]) -> CuratorSet:
        """Read a curator's set that ``save`` wrote: linear draws, stored predictions or trees.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        RashomonSet or PredictorSet
            Set of the type that was saved.

        Raises
        ------
        DataError
            If the file is a release, is not a set, or was written by a newer version.
        """
        return load(path, CuratorSet)

    def _hits(self, psi: float) -> Mask:
        # Compare as samplers do: subtracting first would lose draws exactly at the threshold.
        return np.asarray(self._known_losses() <= self.least + psi)

    def _known_losses(self) -> FloatArray:
        return self.losses

    def _within(self, psi: float) -> Self:
        raise NotImplementedError
