"""Values as JSON: numbers by their bits, text apart from numbers, long arrays by their digest."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

_LONGEST = 12
_DEEPEST = 7


def digest(content: bytes) -> str:
    """First half of the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()[:32]


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value in plain parts: fields by their order, so that names may change."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value).hex() if math.isfinite(value) else str(float(value))
    if isinstance(value, str):
        return {"text": value}
    if depth > _DEEPEST:
        return {"deep": True}
    if isinstance(value, np.ndarray):
        return _array(value, depth)
    if isinstance(value, pd.DataFrame | pd.Series):
        return {"text": value.to_csv(), "numbers": _numbers(value)}
    if hasattr(value, "to_dict") and type(value).__name__ == "Guarantee":
        return plain(value.to_dict(), depth + 1)
    if isinstance(value, Mapping):
        return [[plain(str(k), depth + 1), plain(v, depth + 1)] for k, v in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, f.name, None), depth + 1) for f in fields(value)]
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(one, depth + 1) for one in value]
    return {"object": True}


def _array(value: np.ndarray, depth: int) -> Any:
    if value.dtype == object or value.dtype.kind in "US":
        return [plain(one if isinstance(one, float) else str(one), depth + 1) for one in value.ravel()[:_LONGEST]]
    if value.size <= _LONGEST:
        return [list(value.shape), [plain(one, depth + 1) for one in value.ravel().tolist()]]
    return [list(value.shape), digest(np.ascontiguousarray(value).tobytes())]


def _numbers(value: Any) -> list[Any]:
    frame = value.to_frame() if isinstance(value, pd.Series) else value
    kept = frame.select_dtypes("number")
    return [digest(np.ascontiguousarray(kept.to_numpy(dtype=float)).tobytes()), list(kept.shape)]


def without_text(value: Any) -> Any:
    """Return plain parts without their words, for a step that rewrites messages."""
    if isinstance(value, dict):
        return {k: without_text(v) for k, v in value.items() if k != "text"}
    if isinstance(value, list):
        return [without_text(one) for one in value]
    return value


def figure_parts(figure: Mapping[str, Any]) -> Any:
    """Return the numbers of a Plotly figure apart from its words."""
    return _parts(json.loads(json.dumps(figure, default=str)))


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return [[k, _parts(v)] for k, v in sorted(value.items())]
    if isinstance(value, list):
        if len(value) > _LONGEST and all(isinstance(one, int | float) for one in value):
            return digest(json.dumps(value).encode())
        return [_parts(one) for one in value]
    return {"text": value} if isinstance(value, str) else value
