"""How to make the same again."""

import math
from typing import Any

import numpy as np

from rashomon_explorer.domains import Ball
from rashomon_explorer.planning import Plan
from rashomon_explorer.report.blocks import Block, Code, Words
from rashomon_explorer.report.material import Curator, Release
from rashomon_explorer.report.sections.about import WRITER

_ESTIMATORS = {
    ("logistic", "classification"): "RashomonClassifier",
    ("softmax", "classification"): "RashomonClassifier",
    ("squared", "regression"): "RashomonRegressor",
}


def curator(given: Curator) -> list[Block]:
    """Write the settings of the draws as Python, and the line that made this file."""
    lines = _estimator(given, getattr(given.models, "sampler", ""))
    handed = [name for name in ("X", "y") if getattr(given, name) is not None]
    handed += [f"{n}={n}" for n in ("groups", "problem") if getattr(given, n) is not None]
    call = ", ".join(["models", '"report.html"', *handed])
    written = ["from rashomon_explorer.report import report", "", f"report({call})"]
    return _told(given, [*lines, "", *written])


def release(given: Release) -> list[Block]:
    """Write the settings of the draws as Python: public numbers alone."""
    return _told(given, _estimator(given, ""))


def _told(given: Any, lines: list[str]) -> list[Block]:
    noise = (
        "Without random_state the noise is new at every run, which is what makes it private: the "
        "same settings give other draws, with the same promises."
    )
    if given.models.guarantee.seeded:
        noise = "The draws came from a known seed, which is not written here: with it they repeat."
    return [Code([f"# {WRITER}", *lines]), Words(noise, "note")]


def _estimator(given: Any, sampler: str) -> list[str]:
    models = given.models
    planned = getattr(models, "plan", None)
    if not isinstance(planned, Plan) or math.isnan(planned.beta):
        return ["# these models were made elsewhere: rashomon_set.from_… says how they came in"]
    name = _ESTIMATORS.get((planned.loss.split("(")[0], models.task))
    if name is None:
        return [f"# draws by hand: rashomon_set.from_draws, loss {planned.loss!r}"]
    settings: dict[str, Any] = {
        "psi": planned.psi,
        "epsilon": planned.epsilon,
        "delta": planned.delta,
        "n_draws": planned.n_draws,
        "row_norm": models.row_norm,
    }
    if planned.sampler or sampler:
        settings["sampler"] = planned.sampler or sampler
    if isinstance(given.domain, Ball) and given.constants is not None:
        settings |= {"radius": given.domain.radius, "ridge": given.constants.m}
    elif planned.radius is not None:
        settings |= {"radius": planned.radius, "ridge": planned.ridge}
    if name == "RashomonRegressor":
        settings["target_bounds"] = tuple(map(float, models.target_bounds))
    written = [f"    {key}={_plain(value)!r}," for key, value in settings.items()]
    return [
        f"from rashomon_explorer import {name}",
        "",
        f"models = {name}(",
        *written,
        ").fit(X, y).rashomon_set_",
    ]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
