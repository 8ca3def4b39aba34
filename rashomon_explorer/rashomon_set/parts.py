"""Values of a set as JSON has them, and back."""

import math
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.domains.ellipsoid import CutEllipsoid
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.centres import Centre
from rashomon_explorer.planning.clipped_path import ClippedPathPlan
from rashomon_explorer.planning.columns import ColumnsPlan
from rashomon_explorer.planning.ellipsoid import EllipsoidPlan
from rashomon_explorer.planning.ellipsoid_exact import EllipsoidExactPlan
from rashomon_explorer.planning.path_planner import PathPlan
from rashomon_explorer.planning.tilted import TiltedPlan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.privacy import Guarantee, no_guarantee

Arrays = dict[str, NDArray[Any]]
Values = dict[str, Any]

_PLANS: dict[str, type[Plan]] = {
    kind.__name__: kind
    for kind in (Plan, PathPlan, ClippedPathPlan, TiltedPlan, EllipsoidPlan, EllipsoidExactPlan)
}
_ELLIPSOID = ("centre", "matrix", "start")
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def plan_values(plan: Plan) -> Values:
    """Fields of a plan, with its type."""
    # Its options follow from the plan's own numbers.
    plain = _plain_values(replace(plan, options=()), without="options")
    return {**plain, "type": type(plan).__name__}


def tree_plan_values(plan: TreePlan | None) -> Values | None:
    """Fields of a plan of trees; None without one."""
    return None if plan is None else _plain_values(plan)


def tree_plan_of(values: Values | None) -> TreePlan | None:
    """Inverse of :func:`tree_plan_values`."""
    if values is None:
        return None
    plain = {field.name: values[field.name] for field in fields(TreePlan) if field.name in values}
    numbers: Values = {k: _NUMBERS.get(v, v) if isinstance(v, str) else v for k, v in plain.items()}
    for name in ("questions", "costs"):
        numbers[name] = tuple(map(tuple, numbers[name]))
    return TreePlan(**(numbers | {"guarantee": Guarantee.from_dict(values["guarantee"])}))


def plan_of(values: Values) -> Plan:
    """Inverse of :func:`plan_values`."""
    kind = _PLANS[values["type"]]
    # A file of an older version does not have the fields that came later.
    plain = {field.name: values[field.name] for field in fields(kind) if field.name in values}
    numbers: Values = {k: _NUMBERS.get(v, v) if isinstance(v, str) else v for k, v in plain.items()}
    if "centre" in numbers:
        numbers["centre"] = Centre(**numbers["centre"])
    if numbers.get("columns") is not None:
        numbers["columns"] = ColumnsPlan(**numbers["columns"])
    return kind(**(numbers | {"guarantee": Guarantee.from_dict(values["guarantee"])}))


def _plain_values(plan: Plan | TreePlan, without: str = "") -> Values:
    # A plan's guarantee is written by itself: a curve in it is not plain values.
    bare = asdict(replace(plan, guarantee=no_guarantee("")))
    plain = {k: number(v) if isinstance(v, float) else v for k, v in bare.items() if k != without}
    return {**plain, "guarantee": plan.guarantee.to_dict()}


def ellipsoid_parts(region: CutEllipsoid | None) -> tuple[Arrays, Values]:
    """Arrays and values of an ellipsoid that was released beside the draws; none without one."""
    if region is None:
        return {}, {}
    arrays = {f"ellipsoid_{name}": getattr(region, name) for name in _ELLIPSOID}
    return arrays, {"ellipsoid": [region.level, region.radius]}


def ellipsoid_of(arrays: Arrays, values: Values) -> CutEllipsoid | None:
    """Inverse of :func:`ellipsoid_parts`."""
    if "ellipsoid" not in values:
        return None
    level, radius = values["ellipsoid"]
    named = {name: arrays[f"ellipsoid_{name}"] for name in _ELLIPSOID}
    return CutEllipsoid(**named, level=level, radius=radius)


def scale_parts(scale: ColumnMap | None) -> Arrays:
    """Arrays of a map of the columns; none without one."""
    return {} if scale is None else {"scale": np.stack([scale.centre, scale.spread])}


def scale_of(arrays: Arrays, row_norm: float) -> ColumnMap | None:
    """Inverse of :func:`scale_parts`."""
    if "scale" not in arrays:
        return None
    centre, spread = arrays["scale"]
    return ColumnMap(centre, spread, row_norm)


def number(value: float) -> float | str:
    """Write a float, by its name where JSON has none: infinities and NaN.

    Examples
    --------
    >>> number(0.5), number(-math.inf), number_of("-inf")
    (0.5, '-inf', -inf)
    """
    return float(value) if math.isfinite(value) else str(float(value))


def number_of(value: float | str) -> float:
    """Inverse of :func:`number`."""
    return _NUMBERS[value] if isinstance(value, str) else float(value)


def labels(classes: tuple[Any, ...]) -> list[Any]:
    """List class labels, if JSON has them."""
    for label in classes:
        if not isinstance(label, str | int | float | None):
            raise TypeError(
                f"the class {label!r} cannot be written to JSON: use text, numbers or truth values"
            )
    return list(classes)
