"""Schemas of tables, their encoder, and data sets."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names
from rashomon_explorer.data.columns import Categorical, IgnoredColumn, Numeric, Ordered, YesNo
from rashomon_explorer.data.schema import TableSchema

if TYPE_CHECKING:
    from rashomon_explorer.data import encoder  # noqa: F401
    from rashomon_explorer.data.catalog import LENDING_COEFFICIENTS, list_datasets, load_dataset
    from rashomon_explorer.data.csv import load_csv
    from rashomon_explorer.data.encoder import TableEncoder
    from rashomon_explorer.data.proposal import propose_schema

__all__ = [
    "LENDING_COEFFICIENTS",
    "Categorical",
    "IgnoredColumn",
    "Numeric",
    "Ordered",
    "TableEncoder",
    "TableSchema",
    "YesNo",
    "list_datasets",
    "load_csv",
    "load_dataset",
    "propose_schema",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
