"""An audit as JSON with a published schema."""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.audits.answers import NOT_PRIVATE


def json_schema() -> dict[str, Any]:
    """JSON schema of :meth:`Audit.to_json`."""
    text = files("rashomon_explorer.audits").joinpath("audit-schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def to_json(audit: Any) -> str:
    """Text of an audit by the schema that it names."""
    model = audit.inputs.model
    labels = audit.task == "classification"
    content = {
        "$schema": json_schema()["$id"],
        "view": NOT_PRIVATE,
        "written_by": f"rashomon-explorer {version('rashomon-explorer')}",
        "model": {
            "name": model.name,
            "task": audit.task,
            "classes": list(model.classes),
            "rows": len(model.table),
            "columns": [str(name) for name in model.table.columns],
        },
        "tolerance": {"psi": audit.psi, "rule": audit.tolerance.rule, "text": audit.tolerance.text},
        "kind": audit.kind,
        "summary": _records(audit.summary()),
        "coefficients": _records(audit.coefficients) if audit.has_coefficients else None,
        "groups": _records(audit.groups) if labels and audit.inputs.groups is not None else None,
        "gaps": _records(audit.gaps) if audit.has_gaps else None,
        "importance": _records(audit.importance) if audit.has_importance else [],
        "people": _records(audit.flips if labels else audit.person_ranges),
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    name = str(table.index.name or "row")
    frame = table.rename_axis(name).reset_index()
    return [
        {str(key): _plain(value) for key, value in record.items()}
        for record in frame.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    """Value of JSON: infinite ends and missing values are null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int) or value is None else str(value)
