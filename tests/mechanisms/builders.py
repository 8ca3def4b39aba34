"""Requests of mechanisms with usual public numbers, their constants, and noise that is known."""

import numpy as np

from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import OpenRequest, Request, TreeRequest
from rashomon_explorer.mechanisms.select import resolve_auto
from rashomon_explorer.mechanisms.sparse_trees import plan_trees

USUAL = {
    "n": 2_000, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 2.0, "row_norm": 1.2,
    "ridge": 0.0, "epsilon": 2.0, "delta": 1e-5, "n_draws": 1,
}  # fmt: skip


def request_of(**changed):
    return Request(**{**USUAL, **changed})


def resolved(mechanism, **settings):
    """The request of open settings that the rule completes for a mechanism."""
    return resolve_auto(MECHANISMS[mechanism], OpenRequest(**settings))


def plan_arguments(request):
    """Arguments of :func:`rashomon_explorer.mechanisms.plan` for a request."""
    fields = {name: getattr(request, name) for name in Request.__dataclass_fields__}
    for name in ("in_chunks", "patience", "batch_size", "batch_order", "share"):
        del fields[name]
    return {**fields, "ledger": request.composition}


def by_settings(planner):
    """A planner of requests, called with the fields of a request one by one."""

    def planned(*shape, **settings):
        settings = {**dict(zip(("n", "p", "psi"), shape, strict=False)), **settings}
        named = {k: settings.pop(k) for k in Request.__dataclass_fields__ if k in settings}
        return planner(request_of(**{"delta": 0.0, **named}), **settings)

    return planned


def planned_trees(n, **settings):
    """Plan of trees from public numbers."""
    return plan_trees(TreeRequest(n, **{"delta": 0.0, "n_draws": 1, **settings}))


def constants_of(loss="logistic", **changed):
    return request_of(**{"loss": loss, "radius": 1.0, "row_norm": 1.0, **changed}).constants


class Silent:
    """A generator whose Gaussian noise is 0, or known, and whose Gamma is its mean."""

    def __init__(self, noise=0.0):
        self._noise = noise

    def standard_normal(self, shape):
        return np.broadcast_to(self._noise, shape).astype(float)

    def standard_gamma(self, shape):
        return float(shape)
