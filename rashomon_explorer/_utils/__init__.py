"""Helpers that are shared by several packages."""
