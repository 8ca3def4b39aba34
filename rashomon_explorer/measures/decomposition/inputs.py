"""Inputs of the decomposition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.decomposition.kernels import TREES, Law, PairMeasure, draw_law
from rashomon_explorer.measures.inputs import fitted_set, group_codes, set_and_rows, sum_chunks
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked
from rashomon_explorer.rows.columns import read_column

if TYPE_CHECKING:
    from rashomon_explorer.sets import CuratorSet, PredictorSet
    from rashomon_explorer.trees import CountedTrees

_SAME = 1e-9  # relative tolerance: a minimum differs with the summation order of threads
_PLURAL = ("target_bounds", "classes", "columns")
_SETTABLE = ("psi", "radius", "ridge", "row_norm", "loss", "target_bounds", "classes")


def check_same_set(drawn: Any, reference: Any) -> None:
    """Raise ValueError if the reference describes another Rashomon set than the draws."""
    apart = {
        name: (own, other)
        for name, own, other in _settings(drawn, reference)
        if own is not None and other is not None and not _same(own, other)
    }
    if not apart:
        return
    differences = "; ".join(
        f"its {name} {'are' if name in _PLURAL else 'is'} {_text(other)}, the draws' {_text(own)}"
        for name, (own, other) in apart.items()
    )
    raise ValueError(
        f"reference must describe the same Rashomon set: {differences}. {_suggestion(apart)}"
    )


def _settings(drawn: Any, reference: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each setting's name, the draws' value and the reference's."""
    from rashomon_explorer.sets import RashomonSet

    for name in ("task", "psi"):
        yield name, getattr(drawn, name), getattr(reference, name)
    if isinstance(drawn, RashomonSet) and isinstance(reference, RashomonSet):
        for name in ("radius", "ridge", "loss", "n", "p"):
            yield name, getattr(drawn.plan, name), getattr(reference.plan, name)
        for name in ("row_norm", "target_bounds"):
            yield name, getattr(drawn, name), getattr(reference, name)
        yield "classes", drawn.classes or None, reference.classes or None
        yield "columns", _named(drawn.feature_names), _named(reference.feature_names)
        yield "scale", _map(drawn.scale), _map(reference.scale)
    yield "least", drawn.least, reference.least


def _named(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the column names; None if they are the default names."""
    columns = names[:-1]
    return None if columns == tuple(f"x{j}" for j in range(len(columns))) else columns


def _map(scale: Any) -> str:
    """Describe the released centres and spreads that map the columns."""
    if scale is None:
        return "none"
    return f"released centres and spreads {np.stack([scale.centre, scale.spread]).tolist()}"


def _same(own: Any, other: Any) -> bool:
    if isinstance(own, float) and isinstance(other, float):
        return own == other or abs(own - other) <= _SAME * abs(own)
    return bool(own == other)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _suggestion(apart: dict[str, tuple[Any, Any]]) -> str:
    if "scale" in apart:
        return "Draw both with standardize=None: two fits release different centres and spreads"
    named = [f"{name}={own!r}" for name, (own, _) in apart.items() if name in _SETTABLE]
    if named:
        return f"Fit the reference with {', '.join(named)}"
    alone = "No setting differs: " if set(apart) == {"least"} else ""
    return f"{alone}Fit the reference to the rows and targets of the draws"


def counted_width(
    counted: CountedTrees, drawn: Any, X: ArrayLike, measure: PairMeasure
) -> FloatArray:
    """Measure, for each row, of two trees drawn uniformly from all within ψ."""
    from rashomon_explorer.sets import PredictorSet
    from rashomon_explorer.sets.models.trees import DecisionTrees
    from rashomon_explorer.trees import label_shares

    if not isinstance(drawn, PredictorSet) or not isinstance(drawn.models, DecisionTrees):
        raise ValueError(
            "reference must be uniform on the set of the draws; counted trees require drawn trees"
        )
    _refuse_others(counted, drawn)
    rows = np.asarray(drawn.models.rows(X))
    shares = label_shares(counted, float(drawn.psi), rows)
    apart = 1 - (shares**2).sum(axis=1)
    one_score = measure.of == "scores" and shares.shape[1] == 2
    return np.asarray(apart / 2 if one_score else apart)


def _refuse_others(counted: CountedTrees, drawn: PredictorSet) -> None:
    from rashomon_explorer.trees.private import planned_class

    planned: Any = drawn.planned
    apart: list[str] = []
    if planned is None or not planned.questions:
        if drawn.complexity().max(initial=0) > counted.trees.most_leaves:
            apart.append(f"it has at most {counted.trees.most_leaves} leaves, some draws have more")
    else:
        if planned_class(planned).sizes != counted.trees.sizes:
            apart.append("its leaves, depth or questions differ")
        if planned.leaf_penalty != counted.leaf_penalty:
            own, other = planned.leaf_penalty, counted.leaf_penalty
            apart.append(f"its leaf_penalty is {other:g}, the draws' {own:g}")
        if _costs(planned.costs) != _costs(counted.rows.costs):
            apart.append("its costs differ")
    if abs(drawn.least - counted.least) > _SAME:
        apart.append(f"its least is {counted.least!r}, the draws' {drawn.least!r}")
    if apart:
        raise ValueError(
            f"reference must describe the same Rashomon set: {'; '.join(apart)}. "
            "Use RashomonTreeClassifier(...).counted(X, y) with the settings, rows and targets of "
            "the draws"
        )


def _costs(costs: ArrayLike | None) -> list[Any]:
    return [] if costs is None else np.asarray(costs).tolist()


ASSUMED = "the draws are assumed independent, and those inside uniform on the set"
"""Assumption for arrays, whose law is unknown."""


class PairMeans(NamedTuple):
    """Mean differences of pairs of models on a group's rows."""

    name: Any  # None for all rows
    n_rows: int
    means: FloatArray | None  # (n_models, n_models); None without rows
    width: float | None  # exact width; None if unknown


@dataclass(frozen=True)
class Inputs:
    """Checked draws and reference models, and what is known about their laws."""

    measure: PairMeasure
    values: Any  # prepared labels or scores, first of the draws, then of the reference
    inside: Mask  # (n_draws,)
    chains: NDArray[np.int_]  # chain of each reference model
    most: float  # upper bound on the difference of two models on a row
    uniform: bool = True  # whether draws inside are uniform on the Rashomon set
    guaranteed: bool = False  # whether the draws are known to carry a privacy guarantee
    least_hit_rate: float = 0.0  # guaranteed before the rows were read; 0 without a guarantee
    comparable: bool = True  # whether draws inside should have the reference's law
    exact: FloatArray | None = None  # (n_rows,): exact width of each row, for counted trees
    n_counted: int = 0  # number of counted trees
    assumed: str = ""  # assumption on the draws that the code cannot check
    # chunked rows and the sets on them; ``values`` are then those of the first chunk
    table: ChunkedRows | None = None
    sets: tuple[Any, ...] = ()

    @property
    def n_reference(self) -> int:
        """Number of reference models or counted trees."""
        return self.n_counted or len(self.chains)

    def pair_means(self, groups: Any = None) -> list[PairMeans]:
        """Mean difference of every pair of models: over all rows, named None, and per group."""
        n_rows = self.values.shape[1] if self.table is None else self.table.n
        if self.table is not None and isinstance(groups, str):
            groups = read_column(self.table, groups)
        codes, names = (None, []) if groups is None else group_codes(groups, n_rows)
        if self.table is None:
            sums = _pair_sums(self.measure, self.values, codes)
        else:
            column = np.zeros(n_rows, dtype=np.int8) if codes is None else codes
            chunk = partial(_chunk_sums, self.sets, self.measure, codes is not None)
            sums = sum_chunks(self.table, chunk, self.table.rows, group=column)
        found = []
        for code, name in [(None, None), *enumerate(names)]:
            rows = np.ones(n_rows, dtype=bool) if codes is None or code is None else codes == code
            count = int(rows.sum())
            means = self.measure.mean(sums[code], count) if count else None
            width = None if self.exact is None or not count else float(self.exact[rows].mean())
            found.append(PairMeans(name, count, means, width))
        return found


def _pair_sums(
    measure: PairMeasure, values: Any, codes: NDArray[Any] | None
) -> dict[int | None, FloatArray]:
    """Sum over the rows of a chunk, over all of them (None) and over each group."""
    sums: dict[int | None, FloatArray] = {None: measure.pair_sums(values)}
    if codes is not None:
        for code in np.unique(codes).tolist():
            sums[code] = measure.pair_sums(values[:, codes == code])
    return sums


def _chunk_sums(
    sets: tuple[Any, ...], measure: PairMeasure, grouped: bool, rows: FloatArray, columns: Any
) -> dict[int | None, FloatArray]:
    values = np.concatenate([_values(one, rows, measure) for one in sets])
    return _pair_sums(measure, measure.prepare(values), columns["group"] if grouped else None)


def check_inputs(
    models: Any,
    X: Any,
    measure: PairMeasure,
    inside: ArrayLike | None,
    reference: Any,
    reference_chains: int | None,
) -> Inputs:
    """Check and prepare the arguments of :func:`disagreement_decomposition`."""
    if isinstance(models, np.ndarray | list | tuple):
        return _of_arrays(models, X, measure, inside, reference, reference_chains)
    from rashomon_explorer.sets import CuratorSet, ReleasedSet, ReleasedTrees
    from rashomon_explorer.trees import CountedTrees

    if isinstance(models, ReleasedSet | ReleasedTrees):
        raise CuratorOnlyError(
            "the decomposition depends on which draws lie inside the set, hence on private rows: "
            "it is not available for a release; use the curator's set"
        )
    models, X = set_and_rows(models, X)
    reference = fitted_set(reference)
    if not isinstance(models, CuratorSet):
        return _of_arrays(models, X, measure, inside, reference, reference_chains)
    if inside is not None:
        raise ValueError("inside is for arrays: a set has this information already")
    drawn = _draws(models)
    if not is_chunked(X):
        return _of_set(drawn, X, measure, reference, reference_chains)
    if isinstance(reference, CountedTrees):
        raise ValueError(
            "reference must be models for chunked rows: use counted.draw(2_000, psi) instead of "
            "all counted trees"
        )
    table = as_chunked_rows(X)
    first = np.array(next(table.chunks(0, 1))[0])
    found = _of_set(drawn, first, measure, reference, reference_chains)
    others = () if reference is None else (_reference(reference, drawn),)
    return replace(found, table=table, sets=(drawn, *others))


def _of_set(
    drawn: Any, X: ArrayLike | None, measure: PairMeasure, reference: Any, chains: int | None
) -> Inputs:
    from rashomon_explorer.sets import PredictorSet
    from rashomon_explorer.trees import CountedTrees

    values = _values(drawn, X, measure)
    others, exact, n_counted, usual = values[:0], None, 0, 0
    if isinstance(reference, CountedTrees):
        exact = counted_width(reference, drawn, _rows(X), measure)
        n_counted = reference.size(float(drawn.psi))
    elif reference is not None:
        reference = _reference(reference, drawn)
        others = _values(reference, X, measure)
        usual = int(min(draw_law(reference).n_chains or math.inf, reference.n_draws))
    law = draw_law(drawn)
    uniform = bool(law.uniform_on)
    hit = np.asarray(drawn.losses <= drawn.least + drawn.psi)
    _refuse_unknown_width(hit, n_counted + len(others), uniform, law, exact is not None)
    found = _prepared(measure, values, others, hit, _chains(len(others), chains, usual))
    return replace(
        found,
        uniform=uniform,
        # No bound is known here for the scores of a regression.
        most=found.most if drawn.task == "classification" else math.inf,
        guaranteed=drawn.guarantee.holds,
        least_hit_rate=law.least_hit_rate,
        comparable=uniform or not isinstance(drawn, PredictorSet),
        exact=exact,
        n_counted=n_counted,
    )


def _of_arrays(
    models: Any,
    X: ArrayLike | None,
    measure: PairMeasure,
    inside: ArrayLike | None,
    reference: Any,
    chains: int | None,
) -> Inputs:
    if X is not None:
        raise ValueError("X is only for sets: arrays of labels or scores have their own rows")
    values = _array(models, "models", measure)
    hit = np.asarray(inside)
    if inside is None or hit.shape != (len(values),) or hit.dtype != bool:
        raise ValueError(
            f"inside must be True or False for each of the {len(values)} draws: whether it lies "
            "in the Rashomon set"
        )
    others = values[:0] if reference is None else _array(reference, "reference", measure)
    if others.shape[1:] != values.shape[1:]:
        raise ValueError(
            f"reference must be for the same rows as models, of shape (n, "
            f"{', '.join(map(str, values.shape[1:]))}), got {others.shape}"
        )
    _refuse_unknown_width(hit, len(others), True, Law("arrays"))
    found = _prepared(measure, values, others, hit, _chains(len(others), chains, len(others)))
    return replace(found, assumed=ASSUMED)


def _prepared(
    measure: PairMeasure,
    values: NDArray[Any],
    others: NDArray[Any],
    inside: Mask,
    chains: NDArray[np.int_],
) -> Inputs:
    """Prepare independent draws that are uniform inside, and reference models."""
    every = np.concatenate([values, others]) if len(others) else values
    return Inputs(measure, measure.prepare(every), inside, chains, measure.most(every))


def _draws(models: CuratorSet) -> Any:
    from rashomon_explorer.mechanisms.planning.registry import MECHANISMS

    known = draw_law(models)
    if not known.independent:
        allowed = sorted(name for name, kind in MECHANISMS.items() if kind.traits.independent)
        raise ValueError(
            f"models must be independent draws of one of the samplers {allowed}, or of "
            f"RashomonTreeClassifier, got {known.name!r}: only a mechanism adds noise"
        )
    if not models.as_drawn:
        raise ValueError(
            f"models must be all draws of a fit, but some were selected "
            f"({'; '.join(models.steps)}): the draws outside the set are needed too"
        )
    return models


def _reference(reference: Any, drawn: Any) -> Any:
    from rashomon_explorer.sets import CuratorSet, PredictorSet

    known = draw_law(reference)
    if not isinstance(reference, CuratorSet) or not known.uniform_on:
        raise ValueError(
            "reference must be a RashomonSet of draws that are uniform on the set, fitted with "
            "mechanism='hit_and_run' (curator) or 'exact' on the same rows, or for trees the "
            f"result of CountedTrees.draw, got {known.name!r}"
        )
    uniform_on = draw_law(drawn).uniform_on
    of_trees = isinstance(drawn, PredictorSet)
    if (uniform_on and known.uniform_on != uniform_on) or (known.uniform_on == TREES) != of_trees:
        raise ValueError(
            f"reference must be uniform on the set of the draws: {known.name!r} draws from "
            f"another set of models than {draw_law(drawn).name!r}"
        )
    if of_trees and _too_many_leaves(reference, drawn):
        raise ValueError(
            "reference must be of the draws' class of trees, but some of its trees have more "
            "leaves: use RashomonTreeClassifier(...).counted(X, y).draw(2000, psi)"
        )
    check_same_set(drawn, reference)
    if not reference.as_drawn:
        raise ValueError("reference must be all draws of a fit; those outside are excluded here")
    return reference if known.stays_inside else reference.inside()


def _too_many_leaves(reference: Any, drawn: Any) -> bool:
    most = getattr(getattr(drawn, "planned", None), "most_leaves", math.inf)
    return bool(reference.complexity().max(initial=0) > most)


def _chains(count: int, requested: int | None, usual: int) -> NDArray[np.int_]:
    """Chain of each model, when the states of the chains alternate."""
    n_chains = usual if requested is None else requested
    if requested is not None and count and not 2 <= n_chains <= count:
        raise ValueError(
            f"reference_chains must be from 2 to the {count} reference models, got {n_chains!r}: "
            "models of one chain are dependent, and only pairs of two chains count"
        )
    return np.arange(count) % max(n_chains, 1)


def _values(models: Any, X: ArrayLike | None, measure: PairMeasure) -> NDArray[Any]:
    rows = _rows(X)
    return np.asarray(models.labels(rows) if measure.of == "labels" else models.scores(rows))


def _rows(X: ArrayLike | None) -> ArrayLike:
    if X is None:
        raise ValueError("X is required: the rows on which the models are compared")
    return X


def _array(values: Any, name: str, measure: PairMeasure) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must be a RashomonSet or {measure.of} of shape (n_models, n_rows), both at "
            f"least 1, got shape {array.shape}"
        )
    return array


def _refuse_unknown_width(
    inside: Mask, n_reference: int, uniform: bool, law: Law, exact: bool = False
) -> None:
    if len(inside) < 2:
        raise ValueError(f"models must be at least 2 draws, got {len(inside)}")
    known = n_reference + (int(inside.sum()) if uniform else 0)
    if known >= 2 or exact:
        return
    why = law.why
    if uniform:
        hits = "none" if known == 0 else "only one"
        why = f"{hits} of the {len(inside)} draws is in the Rashomon set"
    raise ValueError(f"{why}, too few to estimate the model-set width: {law.remedy}")
