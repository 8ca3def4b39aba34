"""See the set of models that explain your data almost equally well, and draw from it privately.

The public door; each name is imported when it is first used, so that an estimator in a pipeline
does not load the dashboard.
"""

from importlib import import_module
from typing import Any

from rashomon_explorer.hooks import provide

__version__ = "0.1.0"

_HOMES = {
    "Explorer": "explorer",
    "Ledger": "privacy",
    "PublicBoundsScaler": "estimators",
    "RashomonClassifier": "estimators",
    "RashomonRegressor": "estimators",
    "RashomonSet": "rashomon_set",
    "list_datasets": "datasets",
    "load_csv": "datasets",
    "load_dataset": "datasets",
    "plan": "planning",
    "privacy_leaks": "estimators",
}

__all__ = [
    "Explorer",
    "Ledger",
    "PublicBoundsScaler",
    "RashomonClassifier",
    "RashomonRegressor",
    "RashomonSet",
    "list_datasets",
    "load_csv",
    "load_dataset",
    "plan",
    "privacy_leaks",
]

# A set's own `report` method is carried out by a room above it; this door knows every room.
provide("preflight", lambda: import_module(f"{__name__}.samplers.preflight").preflight)
provide("remedies", lambda: import_module(f"{__name__}.samplers.preflight").remedies)
provide("curator_report", lambda: import_module(f"{__name__}.report").curator_report)
provide("release_report", lambda: import_module(f"{__name__}.report").release_report)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
