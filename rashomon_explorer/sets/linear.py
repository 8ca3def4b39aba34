"""Rashomon sets of linear models, and their releases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.planning.suggestions import warn_if_weak
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.minimisation import Minimum
from rashomon_explorer.sets.block import ModelBlock
from rashomon_explorer.sets.curator import CuratorSet
from rashomon_explorer.sets.files import Arrays, Values, load, number, number_from_value, written_as
from rashomon_explorer.sets.scores import released_schema
from rashomon_explorer.sets.selection import Places, frozen

if TYPE_CHECKING:
    from xarray import DataTree

CURATOR_ONLY = frozenset(
    {
        "losses",
        "excess",
        "hit_rate",
        "minimum",
        "least",
        "best",
        "best_scores",
        "clipped_share",
        "acceptance",
        "inside",
        "intersect",
        "narrowed",
        "notes",
        "reaches_sphere",
        "rethreshold",
        "share_within",
        "to_arviz",
    }
)


@written_as("release", reader="ReleasedSet.load", public=True)
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedSet(ModelBlock):
    """Released set: charged draws, their guarantee, and public settings."""

    _curated: ClassVar[bool] = False

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a release that :meth:`save` wrote.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        DataError
            If the file contains another object, or was written by a newer version.
        """
        return load(path, cls)

    def __getattr__(self, name: str) -> NoReturn:
        if name in CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_CERTIFIED = ("value", "gap", "multiplier", "slack")


@written_as("linear draws", reader="RashomonSet.load")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RashomonSet(ModelBlock, CuratorSet):
    """Draws with losses and other private values, for the curator only: not private.

    Parameters
    ----------
    losses : ndarray of shape (n_draws,)
        Loss of each model on the private rows.
    minimum : Minimum
        Certified minimum of the loss.
    clipped_share : float
        Share of rows that were longer than ``row_norm``.
    acceptance : float
        Accepted draws per evaluated model.
    mechanism : str
        Name of the mechanism that drew them.
    narrowed : float, optional
        Another ψ, set by :meth:`inside` or :meth:`rethreshold`; the plan keeps the original
        one.
    reaches_sphere : bool, default=False
        Whether the Rashomon set is known to extend beyond the ball; checked only without privacy.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
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
    mechanism: str
    narrowed: float | None = None
    reaches_sphere: bool = False

    def __post_init__(self) -> None:
        """Make the curator's arrays read-only, too."""
        super().__post_init__()
        object.__setattr__(self, "losses", frozen(self.losses))
        minimum = replace(self.minimum, theta=frozen(self.minimum.theta))
        object.__setattr__(self, "minimum", minimum)

    @property
    def best(self) -> FloatArray:
        """Parameters (n_parameters,) of the certified best model."""
        return self.minimum.theta

    @property
    def least(self) -> float:
        """Loss of the certified best model, which ``excess`` is relative to."""
        return self.minimum.value

    @property
    def psi(self) -> float:
        """Rashomon threshold, in units of the loss."""
        return self.plan.psi if self.narrowed is None else self.narrowed

    @property
    def notes(self) -> tuple[str, ...]:
        """Message if the radius binds at the best model, with a suggestion; data-dependent.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 500, [1, 1, 0, 0] * 500
        >>> fit = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y)
        >>> [note.split(":")[0] for note in fit.rashomon_set_.notes]
        ['the radius binds']
        """
        radius = self.plan.radius
        if radius is not None and self.reaches_sphere:
            return (f"the radius binds: {sphere_in_words(radius)}",)
        if radius is None or not self.minimum.on_boundary:
            return ()
        return (
            f"the radius binds: the best model lies on the sphere ‖θ‖ = {radius:g}, and better "
            f"ones may lie beyond; try radius={2 * radius:g}, at which the same privacy cost "
            f"gives at most half of β: plan it first",
        )

    def best_scores(self, X: ArrayLike) -> FloatArray:
        """Predictions of the certified best model, as :meth:`scores` without the first axis."""
        return np.asarray(self._scores(self.best[None, :], X)[0])

    def to_arviz(self, n_chains: int = 1) -> DataTree:
        """ArviZ container of draws and losses, for the curator only: not private.

        Parameters
        ----------
        n_chains : int, default=1
            Number of chains of the draws. A sampler of batched chains returns one state of each
            chain in turn, which identifies the chains; exact draws are independent: one chain.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (``coef``: chain, draw, parameter) and ``sample_stats``
            (``loss``), with ψ, β, the sampler and the guarantee as attributes.

        Raises
        ------
        ValueError
            If there are no draws, or their number is not a multiple of ``n_chains``.
        ImportError
            If ArviZ is not installed.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
        >>> models = RashomonClassifier(n_draws=6, epsilon=80.0).fit(X, y).rashomon_set_
        >>> tree = models.to_arviz()
        >>> dict(tree["posterior"].sizes), tree.attrs["view"]
        ({'chain': 1, 'draw': 6, 'parameter': 2}, 'curator: not private')
        """
        # Local import: pandas and xarray would double the package's import time.
        from rashomon_explorer.sets.diagnostics import to_data_tree

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
                "mechanism": self.mechanism,
                "guarantee": str(self.guarantee),
            },
        )

    def release(self) -> ReleasedSet:
        """Return only the draws and their guarantee.

        Raises
        ------
        CuratorOnlyError
            If the draws have no guarantee.

        Warns
        -----
        WeakGuaranteeWarning
            If the bounds of their plan are so weak that the draws may be useless.
        """
        if not self.guarantee.holds:
            raise CuratorOnlyError(f"these draws cannot be released: {self.guarantee}")
        if self.as_drawn:
            warn_if_weak(self.plan, "this release")
        return ReleasedSet(
            coef=self.coef,
            feature_names=self.feature_names,
            link=self.link,
            row_norm=self.row_norm,
            target_bounds=self.target_bounds,
            classes=self.classes,
            plan=replace(self.plan, options=()),
            guarantee=self.guarantee,
            steps=self.steps,
            feature_groups=self.feature_groups,
            ellipsoid=self.ellipsoid,
            scale=self.scale,
            schema=released_schema(self.schema, self.feature_names[:-1]),
        )

    def to_parts(self) -> tuple[Arrays, Values]:
        """Return the parts of a release, and the data-dependent values of the curator."""
        arrays, values = super().to_parts()
        certified = {name: number(getattr(self.minimum, name)) for name in _CERTIFIED}
        arrays = {**arrays, "losses": self.losses, "best": self.best}
        return arrays, {
            **values,
            "minimum": certified,
            "clipped_share": number(self.clipped_share),
            "acceptance": number(self.acceptance),
            "sampler": self.mechanism,
            "narrowed": None if self.narrowed is None else number(self.narrowed),
            "reaches_sphere": self.reaches_sphere,
        }

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""
        certified = {name: number_from_value(values["minimum"][name]) for name in _CERTIFIED}
        narrowed = values["narrowed"]
        return cls(
            **cls._fields(arrays, values),
            losses=arrays["losses"],
            minimum=Minimum(arrays["best"], **certified),
            clipped_share=number_from_value(values["clipped_share"]),
            acceptance=number_from_value(values["acceptance"]),
            mechanism=values["sampler"],
            narrowed=None if narrowed is None else number_from_value(narrowed),
            reaches_sphere=values.get("reaches_sphere", False),  # absent in older files
        )

    def _public_view(self) -> ModelBlock:
        return self.release() if self.guarantee.holds else self

    def _taken(self, places: Places, step: str, guarantee: Guarantee) -> Self:
        return replace(super()._taken(places, step, guarantee), losses=self.losses[places])

    def _within(self, psi: float) -> Self:
        return replace(self, narrowed=psi)


def sphere_in_words(radius: float) -> str:
    """Warning text for a Rashomon set that reaches the boundary of its ball."""
    return (
        f"the Rashomon set reaches the sphere ‖θ‖ = {radius:.4g}: models beyond it are as good and "
        "are left out. A larger radius= includes more of them; a ridge= > 0 bounds the set without "
        "a ball"
    )
