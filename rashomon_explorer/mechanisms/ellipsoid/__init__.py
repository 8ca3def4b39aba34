"""Draws around a private centre, within a private ellipsoid."""
