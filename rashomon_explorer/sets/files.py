"""Save and load sets of models: one serialiser of their fields for all kinds."""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable
from dataclasses import MISSING, fields
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.files import replace_file
from rashomon_explorer._utils.imports import load_extensions
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.minimisation import Minimum
from rashomon_explorer.sets.models.fitted import StoredPredictions
from rashomon_explorer.sets.models.trees import DecisionTrees

Arrays = dict[str, NDArray[Any]]
Values = dict[str, Any]
Wanted = TypeVar("Wanted")
Class = TypeVar("Class", bound=type)

_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def number(value: float) -> float | str:
    """JSON value of a float; infinities and NaN as text."""
    return float(value) if math.isfinite(value) else str(float(value))


def number_from_value(value: float | str) -> float:
    """Inverse of :func:`number`."""
    return _NUMBERS[value] if isinstance(value, str) else float(value)


def _class_labels(classes: tuple[Any, ...]) -> list[Any]:
    """List class labels; raise if JSON has no such values."""
    for label in classes:
        if not isinstance(label, str | int | float | None):
            raise TypeError(
                f"the class {label!r} cannot be written to JSON: use text, numbers or truth values"
            )
    return list(classes)


def _plans() -> ModuleType:
    # Local import: plans are slow to import, and sets of other models have none.
    from rashomon_explorer.sets import plan_values

    return plan_values


_NUMBER = (number, number_from_value)
_PLAN = (lambda plan: _plans().plan_values(plan), lambda values: _plans().plan_from_values(values))
# How a field is written to JSON and read; any other as it is.
_JSON: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **dict.fromkeys(
        ("row_norm", "clipped_share", "acceptance", "narrowed", "least", "psi"), _NUMBER
    ),
    **dict.fromkeys(("feature_names", "names", "steps"), (list, tuple)),
    **dict.fromkeys(("plan", "planned"), _PLAN),
    "network_plan": (
        lambda plan: plan.to_values(),
        lambda values: _KINDS["released networks"].plan_from(values),
    ),
    "target_bounds": (
        lambda bounds: [number(bound) for bound in bounds],
        lambda values: tuple(map(number_from_value, values)),
    ),
    "classes": (_class_labels, tuple),
    "guarantee": (Guarantee.to_dict, Guarantee.from_dict),
    "feature_groups": (lambda groups: {k: list(v) for k, v in groups.items()}, dict),
    "schema": (TableSchema.to_dict, TableSchema.from_dict),
}
_MINIMUM = ("value", "gap", "multiplier", "slack")
_ELLIPSOID = ("centre", "matrix", "start")
_STORABLE: dict[str, Any] = {
    StoredPredictions.kind: StoredPredictions,
    DecisionTrees.kind: DecisionTrees,
}


def _minimum_parts(minimum: Minimum) -> tuple[Arrays, Values]:
    values = {name: number(getattr(minimum, name)) for name in _MINIMUM}
    return {"best": minimum.theta}, {"minimum": values}


def _minimum(arrays: Arrays, values: Values) -> Minimum:
    numbers = {name: number_from_value(values["minimum"][name]) for name in _MINIMUM}
    return Minimum(arrays["best"], **numbers)


def _ellipsoid_parts(region: CutEllipsoid) -> tuple[Arrays, Values]:
    arrays = {f"ellipsoid_{name}": getattr(region, name) for name in _ELLIPSOID}
    return arrays, {"ellipsoid": [region.level, region.radius]}


def _ellipsoid(arrays: Arrays, values: Values) -> CutEllipsoid:
    level, radius = values["ellipsoid"]
    named = {name: arrays[f"ellipsoid_{name}"] for name in _ELLIPSOID}
    return CutEllipsoid(**named, level=level, radius=radius)


def _scale_parts(scale: ColumnMap) -> tuple[Arrays, Values]:
    return {"scale": np.stack([scale.centre, scale.spread])}, {}


def _scale(arrays: Arrays, values: Values) -> ColumnMap:
    centre, spread = arrays["scale"]
    return ColumnMap(centre, spread, number_from_value(values["row_norm"]))


_WITH_ARRAYS: dict[str, tuple[Callable[[Any], tuple[Arrays, Values]], Callable[..., Any]]] = {
    "minimum": (_minimum_parts, _minimum),
    "ellipsoid": (_ellipsoid_parts, _ellipsoid),
    "scale": (_scale_parts, _scale),
}
_MODELS = ("models", "reference")


def _parts(models: Any) -> tuple[Arrays, Values]:
    """Arrays and JSON values of the fields of a set that are not None: all that its file holds."""
    arrays: Arrays = {}
    values: Values = {}
    for field in fields(models):
        name, value = field.name, getattr(models, field.name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif name in _WITH_ARRAYS and value is not None:
            field_arrays, field_values = _WITH_ARRAYS[name][0](value)
            arrays |= field_arrays
            values |= field_values
        elif name in _MODELS:
            model_arrays, values[name] = _model_parts(value)
            arrays |= {f"{name}.{key}": array for key, array in model_arrays.items()}
        elif value is not None:
            values[name] = _JSON[name][0](value) if name in _JSON else value
    return arrays, values


def _model_parts(models: Any) -> tuple[Arrays, Values]:
    if models.kind not in _STORABLE:
        raise TypeError(
            f"{models.kind} can be saved only by pickle, which runs code when it is loaded: save "
            f"their predictions with stored(X).save(path), or save each model with skops or ONNX"
        )
    arrays, values = models.to_parts()
    return arrays, {"kind": models.kind, **values}


def _from_parts(kind: Any, arrays: Arrays, values: Values) -> Any:
    """Inverse of :func:`_parts`; a field that the file lacks has its default."""
    given: Values = {}
    for field in fields(kind):
        if field.name in values or field.name in arrays or field.default is MISSING:
            given[field.name] = _field(field.name, arrays, values)
    return kind(**given)


def _field(name: str, arrays: Arrays, values: Values) -> Any:
    if name in _MODELS:
        of = f"{name}."
        parts = {k.removeprefix(of): array for k, array in arrays.items() if k.startswith(of)}
        return _STORABLE[values[name]["kind"]].from_parts(parts, values[name])
    if name in _WITH_ARRAYS:
        return _WITH_ARRAYS[name][1](arrays, values)
    if name in arrays:
        return arrays[name]
    return _JSON[name][1](values[name]) if name in _JSON else values[name]


FORMAT = "rashomon-explorer set"
VERSION = 1
_HEADER = "header"

# MemoryError: an array that claims to be larger than its entry. RuntimeError: an encrypted entry.
_UNREADABLE = (ValueError, OSError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile)


_KINDS: dict[str, type[Any]] = {}  # each type of set registers itself


def stored_models(kind: Class) -> Class:
    """Register a type of models that files of sets hold."""
    _STORABLE[kind.kind] = kind  # type: ignore[attr-defined]
    return kind


def written_as(name: str) -> Callable[[Class], Class]:
    """Register a type of set under its name in files."""

    def enter(kind: Class) -> Class:
        _KINDS[name] = kind
        return kind

    return enter


def save(models: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a set; see the ``save`` method of the set."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists already: choose another name or overwrite=True")
    arrays = _arrays_of(models)
    mode = 0o600 if models.curated else 0o644
    replace_file(target, lambda file: np.savez(file, **arrays), mode=mode)


def write(models: Any, file: BinaryIO) -> None:
    """Write a set into an open file, in the format of ``save``."""
    np.savez(file, **_arrays_of(models))


def _arrays_of(models: Any) -> dict[str, Any]:
    """Arrays of a set; one of them contains its JSON values."""
    arrays, values = _parts(models)
    name = next(name for name, kind in _KINDS.items() if type(models) is kind)
    header = {"format": FORMAT, "version": VERSION, "kind": name, **values}
    written = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
    return {**arrays, _HEADER: written}


def load(path: str | PathLike[str], wanted: type[Wanted]) -> Wanted:
    """Read a set of the wanted type."""
    arrays = _read(path)
    header = _header(path, arrays)
    if header["kind"] not in _KINDS:
        load_extensions("sets")
    if header["kind"] not in _KINDS:
        raise DataError(f"{path} holds {header['kind']!r}, expected one of {[*_KINDS]}")
    kind = _KINDS[header["kind"]]
    if not issubclass(kind, wanted):
        reader = "RashomonSet" if kind.curated else kind.__name__
        raise DataError(f"{path} holds a {kind.__name__}: read it with {reader}.load")
    try:
        models: Wanted = _from_parts(kind, arrays, header)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"{path} is damaged: {error!r}") from error
    return models


def _read(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    # zipfile reports a transient disk error as damage: parse bytes that were read completely.
    content = BytesIO(Path(path).read_bytes())  # a missing file is an ordinary FileNotFoundError
    if not zipfile.is_zipfile(content):
        raise DataError(f"{path} is not a file of a set: it is not an npz archive")
    try:
        if _expands(content):
            raise DataError(
                f"{path} was not read: it is compressed or expands beyond its own size, which a "
                "file written by save never does. Save the set again from its source"
            )
        content.seek(0)
        with np.load(content, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except DataError:
        raise
    except _UNREADABLE as error:
        raise DataError(f"{path} is damaged, or was not written by save") from error


def _expands(file: BinaryIO) -> bool:
    """Whether reading the entries of an archive can take more memory than its own size."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    stored = all(
        one.compress_type == zipfile.ZIP_STORED and one.compress_size == one.file_size
        for one in entries
    )
    # Entries can share bytes, so their sum is compared.
    return not stored or sum(one.file_size for one in entries) > file.seek(0, os.SEEK_END)


def _header(path: str | PathLike[str], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        header = json.loads(arrays[_HEADER].tobytes().decode())
        version = int(header["version"])
        file_format = header["format"]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} is not a file of a set: it has no readable header") from error
    if file_format != FORMAT:
        raise DataError(f"{path} is a {file_format!r}, expected a {FORMAT!r}")
    if version > VERSION:
        raise DataError(
            f"{path} was written by a newer version of rashomon-explorer (file version {version}, "
            f"this one reads up to {VERSION}): upgrade the package"
        )
    return header
