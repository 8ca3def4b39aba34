"""Selection of models from a set."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.guarantee import guarantee_text, requested_text
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets.files import Arrays, Values, save


def _euclidean(coef: FloatArray, goal: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(coef - goal, axis=1))


def _cosine(coef: FloatArray, goal: FloatArray) -> FloatArray:
    if not goal.any():
        raise ValueError("coef must not be all 0 for the cosine metric: it has no direction")
    norms = np.linalg.norm(coef, axis=1) * np.linalg.norm(goal)
    # The zero model has no direction either; its distance is the largest.
    return 1 - np.divide(coef @ goal, norms, out=np.full(len(coef), -1.0), where=norms > 0)


DISTANCES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "euclidean": _euclidean,
    "cosine": _cosine,
}


def _predictions(models: Any, X: Any) -> NDArray[Any]:
    scores = models.scores(X)
    return likeliest(scores) if models.task == "classification" else scores


PATTERNS: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
    "predictions": _predictions,
    "scores": lambda models, X: models.scores(X),
    "coef": lambda models, X: models.coef,
}


class Saved:
    """A set that can be written to a file; ``load`` of its own type reads it."""

    def to_parts(self) -> tuple[Arrays, Values]:
        """Return arrays and JSON values for a file."""
        raise NotImplementedError

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the set to one file of arrays and JSON, without pickle."""
        save(self, path, overwrite=overwrite)


Places = NDArray[np.intp]


def frozen(values: ArrayLike) -> FloatArray:
    """Return a read-only copy."""
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy


def mask_places(mask: ArrayLike, count: int) -> Places:
    """Return the indices of the models that a mask selects."""
    kept = np.asarray(mask)
    if kept.dtype != bool or kept.shape != (count,):
        raise ValueError(
            f"a mask must hold True or False for each of {count} models, got shape {kept.shape} "
            f"of {kept.dtype}; to select models by their indices write models[[0, 2]]"
        )
    return np.flatnonzero(kept)


def key_places(key: object, count: int) -> Places:
    """Return the indices that an index, slice, mask or sequence of indices selects."""
    if isinstance(key, slice):
        return np.arange(count)[key]
    given = np.asarray(key)
    if given.dtype == bool and given.ndim == 1:
        return mask_places(given, count)
    if given.size == 0:
        return np.zeros(0, dtype=np.intp)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise TypeError(f"select models by an index, a slice, indices or a mask, got {key!r}")
    places = np.atleast_1d(given).astype(np.intp)
    if not ((places >= -count) & (places < count)).all():
        raise IndexError(f"indices must be below the {count} models of the set, got {key!r}")
    return places % count


def how_many(n: int, count: int) -> int:
    """Return ``n``; raise unless 1 ≤ n ≤ count."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= count:
        raise ValueError(f"n must be a whole number from 1 to the {count} models, got {n!r}")
    return int(n)


class Selection(Saved, ReprMixin):
    """Selection methods of all sets; each returns a new set."""

    steps: tuple[str, ...]
    guarantee: Guarantee
    scores: Callable[..., FloatArray]
    _curated: ClassVar[bool] = True

    # Declared, not defined: a field of one type of set, computed in others.
    if TYPE_CHECKING:

        @property
        def psi(self) -> float:
            """Rashomon threshold, in units of the loss."""

    @property
    def n_draws(self) -> int:
        """Number of models."""
        raise NotImplementedError

    @property
    def as_drawn(self) -> bool:
        """Whether no models were filtered out; a plan's guarantees hold only for such a set."""
        return not self.steps

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Size of every model, used to select the simplest."""
        raise TypeError(
            f"{type(self).__name__} cannot rank its models by simplicity: coefficients or "
            f"decision trees are needed"
        )

    def _title(self) -> str:
        return f"{type(self).__name__}: {self.n_draws:,} models, ψ = {self.psi:g}"

    def _facts(self) -> list[Fact]:
        """Facts for the repr of any set, instead of its arrays."""
        price = requested_text(self.guarantee) or guarantee_text(self.guarantee)
        facts = [("privacy cost", price if self.guarantee.holds else "no guarantee")]
        return facts + [("chosen", step) for step in self.steps]

    def __len__(self) -> int:
        return self.n_draws

    def __getitem__(self, key: Any) -> Self:
        places = key_places(key, self.n_draws)
        return self._select(places, "chosen by place", reads_rows=None)

    def __iter__(self) -> Iterator[Self]:
        return (self[place] for place in range(self.n_draws))

    def filter(
        self, rule: ArrayLike | Callable[[Any], ArrayLike], *, reads_rows: bool | None = None
    ) -> Self:
        """Select the models that a mask or a rule keeps."""
        seen = self._public_view() if reads_rows is False else self
        mask = rule(seen) if callable(rule) else rule
        places = mask_places(mask, self.n_draws)
        return self._select(places, "filtered", reads_rows=reads_rows)

    def nearest(
        self,
        coef: ArrayLike,
        n: int = 1,
        *,
        metric: str = "euclidean",
        reads_rows: bool | None = None,
    ) -> Self:
        """Keep the ``n`` models nearest to given coefficients, the nearest first."""
        if metric not in DISTANCES:
            raise ValueError(f"metric must be one of {sorted(DISTANCES)}, got {metric!r}")
        own: FloatArray = self.coef  # type: ignore[attr-defined]
        goal = np.asarray(coef, dtype=float)
        if goal.shape != own.shape[1:] or not np.isfinite(goal).all():
            raise ValueError(
                f"coef must hold {own.shape[1]} finite values, one for each parameter and the "
                f"intercept too, got shape {goal.shape}"
            )
        order = np.argsort(DISTANCES[metric](own, goal), kind="stable")
        step = f"nearest to given coefficients ({metric})"
        return self._select(order[: how_many(n, self.n_draws)], step, reads_rows=reads_rows)

    def simplest(self, n: int = 1, *, tol: float = 0.0, reads_rows: bool = False) -> Self:
        """Keep the ``n`` simplest models; ties are broken by order."""
        check_nonnegative_or_infinite(tol=tol)
        order = np.argsort(self.complexity(tol), kind="stable")
        step = f"the simplest (tol={tol:g})"
        return self._select(order[: how_many(n, self.n_draws)], step, reads_rows=reads_rows)

    def dedupe(
        self, X: Any = None, *, by: str = "predictions", reads_rows: bool | None = None
    ) -> Self:
        """Keep the first of each group of models with equal behaviour."""
        if by not in PATTERNS:
            raise ValueError(f"by must be one of {sorted(PATTERNS)}, got {by!r}")
        pattern = np.asarray(PATTERNS[by](self, X)).reshape(self.n_draws, -1)
        _, first = np.unique(pattern, axis=0, return_index=True)
        without_rows = by == "coef" and reads_rows is None
        return self._select(
            np.sort(first),
            f"one of each pattern of {by}",
            reads_rows=False if without_rows else reads_rows,
        )

    def sample(self, n: int, random_state: int | np.random.RandomState | None = None) -> Self:
        """Keep a random sample of ``n`` models without replacement."""
        # Local import: it is slow.
        from sklearn.utils import check_random_state

        count = how_many(n, self.n_draws)
        places = check_random_state(random_state).permutation(self.n_draws)[:count]
        return self._select(places, "taken at random", reads_rows=False)

    def _select(self, places: Places, rule: str, *, reads_rows: bool | None) -> Self:
        private = self._curated if reads_rows is None else reads_rows
        if private and not self._curated:
            raise CuratorOnlyError(
                "a release selected by private rows is not private: select from the curator's "
                "set, which then states that it has no guarantee"
            )
        step = f"{rule}, {len(places)} of {self.n_draws}"
        return self._taken(places, step, _after(self.guarantee, rule, private))

    def _public_view(self) -> Any:
        return self

    def _taken(self, places: Places, step: str, guarantee: Guarantee) -> Self:
        raise NotImplementedError


def _after(guarantee: Guarantee, rule: str, private: bool) -> Guarantee:
    """Return the guarantee that holds after models were selected by a rule."""
    if not guarantee.holds:
        return guarantee
    if private:
        return no_guarantee(f"models were chosen ({rule}) in a way that may have read private rows")
    stated = f"models were chosen ({rule}) without regard to private rows"
    return replace(guarantee, assumptions=(*guarantee.assumptions, stated))


LINEAR_ONLY = {
    # Reached when the property of this name raises an AttributeError.
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
    "to_arviz": "only models that were drawn here come from chains",
}
