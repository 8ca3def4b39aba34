"""Helpers that no other room is for."""
