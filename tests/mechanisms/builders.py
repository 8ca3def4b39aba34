"""Requests of mechanisms with usual public numbers, their constants, and noise that is known."""

import numpy as np

from rashomon_explorer.mechanisms.request import Request

USUAL = {
    "n": 2_000, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 2.0, "row_norm": 1.2,
    "ridge": 0.0, "epsilon": 2.0, "delta": 1e-5, "n_draws": 1,
}  # fmt: skip


def request_of(**changed):
    return Request(**{**USUAL, **changed})


def by_settings(planner):
    """A planner of requests, called with the fields of a request one by one."""

    def planned(*shape, **settings):
        settings = {**dict(zip(("n", "p", "psi"), shape, strict=False)), **settings}
        named = {k: settings.pop(k) for k in Request.__dataclass_fields__ if k in settings}
        return planner(request_of(**{"delta": 0.0, **named}), **settings)

    return planned


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
