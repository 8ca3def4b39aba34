"""Explore the set of models that explain your data almost equally well, and draw from it privately.

Public names of the package. Each is imported on first use, so that an estimator in a pipeline
does not import the dashboard. Pages that are cited as docs/… are in the folder ``_assets/docs`` of
an installation.
"""

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import EXTENSIONS as _EXTENSIONS
from rashomon_explorer._utils.imports import lazy_names
from rashomon_explorer._utils.memory_limits import spare_addresses as _spare_addresses

_spare_addresses()  # before pandas and Arrow are imported

__version__ = "0.1.0"

# Imported when a mechanism is asked for that is not built in, and by ``Audit.explore``.
_EXTENSIONS["mechanisms"] = ("rashomon_explorer.papers",)
_EXTENSIONS["sets"] = ("rashomon_explorer.networks.sets",)
_EXTENSIONS["dashboard"] = ("rashomon_explorer.explorer",)

if TYPE_CHECKING:  # editors, type checkers and `__getattr__` read these imports
    from rashomon_explorer import (  # noqa: F401
        audits,
        data,
        estimators,
        exceptions,
        explorer,
        measures,
        mechanisms,
        networks,
        plots,
        privacy,
        problem,
        release,
        report,
        rows,
        sets,
        trees,
    )
    from rashomon_explorer.audits.audit import audit
    from rashomon_explorer.data import (
        TableEncoder,
        TableSchema,
        list_datasets,
        load_csv,
        load_dataset,
        propose_schema,
    )
    from rashomon_explorer.estimators import *
    from rashomon_explorer.explorer import Explorer
    from rashomon_explorer.mechanisms import plan
    from rashomon_explorer.privacy import Ledger
    from rashomon_explorer.sets import RashomonSet

__all__ = [
    "DPBilevelSearch",
    "DPClassifier",
    "DPRegressor",
    "Explorer",
    "Ledger",
    "PrivateSearch",
    "PrivateTable",
    "PublicBoundsScaler",
    "RashomonClassifier",
    "RashomonNetworkClassifier",
    "RashomonNetworkRegressor",
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
    "plan_table",
    "privacy_leaks",
    "propose_schema",
]
if any(_find_spec(name) is None for name in ("anywidget", "ipywidgets", "plotly")):
    # Of the extra [app]; `from rashomon_explorer import *` works without. Type checkers follow
    # `__all__.remove`, and would refuse the name to everybody.
    __all__[:] = [name for name in __all__ if name != "Explorer"]

__getattr__, __dir__ = lazy_names(__name__, __all__)
