"""Explore the set of models that explain your data almost equally well, and draw from it privately.

Public names of the package. Each is imported on first use, so that an estimator in a pipeline
does not import the dashboard.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rashomon_explorer._utils.memory_limits import spare_addresses

spare_addresses()  # before pandas and Arrow are imported

__version__ = "0.1.0"

_HOMES = {
    "DPBilevelSearch": "estimators",
    "DPClassifier": "estimators",
    "DPRegressor": "estimators",
    "Explorer": "explorer",
    "Ledger": "privacy",
    "PrivateSearch": "estimators",
    "PublicBoundsScaler": "estimators",
    "RashomonClassifier": "estimators",
    "RashomonRegressor": "estimators",
    "RashomonSet": "sets",
    "RashomonTreeClassifier": "estimators",
    "TableEncoder": "data",
    "TableSchema": "data",
    "audit": "audits",
    "list_datasets": "data",
    "load_csv": "data",
    "load_dataset": "data",
    "plan": "mechanisms",
    "privacy_leaks": "estimators",
    "propose_schema": "data",
}

__all__ = [
    "DPBilevelSearch",
    "DPClassifier",
    "DPRegressor",
    "Explorer",
    "Ledger",
    "PrivateSearch",
    "PublicBoundsScaler",
    "RashomonClassifier",
    "RashomonRegressor",
    "RashomonSet",
    "RashomonTreeClassifier",
    "TableEncoder",
    "TableSchema",
    "audit",
    "list_datasets",
    "load_csv",
    "load_dataset",
    "plan",
    "privacy_leaks",
    "propose_schema",
]
if any(find_spec(name) is None for name in ("anywidget", "ipywidgets", "plotly")):
    __all__.remove(
        "Explorer"
    )  # of the extra [app]; `from rashomon_explorer import *` works without


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
