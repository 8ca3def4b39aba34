"""Samplers of thresholded Gibbs distributions, by name in ``registry.MECHANISMS``."""
