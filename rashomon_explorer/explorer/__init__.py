"""The dashboard: one object for notebooks and Voilà, made of small panels and figures."""

from rashomon_explorer._utils.imports import missing_package

try:
    from rashomon_explorer.explorer.app import Explorer
except ModuleNotFoundError as error:
    raise missing_package("The dashboard", error.name) from error

__all__ = ["Explorer"]
