"""Each type of set taken apart into arrays and JSON values, and put together again."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from numpy.typing import NDArray

from rashomon_explorer.minimum import Minimum
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.path_planner import PathPlan
from rashomon_explorer.privacy import Guarantee, no_guarantee
from rashomon_explorer.rashomon_set.block import ModelBlock
from rashomon_explorer.rashomon_set.linear import RashomonSet
from rashomon_explorer.rashomon_set.models import STORABLE
from rashomon_explorer.rashomon_set.predictor import PredictorSet
from rashomon_explorer.rashomon_set.released import ReleasedSet

Arrays = dict[str, NDArray[Any]]
Values = dict[str, Any]
Set = RashomonSet | PredictorSet | ReleasedSet

_PLANS: dict[str, type[Plan]] = {"Plan": Plan, "PathPlan": PathPlan}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_CERTIFIED = ("value", "gap", "multiplier", "slack")


@dataclass(frozen=True)
class Kind:
    """How one type of set is written.

    Parameters
    ----------
    holds : type
    taken_apart, put_together : callable
    public : bool
        Whether others than the owner may read the file.
    reader : str
        What reads it, for an error.
    """

    holds: type[Any]
    taken_apart: Callable[[Any], tuple[Arrays, Values]]
    put_together: Callable[[Arrays, Values], Set]
    public: bool
    reader: str


def _block(models: ModelBlock) -> tuple[Arrays, Values]:
    """Everything that a release holds, field by field: nothing else gets into its file."""
    return {"coef": models.coef}, {
        "feature_names": list(models.feature_names),
        "link": models.link,
        "row_norm": _number(models.row_norm),
        "target_bounds": [_number(bound) for bound in models.target_bounds],
        "classes": _labels(models.classes),
        "plan": _plan(models.plan),
        "guarantee": _guarantee(models.guarantee),
        "steps": list(models.steps),
        "feature_groups": {k: list(v) for k, v in (models.feature_groups or {}).items()},
    }


def _block_fields(arrays: Arrays, values: Values) -> dict[str, Any]:
    low, high = (_float(bound) for bound in values["target_bounds"])
    return {
        "coef": arrays["coef"],
        "feature_names": tuple(values["feature_names"]),
        "link": values["link"],
        "row_norm": _float(values["row_norm"]),
        "target_bounds": (low, high),
        "classes": tuple(values["classes"]),
        "plan": _plan_again(values["plan"]),
        "guarantee": _guarantee_again(values["guarantee"]),
        "steps": tuple(values["steps"]),
        # Files of older versions have none: then names tell.
        "feature_groups": values.get("feature_groups"),
    }


def _linear(models: RashomonSet) -> tuple[Arrays, Values]:
    arrays, values = _block(models)
    certified = {name: _number(getattr(models.minimum, name)) for name in _CERTIFIED}
    arrays = {**arrays, "losses": models.losses, "best": models.best}
    return arrays, {
        **values,
        "minimum": certified,
        "clipped_share": _number(models.clipped_share),
        "acceptance": _number(models.acceptance),
        "sampler": models.sampler,
        "narrowed": None if models.narrowed is None else _number(models.narrowed),
    }


def _linear_again(arrays: Arrays, values: Values) -> RashomonSet:
    certified = {name: _float(values["minimum"][name]) for name in _CERTIFIED}
    narrowed = values["narrowed"]
    return RashomonSet(
        **_block_fields(arrays, values),
        losses=arrays["losses"],
        minimum=Minimum(arrays["best"], **certified),
        clipped_share=_float(values["clipped_share"]),
        acceptance=_float(values["acceptance"]),
        sampler=values["sampler"],
        narrowed=None if narrowed is None else _float(narrowed),
    )


def _predictors(models: PredictorSet) -> tuple[Arrays, Values]:
    arrays: Arrays = {"losses": models.losses}
    held: Values = {}
    for name, part in (("models", models.models), ("reference", models.reference)):
        own, values = _stored(part)
        arrays |= {f"{name}.{key}": array for key, array in own.items()}
        held[name] = {"kind": part.kind, **values}
    return arrays, {
        **held,
        "least": _number(models.least),
        "psi": _number(models.psi),
        "task": models.task,
        "classes": _labels(models.classes),
        "names": list(models.names),
        "loss": models.loss,
        "guarantee": _guarantee(models.guarantee),
        "steps": list(models.steps),
        "complete": models.complete,
    }


def _stored(part: Any) -> tuple[Arrays, Values]:
    if part.kind not in STORABLE:
        raise TypeError(
            f"{part.kind} could be written by pickle alone, which runs code when it is read: keep "
            "what they predict with stored(X).save(path), or save each model with skops or ONNX"
        )
    arrays, values = part.to_parts()
    return arrays, values


def _predictors_again(arrays: Arrays, values: Values) -> PredictorSet:
    parts = {}
    for name in ("models", "reference"):
        own = {k.removeprefix(f"{name}."): v for k, v in arrays.items() if k.startswith(f"{name}.")}
        parts[name] = STORABLE[values[name]["kind"]].from_parts(own, values[name])
    return PredictorSet(
        **parts,
        losses=arrays["losses"],
        least=_float(values["least"]),
        psi=_float(values["psi"]),
        task=values["task"],
        classes=tuple(values["classes"]),
        names=tuple(values["names"]),
        loss=values["loss"],
        guarantee=_guarantee_again(values["guarantee"]),
        steps=tuple(values["steps"]),
        complete=values.get("complete", False),  # files of older versions do not say
    )


KINDS = {
    "linear draws": Kind(RashomonSet, _linear, _linear_again, False, "RashomonSet.load"),
    "models": Kind(PredictorSet, _predictors, _predictors_again, False, "RashomonSet.load"),
    "release": Kind(
        ReleasedSet,
        _block,
        lambda arrays, values: ReleasedSet(**_block_fields(arrays, values)),
        True,
        "ReleasedSet.load",
    ),
}


def _plan(plan: Plan) -> Values:
    # The plan's own guarantee is written by itself: a curve in it is not plain values.
    bare = asdict(replace(plan, guarantee=no_guarantee("")))
    plain = {k: _number(v) if isinstance(v, float) else v for k, v in bare.items()}
    return {**plain, "type": type(plan).__name__, "guarantee": _guarantee(plan.guarantee)}


def _plan_again(values: Values) -> Plan:
    kind = _PLANS[values["type"]]
    # A file of an older version does not have the fields that came later.
    plain = {field.name: values[field.name] for field in fields(kind) if field.name in values}
    numbers: Values = {k: _NUMBERS.get(v, v) if isinstance(v, str) else v for k, v in plain.items()}
    return kind(**(numbers | {"guarantee": _guarantee_again(values["guarantee"])}))


def _guarantee(guarantee: Guarantee) -> Values:
    return guarantee.to_dict()


def _guarantee_again(values: Values) -> Guarantee:
    return Guarantee.from_dict(values)


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return float(value) if math.isfinite(value) else str(float(value))


def _float(value: float | str) -> float:
    return _NUMBERS[value] if isinstance(value, str) else float(value)


def _labels(classes: tuple[Any, ...]) -> list[Any]:
    for label in classes:
        if not isinstance(label, str | int | float | None):
            raise TypeError(
                f"the class {label!r} cannot be written to JSON: use text, numbers or truth values"
            )
    return list(classes)
