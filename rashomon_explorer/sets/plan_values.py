"""Plans as JSON values; plans of earlier versions, which had a class each, are read, too."""

from __future__ import annotations

import math
from dataclasses import asdict, fields, replace
from typing import Any

from rashomon_explorer.mechanisms.bounds.one_model import generalisation_gap, stable_gap
from rashomon_explorer.mechanisms.centres import Centre
from rashomon_explorer.mechanisms.ellipsoid import EllipsoidDetails
from rashomon_explorer.mechanisms.langevin.plan import PathDetails
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

_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_NUMBERS_OF_PLANS = (
    "eta",
    "beta",
    "excess_bound",
    "law_psi",
    "comparison_excess",
    "centre_excess",
    "generalisation_gap",
    "steps",
    "repeats",
    "certificate",
)
_DETAILS = {
    kind.__name__: kind
    for kind in (
        Details,
        PathDetails,
        PerturbationDetails,
        EllipsoidDetails,
        OneModelDetails,
        TreeDetails,
    )
}


def plan_values(plan: Plan) -> Values:
    """Fields of a plan, without the mechanisms that it was compared with."""
    request = plan.request
    if plan.of_trees:
        values = asdict(request) | {"asked_hit_rate": request.hit_rate}
        del values["hit_rate"]
    else:
        values = {name: getattr(plan, name) for name in _SHARED_BY_LINEAR_PLANS}
        values |= {"row_norm": plan.row_bound, "ledger": request.ledger}
    if isinstance(request, Request):
        values |= {"in_chunks": request.in_chunks, "patience": request.patience}
    values |= {name: getattr(plan, name) for name in _NUMBERS_OF_PLANS}
    values |= {"hit_rate": plan.hit_rate, "sampler": plan.mechanism, "why": plan.reason}
    values |= {"columns": None if plan.columns is None else asdict(plan.columns)}
    values |= {"details": _details_values(plan.details), "type": "Plan"}
    values |= {"expected": plan.expected, "hit_rate_bound": plan.hit_rate_bound}
    plain = {name: _plain(value) for name, value in values.items()}
    return {**plain, "guarantee": plan.guarantee.to_dict()}


_SHARED_BY_LINEAR_PLANS = (
    "n",
    "p",
    "psi",
    "loss",
    "epsilon",
    "delta",
    "n_draws",
    "oscillation",
    "radius",
    "ridge",
    "outputs",
    "zero_loss",
)


def _plain(value: Any) -> Any:
    """JSON value; infinities and NaN as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value


def _details_values(details: Details) -> Values:
    if isinstance(details, OneModelDetails):  # its settings follow from the other numbers
        details = replace(details, settings=None)
    values = {} if type(details) is Details else asdict(details)
    return {name: _plain(value) for name, value in values.items()} | {
        "kind": type(details).__name__
    }


def plan_from_values(values: Values) -> Plan:
    """Inverse of :func:`plan_values`."""
    known = {key: _number(value) for key, value in values.items() if key != "guarantee"}
    guarantee = Guarantee.from_dict(values["guarantee"])
    if "log_size" in known:
        return _with_expected(_tree_plan(known, guarantee), known)
    if "details" not in known:
        return _with_expected(_earlier_plan(known, guarantee), known)
    details = {name: _number(value) for name, value in known["details"].items()}
    kind = _DETAILS[details.pop("kind")]
    if kind is EllipsoidDetails:
        details["centre"] = Centre(**details["centre"])
    plan = Plan(
        request=_request(known),
        mechanism=known["sampler"],
        guarantee=guarantee,
        hit_rate=known["hit_rate"],
        details=kind(**details),
        columns=_columns(known),
        reason=known["why"],
        **{name: known[name] for name in _NUMBERS_OF_PLANS},
    )
    return _with_expected(plan, known)


def _number(value: Any) -> Any:
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _columns(values: Values) -> ColumnsPlan | None:
    columns = values.get("columns")
    return None if columns is None else ColumnsPlan(**columns)


def _with_expected(plan: Plan, values: Values) -> Plan:
    """Attach what was expected of the plan when it was saved."""
    expected = values.get("expected")
    if expected is not None:
        gain: Any = [*expected[:6], tuple(map(tuple, expected[6]))]
        return replace(plan, simulation=ExpectedGain(*gain))
    return plan


def _request(values: Values) -> Request | UnplannedRequest:
    """Public numbers of a plan of linear models."""
    shape = {name: values[name] for name in ("n", "p", "psi", "epsilon", "delta", "n_draws")}
    shape |= {name: values.get(name) for name in ("radius", "row_norm")}
    shape |= {"ridge": values.get("ridge", 0.0), "ledger": values.get("ledger", False)}
    outputs, name = values.get("outputs", 1), values["loss"]
    unplanned = UnplannedRequest(
        **shape,
        loss=name,
        oscillation=values["oscillation"],
        outputs=outputs,
        zero_loss=values.get("zero_loss"),
    )
    if values.get("radius") is None or values.get("row_norm") is None:
        return unplanned
    try:
        loss = SoftmaxLoss(outputs + 1) if name == "softmax" else get_loss(name).name
    except ValueError:
        return unplanned
    options = {k: values[k] for k in ("in_chunks", "patience") if k in values}
    request = Request(**shape, loss=loss, **options)
    # The name of a loss with parameters does not identify it.
    same = math.isclose(request.oscillation, values["oscillation"], rel_tol=1e-12)
    return request if same else unplanned


def _tree_plan(values: Values, guarantee: Guarantee) -> Plan:
    wanted = {field.name for field in fields(TreeRequest)}
    settings = {name: value for name, value in values.items() if name in wanted}
    settings["hit_rate"] = values.get("asked_hit_rate", 0.9)
    for name in ("questions", "costs"):
        settings[name] = tuple(map(tuple, values.get(name, ())))
    hit_rate = values["hit_rate_bound"] if values["psi"] > 0 else None
    details = values.get("details", values)
    return Plan(
        request=TreeRequest(**settings),
        mechanism="counted_trees",
        guarantee=guarantee,
        hit_rate=hit_rate,
        excess_bound=values["excess_bound"],
        eta=values["eta"],
        beta=values["beta"],
        law_psi=values["law_psi"],
        generalisation_gap=math.sqrt(values["log_size"] / (2 * values["n"])),
        reason=values.get("why", ""),
        details=TreeDetails(details.get("memory", 0), details.get("seconds", 0.0)),
    )


def _earlier_plan(values: Values, guarantee: Guarantee) -> Plan:
    """Plan of a file in which every mechanism had a class of plans."""
    request, kind = _request(values), values["type"]
    hit_rate = values["hit_rate_bound"] or None
    plan = Plan(
        request=request,
        mechanism=values.get("sampler", ""),
        guarantee=guarantee,
        excess_bound=values["excess_bound"],
        hit_rate=hit_rate if values["psi"] > 0 else None,
        certificate=values.get("certificate", "oscillation"),
        eta=values["eta"],
        beta=values["beta"],
        law_psi=values.get("law_psi"),
        columns=_columns(values),
        reason=values.get("why", ""),
    )
    gap, ridge, error = math.inf, 0.0, 0.0
    if kind in ("PathPlan", "ClippedPathPlan"):
        details = {k: values[k] for k in ("width", "sensitivity", "step_size", "n_steps")}
        plan = replace(
            plan,
            comparison_excess=values.get("clipped_excess", math.nan),
            steps=float(values["n_steps"]),
            repeats=values["n_draws"],
            details=PathDetails(**details, slope_bound=values.get("most", math.inf)),
        )
    elif kind == "ObjectivePerturbationPlan":
        ridge, error = values["tilt_ridge"], 2 * values["solver"]
        plan = replace(
            plan,
            comparison_excess=values["followed_excess"],
            repeats=values["n_draws"],
            details=PerturbationDetails(
                values["most"],
                ridge,
                values["gaussian"],
                values["tilt"],
                values["solver"],
                values["blur"],
            ),
        )
    elif kind in ("EllipsoidPlan", "EllipsoidExactPlan"):
        centre = Centre(**{name: _number(value) for name, value in values["centre"].items()})
        details = {k: values[k] for k in ("hessian_mu", "hessian_noise", "margin")}
        plan = replace(
            plan,
            centre_excess=centre.excess,
            steps=float(centre.n_steps),
            details=EllipsoidDetails(centre=centre, regularisation=values["lift"], **details),
        )
    elif kind == "OneModelPlan":
        added = values.get("own_ridge", 0.0)
        comparison_excess = values["excess_bound"] - added * values["radius"] ** 2 / 2
        gap = values.get("generalisation_gap", math.inf)
        plan = replace(
            plan, comparison_excess=comparison_excess, details=OneModelDetails(None, added)
        )
    elif not plan.law_threshold:
        ridge = plan.ridge
    if math.isinf(gap) and isinstance(request, Request):
        gap = stable_gap(request, ridge, error) if ridge > 0 else generalisation_gap(request)
    return replace(plan, generalisation_gap=gap)
