"""Models with a guarantee: selection of models, and quantities that their losses determine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.data import TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.privacy.guarantee import Guarantee, summary_text
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets import files
from rashomon_explorer.sets.scores import class_texts

ModelIndices = NDArray[np.intp]


def mask_indices(mask: ArrayLike, count: int) -> ModelIndices:
    """Return the indices of the models that a mask selects."""
    selected = np.asarray(mask)
    if selected.dtype != bool or selected.shape != (count,):
        raise ValueError(
            f"a mask must hold True or False for each of {count} models, got shape "
            f"{selected.shape} of {selected.dtype}; to select models by their indices write "
            "models[[0, 2]]"
        )
    return np.flatnonzero(selected)


def key_indices(key: object, count: int) -> ModelIndices:
    """Return the indices that an index, slice, mask or sequence of indices selects."""
    if isinstance(key, slice):
        return np.arange(count)[key]
    array = np.asarray(key)
    if array.dtype == bool and array.ndim == 1:
        return mask_indices(array, count)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise TypeError(f"select models by an index, a slice, indices or a mask, got {key!r}")
    indices = np.atleast_1d(array).astype(np.intp)
    if not ((indices >= -count) & (indices < count)).all():
        raise IndexError(f"indices must be below the {count} models of the set, got {key!r}")
    return indices % count


def checked_count(n: int, count: int) -> int:
    """Return ``n``; raise unless 1 ≤ n ≤ count."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= count:
        raise ValueError(f"n must be a whole number from 1 to the {count} models, got {n!r}")
    return int(n)


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
        "narrowed",
        "notes",
        "reaches_sphere",
        "rethreshold",
        "share_within",
    }
)

LINEAR_ONLY = {
    "coef": "only linear models of one shape, not in pipelines, have common coefficients",
    "plan": "only models that were drawn here privately have a plan",
    "beta": "only models that were drawn here have an inverse temperature",
    "minimum": "only a linear set has a certified minimum",
    "best": "only a linear set has a certified best model (see best_scores)",
    "parameter_names": "only a linear set has named parameters",
    "feature_names": "only a linear set has named features",
    "link": "only a linear set has a link",
    "margins": "only a linear set has linear scores",
    "row_norm": "only a linear set clips rows",
    "clipped_share": "only a linear set clips rows",
    "acceptance": "only models that were drawn here were accepted or not",
}

Released = TypeVar("Released", bound="ModelSet")


class ModelSet(ReprMixin):
    """Models of any kind with a guarantee; each selection returns a new set.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> models = from_predictions([["a", "b"], ["a", "a"]], kind="labels")
    >>> isinstance(models, ModelSet), len(models[:1]), models.guarantee.holds
    (True, 1, False)
    """

    classes: tuple[Any, ...]
    guarantee: Guarantee
    steps: tuple[str, ...]
    schema: TableSchema | None
    scores: Callable[..., FloatArray]
    curated: ClassVar[bool] = False  # whether fields are computed from private rows

    # Declared, not defined: a field of some sets, computed in others.
    if TYPE_CHECKING:

        @property
        def psi(self) -> float:
            """Rashomon threshold, in units of the loss."""

        @property
        def task(self) -> str:
            """Either ``"classification"`` or ``"regression"``."""

        @property
        def n_draws(self) -> int:
            """Number of models."""

        @property
        def n_classes(self) -> int:
            """Number of classes that the models distinguish; 0 for a regression."""

    def __post_init__(self) -> None:
        """Check the fields."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make arrays read-only again: pickling loses this flag."""
        self.__dict__.update(state)
        self.__post_init__()

    def __getattr__(self, name: str) -> NoReturn:
        if name in CURATOR_ONLY and not self.curated:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        if name == "plan" and not self.curated:  # reached when the property raises
            raise AttributeError(
                "plan: the file was written by a version that stored no plan with trees"
            )
        if name in LINEAR_ONLY:
            raise AttributeError(f"{name}: {LINEAR_ONLY[name]}, and this set has other models")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def class_names(self) -> tuple[str, ...]:
        """Text for each class: its label if that is text, otherwise ``"class "`` and the label."""
        return class_texts(self.classes or range(self.n_classes))

    @property
    def as_drawn(self) -> bool:
        """Whether no models were filtered out; a plan's guarantees hold only for such a set."""
        return not self.steps

    def labels(self, X: Any = None) -> NDArray[np.int_]:
        """Class 0, 1, … of every model for every row: the likeliest one, the first on a tie."""
        if self.task != "classification":
            raise TypeError("labels need a classification set; use scores for regression")
        return likeliest(self.scores(X))

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Size of every model, used to select the simplest."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the set to one file of arrays and JSON, without pickle."""
        files.save(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Any:
        """Read a release that :meth:`save` wrote; for a curator's type, any set of a curator.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        DataError
            If the file contains another object, or was written by a newer version.
        """
        return files.load(path, CuratorSet if cls.curated else cls)

    def _title(self) -> str:
        return f"{type(self).__name__}: {self.n_draws:,} models, ψ = {self.psi:g}"

    def _facts(self) -> list[Fact]:
        """Facts for the repr of any set, instead of its arrays."""
        cost = summary_text(self.guarantee)
        facts = [("privacy cost", cost if self.guarantee.holds else "no guarantee")]
        return facts + [("chosen", step) for step in self.steps]

    def __len__(self) -> int:
        return self.n_draws

    def __getitem__(self, key: Any) -> Self:
        indices = key_indices(key, self.n_draws)
        return self._select(indices, "chosen by place", reads_rows=None)

    def __iter__(self) -> Iterator[Self]:
        return (self[index] for index in range(self.n_draws))

    def filter(
        self, rule: ArrayLike | Callable[[Any], ArrayLike], *, reads_rows: bool | None = None
    ) -> Self:
        """Select the models that a mask or a rule keeps."""
        view: Any = self
        if reads_rows is False and self.curated and self.guarantee.holds:
            view = view.release()
        mask = rule(view) if callable(rule) else rule
        indices = mask_indices(mask, self.n_draws)
        return self._select(indices, "filtered", reads_rows=reads_rows)

    def simplest(self, n: int = 1, *, tol: float = 0.0, reads_rows: bool = False) -> Self:
        """Keep the ``n`` simplest models; ties are broken by order."""
        check_nonnegative_or_infinite(tol=tol)
        order = np.argsort(self.complexity(tol), kind="stable")
        step = f"the simplest (tol={tol:g})"
        return self._select(order[: checked_count(n, self.n_draws)], step, reads_rows=reads_rows)

    def sample(self, n: int, random_state: int | np.random.RandomState | None = None) -> Self:
        """Keep a random sample of ``n`` models without replacement."""
        # Local import: it is slow.
        from sklearn.utils import check_random_state

        count = checked_count(n, self.n_draws)
        indices = check_random_state(random_state).permutation(self.n_draws)[:count]
        return self._select(indices, "taken at random", reads_rows=False)

    def _select(self, indices: ModelIndices, rule: str, *, reads_rows: bool | None) -> Self:
        private = self.curated if reads_rows is None else reads_rows
        if private and not self.curated:
            raise CuratorOnlyError(
                "a release selected by private rows is not private: select from the curator's "
                "set, which then states that it has no guarantee"
            )
        guarantee = self.guarantee
        if guarantee.holds and private:
            guarantee = no_guarantee(
                f"models were chosen ({rule}) in a way that may have read private rows"
            )
        elif guarantee.holds:
            stated = f"models were chosen ({rule}) without regard to private rows"
            guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, stated))
        return replace(  # type: ignore[type-var]
            self,
            guarantee=guarantee,
            steps=(*self.steps, f"{rule}, {len(indices)} of {self.n_draws}"),
            **self._at(indices),
        )

    def _at(self, indices: ModelIndices) -> dict[str, Any]:
        """Fields with one entry for each model, at the given indices."""
        raise NotImplementedError


class CuratorSet(ModelSet):
    """Models with their losses, from any source. For the curator only: not private.

    Common base of :class:`RashomonSet` (linear draws, which have coefficients, a plan and
    possibly a guarantee) and :class:`PredictorSet` (models from any source without these, and
    private trees, which have a plan and a guarantee). The curator may see the private rows.
    Measures and figures need ``scores``, ``labels``, ``excess``, ``psi`` and ``best_scores``,
    which both have.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> isinstance(from_predictions([[0.2, 0.9], [0.1, 0.8]], [0, 1]), CuratorSet)
    True
    """

    losses: FloatArray
    curated: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        def least(self) -> float:
            """Loss that ``excess`` is relative to."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about the set for the curator; computed from private rows."""
        return ()

    def _facts(self) -> list[Fact]:
        share = "unknown" if math.isnan(self.hit_rate) else f"{self.hit_rate:.1%}"
        inside = f"{share} inside ψ (not private)"
        return [*super()._facts(), ("curator", inside), *(("curator", note) for note in self.notes)]

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
        """
        check_nonnegative_or_infinite(psi=psi)
        # A complete set at a smaller ψ is still complete up to the largest excess of its models.
        largest = max(self.psi, float(self.excess.max(initial=0.0)))
        if getattr(self, "complete", False) and psi > largest:
            raise ValueError(
                f"psi must be at most {largest:g}, got {psi!r}: the set holds every model up to "
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
        """
        threshold = self.psi if psi is None else float(psi)
        if not 0 <= threshold <= self.psi:
            raise ValueError(
                f"psi must be from 0 to {self.psi:g}, the set's own, got {psi!r}: the set is not "
                "complete beyond it; draw or build it again with the larger ψ"
            )
        indices = mask_indices(self._hits(threshold), self.n_draws)
        selected = self._select(indices, f"inside ψ = {threshold:g}", reads_rows=True)
        return selected if psi is None else selected._within(threshold)

    def _hits(self, psi: float) -> Mask:
        # Compare as samplers do: subtracting first would lose draws exactly at the threshold.
        return np.asarray(self._known_losses() <= self.least + psi)

    def _known_losses(self) -> FloatArray:
        return self.losses

    def _within(self, psi: float) -> Self:
        raise NotImplementedError

    def release(self, *, warn: bool = True) -> Any:
        """Return only what may be published; ``warn`` if the plan is weak."""
        raise NotImplementedError

    def _released(self, kind: type[Released], what: str, **changes: Any) -> Released:
        """Copy the fields of a release; raise without a guarantee."""
        if not self.guarantee.holds:
            raise CuratorOnlyError(f"these {what} cannot be released: {self.guarantee}")
        shared = {field.name: getattr(self, field.name) for field in fields(kind)}  # type: ignore[arg-type]
        return kind(**{**shared, **changes})
