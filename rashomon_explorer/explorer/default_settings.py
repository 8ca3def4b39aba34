"""The settings that the page opens a data set with, from public numbers alone."""

from collections.abc import Callable, Mapping
from typing import Any

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.weakness import WEAK_HIT_RATE

_MANY: Mapping[str, dict[str, Any]] = {
    "classification": {"radius": 4.0, "ridge": 0.0, "n_draws": 20, "sampler": AUTO},
    "regression": {"radius": 2.0, "ridge": 0.0, "n_draws": 20, "sampler": AUTO},
}
BY_THE_RULE: Mapping[str, Any] = {"radius": AUTO, "ridge": AUTO, "n_draws": AUTO, "sampler": AUTO}
"""All that the rule settles is left to it: as a rule one good model."""


def default_settings(task: str, planned: Callable[[Mapping[str, Any]], Plan]) -> Mapping[str, Any]:
    """Choose between twenty models and one: many, where a fifth of them is promised to hit."""
    many = _MANY[task]
    try:
        promised = planned(many).hit_rate_bound
    except SamplerError:  # no way is to be expected to answer for so many
        promised = 0.0
    return many if promised >= WEAK_HIT_RATE else BY_THE_RULE
