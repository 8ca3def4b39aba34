"""Fewest features of a model of an exact set: branch and bound with a quadratic minorant.

Every model of the set is in an ellipsoid around the best one. To leave columns D out costs at
least θ_D C_DD⁻¹ θ_D of the ellipsoid's room, C its covariance, and this grows with D. Thousands
of sets are swept at a time; a set that the ellipsoid allows is fitted, and if its least loss is
above the level, the branch goes on with the ellipsoid of its own fit, which is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer.audits.choice.region import BestModel, Region
from rashomon_explorer.exceptions import MissingAnswerError

_CELLS, _FEWEST_NODES, _MOST_NODES = 200_000, 8, 1_024  # numbers of one batch of nodes, and nodes
_SINGULAR = 1e-9  # share of a variance that is left where a column counts as determined
_ROUNDING = 1e-7  # relative: far above the errors of a chain of sweeps
_NODE, _NODE_CELL = 4e-6, 1.2e-8  # nominal seconds of a node, and of a cell of its matrix
_FIT, _FIT_CELL = 1.5e-2, 5e-9  # nominal seconds of a fit, and of a row and a pair of columns
_REFINED = 2.0  # nominal seconds for features with a smaller loss, and no more of them
_SMALLER = 1e-9  # relative: a loss that is smaller by less counts as the same


class WorkBudget:
    """Nominal seconds of a search, counted by sizes alone so that an answer can be repeated."""

    def __init__(self, seconds: float | None) -> None:
        self.left = np.inf if seconds is None else float(seconds)

    def spend(self, seconds: float) -> None:
        """Count work, or raise once nothing is left."""
        if self.left <= 0:
            raise OutOfTime
        self.left -= seconds


class OutOfTime(Exception):
    """A search ended before its proof was complete."""


class Fewest(NamedTuple):
    """Features that a model of the set can do without."""

    dropped: Mask  # (n_features,)
    fewest: int  # proved: no model of the set uses fewer


@dataclass(eq=False)
class SupportSearch:
    """Search of the smallest set of features with a model of a region that is in the exact set."""

    region: Region
    uses: Mask  # (n_features, width): whether a column is computed from a feature
    budget: WorkBudget
    fits: dict[bytes, Region] = field(default_factory=dict)

    def fewest(self) -> Fewest:
        """Fewest features by a search upwards from a proved bound; a bracket if time ends."""
        none = np.zeros(len(self.uses), dtype=bool)
        smallest, dropped = 0, none
        try:
            dropped = self._eliminated()
            while smallest < len(self.uses) - dropped.sum():
                solution = self._decide(none, none, smallest)
                if solution is None:
                    smallest += 1
                else:
                    dropped = solution
        except OutOfTime:
            pass
        return Fewest(self._least_loss(dropped), smallest)

    def at_most(self, most: int) -> Mask | None:
        """Features to leave out so that at most ``most`` are left; None if no model is left."""
        try:
            dropped = self.within(most)
            return None if dropped is None else self._least_loss(dropped)
        except OutOfTime:
            raise MissingAnswerError(
                f"whether a good model uses {most} features or fewer is open: raise seconds="
            ) from None

    def within(self, most: int) -> Mask | None:
        """As :meth:`at_most`, the first set that is found, within the time that is left."""
        none = np.zeros(len(self.uses), dtype=bool)
        dropped = self._eliminated(most)
        return dropped if (~dropped).sum() <= most else self._decide(none, none, most)

    def columns_without(self, dropped: Mask) -> Mask:
        """Columns (width,) that need none of these features."""
        return np.asarray(~self.uses[dropped].any(axis=0))

    def _fit(self, dropped: Mask) -> BestModel:
        return self._fitted(dropped).best

    def _fitted(self, dropped: Mask) -> Region:
        """Region without some features, fitted once."""
        key = dropped.tobytes()
        if key not in self.fits:
            region = self.region.using(self.columns_without(dropped))
            size = int(region.parameters.sum())
            self.budget.spend(_FIT + _FIT_CELL * region.problem.n * size**2)
            region.best  # noqa: B018  # computed here, for the budget
            self.fits[key] = region
        return self.fits[key]

    def _least_loss(self, dropped: Mask) -> Mask:
        """As many features to leave out, with the least loss of those that are found in time."""
        none, limit = np.zeros_like(dropped), int((~dropped).sum())
        self.budget.left = min(self.budget.left, _REFINED)
        minimum = float(self.region.problem.minimum.value)
        try:
            while (room := self._fit(dropped).value - minimum - _SMALLER * (1 + minimum)) > 0:
                region = replace(self.region, psi=room)
                solution = replace(self, region=region, fits={})._decide(none, none, limit)
                if solution is None:
                    break
                dropped = solution
        except OutOfTime:
            pass
        return dropped

    def _eliminated(self, most: int = 0) -> Mask:
        """Features left out one by one, the cheapest first, while a model of the set is left."""
        dropped = np.zeros(len(self.uses), dtype=bool)
        tried = dropped.copy()
        while not (dropped | tried).all() and (~dropped).sum() > most:
            costs = self._quadratic(dropped).costs
            feature = int(np.argmin(np.where(dropped | tried, np.inf, costs)))
            without = dropped.copy()
            without[feature] = True
            if self._fit(without).value <= self.region.level:
                dropped = without
            tried[feature] = True  # a feature that cannot be left out now cannot be later either
        return dropped

    def _decide(self, dropped: Mask, required: Mask, most: int) -> Mask | None:
        """Features to leave out so that at most ``most`` are left; None if there are none."""
        if self._fit(dropped).bound > self.region.level:
            return None
        quadratic, required = self._quadratic(dropped), required.copy()
        while True:
            candidate = self._candidate(quadratic, dropped, required, most)
            if candidate is None or self._fit(candidate).value <= self.region.level:
                return candidate
            if self._fit(candidate).bound <= self.region.level:
                raise OutOfTime  # on the level up to rounding, so that nothing is proved
            added = np.flatnonzero(candidate & ~dropped)
            feature = added[np.argmax(quadratic.costs[added])]
            if len(added) > 1:
                deeper = dropped.copy()
                deeper[feature] = True
                solution = self._decide(deeper, required, most)
                if solution is not None:
                    return solution
            required[feature] = True

    def _quadratic(self, dropped: Mask) -> SupportEllipsoid:
        region = self._fitted(dropped)
        reach = region.reach()
        outputs = region.problem.loss.outputs
        free = np.tile(
            np.asarray(self.uses.any(axis=0))[region.columns], outputs
        )  # not the intercept
        root = reach.whiten[free]
        return SupportEllipsoid(
            root @ root.T,
            region.restricted.minimum.theta[free],
            reach.extent**2 * (1 + _ROUNDING),
            np.tile(self.uses[:, region.columns], outputs)[:, free],
        )

    def _candidate(
        self, quadratic: SupportEllipsoid, dropped: Mask, required: Mask, most: int
    ) -> Mask | None:
        """Features (n_features,) to leave out that the ellipsoid allows; None if it allows none."""
        batch = _Nodes.first(quadratic, dropped, required)
        size = int(np.clip(_CELLS / max(quadratic.matrix.size, 1), _FEWEST_NODES, _MOST_NODES))
        stack = [batch]
        while stack:
            nodes = stack.pop()
            self.budget.spend(len(nodes.room) * (_NODE + _NODE_CELL * quadratic.matrix.size))
            nodes, allowed = nodes.pruned(quadratic, most)
            if allowed is not None:
                return allowed
            if len(nodes.room):
                children = nodes.children(quadratic)
                starts = range(0, len(children.room), size)
                stack += [children.at(slice(start, start + size)) for start in starts]
        return None


@dataclass(frozen=True, eq=False)
class SupportEllipsoid:
    """Ellipsoid (θ − c)ᵀC⁻¹(θ − c) ≤ room that contains the models, without intercepts."""

    matrix: FloatArray  # (k, k): C
    centre: FloatArray  # (k,)
    room: float
    uses: Mask  # (n_features, k)

    @cached_property
    def costs(self) -> FloatArray:
        """Lower bound (n_features,) of what it takes of the room to leave a feature out."""
        squares = self.centre**2 / np.maximum(np.diag(self.matrix), 1e-300)
        return np.asarray(np.where(self.uses, squares, 0.0).max(axis=1, initial=0.0))

    @cached_property
    def sharing(self) -> FloatArray:
        """Share (n_features, k) of each column among the features that it is computed from."""
        return np.asarray(self.uses / np.maximum(self.uses.sum(axis=0), 1))

    @cached_property
    def slots(self) -> IntArray:
        """Columns of each feature (n_features, most), padded with −1."""
        slots = np.full((len(self.uses), max(int(self.uses.sum(axis=1).max(initial=0)), 1)), -1)
        for feature, columns in enumerate(self.uses):
            slots[feature, : columns.sum()] = np.flatnonzero(columns)
        return slots


@dataclass(frozen=True, eq=False)
class _Nodes:
    """A batch of nodes: the ellipsoid's section where some features are left out."""

    matrix: FloatArray  # (B, k, k): covariance given that the dropped columns are 0
    centre: FloatArray  # (B, k)
    room: FloatArray  # (B,): that is left
    open: Mask  # (B, n_features): undecided
    dropped: Mask  # (B, n_features)

    @classmethod
    def first(cls, quadratic: SupportEllipsoid, dropped: Mask, required: Mask) -> _Nodes:
        """Root of a tree."""
        undecided = ~(dropped | required)
        parts = (quadratic.matrix, quadratic.centre, quadratic.room, undecided, dropped)
        return cls(*(np.asarray(part)[None] for part in parts))

    def at(self, some: slice | NDArray[np.intp]) -> _Nodes:
        """Part of the batch."""
        return _Nodes(
            self.matrix[some],
            self.centre[some],
            self.room[some],
            self.open[some],
            self.dropped[some],
        )

    def pruned(self, quadratic: SupportEllipsoid, most: int) -> tuple[_Nodes, Mask | None]:
        """Nodes that may lead to at most ``most`` features, or a set that needs no more drops."""
        variance = np.einsum("bii->bi", self.matrix)
        usable = variance > _SINGULAR * np.diag(quadratic.matrix)
        scale = np.where(usable, 1 / np.sqrt(np.where(usable, variance, 1.0)), 0.0)
        squares = (self.centre * scale) ** 2
        single = np.where(quadratic.uses, squares[:, None], 0.0).max(axis=2)
        undecided = self.open & (single <= self.room[:, None])
        n_open = undecided.sum(axis=1)
        n_used = len(quadratic.uses) - self.dropped.sum(axis=1) - n_open
        needed = n_open - (most - n_used)  # features that must still be dropped
        alive = needed <= n_open
        complete = np.flatnonzero(alive & (needed <= 0))
        if len(complete):
            return self.at(complete[:0]), self.dropped[complete[self.room[complete].argmax()]]
        # θ_E C_EE⁻¹ θ_E is at least the sum of squares over the largest row sum of correlations.
        columns = (undecided @ quadratic.uses) & usable
        sums = np.abs(self.matrix) @ (scale * columns)[..., None]
        largest = (sums[..., 0] * scale * columns).max(axis=1, initial=1.0)
        shares = np.where(undecided, squares @ quadratic.sharing.T, np.inf)
        shares.sort(axis=1)
        cost = np.cumsum(shares, axis=1)[np.arange(len(needed)), np.maximum(needed, 1) - 1]
        alive &= cost <= largest * self.room
        some = np.flatnonzero(alive)
        nodes = self.at(some)
        return _Nodes(nodes.matrix, nodes.centre, nodes.room, undecided[some], nodes.dropped), None

    def children(self, quadratic: SupportEllipsoid) -> _Nodes:
        """Nodes that keep the most costly undecided feature, and those that drop it."""
        variance = np.maximum(np.einsum("bii->bi", self.matrix), 1e-300)
        squares = (self.centre**2 / variance) @ quadratic.sharing.T
        each = np.arange(len(self.room))
        feature = np.where(self.open, squares, -1.0).argmax(axis=1)
        undecided, dropped = self.open.copy(), self.dropped.copy()
        undecided[each, feature] = False
        dropped[each, feature] = True
        matrix, centre, room = self.matrix.copy(), self.centre.copy(), self.room.copy()
        for column in quadratic.slots[feature].T:
            pivot = matrix[each, column, column]
            usable = (column >= 0) & (pivot > _SINGULAR * np.diag(quadratic.matrix)[column])
            inverse = np.where(usable, 1 / np.where(usable, pivot, 1.0), 0.0)
            along, value = matrix[each, column], centre[each, column]
            room -= value**2 * inverse
            centre -= along * (value * inverse)[:, None]
            matrix -= along[:, :, None] * (along * inverse[:, None])[:, None]
            some, at = np.flatnonzero(usable), column[usable]
            matrix[some, at] = 0.0
            matrix[some, :, at] = 0.0
            centre[some, at] = 0.0
        fits = np.flatnonzero(room >= 0)
        parts = (
            np.concatenate([before, after[fits]])
            for before, after in (
                (self.matrix, matrix),
                (self.centre, centre),
                (self.room, room),
                (undecided, undecided),
                (self.dropped, dropped),
            )
        )
        return _Nodes(*parts)
