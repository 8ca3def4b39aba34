"""The dashboard: one object for notebooks and Voilà, made of small panels and figures."""

from rashomon_explorer.explorer.app import Explorer

__all__ = ["Explorer"]
