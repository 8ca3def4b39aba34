"""Save and load sets of models."""

import json
import math
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.files import replace_file
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import EllipsoidExactPlan
from rashomon_explorer.mechanisms.ellipsoid.plan import EllipsoidPlan
from rashomon_explorer.mechanisms.langevin.plan import ClippedPathPlan, PathPlan
from rashomon_explorer.mechanisms.objective_perturbation.plan import ObjectivePerturbationPlan
from rashomon_explorer.mechanisms.planning.centres import Centre
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.domains import CutEllipsoid

Arrays = dict[str, NDArray[Any]]
Values = dict[str, Any]

_PLANS: dict[str, type[Plan]] = {
    kind.__name__: kind
    for kind in (
        Plan,
        PathPlan,
        ClippedPathPlan,
        ObjectivePerturbationPlan,
        EllipsoidPlan,
        EllipsoidExactPlan,
    )
}
_ELLIPSOID = ("centre", "matrix", "start")
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def plan_values(plan: Plan) -> Values:
    """Fields of a plan, with its type."""
    # Its options follow from the other fields.
    plain = _plain_values(replace(plan, options=()), without="options")
    plain["sampler"] = plain.pop("mechanism")  # the key in files
    return {**plain, "type": type(plan).__name__}


def tree_plan_values(plan: TreePlan | None) -> Values | None:
    """Fields of a plan of trees; None without a plan."""
    return None if plan is None else _plain_values(plan)


def tree_plan_from_values(values: Values | None) -> TreePlan | None:
    """Inverse of :func:`tree_plan_values`."""
    if values is None:
        return None
    plain = {field.name: values[field.name] for field in fields(TreePlan) if field.name in values}
    numbers: Values = {k: _NUMBERS.get(v, v) if isinstance(v, str) else v for k, v in plain.items()}
    for name in ("questions", "costs"):
        numbers[name] = tuple(map(tuple, numbers[name]))
    return TreePlan(**(numbers | {"guarantee": Guarantee.from_dict(values["guarantee"])}))


def plan_from_values(values: Values) -> Plan:
    """Inverse of :func:`plan_values`."""
    kind = _PLANS[values["type"]]
    if "sampler" in values:  # the key in files
        values = {**values, "mechanism": values["sampler"]}
    # Files of older versions lack newer fields.
    plain = {field.name: values[field.name] for field in fields(kind) if field.name in values}
    numbers: Values = {k: _NUMBERS.get(v, v) if isinstance(v, str) else v for k, v in plain.items()}
    if "centre" in numbers:
        numbers["centre"] = Centre(**numbers["centre"])
    if numbers.get("columns") is not None:
        numbers["columns"] = ColumnsPlan(**numbers["columns"])
    return kind(**(numbers | {"guarantee": Guarantee.from_dict(values["guarantee"])}))


def _plain_values(plan: Plan | TreePlan, without: str = "") -> Values:
    # A plan's guarantee is written separately: its curve is not a plain value.
    bare = asdict(replace(plan, guarantee=no_guarantee("")))
    plain = {k: number(v) if isinstance(v, float) else v for k, v in bare.items() if k != without}
    return {**plain, "guarantee": plan.guarantee.to_dict()}


def ellipsoid_parts(region: CutEllipsoid | None) -> tuple[Arrays, Values]:
    """Arrays and values of an ellipsoid released with the draws; empty without one."""
    if region is None:
        return {}, {}
    arrays = {f"ellipsoid_{name}": getattr(region, name) for name in _ELLIPSOID}
    return arrays, {"ellipsoid": [region.level, region.radius]}


def ellipsoid_from_parts(arrays: Arrays, values: Values) -> CutEllipsoid | None:
    """Inverse of :func:`ellipsoid_parts`."""
    if "ellipsoid" not in values:
        return None
    level, radius = values["ellipsoid"]
    named = {name: arrays[f"ellipsoid_{name}"] for name in _ELLIPSOID}
    return CutEllipsoid(**named, level=level, radius=radius)


def scale_parts(scale: ColumnMap | None) -> Arrays:
    """Arrays of a column map; empty without one."""
    return {} if scale is None else {"scale": np.stack([scale.centre, scale.spread])}


def scale_from_parts(arrays: Arrays, row_norm: float) -> ColumnMap | None:
    """Inverse of :func:`scale_parts`."""
    if "scale" not in arrays:
        return None
    centre, spread = arrays["scale"]
    return ColumnMap(centre, spread, row_norm)


def number(value: float) -> float | str:
    """JSON value of a float; infinities and NaN as text."""
    return float(value) if math.isfinite(value) else str(float(value))


def number_from_value(value: float | str) -> float:
    """Inverse of :func:`number`."""
    return _NUMBERS[value] if isinstance(value, str) else float(value)


def labels(classes: tuple[Any, ...]) -> list[Any]:
    """List class labels; raise if JSON has no such values."""
    for label in classes:
        if not isinstance(label, str | int | float | None):
            raise TypeError(
                f"the class {label!r} cannot be written to JSON: use text, numbers or truth values"
            )
    return list(classes)


Wanted = TypeVar("Wanted")
Class = TypeVar("Class", bound=type)

FORMAT = "rashomon-explorer set"
VERSION = 1
_HEADER = "header"

# MemoryError: an array that claims to be larger than its entry. RuntimeError: an encrypted entry.
_UNREADABLE = (ValueError, OSError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile)


class Parts(Protocol):
    """Protocol of an object that is serialised as arrays and JSON values."""

    def to_parts(self) -> tuple[Arrays, Values]:
        """Return arrays and values for a file."""

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""


@dataclass(frozen=True)
class Kind:
    """A registered type of set in files."""

    holds: type[Parts]
    public: bool  # whether others than the curator may read the file
    reader: str  # function that reads it, for an error


_KINDS: dict[str, Kind] = {}  # each type of set registers itself


def written_as(name: str, *, reader: str, public: bool = False) -> Callable[[Class], Class]:
    """Register a type of set under its name in files."""

    def enter(kind: Class) -> Class:
        _KINDS[name] = Kind(kind, public, reader)
        return kind

    return enter


def save(models: Parts, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a set; see the ``save`` method of the set."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists already: choose another name or overwrite=True")
    arrays = _arrays_of(models)
    mode = 0o644 if _kind_of(models)[1].public else 0o600
    replace_file(target, lambda file: np.savez(file, **arrays), mode=mode)


def write(models: Parts, file: BinaryIO) -> None:
    """Write a set into an open file, in the format of ``save``."""
    np.savez(file, **_arrays_of(models))


def _kind_of(models: Parts) -> tuple[str, Kind]:
    return next((name, kind) for name, kind in _KINDS.items() if type(models) is kind.holds)


def _arrays_of(models: Parts) -> dict[str, Any]:
    """Arrays of a set; one of them contains its JSON values."""
    arrays, values = models.to_parts()
    header = {"format": FORMAT, "version": VERSION, "kind": _kind_of(models)[0], **values}
    written = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
    return {**arrays, _HEADER: written}


def load(path: str | PathLike[str], wanted: type[Wanted]) -> Wanted:
    """Read a set of the wanted type."""
    arrays = _read(path)
    header = _header(path, arrays)
    if header["kind"] not in _KINDS:
        raise DataError(f"{path} holds {header['kind']!r}, expected one of {[*_KINDS]}")
    kind = _KINDS[header["kind"]]
    if not issubclass(kind.holds, wanted):
        raise DataError(f"{path} holds a {kind.holds.__name__}: read it with {kind.reader}")
    try:
        models = kind.holds.from_parts(arrays, header)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"{path} is damaged: {error!r}") from error
    if not isinstance(models, wanted):
        raise DataError(f"{path} holds a {type(models).__name__}")
    return models


def _read(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    with open(path, "rb") as file:  # a missing file is an ordinary FileNotFoundError
        try:
            return _unpacked(file, path)
        except DataError:
            raise
        except _UNREADABLE:
            pass
    # zipfile reports a transient disk error as damage: parse bytes that were read completely.
    content = BytesIO(Path(path).read_bytes())
    if not zipfile.is_zipfile(content):
        raise DataError(f"{path} is not a file of a set: it is not an npz archive")
    try:
        return _unpacked(content, path)
    except DataError:
        raise
    except _UNREADABLE as error:
        raise DataError(f"{path} is damaged, or was not written by save") from error


def _unpacked(file: BinaryIO, path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(file):
        raise zipfile.BadZipFile
    if _expands(file):
        raise DataError(
            f"{path} was not read: it is compressed or expands beyond its own size, which a file "
            "written by save never does. Save the set again from its source"
        )
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


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
        known, version = header["format"] == FORMAT, int(header["version"])
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} is not a file of a set: it has no readable header") from error
    if not known:
        raise DataError(f"{path} is a {header['format']!r}, expected a {FORMAT!r}")
    if version > VERSION:
        raise DataError(
            f"{path} was written by a newer version of rashomon-explorer (file version {version}, "
            f"this one reads up to {VERSION}): upgrade the package"
        )
    return header
