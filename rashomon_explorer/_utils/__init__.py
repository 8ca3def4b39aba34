"""Helpers that belong to no other room."""
