"""Mechanisms for one private model, by name in ``registry.METHODS``."""
