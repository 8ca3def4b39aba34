"""Plans as JSON values."""

from __future__ import annotations

import math
from dataclasses import asdict, fields, replace
from typing import Any

from rashomon_explorer.mechanisms.centres import Centre
from rashomon_explorer.mechanisms.ellipsoid import EllipsoidDetails
from rashomon_explorer.mechanisms.langevin.plan import PathDetails
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.mechanisms.objective_perturbation.plan import PerturbationDetails
from rashomon_explorer.mechanisms.one_model import OneModelDetails
from rashomon_explorer.mechanisms.plans import Details, ExpectedGain, Plan
from rashomon_explorer.mechanisms.private_scaling import ColumnsPlan
from rashomon_explorer.mechanisms.request import Request, TreeRequest, UnplannedRequest
from rashomon_explorer.mechanisms.sparse_trees import TreeDetails
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss

Values = dict[str, Any]

_INFINITIES = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PLAIN = (
    "mechanism",
    "excess_bound",
    "hit_rate",
    "certificate",
    "eta",
    "beta",
    "law_psi",
    "comparison_excess",
    "centre_excess",
    "generalisation_gap",
    "steps",
    "repeats",
    "reason",
)
_PLANNED = ("in_chunks", "patience", "batch_size", "batch_order", "share")
_DETAILS = {
    kind.__name__: kind
    for kind in (
        Details,
        PathDetails,
        StatesDetails,
        PerturbationDetails,
        EllipsoidDetails,
        OneModelDetails,
        TreeDetails,
    )
}


def plan_values(plan: Plan) -> Values:
    """Fields of a plan, without the mechanisms that it was compared with."""
    details = plan.details
    if isinstance(details, OneModelDetails):  # its settings follow from the other numbers
        details = replace(details, settings=None)
    values = {
        **{name: getattr(plan, name) for name in _PLAIN},
        "request": _request_values(plan.request),
        "columns": None if plan.columns is None else asdict(plan.columns),
        "details": {**asdict(details), "kind": type(details).__name__},
        "expected": plan.expected,
    }
    return {**_to_json(values), "guarantee": plan.guarantee.to_dict()}


def plan_from_values(values: Values) -> Plan:
    """Inverse of :func:`plan_values`."""
    guarantee = Guarantee.from_dict(values["guarantee"])
    values = _from_json({name: values[name] for name in values if name != "guarantee"})
    details, columns = values["details"], values["columns"]
    expected = values["expected"]
    kind = _DETAILS[details.pop("kind")]
    if kind is EllipsoidDetails:
        details["centre"] = Centre(**details["centre"])
    if expected is not None:
        gain: Any = [*expected[:6], tuple(map(tuple, expected[6]))]
        expected = ExpectedGain(*gain)
    return Plan(
        **{name: values[name] for name in _PLAIN},
        request=_request(values["request"]),
        guarantee=guarantee,
        details=kind(**details),
        columns=None if columns is None else ColumnsPlan(**columns),
        simulation=expected,
    )


def _to_json(value: Any) -> Any:
    """JSON value; infinities and NaN as text, also in tables."""
    if isinstance(value, dict):
        return {key: _to_json(entry) for key, entry in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _from_json(entry) for key, entry in value.items()}
    return _INFINITIES.get(value, value) if isinstance(value, str) else value


def _request_values(request: Request | UnplannedRequest | TreeRequest) -> Values:
    """Public numbers of a request; those of a linear one also describe a loss that is unknown."""
    if isinstance(request, TreeRequest):
        return asdict(request)
    values = {field.name: getattr(request, field.name) for field in fields(UnplannedRequest)}
    values["loss"] = request.loss_name
    if isinstance(request, Request):
        values |= {name: getattr(request, name) for name in _PLANNED}
    return values


def _request(values: Values) -> Request | UnplannedRequest | TreeRequest:
    if "log_size" in values:
        for name in ("questions", "costs"):
            values[name] = tuple(map(tuple, values[name]))
        return TreeRequest(**values)
    unplanned = UnplannedRequest(**{f.name: values[f.name] for f in fields(UnplannedRequest)})
    if "patience" not in values:
        return unplanned
    name, outputs = values["loss"], values["outputs"]
    try:
        loss = SoftmaxLoss(outputs + 1) if name == "softmax" else get_loss(name).name
    except ValueError:
        return unplanned
    # Files of earlier versions lack the settings of paths.
    stored = {f.name: values[f.name] for f in fields(Request) if f.name in values}
    request = Request(**stored | {"loss": loss})
    # The name of a loss with parameters does not identify it.
    same = math.isclose(request.oscillation, values["oscillation"], rel_tol=1e-12)
    return request if same else unplanned
