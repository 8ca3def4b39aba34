"""A set of anybody's models as arrays and JSON values, and back."""

from typing import Any

from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.rashomon_set.models import STORABLE
from rashomon_explorer.rashomon_set.parts import (
    Arrays,
    Values,
    labels,
    number,
    number_of,
    tree_plan_of,
    tree_plan_values,
)
from rashomon_explorer.rashomon_set.raw_tables import schema_from, schema_values


def parts_of(models: Any) -> tuple[Arrays, Values]:
    """Arrays and JSON values for a file, of stored predictions or trees.

    Parameters
    ----------
    models : PredictorSet

    Raises
    ------
    TypeError
        If the models could be written by pickle alone.
    """
    arrays: Arrays = {"losses": models.losses}
    held: Values = {}
    for name, part in (("models", models.models), ("reference", models.reference)):
        own, values = _stored(part)
        arrays |= {f"{name}.{key}": array for key, array in own.items()}
        held[name] = {"kind": part.kind, **values}
    return arrays, {
        **held,
        "least": number(models.least),
        "psi": number(models.psi),
        "task": models.task,
        "classes": labels(models.classes),
        "names": list(models.names),
        "loss": models.loss,
        "guarantee": models.guarantee.to_dict(),
        "steps": list(models.steps),
        "complete": models.complete,
        "independent": models.independent,
        "uniform": models.uniform,
        "plan": tree_plan_values(models.planned),
        **schema_values(models.schema),
    }


def fields_of(arrays: Arrays, values: Values) -> dict[str, Any]:
    """Fields of the set that :func:`parts_of` wrote."""
    parts = {}
    for name in ("models", "reference"):
        at = f"{name}."
        own = {k.removeprefix(at): v for k, v in arrays.items() if k.startswith(at)}
        parts[name] = STORABLE[values[name]["kind"]].from_parts(own, values[name])
    return dict(
        **parts,
        losses=arrays["losses"],
        least=number_of(values["least"]),
        psi=number_of(values["psi"]),
        task=values["task"],
        classes=tuple(values["classes"]),
        names=tuple(values["names"]),
        loss=values["loss"],
        guarantee=Guarantee.from_dict(values["guarantee"]),
        steps=tuple(values["steps"]),
        complete=values.get("complete", False),  # files of older versions do not say
        independent=values.get("independent", False),
        uniform=values.get("uniform", False),
        planned=tree_plan_of(values.get("plan")),
        schema=schema_from(values),
    )


def _stored(part: Any) -> tuple[Arrays, Values]:
    if part.kind not in STORABLE:
        raise TypeError(
            f"{part.kind} could be written by pickle alone, which runs code when it is read: keep "
            "what they predict with stored(X).save(path), or save each model with skops or ONNX"
        )
    arrays, values = part.to_parts()
    return arrays, values
