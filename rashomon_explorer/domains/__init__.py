"""Convex sets of models: one file each."""

from rashomon_explorer.domains.ball import Ball

__all__ = ["Ball"]
