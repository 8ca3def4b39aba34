"""The dashboard: one object for notebooks and Voilà, made of small panels and figures."""

from rashomon_explorer._utils.extras import app_missing

try:
    from rashomon_explorer.explorer.app import Explorer
except ModuleNotFoundError as error:
    raise app_missing("The dashboard", error.name) from error

__all__ = ["Explorer"]
